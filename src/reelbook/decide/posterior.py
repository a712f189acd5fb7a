"""What is known of each setting's true value, from noisy values or from judgements of pairs.

A setting is one level on each axis. Its true value is m + Σ a(axis, level) + Σ b(two axes, their levels) + c(setting).
The effects a are normal with mean 0 and a variance of their own for each axis; all b share one variance; the rest c has
Student's t-distribution, so that most settings are what their levels promise and a single lucky one can be far from it.
A value is true value + effect of its block (the prompt, the same for all settings) + effect of this setting with this
block (only where values repeat in one block) + noise. A judgement of two clips says which true value + effect of the
clip is higher, by the logistic function of their difference (a tie is half of each), in Laplace's approximation.
All variances are the most probable ones under weak priors of `NU` degrees of freedom: each step multiplies a variance by
the root of what the data say it explains over what it would explain by chance, which raises the marginal likelihood.
The t-distribution is normal with a variance for each setting, which each step estimates (`TAIL` before it is tried).
The belief is the normal distribution of the true values given these variances; only in `draws` can a setting never tried
be a lucky one. No step is random, and no order of the observations matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

MEAN, AXES, INTERACTIONS, REST, EXTRA, MIXED, NOISE = 10.0, 0.5, 0.1, 0.1, 0.3, 0.1, 0.3
"""What the priors expect of the variances of m, of all main effects together, of interactions, of the rest, of blocks or
clips, of settings × blocks and of the noise, where values have variance 1."""
JUDGED = 4.0
"""How much larger those are where judgements are all there is, beside the logistic function's own noise."""
NU, TAIL = 1.0, 3.0
"""Degrees of freedom of the variances' priors, and of the rest's distribution."""
STEPS, TINY, ROUGH = 40, 1e-9, 1e-3
MAX_OWN = 1e4
"""The most by which the variance of one setting's rest may exceed the others'."""
LARGE = 1e140
"""Larger values count as this one, because sums of squares of larger ones are no numbers any more."""


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
        drawn = self.mean + rng.standard_normal((count, len(self.mean))) @ find_factor(self.covariance).T
        if self.tried is None:
            return drawn
        lucky = ~self.tried & (rng.random(drawn.shape) * len(self.mean) < 1)
        return drawn + lucky * np.abs(rng.standard_normal(drawn.shape)) * 2 * np.ptp(self.mean)

    def chances(self, rng: np.random.Generator, *, allowed: ArrayLike = True, draws: int = 4000) -> FloatArray:
        """The chance of each setting to be the best of those that are allowed."""
        drawn = np.where(allowed, self.draws(rng, draws), -np.inf)
        best = drawn.argmax(axis=1)
        return np.where(allowed, np.bincount(best, minlength=len(self.mean)) / draws, 0.0)

    def bounds(self, share: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """The interval of each true value that holds this share of its probability."""
        half = NormalDist().inv_cdf(0.5 + share / 2) * np.sqrt(np.maximum(np.diag(self.covariance), 0))
        return self.mean - half, self.mean + half


def learn_values(levels: ArrayLike, setting: ArrayLike, value: ArrayLike, block: ArrayLike | None = None) -> Belief:
    """What values of settings say about all of them.

    `levels` has one row for each setting: the number of its level on each axis, -1 where it has none. The others have one
    entry for each observation; a value that is no finite number is left out. `block` is the number of the prompt.
    """
    values, settings = np.clip(np.asarray(value, float), -LARGE, LARGE), np.asarray(setting, int)
    blocks = np.zeros(len(values), int) if block is None else np.asarray(block, int)
    good = np.flatnonzero(np.isfinite(np.asarray(value, float)))
    good = good[np.lexsort((values[good], blocks[good], settings[good]))]
    standard, centre, scale = _standardized(values[good])
    belief = _learn(np.asarray(levels), _Values(settings[good], standard, blocks[good]))
    return Belief(centre + scale * belief.mean, scale**2 * belief.covariance, scale * belief.noise, belief.tried)


def learn_pairs(
    levels: ArrayLike, left: ArrayLike, right: ArrayLike, share: ArrayLike,
    clip_left: ArrayLike | None = None, clip_right: ArrayLike | None = None, *, is_rough: bool = False,
) -> Belief:  # fmt: skip
    """What judgements of pairs say about all settings, whose true values are only relative to their mean.

    One entry for each judgement: the settings on the left and on the right, the share of the left one (1 where it was
    better, 0 where it was worse, 0.5 for a tie), and the numbers of the two clips, which several judgements may share.
    A rough belief learns no variances, and is there sooner.
    """
    shares, sides = np.asarray(share, float), np.array([left, right], int)
    # Clips that nobody numbered are each another one, which the logistic function's own noise has in it.
    clips = np.array([clip_left, clip_right], int) if clip_left is not None else 0 * sides
    order = np.lexsort((shares, *clips, *sides))
    order = order[np.isfinite(shares[order])]
    belief = _learn(np.asarray(levels), _Pairs(sides[:, order], shares[order], clips[:, order]), is_rough=is_rough)
    covariance = belief.covariance - belief.covariance.mean(axis=0)
    covariance -= covariance.mean(axis=1)[:, None]
    return Belief(belief.mean - belief.mean.mean(), covariance, belief.noise, belief.tried)


class _Values:
    """Values of settings, as the means of those of one setting and one block, and which effects are in each mean."""

    size, varies_by_extra = 1.0, False

    def __init__(self, setting: IntArray, value: FloatArray, block: IntArray) -> None:
        blocks, block = np.unique(block, return_inverse=True)
        span = max(len(blocks), 1)
        cells, place = np.unique(setting * span + block, return_inverse=True)
        self.rows, setting = np.unique(cells // span, return_inverse=True)
        self.more = span if span > 1 else 0
        self.design = np.hstack([np.eye(len(self.rows))[setting], np.eye(span, self.more)[cells % span]])
        self.times = np.bincount(place).astype(float)
        self.mean = np.bincount(place, value) / self.times
        self.within, self.again = float(((value - self.mean[place]) ** 2).sum()), len(value) - len(cells)
        self.noise, self.mixed = NOISE, MIXED if self.more and self.again else 0.0

    def solve(self, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Z'V⁻¹y and Z'V⁻¹Z, where Z is the design and V the covariance of the means y; a step of the noise's variance."""
        weight = 1 / (self.mixed + self.noise / self.times)
        products, sums = (self.design.T * weight) @ self.design, self.design.T @ (weight * self.mean)
        inner = np.linalg.solve(np.eye(len(prior)) + products @ prior, products)
        pull = sums - inner @ (prior @ sums)
        miss = weight * (self.mean - self.design @ (prior @ pull))
        chance = weight - weight**2 * ((self.design @ (prior - prior @ inner @ prior)) * self.design).sum(axis=1)
        if self.mixed:
            self.mixed = float(_stepped(self.mixed, miss @ miss, chance.sum(), MIXED))
        explained = miss**2 @ (1 / self.times) + self.within / self.noise**2
        by_chance = chance @ (1 / self.times) + self.again / self.noise
        self.noise = float(_stepped(self.noise, explained, by_chance, NOISE))
        return pull, inner


class _Pairs:
    """Judgements of pairs of clips."""

    size, varies_by_extra = JUDGED, True
    noise, mixed = float(np.pi**2 / 6), 0.0  # Half of the logistic function's variance: each clip's part.

    def __init__(self, sides: IntArray, shares: FloatArray, clips: IntArray) -> None:
        self.rows, setting = np.unique(sides, return_inverse=True)
        those, clip = np.unique(clips, return_inverse=True)
        self.more, self.shares = len(those), shares
        count = len(self.rows) + self.more
        # Of each judgement the effects on the left, which count with a plus, and on the right.
        self.left, self.right = np.stack([setting.reshape(sides.shape), len(self.rows) + clip.reshape(clips.shape)], 1)
        both = np.vstack([self.left, self.right])
        signs = np.array([1.0, 1.0, -1.0, -1.0])
        self.places, self.signs = both[:, None] * count + both[None, :], np.outer(signs, signs)[:, :, None]
        self.pull: FloatArray = np.zeros(count)
        self.moved = np.inf

    def solve(self, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same after one more of Newton's steps to the most probable effects."""
        count = len(prior)
        chance = logistic(self._compare(prior @ self.pull))
        weights = self.signs * (chance * (1 - chance))
        products = np.bincount(self.places.ravel(), weights.ravel(), count**2).reshape(count, count)
        inner = np.linalg.solve(np.eye(count) + products @ prior, products)
        missed = np.tile(self.shares - chance, 2)
        sums = products @ (prior @ self.pull)
        sums += np.bincount(self.left.ravel(), missed, count) - np.bincount(self.right.ravel(), missed, count)
        step = sums - inner @ (prior @ sums) - self.pull
        self.moved = float(np.abs(self._compare(prior @ step)).max(initial=0.0))
        self.pull = self.pull + step * min(1.0, 4.0 / (self.moved + TINY))
        return self.pull, np.asarray(inner, dtype=np.float64)

    def _compare(self, effects: FloatArray) -> FloatArray:
        """By how much the left side of each judgement is the better one."""
        return np.asarray(effects[self.left].sum(axis=0) - effects[self.right].sum(axis=0))


def _learn(levels: IntArray, evidence: _Values | _Pairs, *, is_rough: bool = False) -> Belief:
    """The belief under the most probable variances; a rough one, of pairs, under those that the priors expect."""
    kernels, expected = _kernels(levels)
    rows, seen = evidence.rows, len(evidence.rows)
    parts = np.zeros((len(expected), *[seen + evidence.more] * 2))
    parts[:-1, :seen, :seen] = kernels[:, rows[:, None], rows]
    np.fill_diagonal(parts[-1, seen:, seen:], 1.0)
    expected = evidence.size * expected
    variances, own = expected, np.ones(seen)
    for _ in range(STEPS):
        pull, inner = evidence.solve(np.tensordot(variances, parts, 1))
        if is_rough:
            if getattr(evidence, "moved", 0.0) < ROUGH:
                break
            continue
        second = own + variances[-2] * own**2 * (pull**2 - np.diag(inner))[:seen]
        variances = _stepped(variances, (parts @ pull) @ pull, (parts * inner).sum(axis=(1, 2)), expected)
        own = np.clip((TAIL + second) / (TAIL + 1), TINY, MAX_OWN)
        np.fill_diagonal(parts[-2, :seen, :seen], own)
    pull, inner = evidence.solve(np.tensordot(variances, parts, 1))
    tried = np.isin(np.arange(len(levels)), rows)
    if not is_rough:
        kernels[-1] *= TAIL / (TAIL - 2)
    kernels[-1, rows, rows] = own
    whole = np.tensordot(variances[:-1], kernels, 1)
    near = whole[:, rows]
    covariance = whole - near @ inner[:seen, :seen] @ near.T
    spread = evidence.noise + evidence.mixed + evidence.varies_by_extra * variances[-1]
    return Belief(near @ pull[:seen], (covariance + covariance.T) / 2, float(np.sqrt(spread)), tried)


def _kernels(levels: IntArray) -> tuple[FloatArray, FloatArray]:
    """The covariances of settings by m, each axis, all pairs of axes and the rest; and what variances they may have."""
    columns = [column for column in levels.T if len(set(column)) > 1]
    count, settings = len(columns), len(levels)
    same = np.array([column[:, None] == column for column in columns], float).reshape(count, settings, settings)
    total = same.sum(axis=0)
    both = total * (total - 1) / max(count * (count - 1), 1)
    rest = REST if count else REST + AXES
    expected = [MEAN, *[AXES / max(count, 1)] * count, INTERACTIONS, rest, EXTRA]
    return np.array([np.ones_like(total), *same, both, np.eye(settings)]), np.array(expected)


def _stepped(variance: Any, explained: Any, by_chance: Any, expected: Any) -> Any:  # Numbers, or an array of each.
    """A variance nearer to the most probable one, given what the data say it explains and what it would by chance."""
    stepped = variance * np.sqrt((explained + NU * expected / variance**2) / (by_chance + NU / variance))
    return np.clip(stepped, TINY * expected, expected / TINY)


def _standardized(value: FloatArray) -> tuple[FloatArray, float, float]:
    """Values with mean 0 and variance 1; their mean and deviation."""
    size = float(np.abs(value).max(initial=0.0))
    size = size if size > 1 / LARGE else 1.0
    scale = float(value.std()) if len(value) > 1 else 0.0
    if scale < TINY * size:
        scale = size / 1000 if len(value) > 1 else size
    centre = float(value.sum()) / max(len(value), 1)
    return (value - centre) / scale, centre, scale


def logistic(value: FloatArray) -> FloatArray:
    """The chance to win of what is stronger by this much.

    >>> logistic(np.array([0.0, 1.0986])).round(2).tolist()
    [0.5, 0.75]
    """
    return np.asarray(0.5 * (1 + np.tanh(0.5 * value)))


def find_factor(covariance: FloatArray) -> FloatArray:
    """A matrix whose product with its transpose is the covariance, or as near to it as one without negative variances is.

    Cholesky's where that exists, else one of eigenvectors, which always does: a race that somebody has paid for is never
    stopped by rounding.
    """
    size = max(float(np.diag(covariance).max(initial=0.0)), LARGE**-2)
    rest = np.clip(covariance, -size, size) / size
    try:
        return np.asarray(np.linalg.cholesky(rest + TINY**2 * np.eye(len(rest))) * math.sqrt(size))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(rest)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0) * size))


def choose(
    belief: Belief, rng: np.random.Generator, count: int,
    *, spent: ArrayLike | None = None, open_: ArrayLike | None = None,
) -> list[int]:  # fmt: skip
    """The settings to try next, some perhaps more than once, as if all of them ran at once.

    Before there is any value: those that say most about all. Then the best of a draw from the belief, in every second turn
    among those never tried while there are any, so that no lucky one is missed. `open_` says which can be tried at all,
    `spent` how often each has been; without it, no turn is for those never tried.
    """
    # Relative to the largest variance, so that nothing overflows.
    size = max(float(np.diag(belief.covariance).max(initial=0.0)), LARGE**-2)
    covariance, chosen = np.clip(belief.covariance, -size, size) / size, list[int]()
    mean, noise = belief.mean / math.sqrt(size), min(belief.noise / math.sqrt(size), LARGE)
    times = np.ones(len(covariance)) if spent is None else np.array(spent, float)
    allowed = np.ones(len(times), bool) if open_ is None else np.asarray(open_, bool)
    for turn in range(int(times.sum()), int(times.sum()) + (count if allowed.any() else 0)):
        variance = np.maximum(np.diag(covariance), 0)
        width = np.sqrt(variance + noise**2 + TINY**2)
        if np.ptp(mean) == 0:
            values = ((covariance / width) ** 2).sum(axis=0) * (1 + 0.01 * rng.random(len(times)))
        else:
            values = mean + find_factor(covariance) @ rng.standard_normal(len(times))
        fresh = allowed & (times == 0)
        one = int(np.argmax(np.where(fresh if turn % 2 and fresh.any() else allowed, values, -np.inf)))
        chosen.append(one)
        times[one] += 1
        # No covariance is larger than the variances allow.
        column = np.clip(covariance[:, one] / width[one], -np.sqrt(variance), np.sqrt(variance))
        covariance = covariance - np.outer(column, column)
    return chosen
