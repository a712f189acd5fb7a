"""Read and write metadata of a PNG: its chunks `tEXt`, `zTXt` and `iTXt`."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from ...util.containers import (
    PNG_SIGNATURE,
    FilePart,
    MalformedFile,
    get_length,
    parse_png_chunks,
    read_content,
    read_exactly,
)
from . import xmp
from .file_pieces import MAX_BYTES, FilePiece, Stretch

OURS = b"reelbook"
"""The keyword of our own record."""

XMP = b"XML:com.adobe.xmp"
"""The keyword of an XMP packet."""

_TEXTS = (b"tEXt", b"zTXt", b"iTXt")
_LONGEST_KEYWORD = 79


def read_texts(file: BinaryIO) -> Iterator[tuple[str, str]]:
    """Yield every text with its keyword, including our own record."""
    room = 4 * MAX_BYTES
    for chunk in parse_png_chunks(file):
        if chunk.kind in _TEXTS and chunk.size <= min(MAX_BYTES, room):
            keyword, text = _text(chunk.kind, read_content(file, chunk))
            room -= chunk.size + len(text)
            yield keyword, text


def read_packets(file: BinaryIO) -> Iterator[bytes]:
    """Yield the XMP packets."""
    for chunk in parse_png_chunks(file):
        if _begins(file, chunk, XMP) and chunk.size <= 2 * MAX_BYTES:
            yield _text(chunk.kind, read_content(file, chunk))[1].encode("utf-8", "replace")


def build_pieces(file: BinaryIO, record: str, source_type: str = "") -> list[FilePiece]:
    """The picture with our record and its source type before the pixels, where they are found quickly.

    An earlier record is removed; a foreign XMP packet gets the source type added.
    """
    pieces: list[FilePiece] = [Stretch(0, len(PNG_SIGNATURE))]
    foreign = next((chunk for chunk in parse_png_chunks(file) if _begins(file, chunk, XMP)), None)
    ours = [_itxt(OURS, record)]
    if source_type and foreign is None:
        ours.append(_itxt(XMP, xmp.make_packet(source_type=source_type).decode()))
    is_written = False
    for chunk in parse_png_chunks(file):
        if chunk.kind == b"IDAT" and not is_written:
            pieces += ours
            is_written = True
        if chunk == foreign:
            pieces.append(_typed(file, chunk, source_type))
        elif not _begins(file, chunk, OURS):
            pieces.append(Stretch(chunk.start, chunk.end))
    if not is_written:
        raise MalformedFile("it has no pixels")
    # Data that other programs append after the end are kept.
    return [*pieces, Stretch(chunk.end, get_length(file))]


def _text(kind: bytes, content: bytes) -> tuple[str, str]:
    keyword, _, rest = content.partition(b"\0")
    name = keyword[:_LONGEST_KEYWORD].decode("latin-1")
    if kind == b"tEXt":
        # The standard specifies Latin-1; most programs write UTF-8.
        return name, _utf8_or_latin(rest)
    if kind == b"zTXt":
        return name, _utf8_or_latin(_inflated(rest[1:]))
    is_compressed = rest[:1] == b"\1"
    text = rest[2:].partition(b"\0")[2].partition(b"\0")[2]
    return name, (_inflated(text) if is_compressed else text).decode("utf-8", "replace")


def _inflated(packed: bytes) -> bytes:
    """Decompress up to `MAX_BYTES`: a few bytes can expand to gigabytes."""
    try:
        return zlib.decompressobj().decompress(packed, MAX_BYTES)
    except zlib.error:
        return b""


def _utf8_or_latin(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def _begins(file: BinaryIO, chunk: FilePart, keyword: bytes) -> bool:
    """Whether a chunk is a text with this keyword."""
    head = keyword + b"\0"
    return chunk.kind in _TEXTS and chunk.size >= len(head) and read_exactly(file, chunk.inside, len(head)) == head


def _typed(file: BinaryIO, chunk: FilePart, source_type: str) -> FilePiece:
    """A foreign packet with the source type added; unchanged if that is not possible."""
    if source_type and chunk.size <= MAX_BYTES:
        foreign = _text(chunk.kind, read_content(file, chunk))[1].encode()
        merged = xmp.merge_into_packet(foreign, source_type=source_type)
        if merged is not None:
            return _itxt(XMP, merged.decode())
    return Stretch(chunk.start, chunk.end)


def _itxt(keyword: bytes, text: str) -> bytes:
    # Keyword, not compressed, no language, no translated keyword, text.
    content = b"iTXt" + keyword + b"\0\0\0\0\0" + text.encode()
    return struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
