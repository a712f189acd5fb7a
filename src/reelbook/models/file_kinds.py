"""What a file is by its first bytes, whatever its name, and the size of a picture without decoding it."""

from __future__ import annotations

import codecs
import re
import struct
from dataclasses import dataclass

HEAD_BYTES = 1024
"""How many of a file's first bytes show its kind."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file: its name in a sentence, the suffix under which it is stored, and its content type."""

    name: str
    suffix: str = ".bin"
    content_type: str = "application/octet-stream"


PNG = FileKind("a PNG", ".png", "image/png")
JPEG = FileKind("a JPEG", ".jpg", "image/jpeg")
WEBP = FileKind("a WebP", ".webp", "image/webp")
GIF = FileKind("a GIF", ".gif", "image/gif")
TIFF = FileKind("a TIFF", ".tif", "image/tiff")
AVIF = FileKind("an AVIF picture", ".avif", "image/avif")
HEIC = FileKind("a HEIC picture", ".heic", "image/heic")
BMP = FileKind("a BMP")
MP4 = FileKind("a video", ".mp4", "video/mp4")
WEBM = FileKind("a video", ".webm", "video/webm")
TEXT = FileKind("no picture", ".txt", "text/plain")
# A foreign page is stored as text, so that no double click on the file runs its scripts.
PAGE = FileKind("a web page", ".txt", "text/html")
BINARY, EMPTY = FileKind("no picture"), FileKind("empty")

KINDS = (
    (rb"\x89PNG\r\n\x1a\n", PNG),
    (rb"\xff\xd8\xff", JPEG),
    (rb"GIF8[79]a", GIF),
    (rb"RIFF....WEBP", WEBP),
    (rb"RIFF....WAVE", FileKind("a sound", ".wav", "audio/wav")),
    (rb"RIFF....AVI ", FileKind("a video")),
    (rb"II\*\0|MM\0\*", TIFF),
    (rb"BM.{12}[\x0c-\x80]\0\0\0", BMP),
    (rb"\x1a\x45\xdf\xa3", WEBM),
    (rb"....ftypavi[fs]", AVIF),
    (rb"....ftyp(hei[cx]|hevc|mif1|msf1)", HEIC),
    (rb"....ftyp", MP4),
    (rb"%PDF", FileKind("a PDF")),
    (rb"8BPS", FileKind("a PSD")),
    (rb"PK\x03\x04", FileKind("a ZIP archive")),
    (rb"\x93NUMPY", FileKind("a saved numpy array")),
    (rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?<svg", FileKind("an SVG", ".txt", "text/plain")),
    (rb"(\xef\xbb\xbf)?\s*(?i:<!doctype html|<html|<head|<body|<title|<script|<meta|<!--)[^\0]*\Z", PAGE),
)
"""The beginning of each kind of file."""

# Control characters that do not occur in text.
_UNPRINTABLE = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def sniff_kind(content: bytes) -> FileKind:
    """The kind of a file by its first bytes.

    >>> sniff_kind(b"\\x89PNG\\r\\n\\x1a\\n").suffix, sniff_kind(b"<HTML><h1>Expired").content_type, sniff_kind(b"%PDF-1.7").name
    ('.png', 'text/html', 'a PDF')
    """
    head = content[:HEAD_BYTES]
    kind = next((kind for start, kind in KINDS if re.match(start, head, re.DOTALL)), None)
    if kind is not None or not head:
        return kind or EMPTY
    try:
        # Where the file is longer than the head, its last character may be cut.
        codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=len(head) < HEAD_BYTES)
    except UnicodeDecodeError:
        return BINARY
    return BINARY if _UNPRINTABLE.search(head) else TEXT


@dataclass(frozen=True, slots=True)
class PictureHeader:
    """Kind and size of a picture that can be sent to a service."""

    kind: FileKind
    width: int
    height: int

    @property
    def pixels(self) -> int:
        """Number of pixels; 0 where the file is truncated before its size."""
        return self.width * self.height


def parse_header(content: bytes) -> PictureHeader | None:
    r"""The header of a PNG, JPEG, WebP or GIF; None for anything else.

    >>> parse_header(b"GIF89a\x40\x00\x30\x00...").width, parse_header(b"GIF but no picture")
    (64, None)
    """
    kind = sniff_kind(content)
    if kind not in (PNG, JPEG, WEBP, GIF):
        return None
    try:
        if kind == PNG:
            size = struct.unpack_from(">II", content, 16)
        elif kind == GIF:
            size = struct.unpack_from("<HH", content, 6)
        else:
            size = _read_jpeg_size(content) if kind == JPEG else _read_webp_size(content)
    except (struct.error, IndexError):
        size = (0, 0)
    return PictureHeader(kind, *size)


def _read_jpeg_size(content: bytes) -> tuple[int, int]:
    at = 2
    while content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:
            at += 1  # Padding before a marker.
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", content, at + 5)
            return width, height
        else:
            at += 2 + struct.unpack_from(">H", content, at + 2)[0]
    return 0, 0


def _read_webp_size(content: bytes) -> tuple[int, int]:
    kind, frame = content[12:16], content[20:30]
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", frame, 6)
        return width & 0x3FFF, height & 0x3FFF
    bits = int.from_bytes(frame[1:5], "little")
    if kind == b"VP8L" and len(frame) == 10:
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X" and len(frame) == 10:
        return int.from_bytes(frame[4:7], "little") + 1, int.from_bytes(frame[7:10], "little") + 1
    return 0, 0
