"""How many runs a sweep sends ahead of those that the service works on."""

from __future__ import annotations

import math
from collections import deque

LEAD_SECONDS, SHORT_SECONDS = 2.0, 0.5
"""What the service ends in this time may wait there, so that it never runs dry before an end is noticed here; and a wait so
short that it may have run dry all the same, because news takes long."""
MIN_AHEAD, FEW_ENDS, RECENT_ENDS = 2, 3, 16


class SendWindow:
    """Says how many runs may be sent ahead, learning from what the service tells of those that it has.

    What waits at the service when a person interrupts is paid for and not wanted any more, so it is little: two runs, half
    of those that are worked on at the same time, or what ends within two seconds, whichever is most. It is more only where
    the service says that runs hardly wait there.

    >>> window = SendWindow(64, now=0.0)
    >>> window.ahead(working=4, now=0.0), window.ahead(working=10, now=0.0)
    (2, 5)
    >>> window.told(at_work=True, position=None, under_way=3)
    >>> for end in range(1, 11):
    ...     window.ended(now=end / 10)
    >>> window.ahead(working=2, now=1.0)
    20
    """

    def __init__(self, most: int, *, now: float, per_second: float = 0.0) -> None:
        """`most` runs are under way at once; `per_second` is how many are expected to end, going by earlier ones."""
        self._most, self._expected = most, per_second
        self._since, self._ends = now, deque[float](maxlen=RECENT_ENDS)
        self._is_told = self._in_line = False
        self._grown = MIN_AHEAD

    def told(self, *, at_work: bool, position: int | None, under_way: int) -> None:
        """What the service said of one run, while it has so many of ours."""
        self._is_told = self._is_told or at_work or position is not None
        # Others are in the line, too: whoever sends late has a place at its end each time.
        self._in_line = position is not None and position >= under_way

    def ended(self, *, now: float, queued: float | None = None) -> None:
        """One more run has ended, after so many seconds in the queue, if the service says so."""
        self._ends.append(now)
        if queued is not None and queued < SHORT_SECONDS:
            self._grown = min(self._grown + 1, self._most)
        elif queued is not None and queued > LEAD_SECONDS:
            self._grown = max(self._grown - 1, MIN_AHEAD)

    def ahead(self, *, working: int, now: float) -> int:
        """How many may wait at the service or be on the way there, while it works on so many."""
        is_silent = len(self._ends) >= FEW_ENDS and not self._is_told
        if is_silent or self._in_line:
            return self._most
        return max(self._grown, working // 2, math.ceil(min(LEAD_SECONDS * self._per_second(now), self._most)))

    def _per_second(self, now: float) -> float:
        """How many end in a second; before the first one as expected, as long as nothing speaks against it."""
        if not self._ends:
            waited = now - self._since
            return min(self._expected, 1 / waited) if waited > 0 else self._expected
        is_full = len(self._ends) == RECENT_ENDS
        waited = now - (self._ends[0] if is_full else self._since)
        return (len(self._ends) - is_full) / waited if waited > 0 else math.inf
