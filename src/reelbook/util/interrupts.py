"""Signal handlers for an orderly end of the process."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

REPEAT_SECONDS = 1.0
"""During shutdown, interrupts closer together than this count as one, as from a key held down."""
MAX_INTERRUPTS = 3
"""This many interrupts during shutdown end the process at once."""
TERMINATED = 128 + signal.SIGTERM
END_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end a process: a request to terminate, and a closed terminal."""


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Raise `SystemExit` on SIGTERM during the block, unless another handler is installed."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is _exit:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _exit(number: int, frame: FrameType | None) -> None:
    raise SystemExit(TERMINATED)


class FinalWork:
    """A handler of `END_SIGNALS` that calls `work` in a thread, for at most `seconds`, before the process ends.

    A thread is used because the main thread may hold any lock at this moment. A forked child ends at once.
    """

    def __init__(self, work: Callable[[], None], seconds: float) -> None:
        self._work, self._seconds, self._pid = work, seconds, os.getpid()

    def install(self) -> None:
        """Install the handler for each signal without one."""
        for number in END_SIGNALS if _is_main() else ():
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() == self._pid:
            for other in END_SIGNALS:
                signal.signal(other, signal.SIG_IGN)
            work = threading.Thread(target=self._work, name="reelbook-end", daemon=True)
            work.start()
            work.join(self._seconds)
        die_of(number)


def die_of(number: int) -> None:
    """End the process by the default action of a signal."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


class ShutdownSignals:
    """A handler of signals during shutdown, which only repeated interrupts cut short.

    `waits_for` returns a sentence on what the process is waiting for; empty if nothing.
    """

    def __init__(self, waits_for: Callable[[], str]) -> None:
        self.given_up = self._is_over = False
        self._waits_for = waits_for
        self._count, self._last = 0, float("-inf")

    def hold_signals(self) -> None:
        """Count interrupts and respond with a message from now on, and ignore requests to terminate."""
        if not _is_main():
            return
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self)
        # Jupyter terminates a kernel that takes more than 2.5 s to end, while a paid request may await its answer.
        for number in END_SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def release(self) -> None:
        """Let `MAX_INTERRUPTS` interrupts end the process without a traceback, as only other code is still running."""
        self._is_over = True

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._last < REPEAT_SECONDS:
            return
        self._last, self._count = now, self._count + 1
        if self._is_over and self._count >= MAX_INTERRUPTS:
            die_of(number)
        if self.given_up:
            return
        waits_for = self._waits_for()
        if self._count >= MAX_INTERRUPTS:
            self.given_up = True
        elif waits_for:
            more = {1: "twice more", 2: "once more"}[self._count]
            write_to_stderr(f"{waits_for} Press Ctrl-C {more} to give up.")


def register_before_threads_end(function: Callable[[], None]) -> None:
    """Register a function to call when the main thread has ended, before Python waits for other threads."""
    # Executors join their threads in functions registered in the same way; the last registered is called first.
    import concurrent.futures.thread  # noqa: F401

    # Private API without a public counterpart: `atexit` functions run after that wait.
    register: Callable[[Any], None] | None = getattr(threading, "_register_atexit", None)
    if register is not None:
        register(function)


def has_other_threads() -> bool:
    """Whether Python will wait for other threads, so that an interrupt must be able to end the process."""
    return any(not thread.daemon and thread is not threading.main_thread() for thread in threading.enumerate())


def write_to_stderr(text: str) -> None:
    """Write a line to standard error; safe in a signal handler, where `print` may be in progress."""
    with contextlib.suppress(OSError):  # Standard error is closed.
        os.write(2, f"reelbook: {text}\n".encode())


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
