"""Importance of the parts of a picture: a small map, the boxes of its subjects, and how busy it is elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

CellGrid = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

LONG_SIDE = 112
"""The longer side of the map: sufficient to find a subject, small enough to search thousands of windows."""

SHORTEST = 8
MAX_PARTS, MAX_SUBJECTS = 24, 6

_CENTRE = (0.5, 0.46)  # Heads and spires are above the middle.
_D65 = np.array([0.9505, 1.0, 1.089], np.float32)
_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], np.float32)
_LINEAR = ((np.arange(256) / 255 + 0.055) / 1.055) ** 2.4
_LINEAR = np.where(np.arange(256) <= 10, np.arange(256) / 255 / 12.92, _LINEAR).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in fractions of the picture, with its share of the total importance."""

    left: float
    top: float
    right: float
    bottom: float
    weight: float = 1.0

    @property
    def centre(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def joined(self, other: Box) -> Box:
        """The box around both, with the weight of both."""
        return Box(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
            self.weight + other.weight,
        )


@dataclass(frozen=True, slots=True)
class Analysis:
    """The analysis of a picture, on a grid of at most 112 × 112 cells."""

    importance: CellGrid
    """0 for calm background to 1 for the subject."""
    subject: Mask
    """The cells that belong to a subject."""
    boxes: tuple[Box, ...]
    """The subjects, by descending weight; empty where nothing stands out."""
    across: CellGrid
    """The horizontal change of each cell, which horizontal stretching would distort."""
    down: CellGrid
    """The vertical change of each cell."""
    lab: CellGrid
    """The picture at this size, in CIE Lab."""

    @property
    def whole(self) -> Box | None:
        """The box around all subjects."""
        return reduce(Box.joined, self.boxes) if self.boxes else None

    @property
    def centre(self) -> tuple[float, float]:
        """The centre of all subjects, or of the picture."""
        return self.whole.centre if self.whole else (0.5, 0.5)


def analyse(picture: Image.Image) -> Analysis:
    """The analysis of a picture: importance, subjects and busyness."""
    rgb, alpha = _small(picture, 2 * LONG_SIDE)
    fine = _lab(rgb) * alpha[..., None]
    across, down = _pooled(_changes(fine, 1)), _pooled(_changes(fine, 0))
    lab, alpha = _pooled(fine), _pooled(alpha)
    importance = _importance(lab, alpha, np.hypot(across, down))
    subject, boxes = subjects_of(importance)
    return Analysis(importance, subject, boxes, across, down, lab)


def subjects_of(importance: CellGrid) -> tuple[Mask, tuple[Box, ...]]:
    """The cells that stand out, and the boxes around connected ones."""
    threshold = max(0.25, _otsu(importance))
    labels = _labels(_with_faint_cells(importance, threshold))
    masses = np.bincount(labels.ravel(), weights=importance.ravel())
    masses[0] = 0
    heaviest = [int(label) for label in np.argsort(-masses, kind="stable")[:MAX_PARTS] if masses[label] > 0]
    boxes = _join_stacked([_box_around(labels == label, float(masses[label] / masses.sum())) for label in heaviest])
    main_boxes = [box for box in boxes if box.weight > 0.1 * max(boxes[0].weight, 1e-6)][:MAX_SUBJECTS]
    total = sum(box.weight for box in main_boxes)
    return (labels > 0) & inside(main_boxes, labels.shape), tuple(
        replace(box, weight=box.weight / total) for box in main_boxes
    )


def _join_stacked(boxes: list[Box]) -> list[Box]:
    """The boxes, with those close above one another joined: a roof and its house, a bottle and its base."""
    joined: list[Box] = []
    for box in boxes:
        for at, other in enumerate(joined):
            if _above_or_below(box, other):
                joined[at] = box.joined(other)
                break
        else:
            joined.append(box)
    # Each join may bring others within reach.
    return sorted(joined, key=lambda box: -box.weight) if len(joined) == len(boxes) else _join_stacked(joined)


def inside(boxes: Iterable[Box], shape: tuple[int, ...]) -> Mask:
    """The cells of a grid of this shape that are inside a box."""
    rows, columns = shape
    cells = np.zeros((rows, columns), bool)
    for box in boxes:
        cells[
            round(box.top * rows) : round(box.bottom * rows), round(box.left * columns) : round(box.right * columns)
        ] = True
    return cells


def _above_or_below(one: Box, other: Box) -> bool:
    shared = min(one.right, other.right) - max(one.left, other.left)
    gap = max(one.top, other.top) - min(one.bottom, other.bottom)
    return gap < 0.12 and shared > 0.6 * min(one.right - one.left, other.right - other.left)


def blurred(values: CellGrid, radius: int) -> CellGrid:
    """The mean of each cell's square neighbourhood."""
    reach = max(1, radius)
    padding = ((reach + 1, reach), (reach + 1, reach)) + ((0, 0),) * (values.ndim - 2)
    sums = np.pad(values, padding, mode="edge").cumsum(0, dtype=np.float64).cumsum(1)
    side = 2 * reach + 1
    boxes = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    return _grid(boxes / side**2)


def _grid(values: npt.NDArray[Any]) -> CellGrid:
    return values.astype(np.float32)


def _small(picture: Image.Image, long_side: int) -> tuple[npt.NDArray[np.uint8], CellGrid]:
    """The picture with even sides of at most `long_side`, and its opacity from 0 to 1."""
    shrink = min(1.0, long_side / max(picture.size))
    width, height = (max(SHORTEST, round(extent * shrink / 2)) * 2 for extent in picture.size)
    small = picture.resize((width, height), Image.Resampling.BOX, reducing_gap=1.0)
    if small.mode != "RGBA":
        return np.asarray(small.convert("RGB")), np.ones((height, width), np.float32)
    pixels = np.asarray(small)
    return pixels[..., :3], _grid(pixels[..., 3] / 255)


def _pooled(fine: CellGrid) -> CellGrid:
    """The means of two by two cells."""
    rows = (fine[0::2] + fine[1::2]) / 2
    return np.ascontiguousarray((rows[:, 0::2] + rows[:, 1::2]) / 2)


def _changes(lab: CellGrid, axis: int) -> CellGrid:
    """The difference between each cell and the next along an axis."""
    steps = np.sqrt((np.diff(lab, axis=axis) ** 2).sum(-1))
    return _grid(np.concatenate([steps, steps.take([-1], axis)], axis))


def _importance(lab: CellGrid, alpha: CellGrid, detail: CellGrid) -> CellGrid:
    smooth = blurred(lab, 1)
    # A transparent background shows the subject best.
    layers = np.concatenate([smooth, 80 * alpha[..., None]], -1) if alpha.min() < 0.5 else smooth
    barrier = _relative(_barrier_distance(layers), 6.0)
    raw = 1.1 * barrier + 0.6 * _relative(_border_distance(lab), 2.0) + 0.6 * _relative(_contrast(lab, smooth), 8.0)
    raw += 0.5 * _relative(blurred(detail, 2), 4.0)
    raw = blurred(raw * (0.35 + 0.65 * _prior(*raw.shape)) * alpha, 1)
    # What extends along most of a row, such as waves or a line of trees, is a layer of the landscape.
    raw = np.maximum(raw - 0.6 * np.percentile(raw, 35, axis=1, keepdims=True), 0)
    raw /= max(float(np.percentile(raw, 99.5)), 0.25)
    return _grid(np.minimum(1, 2 * alpha) / (1 + np.exp(-9 * (raw - 0.42))))


def _relative(values: CellGrid, least: float) -> CellGrid:
    """Values scaled so that the maximum is 1; `least` limits the noise of a plain surface."""
    return _grid(np.minimum(values / max(float(np.percentile(values, 99.5)), least), 1))


def _prior(rows: int, columns: int) -> CellGrid:
    x = (np.arange(columns) + 0.5) / columns - _CENTRE[0]
    y = (np.arange(rows) + 0.5) / rows - _CENTRE[1]
    return _grid(np.exp(-((x[None] / 0.42) ** 2) - (y[:, None] / 0.45) ** 2))


def _lab(rgb: npt.NDArray[np.uint8]) -> CellGrid:
    linear = _LINEAR[rgb]
    # einsum, not @: BLAS may split the sum differently on another number of cores.
    xyz = np.einsum("ijk,lk->ijl", linear, _TO_XYZ) / _D65
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = np.moveaxis(f, -1, 0)
    return _grid(np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], -1))


def _contrast(lab: CellGrid, smooth: CellGrid) -> CellGrid:
    """How much each cell differs from its surroundings, near and far."""
    side = min(lab.shape[:2])
    surroundings = (blurred(lab, side // divisor) for divisor in (12, 5, 2))
    return _grid(np.sum([np.sqrt(((smooth - around) ** 2).sum(-1)) for around in surroundings], axis=0))


def _border_distance(lab: CellGrid) -> CellGrid:
    """How unlike the colours along the picture's borders each cell is; the most different border is ignored."""
    depth = max(2, round(0.08 * min(lab.shape[:2])))
    distances = []
    for border in (lab[:depth], lab[-depth:], lab[:, :depth], lab[:, -depth:]):
        colours = border.reshape(-1, 3).astype(np.float64)
        mean = colours.mean(0)
        spread = np.einsum("ij,ik->jk", colours - mean, colours - mean) / len(colours) + 4 * np.eye(3)
        away = lab - mean
        squared = np.einsum("hwi,ij,hwj->hw", away, np.linalg.inv(spread), away)
        distance = np.sqrt(np.maximum(squared, 0))
        distances.append(distance / max(float(distance.max()), 1.0))
    stacked = np.stack(distances)
    return _grid(stacked.sum(0) - stacked.max(0))


def _barrier_distance(layers: CellGrid) -> CellGrid:
    """The smallest colour range of any path to the border: high for regions that the background does not lead to.

    It is approximated by sweeps in four directions, each of which processes a complete line at a time.
    """
    distance = np.full(layers.shape, np.inf, np.float32)
    for edge in (distance[0], distance[-1], distance[:, 0], distance[:, -1]):
        edge[...] = 0
    high, low = layers.copy(), layers.copy()
    for _ in range(3):
        for lines, reached, upper, lower in _directions(layers, distance, high, low):
            for at in range(1, len(lines)):
                top = np.maximum(upper[at - 1], lines[at])
                bottom = np.minimum(lower[at - 1], lines[at])
                barrier = top - bottom
                better = barrier < reached[at]
                np.copyto(reached[at], barrier, where=better)
                np.copyto(upper[at], top, where=better)
                np.copyto(lower[at], bottom, where=better)
    return _grid(distance.sum(-1))


def _directions(*grids: CellGrid) -> Iterator[tuple[CellGrid, ...]]:
    """Yield views of the same grids that run down, up, right and left."""
    yield grids
    yield tuple(grid[::-1] for grid in grids)
    turned = tuple(grid.swapaxes(0, 1) for grid in grids)
    yield turned
    yield tuple(grid[::-1] for grid in turned)


def _with_faint_cells(importance: CellGrid, threshold: float) -> Mask:
    """The cells above the threshold, and the fainter cells that touch them: the white sails of a dark boat."""
    core = importance > threshold
    faint = _labels(importance > 0.4 * threshold)
    grown = np.isin(faint, np.unique(faint[core]))
    # Where the fainter cells are everywhere, they are the background.
    return grown if grown.mean() < max(0.3, 3 * core.mean()) and grown.mean() < 0.6 else core


def _otsu(values: CellGrid) -> float:
    """The threshold that best separates the values into low and high."""
    counts, edges = np.histogram(values, 64, (0, 1))
    share = counts / counts.sum()
    middles = (edges[:-1] + edges[1:]) / 2
    below, moment = share.cumsum(), (share * middles).cumsum()
    between = (moment[-1] * below - moment) ** 2 / (below * (1 - below) + 1e-9)
    return float(middles[between.argmax()])


def _labels(mask: Mask) -> npt.NDArray[np.int64]:
    """A label for each cell: the same for connected cells, 0 outside the mask."""
    numbers = np.arange(1, mask.size + 1).reshape(mask.shape)
    labels = np.where(mask, numbers, 0)
    while True:
        grown = np.pad(labels, 1)
        grown = np.maximum(np.maximum(grown[:-2], grown[1:-1]), grown[2:])
        grown = np.maximum(np.maximum(grown[:, :-2], grown[:, 1:-1]), grown[:, 2:])
        grown = np.where(mask, grown, 0)
        if np.array_equal(grown, labels):
            return labels
        labels = grown


def _box_around(mask: Mask, weight: float) -> Box:
    """The box around the cells, with a margin of one cell: the tip of a wing fills less than a cell."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    height, width = mask.shape
    return Box(
        max(0.0, float(columns[0] - 1) / width),
        max(0.0, float(rows[0] - 1) / height),
        min(1.0, float(columns[-1] + 2) / width),
        min(1.0, float(rows[-1] + 2) / height),
        weight,
    )
