"""What a sweep does while the service is unavailable: it waits longer each time, and in the end gives up."""

from __future__ import annotations

import math

from ...transport.retries import get_pause

FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 30.0
GIVE_UP_SECONDS = 900.0
"""How long an active sweep waits for a service that cannot be reached."""


class Backoff:
    """An exponential back-off for a service that is unreachable or limits requests, with a time limit.

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
        """Record a failure and return whether to retry."""
        if now < self._until:
            return True  # One of several concurrent requests; their failures count once.
        self._since = now if self._failures == 0 else self._since
        self._until = now + get_pause(self._failures, first=FIRST_PAUSE_SECONDS, most=MAX_PAUSE_SECONDS)
        self._failures += 1
        return now - self._since < GIVE_UP_SECONDS

    def reset(self) -> None:
        """Record that the service has answered."""
        self._failures, self._until = 0, -math.inf
