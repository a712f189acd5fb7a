"""The kind of a media file and whether it is complete, by its container format alone, without a decoder."""

from __future__ import annotations

import codecs
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

HEAD_BYTES = 1024
PIECE_BYTES = 1 << 18
MAX_BOXES = 200_000
"""More boxes than any video has; a file may consist of headers only."""


class Damaged(Exception):
    """The file is of a known kind, and incomplete or damaged."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A file format: the suffix under which it is stored, and its content type."""

    suffix: str
    content_type: str


@dataclass(frozen=True, slots=True)
class ContainerResult:
    """What the bytes of a file show."""

    kind: Kind
    proven: bool
    """Whether the format itself shows that the file is complete; otherwise its length must be known from elsewhere."""

    @property
    def is_text(self) -> bool:
        return self.kind.content_type.startswith("text/")


BINARY = Kind(".bin", "application/octet-stream")
TEXT = Kind(".txt", "text/plain")
# A foreign page is stored as text, so that no double click on the file runs its scripts.
PAGE = Kind(".txt", "text/html")
MP4 = Kind(".mp4", "video/mp4")
AVIF = Kind(".avif", "image/avif")
HEIC = Kind(".heic", "image/heic")
WEBP = Kind(".webp", "image/webp")
WAV = Kind(".wav", "audio/wav")
STARTS = (
    (b"\x89PNG\r\n\x1a\n", Kind(".png", "image/png")),
    (b"\xff\xd8\xff", Kind(".jpg", "image/jpeg")),
    (b"GIF87a", Kind(".gif", "image/gif")),
    (b"GIF89a", Kind(".gif", "image/gif")),
    (b"\x1a\x45\xdf\xa3", Kind(".webm", "video/webm")),
    (b"II*\0", Kind(".tif", "image/tiff")),
    (b"MM\0*", Kind(".tif", "image/tiff")),
)
STILLS = {b"avif": AVIF, b"avis": AVIF, b"heic": HEIC, b"heix": HEIC, b"mif1": HEIC}
PAGES = (b"<!doctype html", b"<html", b"<head", b"<body", b"<title", b"<script", b"<meta", b"<!--")
# Control characters that do not occur in text.
UNPRINTABLE = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
"""A JPEG marker among compressed data, where 00 means a plain FF, D0 to D7 restart, and FF only fills."""


def sniff_kind(head: bytes) -> Kind:
    """The kind of a file by its first bytes, whatever its name.

    >>> sniff_kind(b"\\x89PNG\\r\\n\\x1a\\n").suffix, sniff_kind(b"<HTML><h1>Expired").content_type
    ('.png', 'text/html')
    """
    if head[4:8] == b"ftyp":
        return STILLS.get(head[8:12], MP4)
    if head[:4] == b"RIFF" and head[8:12] in (b"WEBP", b"WAVE"):
        return WEBP if head[8:12] == b"WEBP" else WAV
    found = next((kind for start, kind in STARTS if head.startswith(start)), None)
    return found or _sniff_text(head)


def check_container(file: BinaryIO) -> ContainerResult:
    """The kind of a file and whether it is proven complete; raises `Damaged` where it is proven incomplete.

    >>> import io
    >>> check_container(io.BytesIO(b"some notes")).proven
    False
    """
    size = file.seek(0, 2)
    file.seek(0)
    kind = sniff_kind(file.read(HEAD_BYTES))
    if size == 0:
        raise Damaged("it is empty")
    walk = WALKS.get(kind.suffix)
    if walk is None:
        return ContainerResult(kind, proven=False)
    return ContainerResult(kind, proven=walk(_Reader(file, size)) == size)


class _Reader:
    """A file read from front to back, at most `PIECE_BYTES` at once, whatever lengths it declares."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file, self.size, self.at = file, size, 0
        file.seek(0)

    def take(self, count: int) -> bytes:
        self._require(count)
        self.at += count
        return self.file.read(count)

    def skip(self, count: int) -> None:
        self._require(count)
        self.at += count
        self.file.seek(self.at)

    def pieces(self, count: int) -> Iterator[bytes]:
        """So many bytes, in pieces of at most `PIECE_BYTES`."""
        self._require(count)
        while count:
            piece = self.take(min(count, PIECE_BYTES))
            count -= len(piece)
            yield piece

    def _require(self, count: int) -> None:
        if count > self.size - self.at:
            raise Damaged(f"it breaks off: {count - (self.size - self.at):,} bytes are missing at byte {self.size:,}")


def _png(reader: _Reader) -> int:
    """Where the picture ends, after checking the checksum of every chunk."""
    reader.skip(8)
    seen: set[bytes] = set()
    while True:
        length, name = struct.unpack(">I4s", reader.take(8))
        if not seen and (name, length) != (b"IHDR", 13):
            raise Damaged("it does not begin as a PNG does")
        total = zlib.crc32(name)
        for piece in reader.pieces(length):
            total = zlib.crc32(piece, total)
        if total != int.from_bytes(reader.take(4)):
            raise Damaged(f"a checksum of the PNG does not match, before byte {reader.at:,}")
        seen.add(name)
        if name == b"IEND":
            if b"IDAT" not in seen:
                raise Damaged("the PNG holds no picture")
            return reader.at


def _jpeg(reader: _Reader) -> int:
    reader.skip(2)
    scanned = False
    while True:
        marker = _jpeg_marker(reader)
        if marker == 0xD9:
            if not scanned:
                raise Damaged("the JPEG holds no picture")
            return reader.at
        if marker == 0x01 or 0xD0 <= marker <= 0xD8:
            continue
        length = int.from_bytes(reader.take(2))
        if length < 2:
            raise Damaged(f"the JPEG has a part without a length, before byte {reader.at:,}")
        reader.skip(length - 2)
        if marker == 0xDA:
            scanned = True
            _to_marker(reader)


def _jpeg_marker(reader: _Reader) -> int:
    if reader.take(1) != b"\xff":
        raise Damaged(f"the JPEG is out of step before byte {reader.at:,}")
    marker = 0xFF
    while marker == 0xFF:
        marker = reader.take(1)[0]
    if marker == 0:
        raise Damaged(f"the JPEG is out of step before byte {reader.at:,}")
    return marker


def _to_marker(reader: _Reader) -> None:
    """Skip the compressed data, up to the next marker."""
    carried = b""
    while reader.at < reader.size:
        piece = carried + reader.take(min(PIECE_BYTES, reader.size - reader.at))
        found = MARKER.search(piece)
        if found:
            reader.skip(found.start() - len(piece))
            return
        # A marker may be split between two pieces.
        carried = piece[-1:] if piece.endswith(b"\xff") else b""
    raise Damaged("it breaks off: the JPEG has no end")


def _gif(reader: _Reader) -> int:
    reader.skip(6)
    _colours(reader, reader.take(7)[4])
    pictures = 0
    while (block := reader.take(1)) != b";":
        if block == b",":
            pictures += 1
            _colours(reader, reader.take(9)[8])
        elif block != b"!":
            raise Damaged(f"the GIF is out of step before byte {reader.at:,}")
        reader.skip(1)
        while count := reader.take(1)[0]:
            reader.skip(count)
    if not pictures:
        raise Damaged("the GIF holds no picture")
    return reader.at


def _colours(reader: _Reader, flags: int) -> None:
    reader.skip(3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0)


def _riff(reader: _Reader) -> int | None:
    length = int.from_bytes(reader.take(12)[4:8], "little")
    # A WAV that was written into a pipe does not have its length.
    if length in (0, 0xFFFFFFFF):
        return None
    end = 8 + length
    if end > reader.size:
        raise Damaged(f"it breaks off: {end - reader.size:,} bytes are missing at byte {reader.size:,}")
    while end - reader.at >= 8:
        count = int.from_bytes(reader.take(8)[4:], "little")
        if count > end - reader.at:
            raise Damaged(f"its parts do not add up, before byte {reader.at:,}")
        # The last chunk may lack its padding byte.
        reader.skip(min(count + count % 2, end - reader.at))
    # Some writers leave the padding byte out of the length.
    return end + 1 if end % 2 and reader.size == end + 1 else end


def _webp(reader: _Reader) -> int:
    end = _riff(reader)
    if end is None or end < 20:
        raise Damaged("the WebP holds no picture")
    return end


def _mp4(reader: _Reader) -> int | None:
    found, end = _boxes(reader, reader.size)
    if b"moov" not in found:
        raise Damaged("it breaks off: the film has no index (moov)")
    if b"mdat" not in found:
        raise Damaged("it breaks off: the film has no pictures (mdat)")
    begin, stop = found[b"moov"]
    reader.skip(begin - reader.at)
    if b"trak" not in _boxes(reader, stop)[0]:
        raise Damaged("the film has no track (trak)")
    # A fragmented MP4 (moof) can be cut between any two fragments, and shows its end only by their index (mfra).
    return None if b"moof" in found and b"mfra" not in found else end


def _still(reader: _Reader) -> int | None:
    found, end = _boxes(reader, reader.size)
    if not found.keys() & {b"meta", b"moov"}:
        raise Damaged("it breaks off: the picture has no index (meta)")
    if b"mdat" not in found:
        raise Damaged("it breaks off: the picture has no pixels (mdat)")
    return end


def _boxes(reader: _Reader, stop: int) -> tuple[dict[bytes, tuple[int, int]], int | None]:
    """The boxes up to `stop`, by name; and where they end, None if the last one is open-ended."""
    found: dict[bytes, tuple[int, int]] = {}
    for _ in range(MAX_BOXES):
        if reader.at >= stop:
            return found, reader.at
        start = reader.at
        length, name = struct.unpack(">I4s", reader.take(8))
        if length == 1:
            length = int.from_bytes(reader.take(8))
        if length == 0:
            # Open-ended: to the end of the file.
            found[name] = (reader.at, stop)
            reader.skip(stop - reader.at)
            return found, None
        if length < reader.at - start or not name.isascii():
            raise Damaged(f"the film is out of step before byte {reader.at:,}")
        found[name] = (reader.at, start + length)
        if start + length > stop:
            raise Damaged(f"it breaks off: {start + length - stop:,} bytes are missing at byte {stop:,}")
        reader.skip(start + length - reader.at)
    raise Damaged("the film has more parts than any film has")


def _sniff_text(head: bytes) -> Kind:
    text = head.removeprefix(b"\xef\xbb\xbf")
    if not text or UNPRINTABLE.search(text):
        return BINARY
    # Before decoding: old pages have old encodings.
    if text.lstrip().lower().startswith(PAGES):
        return PAGE
    try:
        # Where the file is longer than the head, its last character may be cut.
        codecs.getincrementaldecoder("utf-8")().decode(text, final=len(head) < HEAD_BYTES)
    except UnicodeDecodeError:
        return BINARY
    return TEXT


WALKS: dict[str, Callable[[_Reader], int | None]] = {
    ".png": _png,
    ".jpg": _jpeg,
    ".gif": _gif,
    ".webp": _webp,
    ".wav": _riff,
    ".mp4": _mp4,
    ".avif": _still,
    ".heic": _still,
}

PROVABLE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/heic", "video/mp4"})
"""The content types of formats that show whether a file is complete."""
