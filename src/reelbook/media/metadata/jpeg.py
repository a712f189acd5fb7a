"""Texts in a JPEG: its EXIF block and its comments."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from . import exif, xmp
from .file_pieces import MAX_BYTES, MalformedFile, Piece, Stretch, get_length, read_exactly

SIGNATURE = b"\xff\xd8\xff"

XMP = b"http://ns.adobe.com/xap/1.0/\0"
"""How the segment of an XMP packet begins."""

_APP0, _APP1, _APP11, _COMMENT, _SCAN = 0xE0, 0xE1, 0xEB, 0xFE, 0xDA
_C2PA = re.compile(rb"\xff\xeb..JP.{10}jumb(?:.{8})?.{4}jumdc2pa", re.DOTALL)
"""How a manifest begins."""
_BOX_HEAD_BYTES = 20
_BLOCK, _OVERLAP = 1 << 20, 64
_OURS = re.compile(rb"Reelbook (\d{1,3})/\d{1,3} ")
"""How our own comments begin. A segment holds 64 KiB, so a long record takes several."""
_ROOM = 65_000
_LARGEST = 65_533
_MAX_SEGMENTS = 10_000


@dataclass(frozen=True, slots=True)
class _Segment:
    """Where a segment is, and what its marker says."""

    marker: int
    start: int
    stop: int


def read_texts(file: BinaryIO) -> Iterator[tuple[str, str]]:
    """The comments, the texts of the EXIF block, and our own record."""
    ours: dict[int, bytes] = {}
    for segment in _segments(file):
        if segment.marker not in (_APP1, _COMMENT):
            continue
        content = _content(file, segment)
        if segment.marker == _APP1:
            yield from exif.parse_texts(content).items() if content.startswith(b"Exif\0\0") else ()
        elif own := _OURS.match(content):
            ours[int(own[1])] = content[own.end() :]
        else:
            yield "comment", content.decode("utf-8", "replace").rstrip("\0")
    if ours:
        record = b"".join(ours[number] for number in sorted(ours))
        yield "reelbook", record[:MAX_BYTES].decode("utf-8", "replace")


def find_manifest_parts(file: BinaryIO) -> Iterator[Stretch]:
    """The parts of the manifest of its maker, which C2PA cuts into segments; without what each repeats of the first."""
    parts: dict[int, Stretch] = {}
    instance = None
    pixels = get_length(file)
    for segment in _segments(file):
        if segment.marker == _SCAN:
            pixels = segment.start
        if segment.marker != _APP11 or segment.stop - segment.start < _BOX_HEAD_BYTES:
            continue
        # "JP", which box this is a part of, which part, and then, in each part again, the length and kind of the box.
        letters, box, number, size = struct.unpack(">2sHII", read_exactly(file, segment.start + 4, 12))
        if (
            letters == b"JP"
            and instance is None
            and _C2PA.search(read_exactly(file, segment.start, segment.stop - segment.start))
        ):
            instance = box
        if letters == b"JP" and box == instance:
            repeated = 0 if number == 1 else 16 if size == 1 else 8
            parts.setdefault(number, Stretch(segment.start + 12 + repeated, segment.stop))
    yield from (parts[number] for number in sorted(parts))
    if not parts:
        yield from _among_pixels(file, pixels)


def read_packets(file: BinaryIO) -> Iterator[bytes]:
    """Its XMP packets."""
    for segment in _segments(file):
        if segment.marker == _APP1 and (content := _content(file, segment)).startswith(XMP):
            yield content.removeprefix(XMP)


def build_pieces(file: BinaryIO, record: str, source_type: str = "") -> list[Piece]:
    """The same picture with our record and its kind of source near its beginning; an earlier record goes.

    An XMP packet of others takes the kind of source in, if there is room for it.
    """
    pieces: list[Piece] = [Stretch(0, 2)]
    segments = list(_segments(file))
    theirs = next((one for one in segments if one.marker == _APP1 and _content(file, one).startswith(XMP)), None)
    ours, is_in = _comments(record.encode()), False
    if source_type and theirs is None:
        ours.insert(0, _segment(_APP1, XMP + xmp.make_packet(source_type=source_type)))
    for segment in segments:
        # After what has to come first, and no later: a second picture at the end of the file, such as a phone's map
        # of bright places, is found by its distance from a segment that comes next.
        if not is_in and segment.marker not in (_APP0, _APP1):
            pieces += ours
            is_in = True
        if segment.marker == _SCAN:
            # From here on it is pixels.
            return [*pieces, Stretch(segment.start, get_length(file))]
        if segment == theirs:
            pieces.append(_typed(file, segment, source_type))
        elif not (segment.marker == _COMMENT and _OURS.match(_content(file, segment))):
            pieces.append(Stretch(segment.start, segment.stop))
    raise MalformedFile("it has no pixels")


def _among_pixels(file: BinaryIO, start: int) -> Iterator[Stretch]:
    """Where a manifest begins after the first pixels. There a marker cannot be mistaken for anything else."""
    for at in range(start, get_length(file), _BLOCK):
        file.seek(at)
        if found := _C2PA.search(file.read(_BLOCK + _OVERLAP)):
            yield Stretch(at + found.start() + 12, at + found.end())
            return


def _segments(file: BinaryIO) -> Iterator[_Segment]:
    """The segments up to where the pixels begin."""
    size, start = get_length(file), 2
    for _ in range(_MAX_SEGMENTS):
        if start + 4 > size:
            return
        filler, marker, count = struct.unpack(">BBH", read_exactly(file, start, 4))
        if filler != 0xFF:
            raise MalformedFile("something stands between its segments")
        if marker == 0xFF:  # Any number of these may stand before a marker.
            start += 1
            continue
        stop = start + 2 + count
        if count < 2 or stop > size:
            raise MalformedFile("a segment claims more than the file has")
        yield _Segment(marker, start, stop)
        if marker == _SCAN:
            return
        start = stop
    raise MalformedFile("it has too many segments")


def _content(file: BinaryIO, segment: _Segment) -> bytes:
    return read_exactly(file, segment.start + 4, segment.stop - segment.start - 4)


def _typed(file: BinaryIO, segment: _Segment, source_type: str) -> Piece:
    """A packet of others with the kind of source in it; as it is where that cannot be."""
    theirs = _content(file, segment).removeprefix(XMP)
    whole = xmp.merge_into_packet(theirs, source_type=source_type)
    if source_type and whole is not None and not xmp.find_source_type(theirs):
        content = XMP + (whole if len(whole) <= _ROOM else xmp.without_padding(whole))
        if len(content) <= _LARGEST:
            return _segment(_APP1, content)
    return Stretch(segment.start, segment.stop)


def _comments(record: bytes) -> list[bytes]:
    parts = [record[start : start + _ROOM] for start in range(0, len(record), _ROOM)]
    contents = [b"Reelbook %d/%d %s" % (number, len(parts), part) for number, part in enumerate(parts, 1)]
    return [_segment(_COMMENT, content) for content in contents]


def _segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content
