"""Estimates of depth and saliency of a picture, from its colours alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Map = NDArray[np.float64]

LONG_SIDE = 96
"""Maps this small suffice: the picture is warped smoothly."""

STEEPEST = 5.0
"""Largest gradient of a map, per side of the picture; steeper ones would tear objects on the slope."""


@dataclass(frozen=True, slots=True)
class PictureDepth:
    """Estimated depth and subject of a picture; all maps run from 0 to 1."""

    near: Map
    """1 is nearest."""
    subject: Map
    """1 where the subject of the picture is."""
    centre: tuple[float, float]
    """The centre of the subject, each coordinate from -0.5 to 0.5."""

    def at(self, chart: Map, x: Map, y: Map) -> Map:
        """The values of a map at points of the picture, each coordinate from -0.5 to 0.5."""
        rows, columns = chart.shape
        across = np.clip((x + 0.5) * columns - 0.5, 0, columns - 1)
        down = np.clip((y + 0.5) * rows - 0.5, 0, rows - 1)
        left = np.minimum(across.astype(int), max(columns - 2, 0))
        top = np.minimum(down.astype(int), max(rows - 2, 0))
        right, bottom = np.minimum(left + 1, columns - 1), np.minimum(top + 1, rows - 1)
        u, v = across - left, down - top
        above = chart[top, left] * (1 - u) + chart[top, right] * u
        below = chart[bottom, left] * (1 - u) + chart[bottom, right] * u
        return np.asarray(above * (1 - v) + below * v)


def estimate_scene(picture: Image.Image) -> PictureDepth:
    """The estimated depth and subject of a picture."""
    scale = LONG_SIDE / max(picture.size)
    size = (max(8, round(picture.width * scale)), max(8, round(picture.height * scale)))
    colours = np.asarray(picture.resize(size, Image.Resampling.BOX), dtype=np.float64) / 255
    subject = _importance(_opponent(colours))
    near = _nearness(subject)
    return PictureDepth(_with_limited_slopes(near), _with_limited_slopes(subject), _centre_of(subject))


def _opponent(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lightness and two colour differences, gamma-corrected."""
    red, green, blue = np.moveaxis(np.sqrt(rgb), -1, 0)
    light = 0.3 * red + 0.6 * green + 0.1 * blue
    return np.stack([light, 1.4 * (red - green), 0.8 * ((red + green) / 2 - blue)], axis=-1)


def _importance(colours: NDArray[np.float64]) -> Map:
    """The importance of each point: how hard it is to reach from the border without crossing an edge."""
    smooth = np.stack([_blurred(colours[..., channel], 1) for channel in range(3)], axis=-1)
    apart = (
        _normalised(_barrier(smooth))
        + 0.7 * _normalised(_border_distance(smooth))
        + 0.5 * _normalised(_contrast(colours))
    )
    rows, columns = apart.shape
    y, x = np.ogrid[-1 : 1 : rows * 1j, -1 : 1 : columns * 1j]
    apart = _blurred(apart * (0.35 + 0.65 * np.exp(-((x / 0.85) ** 2) - (y / 0.9) ** 2)), 1)
    level = _normalised(apart - np.percentile(apart, 5))
    # Not normalised by the maximum alone: one bright spot would suppress the rest of the subject.
    level /= max(float(np.percentile(level, 98)), 0.25)
    return np.asarray(1 / (1 + np.exp(-9 * (level - 0.5)))) if level.any() else level


def _barrier(colours: NDArray[np.float64]) -> Map:
    """For each point, the smallest range of colours on a path to the border (minimum barrier distance)."""
    cost = np.full(colours.shape, np.inf)
    cost[0] = cost[-1] = 0
    cost[:, 0] = cost[:, -1] = 0
    high, low = colours.copy(), colours.copy()
    fields = (colours, cost, high, low)
    for _ in range(2):
        for flip in (1, -1):
            _sweep(*(field[::flip] for field in fields))
            _sweep(*(field[:, ::flip].swapaxes(0, 1) for field in fields))
    return np.asarray(cost.sum(axis=-1))


def _sweep(colours: Map, cost: Map, high: Map, low: Map) -> None:
    """Propagate paths from each row to the next, where that is cheaper."""
    for row in range(1, len(colours)):
        top = np.maximum(high[row - 1], colours[row])
        bottom = np.minimum(low[row - 1], colours[row])
        better = top - bottom < cost[row]
        np.copyto(cost[row], top - bottom, where=better)
        np.copyto(high[row], top, where=better)
        np.copyto(low[row], bottom, where=better)


def _border_distance(colours: NDArray[np.float64]) -> Map:
    """How unlike the borders a colour is; the border that differs most, perhaps cut by the subject, is ignored."""
    rows, columns = colours.shape[:2]
    wide = max(2, min(rows, columns) // 12)
    borders = (colours[:wide], colours[-wide:], colours[:, :wide], colours[:, -wide:])
    apart = []
    for border in borders:
        flat = border.reshape(-1, 3)
        spread = flat.std(axis=0) + 0.03
        apart.append(_normalised(np.sqrt((((colours - flat.mean(axis=0)) / spread) ** 2).sum(axis=-1))))
    stack = np.stack(apart)
    return np.asarray(stack.sum(axis=0) - stack.max(axis=0))


def _contrast(colours: NDArray[np.float64]) -> Map:
    """How much a point differs from its wider surroundings."""
    side = min(colours.shape[:2])
    total = np.zeros(colours.shape[:2])
    for channel in np.moveaxis(colours, -1, 0):
        fine = _blurred(channel, 1)
        total += sum(abs(fine - _blurred(channel, max(2, side // part))) for part in (10, 4))
    return total


def _nearness(subject: Map) -> Map:
    """Nearness: the ground becomes nearer downwards, and objects on it are as near as their lowest point."""
    rows = len(subject)
    ground = np.clip(np.linspace(-0.5, 1, rows), 0, 1)[:, None] ** 1.2 * np.ones_like(subject)
    standing = ground.copy()
    hold = np.clip(2 * _blurred(subject, 1) - 0.3, 0, 1)
    for row in range(rows - 2, -1, -1):
        standing[row] += hold[row] * (standing[row + 1] - standing[row])
    return 0.6 * standing + 0.4 * subject


def _centre_of(subject: Map) -> tuple[float, float]:
    """The centre of the subject, clipped away from the border."""
    weight = subject**2
    total = float(weight.sum())
    if total < 1e-6:
        return 0.0, 0.0
    rows, columns = subject.shape
    x = float((weight.sum(axis=0) * (np.arange(columns) + 0.5)).sum()) / total / columns - 0.5
    y = float((weight.sum(axis=1) * (np.arange(rows) + 0.5)).sum()) / total / rows - 0.5
    return max(-0.3, min(0.3, x)), max(-0.3, min(0.3, y))


def _with_limited_slopes(chart: Map) -> Map:
    """The map scaled to 0 to 1, with limited slopes: peaks keep their height and become wider.

    So near objects move as one piece, and only the background around them is warped.
    """
    rows, columns = chart.shape
    for radius in range(1, max(rows, columns)):
        smooth = _dilated(chart, radius + radius // 2)
        for _ in range(3):
            smooth = _blurred(smooth, radius)
        smooth = _normalised(smooth - smooth.min())
        if max(abs(np.diff(smooth, axis=1)).max() * columns, abs(np.diff(smooth, axis=0)).max() * rows) <= STEEPEST:
            return smooth
    return np.zeros_like(chart)


def _dilated(chart: Map, reach: int) -> Map:
    """The highest value within reach of each point, along the rows and the columns."""
    for axis in (0, 1):
        ends = [(0, 0), (0, 0)]
        ends[axis] = (reach, reach)
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(chart, ends, mode="edge"), 2 * reach + 1, axis=axis)
        chart = windows.max(axis=-1)
    return chart


def _normalised(chart: Map) -> Map:
    """The map scaled so that its highest value is 1; a flat map becomes 0."""
    highest = float(chart.max())
    return np.asarray(chart / highest) if highest > 1e-4 else np.zeros_like(chart)


def _blurred(chart: Map, radius: int) -> Map:
    """The mean over a square around each point, with the border extended outwards."""
    for axis in (0, 1):
        reach = min(radius, chart.shape[axis] - 1)
        ends = [(0, 0), (0, 0)]
        ends[axis] = (reach + 1, reach)
        sums = np.cumsum(np.pad(chart, ends, mode="edge"), axis=axis)
        size = 2 * reach + 1
        chart = (np.moveaxis(sums, axis, 0)[size:] - np.moveaxis(sums, axis, 0)[:-size]) / size
        chart = np.moveaxis(chart, 0, axis)
    return chart
