"""The blocks of a GIF, as far as it takes to find the manifest of its maker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from .file_pieces import MAX_PARTS, MalformedFile, Stretch, read_exactly

_HEAD_BYTES = 13
_EXTENSION, _IMAGE = 0x21, 0x2C
_APPLICATION, _C2PA = 0xFF, b"C2PA_GIF"


def find_manifest_parts(file: BinaryIO) -> Iterator[Stretch]:
    """The content of the application extension that holds it, without the lengths between its parts."""
    start = _HEAD_BYTES + _colours(read_exactly(file, 10, 1)[0])
    for _ in range(MAX_PARTS):
        kind = read_exactly(file, start, 1)[0]
        if kind == _EXTENSION:
            parts, end = _parts(file, start + 2)
            is_application = read_exactly(file, start + 1, 1)[0] == _APPLICATION
            if is_application and parts and read_exactly(file, parts[0].start, len(_C2PA)) == _C2PA:
                yield from parts[1:]
                return
        elif kind == _IMAGE:
            # Its place and size, its own colours, and how many bits its pixels begin with.
            _, end = _parts(file, start + 11 + _colours(read_exactly(file, start + 9, 1)[0]))
        else:
            return
        start = end
    raise MalformedFile("it has too many blocks")


def _colours(flags: int) -> int:
    """Bytes of the colour table that these flags announce."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _parts(file: BinaryIO, start: int) -> tuple[list[Stretch], int]:
    """The parts of one block, each of which has its length before it, and where the block ends."""
    found: list[Stretch] = []
    for _ in range(MAX_PARTS):
        size = read_exactly(file, start, 1)[0]
        if size == 0:
            return found, start + 1
        found.append(Stretch(start + 1, start + 1 + size))
        start += 1 + size
    raise MalformedFile("a block does not end")
