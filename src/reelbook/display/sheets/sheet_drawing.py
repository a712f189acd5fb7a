"""Drawing of sheets, strips and animations: colours, text, round corners, the signs of states, and pictures in a grid."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import median

from PIL import Image, ImageChops, ImageDraw

from ...media.lettering import Lettering
from ...settings import options
from ..formatting import STATE_COLOURS, STATE_SIGNS, join_with_dots
from ..table_runs import TableRun
from ..theme import read_static
from .sheet_runs import RunPictures

FULL_WIDTH, BODY, SMALL, UNIT, RADIUS, HAIR = 1600, 26, 24, 8, 12, 2
"""Pixels on a sheet of full width; twice those of a page, because a screen may display it at half its size."""
MIN_BODY = 12
FINER = 4
"""The factor by which shapes are drawn larger and then shrunk, for smooth edges."""
SHAPE, MAX_ACROSS = 0.62, 12
"""The preferred ratio of a grid's height to its width, and the most pictures in a row."""
MAX_SHAPE = 1.4
"""The largest ratio of a card's height to the width of the grid; higher pictures are made smaller."""


@dataclass(frozen=True, slots=True)
class Colours:
    """Colours by their names in the style sheet."""

    ink: str
    soft: str
    line: str
    paper: str
    raised: str
    accent: str
    good: str
    warn: str
    bad: str

    def of(self, state: str) -> str:
        """The colour of a state."""
        colour: str = getattr(self, STATE_COLOURS.get(state, "soft"))
        return colour


def get_colours() -> Colours:
    """The colours of `rb.options.theme`; with `auto` the light ones, because a picture does not know its page."""
    return get_theme_colours(is_dark=options.theme == "dark")


@cache
def get_theme_colours(*, is_dark: bool) -> Colours:
    """The colours of the style sheet for light or for dark pages."""
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", read_static("tokens.css"))
    wanted = ".rb.rb-dark" if is_dark else ".rb"
    declared = next(
        body for selector, body in rules if wanted in re.split(r",\s*", selector.strip()) and "--_ink" in body
    )
    values = dict(re.findall(r"--_(\w+):\s*(#[0-9a-f]{6})", declared))
    return Colours(**{name: values[name] for name in Colours.__slots__})


class Measures:
    """Lengths and lettering at a scale, which is the width of a sheet as a share of `FULL_WIDTH`."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.gap, self.pad = (max(1, round(value * scale)) for value in (UNIT, 4 * UNIT))
        self.body = Lettering(max(MIN_BODY, round(BODY * scale)))
        self.small = Lettering(max(MIN_BODY - 1, round(SMALL * scale)))


class Brush:
    """Draws on a canvas of these measures."""

    def __init__(self, width: int, height: int, colours: Colours, measures: Measures) -> None:
        self.colours, self.measures = colours, measures
        self.picture = Image.new("RGB", (width, height), colours.paper)
        self._draw = ImageDraw.Draw(self.picture)

    def text(self, left: float, top: float, words: str, lettering: Lettering, ink: str, room: float) -> None:
        """Draw a text on one line, cut to `room` pixels."""
        lettering.draw(self._draw, left, top, words, ink, room=room)

    def hairline(self, left: int, top: int, right: int) -> None:
        """Draw a horizontal line."""
        thick = max(1, round(HAIR * self.measures.scale))
        self._draw.rectangle((left, top, right - 1, top + thick - 1), fill=self.colours.line)

    def box(self, left: int, top: int, width: int, height: int) -> None:
        """Draw a plain box with round corners, where there is no picture."""
        self.paste(left, top, Image.new("RGB", (width, height), self.colours.raised))

    def paste(self, left: int, top: int, picture: Image.Image) -> None:
        """Draw a picture with round corners."""
        radius = min(round(RADIUS * self.measures.scale), min(picture.size) // 4)
        self.picture.paste(picture, (left, top), _make_corner_mask(picture.size, radius))

    def state(self, left: float, top: float, run: TableRun, media: RunPictures, right: float) -> None:
        """Write the state of a run without pictures after its sign, or why they cannot be read."""
        body, state = self.measures.body, run.state
        if media.problem:
            self.text(left, top, media.problem, body, self.colours.soft, right - left)
            return
        if mark := STATE_SIGNS.get(state):
            size = round(body.size * 0.8)
            shape = _make_sign_mask(mark, size)
            place = round(left), round(top + (body.line - size) / 2)
            self.picture.paste(Image.new("RGB", shape.size, self.colours.of(state)), place, shape)
            left += round(size * 1.5)
        self.text(left, top, state, body, self.colours.of(state), right - left)


def fit_to_box(picture: Image.Image, box: tuple[int, int]) -> Image.Image:
    """A picture scaled to fill the box, also if it has to be enlarged."""
    grow = min(box[0] / picture.width, box[1] / picture.height)
    size = max(1, round(picture.width * grow)), max(1, round(picture.height * grow))
    # Resizing by a single pixel would only blur.
    near = abs(size[0] - picture.width) <= 1 and abs(size[1] - picture.height) <= 1
    return picture if near else picture.resize(size, Image.Resampling.LANCZOS)


def wrap_label(parts: Sequence[str], lettering: Lettering, room: int, max_lines: int) -> list[str]:
    """The parts of a label on at most `max_lines` lines: short ones share a line, long ones get the rest."""
    if not parts or room < 1:
        return []
    short: list[str] = []
    long = [part for part in parts if lettering.width(part) > room]
    for part in parts:
        if part in long:
            continue
        together = join_with_dots(short[-1], part) if short else part
        if short and lettering.width(together) <= room:
            short[-1] = together
        else:
            short.append(part)
    short = short[: max(1, max_lines - len(long))]
    left = max(len(long), max_lines - len(short))
    lines: list[str] = []
    for place, part in enumerate(long):
        lines += lettering.lines(part, room, max(1, (left - len(lines)) // (len(long) - place)))
    # Long texts first, as everywhere.
    return [*lines, *short][: max(max_lines, 1)]


@lru_cache(maxsize=64)
def _make_corner_mask(size: tuple[int, int], radius: int) -> Image.Image:
    """The mask of a picture with round corners."""
    mask = Image.new("L", size, 255)
    if radius < 1:
        return mask
    side = 2 * radius
    disc = Image.new("L", (side * FINER, side * FINER), 0)
    ImageDraw.Draw(disc).ellipse((0, 0, side * FINER - 1, side * FINER - 1), fill=255)
    corner = disc.resize((side, side), Image.Resampling.LANCZOS)
    for left, x in ((0, 0), (radius, size[0] - radius)):
        for top, y in ((0, 0), (radius, size[1] - radius)):
            mask.paste(corner.crop((left, top, left + radius, top + radius)), (x, y))
    return mask


@lru_cache(maxsize=64)
def _make_sign_mask(mark: str, size: int) -> Image.Image:
    """A sign as a mask; drawn, because few fonts have all of them."""
    side = size * FINER
    shape = Image.new("L", (side, side), 0)
    draw = ImageDraw.Draw(shape)
    edge = max(FINER, side // 9)
    whole = (0, 0, side - 1, side - 1)
    if mark == "✕":
        far = side - edge
        draw.line((edge, edge, far, far), fill=255, width=edge + FINER)
        draw.line((edge, far, far, edge), fill=255, width=edge + FINER)
    elif mark == "?":
        written = Lettering(size)
        letter = Image.new("L", (size, size), 0)
        written.draw(ImageDraw.Draw(letter), (size - written.width("?")) / 2, (size - written.line) / 2, "?", "white")
        return letter
    else:
        draw.ellipse(whole, outline=255, width=edge)
        if mark == "⊘":
            draw.line((side * 0.2, side * 0.8, side * 0.8, side * 0.2), fill=255, width=edge)
        elif mark in "◔◑":
            part = Image.new("L", (side, side), 0)
            ImageDraw.Draw(part).pieslice(whole, -90, 0 if mark == "◔" else 90, fill=255)
            shape = ImageChops.lighter(shape, part)
    return shape.resize((size, size), Image.Resampling.LANCZOS)


# Pictures or clips in a grid, each with its label below.


@dataclass(frozen=True, slots=True)
class PictureGrid:
    """The positions and sizes of the cards of a grid, in pixels."""

    across: int
    card: tuple[int, int]
    """Width and height of the place for a picture."""
    lines: int
    """Lines of a label."""
    width: int
    measures: Measures
    count: int

    @property
    def pad(self) -> int:
        """The margin around the grid."""
        return max(1, round(2 * UNIT * self.measures.scale))

    @property
    def label(self) -> int:
        """Height of a label."""
        return self.measures.gap // 2 + self.lines * self.measures.small.line

    @property
    def height(self) -> int:
        """Height of the grid."""
        down = math.ceil(self.count / self.across)
        return 2 * self.pad + down * (self.card[1] + self.label) + (down - 1) * 2 * self.measures.gap

    def place(self, number: int) -> tuple[int, int]:
        """The left and upper edge of a card."""
        row, column = divmod(number, self.across)
        gap = self.measures.gap
        return self.pad + column * (self.card[0] + gap), self.pad + row * (self.card[1] + self.label + 2 * gap)

    def fit(self, picture: Image.Image, number: int, top: int = 0) -> tuple[Image.Image, int, int]:
        """A picture scaled to its place, with its left and upper edge."""
        left, upper = self.place(number)
        fitted = fit_to_box(picture, self.card)
        # Directly above its label.
        return fitted, left, top + upper + self.card[1] - fitted.height


def choose_grid(
    sizes: Sequence[tuple[int, int]],
    labels: Sequence[Sequence[str]],
    width: int,
    scale: float,
    *,
    card: float = 1.0,
    across: int | None = None,
) -> PictureGrid:
    """The grid for these labels and picture sizes whose shape is nearest to `SHAPE`.

    Labels get a second line where one is not enough. `card` is the largest width of a card, as a share of the width;
    with `across` there are so many side by side, whatever the shape.
    """
    shape = median(size[1] / size[0] for size in sizes) if sizes else 9 / 16
    shape = min(max(shape, 1 / 4), 16 / 9)
    measures = Measures(scale)
    counts = range(1, min(len(labels), MAX_ACROSS) + 1) if across is None else [across]
    grids = [_make_grid(count, shape, labels, width, measures) for count in counts]
    small = [grid for grid in grids if grid.card[0] <= width * card] or grids[-1:]
    return min(small, key=lambda grid: abs(math.log(grid.height / width / SHAPE)))


def draw_labels(
    runs: Sequence[TableRun],
    media: Sequence[RunPictures],
    grid: PictureGrid,
    colours: Colours,
    *,
    top: int = 0,
    foot: int = 0,
) -> Brush:
    """A brush whose canvas has all labels, and a box with the state of each run that has no picture."""
    measures = grid.measures
    gap, small = measures.gap, measures.small
    brush = Brush(grid.width, top + grid.height + foot, colours, measures)
    for number, (run, one) in enumerate(zip(runs, media, strict=True)):
        left, upper = grid.place(number)
        upper += top
        if not one.pictures:
            brush.box(left, upper, *grid.card)
            middle = upper + (grid.card[1] - measures.body.line) / 2
            brush.state(left + 2 * gap, middle, run, one, left + grid.card[0] - gap)
        for place, line in enumerate(wrap_label(run.label or (run.name,), small, grid.card[0], grid.lines)):
            y = upper + grid.card[1] + gap // 2 + place * small.line
            brush.text(left, y, line, small, colours.ink, grid.card[0])
    return brush


def _make_grid(
    across: int, shape: float, labels: Sequence[Sequence[str]], width: int, measures: Measures
) -> PictureGrid:
    pad = max(1, round(2 * UNIT * measures.scale))
    wide = max(8, (width - 2 * pad - (across - 1) * measures.gap) // across)
    high = max(8, min(round(wide * shape), round(width * MAX_SHAPE)))
    lines = 1 if all(measures.small.width(join_with_dots(*label)) <= wide for label in labels) else 2
    return PictureGrid(across, (wide, high), lines, width, measures, len(labels))
