"""Metrics of a single frame: sharpness, brightness, contrast and colourfulness."""

from __future__ import annotations

import math

from .measured_frames import MeasuredFrame
from .pixel_statistics import mean, variance


def sharpness(frame: MeasuredFrame) -> float:
    """The variance of the Laplacian of the luma, at the common size.

    With L(x, y) = Y(x−1, y) + Y(x+1, y) + Y(x, y−1) + Y(x, y+1) − 4·Y(x, y), the figure is Var(L). Edges and fine
    texture raise it, blur lowers it; noise raises it too. Literature: Pech-Pacheco et al., "Diatom autofocusing in
    brightfield microscopy", ICPR 2000.
    """
    width = frame.luma.shape[1]
    # Flat, which is twice as fast as by rows and columns; neighbours across the ends of rows are cut off.
    luma = frame.luma.ravel()
    laplacian = luma[: -2 * width] + luma[2 * width :]
    laplacian += luma[width - 1 : -width - 1]
    laplacian += luma[width + 1 : luma.size - width + 1]
    laplacian -= 4 * luma[width:-width]
    return variance(laplacian.reshape(-1, width)[:, 1:-1])


def brightness(frame: MeasuredFrame) -> float:
    """The mean of the luma: 0 is black, 255 is white."""
    return mean(frame.luma)


def contrast(frame: MeasuredFrame) -> float:
    """The standard deviation of the luma within the frame, known as RMS contrast.

    Literature: Peli, "Contrast in complex images", JOSA A 7, 1990.
    """
    return math.sqrt(variance(frame.luma))


def colourfulness(frame: MeasuredFrame) -> float:
    """How colourful the frame looks: 0 is grey, beyond 80 is very colourful.

    With rg = R − G and yb = (R + G)/2 − B, the figure is √(σ²rg + σ²yb) + 0.3·√(μ²rg + μ²yb). Literature: Hasler and
    Süsstrunk, "Measuring colourfulness in natural images", Proc. SPIE 5007, 2003.
    """
    red, green, blue = frame.small
    rg = red - green
    yb = red + green
    yb *= 0.5
    yb -= blue
    return math.sqrt(variance(rg) + variance(yb)) + 0.3 * math.hypot(mean(rg), mean(yb))
