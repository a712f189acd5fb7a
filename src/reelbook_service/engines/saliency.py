"""What matters in a picture: a small map of importance, and boxes around its subjects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

Map = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

LONG_SIDE, SHORTEST = 112, 8
"""The longer side of the map: sufficient to find a subject, small enough to try thousands of views; and the least."""

MAX_SUBJECTS = 6
STANDS_OUT = 0.2
"""The importance from which cells belong to a subject."""

_CENTRE = (0.5, 0.46)  # Heads and spires are above the middle.
_AS_SEEN = np.array([0.4, 1.0, 1.0], np.float32)
"""What a step of luma and of each chroma counts, so that a clear difference of colours is about 10."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in fractions of the picture, with its share of the total importance."""

    left: float
    top: float
    right: float
    bottom: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Saliency:
    """What matters in a picture, on a grid of at most 112 × 112 cells."""

    importance: Map
    """0 for calm background to 1 for the subject."""
    boxes: tuple[Box, ...]
    """The subjects, by descending weight; empty where nothing stands out."""

    @property
    def centre(self) -> tuple[float, float]:
        """The centre of all subjects, or of the picture, as shares of its sides."""
        edges = np.array([(box.left, box.top, box.right, box.bottom) for box in self.boxes or (Box(0, 0, 1, 1),)])
        (left, top), (right, bottom) = edges[:, :2].min(0), edges[:, 2:].max(0)
        return float(left + right) / 2, float(top + bottom) / 2


def saliency_of(picture: Image.Image) -> Saliency:
    """What matters in a picture, judged by its colours and its transparency alone."""
    shrink = min(1.0, 2 * LONG_SIDE / max(picture.size))
    width, height = (max(SHORTEST, round(extent * shrink / 2)) * 2 for extent in picture.size)
    small = picture.resize((width, height), Image.Resampling.BOX, reducing_gap=1.0)
    fine = np.asarray(small.convert("RGB").convert("YCbCr"), np.float32) * _AS_SEEN
    busy = np.sqrt(sum(_pooled(_change(fine, axis)) ** 2 for axis in (0, 1)))
    alpha = _pooled(np.asarray(small.getchannel("A") if small.mode == "RGBA" else np.full((height, width), 255)) / 255)
    importance = _importance(_pooled(fine), alpha, busy)
    return Saliency(importance, _subjects(importance))


def _pooled(fine: npt.NDArray[Any]) -> Map:
    """The means of two by two cells."""
    return _map((fine[0::2, 0::2] + fine[1::2, 0::2] + fine[0::2, 1::2] + fine[1::2, 1::2]) / 4)


def _change(colours: Map, axis: int) -> Map:
    """The difference between each cell and the next along an axis."""
    steps = np.linalg.norm(np.diff(colours, axis=axis), axis=-1)
    return np.concatenate([steps, steps.take([-1], axis)], axis)


def _importance(colours: Map, alpha: Map, busy: Map) -> Map:
    smooth = blurred(colours, 1)
    rows, columns = alpha.shape
    # A transparent background shows the subject best.
    layers = np.concatenate([smooth, 80 * alpha[..., None]], -1) if alpha.min() < 0.5 else smooth
    raw = 1.1 * _relative(_distance_from_border(layers), 6.0)
    around = (blurred(colours, min(rows, columns) // divisor) for divisor in (12, 5, 2))
    raw += 1.2 * _relative(sum(np.linalg.norm(smooth - mean, axis=-1) for mean in around), 8.0)
    raw += 0.5 * _relative(blurred(busy, 2), 4.0)
    x = (np.arange(columns) + 0.5) / columns - _CENTRE[0]
    y = (np.arange(rows) + 0.5) / rows - _CENTRE[1]
    middle = np.exp(-((x[None] / 0.42) ** 2) - (y[:, None] / 0.45) ** 2)
    raw = blurred(_map(raw * (0.35 + 0.65 * middle) * alpha), 1)
    # What extends along most of a row, such as waves or a line of trees, is a layer of the landscape.
    raw = np.maximum(raw - 0.6 * np.percentile(raw, 35, axis=1, keepdims=True), 0)
    raw /= max(float(np.percentile(raw, 99.5)), 0.25)
    return _map(np.minimum(1, 2 * alpha) / (1 + np.exp(-9 * (raw - 0.42))))


def _relative(values: npt.NDArray[Any], least: float) -> Map:
    """Values scaled so that the maximum is 1; `least` limits the noise of a plain surface."""
    return _map(np.minimum(values / max(float(np.percentile(values, 99.5)), least), 1))


def _distance_from_border(layers: Map) -> Map:
    """How far each cell's colours are from the nearest ones of the picture's border: the background leads out of it."""
    edges = np.concatenate([layers[0], layers[-1], layers[:, 0], layers[:, -1]])
    distance = np.full(layers.shape[:2], np.inf, np.float32)
    for sample in edges[:: max(1, len(edges) // 40)]:
        distance = np.minimum(distance, np.abs(layers - sample).sum(-1))
    return distance


def _subjects(importance: Map) -> tuple[Box, ...]:
    """The boxes around the connected cells that stand out."""
    mask = importance > STANDS_OUT
    # What is close above another belongs to it: a roof and its house, a bottle and its base.
    reach = len(mask) // 16
    columns = np.pad(mask, ((reach, reach), (0, 0)))
    joined = np.logical_or.reduce([columns[down : down + len(mask)] for down in range(2 * reach + 1)])
    labels = labels_of(joined) * mask
    masses = np.bincount(labels.ravel(), weights=importance.ravel())
    masses[0] = 0
    heaviest = np.argsort(-masses, kind="stable")[:MAX_SUBJECTS]
    main = [label for label in heaviest if masses[label] > 0.25 * masses.max()]
    total = sum(float(masses[label]) for label in main)
    return tuple(_box_around(labels == label, float(masses[label]) / total) for label in main)


def labels_of(mask: Mask) -> npt.NDArray[np.int64]:
    """A label for each cell: the same for connected cells, 0 outside the mask."""
    labels = np.where(mask, np.arange(1, mask.size + 1).reshape(mask.shape), 0)
    while True:
        grown = np.pad(labels, 1)
        grown = np.maximum(np.maximum(grown[:-2], grown[1:-1]), grown[2:])
        grown = np.where(mask, np.maximum(np.maximum(grown[:, :-2], grown[:, 1:-1]), grown[:, 2:]), 0)
        if np.array_equal(grown, labels):
            return labels
        labels = grown


def _box_around(mask: Mask, weight: float) -> Box:
    """The box around the cells, with a margin of one cell: the tip of a wing fills less than a cell."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    height, width = mask.shape
    left, top = max(0.0, float(columns[0] - 1) / width), max(0.0, float(rows[0] - 1) / height)
    return Box(left, top, min(1.0, float(columns[-1] + 2) / width), min(1.0, float(rows[-1] + 2) / height), weight)


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
