"""Textures and random numbers that depend only on their keys, not on the order of calls."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

NoiseField = NDArray[Any]
"""Numbers on a grid; 32 bits for painting frames, 64 for one-off computations."""

SIZE = 512
"""Side of the square, wrapping textures; a power of two, so that wrapping is one bit operation."""


def generator(*key: object) -> np.random.Generator:
    """A random generator seeded only by the key; seeds may have any size and sign."""
    digest = hashlib.blake2b("\0".join(str(part) for part in key).encode(), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


@lru_cache(maxsize=12)
def cloudy(key: Hashable, slope: float) -> NoiseField:
    """A wrapping texture from 0 to 1 whose details fade with `slope`: 1 is rough, 2 soft. Read-only."""
    white = generator("texture", key).standard_normal((SIZE, SIZE), dtype=np.float32)
    waves = np.hypot(np.fft.fftfreq(SIZE)[:, None] * SIZE, np.fft.rfftfreq(SIZE) * SIZE).astype(np.float32)
    waves[0, 0] = np.inf  # The constant term is left out.
    soft = np.fft.irfft2(np.fft.rfft2(white) / waves**slope, s=(SIZE, SIZE)).astype(np.float32)
    # Extremes are clipped, or a single bright spot would darken everything else.
    low, high = np.quantile(soft[::4, ::4], (0.002, 0.998))
    texture = np.asarray(np.clip((soft - low) / (high - low), 0, 1), np.float32)
    texture.flags.writeable = False
    return texture


def sampled(texture: NoiseField, u: NoiseField, v: NoiseField) -> NoiseField:
    """A texture at (u, v), in multiples of its size: the mean of the four nearest texels, by how near they are."""
    across, down = u * np.float32(SIZE), v * np.float32(SIZE)
    column, row = np.floor(across).astype(np.int32), np.floor(down).astype(np.int32)
    x, y = across - column, down - row
    column &= SIZE - 1
    top, bottom = (row & (SIZE - 1)) << 9, ((row + 1) & (SIZE - 1)) << 9
    after = (column + 1) & (SIZE - 1)
    flat = texture.ravel()
    upper = flat.take(top | column)
    upper += (flat.take(top | after) - upper) * x
    lower = flat.take(bottom | column)
    lower += (flat.take(bottom | after) - lower) * x
    upper += (lower - upper) * y
    return upper


def profile(key: object, width: int, *, features: float, slope: float = 1.4) -> NoiseField:
    """A line of hills from 0 to 1 across `width` columns, with about `features` hills."""
    samples = max(64, width)
    far = np.fft.rfftfreq(2 * samples) * samples / max(features, 0.5)
    spectrum = np.fft.rfft(generator("profile", key).standard_normal(2 * samples)) / (0.35 + far) ** slope
    spectrum[0] = 0
    line = np.fft.irfft(spectrum, 2 * samples)[:samples]
    line = np.interp(np.linspace(0, samples - 1, width), np.arange(samples), line)
    return np.asarray((line - line.min()) / (np.ptp(line) + 1e-9), np.float32)


def stepped(low: float, high: float, values: NoiseField) -> NoiseField:
    """A smooth step from 0 at `low` to 1 at `high`."""
    ramp = np.clip((values - np.float32(low)) / np.float32(high - low), 0, 1)
    return np.asarray(ramp * ramp * (3 - 2 * ramp), np.float32)
