"""A changed copy of a file as a list of pieces: ranges of the original, and new bytes between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

from ...util.containers import read_pieces

MAX_BYTES = 1 << 20
"""Maximum size of a text that is read or written; actual texts are far shorter."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A range of bytes in the original, from `start` up to `stop`."""

    start: int
    stop: int


Piece = bytes | Stretch


def assemble(source: BinaryIO, target: BinaryIO, pieces: Iterable[Piece]) -> None:
    """Write the pieces in order, in blocks, so that large ones need little memory."""
    for piece in pieces:
        if isinstance(piece, bytes):
            target.write(piece)
            continue
        target.writelines(read_pieces(source, piece.start, piece.stop))
