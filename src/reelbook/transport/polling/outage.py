"""Looks that fail: how long to wait, and whether it is one run or the whole service."""

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
from .tracked_run import Followed

WIDESPREAD = 3
"""So many runs failing with no success between them, and it is no longer the fault of one."""
FIRST_PAUSE, LONGEST_PAUSE, LONGEST_TOLD_PAUSE = 0.25, 15.0, 60.0
GIVE_UP_SECONDS = 600.0
"""How long a run is followed though no look at it succeeds."""


class Trouble:
    """Whether the service as a whole is failing, and until when to leave it alone."""

    def __init__(self) -> None:
        self._failing: set[Followed] = set()
        self._since = math.inf
        self._pauses = 0
        self.held_until = -math.inf

    @property
    def widespread(self) -> bool:
        """Whether one call at a time is enough, to find out when the service is back."""
        return len(self._failing) >= WIDESPREAD

    def worked(self) -> None:
        """A look succeeded."""
        self._failing.clear()
        self._since, self._pauses, self.held_until = math.inf, 0, -math.inf

    def failed(self, runs: Iterable[Followed], error: Exception, now: float) -> None:
        """A look at these failed."""
        if not isinstance(error, (Unreachable, ServiceBroken, TooManyRequests)):
            return
        self._failing.update(runs)
        self._since = min(self._since, now)
        if self.widespread or isinstance(error, TooManyRequests):
            self._pauses += 1
            self.held_until = now + pause_after(self._pauses, error)

    def forget(self, run: Followed) -> None:
        """Nobody follows this run any more."""
        self._failing.discard(run)

    def outlasted(self, run: Followed, now: float) -> bool:
        """Whether nothing has succeeded for as long as this run deserves."""
        alone = run.failing_since is not None and now - run.failing_since >= GIVE_UP_SECONDS
        return alone or (self.widespread and now - max(self._since, run.began) >= GIVE_UP_SECONDS)


def is_final(error: Exception, seconds: float, limit: float) -> bool:
    """Whether asking again is given up, where every look for so many seconds has failed; refusals have a limit."""
    if is_about_the_account(error):
        return True
    return isinstance(error, (NotFound, Refused, Unauthorized, Forbidden, InsufficientCredits)) and seconds >= limit


def pause_after(failures: int, error: Exception) -> float:
    """How long to wait after so many failures in a row; a service that names a time gets it."""
    # Jitter, so that many who stumbled together do not come back together.
    pause = min(FIRST_PAUSE * 2.0 ** min(failures - 1, 10), LONGEST_PAUSE) * random.uniform(0.7, 1.0)
    told = error.facts.get("retry_after") if isinstance(error, TooManyRequests) else None
    try:
        floor = float(told) if told is not None else 0.0
    except (TypeError, ValueError):
        floor = 0.0
    return max(pause, min(floor, LONGEST_TOLD_PAUSE)) if math.isfinite(floor) else pause
