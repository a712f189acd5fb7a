"""The end of the process: answers that are paid for are awaited, for a while, and everything is closed."""

from __future__ import annotations

import atexit
import contextlib
import time
from concurrent.futures import wait as wait_for

from .client import DRAIN_SECONDS, close_all, unclosed_clients
from .process_shared import stop_embedded
from .storage.ledger.transitions import Entry
from .util.background_loop import TICK_SECONDS
from .util.interrupts import FinalWork, ShutdownSignals, has_other_threads, register_before_threads_end, write_to_stderr

CLOSE_SECONDS = DRAIN_SECONDS + 2.0
"""What comes after the last answer takes no time, unless the disk or the service stands still."""


def _in_flight() -> list[Entry]:
    """The runs whose paid requests are under way."""
    return [entry for client in unclosed_clients() for entry in client.in_flight]


def _format_waiting() -> str:
    """What an interrupt would cut short, as a sentence; empty for nothing."""
    count = len(_in_flight())
    if not count:
        return ""
    left = max(round(_deadline - time.monotonic()), 0) if _deadline else round(DRAIN_SECONDS)
    requests = (
        "1 paid request waits for its answer" if count == 1 else f"{count:,} paid requests wait for their answers"
    )
    return f"{requests}; writing {'it' if count == 1 else 'them'} down takes at most {left} s more."


def _format_given_up(entries: list[Entry], why: str) -> str:
    """What becomes of runs whose answers are not awaited any longer."""
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


_deadline: float | None = None
_ending = ShutdownSignals(_format_waiting)


def _before_threads_end() -> None:
    """Keep interrupts away already while Python waits for our own threads; somebody else's may have to be interrupted."""
    if not has_other_threads():
        _ending.hold_signals()


@atexit.register
def _at_exit() -> None:
    _ending.hold_signals()
    _drain_and_close()
    _ending.release()


def _drain_and_close() -> None:
    """Write down what is still under way, then stop."""
    global _deadline
    if unclosed_clients():
        _deadline = time.monotonic() + DRAIN_SECONDS
        _close_clients()
    stop_embedded()


def _close_clients() -> None:
    clients = close_all()
    until = time.monotonic() + CLOSE_SECONDS
    endings = [client.begin_close() for client in clients]
    while wait_for(endings, TICK_SECONDS).not_done and time.monotonic() < until and not _ending.given_up:
        pass
    if left := _in_flight():
        why = "You gave up" if _ending.given_up else f"No answer has come within {DRAIN_SECONDS:.0f} s"
        write_to_stderr(_format_given_up(left, why))
    for client in clients:
        with contextlib.suppress(Exception):
            client.finish_close()


register_before_threads_end(_before_threads_end)
before_signal = FinalWork(_drain_and_close, CLOSE_SECONDS + 1.0)
"""What an order to end waits for, wherever it comes; `connect` installs it."""
