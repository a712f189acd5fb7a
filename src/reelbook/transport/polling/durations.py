"""How long the runs of one model take, learnt from what was seen, and the ages at which it pays to ask.

A look at a run tells little: it was not finished at this age, or it was finished some time since the look before. Many
such looks together tell a lot. They are put together by expectation and maximisation over a row of narrow bins: each
look shares its weight among the bins where that run's end can lie, as likely as the others make them, a few times over.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

SHORTEST, LONGEST, STEP = 0.02, 7_200.0, 1.04
BINS = math.ceil(math.log(LONGEST / SHORTEST) / math.log(STEP)) + 1
EDGES = [SHORTEST * STEP**place for place in range(BINS)]
"""The upper ends of the bins, in seconds; each is a little longer than the one before."""
MIDDLES = [edge * (1 + 1 / STEP) / 2 for edge in EDGES]

FADING, FAINT = 0.99, 0.02
"""What an end still weighs after the next one, and when it is forgotten: models and services change."""
PAST_WEIGHT = 4.0
"""What all ends from earlier sessions weigh together: enough to begin with, little enough to be corrected soon."""
UNLIKELY, DOUBT = 0.01, 0.25
"""An end that was thought this unlikely takes away so much of the weight of all before it."""
UNIFORM_PRIOR_WEIGHT = 0.15
"""How many looks the belief is worth that any duration is as likely as any other."""
ROUNDS = 6
SPREAD = 3
"""Bins to each side over which a lone end is smeared: runs of one model are alike, not the same."""
SHARP, MANY_SHARP = 8, 3.5
"""An end that lies within so many bins is known sharply; with so many of those, durations are known well."""

WORTH, LEAST_WORTH = 0.09, 0.07
"""One call costs as much as noticing an end late by this share of the duration, or by this many seconds."""
MISSED = 20.0
"""What it costs, in calls, to leave an end to whoever asks later."""
NEWS, NEWS_OF_ENDS = 0.05, 0.08
"""The share of looks, or of ends, that has to be new before it pays to think again."""


class Durations:
    """What is known of the durations of one model's runs."""

    def __init__(self, past: Sequence[float] = ()) -> None:
        self._ends: dict[tuple[int, int], float] = {}
        self._going: Counter[int] = Counter()
        self._believed: Sequence[float] = ()
        self._news = 0
        self._new_ends = 0
        self.vague = True
        """Whether few ends are known to the second, as it were: most were noticed at the first look."""
        self.seen = 0
        """How many ends were seen in this session."""
        self.ages: Sequence[float] = ()
        """When to ask a run, in seconds since it was submitted; empty while nothing is known."""
        known = [bin_of(seconds) for seconds in past if math.isfinite(seconds) and seconds > 0]
        for place, times in Counter(known).items():
            self._ends[place, place] = PAST_WEIGHT * times / len(known)
        self._new_ends = len(self._ends)

    def ended(self, after: float, by: float) -> None:
        """A run ended after this age and by that one."""
        last = bin_of(by)
        first = min(_first_after(after), last)
        surprising = self._believed and sum(self._believed[first : last + 1]) < UNLIKELY
        fading = DOUBT if surprising else FADING
        self._ends = {end: weight * fading for end, weight in self._ends.items() if weight > FAINT}
        self._ends[first, last] = self._ends.get((first, last), 0.0) + 1.0
        self._news += 1
        self._new_ends += 1
        self.seen += 1

    def going(self, age: float) -> None:
        """A run was not finished at this age."""
        self._going[_first_after(age)] += 1
        self._news += 1

    def forget_going(self, age: float) -> None:
        """More is known of that run than that it was not finished at this age, or nobody follows it any more."""
        place = _first_after(age)
        self._going[place] -= 1
        if self._going[place] <= 0:
            del self._going[place]

    @property
    def worth_thinking(self) -> bool:
        """Whether enough is new to change the mind."""
        ends = sum(self._ends.values())
        return self._new_ends > NEWS_OF_ENDS * ends or bool(ends and self._news > NEWS * (ends + self._going.total()))

    def think(self, price: float = 1.0) -> bool:
        """Work out the ages anew, for calls that cost this share of one; says whether they changed."""
        before, self._news, self._new_ends = self.ages, 0, 0
        if self._ends:
            self._believed = _estimate(self._ends, self._going, self._believed)
            last = min(max(last for _, last in self._ends) + 2 * SPREAD, BINS - 1)
            sharp = sum(weight for (first, last), weight in self._ends.items() if last - first <= SHARP)
            self.vague = sharp < MANY_SHARP
            # The open mind is for learning only: looks for the sake of what was never seen would cost every run.
            uniform_prior = (
                2
                * UNIFORM_PRIOR_WEIGHT
                / BINS
                / (UNIFORM_PRIOR_WEIGHT + sum(self._ends.values()) + self._going.total())
            )
            self.ages = _best_ages([max(chance - uniform_prior, 0.0) for chance in self._believed], last, price)
        return self.ages != before

    def next_age(self, age: float) -> float | None:
        """The next age at which to ask a run that was last asked at this one; None where nothing is known."""
        place = bisect_right(self.ages, age + 0.3 * patience(age) if age else 0.0)
        return self.ages[place] if place < len(self.ages) else None


def bin_of(age: float) -> int:
    """The bin that this age falls into.

    >>> EDGES[bin_of(2.0) - 1] < 2.0 <= EDGES[bin_of(2.0)]
    True
    """
    if age <= SHORTEST:
        return 0
    return min(math.ceil(math.log(age / SHORTEST) / math.log(STEP) - 1e-9), BINS - 1)


def patience(age: float) -> float:
    """How late an end at this age may be noticed before a call would have been cheaper."""
    return max(LEAST_WORTH, WORTH * age)


def _first_after(age: float) -> int:
    """The first bin in which a run can end that was going at this age."""
    return 0 if age < SHORTEST else min(int(math.log(age / SHORTEST) / math.log(STEP) + 1e-9) + 1, BINS - 1)


_PATIENCE = [patience(middle) for middle in MIDDLES]


def _estimate(ends: Mapping[tuple[int, int], float], going: Counter[int], believed: Sequence[float]) -> list[float]:
    """How likely a run ends in each bin, given all looks."""
    count = sum(ends.values())
    total = count + going.total() + UNIFORM_PRIOR_WEIGHT
    smear = 1 / (1 + count / 3)
    seen = _smeared(_smeared(_ends_alone(ends, count)))
    # A trace of doubt, so that what was thought impossible can come back.
    chance = [0.45 * (old + new) + 0.1 / BINS for old, new in zip(believed or seen, seen, strict=True)]
    for _ in range(ROUNDS):
        below = list(accumulate(chance, initial=0.0))
        share = [0.0] * (BINS + 1)
        for (first, last), looks in ends.items():
            part = looks / (below[last + 1] - below[first])
            share[first] += part
            share[last + 1] -= part
        for first, looks in going.items():
            share[first] += looks / (below[BINS] - below[first])
        rest = UNIFORM_PRIOR_WEIGHT / BINS
        chance = [(old * part + rest) / total for old, part in zip(chance, accumulate(share), strict=False)]
        smooth = _smeared(_smeared(chance))
        chance = [smear * soft + (1 - smear) * sharp for soft, sharp in zip(smooth, chance, strict=True)]
    return chance


def _ends_alone(ends: Mapping[tuple[int, int], float], count: float) -> list[float]:
    """The ends spread evenly over the bins where they can lie: where to begin."""
    steps = [0.0] * (BINS + 1)
    for (first, last), looks in ends.items():
        part = looks / (count * (last + 1 - first))
        steps[first] += part
        steps[last + 1] -= part
    return list(accumulate(steps))[:BINS]


def _smeared(chance: list[float]) -> list[float]:
    """Each bin's chance as the mean of its neighbourhood."""
    width = 2 * SPREAD + 1
    padded = [chance[0]] * SPREAD + chance + [chance[-1]] * SPREAD
    sums = list(accumulate(padded, initial=0.0))
    return [(high - low) / width for low, high in zip(sums, sums[width:], strict=False)]


def _best_ages(chance: Sequence[float], last: int, price: float) -> tuple[float, ...]:
    """The ages at which asking costs least, calls and lateness together; what may end after bin `last` is left out.

    Worked out from the end backwards: from each place on, the best next age is the one where the calls of all that are
    still going, the lateness of what ends until then, and the best way on from there make the smallest sum.
    """
    stops = [place for place in range(last + 1) if chance[place] > 0.001 or place % 4 == 0 or place == last]
    weight = [p / patient for p, patient in zip(chance, _PATIENCE, strict=True)]
    mass = list(accumulate(chance, initial=0.0))
    weights = list(accumulate(weight, initial=0.0))
    moments = list(accumulate((w * middle for w, middle in zip(weight, MIDDLES, strict=True)), initial=0.0))
    cost = [0.0] * (len(stops) + 1)
    following = [len(stops)] * (len(stops) + 1)
    latest = len(stops) - 1
    for place in range(len(stops) - 1, -1, -1):
        begin = stops[place - 1] + 1 if place else 0
        calls = price * (mass[BINS] - mass[begin])
        best, chosen = MISSED * price * (mass[last + 1] - mass[begin]), len(stops)
        for stop in range(place, latest + 1):
            end = stops[stop]
            late = EDGES[end] * (weights[end + 1] - weights[begin]) - (moments[end + 1] - moments[begin])
            total = calls + late + cost[stop + 1]
            if total < best:
                best, chosen = total, stop
        cost[place], following[place] = best, chosen
        # The best next stop never moves later when one begins earlier, so later ones need no look.
        latest = min(chosen, len(stops) - 1)
    ages, place = [], 0
    while following[place] < len(stops):
        ages.append(EDGES[stops[following[place]]])
        place = following[place] + 1
    return tuple(ages)
