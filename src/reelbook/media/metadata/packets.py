"""XMP packets in PNG, JPEG, WebP and MP4: our record of a run and the digital source type, added without touching pixels or frames."""

from __future__ import annotations

import html
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple
from xml.sax.saxutils import escape

from ...models.file_kinds import read_size

MAX_BYTES = 1 << 21
"""Maximum size of a record or a packet that is read or written; actual ones are far shorter."""
PNG_SIGNATURE, JPEG_SIGNATURE = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
PNG_XMP = b"XML:com.adobe.xmp\0"
JPEG_XMP = b"http://ns.adobe.com/xap/1.0/\0"
MP4_XMP = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
"""What a packet's chunk, segment or box begins with, by the XMP standard."""

_MAX_PARTS = 100_000
_BLOCK = 1 << 22
_APP0, _APP1, _SCAN, _END_OF_JPEG = 0xE0, 0xE1, 0xDA, 0xD9
_WITHOUT_LENGTH = (0x01, *range(0xD0, 0xDA))
"""JPEG markers without content."""
_LARGEST_SEGMENT, _LARGEST_WEBP = 65_533, 2**32 - 10
_HAS_XMP, _HAS_ALPHA = 0x04, 0x10

_END = b"</rdf:RDF>"
_EMPTY = (
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"></rdf:RDF></x:xmpmeta><?xpacket end="w"?>'
).encode()
_RECORD = b'<rdf:Description rdf:about="" xmlns:reelbook="urn:reelbook:provenance#" reelbook:record="%s"/>'
_IPTC = b"http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
_SOURCE_TYPE = b'<rdf:Description rdf:about="" xmlns:Iptc4xmpExt="' + _IPTC + b'" Iptc4xmpExt:DigitalSourceType="%s"/>'
OUR_RECORD, OUR_TYPE = (re.compile(re.escape(markup).replace(b"%s", rb'([^"]*)')) for markup in (_RECORD, _SOURCE_TYPE))
"""Our exact markup, by which a packet is read: its XML is not parsed."""
_PADDING = re.compile(rb"\s+(?=<\?xpacket end)")

Piece = bytes | tuple[int, int]
"""New bytes, or the range of the original that stands in their place."""


class MalformedFile(Exception):
    """The file is incomplete, does not conform to its format, or has no room for more."""


class FilePart(NamedTuple):
    """Position and type of a chunk, segment or box."""

    kind: bytes
    start: int
    inside: int
    """Start of its content."""
    stop: int
    """End of its content."""
    end: int
    """End of the part, including its checksum or padding."""


def read_blocks(file: BinaryIO) -> Iterator[bytes]:
    """The bytes of a file in blocks that overlap by `MAX_BYTES`, and the packet of a PNG, which may be compressed."""
    file.seek(0)
    block = head = file.read(_BLOCK)
    while block:
        yield block
        rest = file.read(_BLOCK)
        block = block[-MAX_BYTES:] + rest if rest else b""
    if head.startswith(PNG_SIGNATURE):
        try:
            packet = next(filter(None, (_parse_png_packet(file, chunk) for chunk in _parse_png(file))), None)
        except MalformedFile:
            return
        yield from () if packet is None else [packet]


def find_record(content: bytes) -> str | None:
    """The text of our record in these bytes, if they hold one."""
    match = OUR_RECORD.search(content)
    return html.unescape(match[1].decode("utf-8", "replace")) if match else None


def make_packet(record: str = "", source_type: str = "", packet: bytes = _EMPTY) -> bytes:
    """A packet with our record and the source type, added to what another program or an engine wrote.

    An earlier record and source type of ours are replaced; a source type of others stays.

    >>> find_record(make_packet('{"seed":7}'))
    '{"seed":7}'
    """
    before, end, after = _PADDING.sub(b"", OUR_TYPE.sub(b"", OUR_RECORD.sub(b"", packet))).rpartition(_END)
    if not end:
        raise MalformedFile("its XMP packet has no end")
    # XML cannot represent these two characters; JSON can escape them.
    writable = record.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
    added = _describe(_RECORD, writable)
    if b"DigitalSourceType" not in before:
        added = _describe(_SOURCE_TYPE, source_type) + added
    return before + added + end + after


def _describe(markup: bytes, text: str) -> bytes:
    return markup % escape(text, {'"': "&quot;"}).encode() if text else b""


def edit_file(file: BinaryIO, record: str, source_type: str) -> list[Piece]:
    """The pieces of a copy with the record and the source type in its packet; `MalformedFile` if that is impossible."""
    file.seek(0)
    head = file.read(12)

    def change(packet: bytes | None) -> bytes:
        return make_packet(record, source_type, _EMPTY if packet is None else packet)

    if head.startswith(PNG_SIGNATURE):
        return _edit_png(file, change)
    if head.startswith(JPEG_SIGNATURE):
        return _edit_jpeg(file, change)
    if head[:4] == b"RIFF" and head[8:] == b"WEBP":
        return _edit_webp(file, change)
    if head[4:8] == b"ftyp":
        return _edit_mp4(file, change)
    raise MalformedFile("it is of a format without metadata that all programs accept")


def copy_pieces(file: BinaryIO, target: BinaryIO, pieces: list[Piece]) -> None:
    """Write the pieces in order, in blocks, so that large ones need little memory."""
    for piece in pieces:
        if isinstance(piece, bytes):
            target.write(piece)
            continue
        start, stop = piece
        file.seek(start)
        while start < stop and (block := file.read(min(stop - start, _BLOCK))):
            target.write(block)
            start += len(block)


Change = Callable[[bytes | None], bytes]
"""The new packet, from the file's own, if it has one."""


def _edit_png(file: BinaryIO, change: Change) -> list[Piece]:
    """The packet stands before the pixels, where programs find it quickly."""
    chunks = list(_parse_png(file))
    pixels = next((chunk for chunk in chunks if chunk.kind == b"IDAT"), None)
    if pixels is None:
        raise MalformedFile("it has no pixels")
    old = next((chunk for chunk in chunks if _parse_png_packet(file, chunk) is not None), None)
    # Keyword, not compressed, no language, no translated keyword, text.
    content = b"iTXt" + PNG_XMP + bytes(4) + change(_parse_png_packet(file, old) if old else None)
    new = struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
    return _splice(file, new, old, pixels.start)


def _parse_png_packet(file: BinaryIO, chunk: FilePart) -> bytes | None:
    """The packet of a chunk, if it has one; decompressed up to `MAX_BYTES`, because a few bytes can expand to gigabytes."""
    if chunk.kind != b"iTXt" or chunk.stop - chunk.inside > MAX_BYTES:
        return None
    content = read_exactly(file, chunk.inside, chunk.stop - chunk.inside)
    if not content.startswith(PNG_XMP):
        return None
    flags = content[len(PNG_XMP) :]
    text = flags[2:].partition(b"\0")[2].partition(b"\0")[2]
    if flags[:1] != b"\1":
        return text
    try:
        return zlib.decompressobj().decompress(text, MAX_BYTES)
    except zlib.error:
        return b""


def _edit_jpeg(file: BinaryIO, change: Change) -> list[Piece]:
    """The packet stands after the segments that must come first.

    A second picture at the end of the file, such as a phone's gain map, is found by its offset from a later segment.
    """
    segments = list(_parse_jpeg(file))
    if segments[-1].kind[0] != _SCAN:
        raise MalformedFile("it has no pixels")
    extras = (part for part in segments if part.kind[0] == _APP1)
    old = next((part for part in extras if _read(file, part).startswith(JPEG_XMP)), None)
    packet = JPEG_XMP + change(None if old is None else _read(file, old).removeprefix(JPEG_XMP))
    if len(packet) > _LARGEST_SEGMENT:
        raise MalformedFile("its packet is too long for a JPEG")
    new = struct.pack(">BBH", 0xFF, _APP1, len(packet) + 2) + packet
    return _splice(file, new, old, next(part.start for part in segments if part.kind[0] not in (_APP0, _APP1)))


def _edit_webp(file: BinaryIO, change: Change) -> list[Piece]:
    """The packet is the last chunk, and the extended header, made if missing, declares it."""
    chunks = list(
        _parse(file, 12, min(_get_length(file), 8 + int.from_bytes(read_exactly(file, 4, 4), "little")), _read_riff)
    )
    if not chunks or chunks[-1].end % 2:
        raise MalformedFile("it is empty, or its last chunk lacks its padding")
    header, first = _make_extended_header(file, chunks[0])
    old = next((chunk for chunk in chunks if chunk.kind == b"XMP " and chunk.stop - chunk.inside <= MAX_BYTES), None)
    content = change(None if old is None else _read(file, old))
    new = b"XMP " + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)
    end = chunks[-1].end
    # Data that other programs append after the end are kept.
    _, *rest = _splice(file, new, old, end)
    start = old.start if old else end
    removed = old.end - old.start if old else 0
    size = 4 + len(header) + end - first - removed + len(new)
    if size > _LARGEST_WEBP:
        raise MalformedFile("it is as large as such a file can be")
    return [b"RIFF" + struct.pack("<I", size) + b"WEBP" + header, (first, start), *rest]


def _make_extended_header(file: BinaryIO, first: FilePart) -> tuple[bytes, int]:
    """The header that declares the chunks besides pixels, the file's own or a new one; and where the rest begins."""
    if first.kind == b"VP8X":
        header = read_exactly(file, first.start, first.end - first.start)
        if len(header) < 18:
            raise MalformedFile("its header is too short")
        return header[:8] + bytes([header[8] | _HAS_XMP]) + header[9:], first.end
    head, size = read_exactly(file, first.inside, 10), read_size(file)
    is_lossless = first.kind == b"VP8L" and head[0] == 0x2F
    if size is None or not (is_lossless or (first.kind, head[3:6]) == (b"VP8 ", b"\x9d\x01\x2a")):
        raise MalformedFile("its pixels are of an unknown kind")
    flags = _HAS_XMP | (_HAS_ALPHA if is_lossless and head[4] & 0x10 else 0)
    sides = (size[0] - 1).to_bytes(3, "little") + (size[1] - 1).to_bytes(3, "little")
    return struct.pack("<4sI4B", b"VP8X", 10, flags, 0, 0, 0) + sides, first.start


def _edit_mp4(file: BinaryIO, change: Change) -> list[Piece]:
    """The packet is in a box after all others: there it moves none, so that the offsets in the index stay valid."""
    length = _get_length(file)
    boxes = list(_parse(file, 0, length, _read_box))
    if not boxes or boxes[-1].end != length or not any(box.kind in (b"moov", b"moof") for box in boxes):
        raise MalformedFile("it has no index, or something stands after its last box")
    uuids = (box for box in boxes if box.kind == b"uuid" and len(MP4_XMP) <= box.stop - box.inside <= MAX_BYTES)
    old = next((box for box in uuids if _read(file, box).startswith(MP4_XMP)), None)
    packet = MP4_XMP + change(None if old is None else _read(file, old).removeprefix(MP4_XMP))
    new = struct.pack(">I4s", len(packet) + 8, b"uuid") + packet
    # A fragmented film ends with a table that is found by its offset from the end.
    last = boxes[-1].start if boxes[-1].kind == b"mfra" else length
    if old is None or old.end == last:
        return _splice(file, new, old, last)
    # The place of the old one stays as free space, so that the boxes after it do not move.
    return [(0, old.start + 4), b"free", (old.start + 8, last), new, (last, length)]


def _splice(file: BinaryIO, new: bytes, old: FilePart | None, position: int) -> list[Piece]:
    """The file with new bytes in the place of an old part, or at a position."""
    start, stop = (old.start, old.end) if old else (position, position)
    return [(0, start), new, (stop, _get_length(file))]


def _get_length(file: BinaryIO) -> int:
    return file.seek(0, 2)


def _read(file: BinaryIO, part: FilePart) -> bytes:
    return read_exactly(file, part.inside, part.stop - part.inside)


def read_exactly(file: BinaryIO, start: int, count: int) -> bytes:
    """Read `count` bytes from `start`; `MalformedFile` if there are fewer, whatever a file declares."""
    if start + count > _get_length(file):
        raise MalformedFile(f"it breaks off before byte {start + count:,}")
    file.seek(start)
    return file.read(count)


def _parse(file: BinaryIO, start: int, stop: int, read: Callable[[BinaryIO, int], FilePart]) -> Iterator[FilePart]:
    """The parts of a file between two places, which follow each other."""
    for _ in range(_MAX_PARTS):
        if start + 8 > stop:
            return
        part = read(file, start)
        if not part.inside <= part.stop <= stop:
            break
        yield part
        start = part.end
    raise MalformedFile("its parts do not add up, or are too many")


def _parse_png(file: BinaryIO) -> Iterator[FilePart]:
    """The chunks of a PNG up to the end of the picture."""
    for chunk in _parse(file, len(PNG_SIGNATURE), _get_length(file), _read_chunk):
        yield chunk
        if chunk.kind == b"IEND":
            return


def _read_chunk(file: BinaryIO, start: int) -> FilePart:
    count, kind = struct.unpack(">I4s", read_exactly(file, start, 8))
    return FilePart(kind, start, start + 8, start + 8 + count, start + 12 + count)


def _read_riff(file: BinaryIO, start: int) -> FilePart:
    """A chunk of a WebP; the last may lack its padding byte."""
    kind, count = struct.unpack("<4sI", read_exactly(file, start, 8))
    stop = start + 8 + count
    return FilePart(kind, start, start + 8, stop, min(stop + count % 2, _get_length(file)))


def _read_box(file: BinaryIO, start: int) -> FilePart:
    """A box of an MP4; one without a stated size, which extends to the end of the file, is refused."""
    count, kind = struct.unpack(">I4s", read_exactly(file, start, 8))
    inside = start + 8
    if count == 1:
        count, inside = int.from_bytes(read_exactly(file, inside, 8)), start + 16
    return FilePart(kind, start, inside, start + count, start + count)


def _parse_jpeg(file: BinaryIO) -> Iterator[FilePart]:
    """The segments of a JPEG up to the first scan, whose pixels follow, or the end of the picture."""
    start = 2
    for _ in range(_MAX_PARTS):
        filler, marker = read_exactly(file, start, 2)
        if filler != 0xFF or marker == 0:
            break
        if marker == 0xFF:  # Fill bytes, of which any number may precede a marker.
            start += 1
            continue
        inside = stop = start + 2
        if marker not in _WITHOUT_LENGTH:
            stop += int.from_bytes(read_exactly(file, inside, 2))
            inside += 2
        if not inside <= stop <= _get_length(file):
            break
        yield FilePart(bytes([marker]), start, inside, stop, stop)
        if marker in (_SCAN, _END_OF_JPEG):
            return
        start = stop
    raise MalformedFile("its segments do not add up")
