"""SendWindow: how many runs a sweep sends ahead of those in progress at the service."""

from __future__ import annotations

import math
from collections import deque

LEAD_SECONDS, SHORT_SECONDS = 2.0, 0.5
"""The service's queue may contain the runs that it ends within `LEAD_SECONDS`, so that it is not idle before the client
notices an end. After a wait below `SHORT_SECONDS` in the queue, the service may have been idle nevertheless."""
MIN_AHEAD, MIN_ENDS, MAX_RECENT_ENDS = 2, 3, 16


class SendWindow:
    """Determines how many runs may be sent ahead, from the reported statuses of earlier runs.

    Runs in the service's queue when the user interrupts are paid for and no longer wanted, so they are few: two, half
    of those in progress, or those that end within two seconds, whichever is most. There are more only if the service
    reports that runs hardly wait in its queue.

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
        """`max_runs` is the maximum number of concurrent runs; `per_second` the expected rate of ended runs."""
        self._max_runs, self._expected = max_runs, per_second
        self._since, self._ends = now, deque[float](maxlen=MAX_RECENT_ENDS)
        self._has_details = self._is_shared = False
        self._allowed = MIN_AHEAD

    def observe(self, *, at_work: bool, position: int | None, under_way: int) -> None:
        """Record the reported status of one run, while `under_way` runs of this sweep are active."""
        self._has_details = self._has_details or at_work or position is not None
        # Other clients' runs are queued, too, so that runs sent late would always be last.
        self._is_shared = position is not None and position >= under_way

    def record_end(self, *, now: float, queued: float | None = None) -> None:
        """Record the end of a run, and its seconds in the queue if the service reports them."""
        self._ends.append(now)
        if queued is not None and queued < SHORT_SECONDS:
            self._allowed = min(self._allowed + 1, self._max_runs)
        elif queued is not None and queued > LEAD_SECONDS:
            self._allowed = max(self._allowed - 1, MIN_AHEAD)

    def ahead(self, *, working: int, now: float) -> int:
        """The number of runs that may be queued or being sent, while `working` runs are in progress."""
        is_silent = len(self._ends) >= MIN_ENDS and not self._has_details
        if is_silent or self._is_shared:
            return self._max_runs
        return max(self._allowed, working // 2, math.ceil(min(LEAD_SECONDS * self._per_second(now), self._max_runs)))

    def _per_second(self, now: float) -> float:
        """Ended runs per second; before the first end, the expected rate, unless the elapsed time contradicts it."""
        if not self._ends:
            waited = now - self._since
            return min(self._expected, 1 / waited) if waited > 0 else self._expected
        is_full = len(self._ends) == MAX_RECENT_ENDS
        waited = now - (self._ends[0] if is_full else self._since)
        return (len(self._ends) - is_full) / waited if waited > 0 else math.inf
