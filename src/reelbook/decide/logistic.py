"""The logistic curve, and the information that judged pairs have about strengths on its scale."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def logistic(value: FloatArray) -> FloatArray:
    """The chance to win of what is stronger by this much.

    >>> logistic(np.array([0.0, 1.0986])).round(2).tolist()
    [0.5, 0.75]
    """
    return np.asarray(0.5 * (1 + np.tanh(0.5 * value)))


def compute_information(left: IntArray, right: IntArray, mean: FloatArray) -> FloatArray:
    """The information matrix of judged pairs, for strengths of this mean: a weighted Laplacian of their graph."""
    count = len(mean)
    chance = logistic(mean[left] - mean[right])
    flat = np.bincount(left * count + right, chance * (1 - chance), count * count).reshape(count, count)
    flat += flat.T
    return np.asarray(np.diag(flat.sum(axis=1)) - flat)
