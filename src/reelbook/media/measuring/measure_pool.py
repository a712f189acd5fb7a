"""Processes that measure files, one each at a time, and are replaced when they die.

A decoder that crashes ends its process and never the notebook's. The processes exit when their pipe closes, so a
kernel that is killed leaves none behind.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

from ...errors import ReelbookError
from .metrics import Measured, measure_file

FILE_SECONDS = 900.0
"""Timeout for one file, after which its process is killed."""
MEMORY = 6 * 1024**3
"""Memory limit of a process, on systems that support it: a broken file can request any size."""

# Not "-m": that would search the current folder for modules first, where the user may have a queue.py.
_MAIN = f"import sys; sys.path.append({str(Path(__file__).parents[3])!r}); from reelbook.media.measuring.measure_pool import main; main()"

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
"""Against libraries that start a thread per core in each process, while the processes share the cores already."""


class MeasurePool(Executor):
    """An executor of processes that measure, one per core and never more than files; `shutdown` ends all of them."""

    def __init__(self, files: int) -> None:
        self._children = [_Child() for _ in range(max(1, min(files, _cores())))]
        self._idle: SimpleQueue[_Child] = SimpleQueue()
        for child in self._children:
            self._idle.put(child)
        self._threads = ThreadPoolExecutor(len(self._children), "reelbook-measure")

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Measure a file with the arguments of `measure_file`, which is what a process runs."""
        return self._threads.submit(self._measure, args, kwargs)

    def _measure(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Measured:
        child = self._idle.get()
        try:
            return child.measure(args, kwargs)
        finally:
            self._idle.put(child)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Kill all processes, and cancel what they have not begun."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for child in self._children:
            child.end()
        self._threads.shutdown()
        for child in self._children:
            child.close()


class _Child:
    """A measuring process, as its parent handles it; started with its first file, and again when it has died."""

    def __init__(self) -> None:
        # A file, because a pipe would have to be drained.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # Closed by `close`.
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._has_ended = self._has_timed_out = False

    def measure(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Measured:
        """The figures of one file, or why the process died over it; `ReelbookError` if it never started."""
        process = self._process or self._start()
        self._has_timed_out = False
        timer = threading.Timer(FILE_SECONDS, self._time_out)
        timer.daemon = True
        timer.start()
        try:
            figures = _ask(process, json.dumps([args, kwargs]).encode() + b"\n")
        finally:
            timer.cancel()
        if figures is not None:
            return figures
        self._process = None
        path, names = args
        error = f"{path} could not be measured: {self._why(process)}"
        _close(process)
        return {**dict.fromkeys(names), "error": error}

    def end(self) -> None:
        """Kill the process, and start no other; safe from any thread."""
        with self._lock:
            self._has_ended = True
            process = self._process
        if process is not None:
            process.kill()
            process.wait()

    def close(self) -> None:
        """Close the files that no thread uses any longer."""
        if self._process is not None:
            _close(self._process)
        self._log.close()

    def _start(self) -> subprocess.Popen[bytes]:
        # Under the lock, so that none is started after `end`.
        with self._lock:
            if self._has_ended:
                raise RuntimeError("The processes for measuring have ended.")
            self._process = process = subprocess.Popen(
                [sys.executable, "-P", "-c", _MAIN],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
                env={**os.environ, **_ONE_THREAD},
                # Ctrl-C in a terminal must reach only the parent, which ends the processes.
                start_new_session=True,
            )  # fmt: skip
        if _read_line(process) is not None:
            return process
        process.wait()
        self._log.seek(0)
        last = self._log.read().decode(errors="replace").strip().rpartition("\n")[2]
        raise ReelbookError(
            f"No process for measuring can be started here ({last or self._why(process)}). "
            "Look whether `python -m reelbook` works in a terminal; executor= takes others' processes."
        )

    def _why(self, process: subprocess.Popen[bytes]) -> str:
        """Why the process died, as a sentence."""
        if self._has_timed_out:
            return f"it took longer than {FILE_SECONDS:g} s."
        code = process.wait()
        if code >= 0:
            return f"the process that did it ended with code {code}."
        return f"the process that did it was ended by {signal.Signals(-code).name}."

    def _time_out(self) -> None:
        self._has_timed_out = True
        if self._process is not None:
            self._process.kill()


def _ask(process: subprocess.Popen[bytes], message: bytes) -> Measured | None:
    assert process.stdin is not None
    try:
        process.stdin.write(message)
        process.stdin.flush()
        return _read_line(process)
    except ConnectionError:
        return None


def _read_line(process: subprocess.Popen[bytes]) -> Measured | None:
    assert process.stdout is not None
    line = process.stdout.readline()
    # A last line without a newline was cut off when the process died.
    return cast(Measured, json.loads(line)) if line.endswith(b"\n") else None


def _close(process: subprocess.Popen[bytes]) -> None:
    for file in (process.stdin, process.stdout):
        # Data that a dead process did not read cannot be flushed.
        with contextlib.suppress(OSError):
            file.close()  # type: ignore[union-attr]  # Both are pipes.
    process.wait()


def main() -> None:
    """Measure the files that arrive in the pipe, in a process of its own, until the pipe closes."""
    faulthandler.enable()
    # Libraries may print to stdout; only our messages may reach the parent.
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _limit()
    # Imported before the first file, whose time is limited.
    import av  # noqa: F401
    import PIL.Image  # noqa: F401

    messages: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(messages,), daemon=True).start()
    message: object = "ready"
    while True:
        print(json.dumps(message), file=pipe, flush=True)
        args, kwargs = json.loads(messages.get())
        message = measure_file(*args, **kwargs)


def _listen(messages: SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        messages.put(line)
    # The parent has exited. Not sys.exit: the main thread may be inside a decoder.
    os._exit(0)


def _limit() -> None:
    """Limit this process's priority, memory and core dumps, where the system supports it."""
    try:
        import resource
    except ImportError:  # Windows has no such limits.
        return
    os.nice(5)
    for kind, limit in ((resource.RLIMIT_DATA, MEMORY), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (limit, hard))


def _cores() -> int:
    """Number of cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
