"""Shutdown at the end of the process: wait for answers to paid requests, up to a time limit, and close all clients."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait as wait_for
from types import FrameType

from .client import DRAIN_SECONDS, Client
from .storage.ledger.transitions import Entry
from .util.background_loop import TICK_SECONDS

CLOSE_SECONDS = DRAIN_SECONDS + 2.0
"""The work after the last answer is short, unless the disk or the service hangs."""
REPEAT_SECONDS = 1.0
"""Interrupts closer together than this count as one, as from a key held down."""
END_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end a process: a request to terminate, and a closed terminal."""


class ProcessEnd:
    """Closes the clients of a session when the process ends, at exit or by a signal.

    `clients` returns those that are open or still waiting for answers.
    """

    def __init__(self, clients: Callable[[], Sequence[Client]]) -> None:
        self._clients, self._pid = clients, os.getpid()
        self._deadline: float | None = None
        self._is_registered = self._given_up = False
        self._interrupts, self._last_interrupt = 0, float("-inf")

    def install(self) -> None:
        """Close the clients at exit, and before a signal without another handler ends the process."""
        if not self._is_registered:
            self._is_registered = True
            atexit.register(self._at_exit)
        for number in END_SIGNALS if _is_main() else ():
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self._end)

    def _at_exit(self) -> None:
        """Close the clients, which only two interrupts cut short."""
        if _is_main():
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, self._count_interrupt)
            # Jupyter terminates a kernel that takes more than 2.5 s to end, while a paid request may await its answer.
            _ignore_end_signals()
        self._close_clients()
        if _is_main() and signal.getsignal(signal.SIGINT) == self._count_interrupt:
            signal.signal(signal.SIGINT, signal.SIG_DFL)

    def _end(self, number: int, frame: FrameType | None) -> None:
        """Close the clients, then end the process by the signal; a forked child ends at once."""
        if os.getpid() == self._pid:
            _ignore_end_signals()
            # In a thread, because the main one may hold any lock at this moment.
            work = threading.Thread(target=self._close_clients, name="reelbook-end", daemon=True)
            work.start()
            work.join(CLOSE_SECONDS + 1.0)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _count_interrupt(self, number: int, frame: FrameType | None) -> None:
        if time.monotonic() - self._last_interrupt < REPEAT_SECONDS:
            return
        self._interrupts, self._last_interrupt = self._interrupts + 1, time.monotonic()
        count = len(self._in_flight())
        if self._interrupts > 1:
            self._given_up = True
        elif count:
            left = max(round(self._deadline - time.monotonic()), 0) if self._deadline else round(DRAIN_SECONDS)
            waits = "1 paid request waits for its answer" if count == 1 else f"{count:,} paid requests wait for answers"
            it = "it" if count == 1 else "them"
            _write_to_stderr(
                f"{waits}; writing {it} down takes at most {left} s more. Press Ctrl-C once more to give up."
            )

    def _close_clients(self) -> None:
        """Wait for answers in flight and close the clients, and with them the embedded services."""
        clients = self._clients()
        self._deadline, until = time.monotonic() + DRAIN_SECONDS, time.monotonic() + CLOSE_SECONDS
        endings = [client.begin_close() for client in clients]
        while wait_for(endings, TICK_SECONDS).not_done and time.monotonic() < until and not self._given_up:
            pass
        if left := self._in_flight():
            late = f"No answer has come, or could be written down, within {DRAIN_SECONDS:.0f} s"
            _write_to_stderr(_format_given_up(left, "You gave up" if self._given_up else late))
        for client in clients:
            with contextlib.suppress(Exception):
                client.finish_close()

    def _in_flight(self) -> list[Entry]:
        """The runs whose paid requests are in flight."""
        return [entry for client in self._clients() for entry in client.in_flight]


def _format_given_up(entries: list[Entry], why: str) -> str:
    """A message on the runs whose answers are no longer awaited."""
    uncertain = [entry for entry in entries if entry.attempt_key is None]
    again = len(entries) - len(uncertain)
    words = [f"{why}."]
    if uncertain:
        runs = ", ".join(str(entry.id) for entry in uncertain)
        cost = sum(entry.price or 0 for entry in uncertain)
        one = len(uncertain) == 1
        words.append(
            f"{'Run' if one else 'Runs'} {runs} of the library {'is' if one else 'are'} uncertain and may have cost {cost:,} credits: "
            "rb.library().uncertain lists what to do."
        )
    if again:
        words.append(
            f"{again:,} {'run' if again == 1 else 'runs'} can be run again: this service recognises a repetition and charges once."
        )
    return " ".join(words)


def _ignore_end_signals() -> None:
    for number in END_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _write_to_stderr(text: str) -> None:
    """Write a line to standard error; safe in a signal handler, where `print` may be in progress."""
    with contextlib.suppress(OSError):  # Standard error is closed.
        os.write(2, f"reelbook: {text}\n".encode())


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
