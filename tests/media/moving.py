"""Films and pictures with known figures, for the tests and the bench of measures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

from tests.clips import FAST, Pixels, write_clip


def written(path: Path, frames: Iterable[Pixels], *, rate: int = 24, crf: int | None = None) -> Path:
    """A film of these frames; exactly these where no quality is given, in a Matroska file."""
    if crf is None:
        return write_clip(path, frames, rate=rate, codec="ffv1", pixels="bgr0", options={})
    return write_clip(path, frames, rate=rate, options={**FAST, "crf": str(crf)})


def picture(path: Path, pixels: Pixels) -> Path:
    """These pixels as a PNG."""
    Image.fromarray(pixels).save(path)
    return path


def flat(level: int, size: tuple[int, int] = (64, 48)) -> Pixels:
    """A frame of one grey."""
    return np.full((size[1], size[0], 3), level, np.uint8)


def noise(seed: int, size: tuple[int, int] = (512, 32)) -> Pixels:
    """A frame in which no two pixels have to do with each other; as wide as the common size, so that none is scaled."""
    return np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)


def texture(seed: int, size: tuple[int, int], *, cells: int = 24) -> Pixels:
    """A large picture of soft spots; so many of them from left to right."""
    width, height = size
    coarse = np.random.default_rng(seed).integers(0, 256, (max(2, cells * height // width), cells, 3), np.uint8)
    return np.asarray(Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC))


def panned(seed: int, step: tuple[int, int], *, frames: int, size: tuple[int, int] = (320, 180)) -> list[Pixels]:
    """Frames of a texture that moves by so many pixels to the left and up in each."""
    width, height = size
    right, down = step
    large = texture(seed, (width + right * frames, height + down * frames))
    return [
        np.ascontiguousarray(large[down * n : down * n + height, right * n : right * n + width]) for n in range(frames)
    ]
