"""What matters in a picture: a small map of importance, and boxes around its subjects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

Map = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

LONG_SIDE = 112
"""The longer side of the map: sufficient to find a subject, small enough to try thousands of views."""

SHORTEST = 8
MAX_PARTS, MAX_SUBJECTS = 24, 6
STANDS_OUT = 0.2
"""The importance from which cells belong to a subject."""

_CENTRE = (0.5, 0.46)  # Heads and spires are above the middle.
_D65 = np.array([0.9505, 1.0, 1.089], np.float32)
_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], np.float32)
_LINEAR = np.where(
    np.arange(256) <= 10, np.arange(256) / 255 / 12.92, ((np.arange(256) / 255 + 0.055) / 1.055) ** 2.4
).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in fractions of the picture, with its share of the total importance."""

    left: float
    top: float
    right: float
    bottom: float
    weight: float = 1.0

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
class Saliency:
    """What matters in a picture, on a grid of at most 112 × 112 cells."""

    importance: Map
    """0 for calm background to 1 for the subject."""
    busy: Map
    """How much each cell differs from the next ones."""
    boxes: tuple[Box, ...]
    """The subjects, by descending weight; empty where nothing stands out."""

    @property
    def centre(self) -> tuple[float, float]:
        """The centre of all subjects, or of the picture, as shares of its sides."""
        if not self.boxes:
            return 0.5, 0.5
        whole = reduce(Box.joined, self.boxes)
        return (whole.left + whole.right) / 2, (whole.top + whole.bottom) / 2


def saliency_of(picture: Image.Image) -> Saliency:
    """What matters in a picture, judged by its colours and its transparency alone."""
    rgb, alpha = _small(picture)
    fine = _lab(rgb)
    busy = np.hypot(_pooled(_changes(fine, 1)), _pooled(_changes(fine, 0)))
    importance = _importance(_pooled(fine), _pooled(alpha), busy)
    return Saliency(importance, busy, _subjects(importance))


def _small(picture: Image.Image) -> tuple[npt.NDArray[np.uint8], Map]:
    """The picture with even sides of at most twice `LONG_SIDE`, and its opacity from 0 to 1."""
    shrink = min(1.0, 2 * LONG_SIDE / max(picture.size))
    width, height = (max(SHORTEST, round(extent * shrink / 2)) * 2 for extent in picture.size)
    small = picture.resize((width, height), Image.Resampling.BOX, reducing_gap=1.0)
    if small.mode != "RGBA":
        return np.asarray(small.convert("RGB")), np.ones((height, width), np.float32)
    pixels = np.asarray(small)
    return pixels[..., :3], _map(pixels[..., 3] / 255)


def _pooled(fine: Map) -> Map:
    """The means of two by two cells."""
    rows = (fine[0::2] + fine[1::2]) / 2
    return np.ascontiguousarray((rows[:, 0::2] + rows[:, 1::2]) / 2)


def _changes(lab: Map, axis: int) -> Map:
    """The difference between each cell and the next along an axis."""
    steps = np.sqrt((np.diff(lab, axis=axis) ** 2).sum(-1))
    return _map(np.concatenate([steps, steps.take([-1], axis)], axis))


def _lab(rgb: npt.NDArray[np.uint8]) -> Map:
    """The colours in CIE Lab."""
    # einsum, not @: BLAS may split the sum differently on another number of cores.
    xyz = np.einsum("ijk,lk->ijl", _LINEAR[rgb], _TO_XYZ) / _D65
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = np.moveaxis(f, -1, 0)
    return _map(np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], -1))


def _importance(lab: Map, alpha: Map, busy: Map) -> Map:
    smooth = blurred(lab, 1)
    # A transparent background shows the subject best.
    layers = np.concatenate([smooth, 80 * alpha[..., None]], -1) if alpha.min() < 0.5 else smooth
    raw = 1.1 * _relative(_barrier_distance(layers), 6.0)
    raw += 1.2 * _relative(_contrast(lab, smooth), 8.0)
    raw += 0.5 * _relative(blurred(busy, 2), 4.0)
    rows, columns = raw.shape
    x = (np.arange(columns) + 0.5) / columns - _CENTRE[0]
    y = (np.arange(rows) + 0.5) / rows - _CENTRE[1]
    middle = np.exp(-((x[None] / 0.42) ** 2) - (y[:, None] / 0.45) ** 2)
    raw = blurred(_map(raw * (0.35 + 0.65 * middle) * alpha), 1)
    # What extends along most of a row, such as waves or a line of trees, is a layer of the landscape.
    raw = np.maximum(raw - 0.6 * np.percentile(raw, 35, axis=1, keepdims=True), 0)
    raw /= max(float(np.percentile(raw, 99.5)), 0.25)
    return _map(np.minimum(1, 2 * alpha) / (1 + np.exp(-9 * (raw - 0.42))))


def _relative(values: Map, least: float) -> Map:
    """Values scaled so that the maximum is 1; `least` limits the noise of a plain surface."""
    return _map(np.minimum(values / max(float(np.percentile(values, 99.5)), least), 1))


def _contrast(lab: Map, smooth: Map) -> Map:
    """How much each cell differs from its surroundings, near and far."""
    surroundings = (blurred(lab, min(lab.shape[:2]) // divisor) for divisor in (12, 5, 2))
    return _map(np.sum([np.sqrt(((smooth - around) ** 2).sum(-1)) for around in surroundings], axis=0))


def _barrier_distance(layers: Map) -> Map:
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
                better = top - bottom < reached[at]
                np.copyto(reached[at], top - bottom, where=better)
                np.copyto(upper[at], top, where=better)
                np.copyto(lower[at], bottom, where=better)
    return _map(distance.sum(-1))


def _directions(*maps: Map) -> Iterator[tuple[Map, ...]]:
    """Yield views of the same maps that run down, up, right and left."""
    for views in (maps, tuple(each.swapaxes(0, 1) for each in maps)):
        yield views
        yield tuple(each[::-1] for each in views)


def _subjects(importance: Map) -> tuple[Box, ...]:
    """The boxes around the connected cells that stand out."""
    labels = labels_of(importance > STANDS_OUT)
    masses = np.bincount(labels.ravel(), weights=importance.ravel())
    masses[0] = 0
    heaviest = [int(label) for label in np.argsort(-masses, kind="stable")[:MAX_PARTS] if masses[label] > 0]
    boxes = _join_stacked([_box_around(labels == label, float(masses[label] / masses.sum())) for label in heaviest])
    main_boxes = [box for box in boxes if box.weight > 0.1 * boxes[0].weight][:MAX_SUBJECTS]
    total = sum(box.weight for box in main_boxes)
    return tuple(replace(box, weight=box.weight / total) for box in main_boxes)


def labels_of(mask: Mask) -> npt.NDArray[np.int64]:
    """A label for each cell: the same for connected cells, 0 outside the mask."""
    labels = np.where(mask, np.arange(1, mask.size + 1).reshape(mask.shape), 0)
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
    left, top = max(0.0, float(columns[0] - 1) / width), max(0.0, float(rows[0] - 1) / height)
    return Box(left, top, min(1.0, float(columns[-1] + 2) / width), min(1.0, float(rows[-1] + 2) / height), weight)


def _join_stacked(boxes: list[Box]) -> list[Box]:
    """The boxes, with those close above one another joined: a roof and its house, a bottle and its base."""
    joined: list[Box] = []
    for box in boxes:
        for at, other in enumerate(joined):
            shared = min(box.right, other.right) - max(box.left, other.left)
            gap = max(box.top, other.top) - min(box.bottom, other.bottom)
            if gap < 0.12 and shared > 0.6 * min(box.right - box.left, other.right - other.left):
                joined[at] = box.joined(other)
                break
        else:
            joined.append(box)
    # Each join may bring others within reach.
    return sorted(joined, key=lambda box: -box.weight) if len(joined) == len(boxes) else _join_stacked(joined)


def blurred(values: Map, radius: int) -> Map:
    """The mean of each cell's square neighbourhood."""
    reach = max(1, radius)
    padding = ((reach + 1, reach), (reach + 1, reach)) + ((0, 0),) * (values.ndim - 2)
    sums = np.pad(values, padding, mode="edge").cumsum(0, dtype=np.float64).cumsum(1)
    side = 2 * reach + 1
    boxes = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    return _map(boxes / side**2)


def _map(values: npt.NDArray[Any]) -> Map:
    return values.astype(np.float32)
