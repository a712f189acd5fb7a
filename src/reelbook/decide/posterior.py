"""What is known of each setting's true value, from noisy values or from judgements of pairs.

A setting is one level on each axis. Its true value is m + Σ a(axis, level) + Σ b(two axes, their levels) + c(setting),
each effect normal with mean 0: the main effects of an axis have a variance of their own, the interaction of two axes
one in proportion to the geometric mean of the two, what is left one that is never 0, so that a single lucky setting
can be found. A value of a setting adds an effect of its block (the prompt, the same for all settings), one of this
setting with this block, and noise: value = true + block + setting × block + noise. The ratios of all variances to the
noise are unknown with wide log-normal priors, the noise itself with an inverse-gamma one; draws from the priors, then
from normal distributions fitted to what explained the data best, are weighted by their marginal likelihood, and the
belief is the normal distribution with the mean and covariance of that mixture. A value far from what the others say
counts less. A judgement of two clips says which true value + clip effect is higher, as the logistic function of their
difference (a tie is half of each), by Laplace's approximation with the same priors. No order of observations matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
Ratios: TypeAlias = dict[str, Any]

PRIORS = {"total": (1.0, 1.7), "pairs": (-1.2, 1.0), "left": (-1.7, 1.0), "block": (-1.0, 1.7), "mixed": (-1.5, 1.2)}
"""Logarithms of ratios, as mean and deviation: the variance of all settings, of blocks and of settings × blocks to the
noise's, and that of interactions and of what is left to that of main effects."""
LEAST_LEFT = 0.02
"""The least ratio of what is left to the main effects."""
NOISE_SHAPE, NOISE_SCALE = 0.5, 0.005
"""Of the inverse-gamma prior of the noise's variance, where values have variance 1."""
ROUNDS, DRAWS, BEST, NEAR = 4, 24, 8, 0.3
"""Of ratios: first from the prior, then near those that explained the data best."""
FENCE = 3.0
"""How many times the quartiles' distance a value may lie beyond them."""
TINY = 1e-9


@dataclass(frozen=True)
class Belief:
    """What is known of every setting: a normal distribution over their true values."""

    mean: FloatArray
    covariance: FloatArray
    noise: float
    """The standard deviation of one value of one setting, repeated over seeds and blocks."""

    def draws(self, rng: np.random.Generator, count: int) -> FloatArray:
        """True values of every setting that may be so, one row for each draw."""
        return self.mean + rng.standard_normal((count, len(self.mean))) @ _root(self.covariance).T

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
    axes = _Axes(np.asarray(levels))
    values, settings = np.asarray(value, float), np.asarray(setting, int)
    blocks = np.zeros(len(values), int) if block is None else np.asarray(block, int)
    good = np.isfinite(values)
    return _Values(settings[good], values[good], blocks[good]).belief(axes)


def learn_pairs(
    levels: ArrayLike,
    left: ArrayLike,
    right: ArrayLike,
    share: ArrayLike,
    clip_left: ArrayLike | None = None,
    clip_right: ArrayLike | None = None,
) -> Belief:
    """What judgements of pairs say about all settings, whose true values are only relative to their mean.

    One entry for each judgement: the settings on the left and on the right, the share of the left one (1 where it was
    better, 0 where it was worse, 0.5 for a tie), and the numbers of the two clips, which several judgements may share.
    """
    axes = _Axes(np.asarray(levels))
    shares, sides = np.asarray(share, float), np.stack([np.asarray(left, int), np.asarray(right, int)])
    good = np.isfinite(shares)
    clips = None if clip_left is None or clip_right is None else np.stack([np.asarray(clip_left), clip_right])
    belief = _Pairs(sides[:, good], shares[good], None if clips is None else clips[:, good]).belief(axes)
    covariance = belief.covariance - belief.covariance.mean(axis=0)
    covariance -= covariance.mean(axis=1)[:, None]
    return Belief(belief.mean - belief.mean.mean(), covariance, belief.noise)


class _Axes:
    """Which settings share levels, and the covariance of their true values that follows."""

    def __init__(self, levels: IntArray) -> None:
        columns = [column for column in levels.T if len(set(column)) > 1]
        self.settings, self.count = len(levels), len(columns)
        self.same = np.array([column[:, None] == column for column in columns], float)
        self.same = self.same.reshape(self.count, self.settings, self.settings)

    def covariance(self, ratio: Ratios, rows: IntArray, columns: IntArray) -> FloatArray:
        """Between the true values of some settings and others, in units of the noise's variance."""
        main, same = ratio["axes"], self.same[:, rows[:, None], columns]
        pairs, left = ratio["pairs"] * (self.count > 1), LEAST_LEFT + ratio["left"]
        alone = np.tensordot(main, same, 1)
        whole = alone + left * (rows[:, None] == columns)
        if pairs:
            roots = np.sqrt(main)
            whole += pairs / (roots.sum() ** 2 - 1) * (np.tensordot(roots, same, 1) ** 2 - alone)
        return ratio["total"] / (min(self.count, 1) + pairs + left) * whole + 10 * ratio["total"] + 1


class _Evidence:
    """Observations as Z: of the settings in `rows`, and of some more effects that each have a variance of their own."""

    centre, scale, between = 0.0, 1.0, 1.0
    priors: Ratios = {}
    rows: IntArray
    more: int

    def solve(self, prior: FloatArray, ratio: Ratios) -> tuple[float, FloatArray, FloatArray, float, float]:
        """Log-likelihood, Z'V⁻¹y and Z'WZ with V the whole covariance and W that of noise alone, noise, a value's variance."""
        raise NotImplementedError

    def ratios(self, point: FloatArray) -> Ratios:
        """The ratios of variances that a point of a standard normal distribution stands for."""
        middles, spreads = np.array(list((PRIORS | self.priors).values())).T
        found = dict(zip(PRIORS, np.exp(middles + spreads * point[: len(PRIORS)]), strict=True))
        axes = np.exp(point[len(PRIORS) :])
        return {**found, "axes": axes / (axes.sum() or 1.0)}

    def prior(self, axes: _Axes, ratio: Ratios) -> FloatArray:
        """The covariance of all effects."""
        seen = len(self.rows)
        whole = np.diag(np.full(seen + self.more, ratio["block"]))
        whole[:seen, :seen] = axes.covariance(ratio, self.rows, self.rows)
        return whole

    def belief(self, axes: _Axes) -> Belief:
        """The mixture of what follows from each set of variances."""
        everything, seen = np.arange(axes.settings), len(self.rows)
        mean, covariance, noise = np.zeros(axes.settings), np.zeros((axes.settings,) * 2), 0.0

        def likelihood(point: FloatArray) -> float:
            ratio = self.ratios(point)
            return self.solve(self.prior(axes, ratio), ratio)[0]

        draws = DRAWS if seen + self.more <= 100 else DRAWS // 2
        for point, weight in zip(*_weigh(likelihood, len(PRIORS) + axes.count, draws), strict=True):
            ratio = self.ratios(point)
            whole = self.prior(axes, ratio)
            _, pull, products, variance, spread = self.solve(whole, ratio)
            near = axes.covariance(ratio, everything, self.rows)
            inner = np.linalg.solve(np.eye(len(whole)) + products @ whole, products)[:seen, :seen]
            one = near @ pull[:seen]
            rest = axes.covariance(ratio, everything, everything) - near @ inner @ near.T
            mean, noise = mean + weight * one, noise + weight * spread
            covariance += weight * (variance * (rest + rest.T) / 2 + self.between * np.outer(one, one))
        covariance -= self.between * np.outer(mean, mean)
        return Belief(self.centre + self.scale * mean, self.scale**2 * covariance, self.scale * float(np.sqrt(noise)))


class _Values(_Evidence):
    """Values of settings, as the means of those of one setting and one block."""

    def __init__(self, setting: IntArray, value: FloatArray, block: IntArray) -> None:
        order = np.lexsort((value, block, setting))
        self.rows, setting = np.unique(setting[order], return_inverse=True)
        blocks, block = np.unique(block[order], return_inverse=True)
        value = self._standard(value[order])
        cells, place = np.unique(setting * max(len(blocks), 1) + block, return_inverse=True)
        self.setting, self.block = np.divmod(cells, max(len(blocks), 1))
        self.more = len(blocks) if len(blocks) > 1 else 0
        self.times = np.bincount(place, minlength=len(cells)).astype(float)
        self.mean = np.bincount(place, value, len(cells)) / self.times
        self.within = float(((value - self.mean[place]) ** 2).sum())
        self.count, self.repeated = len(value), self.more > 0 and len(value) > len(cells)

    def _standard(self, value: FloatArray) -> FloatArray:
        """Values with mean 0 and variance 1, those beyond the outer fences put there."""
        if not len(value):
            return value
        low, high = np.quantile(value, [0.25, 0.75])
        if high > low:
            value = np.clip(value, low - FENCE * (high - low), high + FENCE * (high - low))
        size = float(np.abs(value).max()) or 1.0
        self.centre, self.scale = float(value.mean()), float(value.std())
        if self.scale < TINY * size:
            self.scale = size if len(value) == 1 else size / 1000
        return (value - self.centre) / self.scale

    def solve(self, prior: FloatArray, ratio: Ratios) -> tuple[float, FloatArray, FloatArray, float, float]:
        """The same, the noise's variance integrated out."""
        mixed = ratio["mixed"] if self.repeated else 0.0
        weight = 1 / (mixed + 1 / self.times)
        products, sums = np.zeros_like(prior), np.zeros(len(prior))
        places = [self.setting] + [len(self.rows) + self.block] * (self.more > 0)
        for one in places:
            np.add.at(sums, one, weight * self.mean)
            for other in places:
                np.add.at(products, (one, other), weight)
        inner = np.eye(len(prior)) + products @ prior
        pull = np.linalg.solve(inner, sums)
        square = float(weight @ self.mean**2) + self.within - sums @ prior @ pull
        rest, shape = NOISE_SCALE + max(square, 0.0) / 2, NOISE_SHAPE + self.count / 2
        likelihood = (np.log(weight).sum() - np.linalg.slogdet(inner)[1]) / 2 - shape * np.log(rest)
        variance = rest / max(shape - 1, 0.5)
        return likelihood, pull, products, variance, variance * (1 + mixed)


class _Pairs(_Evidence):
    """Judgements of pairs of clips, whose scale is known to nobody: it is no reason to doubt who is first."""

    between = 0.0
    priors = {"total": (1.4, 0.8)}

    def __init__(self, sides: IntArray, shares: FloatArray, clips: IntArray | None) -> None:
        order = np.lexsort((shares, *(() if clips is None else clips), *sides))
        self.shares, at = shares[order], np.arange(len(shares))[:, None]
        self.rows, place = np.unique(sides[:, order], return_inverse=True)
        those, clip = np.unique(sides[:, :0] if clips is None else clips[:, order], return_inverse=True)
        self.more = len(those)
        self.design = np.zeros((len(shares), len(self.rows) + self.more))
        self.pull = np.zeros(self.design.shape[1])
        np.add.at(self.design, (at, place.reshape(sides.shape).T), [1.0, -1.0])
        if self.more:
            np.add.at(self.design, (at, len(self.rows) + clip.reshape(sides.shape).T), [1.0, -1.0])

    def solve(self, prior: FloatArray, ratio: Ratios) -> tuple[float, FloatArray, FloatArray, float, float]:
        """The same, at the most probable effects, by Newton's steps."""
        pull, inner, products = self.pull, np.eye(len(prior)), np.zeros_like(prior)
        through = self.design @ prior
        for _ in range(30):
            lead = through @ pull
            chance = 1 / (1 + np.exp(-lead))
            products = (self.design * (chance * (1 - chance))[:, None]).T @ self.design
            inner = np.eye(len(prior)) + products @ prior
            step = np.linalg.solve(inner, products @ (prior @ pull) + self.design.T @ (self.shares - chance)) - pull
            longest = np.abs(through @ step).max(initial=0.0)
            pull = pull + step * min(1.0, 4.0 / (longest + TINY))
            if longest < 1e-2:
                break
        lead, self.pull = through @ pull, pull
        likelihood = -(np.logaddexp(0, -lead) @ self.shares + np.logaddexp(0, lead) @ (1 - self.shares))
        likelihood -= (pull @ prior @ pull + np.linalg.slogdet(inner)[1]) / 2
        return likelihood, pull, products, 1.0, np.pi**2 / 6 + ratio["block"]


def _weigh(likelihood: Callable[[FloatArray], float], size: int, draws: int) -> tuple[FloatArray, FloatArray]:
    """Points of a standard normal prior with their weights afterwards, by importance sampling in a few rounds."""
    rng = np.random.default_rng(size)
    fits = [(np.zeros(size), np.eye(size))]
    points, values = np.zeros((0, size)), np.zeros(0)
    for _ in range(ROUNDS):
        middle, root = fits[-1]
        fresh = middle + rng.standard_normal((draws, size)) @ root.T
        points = np.concatenate([points, fresh])
        values = np.concatenate([values, [likelihood(point) for point in fresh]])
        proposed = np.logaddexp.reduce([_log_normal(points, *fit) for fit in fits], axis=0) - np.log(len(fits))
        logarithms = values + _log_normal(points, *fits[0]) - proposed
        logarithms -= logarithms.max()
        for power in (1.0, 0.5, 0.25, 0.125, 0.06):
            weights = np.exp(power * logarithms) / np.exp(power * logarithms).sum()
            if 1 / (weights**2).sum() > size:
                break
        middle = weights @ points
        spread = (points - middle).T @ ((points - middle) * weights[:, None]) + NEAR * np.eye(size)
        fits.append((middle, np.linalg.cholesky(spread)))
    best = np.argsort(-logarithms, kind="stable")[:BEST]
    weights = np.exp(logarithms[best])
    return points[best], weights / weights.sum()


def _log_normal(points: FloatArray, middle: FloatArray, root: FloatArray) -> FloatArray:
    """The logarithm of a normal density, a constant left out."""
    steps = np.linalg.solve(root, (points - middle).T)
    return np.asarray(-(steps**2).sum(axis=0) / 2 - np.log(np.diag(root)).sum())


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
    """The settings to try next, some perhaps more than once: each the best of one draw from the belief.

    `open_` says which settings can be tried at all; `spent` how often each has been.
    """
    allowed = np.ones(len(belief.mean), bool) if open_ is None else np.asarray(open_, bool)
    if not allowed.any():
        return []
    covariance = belief.covariance.copy()
    chosen = []
    for _ in range(count):
        values = belief.mean + _root(covariance) @ rng.standard_normal(len(belief.mean))
        one = int(np.argmax(np.where(allowed, values, -np.inf)))
        chosen.append(one)
        column = covariance[:, one]
        covariance = covariance - np.outer(column, column) / (column[one] + belief.noise**2)
    return chosen
