"""Synthesis of the fine texture of a picture's edge for the background beyond it: grass continues without copies.

Each section of the edge keeps its spectrum and gets random phases, after Galerne, Gousseau and Morel (2011): that
continues irregular textures, such as grass, sand, plaster or waves, and cannot repeat a shape.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

Floats = npt.NDArray[np.float32]

STRETCH = 64
"""Maximum length of a section of the edge with one texture."""

LEAST, MAX = 16, 160
"""The measured depth of the picture in pixels: fewer are too few, more are no longer the edge."""

MILD = (26.0, 34.0)
"""The contrast, in levels of brightness, up to which a region counts as texture, and above which it never does."""

BLOCK = 16
"""The side of the squares that are compared to distinguish texture from shapes."""

LONGEST = 256
"""The period of the texture, in lines."""


def texture(lines: Image.Image, coarse: float, length: int, generator: np.random.Generator) -> Floats:
    """Fluctuations of brightness to add to the background beyond an edge, one row for each step away from it.

    The first line of `lines` is the edge itself, the others lead into the picture. Details larger than `coarse`
    pixels are part of the background.
    """
    grey = lines.convert("L")
    fine = np.asarray(grey, np.float32) - np.asarray(grey.filter(ImageFilter.GaussianBlur(coarse)), np.float32)
    # What continues straight from the edge, such as a horizon, is part of the background.
    fine -= fine.mean(0)
    deep, wide = fine.shape
    made = np.zeros((min(max(length, deep), LONGEST), wide), np.float32)
    share = min(STRETCH, max(LEAST, wide // 5), wide)
    starts = sorted({*range(0, wide - share, max(1, share // 2)), wide - share})
    pieces = [slice(start, start + share) for start in starts]
    # Strong contrasts anywhere along the edge are shapes, which are better blurred.
    contrast = float(np.percentile([fine[:, piece].std() for piece in pieces], 90))
    mildness = min(max((MILD[1] - contrast) / (MILD[1] - MILD[0]), 0.0), 1.0)
    if deep < LEAST or mildness == 0:
        return made
    window = np.sin(np.pi * (np.arange(share) + 0.5) / share)
    power = np.zeros(wide)
    for piece in pieces:
        made[:, piece] += mildness * _resynthesised(fine[:, piece], window, len(made), generator) * window
        power[piece] += window**2
    return np.asarray(made / np.sqrt(power), np.float32)


def _resynthesised(
    fine: Floats, window: npt.NDArray[np.float64], period: int, generator: np.random.Generator
) -> Floats:
    """A texture with the same spectrum, vertically periodic."""
    deep, share = fine.shape
    fade = np.sin(np.pi * (np.arange(deep) + 0.5) / deep)
    spectrum = np.fft.rfft2(fine * fade[:, None] * window, (period, share))
    noise = np.fft.rfft2(generator.standard_normal((period, share)))
    # The fades take half of the power each; power spread over a longer period is weaker.
    strength = 2 * np.sqrt(period / deep) * _evenness(fine)
    made = np.fft.irfft2(spectrum * noise / np.maximum(np.abs(noise), 1e-9), (period, share))
    return np.asarray(strength * made, np.float32)


def _evenness(fine: Floats) -> float:
    """1 for uniform fluctuations, 0 for shapes, which noise would not continue."""
    power = fine**2
    mean = float(power.mean())
    if mean < 0.1:
        return 0.0
    rows, columns = (max(1, side // BLOCK) for side in fine.shape)
    blocks = power[: rows * (fine.shape[0] // rows), : columns * (fine.shape[1] // columns)]
    blocks = blocks.reshape(rows, fine.shape[0] // rows, columns, fine.shape[1] // columns).mean((1, 3))
    least = float(np.percentile(np.sqrt(blocks), 20)) / math.sqrt(mean)
    peaks = float((power**2).mean()) / mean**2
    return min(max((least - 0.35) / 0.2, 0.0), 1.0) * min(max((6 - peaks) / 2, 0.0), 1.0)
