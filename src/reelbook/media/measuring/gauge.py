"""What all metrics share: the protocol of a gauge, which computes one from the frames of a file, and exact means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from .measured_frames import MeasuredFile, MeasuredFrame, PixelPlane, Pixels

Value = float | int | str | None
"""A measured figure; None if it does not apply, such as the motion of a picture."""
ROWS = 64
"""Number of rows compared at once: few enough for the processor's cache, and for sums of 16 bits."""


class Gauge(Protocol):
    """Computes one metric of one file."""

    def update(self, frame: MeasuredFrame, reference: MeasuredFrame | None) -> None:
        """Add the next frame; `reference` is the reference's frame with the same number."""

    def value(self, film: MeasuredFile) -> Value:
        """The figure, after the last frame."""


class Mean:
    """A running mean."""

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def add(self, figure: float) -> None:
        """Add a figure."""
        self.total, self.count = self.total + figure, self.count + 1

    @property
    def value(self) -> float | None:
        """The mean; None without figures."""
        return self.total / self.count if self.count else None


class MeanOfFrames:
    """The mean of a figure over all frames."""

    def __init__(self, figure: Callable[[MeasuredFrame], float]) -> None:
        self._figure, self._mean = figure, Mean()

    def update(self, frame: MeasuredFrame, reference: MeasuredFrame | None) -> None:
        self._mean.add(self._figure(frame))

    def value(self, film: MeasuredFile) -> Value:
        return self._mean.value


class Fact:
    """A property of the file that is known after decoding it."""

    def __init__(self, fact: Callable[[MeasuredFile], Value]) -> None:
        self._fact = fact

    def update(self, frame: MeasuredFrame, reference: MeasuredFrame | None) -> None:
        """Do nothing: the file's properties are updated while decoding."""

    def value(self, film: MeasuredFile) -> Value:
        return self._fact(film)


def mean(plane: PixelPlane) -> float:
    """The mean of all values.

    >>> mean(np.array([[1, 2], [3, 6]], np.float32))
    3.0
    """
    # Row by row, because a long sum in single precision loses digits.
    return float(np.einsum("ij->i", plane).sum(dtype=np.float64)) / plane.size


def variance(plane: PixelPlane) -> float:
    """The mean squared distance of the values from their mean.

    >>> variance(np.array([[1, 2], [3, 6]], np.float32))
    3.5
    """
    centred = plane - np.float32(mean(plane))
    return float(np.einsum("ij,ij->i", centred, centred).sum(dtype=np.float64)) / plane.size


def mean_difference(one: Pixels, other: Pixels) -> float:
    """The mean absolute difference of two pictures, exactly.

    >>> mean_difference(np.array([[250, 2]], np.uint8), np.array([[0, 4]], np.uint8))
    126.0
    """
    columns = (rows.sum(axis=0, dtype=np.uint16) for rows in _differences(one, other))
    return sum(int(sums.sum(dtype=np.int64)) for sums in columns) / one.size


def mean_square_difference(one: Pixels, other: Pixels) -> float:
    """The mean squared difference of two pictures, exactly.

    >>> mean_square_difference(np.array([[250, 2]], np.uint8), np.array([[0, 4]], np.uint8))
    31252.0
    """
    squares = (np.square(rows, dtype=np.uint16) for rows in _differences(one, other))
    columns = (rows.sum(axis=0, dtype=np.uint32) for rows in squares)
    return sum(int(sums.sum(dtype=np.int64)) for sums in columns) / one.size


def _differences(one: Pixels, other: Pixels) -> Iterator[Pixels]:
    """The absolute differences of two pictures, some rows at a time."""
    for top in range(0, len(one), ROWS):
        some, same = one[top : top + ROWS], other[top : top + ROWS]
        difference = np.maximum(some, same)
        difference -= np.minimum(some, same)
        yield difference
