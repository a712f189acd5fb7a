"""Metrics of a single frame: sharpness, brightness, contrast, colourfulness, and a perceptual hash."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .gauge import Value, mean, variance
from .measured_frames import MeasuredFile, MeasuredFrame, PixelPlane, Pixels

SIDE, LOW = 32, 8
NOTHING = 0.05
"""Coefficients below this are rounding errors."""


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


class PerceptualHash:
    """The perceptual hash of the middle frame: 64 bits as 16 hexadecimal digits.

    Each bit states whether one of the 64 lowest coefficients of a cosine transform (DCT-II) of the luma at 32 × 32
    exceeds their median. Similar pictures differ in few bits, unrelated ones in about 32. Literature: Zauner,
    "Implementation and benchmarking of perceptual image hash functions", 2010.
    """

    def __init__(self) -> None:
        # The middle frame is known only at the end; until then a kilobyte of each is stored.
        self._seen: list[Pixels] = []

    def update(self, frame: MeasuredFrame, reference: MeasuredFrame | None) -> None:
        self._seen.append(thumbnail(frame.luma))

    def value(self, film: MeasuredFile) -> Value:
        return perceptual_hash(self._seen[len(self._seen) // 2]) if self._seen else None


def perceptual_hash(picture: Pixels) -> str:
    """The perceptual hash of a picture of 32 × 32.

    >>> perceptual_hash(np.tile(np.arange(31, -1, -1, dtype=np.uint8), (32, 1)))
    'd500000000000000'
    """
    waves = _COSINES @ picture.astype(np.float64) @ _COSINES.T
    waves[np.abs(waves) < NOTHING] = 0
    bits = (waves > np.median(waves)).ravel()
    return np.packbits(bits).tobytes().hex()


def thumbnail(luma: PixelPlane) -> Pixels:
    """The picture at 32 × 32, each pixel the mean of the area it covers."""
    (tops, heights), (lefts, widths) = map(_cells, luma.shape)
    # Not reduceat, which for rows takes twice as long.
    sums = np.stack([luma[top : top + height].sum(axis=0) for top, height in zip(tops, heights, strict=True)])
    sums = np.add.reduceat(sums / heights[:, None].astype(np.float32), lefts, axis=1)
    return np.rint(sums / widths.astype(np.float32)).astype(np.uint8)


def _cells(side: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where the cells of a side begin, and how many pixels each has: at least one, so that a short side repeats some."""
    edges = np.arange(SIDE + 1) * side // SIDE
    return edges[:-1], np.maximum(np.diff(edges), 1)


def _cosines() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    wave, place = np.arange(LOW)[:, None], np.arange(SIDE)[None, :]
    return np.cos(np.pi * (2 * place + 1) * wave / (2 * SIDE))


_COSINES = _cosines()
