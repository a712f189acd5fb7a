"""What matters in a picture: a small map of importance, and a box around its subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

Map = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Box = tuple[float, float, float, float]

LONG_SIDE, SHORTEST = 144, 8
"""The longer side of the map: sufficient to find a subject, small enough to try thousands of views; and the least."""

STANDS_OUT = 0.2
"""The importance from which cells belong to a subject."""

_CENTRE = (0.5, 0.46)  # Heads and spires are above the middle.
_AS_SEEN = np.array([0.4, 1.0, 1.0], np.float32)
"""What a step of luma and of each chroma counts, so that a clear difference of colours is about 10."""


@dataclass(frozen=True, slots=True)
class Saliency:
    """What matters in a picture, on a grid of at most 144 × 144 cells."""

    importance: Map
    """0 for calm background to 1 for the subject."""
    box: Box | None
    """The subject's left, top, right and bottom, as shares of the picture's sides; None where nothing stands out."""

    @property
    def centre(self) -> tuple[float, float]:
        """The centre of the subject, or of the picture, as shares of its sides."""
        left, top, right, bottom = self.box or (0, 0, 1, 1)
        return (left + right) / 2, (top + bottom) / 2


def saliency_of(picture: Image.Image) -> Saliency:
    """What matters in a picture, judged by its colours and its transparency alone."""
    shrink = min(1.0, LONG_SIDE / max(picture.size))
    width, height = (max(SHORTEST, round(extent * shrink)) for extent in picture.size)
    small = picture.resize((width, height), Image.Resampling.BOX, reducing_gap=1.0)
    colours = np.asarray(small.convert("RGB").convert("YCbCr"), np.float32) * _AS_SEEN
    alpha = np.asarray(small.getchannel("A") if small.mode == "RGBA" else np.full((height, width), 255)) / 255
    importance = _importance(colours, _map(alpha))
    return Saliency(importance, _box_of(importance))


def _importance(colours: Map, alpha: Map) -> Map:
    smooth = blurred(colours, 1)
    rows, columns = alpha.shape
    # A transparent background shows the subject best.
    layers = np.concatenate([smooth, 80 * alpha[..., None]], -1) if alpha.min() < 0.5 else smooth
    raw = 1.1 * _relative(_distance_from_border(layers), 6.0)
    around = (blurred(colours, min(rows, columns) // divisor) for divisor in (12, 5, 2))
    raw += 1.2 * _relative(sum(np.linalg.norm(smooth - mean, axis=-1) for mean in around), 8.0)
    steps = np.sqrt(sum(np.square(np.gradient(colours, axis=axis)).sum(-1) for axis in (0, 1)))
    raw += 0.5 * _relative(blurred(steps, 2), 4.0)
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


def _box_of(importance: Map) -> Box | None:
    """The box around what stands out, without specks."""
    mask = importance > STANDS_OUT
    labels = labels_of(mask)
    masses = np.bincount(labels.ravel(), weights=importance.ravel())
    masses[0] = 0
    subject = mask & (masses > 0.25 * masses.max())[labels]
    if not subject.any():
        return None
    # With a margin of two cells: the tip of a wing fills less than one.
    rows, columns = np.flatnonzero(subject.any(1)), np.flatnonzero(subject.any(0))
    (height, width), right, bottom = subject.shape, float(columns[-1] + 3), float(rows[-1] + 3)
    left, top = max(0.0, float(columns[0] - 2)), max(0.0, float(rows[0] - 2))
    return left / width, top / height, min(1.0, right / width), min(1.0, bottom / height)


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
