"""The kind of a media file and whether it is complete, by its container format alone, without a decoder."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from ...util.containers import (
    JPEG_SCAN,
    FilePart,
    MalformedFile,
    has_valid_checksum,
    parse_boxes,
    parse_gif_blocks,
    parse_jpeg_segments,
    parse_png_chunks,
    parse_riff_chunks,
    read_exactly,
    read_pieces,
    require,
)

HEAD_BYTES = 1024
MAX_BOXES = 200_000
"""More boxes than any video has; a file may consist of headers only."""


class Damaged(Exception):
    """The file is of a known kind, and incomplete or damaged."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A file format: the suffix under which it is stored, and its content type."""

    suffix: str
    content_type: str


@dataclass(frozen=True, slots=True)
class ContainerResult:
    """What the bytes of a file show."""

    kind: FileFormat
    proven: bool
    """Whether the format itself shows that the file is complete; otherwise its length must be known from elsewhere."""

    @property
    def is_text(self) -> bool:
        return self.kind.content_type.startswith("text/")


BINARY = FileFormat(".bin", "application/octet-stream")
TEXT = FileFormat(".txt", "text/plain")
# A foreign page is stored as text, so that no double click on the file runs its scripts.
PAGE = FileFormat(".txt", "text/html")
MP4 = FileFormat(".mp4", "video/mp4")
AVIF = FileFormat(".avif", "image/avif")
HEIC = FileFormat(".heic", "image/heic")
WEBP = FileFormat(".webp", "image/webp")
WAV = FileFormat(".wav", "audio/wav")
STARTS = (
    (b"\x89PNG\r\n\x1a\n", FileFormat(".png", "image/png")),
    (b"\xff\xd8\xff", FileFormat(".jpg", "image/jpeg")),
    (b"GIF87a", FileFormat(".gif", "image/gif")),
    (b"GIF89a", FileFormat(".gif", "image/gif")),
    (b"\x1a\x45\xdf\xa3", FileFormat(".webm", "video/webm")),
    (b"II*\0", FileFormat(".tif", "image/tiff")),
    (b"MM\0*", FileFormat(".tif", "image/tiff")),
)
STILLS = {b"avif": AVIF, b"avis": AVIF, b"heic": HEIC, b"heix": HEIC, b"mif1": HEIC}
PAGES = (b"<!doctype html", b"<html", b"<head", b"<body", b"<title", b"<script", b"<meta", b"<!--")
# Control characters that do not occur in text.
UNPRINTABLE = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
"""A JPEG marker among compressed data, where 00 means a plain FF, D0 to D7 restart, and FF only fills."""


def sniff_kind(head: bytes) -> FileFormat:
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
    try:
        return ContainerResult(kind, proven=walk(file, size) == size)
    except MalformedFile as error:
        raise Damaged(str(error)) from None


def _png(file: BinaryIO, size: int) -> int:
    """Where the picture ends, after checking the checksum of every chunk."""
    kinds: set[bytes] = set()
    for chunk in parse_png_chunks(file, limit=size):
        if not kinds and (chunk.kind, chunk.size) != (b"IHDR", 13):
            raise Damaged("it does not begin as a PNG does")
        if not has_valid_checksum(file, chunk):
            raise Damaged(f"a checksum of the PNG does not match, before byte {chunk.end:,}")
        kinds.add(chunk.kind)
    if b"IDAT" not in kinds:
        raise Damaged("the PNG holds no picture")
    return chunk.end


def _jpeg(file: BinaryIO, size: int) -> int:
    start, scanned = 2, False
    while True:
        for segment in parse_jpeg_segments(file, start, limit=size):
            start = segment.end
        if segment.kind == JPEG_SCAN:
            start, scanned = _find_marker(file, start, size), True
        elif scanned:
            return start
        else:
            raise Damaged("the JPEG holds no picture")


def _find_marker(file: BinaryIO, start: int, size: int) -> int:
    """The position of the next marker, after the compressed data."""
    carried = b""
    for piece in read_pieces(file, start, size):
        if found := MARKER.search(carried + piece):
            return start - len(carried) + found.start()
        start += len(piece)
        # A marker may be split between two pieces.
        carried = piece[-1:] if piece.endswith(b"\xff") else b""
    raise Damaged("it breaks off: the JPEG has no end")


def _gif(file: BinaryIO, size: int) -> int:
    pictures = 0
    for block in parse_gif_blocks(file, limit=size):
        pictures += block.kind == b","
    if not pictures:
        raise Damaged("the GIF holds no picture")
    return block.end


def _riff(file: BinaryIO, size: int) -> int | None:
    length = int.from_bytes(read_exactly(file, 4, 4), "little")
    # A WAV that was written into a pipe does not have its length.
    if length in (0, 0xFFFFFFFF):
        return None
    end = 8 + length
    require(end, size)
    for _ in parse_riff_chunks(file, end, limit=size):
        pass
    # Some writers leave the padding byte out of the length.
    return end + 1 if end % 2 and size == end + 1 else end


def _webp(file: BinaryIO, size: int) -> int:
    end = _riff(file, size)
    if end is None or end < 20:
        raise Damaged("the WebP holds no picture")
    return end


def _mp4(file: BinaryIO, size: int) -> int | None:
    found, end = _top_boxes(file, size)
    if b"moov" not in found:
        raise Damaged("it breaks off: the film has no index (moov)")
    if b"mdat" not in found:
        raise Damaged("it breaks off: the film has no pictures (mdat)")
    index = found[b"moov"]
    if b"trak" not in {box.kind for box in _boxes(file, index.inside, index.stop)}:
        raise Damaged("the film has no track (trak)")
    # A fragmented MP4 (moof) can be cut between any two fragments, and shows its end only by their index (mfra).
    return None if b"moof" in found and b"mfra" not in found else end


def _still(file: BinaryIO, size: int) -> int | None:
    found, end = _top_boxes(file, size)
    if not found.keys() & {b"meta", b"moov"}:
        raise Damaged("it breaks off: the picture has no index (meta)")
    if b"mdat" not in found:
        raise Damaged("it breaks off: the picture has no pixels (mdat)")
    return end


def _top_boxes(file: BinaryIO, size: int) -> tuple[dict[bytes, FilePart], int | None]:
    """The last box of each type; and where all of them end, None if the last one is open-ended."""
    found = {}
    for box in _boxes(file, 0, size):
        found[box.kind] = box
    if box.end < size:
        require(box.end + 8, size)
    return found, None if box.is_open else box.end


def _boxes(file: BinaryIO, start: int, stop: int) -> Iterator[FilePart]:
    for box in parse_boxes(file, start, stop, limit=MAX_BOXES):
        if not box.kind.isascii():
            raise Damaged(f"the film is out of step before byte {box.inside:,}")
        yield box


def _sniff_text(head: bytes) -> FileFormat:
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


WALKS: dict[str, Callable[[BinaryIO, int], int | None]] = {
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
