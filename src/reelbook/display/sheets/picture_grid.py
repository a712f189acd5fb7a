"""Layout of pictures or clips in a grid, each with its label below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from PIL import Image

from ..formatting import join_with_dots
from .sheet_colours import Colours
from .sheet_drawing import UNIT, Brush, fit_to_box, get_letterings, scale_length, wrap_label
from .sheet_entries import SheetEntry
from .sheet_pictures import RunPictures

SHAPE = 0.62
"""The preferred ratio of a grid's height to its width."""
MAX_ACROSS = 12
MAX_SHAPE = 1.4
"""The largest ratio of a card's height to the width of the grid; higher pictures are made smaller."""


@dataclass(frozen=True, slots=True)
class PictureGrid:
    """The positions and sizes of the cards of a grid, in pixels."""

    across: int
    card: tuple[int, int]
    """Width and height of the place for a picture."""
    label: int
    """Height of a label."""
    lines: int
    """Lines of a label."""
    gap: int
    pad: int
    width: int
    scale: float
    count: int

    @property
    def height(self) -> int:
        """Height of the grid."""
        down = math.ceil(self.count / self.across)
        return 2 * self.pad + down * (self.card[1] + self.label) + (down - 1) * 2 * self.gap

    def place(self, number: int) -> tuple[int, int]:
        """The left and upper edge of a card."""
        row, column = divmod(number, self.across)
        left = self.pad + column * (self.card[0] + self.gap)
        return left, self.pad + row * (self.card[1] + self.label + 2 * self.gap)


def choose_grid(
    sizes: Sequence[tuple[int, int]],
    entries: Sequence[SheetEntry],
    width: int,
    scale: float,
    *,
    card: float = 1.0,
    across: int | None = None,
) -> PictureGrid:
    """The grid for these entries and picture sizes whose shape is nearest to `SHAPE`.

    Labels get a second line where one is not enough. `card` is the largest width of a card, as a share of the width;
    with `across` there are so many side by side, whatever the shape.
    """
    shape = median(size[1] / size[0] for size in sizes) if sizes else 9 / 16
    shape = min(max(shape, 1 / 4), 16 / 9)
    if across is not None:
        return _make_grid(across, shape, entries, width, scale)
    found = [_make_grid(count, shape, entries, width, scale) for count in range(1, min(len(entries), MAX_ACROSS) + 1)]
    small = [one for one in found if one.card[0] <= width * card] or found[-1:]
    return min(small, key=lambda one: abs(math.log(one.height / width / SHAPE)))


def draw_labels(
    entries: Sequence[SheetEntry],
    media: Sequence[RunPictures],
    grid: PictureGrid,
    colours: Colours,
    *,
    top: int = 0,
    foot: int = 0,
) -> Brush:
    """A brush whose canvas has all labels, and a box with the state of each run that has no picture."""
    brush = Brush(grid.width, top + grid.height + foot, colours, scale=grid.scale)
    body, small = get_letterings(grid.scale)
    for number, (entry, one) in enumerate(zip(entries, media, strict=True)):
        left, upper = grid.place(number)
        upper += top
        if not one.pictures:
            brush.box(left, upper, *grid.card)
            word = one.problem or entry.state
            y = upper + (grid.card[1] - body.line) / 2
            taken = 0 if one.problem else brush.sign(left + 2 * grid.gap, y, entry.state, body)
            ink = colours.of("" if one.problem else entry.state)
            brush.text(left + 2 * grid.gap + taken, y, word, body, ink, grid.card[0] - 3 * grid.gap - taken)
        parts = entry.label or (f"run {entry.number}",)
        for place, line in enumerate(wrap_label(parts, small, grid.card[0], grid.lines)):
            y = upper + grid.card[1] + grid.gap // 2 + place * small.line
            brush.text(left, y, line, small, colours.ink, grid.card[0])
    return brush


def fit_into_place(picture: Image.Image, grid: PictureGrid, number: int, top: int = 0) -> tuple[Image.Image, int, int]:
    """A picture scaled to its place, with its left and upper edge."""
    left, upper = grid.place(number)
    fitted = fit_to_box(picture, grid.card)
    # Directly above its label.
    return fitted, left, top + upper + grid.card[1] - fitted.height


def _make_grid(across: int, shape: float, entries: Sequence[SheetEntry], width: int, scale: float) -> PictureGrid:
    _, small = get_letterings(scale)
    gap, pad = scale_length(UNIT, scale), scale_length(2 * UNIT, scale)
    wide = max(8, (width - 2 * pad - (across - 1) * gap) // across)
    high = max(8, min(round(wide * shape), round(width * MAX_SHAPE)))
    lines = 1 if all(small.width(join_with_dots(*entry.label)) <= wide for entry in entries) else 2
    return PictureGrid(across, (wide, high), gap // 2 + lines * small.line, lines, gap, pad, width, scale, len(entries))
