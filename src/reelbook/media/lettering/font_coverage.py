"""The characters that a font file covers, read from its `cmap` table."""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MAX_TABLE = 4_000_000
"""Maximum bytes of a `cmap` table; those of the largest fonts take a tenth of it."""
_UNICODE = {(3, 10): 3, (0, 6): 3, (0, 4): 3, (3, 1): 2, (0, 3): 1, (0, 2): 1, (0, 1): 1, (0, 0): 1}
"""Rank of the Unicode encodings by (platform, encoding): larger ones cover more of Unicode."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The characters of a font, as ranges of code points."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def __contains__(self, character: str) -> bool:
        code = ord(character)
        place = bisect_right(self.starts, code) - 1
        return place >= 0 and code <= self.ends[place]


def read_coverage(font: bytes | str | Path, index: int = 0) -> Coverage:
    """The characters of a font in a file or in memory; none if unreadable. `index`: its position in a collection."""
    try:
        with io.BytesIO(font) if isinstance(font, bytes) else Path(font).open("rb") as file:
            ranges = sorted(_ranges(_table(file, index)))
    except (OSError, struct.error, IndexError, ValueError):
        ranges = []
    joined: list[list[int]] = []
    for start, end in ranges:
        if joined and start <= joined[-1][1] + 1:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    return Coverage(tuple(start for start, _ in joined), tuple(end for _, end in joined))


def _table(file: BinaryIO, index: int) -> bytes:
    """The raw `cmap` table."""
    head = file.read(12)
    if head[:4] == b"ttcf":
        file.seek(12 + 4 * index)
        file.seek(struct.unpack(">I", file.read(4))[0])
        head = file.read(12)
    (count,) = struct.unpack(">4xH6x", head)
    for tag, _, start, length in struct.iter_unpack(">4sIII", file.read(16 * count)):
        if tag == b"cmap":
            file.seek(start)
            return file.read(min(length, MAX_TABLE))
    raise ValueError("no table of characters")


def _ranges(table: bytes) -> Iterator[tuple[int, int]]:
    """First and last code point of each range in the subtable with the largest coverage."""
    (count,) = struct.unpack_from(">2xH", table)
    parts = [struct.unpack_from(">HHI", table, 4 + 8 * place) for place in range(count)]
    known = [(_UNICODE[kind, coding], start) for kind, coding, start in parts if (kind, coding) in _UNICODE]
    if not known:
        return
    _, start = max(known)
    (form,) = struct.unpack_from(">H", table, start)
    if form == 4:
        yield from _segments(table, start)
    elif form in (12, 13):
        (groups,) = struct.unpack_from(">I", table, start + 12)
        for first, last, glyph in struct.iter_unpack(">III", table[start + 16 : start + 16 + 12 * groups]):
            # Glyph 0 is the box for missing characters.
            yield (first if glyph else first + 1), last
    elif form == 6:
        first, length = struct.unpack_from(">HH", table, start + 6)
        glyphs = struct.unpack_from(f">{length}H", table, start + 10)
        yield from ((first + place, first + place) for place, glyph in enumerate(glyphs) if glyph)


def _segments(table: bytes, start: int) -> Iterator[tuple[int, int]]:
    """The ranges of a format 4 subtable: four arrays with one entry per segment."""
    double = struct.unpack_from(">H", table, start + 6)[0]
    segments = double // 2
    ends = struct.unpack_from(f">{segments}H", table, start + 14)
    starts = struct.unpack_from(f">{segments}H", table, start + 16 + double)
    deltas = struct.unpack_from(f">{segments}H", table, start + 16 + 2 * double)
    column = start + 16 + 3 * double
    offsets = struct.unpack_from(f">{segments}H", table, column)
    for place, (first, last, delta, offset) in enumerate(zip(starts, ends, deltas, offsets, strict=True)):
        if first == 0xFFFF:
            continue
        if not offset:
            # The glyph is character + delta modulo 65,536, so one character of a segment may have glyph 0.
            hole = -delta & 0xFFFF
            pieces = (
                ((first, min(last, hole - 1)), (max(first, hole + 1), last))
                if first <= hole <= last
                else ((first, last),)
            )
            yield from (piece for piece in pieces if piece[0] <= piece[1])
            continue
        at = column + 2 * place + offset
        glyphs = struct.unpack_from(f">{last - first + 1}H", table, at)
        yield from ((first + step, first + step) for step, glyph in enumerate(glyphs) if glyph)
