"""Find the C2PA manifest of a file, embedded in any supported container, or referenced."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

from ...util.containers import (
    JPEG_SIGNATURE,
    PNG_SIGNATURE,
    MalformedFile,
    get_length,
    parse_gif_blocks,
    parse_sub_blocks,
    read_exactly,
)
from . import jpeg, mp4, png, webp
from .file_pieces import Stretch

_BOXES = (b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"wide", b"free", b"skip", b"pnot", b"uuid", b"JXL ")
"""Types of a first box, by which MP4, QuickTime, AVIF, HEIC and JPEG XL are recognised."""
_GIF_APPLICATION, _GIF_NAME = b"!\xff", b"C2PA_GIF"
_TIFF_SIGNATURES, _TIFF_MANIFEST = (b"II*\0", b"MM\0*"), 0xCD41
_DUBLIN_CORE = b"http://purl.org/dc/terms/"
_REFERENCE = re.compile(rb":provenance\s*[=>]")


class Container(NamedTuple):
    """The functions that search one file format."""

    manifest: Callable[[BinaryIO], Iterator[Stretch]]
    """Yields the parts of the manifest, in order."""
    packets: Callable[[BinaryIO], Iterator[bytes]] = lambda file: iter(())
    """Yields the XMP packets."""


def find_manifest(file: BinaryIO) -> list[Stretch] | None:
    """The parts of the file's embedded manifest, in order; None if there is none.

    Only the structure of the file is parsed; nothing is decoded or validated. In a damaged file, the part before the
    damage is searched.
    """
    return _found(file, "manifest") or None


def find_packets(file: BinaryIO) -> list[bytes]:
    """The XMP packets of the file."""
    return _found(file, "packets")


def names_manifest(packets: list[bytes]) -> bool:
    """Whether one of the packets refers to a manifest stored elsewhere, which is bound to these bytes, too."""
    return any(_DUBLIN_CORE in packet and _REFERENCE.search(packet) for packet in packets)


def is_signed(file: BinaryIO) -> bool:
    """Whether changing this file would break its creator's signature."""
    return find_manifest(file) is not None or names_manifest(find_packets(file))


def find_container(head: bytes) -> Container | None:
    """How to search a file with these first bytes; None for a format without manifests."""
    if head.startswith(PNG_SIGNATURE):
        return Container(png.find_manifest_parts, png.read_packets)
    if head.startswith(JPEG_SIGNATURE):
        return Container(jpeg.find_manifest_parts, jpeg.read_packets)
    if head[:4] == b"RIFF":
        return Container(webp.find_manifest_parts, webp.read_packets)
    if head[:4] == b"GIF8":
        return Container(_find_gif_parts)
    if head[:4] in _TIFF_SIGNATURES:
        return Container(_find_tiff_parts)
    return Container(mp4.find_manifest_parts, mp4.read_packets) if head[4:8] in _BOXES else None


def _find_gif_parts(file: BinaryIO) -> Iterator[Stretch]:
    """The content of the manifest's application extension in a GIF, without the lengths of its sub-blocks."""
    for block in parse_gif_blocks(file):
        if block.kind == _GIF_APPLICATION:
            name, *parts = parse_sub_blocks(file, block.inside)
            if parts and read_exactly(file, name.inside, len(_GIF_NAME)) == _GIF_NAME:
                yield from (Stretch(part.inside, part.stop) for part in parts[:-1])
                return


def _find_tiff_parts(file: BinaryIO) -> Iterator[Stretch]:
    """The value of the manifest's tag in the first directory of a TIFF."""
    order = "<" if read_exactly(file, 0, 2) == b"II" else ">"
    (start,) = struct.unpack(order + "I", read_exactly(file, 4, 4))
    (count,) = struct.unpack(order + "H", read_exactly(file, start, 2))
    for at in range(start + 2, start + 2 + 12 * count, 12):
        tag, _, size, value = struct.unpack(order + "HHII", read_exactly(file, at, 12))
        if tag == _TIFF_MANIFEST:
            where = at + 8 if size <= 4 else value
            yield Stretch(where, min(where + size, get_length(file)))
            return


def _found(file: BinaryIO, what: str) -> list[Any]:
    """All items before the first malformed part of the file."""
    found: list[Any] = []
    try:
        file.seek(0)
        container = find_container(file.read(12))
        if container is not None:
            found.extend(getattr(container, what)(file))
    except (MalformedFile, OSError):
        pass
    return found
