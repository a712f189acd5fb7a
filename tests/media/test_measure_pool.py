"""Many files at once: in processes of our own, by executors of others, and never twice."""

from __future__ import annotations

import json
import os
import pickle
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import reelbook
from reelbook.errors import ReelbookError
from reelbook.media.measuring import measure_pool
from reelbook.media.measuring.measures import Cache, measure_files
from reelbook.media.measuring.metrics import measure_file
from tests.media.moving import flat, panned, picture, written

BACK_SECONDS = 2.0
"""How soon the prompt is back after an interrupt."""
FEW = ["sharpness", "motion"]
SOURCE = str(Path(reelbook.__file__).parents[1])

FATAL = f"""
import os, sys
sys.path.append({SOURCE!r})
from reelbook.media.measuring import measure_pool as worker
measure_file = worker.measure_file
def deadly(path, *args, **options):
    if "deadly" in path:
        os.kill(os.getpid(), 9)
    return measure_file(path, *args, **options)
worker.measure_file = deadly
worker.main()
"""
"""A process for measuring that dies over some files, as a decoder with a flaw would."""


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three small films that differ; nobody changes them."""
    folder = tmp_path_factory.mktemp("clips")
    return [
        written(folder / f"{speed}.mp4", panned(speed, (speed, 0), frames=6, size=(64, 48)), crf=20)
        for speed in (1, 2, 3)
    ]


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A file over which a decoder waits for ever: a pipe into which nobody writes."""
    os.mkfifo(tmp_path / "endless.mp4")
    return tmp_path / "endless.mp4"


class Awaited:
    """The other end of an endless file: there when a process has opened it, and knows when that process is gone."""

    def __init__(self, endless: Path) -> None:
        # Returns when the other side opens it too.
        self.file = os.open(endless, os.O_WRONLY)

    def is_left(self, *, within: float) -> bool:
        """Whether the process that had it open ends in time."""
        poll = select.poll()
        poll.register(self.file, select.POLLERR)
        return bool(poll.poll(within * 1000))

    def close(self) -> None:
        os.close(self.file)


@pytest.fixture
def no_processes(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Called, it makes every process for measuring a mistake of the test."""

    def refuse(*args: Any, **options: Any) -> None:
        raise AssertionError("something was measured")

    return lambda: monkeypatch.setattr(subprocess, "Popen", refuse)


class TestOwnProcesses:
    """What measures when nobody gives an executor."""

    def test_figures_come_in_the_order_of_the_files(self, clips: list[Path], tmp_path: Path) -> None:
        """Good files and bad ones, one of them twice; each with what it gives by itself, and progress on the way."""
        (tmp_path / "bad.mp4").write_bytes(b"I am not a film")
        paths = [clips[2], tmp_path / "bad.mp4", clips[0], clips[2]]
        told: list[tuple[int, int]] = []

        figures = measure_files(paths, FEW, progress=lambda done, of: told.append((done, of)))

        assert figures == [measure_file(path, FEW) for path in paths]
        assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]

    def test_a_process_that_dies_costs_one_file(
        self, clips: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The file says what happened, another process takes its place, and all others are measured."""
        monkeypatch.setattr(measure_pool, "_MAIN", FATAL)
        monkeypatch.setattr(measure_pool, "_cores", lambda: 1)
        deadly = picture(tmp_path / "deadly.png", flat(1))

        figures = measure_files([clips[0], deadly, clips[1]], FEW)

        assert figures[1] == {
            "sharpness": None,
            "motion": None,
            "error": f"{deadly} could not be measured: the process that did it was ended by SIGKILL.",
        }
        assert [figures[0], figures[2]] == [measure_file(path, FEW) for path in clips[:2]]

    def test_a_file_that_takes_for_ever_is_given_up(
        self, clips: list[Path], endless: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After the longest time allowed its process is ended, and the next file is measured."""
        monkeypatch.setattr(measure_pool, "_cores", lambda: 1)
        monkeypatch.setattr(measure_pool, "FILE_SECONDS", 0.3)

        def be_patient(done: int, of: int) -> None:
            if done:
                monkeypatch.setattr(measure_pool, "FILE_SECONDS", 60)

        figures = measure_files([endless, clips[0]], FEW, progress=be_patient)

        assert "took longer than 0.3 s" in str(figures[0]["error"])
        assert figures[1] == measure_file(clips[0], FEW)

    def test_a_reference_that_is_not_there_is_said_once(self, clips: list[Path], no_processes: Any) -> None:
        """Before anything is started."""
        no_processes()

        with pytest.raises(ReelbookError, match=r"There is no reference at .*nowhere\.mp4"):
            measure_files(clips, ["ssim"], reference="nowhere.mp4")

    def test_scripts_need_no_guard(self, clips: list[Path]) -> None:
        """A script from standard input measures from a thread, and the processes do not run the script again."""
        script = f"""
import json, threading
from reelbook.media.measuring.measures import measure_files
thread = threading.Thread(target=lambda: print(json.dumps(measure_files([{str(clips[0])!r}], {FEW!r}))))
thread.start()
thread.join()
"""
        done = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True, timeout=60)

        assert done.stderr == ""
        assert json.loads(done.stdout) == [measure_file(clips[0], FEW)]


INTERRUPTED = """
import signal, sys
from reelbook.media.measuring.measures import measure_files
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    measure_files([sys.argv[1]], ["sharpness"])
except KeyboardInterrupt:
    print("back", flush=True)
"""


class TestTheEnd:
    """Whatever ends the call ends the processes."""

    @pytest.fixture
    def script(self, endless: Path) -> Iterator[subprocess.Popen[str]]:
        """A script that measures an endless file."""
        command = [sys.executable, "-c", INTERRUPTED, str(endless)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            yield process
            process.kill()

    def test_an_interrupt_gives_the_prompt_back(self, script: subprocess.Popen[str], endless: Path) -> None:
        """Within two seconds, with the process gone that was in the middle of a file."""
        awaited = Awaited(endless)
        began = time.monotonic()
        script.send_signal(signal.SIGINT)

        assert script.stdout is not None
        assert script.stdout.readline() == "back\n"
        assert time.monotonic() - began < BACK_SECONDS
        assert awaited.is_left(within=BACK_SECONDS)
        awaited.close()

    def test_a_killed_kernel_leaves_no_process_behind(self, script: subprocess.Popen[str], endless: Path) -> None:
        """The pipe closes, and the process ends in the middle of a file."""
        awaited = Awaited(endless)
        script.kill()

        assert awaited.is_left(within=5)
        awaited.close()


class Pickling(Executor):
    """An executor that sends everything there and back as bytes, as a cluster does."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        sent, given, named = pickle.loads(pickle.dumps((fn, args, options)))
        future.set_result(pickle.loads(pickle.dumps(sent(*given, **named))))
        return future


class TestExecutors:
    """What measures when somebody gives an executor."""

    @pytest.fixture(autouse=True)
    def _no_processes_of_ours(self, no_processes: Callable[[], None]) -> None:
        no_processes()

    @pytest.mark.parametrize("make", [Pickling, lambda: ThreadPoolExecutor(2)], ids=["pickling", "threads"])
    def test_any_executor_gives_the_same_figures(self, clips: list[Path], make: Callable[[], Executor]) -> None:
        """In order, with progress, and compared with the same reference."""
        told: list[int] = []

        with make() as executor:
            figures = measure_files(
                clips, None, reference=clips[1], executor=executor, progress=lambda done, of: told.append(done)
            )

        assert figures == [measure_file(path, reference=clips[1]) for path in clips]
        assert told == [0, 1, 2, 3]


class Counting(Pickling):
    """An executor that remembers what it was asked to measure."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        path, metrics = args
        self.asked.append((Path(path).name, metrics))
        return super().submit(fn, *args, **options)


class TestCache:
    """What was measured once is not measured again."""

    @pytest.fixture
    def cache(self, tmp_path: Path) -> Cache:
        """A cache in a folder that is not there yet."""
        return Cache(tmp_path / "library" / "measures")

    def test_a_second_call_measures_nothing(self, clips: list[Path], cache: Cache, no_processes: Any) -> None:
        """The same figures, without a single process; progress says at once that all is done."""
        first = measure_files(clips[:2], reference=clips[1], cache=cache)
        no_processes()
        told: list[tuple[int, int]] = []

        second = measure_files(
            clips[:2], reference=clips[1], cache=cache, progress=lambda done, of: told.append((done, of))
        )

        assert second == first
        assert told == [(2, 2)]

    def test_only_what_is_missing_is_measured(self, clips: list[Path], cache: Cache) -> None:
        """Another metric and another file are measured; what is known is not."""
        executor = Counting()
        measure_files(clips[:1], ["sharpness"], cache=cache, executor=executor)

        figures = measure_files(clips[:2], FEW, cache=cache, executor=executor)

        assert executor.asked == [("1.mp4", ("sharpness",)), ("1.mp4", ("motion",)), ("2.mp4", ("sharpness", "motion"))]
        assert figures == [measure_file(path, FEW) for path in clips[:2]]

    def test_a_file_of_the_shelf_is_known_by_its_name(self, cache: Cache, no_processes: Any, tmp_path: Path) -> None:
        """The shelf names files by their hash, so that none is read through to find out."""
        no_processes()
        cache.keep("ab" * 32, {"sharpness 1": 12.5})

        assert measure_files([tmp_path / f"{'ab' * 32}.mp4"], ["sharpness"], cache=cache) == [
            {"sharpness": 12.5, "error": None}
        ]
