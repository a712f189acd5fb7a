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
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

PRIORS = {"total": (1.0, 1.7), "pairs": (-1.2, 1.0), "left": (-1.7, 1.0), "block": (-1.0, 1.7), "mixed": (-1.5, 1.2)}
"""Logarithms of ratios, as mean and deviation: the variance of all settings, of blocks and of settings × blocks to the
noise's, and that of interactions and of what is left to that of main effects."""
LEAST_LEFT = 0.02
"""The least ratio of what is left to the main effects."""
NOISE_SHAPE, NOISE_SCALE = 0.5, 0.005
"""Of the inverse-gamma prior of the noise's variance, where values have variance 1."""
ROUNDS, DRAWS = 3, 32
"""Of ratios: first from the prior, then near those that explained the data best."""
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
    cells = _Cells(settings[good], values[good], blocks[good])
    return _mixed(axes, cells)


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
    belief = _mixed(axes, _Pairs(sides[:, good], shares[good], None if clips is None else clips[:, good]))
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

    def within(self, rows: IntArray) -> _Axes:
        """The same axes for some of the settings."""
        part = object.__new__(_Axes)
        part.settings, part.count, part.same = len(rows), self.count, self.same[:, rows[:, None], rows]
        return part

    def covariance(self, point: FloatArray) -> FloatArray:
        """Of the true values, in units of the noise's variance."""
        ratios = _ratios(point)
        main = np.exp(point[len(PRIORS) :])
        main /= main.sum() or 1.0
        alone = np.tensordot(main, self.same, 1)
        roots = np.sqrt(main)
        twice, most = np.tensordot(roots, self.same, 1) ** 2 - alone, roots.sum() ** 2 - 1
        pairs = ratios["pairs"] if self.count > 1 else 0.0
        left = LEAST_LEFT + ratios["left"]
        whole = alone + left * np.eye(self.settings)
        if pairs:
            whole += pairs / most * twice
        return ratios["total"] / (min(self.count, 1) + pairs + left) * whole + 10 * ratios["total"] + 1


class _Cells:
    """Observations, summed up by setting and block."""

    def __init__(self, setting: IntArray, value: FloatArray, block: IntArray) -> None:
        order = np.lexsort((value, block, setting))
        setting, value, block = setting[order], value[order], block[order]
        self.centre = float(value.mean()) if len(value) else 0.0
        spread = float(value.std()) if len(value) else 1.0
        size = float(np.abs(value).max()) if len(value) else 1.0
        self.scale = spread if spread > 1e-9 * size else (size or 1.0) * (1e-3 if len(value) > 1 else 1.0)
        value = (value - self.centre) / self.scale
        self.rows, setting = np.unique(setting, return_inverse=True)
        blocks, block = np.unique(block, return_inverse=True)
        self.blocks = len(blocks) if len(blocks) > 1 else 0
        cells, place = np.unique(np.stack([setting, block]), axis=1, return_inverse=True)
        self.times = np.bincount(place.ravel(), minlength=cells.shape[1]).astype(float)
        self.mean = np.bincount(place.ravel(), value, cells.shape[1]) / self.times
        self.within = float(((value - self.mean[place.ravel()]) ** 2).sum()) if len(value) else 0.0
        self.count, self.repeated = len(value), bool(self.blocks) and len(value) > cells.shape[1]
        self.incidence = np.zeros((cells.shape[1], len(self.rows) + self.blocks))
        at = np.arange(cells.shape[1])
        self.incidence[at, cells[0]] = 1
        if self.blocks:
            self.incidence[at, len(self.rows) + cells[1]] = 1
        self._sums: dict[bool, tuple[FloatArray, FloatArray, float, float]] = {}

    def noise(self, ratios: dict[str, float]) -> float:
        """The variance of one value of one setting, in units of the noise's."""
        return 1.0 + (ratios["mixed"] if self.repeated else 0.0)

    def sums(self, mixed: float) -> tuple[FloatArray, FloatArray, float, float]:
        """Z'V⁻¹Z, Z'V⁻¹y, y'V⁻¹y and log|V|, for the variance V of a cell's mean round its setting and block."""
        if mixed == 0 and False in self._sums:
            return self._sums[False]
        weight = 1 / (mixed + 1 / self.times)
        weighted = self.incidence * weight[:, None]
        result = (
            self.incidence.T @ weighted,
            weighted.T @ self.mean,
            float(weight @ self.mean**2) + self.within,
            float(-np.log(weight).sum()),
        )
        if mixed == 0:
            self._sums[False] = result
        return result

    def solve(self, axes: _Axes, point: FloatArray) -> tuple[float, FloatArray, FloatArray, float]:
        """Log-likelihood, Z'V⁻¹y and Z'V⁻¹Z of the values' whole covariance V, and the noise's variance."""
        ratios, seen = _ratios(point), len(self.rows)
        prior = np.zeros((seen + self.blocks,) * 2)
        prior[:seen, :seen] = axes.covariance(point)
        prior[seen:, seen:] = ratios["block"] * np.eye(self.blocks)
        root = np.linalg.cholesky(prior)
        products, sums, square, logarithm = self.sums(ratios["mixed"] if self.repeated else 0.0)
        inner = np.linalg.cholesky(np.eye(len(root)) + root.T @ products @ root)
        half = np.linalg.solve(inner, root.T)
        left, right = half @ sums, half @ products
        rest = NOISE_SCALE + max(square - left @ left, 0.0) / 2
        shape = NOISE_SHAPE + self.count / 2
        likelihood = -np.log(np.diag(inner)).sum() - logarithm / 2 - shape * np.log(rest)
        return likelihood, sums - right.T @ left, products - right.T @ right, rest / max(shape - 1, 0.5)


class _Pairs:
    """Judgements of pairs of clips."""

    centre, scale = 0.0, 1.0

    def __init__(self, sides: IntArray, shares: FloatArray, clips: IntArray | None) -> None:
        order = np.lexsort((shares, *(() if clips is None else clips[::-1]), *sides[::-1]))
        self.shares, sides = shares[order], sides[:, order]
        self.rows, place = np.unique(sides, return_inverse=True)
        place = place.reshape(sides.shape)
        at, parts = np.arange(len(self.shares)), [(place, len(self.rows))]
        if clips is not None:
            those, number = np.unique(clips[:, order], return_inverse=True)
            parts.append((number.reshape(sides.shape), len(those)))
        self.design = np.concatenate([np.zeros((len(at), count)) for _, count in parts], axis=1)
        start = 0
        for numbers, count in parts:
            np.add.at(self.design, (at, start + numbers[0]), 1.0)
            np.add.at(self.design, (at, start + numbers[1]), -1.0)
            start += count

    def noise(self, ratios: dict[str, float]) -> float:
        """The variance of one side of a judgement."""
        return np.pi**2 / 6 + ratios["block"]

    def solve(self, axes: _Axes, point: FloatArray) -> tuple[float, FloatArray, FloatArray, float]:
        """The same for judgements, at the most probable true values; their noise has the variance 1."""
        seen, whole = len(self.rows), self.design.shape[1]
        prior = np.zeros((whole, whole))
        prior[:seen, :seen] = axes.covariance(point)
        prior[seen:, seen:] = _ratios(point)["block"] * np.eye(whole - seen)
        root = np.linalg.cholesky(prior)
        design = self.design @ root
        spot, inner = np.zeros(whole), np.eye(whole)
        for _ in range(30):
            chance = 1 / (1 + np.exp(-design @ spot))
            inner = np.eye(whole) + design.T @ (design * (chance * (1 - chance))[:, None])
            step = np.linalg.solve(inner, design.T @ (self.shares - chance) - spot)
            spot += step * min(1.0, 5.0 / (np.abs(design @ step).max(initial=0.0) + TINY))
            if np.abs(step).max(initial=0.0) < 1e-4:
                break
        lead = design @ spot
        likelihood = -(np.logaddexp(0, -lead) @ self.shares + np.logaddexp(0, lead) @ (1 - self.shares))
        likelihood -= spot @ spot / 2 + np.linalg.slogdet(inner)[1] / 2
        chance = 1 / (1 + np.exp(-lead))
        products = self.design.T @ (self.design * (chance * (1 - chance))[:, None])
        part = products @ root
        return likelihood, self.design.T @ (self.shares - chance), products - part @ np.linalg.solve(inner, part.T), 1.0


def _mixed(axes: _Axes, cells: _Cells | _Pairs) -> Belief:
    part = axes.within(cells.rows)
    points, weights = _weigh(lambda point: cells.solve(part, point)[0], len(PRIORS) + axes.count)
    mean, covariance, noise = np.zeros(axes.settings), np.zeros((axes.settings,) * 2), 0.0
    for point, weight in zip(points, weights, strict=True):
        _, pull, products, variance = cells.solve(part, point)
        prior = axes.covariance(point)
        near = prior[:, cells.rows]
        seen = len(cells.rows)
        one = near @ pull[:seen]
        mean += weight * one
        covariance += weight * (variance * (prior - near @ products[:seen, :seen] @ near.T) + np.outer(one, one))
        noise += weight * variance * cells.noise(_ratios(point))
    covariance -= np.outer(mean, mean)
    return Belief(cells.centre + cells.scale * mean, cells.scale**2 * covariance, cells.scale * float(np.sqrt(noise)))


def _ratios(point: FloatArray) -> dict[str, float]:
    return {
        name: float(np.exp(middle + spread * z))
        for (name, (middle, spread)), z in zip(PRIORS.items(), point, strict=False)
    }


def _weigh(likelihood: Callable[[FloatArray], float], size: int) -> tuple[FloatArray, FloatArray]:
    """Points of a standard normal prior with their weights afterwards, by importance sampling in a few rounds."""
    rng = np.random.default_rng(size)
    fits = [(np.zeros(size), np.eye(size))]
    points, values = np.zeros((0, size)), np.zeros(0)
    for _ in range(ROUNDS):
        middle, root = fits[-1]
        fresh = middle + rng.standard_normal((DRAWS, size)) @ root.T
        points = np.concatenate([points, fresh])
        values = np.concatenate([values, [likelihood(point) for point in fresh]])
        proposed = np.logaddexp.reduce([_log_normal(points, *fit) for fit in fits], axis=0)
        logarithms = values + _log_normal(points, *fits[0]) - proposed
        weights = np.exp(logarithms - logarithms.max())
        weights /= weights.sum()
        tempered = np.exp((logarithms - logarithms.max()) / 2)
        tempered /= tempered.sum()
        middle = tempered @ points
        spread = (points - middle).T @ ((points - middle) * tempered[:, None]) + 0.1 * np.eye(size)
        fits.append((middle, np.linalg.cholesky(spread)))
    best = np.argsort(-weights, kind="stable")[:16]
    return points[best], weights[best] / weights[best].sum()


def _log_normal(points: FloatArray, middle: FloatArray, root: FloatArray) -> FloatArray:
    """The logarithm of a normal density, a constant left out."""
    steps = np.linalg.solve(root, (points - middle).T)
    return -(steps**2).sum(axis=0) / 2 - np.log(np.diag(root)).sum()


def _root(covariance: FloatArray) -> FloatArray:
    """A matrix whose product with its transpose is the covariance."""
    sizes, directions = np.linalg.eigh(covariance)
    return directions * np.sqrt(np.maximum(sizes, 0))


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
