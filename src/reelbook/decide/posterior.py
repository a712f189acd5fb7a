"""What is known of each setting's true value, from noisy values or from judgements of pairs.

A setting is one level on each axis. Its true value is m + Σ a(axis, level) + Σ b(two axes, their levels) + c(setting),
each effect normal with mean 0: the main effects of an axis have a variance of their own, the interaction of two axes
one in proportion to the geometric mean of the two, what is left one that is never 0, so that a single lucky setting
can be found. A value of a setting adds an effect of its block (the prompt, the same for all settings), one of this
setting with this block, and noise: value = true + block + setting × block + noise. The ratios of all variances to the
noise are unknown with wide log-normal priors, the noise itself with an inverse-gamma one; draws from the priors, then
from normal distributions fitted to what explained the data best, are weighted by their marginal likelihood, and the
belief is the normal distribution with the mean and covariance of that mixture. Values beyond the outer fences (three
times the quartiles' distance) count as those. A judgement of two clips says which true value + clip effect is higher, as
the logistic function of their difference (a tie is half of each), by Laplace's approximation. No order matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from .evidence import PRIORS, TINY, FloatArray, IntArray, Pairs, Ratios, Values, standardized

LEAST_LEFT = 0.02
"""The least ratio of what is left to the main effects."""
ROUNDS, DRAWS, BEST, NEAR = 4, 24, 8, 0.3
"""Of ratios: first from the prior, then near those that explained the data best."""
NODES = np.array([NormalDist().inv_cdf((place + 0.5) / 16) for place in range(16)])
"""Of a standard normal distribution, each as probable."""


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
    values, settings = np.asarray(value, float), np.asarray(setting, int)
    blocks = np.zeros(len(values), int) if block is None else np.asarray(block, int)
    good = np.flatnonzero(np.isfinite(values))
    good = good[np.lexsort((values[good], blocks[good], settings[good]))]
    standard, centre, scale = standardized(values[good])
    belief = _mixture(_Axes(np.asarray(levels)), Values(settings[good], standard, blocks[good]), 1.0)
    return Belief(centre + scale * belief.mean, scale**2 * belief.covariance, scale * belief.noise)


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
    pairs = Pairs(sides[:, order], shares[order], clips[:, order] if clips.size else clips)
    # Nobody knows the scale of a judge's values: that it may be larger or smaller is no reason to doubt who is first.
    belief = _mixture(_Axes(np.asarray(levels)), pairs, 0.0)
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
        return np.asarray(ratio["total"] / (min(self.count, 1) + pairs + left) * whole + 10 * ratio["total"] + 1)


def _mixture(axes: _Axes, evidence: Values | Pairs, between: float) -> Belief:
    """The mixture of what follows from each set of variances; `between` is the weight of how much those differ."""
    everything, seen = np.arange(axes.settings), len(evidence.rows)
    middles, spreads = np.array(list(evidence.priors.values())).T

    def ratios(point: FloatArray) -> Ratios:
        found = dict(zip(PRIORS, np.exp(middles + spreads * point[: len(PRIORS)]), strict=True))
        main = np.exp(point[len(PRIORS) :])
        return {**found, "axes": main / (main.sum() or 1.0)}

    def prior(ratio: Ratios) -> FloatArray:
        whole = np.diag(np.full(seen + evidence.more, ratio["block"]))
        whole[:seen, :seen] = axes.covariance(ratio, evidence.rows, evidence.rows)
        return whole

    def likelihood(point: FloatArray) -> float:
        return evidence.solve(prior(ratios(point)), ratios(point))[0]

    mean, covariance, noise = np.zeros(axes.settings), np.zeros((axes.settings,) * 2), 0.0
    draws = DRAWS if seen + evidence.more <= 100 else DRAWS // 2
    for point, weight in zip(*_weigh(likelihood, len(PRIORS) + axes.count, draws), strict=True):
        ratio = ratios(point)
        whole = prior(ratio)
        _, pull, products, variance, spread = evidence.solve(whole, ratio)
        near = axes.covariance(ratio, everything, evidence.rows)
        inner = np.linalg.solve(np.eye(len(whole)) + products @ whole, products)[:seen, :seen]
        one = near @ pull[:seen]
        rest = axes.covariance(ratio, everything, everything) - near @ inner @ near.T
        mean, noise = mean + weight * one, noise + weight * spread
        covariance += weight * (variance * (rest + rest.T) / 2 + between * np.outer(one, one))
    return Belief(mean, covariance - between * np.outer(mean, mean), float(np.sqrt(noise)))


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
    """The settings to try next, some perhaps more than once, as if all of them ran at once.

    Before there is any value: those that say most about all. Then by turns what raises the best mean to be expected most,
    and the best of a draw from the belief among settings never tried, so that no lucky one is missed. `open_` says which
    can be tried at all, `spent` how often each has been; without it, each turn is the best of a draw.
    """
    covariance, chosen = belief.covariance.copy(), list[int]()
    times = np.ones(len(covariance)) if spent is None else np.array(spent, float)
    allowed = np.ones(len(times), bool) if open_ is None else np.asarray(open_, bool)
    for turn in np.arange(count if allowed.any() else 0) + (int(times.sum()) if spent is not None else 0):
        width = np.sqrt(np.maximum(np.diag(covariance), 0) + belief.noise**2 + TINY**2)
        if np.ptp(belief.mean) == 0:
            values = ((covariance / width) ** 2).sum(axis=0) * (1 + 0.01 * rng.random(len(times)))
        elif turn % 2 == 0 and spent is not None:
            values = (belief.mean[:, None, None] + (covariance / width)[..., None] * NODES).max(axis=0).mean(axis=1)
        else:
            values = belief.mean + _root(covariance) @ rng.standard_normal(len(times))
        fresh = allowed & (times == 0)
        one = int(np.argmax(np.where(fresh if turn % 2 and fresh.any() else allowed, values, -np.inf)))
        chosen.append(one)
        times[one] += 1
        column = covariance[:, one]
        covariance = covariance - np.outer(column, column) / width[one] ** 2
    return chosen
