"""The protocol of a gauge, which computes one metric from the frames of one file, and gauges of general use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .measured_frames import MeasuredFile, MeasuredFrame

Value = float | int | str | None
"""A measured figure; None if it does not apply, such as the motion of a picture."""


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
