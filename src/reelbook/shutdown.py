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
from .util.printable import format_count

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
        self._is_registered = False

    def install(self) -> None:
        """Close the clients at exit, and before a signal without another handler ends the process."""
        if not self._is_registered:
            self._is_registered = True
            atexit.register(self._at_exit)
        for number in END_SIGNALS if _is_main() else ():
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self._end)

    def _at_exit(self) -> None:
        if _is_main():
            # Jupyter terminates a kernel that takes more than 2.5 s to end, while a paid request may await its answer.
            _ignore_end_signals()
        self._close_clients()

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

    def _close_clients(self) -> None:
        """Wait for answers in flight and close the clients, and with them the embedded services."""
        clients, began = self._clients(), time.monotonic()
        interrupts, last_interrupt = 0, float("-inf")
        endings = [client.begin_close() for client in clients]
        while interrupts < 2 and time.monotonic() < began + CLOSE_SECONDS:
            try:
                if not wait_for(endings, TICK_SECONDS).not_done:
                    break
            except KeyboardInterrupt:
                if time.monotonic() - last_interrupt < REPEAT_SECONDS:
                    continue
                interrupts, last_interrupt, count = interrupts + 1, time.monotonic(), len(self._in_flight())
                if interrupts == 1 and count:
                    waits = f"{format_count(count, 'paid request')} {'waits for its answer' if count == 1 else 'wait for answers'}"
                    _write_to_stderr(f"{waits}, for {DRAIN_SECONDS:.0f} s at most. Press Ctrl-C once more to give up.")
        if left := self._in_flight():
            why = "You gave up" if interrupts > 1 else "No answer came, or it could not be written down"
            runs = ", ".join(str(entry.id) for entry in left)
            _write_to_stderr(
                f"{why}, for run {runs} of the library: rb.library().uncertain lists what may be paid for."
            )
        for client in clients:
            with contextlib.suppress(Exception):
                client.finish_close()

    def _in_flight(self) -> list[Entry]:
        """The runs whose paid requests are in flight."""
        return [entry for client in self._clients() for entry in client.in_flight]


def _ignore_end_signals() -> None:
    for number in END_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _write_to_stderr(text: str) -> None:
    """Write a line to standard error; safe in a signal handler, where `print` may be in progress."""
    with contextlib.suppress(OSError):  # Standard error is closed.
        os.write(2, f"reelbook: {text}\n".encode())


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
