"""Texts in a PNG: its chunks `tEXt`, `zTXt` and `iTXt`."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from . import xmp
from .file_pieces import MAX_BYTES, MAX_PARTS, MalformedFile, Piece, Stretch, get_length, read_exactly

SIGNATURE = b"\x89PNG\r\n\x1a\n"
OURS = b"reelbook"
"""The keyword of our own record."""

XMP = b"XML:com.adobe.xmp"
"""The keyword of an XMP packet."""

_MANIFEST = b"caBX"
_TEXTS = (b"tEXt", b"zTXt", b"iTXt")
_LONGEST_KEYWORD = 79


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Where a chunk is, and what its four letters are."""

    kind: bytes
    start: int
    stop: int

    @property
    def size(self) -> int:
        """Bytes of its content."""
        return self.stop - self.start - 12


def read_texts(file: BinaryIO) -> Iterator[tuple[str, str]]:
    """Every text with its keyword, our own record too."""
    room = 4 * MAX_BYTES
    for chunk in _chunks(file):
        if chunk.kind in _TEXTS and chunk.size <= min(MAX_BYTES, room):
            keyword, text = _text(chunk.kind, read_exactly(file, chunk.start + 8, chunk.size))
            room -= chunk.size + len(text)
            yield keyword, text


def find_manifest_parts(file: BinaryIO) -> Iterator[Stretch]:
    """The manifest of its maker, as C2PA places it in a PNG."""
    for chunk in _chunks(file):
        if chunk.kind == _MANIFEST:
            yield Stretch(chunk.start + 8, chunk.stop - 4)


def read_packets(file: BinaryIO) -> Iterator[bytes]:
    """Its XMP packets."""
    for chunk in _chunks(file):
        if _begins(file, chunk, XMP) and chunk.size <= 2 * MAX_BYTES:
            yield _text(chunk.kind, read_exactly(file, chunk.start + 8, chunk.size))[1].encode("utf-8", "replace")


def build_pieces(file: BinaryIO, record: str, source_type: str = "") -> list[Piece]:
    """The same picture with our record and its kind of source, before its pixels so that they are found quickly.

    An earlier record goes; an XMP packet of others takes the kind of source in.
    """
    pieces: list[Piece] = [Stretch(0, len(SIGNATURE))]
    theirs = next((chunk for chunk in _chunks(file) if _begins(file, chunk, XMP)), None)
    ours = [_itxt(OURS, record)]
    if source_type and theirs is None:
        ours.append(_itxt(XMP, xmp.make_packet(source_type=source_type).decode()))
    is_in = False
    for chunk in _chunks(file):
        if chunk.kind == b"IDAT" and not is_in:
            pieces += ours
            is_in = True
        if chunk == theirs:
            pieces.append(_typed(file, chunk, source_type))
        elif not _begins(file, chunk, OURS):
            pieces.append(Stretch(chunk.start, chunk.stop))
        end = chunk.stop
    if not is_in or chunk.kind != b"IEND":
        raise MalformedFile("it has no pixels, or no end")
    # What some programs append after the end is theirs, and stays.
    return [*pieces, Stretch(end, get_length(file))]


def _chunks(file: BinaryIO) -> Iterator[_Chunk]:
    """The chunks up to the end of the picture; odd where one claims more than the file has."""
    size, start = get_length(file), len(SIGNATURE)
    for _ in range(MAX_PARTS):
        if start == size:
            return
        count, kind = struct.unpack(">I4s", read_exactly(file, start, 8))
        stop = start + count + 12
        if stop > size:
            raise MalformedFile("a chunk claims more than the file has")
        yield _Chunk(kind, start, stop)
        if kind == b"IEND":
            return
        start = stop
    raise MalformedFile("it has too many chunks")


def _text(kind: bytes, content: bytes) -> tuple[str, str]:
    keyword, _, rest = content.partition(b"\0")
    name = keyword[:_LONGEST_KEYWORD].decode("latin-1")
    if kind == b"tEXt":
        # The standard says Latin-1; most programs write UTF-8 all the same.
        return name, _utf8_or_latin(rest)
    if kind == b"zTXt":
        return name, _utf8_or_latin(_inflated(rest[1:]))
    is_compressed = rest[:1] == b"\1"
    text = rest[2:].partition(b"\0")[2].partition(b"\0")[2]
    return name, (_inflated(text) if is_compressed else text).decode("utf-8", "replace")


def _inflated(packed: bytes) -> bytes:
    """Unpacked, as far as there is room: a few bytes can claim to be gigabytes."""
    try:
        return zlib.decompressobj().decompress(packed, MAX_BYTES)
    except zlib.error:
        return b""


def _utf8_or_latin(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def _begins(file: BinaryIO, chunk: _Chunk, keyword: bytes) -> bool:
    """Whether it is a text of this keyword."""
    head = keyword + b"\0"
    return chunk.kind in _TEXTS and chunk.size >= len(head) and read_exactly(file, chunk.start + 8, len(head)) == head


def _typed(file: BinaryIO, chunk: _Chunk, source_type: str) -> Piece:
    """A packet of others with the kind of source in it; as it is where that cannot be."""
    if source_type and chunk.size <= MAX_BYTES:
        theirs = _text(chunk.kind, read_exactly(file, chunk.start + 8, chunk.size))[1].encode()
        whole = xmp.merge_into_packet(theirs, source_type=source_type)
        if whole is not None and not xmp.find_source_type(theirs):
            return _itxt(XMP, whole.decode())
    return Stretch(chunk.start, chunk.stop)


def _itxt(keyword: bytes, text: str) -> bytes:
    # Keyword, not compressed, no language, no translated keyword, text.
    content = b"iTXt" + keyword + b"\0\0\0\0\0" + text.encode()
    return struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
