"""The plan of a clip: the sizes of both passes, windows and pieces of time, seeds and shares of the progress."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from ..engines.protocol import Report
from .config import LtxWeights

PixelSize = tuple[int, int]
Span = tuple[int, int]

SIDE = 32
"""Pixels of the model's picture for each latent value, in width and height."""
FRAMES = 8
"""Frames for each latent frame but the first, which is one frame."""
OVERLAP = 3
"""Latent frames that two windows have in common; with fewer, the library's pipeline of long clips returns too many frames."""
DECODED = 8
"""Latent frames that are decoded together: all of a clip at once would take the memory of a second card."""
SHARED = 2
"""Latent frames that two decoded pieces have in common."""
SEAM = (SHARED - 1) * FRAMES + 1
"""The frames of the clip that come of those."""


def sub_seed(seed: int, part: str) -> int:
    """The seed of one part of a run, so that the parts do not depend on how much the others draw.

    >>> sub_seed(7, "first") == sub_seed(7, "second"), sub_seed(10**400, "first") < 2**63
    (False, True)
    """
    return int.from_bytes(hashlib.sha256(f"{seed}/{part}".encode()).digest()[:8]) >> 1


def ceil_to(value: float, step: int) -> int:
    """The next multiple of a step.

    >>> ceil_to(480, 32), ceil_to(720, 32)
    (480, 736)
    """
    return int(-(-value // step)) * step


@dataclass(frozen=True, slots=True)
class ClipPlan:
    """What is made on the way to a clip of a size and a number of frames."""

    size: PixelSize
    frames: int
    small: PixelSize
    """Width and height of the first pass; the second has twice of both."""
    window: int
    """Latent frames that are denoised together."""

    @classmethod
    def of(cls, size: PixelSize, frames: int, row: LtxWeights) -> Self:
        """The plan of a clip with the settings of a row."""
        if row.downscale <= 0.5:
            # Just enough, so that the end is a cut and no scaling.
            small = tuple(ceil_to(side / 2, SIDE) for side in size)
        else:
            small = tuple(max(SIDE, int(ceil_to(side, SIDE) * row.downscale) // SIDE * SIDE) for side in size)
        return cls(size, frames, (small[0], small[1]), (row.window_frames - 1) // FRAMES + 1)

    @property
    def large(self) -> PixelSize:
        """Width and height of the second pass."""
        return self.small[0] * 2, self.small[1] * 2

    @property
    def latents(self) -> int:
        """The number of latent frames."""
        return -(-(self.frames - 1) // FRAMES) + 1

    @property
    def model_frames(self) -> int:
        """The number of frames that the model makes, at least that of the clip."""
        return (self.latents - 1) * FRAMES + 1

    def windows(self) -> list[Span]:
        """Spans of latent frames that are denoised one after the other."""
        return _spans(self.latents, self.window, OVERLAP)

    def pieces(self) -> list[Span]:
        """Spans of latent frames that are decoded one after the other."""
        return _spans(self.latents, DECODED, SHARED)

    def fit(self) -> tuple[PixelSize, int, int]:
        """How a picture of the second pass becomes one of the clip: scaled to a size that covers it, and cut at left and top."""
        (width, height), (large_width, large_height) = self.size, self.large
        scale = max(width / large_width, height / large_height)
        size = max(width, round(large_width * scale)), max(height, round(large_height * scale))
        return size, (size[0] - width) // 2, (size[1] - height) // 2


def _spans(count: int, length: int, shared: int) -> list[Span]:
    starts = range(0, max(1, count - shared), length - shared)
    return [(start, min(start + length, count)) for start in starts]


START, END = 0.02, 0.99
"""The share of the run before the first stage, and after the last."""
Stage = Callable[..., dict[str, Any]]
"""One stage of a run. It is called after each of its steps, by the library's pipelines too, and reports the progress."""


def stages_of(report: Report, stages: Sequence[tuple[str, int, float]]) -> list[Stage]:
    """Stages given as name, number of steps and work, each with its share of the run's progress.

    >>> said = []
    >>> first, second = stages_of(Report(said.append), [("first pass", 1, 1.0), ("second pass", 3, 3.0)])
    >>> first(), said[-1]
    ({}, {'stage': 'first pass 1 of 1', 'fraction': 0.2625})
    """

    def stage(name: str, steps: int, start: float, size: float) -> Stage:
        numbers = itertools.count(1)

        def after_step(*_: Any) -> dict[str, Any]:
            number = next(numbers)
            report.progress(f"{name} {number} of {steps}", start + size * min(1.0, number / steps))
            return {}

        return after_step

    total, made, start_at = sum(work for _, _, work in stages), [], START
    for name, steps, work in stages:
        size = (END - START) * work / total
        made.append(stage(name, steps, start_at, size))
        start_at += size
    return made
