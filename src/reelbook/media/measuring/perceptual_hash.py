"""A perceptual hash, which similar pictures share or nearly share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .gauge import Value
from .measured_frames import MeasuredFile, MeasuredFrame, PixelPlane, Pixels

SIDE, LOW = 32, 8
NOTHING = 0.05
"""Coefficients below this are rounding errors."""


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
