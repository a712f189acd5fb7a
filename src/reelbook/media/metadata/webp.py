"""Read and write metadata of a WebP: its EXIF and XMP chunks."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from ...models.picture_headers import parse_header
from ...util.containers import FilePart, MalformedFile, get_length, parse_riff_chunks, read_content, read_exactly
from . import xmp
from .file_pieces import MAX_BYTES, FilePiece, Stretch, find_engine_record

_HAS_XMP, _HAS_ALPHA = 0x04, 0x10
_LARGEST = 2**32 - 10


def read_texts(file: BinaryIO) -> Iterator[tuple[str, str]]:
    """Yield the record of our engines in the EXIF block, and our own record from the XMP packet."""
    for chunk in _chunks(file):
        if chunk.size > 2 * MAX_BYTES:
            continue
        if chunk.kind == b"EXIF":
            yield from find_engine_record(read_content(file, chunk))
        elif chunk.kind == b"XMP " and (record := xmp.find_record(read_content(file, chunk))) is not None:
            yield "reelbook", record


def build_pieces(file: BinaryIO, record: str, source_type: str = "") -> list[FilePiece]:
    """The picture with our record and its source type in its XMP packet, which is added if missing."""
    chunks = list(_chunks(file))
    if not chunks or chunks[-1].end % 2:
        raise MalformedFile("it is empty, or its last chunk lacks its padding")
    packet, is_written = _packet(xmp.make_packet(record, source_type)), False
    pieces: list[FilePiece] = [_extended(file, chunks[0])]
    for chunk in chunks[1:] if chunks[0].kind == b"VP8X" else chunks:
        foreign = read_content(file, chunk) if chunk.kind == b"XMP " and chunk.size <= 2 * MAX_BYTES else None
        merged = None if foreign is None or is_written else xmp.merge_into_packet(foreign, record, source_type)
        if merged is not None:
            pieces.append(_packet(merged))
            is_written = True
        else:
            pieces.append(Stretch(chunk.start, chunk.end))
    pieces += [] if is_written else [packet]
    size = sum(len(piece) if isinstance(piece, bytes) else piece.stop - piece.start for piece in pieces) + 4
    if size > _LARGEST:
        raise MalformedFile("it is as large as such a file can be")
    end = chunks[-1].end
    # Data that other programs append after the end are kept.
    return [b"RIFF" + struct.pack("<I", size) + b"WEBP", *pieces, Stretch(end, get_length(file))]


def _chunks(file: BinaryIO) -> Iterator[FilePart]:
    stop = 8 + int.from_bytes(read_exactly(file, 4, 4), "little")
    return parse_riff_chunks(file, min(get_length(file), stop))


def _extended(file: BinaryIO, first: FilePart) -> bytes:
    """The extended header that declares the chunks besides pixels: the file's own, or a new one for a simple file."""
    if first.kind == b"VP8X":
        header = read_exactly(file, first.start, first.end - first.start)
        if first.size < 10:
            raise MalformedFile("its header is too short")
        return header[:8] + bytes([header[8] | _HAS_XMP]) + header[9:]
    width, height, flags = _canvas(file, first)
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return struct.pack("<4sI4B", b"VP8X", 10, flags | _HAS_XMP, 0, 0, 0) + sides


def _canvas(file: BinaryIO, pixels: FilePart) -> tuple[int, int, int]:
    """Width, height, and the flag for transparency, from the first bytes of the pixels."""
    head = read_exactly(file, pixels.inside, 10)
    is_lossless = pixels.kind == b"VP8L" and head[0] == 0x2F
    if not is_lossless and (pixels.kind, head[3:6]) != (b"VP8 ", b"\x9d\x01\x2a"):
        raise MalformedFile("its pixels are of an unknown kind")
    header = parse_header(read_exactly(file, 0, 30))
    if header is None or not header.pixels:
        raise MalformedFile("its picture has no size")
    return header.width, header.height, _HAS_ALPHA if is_lossless and head[4] & 0x10 else 0


def _packet(content: bytes) -> bytes:
    return b"XMP " + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)
