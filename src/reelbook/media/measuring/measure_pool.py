"""The pool: processes of our own that measure files, one each at a time, and are replaced when they die.

A decoder that crashes takes its process with it and never the notebook. The processes end by themselves when their
pipe closes, so a kernel that is killed leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO, NamedTuple, cast

from ...errors import ReelbookError
from .measure_file import Measured

FILE_SECONDS = 900.0
"""After so long over one file, its process is thought to hang."""
WAKE_SECONDS = 0.5
"""How often a waiting thread looks up: Windows delivers Ctrl-C only then."""
END_SECONDS = 1.0

# Not "-m": that would look for modules in the current folder first, where a notebook may have its own queue.py.
_MAIN = f"import sys; sys.path.append({str(Path(__file__).parents[3])!r}); from reelbook.media.measuring.measure_worker import main; main()"

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
"""For libraries that would start threads for all cores in each process, when the processes share the cores already."""


class Order(NamedTuple):
    """One file, and what to measure of it."""

    path: str
    metrics: tuple[str, ...]
    reference: str | None = None


def measure_orders(
    orders: Sequence[Order], *, processes: int | None = None
) -> Generator[tuple[int, Measured], None, None]:
    """The figures of every order by its number, as they come; closing it ends all processes.

    As many processes as there are cores, and no more than there are orders.
    """
    workers = _WorkerPool(orders)
    try:
        workers.start(min(len(orders), processes or _cores()))
        for _ in orders:
            yield workers.next()
    finally:
        workers.end()


class _WorkerPool:
    """Threads with one process each, which take orders until there are no more."""

    def __init__(self, orders: Sequence[Order]) -> None:
        self._waiting = iter(enumerate(orders))
        self._answered: queue.SimpleQueue[tuple[int, Measured] | BaseException] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._children: set[_Child] = set()
        self._ended = False
        self._threads: list[threading.Thread] = []

    def start(self, count: int) -> None:
        # Daemons, so that a program can end while one of them still waits for its process.
        self._threads = [
            threading.Thread(target=self._work, name="reelbook-measure", daemon=True) for _ in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def next(self) -> tuple[int, Measured]:
        """The next answer there is."""
        while True:
            try:
                answer = self._answered.get(timeout=WAKE_SECONDS)
            except queue.Empty:
                continue
            if isinstance(answer, BaseException):
                raise answer
            return answer

    def end(self) -> None:
        """End every process, whatever it is at."""
        with self._guard:
            self._ended = True
            for child in self._children:
                child.kill()
        for thread in self._threads:
            thread.join(END_SECONDS)

    def _work(self) -> None:
        child: _Child | None = None
        try:
            while (order := self._taken()) is not None:
                number, asked = order
                if child is None and (child := self._child()) is None:
                    return
                answer = child.measured(asked)
                if answer is None:
                    answer = {
                        **dict.fromkeys(asked.metrics),
                        "error": f"{asked.path} could not be measured: {child.why()}",
                    }
                    self._dismiss(child)
                    child = None
                self._answered.put((number, answer))
        except BaseException as error:
            # Such as a process that cannot be started: the caller must learn of it, not wait for ever.
            self._answered.put(error)
        finally:
            if child is not None:
                self._dismiss(child)

    def _taken(self) -> tuple[int, Order] | None:
        with self._guard:
            return None if self._ended else next(self._waiting, None)

    def _child(self) -> _Child | None:
        """A new process; None if all is over."""
        # Under the guard, so that none is started behind the back of `end`.
        with self._guard:
            if self._ended:
                return None
            child = _Child()
            self._children.add(child)
        try:
            child.ready()
        except BaseException:
            self._dismiss(child)
            raise
        return child

    def _dismiss(self, child: _Child) -> None:
        with self._guard:
            self._children.discard(child)
        child.end()


class _Child:
    """One measuring process, seen from here."""

    def __init__(self) -> None:
        # A file and not a pipe, which somebody would have to empty.
        with tempfile.TemporaryFile() as complaints:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _MAIN],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints,
                env={**os.environ, **_ONE_THREAD},
                # Ctrl-C in a terminal is for us, and we end the processes.
                start_new_session=True,
            )  # fmt: skip
            self._complaints = os.fdopen(os.dup(complaints.fileno()), "rb")
        self._late = False

    def ready(self) -> None:
        """Wait until it has started; raises if it cannot."""
        if self._heard() is None:
            self._process.wait()
            self._complaints.seek(0)
            last = self._complaints.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise ReelbookError(
                f"No process for measuring can be started here ({last or self.why()}). "
                "Look whether `python -m reelbook` works in a terminal; executor= takes others' processes."
            )

    def measured(self, order: Order) -> Measured | None:
        """The figures of one file; None if the process died over it."""
        assert self._process.stdin is not None
        timer = threading.Timer(FILE_SECONDS, self._give_up)
        timer.daemon = True
        timer.start()
        try:
            self._process.stdin.write(json.dumps(order._asdict()).encode() + b"\n")
            self._process.stdin.flush()
            return self._heard()
        except ConnectionError:
            return None
        finally:
            timer.cancel()

    def why(self) -> str:
        """Why it died, as a sentence."""
        if self._late:
            return f"it took longer than {FILE_SECONDS:g} s."
        code = self._process.wait()
        if code >= 0:
            return f"the process that did it ended with code {code}."
        return f"the process that did it was ended by {signal.Signals(-code).name}."

    def kill(self) -> None:
        """End the process; any thread may do that."""
        self._process.kill()

    def end(self) -> None:
        """End the process and tidy up, in the thread that used it."""
        self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._complaints):
            # What a dead process did not read cannot be flushed any more.
            with contextlib.suppress(OSError):
                cast(IO[bytes], file).close()

    def _heard(self) -> Measured | None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        # A last line without an end was cut off by the death of the process.
        return cast(Measured, json.loads(line)) if line.endswith(b"\n") else None

    def _give_up(self) -> None:
        self._late = True
        self.kill()


def _cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
