"""Observations of settings, as values or as judgements of pairs, and how well a covariance of all effects explains them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
Ratios: TypeAlias = dict[str, Any]

PRIORS = {"total": (1.0, 1.7), "pairs": (-1.2, 1.0), "left": (-1.7, 1.0), "block": (-1.0, 1.7), "mixed": (-1.5, 1.2)}
"""Logarithms of ratios, as mean and deviation: the variance of all settings, of blocks and of settings × blocks to the
noise's, and that of interactions and of what is left to that of main effects."""
NOISE_SHAPE, NOISE_SCALE = 0.5, 0.005
"""Of the inverse-gamma prior of the noise's variance, where values have variance 1."""
FENCE = 3.0
"""How many times the quartiles' distance a value may lie beyond them."""
TINY = 1e-9

Found: TypeAlias = tuple[float, FloatArray, FloatArray, float, float]
"""Log-likelihood; Z'V⁻¹y and Z'WZ, where Z says which effects an observation has, V is the covariance of all and W the
precision of the noise alone; the variance of the noise and that of one value of one setting."""


class Values:
    """Values of settings, as the means of those of one setting and one block."""

    priors: Ratios = PRIORS

    def __init__(self, setting: IntArray, value: FloatArray, block: IntArray) -> None:
        self.rows, setting = np.unique(setting, return_inverse=True)
        blocks, block = np.unique(block, return_inverse=True)
        cells, place = np.unique(setting * max(len(blocks), 1) + block, return_inverse=True)
        self.setting, self.block = np.divmod(cells, max(len(blocks), 1))
        self.more = len(blocks) if len(blocks) > 1 else 0
        self.times = np.bincount(place, minlength=len(cells)).astype(float)
        self.mean = np.bincount(place, value, len(cells)) / self.times
        self.within = float(((value - self.mean[place]) ** 2).sum())
        self.count, self.repeated = len(value), self.more > 0 and len(value) > len(cells)

    def solve(self, prior: FloatArray, ratio: Ratios) -> Found:
        """What follows from a covariance of all effects, in units of the noise's variance, which is integrated out."""
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
        rest, shape = NOISE_SCALE + max(float(square), 0.0) / 2, NOISE_SHAPE + self.count / 2
        likelihood = (np.log(weight).sum() - np.linalg.slogdet(inner)[1]) / 2 - shape * np.log(rest)
        variance = float(rest / max(shape - 1, 0.5))
        return float(likelihood), np.asarray(pull), products, variance, variance * (1 + mixed)


class Pairs:
    """Judgements of pairs of clips."""

    priors: Ratios = {**PRIORS, "total": (1.4, 0.8)}

    def __init__(self, sides: IntArray, shares: FloatArray, clips: IntArray) -> None:
        self.rows, place = np.unique(sides, return_inverse=True)
        those, clip = np.unique(clips, return_inverse=True)
        self.more, self.shares = len(those), shares
        self.design = np.zeros((len(shares), len(self.rows) + self.more))
        self.pull = np.zeros(self.design.shape[1])
        for numbers in (place, len(self.rows) + clip)[: 1 + (self.more > 0)]:
            np.add.at(self.design, (np.arange(len(shares))[:, None], numbers.reshape(sides.shape).T), [1.0, -1.0])

    def solve(self, prior: FloatArray, ratio: Ratios) -> Found:
        """The same at the most probable effects, by Newton's steps."""
        pull, inner, products = self.pull, np.eye(len(prior)), np.zeros_like(prior)
        through = self.design @ prior
        for _ in range(30):
            chance = 1 / (1 + np.exp(-np.clip(through @ pull, -40, 40)))
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
        return float(likelihood), np.asarray(pull), products, 1.0, np.pi**2 / 6 + ratio["block"]


def standardized(value: FloatArray) -> tuple[FloatArray, float, float]:
    """Values with mean 0 and variance 1, those beyond the outer fences put there; their mean and deviation."""
    if not len(value):
        return value, 0.0, 1.0
    low, high = np.quantile(value, [0.25, 0.75])
    if high > low:
        value = np.clip(value, low - FENCE * (high - low), high + FENCE * (high - low))
    size, centre, scale = float(np.abs(value).max()) or 1.0, float(value.mean()), float(value.std())
    if scale < TINY * size:
        scale = size if len(value) == 1 else size / 1000
    return (value - centre) / scale, centre, scale
