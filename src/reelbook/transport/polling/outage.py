"""Polls that fail: how long to wait, and whether one run or the whole service is failing."""

from __future__ import annotations

import math
import random

from ...errors import (
    Forbidden,
    InsufficientCredits,
    NotFound,
    Refused,
    ServiceBroken,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from ..definite_refusal import is_about_the_account
from ..retries import MAX_RETRY_AFTER_SECONDS, get_retry_after
from .tracked_run import TrackedRun

WIDESPREAD_FAILURES, SLOW_SECONDS = 3, 5.0
"""With so many polls failing in a row, each sooner than that, the whole service counts as failing."""
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.25, 15.0
GIVE_UP_SECONDS = 600.0
"""How long a run is polled though no poll succeeds."""


class Outage:
    """Whether the service as a whole is failing, and until when no poll is sent."""

    def __init__(self) -> None:
        self._failures = 0
        self._since = math.inf
        self.paused_until = -math.inf

    @property
    def is_widespread(self) -> bool:
        """Whether the service as a whole is failing: one call at a time then finds out when it is back."""
        return self._failures >= WIDESPREAD_FAILURES

    def record_success(self) -> None:
        """A poll succeeded."""
        self._failures, self._since, self.paused_until = 0, math.inf, -math.inf

    def record_failure(self, error: Exception, sent_at: float, now: float) -> None:
        """A poll that was sent at this time has failed."""
        if isinstance(error, (Unreachable, ServiceBroken, TooManyRequests)):
            self._since = min(self._since, now)
            # Polls that hang cause no storm, and may hang because of their runs: no pause is needed.
            self._failures += now - sent_at < SLOW_SECONDS
            if self.is_widespread or isinstance(error, TooManyRequests):
                self.paused_until = now + pause_after(self._failures, error)

    def is_too_long_for(self, run: TrackedRun, now: float) -> bool:
        """Whether polls of this run, or of all runs, have failed for `GIVE_UP_SECONDS`."""
        alone = run.failing_since is not None and now - run.failing_since >= GIVE_UP_SECONDS
        return alone or now - max(self._since, run.tracked_since) >= GIVE_UP_SECONDS


def is_final(error: Exception, seconds: float, limit: float) -> bool:
    """Whether to stop polling after every poll has failed for so many seconds; refusals are repeated up to a limit."""
    if is_about_the_account(error):
        return True
    return isinstance(error, (NotFound, Refused, Unauthorized, Forbidden, InsufficientCredits)) and seconds >= limit


def pause_after(failures: int, error: Exception) -> float:
    """How many seconds to wait after so many failures in a row; at least as long as the service asks for."""
    # Jitter, so that many clients that failed together do not retry together.
    pause = min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 10), MAX_PAUSE_SECONDS) * random.uniform(0.7, 1.0)
    return max(pause, min(get_retry_after(error), MAX_RETRY_AFTER_SECONDS))
