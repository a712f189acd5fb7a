"""A composition: the layout of a picture in a target size, computed before any pixel is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from PIL import Image

from .aims import Aims
from .crop_window import CropWindow, PixelSize
from .deform import Strips, bent, strips_for
from .extend import extended
from .importance import Analysis, Box, CellGrid, inside

SLIVER = 0.02
"""Smaller extensions are replaced by stretching the strips."""


@dataclass(frozen=True, slots=True)
class Composition:
    """The layout: the strips of the picture, and their position in the target."""

    source: PixelSize
    target: PixelSize
    across: Strips
    down: Strips
    offset: tuple[int, int]
    scale: float
    """The size of the subject in the target, relative to the picture."""
    unrepeatable: CellGrid
    """The cost of repeating each part of the picture beyond its edges, as a small map of the visible part."""

    @property
    def inner(self) -> PixelSize:
        """The size of the part of the target that contains the picture."""
        return self.across.length, self.down.length

    @property
    def visible(self) -> tuple[float, float]:
        """The visible shares of the picture's width and height."""
        across, down = (strips.source[-1] - strips.source[0] for strips in (self.across, self.down))
        return min(1.0, across / self.source[0]), min(1.0, down / self.source[1])

    @property
    def added(self) -> float:
        """The share of the target that is added background."""
        return 1 - self.inner[0] * self.inner[1] / (self.target[0] * self.target[1])

    def drawn(self, picture: Image.Image, *, seed: int, plain: bool = False) -> Image.Image:
        """The picture at the target size; `plain` adds background without structure."""
        inner = bent(picture, self.across, self.down)
        if inner.size == self.target:
            return inner
        return extended(inner, self.target, self.offset, self.unrepeatable, seed=seed, plain=plain)

    def described(self, scale: float) -> str:
        """What was done, in words; `scale` is the size of the subject, relative to the source.

        >>> strips, nothing = Strips((0.0, 100.0), (0, 50)), np.zeros((1, 1))
        >>> Composition((100, 200), (50, 50), strips, strips, (0, 0), 0.5, nothing).described(0.5)
        'Shows all of the width and 50% of the height, at 0.50× its size.'
        """
        width, height = (f"{part:.0%}" if part < 0.995 else "all" for part in self.visible)
        extent = "the whole picture" if width == height == "all" else f"{width} of the width and {height} of the height"
        bends = [] if self.across.uniform and self.down.uniform else ["calm parts are bent to fit"]
        new = [f"{self.added:.0%} of the canvas is added background"] if self.added > 0 else []
        return f"Shows {'; '.join([f'{extent}, at {scale:.2f}× its size', *bends, *new])}."


def composed(analysis: Analysis, source: PixelSize, target: PixelSize, window: CropWindow, aims: Aims) -> Composition:
    """The composition for this window."""
    inner = _inner(target, window)
    across, down = strips_for(analysis, window, source, inner, aims)
    offset = (
        _offset(
            analysis, window, 0, across.place(analysis.centre[0] * source[0]), target[0] - inner[0], target[0], aims
        ),
        _offset(analysis, window, 1, down.place(analysis.centre[1] * source[1]), target[1] - inner[1], target[1], aims),
    )
    return Composition(
        source, target, across, down, offset, _scale(analysis, source, across, down), _unrepeatable(analysis, window)
    )


def _unrepeatable(analysis: Analysis, window: CropWindow) -> CellGrid:
    """The cost of repeating each part of the window: 1 for the subject's core, less around it."""
    cells = (slice(window.top, window.bottom), slice(window.left, window.right))
    around = inside(analysis.boxes, analysis.importance.shape) | (analysis.importance > 0.25)
    ranks: CellGrid = np.maximum.reduce([0.35 * around, 0.7 * analysis.subject, 1.0 * (analysis.importance > 0.6)])
    return ranks[cells]


def _scale(analysis: Analysis, source: PixelSize, across: Strips, down: Strips) -> float:
    """The actual size of the subject in the result, relative to the picture."""
    box = analysis.boxes[0] if analysis.boxes else Box(0, 0, 1, 1)
    width = across.growth(box.left * source[0], box.right * source[0])
    return math.sqrt(width * down.growth(box.top * source[1], box.bottom * source[1]))


def _inner(target: PixelSize, window: CropWindow) -> PixelSize:
    width, height = (
        side if part > 1 - SLIVER else max(1, round(side * part))
        for side, part in zip(target, window.covers, strict=True)
    )
    return width, height


def _offset(
    analysis: Analysis, window: CropWindow, axis: int, centre: float, missing: int, side: int, aims: Aims
) -> int:
    """The offset of the picture along one side of the target that puts the subject at its goal."""
    if not missing:
        return 0
    first, last = _touched(analysis, window, axis)
    # A subject cut by the picture's edge must stay at the edge.
    if first != last:
        return 0 if first else missing
    return min(max(round(aims.goal(axis, analysis.centre) * side - centre), 0), missing)


def _touched(analysis: Analysis, window: CropWindow, axis: int) -> tuple[bool, bool]:
    """Whether a subject is cut by the first edge of the window along an axis, and by the last."""
    cells = analysis.importance.shape[1 - axis]
    first, last = ((window.left, window.right), (window.top, window.bottom))[axis]
    spans = [((box.left, box.right), (box.top, box.bottom))[axis] for box in analysis.boxes if box.weight > 0.3]
    # A box has a margin of one cell, so that one just beside the edge does not touch it.
    return any(low * cells < first + 0.5 for low, _ in spans), any(high * cells > last - 0.5 for _, high in spans)
