"""Parse the first directory of a TIFF to find its C2PA manifest."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from ...util.containers import get_length, read_exactly
from .file_pieces import Stretch

SIGNATURES = (b"II*\0", b"MM\0*")

_MANIFEST = 0xCD41


def find_manifest_parts(file: BinaryIO) -> Iterator[Stretch]:
    """The value of the manifest's tag."""
    order = "<" if read_exactly(file, 0, 2) == b"II" else ">"
    (start,) = struct.unpack(order + "I", read_exactly(file, 4, 4))
    (count,) = struct.unpack(order + "H", read_exactly(file, start, 2))
    for at in range(start + 2, start + 2 + 12 * count, 12):
        tag, _, size, value = struct.unpack(order + "HHII", read_exactly(file, at, 12))
        if tag == _MANIFEST:
            where = at + 8 if size <= 4 else value
            yield Stretch(where, min(where + size, get_length(file)))
            return
