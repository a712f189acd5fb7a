"""Decides which presses of Run start a run, so that none is paid for by accident."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....models.catalog import is_reusable

if TYPE_CHECKING:
    from ....models.base import Input
    from .run_history import Entry

DOUBLE_SECONDS = 0.7
"""Two presses for the same inputs within this time are one double press; so are those of a held key."""
RECENT_SECONDS = 2.0
"""A press for the same inputs so soon after the end of a run may have been meant for that run."""
TWICE = "Pressed twice: it runs once."
SAME = "This is under way already. The same inputs and seed give the same result, so nothing more is sent."
GOING = "One run is under way. Press again to start another."
ENDED = "This run has just ended. Press again to start another."


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a press starts no run."""

    text: str
    again: int | None = None
    """The number that a press sends to start another run all the same; None if that is not offered."""

    @property
    def message(self) -> dict[str, Any]:
        """The refusal as a message to the page."""
        return {"said": self.text} if self.again is None else {"said": self.text, "again": self.again}


class Presses:
    """The presses of Run in all views of one form. Not thread-safe: callers hold the lock of the entries."""

    def __init__(self) -> None:
        self._pressed_at = float("-inf")
        self._offers = 0
        self._offered: tuple[int, Input] | None = None

    def check(self, value: Input, entries: Iterable[Entry], again: Any) -> Refusal | None:
        """Record a press; return its refusal, None if it starts a run. `again` is the number of an accepted offer."""
        now = time.monotonic()
        since, self._pressed_at = now - self._pressed_at, now
        same = [entry for entry in entries if entry.value == value]
        if any(entry.is_sending for entry in same) or (same and since < DOUBLE_SECONDS):
            return Refusal(TWICE)
        going = [entry for entry in same if not entry.is_over]
        if going and is_reusable(value):
            return Refusal(SAME)
        # An ended run with a seed is found in the library, at no cost.
        is_recent = not is_reusable(value) and any(_is_recently_completed(entry, now) for entry in same)
        if (going or is_recent) and (type(again) is not int or self._offered != (again, value)):
            self._offers += 1
            self._offered = self._offers, value
            return Refusal(GOING if going else ENDED, self._offers)
        # An offer is accepted once, by the first view.
        self._offered = None
        return None


def _is_recently_completed(entry: Entry, now: float) -> bool:
    entry.note_end()
    # A failed or cancelled run may be repeated at once.
    return entry.is_completed and entry.ended_at is not None and now - entry.ended_at < RECENT_SECONDS
