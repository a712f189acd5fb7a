"""Drawing of sheets, strips and animations: text, hairlines, round corners, and the signs of states."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from PIL import Image, ImageChops, ImageDraw

from ...media.lettering import Lettering
from ..formatting import STATE_SIGNS, join_with_dots
from .sheet_colours import Colours

FULL_WIDTH, BODY, SMALL, UNIT, RADIUS, HAIR = 1600, 26, 24, 8, 12, 2
"""Pixels on a sheet of full width; twice those of a page, because a screen may display it at half its size."""
MIN_BODY = 12
FINER = 4
"""The factor by which shapes are drawn larger and then shrunk, for smooth edges."""


class Brush:
    """Draws on a canvas; `scale` is its width as a share of `FULL_WIDTH`."""

    def __init__(self, width: int, height: int, colours: Colours, *, scale: float) -> None:
        self.colours = colours
        self.picture = Image.new("RGB", (width, height), colours.paper)
        self._draw = ImageDraw.Draw(self.picture)
        self.scale = scale

    def text(self, left: float, top: float, words: str, lettering: Lettering, ink: str, room: float) -> None:
        """Draw a text on one line, cut to `room` pixels."""
        lettering.draw(self._draw, left, top, words, ink, room=room)

    def hairline(self, left: int, top: int, right: int) -> None:
        """Draw a horizontal line."""
        thick = max(1, round(HAIR * self.scale))
        self._draw.rectangle((left, top, right - 1, top + thick - 1), fill=self.colours.line)

    def box(self, left: int, top: int, width: int, height: int) -> None:
        """Draw a plain box with round corners, where there is no picture."""
        shape = Image.new("RGB", (width, height), self.colours.raised)
        self.paste(left, top, shape)

    def paste(self, left: int, top: int, picture: Image.Image) -> None:
        """Draw a picture with round corners."""
        radius = min(round(RADIUS * self.scale), min(picture.size) // 4)
        self.picture.paste(picture, (left, top), _make_corner_mask(picture.size, radius))

    def sign(self, left: float, top: float, state: str, lettering: Lettering) -> int:
        """Draw the sign of a state before a text; returns the width it takes, 0 for a state without a sign."""
        mark = STATE_SIGNS.get(state)
        if mark is None:
            return 0
        size = round(lettering.size * 0.8)
        shape = _make_sign_mask(mark, size)
        place = round(left), round(top + (lettering.line - size) / 2)
        self.picture.paste(Image.new("RGB", shape.size, self.colours.of(state)), place, shape)
        return round(size * 1.5)


def scale_length(value: float, scale: float) -> int:
    """A length on a sheet of full width at this scale, at least one pixel."""
    return max(1, round(value * scale))


def get_letterings(scale: float) -> tuple[Lettering, Lettering]:
    """The lettering of body text and of small text."""
    return Lettering(max(MIN_BODY, round(BODY * scale))), Lettering(max(MIN_BODY - 1, round(SMALL * scale)))


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
    found: list[str] = []
    for place, part in enumerate(long):
        found += lettering.lines(part, room, max(1, (left - len(found)) // (len(long) - place)))
    # Long texts first, as everywhere.
    return [*found, *short][: max(max_lines, 1)]


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
def _make_sign_mask(mark: str, size: int) -> Image.Image:
    """A sign as a mask; drawn, because few fonts have all of them."""
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
