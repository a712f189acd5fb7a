"""What sheets, strips and moving pictures are drawn with: type, hairlines, round corners, and the signs of states."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from PIL import Image, ImageChops, ImageDraw

from ...media.lettering.labels import Lettering
from ..formatting import STATE_SIGNS, join_with_dots
from .sheet_colours import Colours

FULL_WIDTH, BODY, SMALL, UNIT, RADIUS, HAIR = 1600, 26, 24, 8, 12, 2
"""Of a sheet as wide as usual; twice what they are on a page, because a screen may show it at half its size."""
MIN_BODY = 12
FINER = 4
"""Shapes are drawn so much larger and then shrunk, which makes their edges smooth."""


class Brush:
    """A canvas of one width, with measures that go with it."""

    def __init__(self, width: int, height: int, colours: Colours, *, scale: float) -> None:
        self.colours = colours
        self.picture = Image.new("RGB", (width, height), colours.paper)
        self._draw = ImageDraw.Draw(self.picture)
        self.scale = scale

    def text(self, left: float, top: float, words: str, lettering: Lettering, ink: str, room: float) -> None:
        """Words on one line, cut to the room there is."""
        lettering.draw(self._draw, left, top, words, ink, room=room)

    def hairline(self, left: int, top: int, right: int) -> None:
        """A line from left to right."""
        thick = max(1, round(HAIR * self.scale))
        self._draw.rectangle((left, top, right - 1, top + thick - 1), fill=self.colours.line)

    def box(self, left: int, top: int, width: int, height: int) -> None:
        """A quiet place where there is no picture."""
        shape = Image.new("RGB", (width, height), self.colours.raised)
        self.show(left, top, shape)

    def show(self, left: int, top: int, picture: Image.Image) -> None:
        """A picture with round corners."""
        radius = min(round(RADIUS * self.scale), min(picture.size) // 4)
        self.picture.paste(picture, (left, top), _round(picture.size, radius))

    def sign(self, left: float, top: float, state: str, lettering: Lettering) -> int:
        """The sign of a state in a line of this type; says how much room it takes. One without a sign takes none."""
        mark = STATE_SIGNS.get(state)
        if mark is None:
            return 0
        size = round(lettering.size * 0.8)
        shape = _sign(mark, size)
        place = round(left), round(top + (lettering.line - size) / 2)
        self.picture.paste(Image.new("RGB", shape.size, self.colours.of(state)), place, shape)
        return round(size * 1.5)


def scale_length(value: float, scale: float) -> int:
    """A measure for this width."""
    return max(1, round(value * scale))


def get_letterings(scale: float) -> tuple[Lettering, Lettering]:
    """Type for what is read first, and for the rest."""
    return Lettering(max(MIN_BODY, round(BODY * scale))), Lettering(max(MIN_BODY - 1, round(SMALL * scale)))


def fit_to_box(picture: Image.Image, box: tuple[int, int]) -> Image.Image:
    """A picture as large as the box allows; a tiny one is enlarged."""
    grow = min(box[0] / picture.width, box[1] / picture.height)
    size = max(1, round(picture.width * grow)), max(1, round(picture.height * grow))
    # A pixel more or less is not worth a blur.
    near = abs(size[0] - picture.width) <= 1 and abs(size[1] - picture.height) <= 1
    return picture if near else picture.resize(size, Image.Resampling.LANCZOS)


def wrap_label(parts: Sequence[str], lettering: Lettering, room: int, most: int) -> list[str]:
    """The parts of a label on few lines: short ones together, and what is left for the longest."""
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
    short = short[: max(1, most - len(long))]
    left = max(len(long), most - len(short))
    found: list[str] = []
    for place, part in enumerate(long):
        found += lettering.lines(part, room, max(1, (left - len(found)) // (len(long) - place)))
    # The words first, as everywhere.
    return [*found, *short][: max(most, 1)]


@lru_cache(maxsize=64)
def _round(size: tuple[int, int], radius: int) -> Image.Image:
    """Where a picture with round corners is seen."""
    mask = Image.new("L", size, 255)
    if radius < 1:
        return mask
    side = 2 * radius
    disc = Image.new("L", (side * FINER, side * FINER), 0)
    ImageDraw.Draw(disc).ellipse((0, 0, side * FINER - 1, side * FINER - 1), fill=255)
    corner = disc.resize((side, side), Image.Resampling.LANCZOS)
    right, bottom = size[0] - radius, size[1] - radius
    for x, y, part in (
        (0, 0, (0, 0)),
        (right, 0, (radius, 0)),
        (0, bottom, (0, radius)),
        (right, bottom, (radius, radius)),
    ):
        mask.paste(corner.crop((*part, part[0] + radius, part[1] + radius)), (x, y))
    return mask


@lru_cache(maxsize=64)
def _sign(mark: str, size: int) -> Image.Image:
    """A sign as a mask. It is drawn, not written: few fonts have all of them."""
    side = size * FINER
    shape = Image.new("L", (side, side), 0)
    draw = ImageDraw.Draw(shape)
    edge = max(FINER, side // 9)
    whole = (0, 0, side - 1, side - 1)
    inner = (side * 0.3, side * 0.3, side * 0.7, side * 0.7)
    if mark == "●":
        draw.ellipse(whole, fill=255)
    elif mark == "✕":
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
        if mark == "◉":
            draw.ellipse(inner, fill=255)
        elif mark == "⊘":
            draw.line((side * 0.2, side * 0.8, side * 0.8, side * 0.2), fill=255, width=edge)
        elif mark in "◔◑":
            part = Image.new("L", (side, side), 0)
            ImageDraw.Draw(part).pieslice(whole, -90, 0 if mark == "◔" else 90, fill=255)
            shape = ImageChops.lighter(shape, part)
    return shape.resize((size, size), Image.Resampling.LANCZOS)
