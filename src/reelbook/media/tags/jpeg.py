"""Texts in a JPEG: its EXIF block and its comments."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from . import exif
from .pieces import MOST_BYTES, OddFile, Piece, Stretch, length, taken

SIGNATURE = b"\xff\xd8\xff"

_APP0, _APP1, _COMMENT, _SCAN = 0xE0, 0xE1, 0xFE, 0xDA
_OURS = re.compile(rb"Reelbook (\d{1,3})/\d{1,3} ")
"""How our own comments begin. A segment holds 64 KiB, so a long record takes several."""
_ROOM = 65_000
_MOST_SEGMENTS = 10_000


@dataclass(frozen=True, slots=True)
class _Segment:
    """Where a segment is, and what its marker says."""

    marker: int
    start: int
    stop: int


def texts(file: BinaryIO) -> Iterator[tuple[str, str]]:
    """The comments, the texts of the EXIF block, and our own record."""
    ours: dict[int, bytes] = {}
    for segment in _segments(file):
        if segment.marker not in (_APP1, _COMMENT):
            continue
        content = _content(file, segment)
        if segment.marker == _APP1:
            yield from exif.texts(content).items() if content.startswith(b"Exif\0\0") else ()
        elif own := _OURS.match(content):
            ours[int(own[1])] = content[own.end() :]
        else:
            yield "comment", content.decode("utf-8", "replace").rstrip("\0")
    if ours:
        record = b"".join(ours[number] for number in sorted(ours))
        yield "reelbook", record[:MOST_BYTES].decode("utf-8", "replace")


def edited(file: BinaryIO, record: str) -> list[Piece]:
    """The same picture with our record near its beginning; an earlier one goes."""
    pieces: list[Piece] = [Stretch(0, 2)]
    told, is_in = _comments(record.encode()), False
    for segment in _segments(file):
        # After what has to come first, and no later: a second picture at the end of the file, such as a phone's map
        # of bright places, is found by its distance from a segment that comes next.
        if not is_in and segment.marker not in (_APP0, _APP1):
            pieces += told
            is_in = True
        if segment.marker == _SCAN:
            # From here on it is pixels.
            return [*pieces, Stretch(segment.start, length(file))]
        if not (segment.marker == _COMMENT and _OURS.match(_content(file, segment))):
            pieces.append(Stretch(segment.start, segment.stop))
    raise OddFile("it has no pixels")


def _segments(file: BinaryIO) -> Iterator[_Segment]:
    """The segments up to where the pixels begin."""
    size, start = length(file), 2
    for _ in range(_MOST_SEGMENTS):
        if start + 4 > size:
            return
        filler, marker, count = struct.unpack(">BBH", taken(file, start, 4))
        if filler != 0xFF:
            raise OddFile("something stands between its segments")
        if marker == 0xFF:  # Any number of these may stand before a marker.
            start += 1
            continue
        stop = start + 2 + count
        if count < 2 or stop > size:
            raise OddFile("a segment claims more than the file has")
        yield _Segment(marker, start, stop)
        if marker == _SCAN:
            return
        start = stop
    raise OddFile("it has too many segments")


def _content(file: BinaryIO, segment: _Segment) -> bytes:
    return taken(file, segment.start + 4, segment.stop - segment.start - 4)


def _comments(record: bytes) -> list[bytes]:
    parts = [record[start : start + _ROOM] for start in range(0, len(record), _ROOM)]
    contents = [b"Reelbook %d/%d %s" % (number, len(parts), part) for number, part in enumerate(parts, 1)]
    return [struct.pack(">BBH", 0xFF, _COMMENT, len(content) + 2) + content for content in contents]
