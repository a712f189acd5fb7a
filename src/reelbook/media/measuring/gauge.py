"""A gauge: it sees every frame of one file, one after another, and has a figure at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .measured_frames import Frame, MeasuredFile

Value = float | int | str | None
"""A measured figure; None where a file has no such thing, as a picture has no motion."""


class Gauge(Protocol):
    """What measures one thing of one file."""

    def see(self, frame: Frame, beside: Frame | None) -> None:
        """Take one more frame into account; `beside` is the frame of the reference with the same number."""

    def value(self, film: MeasuredFile) -> Value:
        """The figure, once all frames were seen."""


class Mean:
    """The mean of many figures, in any number and little room."""

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def add(self, figure: float) -> None:
        """Take one more figure into account."""
        self.total, self.count = self.total + figure, self.count + 1

    @property
    def value(self) -> float | None:
        """The mean; None of nothing."""
        return self.total / self.count if self.count else None


class MeanOfFrames:
    """A figure of each frame by itself, averaged over all of them."""

    def __init__(self, figure: Callable[[Frame], float]) -> None:
        self._figure, self._mean = figure, Mean()

    def see(self, frame: Frame, beside: Frame | None) -> None:
        self._mean.add(self._figure(frame))

    def value(self, film: MeasuredFile) -> Value:
        return self._mean.value


class Fact:
    """What is known of the file when it has been read through."""

    def __init__(self, fact: Callable[[MeasuredFile], Value]) -> None:
        self._fact = fact

    def see(self, frame: Frame, beside: Frame | None) -> None:
        """Nothing to look at: that the frame was decoded is all that counts."""

    def value(self, film: MeasuredFile) -> Value:
        return self._fact(film)
