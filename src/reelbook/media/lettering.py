"""Labels on pictures, in the first installed font that has all their characters."""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache

from PIL import ImageFont
from PIL.ImageDraw import ImageDraw
from PIL.ImageFont import FreeTypeFont

ELLIPSIS = "…"
LONGEST = 400
"""Maximum characters of a label; the rest of a text is ignored."""
FONTS = (
    "DejaVuSans.ttf", "NotoSans-Regular.ttf", "segoeui.ttf", "arial.ttf", "Helvetica.ttc", "LiberationSans-Regular.ttf",
    "Arial Unicode.ttf", "NotoSansCJK-Regular.ttc", "PingFang.ttc", "msyh.ttc", "YuGothM.ttc", "malgun.ttf", "wqy-microhei.ttc",
    "wqy-zenhei.ttc", "ipag.ttf", "NotoSansArabic-Regular.ttf", "NotoSansHebrew-Regular.ttf", "NotoSansThai-Regular.ttf",
    "NotoSansDevanagari-Regular.ttf", "NotoSansBengali-Regular.ttf", "NotoSansTamil-Regular.ttf", "Nirmala.ttf", "LeelawUI.ttf",
)  # fmt: skip
"""The fonts for plain text that systems have, which Pillow finds by name wherever they are installed."""
_BUILT_IN = ""
"""Pillow's own font, for machines without any: it covers little more than ASCII."""
_INSTEAD = str.maketrans({"×": "x", "≈": "~", "–": "-", "—": "-", "→": ">"})
"""What Pillow's built-in font has instead."""
_MISSING = "\U0010ffff"
"""A character that no font has, for which each draws its box."""


class Lettering:
    """Measures and draws text at one font size.

    >>> Lettering(26).cut("a paper boat\\n on a rainy street", 2000)
    'a paper boat on a rainy street'
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.ascent, self.descent = _font(_find_installed()[0], size).getmetrics()

    @property
    def line(self) -> int:
        """Line height in pixels: 1.4 times the font size."""
        return round(self.size * 1.4)

    def width(self, text: str) -> float:
        """Width of a text in pixels."""
        return _font(find_font(text), self.size).getlength(text)

    def draw(self, on: ImageDraw, left: float, top: float, text: str, ink: str, *, room: float) -> None:
        """Draw a line of text with its upper left corner at (left, top), truncated to the room."""
        flat = self.cut(text, room)
        # The line is higher than its letters; they are centred in it.
        base = top + (self.line + self.ascent - self.descent) / 2
        on.text((left, base), flat, fill=ink, font=_font(find_font(flat), self.size), anchor="ls")

    def cut(self, text: str, room: float) -> str:
        """The text on one line, truncated with an ellipsis if it does not fit."""
        flat = flatten(text)
        if self.width(flat) <= room and len(flat) < LONGEST:
            return flat
        return flat[: self._fitting(flat, room, ELLIPSIS)].rstrip(" ·,") + ELLIPSIS

    def lines(self, text: str, room: float, max_lines: int) -> list[str]:
        """The text wrapped to at most `max_lines` lines, at spaces where possible; the last line is truncated."""
        left, lines = flatten(text), list[str]()
        while left and len(lines) < max_lines - 1 and self.width(left) > room:
            length = max(1, self._fitting(left, room))
            space = left.rfind(" ", 0, length + 1)
            # A word that fills half of the line is broken rather than wrapped.
            length = space if space > length // 2 else length
            lines.append(left[:length].rstrip())
            left = left[length:].lstrip()
        return [*lines, self.cut(left, room)] if left else lines

    def _fitting(self, text: str, room: float, end: str = "") -> int:
        """The number of characters that fit together with the end."""
        low, high = 0, len(text)
        while low < high:
            half = (low + high + 1) // 2
            low, high = (half, high) if self.width(text[:half] + end) <= room else (low, half - 1)
        return low


def flatten(text: str) -> str:
    """A text on one line, without control characters, cut to `LONGEST` characters."""
    flat = " ".join("".join(map(_plain, text[: 4 * LONGEST])).split())[:LONGEST]
    return flat.translate(_INSTEAD) if _find_installed()[0] == _BUILT_IN else flat


def _plain(character: str) -> str:
    if character.isspace():
        return " "
    # Some format characters reverse the order of what follows them, two join letters; lone surrogates cannot be drawn.
    is_drawn = unicodedata.category(character) not in ("Cc", "Cf", "Cs") or character in "\u200c\u200d"
    return character if is_drawn else ""


@lru_cache(maxsize=4096)
def find_font(text: str) -> str:
    """The font for a text: the first that has all of its characters, else the first."""
    others = "".join(sorted({character for character in text if not character.isascii()}))
    return next((font for font in _find_installed() if _has_all(font, others)), _find_installed()[0])


@cache
def _find_installed() -> tuple[str, ...]:
    """Those of the fonts that this machine has, and Pillow's own."""
    return (*(font for font in FONTS if _has_all(font, " ")), _BUILT_IN)


@lru_cache(maxsize=20_000)
def _has_all(font: str, characters: str) -> bool:
    """Whether a font draws these characters, and not the box for missing ones."""
    try:
        box = _drawn(font, _MISSING)
        return all(_drawn(font, character) != box for character in characters if not character.isspace())
    except (OSError, ValueError):
        return False


def _drawn(font: str, character: str) -> tuple[tuple[int, int], bytes]:
    mask = _font(font, 26).getmask(character)
    return mask.size, bytes(mask)


@lru_cache(maxsize=256)
def _font(font: str, size: int) -> FreeTypeFont:
    if font != _BUILT_IN:
        return ImageFont.truetype(font, size)
    builtin = ImageFont.load_default(size)
    assert isinstance(builtin, FreeTypeFont)
    return builtin
