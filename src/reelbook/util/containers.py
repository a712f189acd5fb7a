"""The parts of PNG, JPEG, RIFF and MP4 files by their position, found without a decoder."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

PIECE_BYTES = 1 << 18
"""The most that is read at once, whatever lengths a file declares."""
MAX_PARTS = 100_000
"""Default for the maximum number of parts that are read; a large PNG has some ten thousand."""

PNG_SIGNATURE, JPEG_SIGNATURE = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
JPEG_SCAN, JPEG_END = b"\xda", b"\xd9"
_WITHOUT_LENGTH = (0x01, *range(0xD0, 0xDA))
"""JPEG markers that are no more than themselves."""


class MalformedFile(Exception):
    """The file is incomplete, or does not conform to its format."""


class FilePart(NamedTuple):
    """Position and type of a chunk, segment, block or box."""

    kind: bytes
    start: int
    inside: int
    """Start of its content."""
    stop: int
    """End of its content."""
    end: int
    """End of the part, including its checksum or padding."""
    is_open: bool = False
    """Whether it extends to the end of the file, without a stated size."""

    @property
    def size(self) -> int:
        """Size of its content in bytes."""
        return self.stop - self.inside


def get_length(file: BinaryIO) -> int:
    """Size of a file in bytes."""
    return file.seek(0, 2)


def read_exactly(file: BinaryIO, start: int, count: int) -> bytes:
    """Read `count` bytes from `start`; `MalformedFile` if there are fewer."""
    file.seek(start)
    found = file.read(count)
    if len(found) < count:
        require(start + count, get_length(file))
    return found


def read_content(file: BinaryIO, part: FilePart) -> bytes:
    """Read the content of a part."""
    return read_exactly(file, part.inside, part.size)


def read_pieces(file: BinaryIO, start: int, stop: int) -> Iterator[bytes]:
    """Yield the bytes from `start` to `stop` in pieces, so that many need little memory."""
    file.seek(start)
    while start < stop:
        piece = file.read(min(stop - start, PIECE_BYTES))
        if not piece:
            raise MalformedFile("it ends too early")
        start += len(piece)
        yield piece


def require(end: int, size: int) -> None:
    """Raise `MalformedFile` if something ends beyond the size of what contains it."""
    if end > size:
        raise MalformedFile(f"it breaks off: {end - size:,} bytes are missing at byte {size:,}")


def parse_png_chunks(file: BinaryIO, *, limit: int = MAX_PARTS) -> Iterator[FilePart]:
    """The chunks of a PNG up to the end of the picture."""
    size, start = get_length(file), len(PNG_SIGNATURE)
    for _ in range(limit):
        count, kind = struct.unpack(">I4s", read_exactly(file, start, 8))
        chunk = FilePart(kind, start, start + 8, start + 8 + count, start + 12 + count)
        require(chunk.end, size)
        yield chunk
        if kind == b"IEND":
            return
        start = chunk.end
    raise MalformedFile("it has too many chunks")


def parse_jpeg_segments(file: BinaryIO, start: int = 2, *, limit: int = MAX_PARTS) -> Iterator[FilePart]:
    """The segments of a JPEG up to the first scan, whose pixels follow, or the end of the picture."""
    size = get_length(file)
    for _ in range(limit):
        filler, marker = read_exactly(file, start, 2)
        if filler != 0xFF or marker == 0:
            raise MalformedFile(f"the JPEG is out of step before byte {start + 2:,}")
        if marker == 0xFF:  # Fill bytes, of which any number may precede a marker.
            start += 1
            continue
        inside = stop = start + 2
        if marker not in _WITHOUT_LENGTH:
            count = int.from_bytes(read_exactly(file, inside, 2))
            inside, stop = inside + 2, inside + count
            if count < 2:
                raise MalformedFile(f"the JPEG has a part without a length, before byte {inside:,}")
        require(stop, size)
        segment = FilePart(bytes([marker]), start, inside, stop, stop)
        yield segment
        if segment.kind in (JPEG_SCAN, JPEG_END):
            return
        start = stop
    raise MalformedFile("it has too many segments")


def parse_riff_chunks(file: BinaryIO, stop: int, *, limit: int = MAX_PARTS) -> Iterator[FilePart]:
    """The chunks of a WebP, WAV or AVI up to `stop`; the last may lack its padding byte."""
    start = 12
    for _ in range(limit):
        if start + 8 > stop:
            return
        kind, count = struct.unpack("<4sI", read_exactly(file, start, 8))
        inside = start + 8
        if inside + count > stop:
            raise MalformedFile(f"its parts do not add up, before byte {inside:,}")
        chunk = FilePart(kind, start, inside, inside + count, min(inside + count + count % 2, stop))
        yield chunk
        start = chunk.end
    raise MalformedFile("it has too many chunks")


def parse_boxes(file: BinaryIO, start: int, stop: int, *, limit: int = MAX_PARTS) -> Iterator[FilePart]:
    """The consecutive boxes of an MP4 in this range; fewer than eight bytes at its end are ignored."""
    for _ in range(limit):
        if start + 8 > stop:
            return
        count, kind = struct.unpack(">I4s", read_exactly(file, start, 8))
        inside, is_open = start + 8, count == 0
        if count == 1:
            count, inside = int.from_bytes(read_exactly(file, inside, 8)), start + 16
        end = stop if is_open else start + count
        if kind.isascii():
            require(end, stop)
        if not inside <= end <= stop:
            raise MalformedFile(f"the film is out of step before byte {inside:,}")
        yield FilePart(kind, start, inside, end, end, is_open)
        start = end
    raise MalformedFile("the film has more parts than any film has")
