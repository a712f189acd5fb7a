"""Read and write metadata of a JPEG: its EXIF block, comments and XMP packet."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import BinaryIO

from ...util.containers import (
    JPEG_SCAN,
    FilePart,
    MalformedFile,
    get_length,
    parse_jpeg_segments,
    read_content,
)
from . import xmp
from .file_pieces import MAX_BYTES, FilePiece, Stretch, find_engine_record

XMP = b"http://ns.adobe.com/xap/1.0/\0"
"""First bytes of an XMP packet's segment."""

_APP0, _APP1, _COMMENT = b"\xe0", b"\xe1", b"\xfe"
_OURS = re.compile(rb"Reelbook (\d{1,3})/\d{1,3} ")
"""First bytes of our own comments. A segment holds 64 KiB, so a long record takes several."""
_ROOM = 65_000
_LARGEST = 65_533
_MAX_SEGMENTS = 10_000


def read_texts(file: BinaryIO) -> Iterator[tuple[str, str]]:
    """Yield the comments, the record of our engines in the EXIF block, and our own record."""
    ours: dict[int, bytes] = {}
    for segment in _segments(file):
        if segment.kind not in (_APP1, _COMMENT):
            continue
        content = read_content(file, segment)
        if segment.kind == _APP1:
            yield from find_engine_record(content) if content.startswith(b"Exif\0\0") else ()
        elif own := _OURS.match(content):
            ours[int(own[1])] = content[own.end() :]
        else:
            yield "comment", content.decode("utf-8", "replace").rstrip("\0")
    if ours:
        record = b"".join(ours[number] for number in sorted(ours))
        yield "reelbook", record[:MAX_BYTES].decode("utf-8", "replace")


def build_pieces(file: BinaryIO, record: str, source_type: str = "") -> list[FilePiece]:
    """The picture with our record and its source type near the start; an earlier record is removed.

    A foreign XMP packet gets the source type added, if it fits.
    """
    pieces: list[FilePiece] = [Stretch(0, 2)]
    segments = list(_segments(file))
    foreign = next((item for item in segments if item.kind == _APP1 and read_content(file, item).startswith(XMP)), None)
    ours, is_written = _comments(record.encode()), False
    if source_type and foreign is None:
        ours.insert(0, _segment(_APP1, XMP + xmp.make_packet(source_type=source_type)))
    for segment in segments:
        # Directly after the segments that must come first: a second picture at the end of the file, such as a phone's
        # gain map, is found by its offset from one of the next segments.
        if not is_written and segment.kind not in (_APP0, _APP1):
            pieces += ours
            is_written = True
        if segment.kind == JPEG_SCAN:
            # The pixels follow.
            return [*pieces, Stretch(segment.start, get_length(file))]
        if segment == foreign:
            pieces.append(_typed(file, segment, source_type))
        elif not (segment.kind == _COMMENT and _OURS.match(read_content(file, segment))):
            pieces.append(Stretch(segment.start, segment.stop))
    raise MalformedFile("it has no pixels")


def _segments(file: BinaryIO) -> Iterator[FilePart]:
    return parse_jpeg_segments(file, limit=_MAX_SEGMENTS)


def _typed(file: BinaryIO, segment: FilePart, source_type: str) -> FilePiece:
    """A foreign packet with the source type added; unchanged if that is not possible."""
    foreign = read_content(file, segment).removeprefix(XMP)
    merged = xmp.merge_into_packet(foreign, source_type=source_type)
    if source_type and merged is not None:
        content = XMP + (merged if len(merged) <= _ROOM else xmp.without_padding(merged))
        if len(content) <= _LARGEST:
            return _segment(_APP1, content)
    return Stretch(segment.start, segment.stop)


def _comments(record: bytes) -> list[bytes]:
    parts = [record[start : start + _ROOM] for start in range(0, len(record), _ROOM)]
    contents = [b"Reelbook %d/%d %s" % (number, len(parts), part) for number, part in enumerate(parts, 1)]
    return [_segment(_COMMENT, content) for content in contents]


def _segment(marker: bytes, content: bytes) -> bytes:
    return b"\xff" + marker + struct.pack(">H", len(content) + 2) + content
