"""Texts in a WebP: its EXIF and XMP chunks."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from . import exif, xmp
from .file_pieces import MAX_BYTES, MAX_PARTS, MalformedFile, Piece, Stretch, get_length, read_exactly

_HEAD = 12
_HAS_XMP, _HAS_ALPHA = 0x04, 0x10
_LARGEST = 2**32 - 10


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Where a chunk is, and what its four letters are."""

    kind: bytes
    start: int
    stop: int
    size: int
    """Bytes of its content, without the one that may fill it up to an even number."""


def read_texts(file: BinaryIO) -> Iterator[tuple[str, str]]:
    """The texts of the EXIF block, and our own record from the XMP packet."""
    for chunk in _chunks(file):
        if chunk.size > 2 * MAX_BYTES:
            continue
        if chunk.kind == b"EXIF":
            yield from exif.parse_texts(_content(file, chunk)).items()
        elif chunk.kind == b"XMP " and (record := xmp.find_record(_content(file, chunk))) is not None:
            yield "reelbook", record


def find_manifest_parts(file: BinaryIO) -> Iterator[Stretch]:
    """The manifest of its maker, as C2PA places it in a WebP, and in a WAV or AVI, which are built alike."""
    for chunk in _chunks(file):
        if chunk.kind == b"C2PA":
            yield Stretch(chunk.start + 8, chunk.start + 8 + chunk.size)


def read_packets(file: BinaryIO) -> Iterator[bytes]:
    """Its XMP packets."""
    for chunk in _chunks(file):
        if chunk.kind == b"XMP " and chunk.size <= 2 * MAX_BYTES:
            yield _content(file, chunk)


def build_pieces(file: BinaryIO, record: str, source_type: str = "") -> list[Piece]:
    """The same picture with our record and its kind of source in its XMP packet, which is added where there is none."""
    chunks = list(_chunks(file))
    if not chunks:
        raise MalformedFile("it is empty")
    packet, is_in = _packet(xmp.make_packet(record, source_type)), False
    pieces: list[Piece] = [_extended(file, chunks[0])]
    for chunk in chunks[1:] if chunks[0].kind == b"VP8X" else chunks:
        theirs = _content(file, chunk) if chunk.kind == b"XMP " and chunk.size <= 2 * MAX_BYTES else None
        joined = None if theirs is None or is_in else xmp.merge_into_packet(theirs, record, source_type)
        if joined is not None:
            pieces.append(_packet(joined))
            is_in = True
        else:
            pieces.append(Stretch(chunk.start, chunk.stop))
    pieces += [] if is_in else [packet]
    size = sum(len(piece) if isinstance(piece, bytes) else piece.stop - piece.start for piece in pieces) + 4
    if size > _LARGEST:
        raise MalformedFile("it is as large as such a file can be")
    end = chunks[-1].stop
    # What some programs append after the end is theirs, and stays.
    return [b"RIFF" + struct.pack("<I", size) + b"WEBP", *pieces, Stretch(end, get_length(file))]


def _chunks(file: BinaryIO) -> Iterator[_Chunk]:
    """The chunks of the file; odd where one claims more than the file has."""
    size = min(get_length(file), struct.unpack("<I", read_exactly(file, 4, 4))[0] + 8)
    start = _HEAD
    for _ in range(MAX_PARTS):
        if start + 8 > size:
            return
        kind, count = struct.unpack("<4sI", read_exactly(file, start, 8))
        stop = start + 8 + count + count % 2
        if stop > size:
            raise MalformedFile("a chunk claims more than the file has")
        yield _Chunk(kind, start, stop, count)
        start = stop
    raise MalformedFile("it has too many chunks")


def _content(file: BinaryIO, chunk: _Chunk) -> bytes:
    return read_exactly(file, chunk.start + 8, chunk.size)


def _extended(file: BinaryIO, first: _Chunk) -> bytes:
    """The header that says what the file holds besides pixels: its own, or one for the simple kind that has none."""
    if first.kind == b"VP8X":
        header = read_exactly(file, first.start, first.stop - first.start)
        if first.size < 10:
            raise MalformedFile("its header is too short")
        return header[:8] + bytes([header[8] | _HAS_XMP]) + header[9:]
    width, height, flags = _canvas(file, first)
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return struct.pack("<4sI4B", b"VP8X", 10, flags | _HAS_XMP, 0, 0, 0) + sides


def _canvas(file: BinaryIO, pixels: _Chunk) -> tuple[int, int, int]:
    """Width, height, and whether it is transparent, from the first bytes of the pixels."""
    head = read_exactly(file, pixels.start + 8, 10)
    if pixels.kind == b"VP8 " and head[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", head[6:10])
        width, height, flags = width & 0x3FFF, height & 0x3FFF, 0
    elif pixels.kind == b"VP8L" and head[0] == 0x2F:
        bits = int.from_bytes(head[1:5], "little")
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        flags = _HAS_ALPHA if bits >> 28 & 1 else 0
    else:
        raise MalformedFile("its pixels are of an unknown kind")
    if not width or not height:
        raise MalformedFile("its picture has no size")
    return width, height, flags


def _packet(content: bytes) -> bytes:
    return b"XMP " + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)
