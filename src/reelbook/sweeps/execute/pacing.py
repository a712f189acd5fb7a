"""When the next run of a sweep may be sent: a rate, a pause while the service is away, and few runs in its queue."""

from __future__ import annotations

import math
import re
from typing import Any

from ...transport.retries import get_pause

_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(s|sec|second|m|min|minute|h|hour)\s*\Z")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
MAX_RATE = 10**15
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 30.0
GIVE_UP_SECONDS = 900.0
"""How long an active sweep waits for a service that cannot be reached."""
MIN_AHEAD, MIN_SILENT = 2, 3
"""Runs that may always wait at the service, so that it has work before the client notices an end; and ends after which a
service that never says what it works on is not expected to."""
SHORT_SECONDS, LONG_SECONDS = 0.5, 2.0
"""After a shorter wait in the queue the service may have been idle; a longer one was longer than needed."""


def parse_rate(rate: Any) -> float:
    """A rate such as `"10/s"`, `"100/min"` or `30` in runs per second.

    >>> parse_rate("10/s"), parse_rate("90/h"), parse_rate(2)
    (10.0, 0.025, 2.0)
    """
    if isinstance(rate, str) and (match := _RATE.match(rate)):
        per_second = float(match[1]) / _SECONDS[match[2][0]]
    elif isinstance(rate, (int, float)) and not isinstance(rate, bool):
        per_second = float(rate) if rate <= MAX_RATE else math.inf
    else:
        per_second = 0.0
    if not 0 < per_second < math.inf:
        raise ValueError("no rate")
    return per_second


class RateLimit:
    """A limit of runs per second, evenly spaced: there is no burst after a pause.

    >>> pace = RateLimit(2.0)
    >>> pace.delay(now=10.0), pace.record_send(now=10.0), pace.delay(now=10.2)
    (0.0, None, 0.3)
    """

    def __init__(self, per_second: float | None) -> None:
        self._gap = 0.0 if per_second is None else 1.0 / per_second
        self._next = -math.inf

    def delay(self, now: float) -> float:
        """Seconds to wait."""
        return max(round(self._next - now, 6), 0.0)

    def record_send(self, now: float) -> None:
        """Record that a run was sent."""
        self._next = max(self._next, now) + self._gap


class Backoff:
    """A pause that grows with each failure of a service that is unreachable or limits requests, and a time limit.

    >>> backoff = Backoff()
    >>> backoff.record_failure(now=0.0), 0.5 <= backoff.delay(now=0.0) <= 1.0
    (True, True)
    >>> backoff.reset(), backoff.delay(now=0.0)
    (None, 0.0)
    """

    def __init__(self) -> None:
        self._since = self._until = -math.inf
        self._failures = 0

    def delay(self, now: float) -> float:
        """Seconds to wait."""
        return max(self._until - now, 0.0)

    def record_failure(self, now: float) -> bool:
        """Record a failure and return whether to retry. Failures during the pause count once."""
        if now >= self._until:
            self._since = now if self._failures == 0 else self._since
            self._until = now + get_pause(self._failures, first=FIRST_PAUSE_SECONDS, most=MAX_PAUSE_SECONDS)
            self._failures += 1
        return now - self._since < GIVE_UP_SECONDS

    def reset(self) -> None:
        """Record that the service has answered."""
        self._failures, self._until = 0, -math.inf


class SendWindow:
    """How many runs may wait at the service: few, because they are paid for, and no longer wanted after an interrupt.

    Two, or half of those that it works on; one more after each run that hardly waited in its queue, one less after a
    long wait. As many as may be sent at all if the service does not say what it works on, or if other clients' runs are
    in the queue, so that runs sent late would always be last.

    >>> window = SendWindow(64)
    >>> window.ahead(working=4), window.ahead(working=10)
    (2, 5)
    """

    def __init__(self, max_runs: int) -> None:
        self._max_runs, self._allowed = max_runs, MIN_AHEAD
        self._has_details = self._is_shared = False
        self._ends = 0

    def observe(self, *, at_work: bool, position: int | None, under_way: int) -> None:
        """Record the reported status of one run, while `under_way` runs of this sweep are active."""
        self._has_details = self._has_details or at_work or position is not None
        self._is_shared = position is not None and position >= under_way

    def record_end(self, queued: float | None) -> None:
        """Record the end of a run, and its seconds in the queue if the service reports them."""
        self._ends += 1
        if not self._has_details and queued is None:
            self._allowed = self._max_runs if self._ends >= MIN_SILENT else self._allowed
        elif queued is not None and queued < SHORT_SECONDS:
            self._allowed = min(self._allowed + 1, self._max_runs)
        elif queued is not None and queued > LONG_SECONDS:
            self._allowed = max(self._allowed - 1, MIN_AHEAD)

    def ahead(self, *, working: int) -> int:
        """The number of runs that may be queued or being sent, while `working` runs are in progress."""
        return self._max_runs if self._is_shared else max(self._allowed, working // 2)
