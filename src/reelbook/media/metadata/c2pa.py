"""Where the C2PA manifest of a file is, in every container that can hold one, or a reference to one elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

from . import gif, jpeg, mp4, png, tiff, webp
from .file_pieces import MalformedFile, Stretch

_BOXES = (b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"wide", b"free", b"skip", b"pnot", b"uuid", b"JXL ")
"""Four letters after the first four bytes, by which MP4, QuickTime, AVIF, HEIC and JPEG XL are known."""
_DUBLIN_CORE = b"http://purl.org/dc/terms/"
_REFERENCE = re.compile(rb":provenance\s*[=>]")


class Container(NamedTuple):
    """How to search one kind of file."""

    manifest: Callable[[BinaryIO], Iterator[Stretch]]
    """The parts of its manifest, in order."""
    packets: Callable[[BinaryIO], Iterator[bytes]] = lambda file: iter(())
    """Its XMP packets."""


def find_manifest(file: BinaryIO) -> list[Stretch] | None:
    """The parts of the file that make up its manifest, in order; None if it embeds none.

    Found by the structure of the file alone, nothing is decoded or validated. What stands before a damage is found.
    """
    return _found(file, "manifest") or None


def find_packets(file: BinaryIO) -> list[bytes]:
    """The XMP packets of the file."""
    return _found(file, "packets")


def names_manifest(packets: list[bytes]) -> bool:
    """Whether one of the packets names a manifest that is stored elsewhere, which is bound to these bytes all the same."""
    return any(_DUBLIN_CORE in packet and _REFERENCE.search(packet) for packet in packets)


def is_signed(file: BinaryIO) -> bool:
    """Whether a change to the bytes of this file would break a signature of its maker."""
    return find_manifest(file) is not None or names_manifest(find_packets(file))


def find_container(head: bytes) -> Container | None:
    """How to search a file that begins like this; None for a kind that holds no manifest."""
    if head.startswith(png.SIGNATURE):
        return Container(png.find_manifest_parts, png.read_packets)
    if head.startswith(jpeg.SIGNATURE):
        return Container(jpeg.find_manifest_parts, jpeg.read_packets)
    if head[:4] == b"RIFF":
        return Container(webp.find_manifest_parts, webp.read_packets)
    if head[:4] == b"GIF8":
        return Container(gif.find_manifest_parts)
    if head[:4] in tiff.SIGNATURES:
        return Container(tiff.find_manifest_parts)
    return Container(mp4.find_manifest_parts, mp4.read_packets) if head[4:8] in _BOXES else None


def _found(file: BinaryIO, what: str) -> list[Any]:
    """Everything up to where the file makes no sense any more."""
    found: list[Any] = []
    try:
        file.seek(0)
        container = find_container(file.read(12))
        if container is not None:
            found.extend(getattr(container, what)(file))
    except (MalformedFile, OSError):
        pass
    return found
