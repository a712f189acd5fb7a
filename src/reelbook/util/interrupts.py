"""The signals that interrupt and end a process: raised once and where they can be, and held back while it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

AGAIN_SECONDS, IMPORT_SECONDS = 0.01, 5.0
"""After the first an interrupt is raised that came while something was imported, or is put off again; not beyond the second."""
GRACE_SECONDS = 1.0
"""Further interrupts within this time of one that was raised are dropped: what the first one began is not cut short."""
APART_SECONDS = 1.0
"""While the process ends, interrupts closer together than this count as one, such as those of a key that is held down."""
GIVE_UP = 3
"""So many interrupts while the process ends, and it ends at once."""
TERMINATED = 128 + signal.SIGTERM
ENDS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What ends a process: an order to end, and a terminal that is closed."""
IMPORTS = "<frozen importlib._bootstrap>"


class _RaisedOnce:
    """A handler of SIGINT that raises `KeyboardInterrupt`, and drops what follows it closely.

    What is imported meanwhile is imported to its end first: half of a module would be left, and a traceback of its own.
    """

    def __init__(self) -> None:
        self.depth = 0
        self._raised = float("-inf")
        self._imports = 0
        self._late_since: float | None = None
        self._again: threading.Timer | None = None

    def begin(self, frame: FrameType | None) -> None:
        """Somebody waits from now on; what is being imported around it is imported for longer than that."""
        if not self.depth:
            self._imports, self._late_since = _count_of_imports(frame), None
        self.depth += 1

    @property
    def is_recent(self) -> bool:
        """Whether it has raised within the last moments."""
        return time.monotonic() - self._raised < GRACE_SECONDS

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.is_recent or (_is_in_shutdown(frame) and not others_work()):
            return
        if self.depth and _count_of_imports(frame) > self._imports:
            now = time.monotonic()
            self._late_since = now if self._late_since is None else self._late_since
            if now - self._late_since < IMPORT_SECONDS:
                self._again = threading.Timer(AGAIN_SECONDS, _interrupt_main)
                self._again.daemon = True
                self._again.start()
                return
        self._raise()

    def raise_late(self) -> None:
        """Raise what was put off, if it has not been raised."""
        if self._late_since is not None:
            self._raise()

    def _raise(self) -> None:
        if self._again is not None:
            self._again.cancel()
        self._raised, self._late_since = time.monotonic(), None
        raise KeyboardInterrupt


def _interrupt_main() -> None:
    """Interrupt the main thread, also where it waits for the system."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def _count_of_imports(frame: FrameType | None) -> int:
    """How much of what runs is Python's own code for imports."""
    return sum(one.f_code.co_filename == IMPORTS for one in _frames(frame))


def _is_in_shutdown(frame: FrameType | None) -> bool:
    """Whether the main module has ended, and Python waits for threads; an exception would be printed there and lost."""
    return any(
        one.f_code.co_name == "_shutdown" and one.f_code.co_filename == threading.__file__ for one in _frames(frame)
    )


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


@contextmanager
def raised_once() -> Iterator[None]:
    """Raise `KeyboardInterrupt` for the first of several interrupts in a row, so that its handling is not interrupted.

    A handler that somebody else has installed is left alone, and so is everything outside the main thread.
    """
    handler = signal.getsignal(signal.SIGINT) if _is_main() else None
    if handler is signal.default_int_handler:
        handler = _RaisedOnce()
        signal.signal(signal.SIGINT, handler)
    if not isinstance(handler, _RaisedOnce):
        yield
        return
    handler.begin(sys._getframe())
    try:
        yield
        handler.raise_late()
    finally:
        handler.depth -= 1
        # After an interrupt it stays for its grace: a second one must not hit the traceback of the first.
        if not handler.depth and not handler.is_recent and signal.getsignal(signal.SIGINT) is handler:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def exits_by_sigterm() -> Iterator[None]:
    """End the process by `SystemExit` on SIGTERM meanwhile, unless somebody else answers it."""
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


class Last:
    """A handler of what ends a process: does some work in a thread first, for at most so many seconds.

    In a thread, because the main one may hold any lock at this moment. A forked child ends at once.
    """

    def __init__(self, work: Callable[[], None], seconds: float) -> None:
        self._work, self._seconds, self._pid = work, seconds, os.getpid()

    def install(self) -> None:
        """From now on, for each signal that nobody else answers."""
        for number in ENDS if _is_main() else ():
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() == self._pid:
            for other in ENDS:
                signal.signal(other, signal.SIG_IGN)
            work = threading.Thread(target=self._work, name="reelbook-end", daemon=True)
            work.start()
            work.join(self._seconds)
        die_of(number)


def die_of(number: int) -> None:
    """End the process as this signal does where nobody answers it."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


class Ending:
    """The signals of a process that ends: it is not cut short by them, unless somebody insists.

    `waits_for` says what it waits for; empty where that is nothing.
    """

    def __init__(self, waits_for: Callable[[], str]) -> None:
        self.given_up = self._is_over = False
        self._waits_for = waits_for
        self._count, self._last = 0, float("-inf")

    def hold_signals(self) -> None:
        """From now on interrupts are counted and answered in words, and orders to end are ignored."""
        if not _is_main():
            return
        handler = signal.getsignal(signal.SIGINT)
        if handler is signal.default_int_handler or isinstance(handler, _RaisedOnce):
            if isinstance(handler, _RaisedOnce) and handler.is_recent:
                self._last = time.monotonic()  # The rest of an interrupt that was raised.
            signal.signal(signal.SIGINT, self)
        # Jupyter terminates a kernel that needs more than 2.5 s to end, while an answer that is paid for may still come.
        for number in ENDS:
            signal.signal(number, signal.SIG_IGN)

    def release(self) -> None:
        """All is done; interrupts of what others still do end the process, without a traceback."""
        self._is_over = True

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._last < APART_SECONDS:
            return
        self._last, self._count = now, self._count + 1
        if self._is_over and self._count >= GIVE_UP:
            die_of(number)
        if self.given_up:
            return
        waits_for = self._waits_for()
        if self._count >= GIVE_UP:
            self.given_up = True
        elif waits_for:
            more = {1: "twice more", 2: "once more"}[self._count]
            say(f"{waits_for} Press Ctrl-C {more} to give up.")


def before_threads_end(function: Callable[[], None]) -> None:
    """Call this when the main thread has ended, before Python waits for other threads."""
    # Executors wait for their threads in functions like this one; the later ones come first.
    import concurrent.futures.thread  # noqa: F401

    # Not public, and without a public counterpart: `atexit` functions run after that wait.
    register: Callable[[Any], None] | None = getattr(threading, "_register_atexit", None)
    if register is not None:
        register(function)


def others_work() -> bool:
    """Whether threads go on for which Python will wait: an interrupt has to be able to end that."""
    return any(not thread.daemon and thread is not threading.main_thread() for thread in threading.enumerate())


def say(text: str) -> None:
    """Write a line to standard error, also from a handler of a signal, where `print` may be half way through."""
    with contextlib.suppress(OSError):  # Nobody reads.
        os.write(2, f"reelbook: {text}\n".encode())


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
