"""The formulas of the metrics: of one frame, of neighbouring frames, and of a frame and its reference."""

from __future__ import annotations

import math

import numpy as np

from .measured_frames import MeasuredFrame, Moment, PixelPlane, Pixels

LEVELS = 255.0
WINDOW = 8
"""The side of a window of SSIM. A window starts at every fourth pixel."""


def sharpness(frame: MeasuredFrame) -> float:
    """The variance of the Laplacian of the luma (Pech-Pacheco et al., ICPR 2000)."""
    luma = frame.luma
    laplacian = luma[:-2, 1:-1] + luma[2:, 1:-1] + luma[1:-1, :-2] + luma[1:-1, 2:] - 4 * luma[1:-1, 1:-1]
    return _variance(laplacian)


def brightness(frame: MeasuredFrame) -> float:
    """The mean of the luma: 0 is black, 255 is white."""
    return _mean(frame.luma)


def contrast(frame: MeasuredFrame) -> float:
    """The standard deviation of the luma within the frame, known as RMS contrast (Peli, JOSA A 7, 1990)."""
    return math.sqrt(_variance(frame.luma))


def colourfulness(frame: MeasuredFrame) -> float:
    """How colourful the frame looks: 0 is grey, beyond 80 is very colourful (Hasler and Süsstrunk, SPIE 5007, 2003)."""
    red, green, blue = frame.small
    rg, yb = red - green, np.float32(0.5) * (red + green) - blue
    return math.sqrt(_variance(rg) + _variance(yb)) + 0.3 * math.hypot(_mean(rg), _mean(yb))


def change(moment: Moment) -> float | None:
    """The mean absolute difference of the luma of this frame and the last; None for the first frame."""
    return None if moment.last is None else _mean(np.abs(moment.frame.luma - moment.last.luma))


def flicker(moment: Moment) -> float | None:
    """The mean absolute difference of this frame and the last over all pixels and colours at full size."""
    return None if moment.last is None else mean_difference(moment.frame.whole, moment.last.whole)


def likeness(moment: Moment) -> float | None:
    """The structural similarity to the reference, in luma at the reference's common size."""
    if moment.reference is None:
        return None
    return similarity(moment.frame.at(moment.reference.size).luma, moment.reference.luma)


def squared_error(moment: Moment) -> float | None:
    """The mean squared difference from the reference, over all pixels and colours at the reference's full size."""
    if moment.reference is None:
        return None
    return mean_square_difference(moment.frame.at(moment.reference.size).whole, moment.reference.whole)


def similarity(one: PixelPlane, other: PixelPlane) -> float:
    """The structural similarity (SSIM) of two pictures of one size: 1 is equal, 0 is unrelated.

    The mean over windows of 8 × 8, all pixels of equal weight, at every fourth pixel; variances are those of a sample
    (Wang, Bovik, Sheikh and Simoncelli, IEEE Trans. Image Processing 13, 2004).
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


def _windows(values: PixelPlane) -> PixelPlane:
    """The sum over every window."""
    # Slices, because summing along such short axes is slow. Both sides of the common size are multiples of 4.
    tall = values[0::4] + values[1::4] + values[2::4] + values[3::4]
    cells = tall[:, 0::4] + tall[:, 1::4] + tall[:, 2::4] + tall[:, 3::4]
    rows = cells[:-1] + cells[1:]
    windows: PixelPlane = rows[:, :-1] + rows[:, 1:]
    return windows


def mean_difference(one: Pixels, other: Pixels) -> float:
    """The mean absolute difference of two pictures, exactly.

    >>> mean_difference(np.array([[250, 2]], np.uint8), np.array([[0, 4]], np.uint8))
    126.0
    """
    return float((np.maximum(one, other) - np.minimum(one, other)).mean())


def mean_square_difference(one: Pixels, other: Pixels) -> float:
    """The mean squared difference of two pictures, exactly.

    >>> mean_square_difference(np.array([[250, 2]], np.uint8), np.array([[0, 4]], np.uint8))
    31252.0
    """
    return float(np.square(np.maximum(one, other) - np.minimum(one, other), dtype=np.uint16).mean())


def _mean(plane: PixelPlane) -> float:
    return float(plane.mean(dtype=np.float64))


def _variance(plane: PixelPlane) -> float:
    return float(plane.var(dtype=np.float64))
