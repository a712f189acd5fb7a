"""Kind and size of a picture from the first bytes of its file, without decoding."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Header:
    """Kind and size of a picture that can be sent to a service."""

    kind: str
    content_type: str
    suffix: str
    width: int
    height: int

    @property
    def pixels(self) -> int:
        """Number of pixels; 0 where the file is truncated before its size."""
        return self.width * self.height


class OtherKind(StrEnum):
    """What a file is that cannot be sent as a picture; the value is for use in a sentence."""

    TIFF = "a TIFF"
    BMP = "a BMP"
    HEIC = "a HEIC picture"
    AVIF = "an AVIF picture"
    VIDEO = "a video"
    PDF = "a PDF"
    PSD = "a PSD"
    ZIP = "a ZIP archive"
    NUMPY = "a saved numpy array"
    SVG = "an SVG"
    HTML = "a web page"
    EMPTY = "empty"
    UNKNOWN = "no picture"


_OTHERS = (
    (rb"II\*\0|MM\0\*", OtherKind.TIFF),
    (rb"BM.{12}[\x0c-\x80]\0\0\0", OtherKind.BMP),
    (rb"....ftyp(heic|heix|hevc|mif1|msf1)", OtherKind.HEIC),
    (rb"....ftypavi[fs]", OtherKind.AVIF),
    (rb"....ftyp", OtherKind.VIDEO),
    (rb"\x1aE\xdf\xa3", OtherKind.VIDEO),
    (rb"RIFF....AVI ", OtherKind.VIDEO),
    (rb"%PDF", OtherKind.PDF),
    (rb"8BPS", OtherKind.PSD),
    (rb"PK\x03\x04", OtherKind.ZIP),
    (rb"\x93NUMPY", OtherKind.NUMPY),
    (rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?<svg", OtherKind.SVG),
    (rb"\s*<(!doctype html|html)", OtherKind.HTML),
)


def parse_header(content: bytes) -> Header | None:
    r"""The header of a PNG, JPEG, WebP or GIF; None for anything else.

    >>> parse_header(b"GIF89a\x40\x00\x30\x00...")
    Header(kind='GIF', content_type='image/gif', suffix='.gif', width=64, height=48)
    >>> parse_header(b"GIF but no picture") is None
    True
    """
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return Header("PNG", "image/png", ".png", *_size(">II", content, 16))
    if content.startswith(b"\xff\xd8\xff"):
        return Header("JPEG", "image/jpeg", ".jpg", *_jpeg_size(content))
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return Header("WebP", "image/webp", ".webp", *_webp_size(content))
    if content[:6] in (b"GIF87a", b"GIF89a"):
        return Header("GIF", "image/gif", ".gif", *_size("<HH", content, 6))
    return None


def guess_kind(content: bytes) -> OtherKind:
    r"""The kind of a file that cannot be sent, from its first bytes.

    >>> print(guess_kind(b"%PDF-1.7"), guess_kind(b"hello"), guess_kind(b""), sep=", ")
    a PDF, no picture, empty
    """
    if not content:
        return OtherKind.EMPTY
    head = content[:1000]
    return next(
        (kind for pattern, kind in _OTHERS if re.match(pattern, head, re.DOTALL | re.IGNORECASE)), OtherKind.UNKNOWN
    )


def _size(form: str, content: bytes, at: int) -> tuple[int, int]:
    try:
        width, height = struct.unpack_from(form, content, at)
    except struct.error:
        return 0, 0
    return width, height


def _jpeg_size(content: bytes) -> tuple[int, int]:
    at = 2
    while at + 4 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:
            # Padding before a marker.
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = _size(">HH", content, at + 5)
            return width, height
        else:
            at += 2 + int.from_bytes(content[at + 2 : at + 4])
    return 0, 0


def _webp_size(content: bytes) -> tuple[int, int]:
    kind, frame = content[12:16], content[20:30]
    if len(frame) < 10:
        return 0, 0
    if kind == b"VP8 ":
        width, height = _size("<HH", frame, 6)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        bits = int.from_bytes(frame[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        return int.from_bytes(frame[4:7], "little") + 1, int.from_bytes(frame[7:10], "little") + 1
    return 0, 0
