"""Find the C2PA manifest in the blocks of a GIF."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ...util.containers import parse_gif_blocks, parse_sub_blocks, read_exactly
from .file_pieces import Stretch

_APPLICATION, _C2PA = b"!\xff", b"C2PA_GIF"


def find_manifest_parts(file: BinaryIO) -> Iterator[Stretch]:
    """The content of the manifest's application extension, without the lengths of its sub-blocks."""
    for block in parse_gif_blocks(file):
        if block.kind == _APPLICATION:
            name, *parts = parse_sub_blocks(file, block.inside)
            if parts and read_exactly(file, name.inside, len(_C2PA)) == _C2PA:
                yield from (Stretch(part.inside, part.stop) for part in parts[:-1])
                return
