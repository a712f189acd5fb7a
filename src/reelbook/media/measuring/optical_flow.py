"""Dense optical flow between two pictures."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .measured_frames import Plane

SMALLEST = 9
"""Minimum side of a level of the pyramid."""
REACH = 4
"""Radius of a window in pixels: it is nine wide."""
ROUNDS = 3
"""Number of iterations per level."""
MAX = 1.0
"""The largest correction in one iteration, in pixels of its level; beyond it the gradient is no longer valid."""
FIRM = np.float32(1.0)
"""Regularisation: with this much texture, a window's flow has half its weight."""


def flow(before: Plane, after: Plane) -> tuple[Plane, Plane]:
    """The displacement of every pixel to the right and down, in pixels.

    Pyramidal Lucas–Kanade with square windows: on each level, from coarse to fine, the displacement d of a window is
    corrected by the solution δ of (Σ ∇I ∇Iᵀ + ε) δ = Σ ∇I · (I₁ − I₂(x + d)). Points displaced out of the picture are
    ignored: the border pixels sampled in their place would pull the flow outwards without limit. Areas without texture
    count as still, because their flow comes only from the surroundings at coarser levels. Literature: Lucas and
    Kanade, "An iterative image registration technique", IJCAI 1981; Bouguet, "Pyramidal implementation of the Lucas
    Kanade feature tracker", Intel, 2000.
    """
    levels = list(zip(_pyramid(before), _pyramid(after), strict=True))
    first, second = levels.pop()
    right, down = _refined(first, second, np.zeros_like(first), np.zeros_like(first))
    for first, second in reversed(levels):
        right, down = _refined(first, second, _doubled(right, first.shape), _doubled(down, first.shape))
    weight = _texture(first)
    return weight * right, weight * down


def mean_length(right: Plane, down: Plane) -> float:
    """The mean length of a flow, over the pixels that stay in the picture; 0 if none do."""
    lengths = np.hypot(right, down)[_stays(right, down)]
    return float(lengths.mean()) if lengths.size else 0.0


def halve(picture: Plane) -> Plane:
    """The picture at half size: each pixel is the mean of four."""
    height, width = (side // 2 * 2 for side in picture.shape)
    rows = picture[0:height:2, :width] + picture[1:height:2, :width]
    quarter: Plane = np.float32(0.25) * (rows[:, 0::2] + rows[:, 1::2])
    return quarter


def _pyramid(picture: Plane) -> list[Plane]:
    levels = [_smoothed(picture)]
    while min(levels[-1].shape) >= 2 * SMALLEST:
        levels.append(_smoothed(halve(levels[-1])))
    return levels


def _smoothed(picture: Plane) -> Plane:
    """The picture with its finest grain smoothed, whose gradient does not extend to the next pixel."""
    wide = _widened(_widened(picture, 1, 0), 1, 1)
    rows = wide[:-2] + 2 * wide[1:-1] + wide[2:]
    smooth: Plane = np.float32(1 / 16) * (rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:])
    return smooth


def _doubled(displacement: Plane, shape: tuple[int, ...]) -> Plane:
    """The displacements of a level as the initial guess for the next finer one."""
    height, width = shape
    fine = 2 * displacement.repeat(2, axis=0).repeat(2, axis=1)
    # A side with an odd number of pixels is one longer than twice its half.
    return _widened(_widened(fine, 1, 0), 1, 1)[1 : height + 1, 1 : width + 1]


def _refined(first: Plane, second: Plane, right: Plane, down: Plane) -> tuple[Plane, Plane]:
    """The displacements of one level, from an initial guess."""
    slope_down, slope_right = np.gradient(first)
    slopes = np.stack([slope_right, slope_down]) * _stays(right, down)
    across, along, mixed = _windowed(np.stack([slopes[0] ** 2, slopes[1] ** 2, slopes[0] * slopes[1]]))
    across, along = across + FIRM, along + FIRM
    determinant = across * along - mixed * mixed
    for _ in range(ROUNDS):
        error = (first - _sampled(second, right, down)) * _stays(right, down)
        pull_right, pull_down = _windowed(slopes * error)
        right = right + np.clip((along * pull_right - mixed * pull_down) / determinant, -MAX, MAX)
        down = down + np.clip((across * pull_down - mixed * pull_right) / determinant, -MAX, MAX)
    return right, down


def _texture(picture: Plane) -> Plane:
    """How reliable the flow is at each pixel: 0 in flat areas, 1 with much texture."""
    slope_down, slope_right = np.gradient(picture)
    (slopes,) = _windowed(np.stack([slope_right * slope_right + slope_down * slope_down]))
    share: Plane = slopes / (slopes + FIRM)
    return share


def _windowed(planes: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean over the window around each pixel, of several planes at once."""
    for axis in (1, 2):
        # Sums of two, four, eight and nine neighbours: four additions instead of eight.
        one = np.swapaxes(_widened(planes, REACH, axis), 1, axis)
        two = one[:, :-1] + one[:, 1:]
        four = two[:, :-2] + two[:, 2:]
        nine = four[:, :-5] + four[:, 4:-1] + one[:, 8:]
        planes = np.swapaxes(nine, 1, axis)
    return planes * np.float32(1 / 81)


def _widened(planes: NDArray[np.float32], by: int, axis: int) -> NDArray[np.float32]:
    """The planes with their edges repeated `by` times along one axis."""
    # Not np.pad, which for pictures this small takes longer than all the rest.
    return planes.take(_widened_places(planes.shape[axis], by), axis)


@lru_cache(maxsize=64)
def _widened_places(side: int, by: int) -> NDArray[np.intp]:
    return np.arange(-by, side + by).clip(0, side - 1)


def _stays(right: Plane, down: Plane) -> NDArray[np.bool_]:
    """Whether each pixel is still in the picture after its displacement."""
    height, width = right.shape
    rows, columns = _places(right)
    x, y = columns + right, rows + down
    stays: NDArray[np.bool_] = (x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1)
    return stays


def _places(picture: Plane) -> tuple[Plane, Plane]:
    """The row numbers as a column, and the column numbers as a row."""
    height, width = picture.shape
    return np.arange(height, dtype=np.float32)[:, None], np.arange(width, dtype=np.float32)[None, :]


def _sampled(picture: Plane, right: Plane, down: Plane) -> Plane:
    """The picture's values at displaced points, by bilinear interpolation."""
    height, width = picture.shape
    rows, columns = _places(picture)
    x, y = np.clip(columns + right, 0, width - 1), np.clip(rows + down, 0, height - 1)
    # The last pixel has no neighbour: it is interpolated as the neighbour of the one before it.
    left, top = np.minimum(x.astype(np.intp), width - 2), np.minimum(y.astype(np.intp), height - 2)
    x, y = x - left.astype(np.float32), y - top.astype(np.float32)
    place, flat = top * width + left, picture.ravel()
    upper, lower = flat[place], flat[place + width]
    upper = upper + x * (flat[place + 1] - upper)
    lower = lower + x * (flat[place + width + 1] - lower)
    sampled: Plane = upper + y * (lower - upper)
    return sampled
