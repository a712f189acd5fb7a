"""How long the latest runs of a model took, and the ages at which a poll of the next one is worth its call."""

from __future__ import annotations

import math
import random
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Sequence

MAX_DURATIONS, MAX_PAST_DURATIONS = 48, 8
"""How many durations are remembered, few because models and services change; and how many of earlier sessions."""
MARGIN = 1.02
"""Polls come later than a known duration by this factor: runs of one model are alike, not the same."""
DELAY_SHARE, MIN_DELAY_SECONDS = 0.09, 0.07
"""One call costs as much as noticing an end late by this share of the duration, or by this many seconds."""
QUICKER_SHARE = 0.8
"""A run that ends before this share of the shortest known duration shows that the model has become quicker."""


class Durations:
    """The latest durations of a model's runs, in seconds."""

    def __init__(self, past: Sequence[float] = ()) -> None:
        known = [seconds for seconds in past if math.isfinite(seconds) and seconds > 0]
        self._latest = deque(known[-MAX_PAST_DURATIONS:], MAX_DURATIONS)
        self._sorted = sorted(self._latest)
        self.is_verified = False
        """Whether an end was observed in this session."""

    def record_end(self, after: float, by: float) -> bool:
        """A run ended after the first age and by the second one; true if that is unlike the durations known before."""
        known, self.is_verified = self._sorted, True
        is_unlike = not known or not known[0] <= by <= 1.1 * known[-1]
        if known and by < QUICKER_SHARE * known[0]:
            self._latest.clear()
            known.clear()
        # Where the poll came long after the end, the run most likely took as long as one of the others.
        alike = [seconds for seconds in known if after < seconds <= by]
        if alike:
            self._add(random.choice(alike))
        elif after or by <= 2 * tolerable_delay(by):
            self._add((after + by) / 2)
        return is_unlike

    def next_poll_age(self, age: float, price: float) -> float | None:
        """The age at which to poll a run that is unfinished at this one; None if it takes longer than all others did.

        That is the longest known duration up to which the delays of the ends before it cost less than a poll does. The
        price of a poll is in calls, and the cost of a delay follows from `tolerable_delay`.
        """
        later = self._sorted[bisect_right(self._sorted, age / MARGIN + 1e-9) :]
        total, best = 0.0, None
        for count, seconds in enumerate(later, 1):
            total += seconds
            if best is not None and count * seconds - total > price * tolerable_delay(seconds) * len(later):
                break
            best = seconds
        return None if best is None else best * MARGIN

    def _add(self, seconds: float) -> None:
        if len(self._latest) == MAX_DURATIONS:
            self._sorted.remove(self._latest[0])
        self._latest.append(seconds)
        insort(self._sorted, seconds)


def tolerable_delay(age: float) -> float:
    """How late, in seconds, an end at this age may be noticed before another call would have been cheaper."""
    return max(MIN_DELAY_SECONDS, DELAY_SHARE * age)
