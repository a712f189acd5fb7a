"""Polls that fail: how long to wait, and whether one run or the whole service is failing."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable

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
from ..paid_outcome import is_about_the_account
from .tracked_run import TrackedRun

WIDESPREAD_RUNS = 3
"""With so many runs failing and no success between them, the whole service counts as failing."""
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS, MAX_RETRY_AFTER_SECONDS = 0.25, 15.0, 60.0
GIVE_UP_SECONDS = 600.0
"""How long a run is polled though no poll succeeds."""


class Outage:
    """Whether the service as a whole is failing, and until when no poll is sent."""

    def __init__(self) -> None:
        self._failing: set[TrackedRun] = set()
        self._since = math.inf
        self._pauses = 0
        self.paused_until = -math.inf

    @property
    def is_widespread(self) -> bool:
        """Whether the service as a whole is failing: one call at a time then finds out when it is back."""
        return len(self._failing) >= WIDESPREAD_RUNS

    def record_success(self) -> None:
        """A poll succeeded."""
        self._failing.clear()
        self._since, self._pauses, self.paused_until = math.inf, 0, -math.inf

    def record_failure(self, runs: Iterable[TrackedRun], error: Exception, now: float) -> None:
        """A poll of these runs failed."""
        if not isinstance(error, (Unreachable, ServiceBroken, TooManyRequests)):
            return
        self._failing.update(runs)
        self._since = min(self._since, now)
        if self.is_widespread or isinstance(error, TooManyRequests):
            self._pauses += 1
            self.paused_until = now + pause_after(self._pauses, error)

    def discard(self, run: TrackedRun) -> None:
        """This run is no longer tracked."""
        self._failing.discard(run)

    def is_too_long_for(self, run: TrackedRun, now: float) -> bool:
        """Whether polls of this run, or of all runs, have failed for `GIVE_UP_SECONDS`."""
        alone = run.failing_since is not None and now - run.failing_since >= GIVE_UP_SECONDS
        return alone or (self.is_widespread and now - max(self._since, run.tracked_since) >= GIVE_UP_SECONDS)


def is_final(error: Exception, seconds: float, limit: float) -> bool:
    """Whether to stop polling after every poll has failed for so many seconds; refusals are repeated up to a limit."""
    if is_about_the_account(error):
        return True
    return isinstance(error, (NotFound, Refused, Unauthorized, Forbidden, InsufficientCredits)) and seconds >= limit


def pause_after(failures: int, error: Exception) -> float:
    """How many seconds to wait after so many failures in a row; at least as long as the service asks for."""
    # Jitter, so that many clients that failed together do not retry together.
    pause = min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 10), MAX_PAUSE_SECONDS) * random.uniform(0.7, 1.0)
    retry_after = error.facts.get("retry_after") if isinstance(error, TooManyRequests) else None
    try:
        floor = float(retry_after) if retry_after is not None else 0.0
    except (TypeError, ValueError):
        floor = 0.0
    return max(pause, min(floor, MAX_RETRY_AFTER_SECONDS)) if math.isfinite(floor) else pause
