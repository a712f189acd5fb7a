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
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple, cast

from ...errors import ReelbookError
from .measure_file import Measured, measure_file

FILE_SECONDS = 900.0
"""Timeout for one file, after which its process is killed."""
WAKE_SECONDS = 0.5
"""Interval at which a waiting thread wakes: Windows delivers Ctrl-C only then."""
MEMORY = 6 * 1024**3
"""Memory limit of a process, on systems that support it: a broken file can request any size."""

# Not "-m": that would search the current folder for modules first, where the user may have a queue.py.
_MAIN = f"import sys; sys.path.append({str(Path(__file__).parents[3])!r}); from reelbook.media.measuring.measure_pool import main; main()"

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
    children = _Children()
    threads = ThreadPoolExecutor(max(1, min(len(orders), processes or _cores())), "reelbook-measure")
    numbers = {threads.submit(children.measure, order): number for number, order in enumerate(orders)}
    try:
        pending = {*numbers}
        while pending:
            done, pending = wait(pending, WAKE_SECONDS, FIRST_COMPLETED)
            for future in done:
                yield numbers[future], future.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        children.end()
        threads.shutdown()
        children.close()


class _Children:
    """The processes of one call; a thread takes an idle one for each file, or starts one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: set[_Child] = set()
        self._idle: list[_Child] = []
        self._ended = False

    def measure(self, order: Order) -> Measured:
        """The figures of one file, measured by a process."""
        child = self._take()
        figures = child.measure(order)
        if figures is not None:
            self._idle.append(child)
            return figures
        error = f"{order.path} could not be measured: {child.why()}"
        return {**dict.fromkeys(order.metrics), "error": error}

    def _take(self) -> _Child:
        # Under the lock, so that none is started while `end` kills them.
        with self._lock:
            if self._ended:
                raise RuntimeError("The processes for measuring have ended.")
            if self._idle:
                return self._idle.pop()
            child = _Child()
            self._all.add(child)
            return child

    def end(self) -> None:
        """Kill all processes."""
        with self._lock:
            self._ended = True
        for child in self._all:
            child.end()

    def close(self) -> None:
        """Close their files, which no thread uses any longer."""
        for child in self._all:
            child.close()


class _Child:
    """A measuring process, as its parent handles it."""

    def __init__(self) -> None:
        # A file, because a pipe would have to be drained.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # Closed by `close`.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _MAIN],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
            env={**os.environ, **_ONE_THREAD},
            # Ctrl-C in a terminal must reach only the parent, which ends the processes.
            start_new_session=True,
        )  # fmt: skip
        self._is_ready = self._has_timed_out = False

    def measure(self, order: Order) -> Measured | None:
        """The figures of one file; None if the process died over it, `ReelbookError` if it never started."""
        if not self._is_ready:
            self._check_start()
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

    def end(self) -> None:
        """Kill the process; safe from any thread."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the files of a process that has ended."""
        for file in (self._process.stdin, self._process.stdout, self._log):
            # Data that a dead process did not read cannot be flushed.
            with contextlib.suppress(OSError):
                file.close()  # type: ignore[union-attr]  # Both are pipes.

    def _check_start(self) -> None:
        self._is_ready = self._read_line() is not None
        if self._is_ready:
            return
        self._process.wait()
        self._log.seek(0)
        last = self._log.read().decode(errors="replace").strip().rpartition("\n")[2]
        raise ReelbookError(
            f"No process for measuring can be started here ({last or self.why()}). "
            "Look whether `python -m reelbook` works in a terminal; executor= takes others' processes."
        )

    def _read_line(self) -> Measured | None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        # A last line without a newline was cut off when the process died.
        return cast(Measured, json.loads(line)) if line.endswith(b"\n") else None

    def _time_out(self) -> None:
        self._has_timed_out = True
        self._process.kill()


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

    orders: SimpleQueue[Order] = SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    message: object = "ready"
    while True:
        print(json.dumps(message), file=pipe, flush=True)
        order = orders.get()
        message = measure_file(order.path, order.metrics, reference=order.reference)


def _listen(orders: SimpleQueue[Order]) -> None:
    for line in sys.stdin.buffer:
        fields = json.loads(line)
        orders.put(Order(fields["path"], tuple(fields["metrics"]), fields["reference"]))
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
