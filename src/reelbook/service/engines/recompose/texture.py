"""The fine texture of a picture's edge, made anew for the ground beyond it: grass goes on as grass, never as a copy.

Each stretch of the edge keeps its spectrum and gets random phases, after Galerne, Gousseau and Morel (2011): that
continues what is irregular, such as grass, sand, plaster or waves, and cannot repeat a shape.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

Floats = npt.NDArray[np.float32]

STRETCH = 64
"""How long a piece of the edge is, at most, that has one texture."""

LEAST, MAX = 16, 160
"""How far into the picture it is measured: fewer pixels are too few, more are no longer the edge."""

MILD = (26.0, 34.0)
"""Up to which contrast, in levels of brightness, something counts as texture, and from which it never does."""

BLOCK = 16
"""The side of the squares that are compared to tell texture from shapes."""

LONGEST = 256
"""After so many lines the texture begins again."""


def texture(lines: Image.Image, coarse: float, length: int, generator: np.random.Generator) -> Floats:
    """Fluctuations of brightness to lay over the ground beyond an edge, one row for each step away from it.

    The first line of `lines` is the edge itself, the others lead into the picture. Details larger than
    `coarse` pixels are left to the ground.
    """
    grey = lines.convert("L")
    fine = np.asarray(grey, np.float32) - np.asarray(grey.filter(ImageFilter.GaussianBlur(coarse)), np.float32)
    # What runs straight on from the edge, such as a horizon, is the ground's business.
    fine -= fine.mean(0)
    deep, wide = fine.shape
    made = np.zeros((min(max(length, deep), LONGEST), wide), np.float32)
    share = min(STRETCH, max(LEAST, wide // 5), wide)
    starts = sorted({*range(0, wide - share, max(1, share // 2)), wide - share})
    pieces = [slice(start, start + share) for start in starts]
    # Strong contrasts anywhere along the edge are shapes: better to let all of it go out of focus.
    mildness = _mildness(float(np.percentile([fine[:, piece].std() for piece in pieces], 90)))
    if deep < LEAST or mildness == 0:
        return made
    window = np.sin(np.pi * (np.arange(share) + 0.5) / share)
    power = np.zeros(wide)
    for piece in pieces:
        made[:, piece] += mildness * _renewed(fine[:, piece], window, len(made), generator) * window
        power[piece] += window**2
    return np.asarray(made / np.sqrt(power), np.float32)


def _mildness(contrast: float) -> float:
    return min(max((MILD[1] - contrast) / (MILD[1] - MILD[0]), 0.0), 1.0)


def _renewed(fine: Floats, window: npt.NDArray[np.float64], period: int, generator: np.random.Generator) -> Floats:
    """A texture of the same spectrum, endless from top to bottom."""
    deep, share = fine.shape
    fade = np.sin(np.pi * (np.arange(deep) + 0.5) / deep)
    spectrum = np.fft.rfft2(fine * fade[:, None] * window, (period, share))
    noise = np.fft.rfft2(generator.standard_normal((period, share)))
    # The fades take half of the power each; what is spread over a longer period gets thinner.
    strength = 2 * np.sqrt(period / deep) * _evenness(fine)
    made = np.fft.irfft2(spectrum * noise / np.maximum(np.abs(noise), 1e-9), (period, share))
    return np.asarray(strength * made, np.float32)


def _evenness(fine: Floats) -> float:
    """1 for what fluctuates everywhere alike, 0 where there are shapes, which noise would not continue."""
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
