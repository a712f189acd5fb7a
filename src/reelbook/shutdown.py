"""Shutdown at the end of the process: wait for answers to paid requests, up to a time limit, and close all clients."""

from __future__ import annotations

import atexit
import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait as wait_for

from .client import DRAIN_SECONDS, Client
from .storage.ledger.transitions import Entry
from .util.background_loop import TICK_SECONDS
from .util.interrupts import FinalWork, ShutdownSignals, has_other_threads, register_before_threads_end, write_to_stderr

CLOSE_SECONDS = DRAIN_SECONDS + 2.0
"""The work after the last answer is short, unless the disk or the service hangs."""


class ProcessEnd:
    """Closes the clients of a session when the process ends, at exit or by a signal.

    `clients` returns those that are open or still waiting for answers.
    """

    def __init__(self, clients: Callable[[], Sequence[Client]]) -> None:
        self._clients = clients
        self._deadline: float | None = None
        self._signals = ShutdownSignals(self._format_waiting)
        self._before_signal = FinalWork(self._drain_and_close, CLOSE_SECONDS + 1.0)
        self._is_registered = False

    def install(self) -> None:
        """Register the closing of the clients at exit and before a signal ends the process."""
        self._before_signal.install()
        if not self._is_registered:
            self._is_registered = True
            atexit.register(self._at_exit)
            register_before_threads_end(self._before_threads_end)

    def _before_threads_end(self) -> None:
        """Hold signals while Python waits for threads, unless other code has threads, which may need an interrupt."""
        if not has_other_threads():
            self._signals.hold_signals()

    def _at_exit(self) -> None:
        self._signals.hold_signals()
        self._drain_and_close()
        self._signals.release()

    def _drain_and_close(self) -> None:
        """Wait for answers in flight and close the clients, and with them the embedded services."""
        if self._clients():
            self._deadline = time.monotonic() + DRAIN_SECONDS
            self._close_clients()

    def _close_clients(self) -> None:
        clients = self._clients()
        until = time.monotonic() + CLOSE_SECONDS
        endings = [client.begin_close() for client in clients]
        while wait_for(endings, TICK_SECONDS).not_done and time.monotonic() < until and not self._signals.given_up:
            pass
        if left := self._in_flight():
            late = f"No answer has come, or could be written down, within {DRAIN_SECONDS:.0f} s"
            write_to_stderr(_format_given_up(left, "You gave up" if self._signals.given_up else late))
        for client in clients:
            with contextlib.suppress(Exception):
                client.finish_close()

    def _in_flight(self) -> list[Entry]:
        """The runs whose paid requests are in flight."""
        return [entry for client in self._clients() for entry in client.in_flight]

    def _format_waiting(self) -> str:
        """A sentence on the requests that an interrupt would abandon; empty if there are none."""
        count = len(self._in_flight())
        if not count:
            return ""
        left = max(round(self._deadline - time.monotonic()), 0) if self._deadline else round(DRAIN_SECONDS)
        requests = (
            "1 paid request waits for its answer" if count == 1 else f"{count:,} paid requests wait for their answers"
        )
        return f"{requests}; writing {'it' if count == 1 else 'them'} down takes at most {left} s more."


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
