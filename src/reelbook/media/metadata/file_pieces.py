"""A changed copy of a file as a list of pieces: ranges of the original, and new bytes between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

MAX_BYTES = 1 << 20
"""Maximum size of a text that is read or written; actual texts are far shorter."""
MAX_PARTS = 100_000
"""Maximum number of chunks, segments or boxes that are read; a large PNG has some ten thousand."""
_BLOCK = 1 << 20


class MalformedFile(Exception):
    """The file does not conform to its format; its metadata can be neither read nor extended."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A range of bytes in the original, from `start` up to `stop`."""

    start: int
    stop: int


Piece = bytes | Stretch


def get_length(file: BinaryIO) -> int:
    """Size of a file in bytes."""
    return file.seek(0, 2)


def read_exactly(file: BinaryIO, start: int, count: int) -> bytes:
    """Read `count` bytes from `start`; `MalformedFile` if there are fewer."""
    file.seek(start)
    found = file.read(count)
    if len(found) < count:
        raise MalformedFile("it ends too early")
    return found


def assemble(source: BinaryIO, target: BinaryIO, pieces: Iterable[Piece]) -> None:
    """Write the pieces in order, in blocks, so that large ones need little memory."""
    for piece in pieces:
        if isinstance(piece, bytes):
            target.write(piece)
            continue
        source.seek(piece.start)
        left = piece.stop - piece.start
        while left > 0:
            block = source.read(min(left, _BLOCK))
            if not block:
                raise MalformedFile("it ends too early")
            target.write(block)
            left -= len(block)
