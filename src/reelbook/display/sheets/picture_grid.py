"""Pictures side by side in a grid, each with its label below: for what has one picture, moving or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from PIL import Image

from ..formatting import join_with_dots
from .sheet_colours import Colours
from .sheet_drawing import UNIT, Brush, fit_to_box, get_letterings, scale_length, wrap_label
from .sheet_entries import Entry
from .sheet_pictures import RunPictures

SHAPE = 0.62
"""How high a grid is for its width, at best."""
MAX_ACROSS = 12
MAX_SHAPE = 1.4
"""The most of that: a grid that is higher than this for its width gets smaller cards."""


@dataclass(frozen=True, slots=True)
class PictureGrid:
    """Where the cards stand."""

    across: int
    card: tuple[int, int]
    """Width and height of a picture's place."""
    label: int
    """How high a label is."""
    lines: int
    """Of a label."""
    gap: int
    pad: int
    width: int
    scale: float
    count: int

    @property
    def height(self) -> int:
        """Of the whole grid."""
        down = math.ceil(self.count / self.across)
        return 2 * self.pad + down * (self.card[1] + self.label) + (down - 1) * 2 * self.gap

    def place(self, number: int) -> tuple[int, int]:
        """Left and upper edge of a card."""
        row, column = divmod(number, self.across)
        left = self.pad + column * (self.card[0] + self.gap)
        return left, self.pad + row * (self.card[1] + self.label + 2 * self.gap)


def choose_grid(
    sizes: Sequence[tuple[int, int]],
    entries: Sequence[Entry],
    width: int,
    scale: float,
    *,
    card: float = 1.0,
    across: int | None = None,
) -> PictureGrid:
    """The grid of so many cards that is nearest to a good shape; pictures of these sizes go in.

    Labels get a second line where one is not enough. `card` is the widest one may be, as a part of the width; with
    `across` there are so many side by side, whatever the shape.
    """
    shape = median(size[1] / size[0] for size in sizes) if sizes else 9 / 16
    shape = min(max(shape, 1 / 4), 16 / 9)
    if across is not None:
        return _grid(across, shape, entries, width, scale)
    found = [_grid(count, shape, entries, width, scale) for count in range(1, min(len(entries), MAX_ACROSS) + 1)]
    small = [one for one in found if one.card[0] <= width * card] or found[-1:]
    return min(small, key=lambda one: abs(math.log(one.height / width / SHAPE)))


def draw_labels(
    entries: Sequence[Entry],
    looks: Sequence[RunPictures],
    grid: PictureGrid,
    colours: Colours,
    *,
    top: int = 0,
    foot: int = 0,
) -> Brush:
    """A canvas with every label, and a quiet box for each run that has no picture."""
    brush = Brush(grid.width, top + grid.height + foot, colours, scale=grid.scale)
    body, small = get_letterings(grid.scale)
    for number, (entry, look) in enumerate(zip(entries, looks, strict=True)):
        left, upper = grid.place(number)
        upper += top
        if not look.pictures:
            brush.box(left, upper, *grid.card)
            word = look.trouble or entry.state
            y = upper + (grid.card[1] - body.line) / 2
            taken = 0 if look.trouble else brush.sign(left + 2 * grid.gap, y, entry.state, body)
            ink = colours.of("" if look.trouble else entry.state)
            brush.text(left + 2 * grid.gap + taken, y, word, body, ink, grid.card[0] - 3 * grid.gap - taken)
        parts = entry.label or (f"run {entry.number}",)
        for place, line in enumerate(wrap_label(parts, small, grid.card[0], grid.lines)):
            y = upper + grid.card[1] + grid.gap // 2 + place * small.line
            brush.text(left, y, line, small, colours.ink, grid.card[0])
    return brush


def fit_into_place(picture: Image.Image, grid: PictureGrid, number: int, top: int = 0) -> tuple[Image.Image, int, int]:
    """A picture as it goes into its place, and where."""
    left, upper = grid.place(number)
    shown = fit_to_box(picture, grid.card)
    # It stands on its label.
    return shown, left, top + upper + grid.card[1] - shown.height


def _grid(across: int, shape: float, entries: Sequence[Entry], width: int, scale: float) -> PictureGrid:
    _, small = get_letterings(scale)
    gap, pad = scale_length(UNIT, scale), scale_length(2 * UNIT, scale)
    wide = max(8, (width - 2 * pad - (across - 1) * gap) // across)
    high = max(8, min(round(wide * shape), round(width * MAX_SHAPE)))
    lines = 1 if all(small.width(join_with_dots(*entry.label)) <= wide for entry in entries) else 2
    return PictureGrid(across, (wide, high), gap // 2 + lines * small.line, lines, gap, pad, width, scale, len(entries))
