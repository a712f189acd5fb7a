"""The formulas of the metrics: of one frame, of neighbouring frames, of a frame and its reference, and of a file."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .measured_frames import MeasuredFile, Moment, PixelPlane, Pixels

LEVELS = 255.0
WINDOW = 8
"""The side of a window of SSIM. A window starts at every fourth pixel."""


Value = float | int | str | None
"""A measured figure; None if it does not apply, such as the motion of a picture."""


def sharpness(moment: Moment) -> float:
    """The variance of the Laplacian of the luma (Pech-Pacheco et al., ICPR 2000)."""
    luma = moment.frame.luma
    laplacian = luma[:-2, 1:-1] + luma[2:, 1:-1] + luma[1:-1, :-2] + luma[1:-1, 2:] - 4 * luma[1:-1, 1:-1]
    return _variance(laplacian)


def brightness(moment: Moment) -> float:
    """The mean of the luma: 0 is black, 255 is white."""
    return _mean(moment.frame.luma)


def contrast(moment: Moment) -> float:
    """The standard deviation of the luma within the frame, known as RMS contrast (Peli, JOSA A 7, 1990)."""
    return math.sqrt(_variance(moment.frame.luma))


def colourfulness(moment: Moment) -> float:
    """How colourful the frame looks: 0 is grey, beyond 80 is very colourful (Hasler and Süsstrunk, SPIE 5007, 2003)."""
    red, green, blue = moment.frame.small
    rg, yb = red - green, np.float32(0.5) * (red + green) - blue
    return math.sqrt(_variance(rg) + _variance(yb)) + 0.3 * math.hypot(_mean(rg), _mean(yb))


def change(moment: Moment) -> float | None:
    """The mean absolute difference of the luma of this frame and the last; None for the first frame."""
    return None if moment.last is None else _mean(np.abs(moment.frame.luma - moment.last.luma))


def flicker(moment: Moment) -> float | None:
    """The mean absolute difference of this frame and the last over all pixels and colours at full size."""
    return None if moment.last is None else float(_difference(moment.frame.whole, moment.last.whole).mean())


def likeness(moment: Moment) -> float | None:
    """The structural similarity to the reference, in luma at the reference's common size."""
    if moment.reference is None:
        return None
    return similarity(moment.frame.at(moment.reference.size).luma, moment.reference.luma)


def squared_error(moment: Moment) -> float | None:
    """The mean squared difference from the reference, over all pixels and colours at the reference's full size."""
    if moment.reference is None:
        return None
    difference = _difference(moment.frame.at(moment.reference.size).whole, moment.reference.whole)
    return float(np.square(difference, dtype=np.uint16).mean())


def find_mean(values: Sequence[float], film: MeasuredFile) -> float | None:
    """The mean of a figure over the frames."""
    return sum(values) / len(values) if values else None


def find_pace(values: Sequence[float], film: MeasuredFile) -> float | None:
    """The mean change times the frame rate: a scene that moves steadily has the same figure at 12 and at 24 frames per second."""
    mean = find_mean(values, film)
    return None if mean is None or film.rate is None else mean * film.rate


def find_steadiness(values: Sequence[float], film: MeasuredFile) -> float | None:
    """(255 - MAE) / 255, as VBench's temporal_flickering, but of any scene, so that motion counts as flicker (CVPR 2024)."""
    error = find_mean(values, film)
    return None if error is None else (LEVELS - error) / LEVELS


def find_ratio(values: Sequence[float], film: MeasuredFile) -> float | None:
    """The peak signal-to-noise ratio of all frames together; infinite where all is equal."""
    error = find_mean(values, film)
    if error is None:
        return None
    return 10 * math.log10(LEVELS**2 / error) if error else math.inf


def compare_ends(film: MeasuredFile) -> float | None:
    """The structural similarity of the last and the first frame."""
    if film.first is None or film.last is None or film.frames < 2:
        return None
    return similarity(film.first.luma, film.last.luma)


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


def _difference(one: Pixels, other: Pixels) -> Pixels:
    """The absolute difference of two pictures, which bytes can hold."""
    difference: Pixels = np.maximum(one, other) - np.minimum(one, other)
    return difference


def _mean(plane: PixelPlane) -> float:
    return float(plane.mean(dtype=np.float64))


def _variance(plane: PixelPlane) -> float:
    return float(plane.var(dtype=np.float64))
