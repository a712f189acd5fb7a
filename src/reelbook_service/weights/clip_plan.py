"""The plan of a clip: the sizes of both passes, windows and pieces of time, seeds and shares of the progress."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

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
CUT_ONLY = 1.1
"""A picture that is larger than the clip by less than this is cut; a larger one is scaled down first."""


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
class Fit:
    """How a decoded picture becomes one of the clip: scaled to `size`, then cut at `left` and `top`."""

    size: PixelSize
    left: int
    top: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Latent frames that are decoded together, and the frames of the clip that come of them."""

    start: int
    """The first latent frame."""
    end: int
    first: int
    """The first frame of the clip that is decoded."""
    until: int
    """The end of the frames that are taken; those that the next piece shares are taken from that one."""
    blended: int
    """Frames at the start that are blended with those of the piece before."""


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

    def pass_tokens(self, size: PixelSize) -> int:
        """The tokens of one step of a pass, all windows together."""
        frames = sum(end - start for start, end in self.windows())
        return frames * (size[0] // SIDE) * (size[1] // SIDE)

    def pieces(self) -> list[Piece]:
        """The pieces that are decoded one after the other; each frame of the clip is taken from one of them."""
        spans = _spans(self.latents, DECODED, SHARED)
        pieces = []
        for number, (start, end) in enumerate(spans):
            first, until = start * FRAMES, min(self.frames, (end - 1) * FRAMES + 1)
            if number + 1 < len(spans):
                until = min(until, spans[number + 1][0] * FRAMES)
            shared = (spans[number - 1][1] - 1) * FRAMES + 1 - first if number else 0
            pieces.append(Piece(start, end, first, until, min(shared, max(0, until - first))))
        return [piece for piece in pieces if piece.until > piece.first]

    def fit(self) -> Fit:
        """How a picture of the second pass becomes one of the clip: it covers the clip, and is cut in the middle."""
        (width, height), (made_width, made_height) = self.size, self.large
        scale = max(width / made_width, height / made_height)
        if scale < 1 and min(made_width / width, made_height / height) <= CUT_ONLY:
            scale = 1.0
        scaled = max(width, round(made_width * scale)), max(height, round(made_height * scale))
        return Fit(scaled, (scaled[0] - width) // 2, (scaled[1] - height) // 2)

    def placement(self, made: PixelSize) -> Fit:
        """Where the start picture is within a pass of this size, so that `fit` returns it in its place."""
        fit = self.fit()
        across, down = made[0] / fit.size[0], made[1] / fit.size[1]
        inner = min(made[0], max(1, round(self.size[0] * across))), min(made[1], max(1, round(self.size[1] * down)))
        left, top = round(fit.left * across), round(fit.top * down)
        return Fit(inner, min(left, made[0] - inner[0]), min(top, made[1] - inner[1]))


def _spans(count: int, length: int, shared: int) -> list[Span]:
    spans, start = [], 0
    while True:
        end = min(start + length, count)
        spans.append((start, end))
        if end == count:
            return spans
        start = end - shared


@dataclass(frozen=True, slots=True)
class StageShare:
    """The part of a run's progress that one stage has."""

    name: str
    start: float
    size: float
    steps: int

    def after(self, step: int) -> tuple[str, float]:
        """The stage as text, and the completed share of the run, after a step of the stage."""
        return f"{self.name} {step} of {self.steps}", self.start + self.size * min(1.0, step / self.steps)


START, END = 0.02, 0.99
"""The share of the run before the first stage, and after the last."""


def stage_shares(stages: Sequence[tuple[str, int, float]]) -> list[StageShare]:
    """The shares of stages, given as name, number of steps and work.

    >>> [stage.after(stage.steps)[1] for stage in stage_shares([("first pass", 8, 1.0), ("second pass", 3, 3.0)])]
    [0.2625, 0.99]
    """
    total, shares, done = sum(work for _, _, work in stages), [], 0.0
    for name, steps, work in stages:
        size = (END - START) * work / total
        shares.append(StageShare(name, START + (END - START) * done / total, size, steps))
        done += work
    return shares
