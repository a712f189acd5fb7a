"""How many runs a sweep sends ahead of those that the service works on."""

from __future__ import annotations

import math
from collections import deque

LEAD_SECONDS, SHORT_SECONDS = 2.0, 0.5
"""What the service ends in this time may wait there, so that it never runs dry before an end is noticed here; and a wait so
short that it may have run dry all the same, because news takes long."""
MIN_AHEAD, MIN_ENDS, MAX_RECENT_ENDS = 2, 3, 16


class SendWindow:
    """Says how many runs may be sent ahead, learning from what the service tells of those that it has.

    What waits at the service when a person interrupts is paid for and not wanted any more, so it is little: two runs, half
    of those that are worked on at the same time, or what ends within two seconds, whichever is most. It is more only where
    the service says that runs hardly wait there.

    >>> window = SendWindow(64, now=0.0)
    >>> window.ahead(working=4, now=0.0), window.ahead(working=10, now=0.0)
    (2, 5)
    >>> window.observe(at_work=True, position=None, under_way=3)
    >>> for end in range(1, 11):
    ...     window.record_end(now=end / 10)
    >>> window.ahead(working=2, now=1.0)
    20
    """

    def __init__(self, max_runs: int, *, now: float, per_second: float = 0.0) -> None:
        """`max_runs` runs are under way at once; `per_second` is how many are expected to end, going by earlier ones."""
        self._max_runs, self._expected = max_runs, per_second
        self._since, self._ends = now, deque[float](maxlen=MAX_RECENT_ENDS)
        self._has_details = self._is_shared = False
        self._allowed = MIN_AHEAD

    def observe(self, *, at_work: bool, position: int | None, under_way: int) -> None:
        """What the service said of one run, while it has so many of ours."""
        self._has_details = self._has_details or at_work or position is not None
        # Others are in the line, too: whoever sends late has a place at its end each time.
        self._is_shared = position is not None and position >= under_way

    def record_end(self, *, now: float, queued: float | None = None) -> None:
        """One more run has ended, after so many seconds in the queue, if the service says so."""
        self._ends.append(now)
        if queued is not None and queued < SHORT_SECONDS:
            self._allowed = min(self._allowed + 1, self._max_runs)
        elif queued is not None and queued > LEAD_SECONDS:
            self._allowed = max(self._allowed - 1, MIN_AHEAD)

    def ahead(self, *, working: int, now: float) -> int:
        """How many may wait at the service or be on the way there, while it works on so many."""
        is_silent = len(self._ends) >= MIN_ENDS and not self._has_details
        if is_silent or self._is_shared:
            return self._max_runs
        return max(self._allowed, working // 2, math.ceil(min(LEAD_SECONDS * self._per_second(now), self._max_runs)))

    def _per_second(self, now: float) -> float:
        """How many end in a second; before the first one as expected, as long as nothing speaks against it."""
        if not self._ends:
            waited = now - self._since
            return min(self._expected, 1 / waited) if waited > 0 else self._expected
        is_full = len(self._ends) == MAX_RECENT_ENDS
        waited = now - (self._ends[0] if is_full else self._since)
        return (len(self._ends) - is_full) / waited if waited > 0 else math.inf
