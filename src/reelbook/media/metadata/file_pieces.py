"""A changed copy of a file as a list of pieces: stretches of the original, and new bytes between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

MAX_BYTES = 1 << 20
"""The longest text that is read or written; what a person or a program says of a file is far shorter."""
MAX_PARTS = 100_000
"""How many chunks, segments or boxes of a file are looked at; a large PNG has some ten thousand."""
_BLOCK = 1 << 20


class MalformedFile(Exception):
    """The file is not built as its first bytes say; its metadata can be neither read nor added to."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes of the original, from `start` up to `stop`."""

    start: int
    stop: int


Piece = bytes | Stretch


def get_length(file: BinaryIO) -> int:
    """How many bytes a file has."""
    return file.seek(0, 2)


def read_exactly(file: BinaryIO, start: int, count: int) -> bytes:
    """So many bytes of a file from there on; odd where it has fewer."""
    file.seek(start)
    found = file.read(count)
    if len(found) < count:
        raise MalformedFile("it ends too early")
    return found


def assemble(source: BinaryIO, target: BinaryIO, pieces: Iterable[Piece]) -> None:
    """Write the pieces one after the other, whatever their size with little memory."""
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
