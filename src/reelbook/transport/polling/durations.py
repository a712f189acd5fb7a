"""An estimate of how long the runs of one model take, and of the ages at which a poll is worth its call.

A poll says little: the run was not finished at this age, or it finished some time since the previous poll. Many such
interval-censored observations are combined by expectation maximisation over a row of narrow bins: in each round, every
observation shares its weight among the bins in which that run's end can lie, in proportion to their probabilities.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

MIN_SECONDS, MAX_SECONDS, BIN_RATIO = 0.02, 7_200.0, 1.04
BIN_COUNT = math.ceil(math.log(MAX_SECONDS / MIN_SECONDS) / math.log(BIN_RATIO)) + 1
BIN_EDGES = [MIN_SECONDS * BIN_RATIO**index for index in range(BIN_COUNT)]
"""The upper ends of the bins, in seconds; each bin is a little longer than the one before."""
BIN_MIDDLES = [edge * (1 + 1 / BIN_RATIO) / 2 for edge in BIN_EDGES]

DECAY, MIN_WEIGHT = 0.99, 0.02
"""What an observed end still weighs after the next one, and when it is dropped: models and services change."""
PAST_WEIGHT = 4.0
"""What all ends from earlier sessions weigh together: enough to begin with, little enough to be corrected soon."""
SURPRISE_PROBABILITY, SURPRISE_DECAY = 0.01, 0.25
"""An end that was estimated less likely than the first multiplies the weights of all before it by the second."""
UNIFORM_PRIOR_WEIGHT = 0.15
"""The weight of a uniform prior, in observations."""
EM_ROUNDS = 6
SMOOTHING_BINS = 3
"""Bins to each side over which a single end is smoothed: runs of one model are alike, not the same."""
PRECISE_BINS, MIN_PRECISE_WEIGHT = 8, 3.5
"""An end known to within so many bins is precise; with this weight of precise ends, the estimate is no longer vague."""

DELAY_SHARE, MIN_DELAY_SECONDS = 0.09, 0.07
"""One call costs as much as noticing an end late by this share of the duration, or by this many seconds."""
MISSED_COST = 20.0
"""The cost, in calls, of an end after the last poll age."""
NEW_SHARE, NEW_ENDS_SHARE = 0.05, 0.08
"""The share of observations, or of ends, that has to be new before the estimate is computed anew."""


class DurationEstimate:
    """The probable durations of one model's runs, as far as polls have shown them."""

    def __init__(self, past: Sequence[float] = ()) -> None:
        self._ends: dict[tuple[int, int], float] = {}
        """The weights of the observed ends, by the first and the last bin in which they can lie."""
        self._unfinished: Counter[int] = Counter()
        """The runs that were last seen unfinished, by the first bin in which they can end."""
        self._probabilities: Sequence[float] = ()
        self._new_observations = 0
        self._new_ends = 0
        self.is_vague = True
        """Whether few ends are known precisely: most were noticed at the first poll."""
        self.observed_ends = 0
        """How many ends were observed in this session."""
        self.poll_ages: Sequence[float] = ()
        """When to poll a run, in seconds since it was submitted; empty while nothing is known."""
        known = [bin_index(seconds) for seconds in past if math.isfinite(seconds) and seconds > 0]
        for index, times in Counter(known).items():
            self._ends[index, index] = PAST_WEIGHT * times / len(known)
        self._new_ends = len(self._ends)

    def record_end(self, after: float, by: float) -> None:
        """A run ended after the first age and by the second one."""
        last = bin_index(by)
        first = min(_first_bin_after(after), last)
        is_surprising = self._probabilities and sum(self._probabilities[first : last + 1]) < SURPRISE_PROBABILITY
        decay = SURPRISE_DECAY if is_surprising else DECAY
        self._ends = {end: weight * decay for end, weight in self._ends.items() if weight > MIN_WEIGHT}
        self._ends[first, last] = self._ends.get((first, last), 0.0) + 1.0
        self._new_observations += 1
        self._new_ends += 1
        self.observed_ends += 1

    def record_unfinished(self, age: float) -> None:
        """A run was not finished at this age."""
        self._unfinished[_first_bin_after(age)] += 1
        self._new_observations += 1

    def withdraw_unfinished(self, age: float) -> None:
        """Remove a recorded observation: more is known of that run now, or it is no longer tracked."""
        index = _first_bin_after(age)
        self._unfinished[index] -= 1
        if self._unfinished[index] <= 0:
            del self._unfinished[index]

    @property
    def is_outdated(self) -> bool:
        """Whether enough was observed since the last update to compute the estimate anew."""
        ends = sum(self._ends.values())
        return self._new_ends > NEW_ENDS_SHARE * ends or bool(
            ends and self._new_observations > NEW_SHARE * (ends + self._unfinished.total())
        )

    def update(self, poll_price: float = 1.0) -> bool:
        """Compute the poll ages anew, for polls that cost this share of a call; true if they changed."""
        before, self._new_observations, self._new_ends = self.poll_ages, 0, 0
        if self._ends:
            self._probabilities = _estimate(self._ends, self._unfinished, self._probabilities)
            last = min(max(last for _, last in self._ends) + 2 * SMOOTHING_BINS, BIN_COUNT - 1)
            precise = sum(weight for (first, last), weight in self._ends.items() if last - first <= PRECISE_BINS)
            self.is_vague = precise < MIN_PRECISE_WEIGHT
            # The prior is for learning only: polls at ages where no end was observed would cost every run.
            uniform_prior = (
                2
                * UNIFORM_PRIOR_WEIGHT
                / BIN_COUNT
                / (UNIFORM_PRIOR_WEIGHT + sum(self._ends.values()) + self._unfinished.total())
            )
            self.poll_ages = _best_poll_ages(
                [max(probability - uniform_prior, 0.0) for probability in self._probabilities], last, poll_price
            )
        return self.poll_ages != before

    def next_poll_age(self, age: float) -> float | None:
        """The next age at which to poll a run that was last polled at this one; None where nothing is known."""
        index = bisect_right(self.poll_ages, age + 0.3 * tolerable_delay(age) if age else 0.0)
        return self.poll_ages[index] if index < len(self.poll_ages) else None


def bin_index(age: float) -> int:
    """The bin that this age falls into.

    >>> BIN_EDGES[bin_index(2.0) - 1] < 2.0 <= BIN_EDGES[bin_index(2.0)]
    True
    """
    if age <= MIN_SECONDS:
        return 0
    return min(math.ceil(math.log(age / MIN_SECONDS) / math.log(BIN_RATIO) - 1e-9), BIN_COUNT - 1)


def tolerable_delay(age: float) -> float:
    """How late, in seconds, an end at this age may be noticed before another call would have been cheaper."""
    return max(MIN_DELAY_SECONDS, DELAY_SHARE * age)


def _first_bin_after(age: float) -> int:
    """The first bin in which a run can end that was unfinished at this age."""
    return (
        0
        if age < MIN_SECONDS
        else min(int(math.log(age / MIN_SECONDS) / math.log(BIN_RATIO) + 1e-9) + 1, BIN_COUNT - 1)
    )


_TOLERABLE_DELAYS = [tolerable_delay(middle) for middle in BIN_MIDDLES]


def _estimate(ends: Mapping[tuple[int, int], float], unfinished: Counter[int], before: Sequence[float]) -> list[float]:
    """The probability of an end in each bin, given all observations; `before` is the previous estimate."""
    count = sum(ends.values())
    total = count + unfinished.total() + UNIFORM_PRIOR_WEIGHT
    smoothing = 1 / (1 + count / 3)
    observed = _smoothed(_smoothed(_spread_evenly(ends, count)))
    # A small constant, so that a bin of probability zero can recover.
    probabilities = [
        0.45 * (old + new) + 0.1 / BIN_COUNT for old, new in zip(before or observed, observed, strict=True)
    ]
    for _ in range(EM_ROUNDS):
        below = list(accumulate(probabilities, initial=0.0))
        shares = [0.0] * (BIN_COUNT + 1)
        for (first, last), weight in ends.items():
            share = weight / (below[last + 1] - below[first])
            shares[first] += share
            shares[last + 1] -= share
        for first, weight in unfinished.items():
            shares[first] += weight / (below[BIN_COUNT] - below[first])
        prior = UNIFORM_PRIOR_WEIGHT / BIN_COUNT
        probabilities = [
            (old * share + prior) / total for old, share in zip(probabilities, accumulate(shares), strict=False)
        ]
        smooth = _smoothed(_smoothed(probabilities))
        probabilities = [
            smoothing * soft + (1 - smoothing) * sharp for soft, sharp in zip(smooth, probabilities, strict=True)
        ]
    return probabilities


def _spread_evenly(ends: Mapping[tuple[int, int], float], count: float) -> list[float]:
    """Each end spread evenly over the bins where it can lie: the starting point of the estimation."""
    steps = [0.0] * (BIN_COUNT + 1)
    for (first, last), weight in ends.items():
        share = weight / (count * (last + 1 - first))
        steps[first] += share
        steps[last + 1] -= share
    return list(accumulate(steps))[:BIN_COUNT]


def _smoothed(probabilities: list[float]) -> list[float]:
    """Each bin's probability as the mean of its neighbourhood."""
    width = 2 * SMOOTHING_BINS + 1
    padded = [probabilities[0]] * SMOOTHING_BINS + probabilities + [probabilities[-1]] * SMOOTHING_BINS
    sums = list(accumulate(padded, initial=0.0))
    return [(high - low) / width for low, high in zip(sums, sums[width:], strict=False)]


def _best_poll_ages(probabilities: Sequence[float], last: int, poll_price: float) -> tuple[float, ...]:
    """The ages at which polling costs least, calls and delays together; ends after bin `last` are left out.

    Dynamic programming from the end backwards: from each candidate on, the best next age minimises the sum of the calls
    of all runs still unfinished, the delays of the ends until then, and the cost of the best ages after it.
    """
    candidates = [index for index in range(last + 1) if probabilities[index] > 0.001 or index % 4 == 0 or index == last]
    weight = [p / delay for p, delay in zip(probabilities, _TOLERABLE_DELAYS, strict=True)]
    mass = list(accumulate(probabilities, initial=0.0))
    weights = list(accumulate(weight, initial=0.0))
    moments = list(accumulate((w * middle for w, middle in zip(weight, BIN_MIDDLES, strict=True)), initial=0.0))
    cost = [0.0] * (len(candidates) + 1)
    next_poll = [len(candidates)] * (len(candidates) + 1)
    latest = len(candidates) - 1
    for place in range(len(candidates) - 1, -1, -1):
        begin = candidates[place - 1] + 1 if place else 0
        calls = poll_price * (mass[BIN_COUNT] - mass[begin])
        best, chosen = MISSED_COST * poll_price * (mass[last + 1] - mass[begin]), len(candidates)
        for candidate in range(place, latest + 1):
            end = candidates[candidate]
            delays = BIN_EDGES[end] * (weights[end + 1] - weights[begin]) - (moments[end + 1] - moments[begin])
            total = calls + delays + cost[candidate + 1]
            if total < best:
                best, chosen = total, candidate
        cost[place], next_poll[place] = best, chosen
        # The best next age never moves later when one begins earlier, so later candidates are not tried again.
        latest = min(chosen, len(candidates) - 1)
    ages, place = [], 0
    while next_poll[place] < len(candidates):
        ages.append(BIN_EDGES[candidates[next_poll[place]]])
        place = next_poll[place] + 1
    return tuple(ages)
