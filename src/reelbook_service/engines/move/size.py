"""The size of a clip: the picture's own, where possible."""

from __future__ import annotations

import math
from itertools import product

AREA = 1280 * 720
"""Maximum pixels in a frame."""

LONGEST = 4096
"""Maximum side length: hardware decoders support no more."""

SHORTEST = 16
"""Minimum side length: one block of H.264. Larger pictures are never enlarged, as that adds no detail."""


def frame_size(width: int, height: int) -> tuple[int, int]:
    """The even width and height for a picture of this size, as close to its aspect ratio as possible.

    >>> frame_size(1920, 1080), frame_size(3000, 4000), frame_size(641, 481), frame_size(1, 1)
    ((1280, 720), (830, 1108), (640, 480), (16, 16))
    """
    scale = max(min(1.0, math.sqrt(AREA / (width * height))), SHORTEST / min(width, height))
    scale = min(scale, LONGEST / max(width, height))

    def misfit(size: tuple[int, int]) -> float:
        return abs(size[0] / (width * scale) - 1) + abs(size[1] / (height * scale) - 1)

    sizes = product(_even(width * scale), _even(height * scale))
    return min((size for size in sizes if math.prod(size) <= AREA and max(size) <= LONGEST), key=misfit)


def _even(length: float) -> tuple[int, int]:
    """The even numbers next to a length, at least `SHORTEST`."""
    below = 2 * math.floor(length / 2 + 1e-9)
    return max(SHORTEST, below), max(SHORTEST, below + 2)
