"""A changed copy of a file as a list of pieces: ranges of the original, and new bytes between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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


FilePiece = bytes | Stretch


_ENGINE_RECORD = re.compile(rb'\{"endpointId"[^\0]*')


def find_engine_record(block: bytes) -> Iterator[tuple[str, str]]:
    """Yield the record that our engines write into an EXIF block, of which nothing else is read."""
    if found := _ENGINE_RECORD.search(block[:MAX_BYTES]):
        yield "description", found[0].decode("utf-8", "replace")


def assemble(source: BinaryIO, target: BinaryIO, pieces: Iterable[FilePiece]) -> None:
    """Write the pieces in order, in blocks, so that large ones need little memory."""
    for piece in pieces:
        if isinstance(piece, bytes):
            target.write(piece)
            continue
        target.writelines(read_pieces(source, piece.start, piece.stop))
