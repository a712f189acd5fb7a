"""What is known of each setting's true value, from noisy values or from judgements of pairs.

A setting is one level on each axis. Its true value is m + Σ a(axis, level) + Σ b(two axes, their levels) + c(setting).
The effects a are normal with mean 0 and a variance of their own for each axis; all b share one variance; the rest c has
Student's t-distribution, so that most settings are what their levels promise and a single lucky one can be far from it.
A value is true value + effect of its block (the prompt, the same for all settings) + effect of this setting with this
block (only where values repeat in one block) + noise. A judgement of two clips says which true value + effect of the
clip is higher, by the logistic function of their difference (a tie is half of each), in Laplace's approximation.
All variances are the most probable ones under weak priors of `NU` degrees of freedom: each step multiplies a variance by
the root of what the data say it explains over what it would explain by chance, which raises the marginal likelihood.
The t-distribution is normal with a variance for each setting, whose expectation each step finds (1 before it is tried).
The belief is the normal distribution of the true values given these variances; only in `draws` can a setting never tried
be a lucky one. No step is random, and no order of the observations matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

AXES, INTERACTIONS, REST, EXTRA, MIXED, NOISE = 0.5, 0.1, 0.1, 0.3, 0.1, 0.3
"""What the priors expect of the variances of all main effects, of interactions, of the rest, of blocks or clips, of
settings × blocks and of the noise, where values have variance 1."""
JUDGED = 4.0
"""How much larger those are where judgements are all there is, beside the logistic function's own noise."""
MEAN = 10.0
"""The variance of m."""
NU, TAIL = 1.0, 3.0
"""Degrees of freedom of the variances' priors, and of the rest's distribution."""
STEPS = 40
FRESH = (2, 3)
"""Turns, of so many, that go to a setting never tried."""
TINY = 1e-9


@dataclass(frozen=True)
class Belief:
    """What is known of every setting: a normal distribution over their true values."""

    mean: FloatArray
    covariance: FloatArray
    noise: float
    """The standard deviation of one value of one setting, repeated over seeds and blocks."""
    tried: NDArray[np.bool_] | None = None
    """The settings with an observation; None: all."""

    def draws(self, rng: np.random.Generator, count: int) -> FloatArray:
        """True values of every setting that may be so, one row for each draw.

        One in all settings may be lucky: those never tried get, as often as that, what lifts them beyond the others.
        """
        drawn = self.mean + rng.standard_normal((count, len(self.mean))) @ _root(self.covariance).T
        if self.tried is not None and not self.tried.all():
            lucky = ~self.tried & (rng.random(drawn.shape) * len(self.mean) < 1)
            drawn += lucky * np.abs(rng.standard_normal(drawn.shape)) * 2 * np.ptp(self.mean)
        return np.asarray(drawn)

    def chances(self, rng: np.random.Generator, draws: int = 4000) -> FloatArray:
        """The chance of each setting to be the best of all."""
        best = np.argmax(self.draws(rng, draws), axis=1)
        return np.bincount(best, minlength=len(self.mean)) / draws

    def best(self, allowed: ArrayLike | None = None) -> int:
        """The setting with the highest mean, of those that are allowed."""
        return int(np.argmax(self.mean if allowed is None else np.where(allowed, self.mean, -np.inf)))

    def bounds(self, share: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """The interval of each true value that holds this share of its probability."""
        half = NormalDist().inv_cdf(0.5 + share / 2) * np.sqrt(np.diag(self.covariance))
        return self.mean - half, self.mean + half


def learn_values(levels: ArrayLike, setting: ArrayLike, value: ArrayLike, block: ArrayLike | None = None) -> Belief:
    """What values of settings say about all of them.

    `levels` has one row for each setting: the number of its level on each axis, -1 where it has none. The others have one
    entry for each observation; a value that is no finite number is left out. `block` is the number of the prompt.
    """
    values, settings = np.asarray(value, float), np.asarray(setting, int)
    blocks = np.zeros(len(values), int) if block is None else np.asarray(block, int)
    good = np.flatnonzero(np.isfinite(values))
    good = good[np.lexsort((values[good], blocks[good], settings[good]))]
    standard, centre, scale = _standardized(values[good])
    belief = _learn(np.asarray(levels), _Values(settings[good], standard, blocks[good]))
    return Belief(centre + scale * belief.mean, scale**2 * belief.covariance, scale * belief.noise, belief.tried)


def learn_pairs(
    levels: ArrayLike, left: ArrayLike, right: ArrayLike, share: ArrayLike,
    clip_left: ArrayLike | None = None, clip_right: ArrayLike | None = None,
) -> Belief:  # fmt: skip
    """What judgements of pairs say about all settings, whose true values are only relative to their mean.

    One entry for each judgement: the settings on the left and on the right, the share of the left one (1 where it was
    better, 0 where it was worse, 0.5 for a tie), and the numbers of the two clips, which several judgements may share.
    """
    shares, sides = np.asarray(share, float), np.array([left, right], int)
    clips = sides[:, :0] if clip_left is None or clip_right is None else np.array([clip_left, clip_right], int)
    order = np.lexsort((shares, *clips, *sides) if clips.size else (shares, *sides))
    order = order[np.isfinite(shares[order])]
    belief = _learn(np.asarray(levels), _Pairs(sides[:, order], shares[order], clips[:, order] if clips.size else clips))
    covariance = belief.covariance - belief.covariance.mean(axis=0)
    covariance -= covariance.mean(axis=1)[:, None]
    return Belief(belief.mean - belief.mean.mean(), covariance, belief.noise, belief.tried)


class _Values:
    """Values of settings, as the means of those of one setting and one block."""

    size = 1.0

    def __init__(self, setting: IntArray, value: FloatArray, block: IntArray) -> None:
        self.rows, setting = np.unique(setting, return_inverse=True)
        blocks, block = np.unique(block, return_inverse=True)
        cells, place = np.unique(setting * len(blocks) + block, return_inverse=True)
        self.more = len(blocks) if len(blocks) > 1 else 0
        self.design = np.zeros((len(cells), len(self.rows) + self.more))
        """Which effects are in a mean: that of its setting, and that of its block."""
        self.design[place, setting] = 1
        if self.more:
            self.design[place, len(self.rows) + block] = 1
        self.times = np.bincount(place, minlength=len(cells)).astype(float)
        self.mean = np.bincount(place, value, len(cells)) / self.times
        self.within, self.again = float(((value - self.mean[place]) ** 2).sum()), len(value) - len(cells)
        self.noise, self.mixed = NOISE, MIXED if self.more and self.again else 0.0

    def solve(self, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Z'V⁻¹y and Z'V⁻¹Z, where Z is the design and V the covariance of the means y; a step of the noise's variance."""
        weight = 1 / (self.mixed + self.noise / self.times)
        products, sums = (self.design.T * weight) @ self.design, self.design.T @ (weight * self.mean)
        inner = np.linalg.solve(np.eye(len(prior)) + products @ prior, products)
        pull = sums - inner @ (prior @ sums)
        known = prior - prior @ inner @ prior
        miss = weight * (self.mean - self.design @ (prior @ pull))
        chance = weight - weight**2 * ((self.design @ known) * self.design).sum(axis=1)
        if self.mixed:
            self.mixed = _stepped(self.mixed, float(miss @ miss), float(chance.sum()), MIXED)
        explained = float((miss**2 / self.times).sum()) + self.within / self.noise**2
        by_chance = float((chance / self.times).sum()) + self.again / self.noise
        self.noise = _stepped(self.noise, explained, by_chance, NOISE)
        return pull, inner

    def spread(self, extra: float) -> float:
        """The variance of one value of one setting."""
        return self.noise + self.mixed


class _Pairs:
    """Judgements of pairs of clips."""

    size = JUDGED

    def __init__(self, sides: IntArray, shares: FloatArray, clips: IntArray) -> None:
        self.rows, place = np.unique(sides, return_inverse=True)
        those, clip = np.unique(clips, return_inverse=True)
        self.more, self.shares = len(those), shares
        self.design = np.zeros((len(shares), len(self.rows) + self.more))
        self.pull = np.zeros(self.design.shape[1])
        for numbers in (place, len(self.rows) + clip)[: 1 + (self.more > 0)]:
            np.add.at(self.design, (np.arange(len(shares))[:, None], numbers.reshape(sides.shape).T), [1.0, -1.0])

    def solve(self, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same after one more of Newton's steps to the most probable effects."""
        through = self.design @ prior
        chance = 1 / (1 + np.exp(-np.clip(through @ self.pull, -40, 40)))
        products = (self.design * (chance * (1 - chance))[:, None]).T @ self.design
        inner = np.linalg.solve(np.eye(len(prior)) + products @ prior, products)
        sums = products @ (prior @ self.pull) + self.design.T @ (self.shares - chance)
        step = sums - inner @ (prior @ sums) - self.pull
        self.pull = self.pull + step * min(1.0, 4.0 / (np.abs(through @ step).max(initial=0.0) + TINY))
        return self.pull, inner

    def spread(self, extra: float) -> float:
        """The variance of one clip of one setting, with the share of the logistic function's that is its own."""
        return float(np.pi**2 / 6) + extra


def _learn(levels: IntArray, evidence: _Values | _Pairs) -> Belief:
    """The belief under the most probable variances."""
    rows, seen, size = evidence.rows, len(evidence.rows), evidence.size
    kernels, expected = _kernels(levels)
    inside, expected = kernels[:, rows[:, None], rows], size * expected
    variances, rest, extra = expected, size * REST, size * EXTRA
    own = np.ones(seen)
    """Of the rest's variance at each setting seen, in units of `rest`."""
    prior = np.zeros((seen + evidence.more,) * 2)
    for step in range(STEPS):
        prior[:seen, :seen] = MEAN * size + np.tensordot(variances, inside, 1) + np.diag(rest * own)
        np.fill_diagonal(prior[seen:, seen:], extra)
        pull, inner = evidence.solve(prior)
        if step == STEPS - 1:
            break
        square, chance = pull**2, np.diag(inner)
        explained, by_chance = (inside @ pull[:seen]) @ pull[:seen], (inside * inner[:seen, :seen]).sum(axis=(1, 2))
        variances = _stepped(variances, explained, by_chance, expected)
        second = own + rest * own**2 * (square - chance)[:seen]
        rest = _stepped(rest, own @ square[:seen], own @ chance[:seen], size * REST)
        own = (TAIL + second) / (TAIL + 1)
        if evidence.more:
            extra = _stepped(extra, square[seen:].sum(), chance[seen:].sum(), size * EXTRA)
    alone = np.full(len(levels), TAIL / (TAIL - 2))
    alone[rows] = own
    whole = MEAN * size + np.tensordot(variances, kernels, 1) + np.diag(rest * alone)
    near = whole[:, rows]
    covariance = whole - near @ inner[:seen, :seen] @ near.T
    tried = np.isin(np.arange(len(levels)), rows)
    noise = float(np.sqrt(evidence.spread(extra)))
    return Belief(near @ pull[:seen], (covariance + covariance.T) / 2, noise, tried)


def _stepped(variance, explained, by_chance, expected):  # type: ignore[no-untyped-def]
    """A variance nearer to the most probable one, given what the data say it explains and what it would by chance."""
    return variance * np.sqrt((explained + NU * expected / variance**2) / (by_chance + NU / variance))


def _kernels(levels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Which settings share a level of each axis, and what share of all pairs of axes; and what variance they may have."""
    columns = [column for column in levels.T if len(set(column)) > 1]
    count, settings = len(columns), len(levels)
    same = np.array([column[:, None] == column for column in columns], float).reshape(count, settings, settings)
    expected = np.full(count, AXES / max(count, 1))
    if count < 2:
        return same, expected
    total = same.sum(axis=0)
    both = total * (total - 1) / (count * (count - 1))
    return np.concatenate([same, both[None]]), np.append(expected, INTERACTIONS)


def _standardized(value: FloatArray) -> tuple[FloatArray, float, float]:
    """Values with mean 0 and variance 1; their mean and deviation."""
    if not len(value):
        return value, 0.0, 1.0
    size, centre, scale = float(np.abs(value).max()) or 1.0, float(value.mean()), float(value.std())
    if scale < TINY * size:
        scale = size if len(value) == 1 else size / 1000
    return (value - centre) / scale, centre, scale


def _root(covariance: FloatArray) -> FloatArray:
    """A matrix whose product with its transpose is the covariance."""
    sizes, directions = np.linalg.eigh(covariance)
    return np.asarray(directions * np.sqrt(np.maximum(sizes, 0)))


def choose(
    belief: Belief,
    rng: np.random.Generator,
    count: int,
    *,
    spent: ArrayLike | None = None,
    open_: ArrayLike | None = None,
) -> list[int]:
    """The settings to try next, some perhaps more than once, as if all of them ran at once.

    Before there is any value: those that say most about all. Then each time the best of a draw from the belief; most turns
    are for settings never tried while there are any, so that no lucky one is missed. `open_` says which can be tried at
    all, `spent` how often each has been; without it, no turn is for those never tried.
    """
    covariance, chosen = belief.covariance.copy(), list[int]()
    times = np.ones(len(covariance)) if spent is None else np.array(spent, float)
    allowed = np.ones(len(times), bool) if open_ is None else np.asarray(open_, bool)
    for turn in range(int(times.sum()), int(times.sum()) + (count if allowed.any() else 0)):
        width = np.sqrt(np.maximum(np.diag(covariance), 0) + belief.noise**2 + TINY**2)
        if np.ptp(belief.mean) == 0:
            values = ((covariance / width) ** 2).sum(axis=0) * (1 + 0.01 * rng.random(len(times)))
        else:
            values = belief.mean + _root(covariance) @ rng.standard_normal(len(times))
        fresh = allowed & (times == 0)
        one = int(np.argmax(np.where(fresh if fresh.any() and turn % FRESH[1] < FRESH[0] else allowed, values, -np.inf)))
        chosen.append(one)
        times[one] += 1
        column = covariance[:, one]
        covariance = covariance - np.outer(column, column) / width[one] ** 2
    return chosen
