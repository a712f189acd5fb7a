"""Labels on pictures, in any script: each character from a font that has it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from PIL import ImageFont, features
from PIL.ImageDraw import ImageDraw
from PIL.ImageFont import FreeTypeFont

from .font_coverage import Coverage, read_coverage
from .font_files import FontFile, find_font_files

ELLIPSIS, DOT = "…", " · "
LONGEST = 400
"""Characters of a text that are looked at; no label has room for more."""
_RIGHT_TO_LEFT = ("R", "AL")
_PILLOWS = FontFile("")
"""The font that comes with Pillow, for machines without any: it has little more than ASCII."""
_WANTED = "AZaz09·…×≈–àčßж"
"""What the font of most labels must have, so that one label does not mix several."""
_INSTEAD = str.maketrans(
    {"×": "x", "≈": "~", "–": "-", "—": "-", "’": "'", "“": '"', "”": '"', "→": ">", "…": "...", "\u00a0": " "}
)
"""What says the same with fewer signs, for machines without fonts."""
_JOINERS = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class TextRun:
    """Characters that stand together and come from one font."""

    text: str
    font: FontFile


class Lettering:
    """Type of one size.

    >>> Lettering(26).cut("a paper boat\\n on a rainy street", 2000)
    'a paper boat on a rainy street'
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.ascent, self.descent = _font(_usual(), size).getmetrics()

    @property
    def line(self) -> int:
        """Pixels from one line to the next: those of type and 4 in 13 of air, as on a page."""
        return round(self.size * 1.4)

    def width(self, text: str) -> float:
        """How wide a text is."""
        return sum(_width(run, self.size) for run in split_by_font(text))

    def draw(self, on: ImageDraw, left: float, top: float, text: str, ink: str, *, room: float | None = None) -> None:
        """Write a text from here to the right, in the line whose upper end is here; cut to the room there is."""
        shown = flatten(text) if room is None else self.cut(text, room)
        # The line is higher than its letters; what is left is above and below.
        base = top + (self.line + self.ascent - self.descent) / 2
        x = left
        for run in split_by_font(shown):
            on.text((x, base), run.text, fill=ink, font=_font(run.font, self.size), anchor="ls")
            x += _width(run, self.size)

    def cut(self, text: str, room: float) -> str:
        """The text on one line, with an ellipsis where it does not fit."""
        whole = flatten(text)
        if self.width(whole) <= room and len(whole) < LONGEST:
            return whole
        length = self._fitting(whole, room - self.width(ELLIPSIS))
        return whole[:length].rstrip(" ·,") + ELLIPSIS

    def lines(self, text: str, room: float, most: int) -> list[str]:
        """The text on so many lines at most, broken at spaces where that can be; the last one is cut."""
        left, found = flatten(text), list[str]()
        while left and len(found) < most - 1 and self.width(left) > room:
            length = max(1, self._fitting(left, room))
            space = left.rfind(" ", 0, length + 1)
            # A word that fills half of the line is broken rather than moved.
            length = space if space > length // 2 else length
            found.append(left[:length].rstrip())
            left = left[length:].lstrip()
        return [*found, self.cut(left, room)] if left else found

    def _fitting(self, text: str, room: float) -> int:
        """How many characters fit; a mark stays with its letter."""
        low, high = 0, len(text)
        while low < high:
            half = (low + high + 1) // 2
            low, high = (half, high) if self.width(text[:half]) <= room else (low, half - 1)
        while 0 < low < len(text) and _belongs_to_the_one_before(text[low]):
            low -= 1
        return low


def flatten(text: str) -> str:
    """A text on one line, without signs that only steer a screen; no longer than a label can be."""
    start = "".join(map(_plain, text[: 4 * LONGEST]))
    return " ".join(start.split())[:LONGEST]


@lru_cache(maxsize=4096)
def split_by_font(text: str) -> tuple[TextRun, ...]:
    """The text from left to right in stretches of one font; what no font has as its code point.

    >>> [run.text for run in split_by_font("a boat")]
    ['a boat']
    """
    if text.isascii():
        return (TextRun(text, _usual()),) if text else ()
    return tuple(run for part in _split_directions(text) for run in _ordered(_joined(_pieces(part)), part))


def _plain(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "Cc" or kind in ("Zl", "Zp"):
        return " " if character.isspace() else ""
    # Some of the others turn around the order of what follows them.
    return "" if kind == "Cf" and character not in _JOINERS else character


def _split_directions(text: str) -> list[str]:
    """Parts that must not turn each other around where one is written from right to left: a prompt, and what follows it."""
    if not any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        return [text]
    parts = text.split(DOT)
    return [piece for part in parts for piece in (part, DOT)][:-1]


def _pieces(text: str) -> Iterator[TextRun]:
    """The whole from one font if there is one, else word by word, and a word letter by letter."""
    font = _font_for(text)
    if font is not None:
        yield TextRun(text, font)
    elif " " in text.strip(" "):
        for word in re.findall(r"[^ ]* *", text):
            yield from _pieces(word) if word else ()
    else:
        yield from map(_letter, _letters(text))


def _letters(word: str) -> Iterator[str]:
    """Each letter with its marks."""
    letter = ""
    for character in word:
        if letter and not _belongs_to_the_one_before(character):
            yield letter
            letter = ""
        letter += character
    if letter:
        yield letter


def _letter(letter: str) -> TextRun:
    """A letter from the first font that has it; without its marks where none has them too."""
    for text in (letter, letter[0]):
        font = _font_for(text)
        if font is not None:
            return TextRun(text, font)
    instead = letter[0].translate(_INSTEAD)
    return TextRun(instead if instead != letter[0] else f"[U+{ord(letter[0]):04X}]", _usual())


def _joined(pieces: Iterable[TextRun]) -> list[TextRun]:
    """Neighbours of one font as one: Pillow puts letters in their order and shape only within a run."""
    found: list[TextRun] = []
    for run in pieces:
        if found and found[-1].font == run.font:
            found[-1] = TextRun(found[-1].text + run.text, run.font)
        else:
            found.append(run)
    return found


def _ordered(found: list[TextRun], text: str) -> list[TextRun]:
    """The stretches in the order they are seen: from the right, if the text begins there."""
    first = next((kind for kind in map(unicodedata.bidirectional, text) if kind in ("L", *_RIGHT_TO_LEFT)), "L")
    return found[::-1] if first in _RIGHT_TO_LEFT and features.check("raqm") else found


def _belongs_to_the_one_before(character: str) -> bool:
    """A mark, a joiner or a shade of skin: it changes what stands before it."""
    return unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf") or 0x1F3FB <= ord(character) <= 0x1F3FF


def _width(run: TextRun, size: int) -> float:
    return _font(run.font, size).getlength(run.text)


@lru_cache(maxsize=4096)
def _font_for(text: str) -> FontFile | None:
    """The first font that has all of these characters, whatever they are."""
    characters = set(text)
    return next((font for font in (_usual(), *find_font_files()) if _has_all(font, characters) and _opens(font)), None)


@cache
def _usual() -> FontFile:
    """The font of most labels: the first of this machine that has what they need."""
    wanted = set(_WANTED)
    return next((font for font in find_font_files() if _has_all(font, wanted) and _opens(font)), _PILLOWS)


def _has_all(font: FontFile, characters: Iterable[str]) -> bool:
    known = _coverage(font)
    return all(character in known for character in characters)


@cache
def _coverage(font: FontFile) -> Coverage:
    return read_coverage(_font(font, 16).font_bytes if font == _PILLOWS else font.path, font.face)


@cache
def _opens(font: FontFile) -> bool:
    """Whether Pillow can write with it at any size; fonts of small pictures have one size only."""
    try:
        return _font(font, 26).getlength("n") >= 0
    except (OSError, ValueError):
        return False


@lru_cache(maxsize=256)
def _font(font: FontFile, size: int) -> FreeTypeFont:
    if font != _PILLOWS:
        return ImageFont.truetype(font.path, size, font.face)
    found = ImageFont.load_default(size)
    assert isinstance(found, FreeTypeFont)
    return found
