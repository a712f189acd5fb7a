"""TEMPORARY stand-in until the branch `posterior` is merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Belief:
    """A normal distribution over the settings' values."""

    mean: FloatArray
    covariance: FloatArray
    noise: float

    def chances(self, rng: np.random.Generator, draws: int = 4000) -> FloatArray:
        """The chance of each setting to be the best."""
        found = rng.multivariate_normal(self.mean, self.covariance, draws, method="eigh")
        return np.bincount(found.argmax(axis=1), minlength=len(self.mean)) / draws

    def bounds(self, share: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """The bounds of the intervals."""
        half = 1.645 * np.sqrt(np.diag(self.covariance))
        return self.mean - half, self.mean + half


def learn_values(levels: Any, setting: Any, value: Any, block: Any = None) -> Belief:
    """What values say."""
    n = len(levels)
    value = np.asarray(value, float)
    setting = np.asarray(setting, int)
    centre, scale = value.mean(), value.std() or 1.0
    prior = np.eye(n) * 0.3
    for axis in np.asarray(levels).T:
        prior += 0.5 * (axis[:, None] == axis[None, :])
    y = (value - centre) / scale
    noise = 0.3
    k = prior[np.ix_(setting, setting)] + noise**2 * np.eye(len(y))
    gain = np.linalg.solve(k, prior[setting]).T
    return Belief(centre + scale * gain @ y, scale**2 * (prior - gain @ prior[setting]), scale * noise)


def learn_pairs(
    levels: Any, left: Any, right: Any, share: Any, clip_left: Any = None, clip_right: Any = None
) -> Belief:
    """What judgements say."""
    n = len(levels)
    wins = np.zeros(n)
    for a, b, s in zip(left, right, share, strict=True):
        wins[a] += s - 0.5
        wins[b] -= s - 0.5
    return Belief(wins, np.eye(n) * 0.3, 1.0)


def choose(belief: Belief, rng: np.random.Generator, count: int, *, spent: Any = None, open_: Any = None) -> list[int]:
    """The next settings."""
    found = rng.multivariate_normal(belief.mean, belief.covariance, count, method="eigh")
    if open_ is not None:
        found[:, ~open_] = -np.inf
    return [int(one) for one in found.argmax(axis=1)]
