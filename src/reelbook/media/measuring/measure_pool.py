"""A pool of processes that measure files, one each at a time, and are replaced when they die.

A decoder that crashes ends its process and never the notebook's. The processes exit when their pipe closes, so a
kernel that is killed leaves none behind.
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
"""Timeout for one file, after which its process is killed."""
WAKE_SECONDS = 0.5
"""Interval at which a waiting thread wakes: Windows delivers Ctrl-C only then."""
END_SECONDS = 1.0

# Not "-m": that would search the current folder for modules first, where the user may have a queue.py.
_MAIN = f"import sys; sys.path.append({str(Path(__file__).parents[3])!r}); from reelbook.media.measuring.measure_worker import main; main()"

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
"""Against libraries that start a thread per core in each process, while the processes share the cores already."""


class Order(NamedTuple):
    """A file and the metrics to measure."""

    path: str
    metrics: tuple[str, ...]
    reference: str | None = None


def measure_orders(
    orders: Sequence[Order], *, processes: int | None = None
) -> Generator[tuple[int, Measured], None, None]:
    """Yield the index and the figures of each order as it completes; closing the generator ends all processes.

    By default one process per core, and never more than orders.
    """
    workers = _WorkerPool(orders)
    try:
        workers.start(min(len(orders), processes or _cores()))
        for _ in orders:
            yield workers.next()
    finally:
        workers.end()


class _WorkerPool:
    """Threads with one process each, which process orders until none are left."""

    def __init__(self, orders: Sequence[Order]) -> None:
        self._waiting = iter(enumerate(orders))
        self._results: queue.SimpleQueue[tuple[int, Measured] | BaseException] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._children: set[_Child] = set()
        self._ended = False
        self._threads: list[threading.Thread] = []

    def start(self, count: int) -> None:
        # Daemons, so that the program can exit while one of them still waits for its process.
        self._threads = [
            threading.Thread(target=self._work, name="reelbook-measure", daemon=True) for _ in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def next(self) -> tuple[int, Measured]:
        """The next result, waiting for it."""
        while True:
            try:
                result = self._results.get(timeout=WAKE_SECONDS)
            except queue.Empty:
                continue
            if isinstance(result, BaseException):
                raise result
            return result

    def end(self) -> None:
        """Kill all processes."""
        with self._lock:
            self._ended = True
            for child in self._children:
                child.kill()
        for thread in self._threads:
            thread.join(END_SECONDS)

    def _work(self) -> None:
        child: _Child | None = None
        try:
            while (numbered := self._taken()) is not None:
                number, order = numbered
                if child is None and (child := self._child()) is None:
                    return
                figures = child.measured(order)
                if figures is None:
                    figures = {
                        **dict.fromkeys(order.metrics),
                        "error": f"{order.path} could not be measured: {child.why()}",
                    }
                    self._dismiss(child)
                    child = None
                self._results.put((number, figures))
        except BaseException as error:
            # Such as a process that cannot be started: raised in `next`, which would otherwise wait for ever.
            self._results.put(error)
        finally:
            if child is not None:
                self._dismiss(child)

    def _taken(self) -> tuple[int, Order] | None:
        with self._lock:
            return None if self._ended else next(self._waiting, None)

    def _child(self) -> _Child | None:
        """Start a process; None if the pool has ended."""
        # Under the lock, so that none is started while `end` kills them.
        with self._lock:
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
        with self._lock:
            self._children.discard(child)
        child.end()


class _Child:
    """A measuring process, as its parent handles it."""

    def __init__(self) -> None:
        # A file, because a pipe would have to be drained.
        with tempfile.TemporaryFile() as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _MAIN],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                env={**os.environ, **_ONE_THREAD},
                # Ctrl-C in a terminal must reach only the parent, which ends the processes.
                start_new_session=True,
            )  # fmt: skip
            self._log = os.fdopen(os.dup(log.fileno()), "rb")
        self._has_timed_out = False

    def ready(self) -> None:
        """Wait until the process has started; `ReelbookError` if it cannot."""
        if self._read_line() is None:
            self._process.wait()
            self._log.seek(0)
            last = self._log.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise ReelbookError(
                f"No process for measuring can be started here ({last or self.why()}). "
                "Look whether `python -m reelbook` works in a terminal; executor= takes others' processes."
            )

    def measured(self, order: Order) -> Measured | None:
        """The figures of one file; None if the process died over it."""
        assert self._process.stdin is not None
        timer = threading.Timer(FILE_SECONDS, self._time_out)
        timer.daemon = True
        timer.start()
        try:
            self._process.stdin.write(json.dumps(order._asdict()).encode() + b"\n")
            self._process.stdin.flush()
            return self._read_line()
        except ConnectionError:
            return None
        finally:
            timer.cancel()

    def why(self) -> str:
        """Why the process died, as a sentence."""
        if self._has_timed_out:
            return f"it took longer than {FILE_SECONDS:g} s."
        code = self._process.wait()
        if code >= 0:
            return f"the process that did it ended with code {code}."
        return f"the process that did it was ended by {signal.Signals(-code).name}."

    def kill(self) -> None:
        """Kill the process; safe from any thread."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process and close its files, in the thread that used it."""
        self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._log):
            # Data that a dead process did not read cannot be flushed.
            with contextlib.suppress(OSError):
                cast(IO[bytes], file).close()

    def _read_line(self) -> Measured | None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        # A last line without a newline was cut off when the process died.
        return cast(Measured, json.loads(line)) if line.endswith(b"\n") else None

    def _time_out(self) -> None:
        self._has_timed_out = True
        self.kill()


def _cores() -> int:
    """Number of cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
