"""Similarity of a film's first and last frame, and of a film and its reference."""

from __future__ import annotations

import math

import numpy as np

from .gauge import Mean, Value, mean_square_difference
from .measured_frames import MeasuredFile, MeasuredFrame, PixelPlane

LEVELS = 255.0
WINDOW = 8
"""The side of a window. A window starts at every fourth pixel."""


def similarity(one: PixelPlane, other: PixelPlane) -> float:
    """The structural similarity (SSIM) of two pictures of one size: 1 is equal, 0 is unrelated.

    The mean over windows of (2·μa·μb + C₁)(2·σab + C₂) / ((μa² + μb² + C₁)(σa² + σb² + C₂)), with C₁ = (0.01·255)² and
    C₂ = (0.03·255)². Windows are 8 × 8, all pixels of equal weight, at every fourth pixel, and variances are those of
    a sample. Literature: Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: From error visibility to
    structural similarity", IEEE Trans. Image Processing 13, 2004.
    """
    # Centred on middle grey: squares of small numbers lose fewer digits.
    grey = np.float32(128)
    a, b = one - grey, other - grey
    count = WINDOW**2
    mean_a, mean_b = _windows(a) / count, _windows(b) / count
    sample = count / (count - 1)
    variance_a = sample * (_windows(a * a) / count - mean_a * mean_a)
    variance_b = sample * (_windows(b * b) / count - mean_b * mean_b)
    covariance = sample * (_windows(a * b) / count - mean_a * mean_b)
    mean_a, mean_b = mean_a + grey, mean_b + grey
    c1, c2 = (0.01 * LEVELS) ** 2, (0.03 * LEVELS) ** 2
    above = (2 * mean_a * mean_b + c1) * (2 * covariance + c2)
    below = (mean_a * mean_a + mean_b * mean_b + c1) * (variance_a + variance_b + c2)
    return float((above / below).mean())


class LoopClosure:
    """How well the film loops: the structural similarity of the last and the first frame.

    In luma at the common size; 1 is the same picture. None for a single frame.
    """

    def __init__(self) -> None:
        self._first: PixelPlane | None = None
        self._last: PixelPlane | None = None

    def update(self, frame: MeasuredFrame, reference: MeasuredFrame | None) -> None:
        if self._first is None:
            self._first = frame.luma
        else:
            # Compared only once, at the end.
            self._last = frame.luma

    def value(self, film: MeasuredFile) -> Value:
        return None if self._first is None or self._last is None else similarity(self._first, self._last)


class Ssim:
    """The structural similarity to the reference: the mean over frames, in luma at the reference's common size.

    Frames are compared by number; the rest of the longer film is ignored. A frame of another aspect ratio is
    stretched to that of the reference. See `similarity` for the formula.
    """

    def __init__(self) -> None:
        self._mean = Mean()

    def update(self, frame: MeasuredFrame, reference: MeasuredFrame | None) -> None:
        if reference is not None:
            self._mean.add(similarity(frame.at(reference.scale).luma, reference.luma))

    def value(self, film: MeasuredFile) -> Value:
        return self._mean.value


class Psnr:
    """The peak signal-to-noise ratio to the reference in decibels: 10·log₁₀(255² / MSE), infinite where all is equal.

    MSE is the mean squared difference over all frames, pixels and colours, at the reference's full size. Frames are
    compared by number; the rest of the longer film is ignored. A frame of another size is scaled to that of the
    reference.
    """

    def __init__(self) -> None:
        self._mean = Mean()

    def update(self, frame: MeasuredFrame, reference: MeasuredFrame | None) -> None:
        if reference is not None:
            self._mean.add(mean_square_difference(frame.at(reference.scale).whole, reference.whole))

    def value(self, film: MeasuredFile) -> Value:
        error = self._mean.value
        if error is None:
            return None
        return 10 * math.log10(LEVELS**2 / error) if error else math.inf


def _windows(values: PixelPlane) -> PixelPlane:
    """The sum over every window."""
    # Slices, because summing along such short axes is slow. Both sides of the common size are multiples of 4.
    tall = values[0::4] + values[1::4] + values[2::4] + values[3::4]
    cells = tall[:, 0::4] + tall[:, 1::4] + tall[:, 2::4] + tall[:, 3::4]
    rows = cells[:-1] + cells[1:]
    windows: PixelPlane = rows[:, :-1] + rows[:, 1:]
    return windows
