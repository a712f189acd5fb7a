"""Labels on pictures in any script, with other fonts for words that the default font lacks characters of."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from PIL import ImageFont
from PIL.ImageDraw import ImageDraw
from PIL.ImageFont import FreeTypeFont

ELLIPSIS = "…"
LONGEST = 400
"""Maximum characters of a label; the rest of a text is ignored."""
_PILLOWS = ""
"""Pillow's built-in font, for machines without any: it covers little more than ASCII."""
_WANTED = "AZaz09·…×≈–àčßж"
"""Characters that the default font must cover, so that most labels need a single font."""
_INSTEAD = str.maketrans(
    {"×": "x", "≈": "~", "–": "-", "—": "-", "’": "'", "“": '"', "”": '"', "→": ">", "…": "...", "\u00a0": " "}
)
"""ASCII substitutes, for machines without fonts."""
_JOINERS = "\u200c\u200d"
MAX_FILES, ENDINGS = 3000, (".ttf", ".otf", ".ttc", ".otc")
_UPRIGHT_SANS = ("dejavusans.", "notosans", "arial", "segoeui", "sfns", "helvetica", "liberationsans", "roboto", "pingfang", "msyh", "yugoth", "malgun")  # fmt: skip
_ODD = re.compile(
    r"bold|italic|oblique|light|thin|black|heavy|medium|condensed|cond\b|mono|serif|slanted|display|math|bd\.|-bi|ultra|extra|lastresort",
    re.IGNORECASE,
)
"""Words in the names of fonts unsuitable for plain text."""
_MISSING = "\U0010ffff"
"""A character that no font has, for which each draws its box."""


@dataclass(frozen=True, slots=True)
class TextRun:
    """Consecutive characters drawn with one font."""

    text: str
    font: str
    """Its file; empty for Pillow's own."""


class Lettering:
    """Measures and draws text at one font size.

    >>> Lettering(26).cut("a paper boat\\n on a rainy street", 2000)
    'a paper boat on a rainy street'
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.ascent, self.descent = _font(_usual(), size).getmetrics()

    @property
    def line(self) -> int:
        """Line height in pixels: 1.4 times the font size."""
        return round(self.size * 1.4)

    def width(self, text: str) -> float:
        """Width of a text in pixels."""
        return sum(_width(run, self.size) for run in split_by_font(text))

    def draw(self, on: ImageDraw, left: float, top: float, text: str, ink: str, *, room: float | None = None) -> None:
        """Draw a line of text with its upper left corner at (left, top), truncated to the room if given."""
        flat = flatten(text) if room is None else self.cut(text, room)
        # The line is higher than its letters; they are centred in it.
        base = top + (self.line + self.ascent - self.descent) / 2
        x = left
        for run in split_by_font(flat):
            on.text((x, base), run.text, fill=ink, font=_font(run.font, self.size), anchor="ls")
            x += _width(run, self.size)

    def cut(self, text: str, room: float) -> str:
        """The text on one line, truncated with an ellipsis if it does not fit."""
        flat = flatten(text)
        if self.width(flat) <= room and len(flat) < LONGEST:
            return flat
        length = self._fitting(flat, room - self.width(ELLIPSIS))
        return flat[:length].rstrip(" ·,") + ELLIPSIS

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

    def _fitting(self, text: str, room: float) -> int:
        """The number of characters that fit, without splitting a letter from its combining marks."""
        low, high = 0, len(text)
        while low < high:
            half = (low + high + 1) // 2
            low, high = (half, high) if self.width(text[:half]) <= room else (low, half - 1)
        while 0 < low < len(text) and _is_combining(text[low]):
            low -= 1
        return low


def flatten(text: str) -> str:
    """A text on one line, without control characters, cut to `LONGEST` characters."""
    start = "".join(map(_plain, text[: 4 * LONGEST]))
    return " ".join(start.split())[:LONGEST]


@lru_cache(maxsize=4096)
def split_by_font(text: str) -> tuple[TextRun, ...]:
    """The text in runs of words of one font each; a character that the font of its word lacks is its code point.

    >>> [run.text for run in split_by_font("a boat")]
    ['a boat']
    """
    if text.isascii():
        return (TextRun(text, _usual()),) if text else ()
    runs: list[TextRun] = []
    for word in filter(None, re.findall(r"[^ ]* *", text)):
        font = _find_font(word)
        written = "".join(character if _has_all(font, character) else _describe(character) for character in word)
        # Pillow orders and shapes letters only within a run.
        before = runs.pop().text if runs and runs[-1].font == font else ""
        runs.append(TextRun(before + written, font))
    return tuple(runs)


def _plain(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "Cc" or kind in ("Zl", "Zp"):
        return " " if character.isspace() else ""
    # Some of the format characters reverse the order of what follows them.
    return "" if kind == "Cf" and character not in _JOINERS else character


def _describe(character: str) -> str:
    instead = character.translate(_INSTEAD)
    return instead if instead != character else f"[U+{ord(character):04X}]"


def _is_combining(character: str) -> bool:
    """Whether this is a mark, a joiner or a skin tone, which modifies the character before it."""
    return unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf") or 0x1F3FB <= ord(character) <= 0x1F3FF


def _width(run: TextRun, size: int) -> float:
    return _font(run.font, size).getlength(run.text)


@lru_cache(maxsize=4096)
def _find_font(word: str) -> str:
    """The font for a word: the default one if it has all characters, else the first that does, or that has the first one missing."""
    missing = next((character for character in word if not _has_all(_usual(), character)), "")
    fonts = [font for font in find_font_files() if _has_all(font, missing)] if missing else []
    return next((font for font in fonts if _has_all(font, word)), next(iter(fonts), _usual()))


@cache
def _usual() -> str:
    """The default font: the first installed that covers `_WANTED`."""
    return next((font for font in find_font_files() if _has_all(font, _WANTED)), _PILLOWS)


def _has_all(font: str, characters: Iterable[str]) -> bool:
    return all(character.isspace() or _has(font, character) for character in characters)


@lru_cache(maxsize=20_000)
def _has(font: str, character: str) -> bool:
    """Whether a font draws this character, and not the box for missing ones. One of bitmaps alone draws none."""
    try:
        return _drawn(font, character) != _drawn(font, _MISSING)
    except (OSError, ValueError):
        return False


def _drawn(font: str, character: str) -> tuple[tuple[int, int], bytes]:
    mask = _font(font, 26).getmask(character)
    return mask.size, bytes(mask)


@lru_cache(maxsize=256)
def _font(font: str, size: int) -> FreeTypeFont:
    if font != _PILLOWS:
        return ImageFont.truetype(font, size)
    builtin = ImageFont.load_default(size)
    assert isinstance(builtin, FreeTypeFont)
    return builtin


@cache
def find_font_files() -> tuple[str, ...]:
    """The font files installed on this machine, upright sans-serif ones first."""
    files = [
        str(Path(place, name))
        for folder in _font_folders()
        for place, _, names in os.walk(folder)
        for name in names
        if name.lower().endswith(ENDINGS)
    ]
    return tuple(sorted(files, key=_rank)[:MAX_FILES])


def _rank(font: str) -> tuple[bool, bool, int, str]:
    name = Path(font).name.lower()
    is_known = any(name.replace("-", "").startswith(known) for known in _UPRIGHT_SANS)
    return bool(_ODD.search(name)), not is_known, len(name), font


def _font_folders() -> list[Path]:
    home = Path.home()
    if sys.platform == "darwin":
        return [Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library" / "Fonts"]
    if sys.platform == "win32":
        own = os.environ.get("LOCALAPPDATA", str(home))
        return [Path(os.environ.get("WINDIR", "C:/Windows"), "Fonts"), Path(own, "Microsoft", "Windows", "Fonts")]
    return [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), home / ".fonts", home / ".local/share/fonts"]
