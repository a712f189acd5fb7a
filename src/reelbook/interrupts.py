"""SIGINT and SIGTERM: each raised once while something of ours waits, and held back while the process ends."""

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

AGAIN_SECONDS = 0.01
"""After this an interrupt is raised that came where none can be."""
GRACE_SECONDS = 1.0
"""Further interrupts within this time of one that was raised are dropped: what the first one began is not cut short."""
APART_SECONDS = 1.0
"""While the process ends, interrupts closer together than this count as one, such as those of a key that is held down."""
GIVE_UP = 3
"""So many interrupts while the process ends, and it ends at once."""
TERMINATED = 128 + signal.SIGTERM


class _RaisedOnce:
    """A handler of SIGINT that raises `KeyboardInterrupt`, and drops what follows it closely."""

    def __init__(self) -> None:
        self.depth = 0
        self._raised = float("-inf")

    @property
    def is_recent(self) -> bool:
        """Whether it has raised within the last moments."""
        return time.monotonic() - self._raised < GRACE_SECONDS

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.is_recent:
            return
        if _is_swallowed(frame):
            threading.Timer(AGAIN_SECONDS, _interrupt_main).start()
            return
        self._raised = time.monotonic()
        raise KeyboardInterrupt


def _interrupt_main() -> None:
    """Interrupt the main thread, also where it waits for the system."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def _is_swallowed(frame: FrameType | None) -> bool:
    """Whether what is raised here is printed by Python and lost: an import tidies up its lock when nobody holds it any more."""
    code = None if frame is None else frame.f_code
    return code is not None and code.co_name == "cb" and code.co_filename == "<frozen importlib._bootstrap>"


@contextmanager
def raised_once() -> Iterator[None]:
    """Raise `KeyboardInterrupt` for the first of several interrupts in a row, so that its handling is not interrupted.

    SIGTERM ends the process by `SystemExit` meanwhile, so that `atexit` functions run. Handlers that somebody else has
    installed are left alone, and so is everything outside the main thread.
    """
    handler = signal.getsignal(signal.SIGINT) if _is_main() else None
    if handler is signal.default_int_handler:
        handler = _RaisedOnce()
        signal.signal(signal.SIGINT, handler)
    if not isinstance(handler, _RaisedOnce):
        yield
        return
    handler.depth += 1
    try:
        with _ended_by_sigterm():
            yield
    finally:
        handler.depth -= 1
        # After an interrupt it stays for its grace: a second one must not hit the traceback of the first.
        if not handler.depth and not handler.is_recent and signal.getsignal(signal.SIGINT) is handler:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    # A shell of IPython's catches SystemExit, and would go on.
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL or _in_ipython():
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


class Ending:
    """The signals of a process that ends: it is not cut short by them, unless somebody insists.

    `waits_for` says what it waits for; empty where that is nothing.
    """

    def __init__(self, waits_for: Callable[[], str]) -> None:
        self.given_up = False
        self._waits_for = waits_for
        self._count, self._last = 0, float("-inf")

    def hold_signals(self) -> None:
        """From now on interrupts are counted and answered in words, and SIGTERM is ignored."""
        if not _is_main():
            return
        handler = signal.getsignal(signal.SIGINT)
        if handler is signal.default_int_handler or isinstance(handler, _RaisedOnce):
            if isinstance(handler, _RaisedOnce) and handler.is_recent:
                self._last = time.monotonic()  # The rest of an interrupt that was raised.
            signal.signal(signal.SIGINT, self)
        # Jupyter terminates a kernel that needs more than 2.5 s to end, while an answer that is paid for may still come.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._last < APART_SECONDS or self.given_up:
            return
        self._last, self._count = now, self._count + 1
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


def _in_ipython() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None
