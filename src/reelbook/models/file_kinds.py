"""What a file is by its first bytes, whatever its name, and the size of a picture without decoding it."""

from __future__ import annotations

import codecs
import io
import re
from contextlib import suppress
from typing import IO, NamedTuple

HEAD_BYTES = 1024
"""How many of a file's first bytes show its kind."""


class FileKind(NamedTuple):
    """A kind of file."""

    name: str
    """What a sentence calls it."""
    suffix: str = ".bin"
    """The suffix under which it is stored."""
    content_type: str = "application/octet-stream"
    start: bytes = rb"(?!)"
    """How it begins, as a regular expression."""


PNG = FileKind("a PNG", ".png", "image/png", rb"\x89PNG\r\n\x1a\n")
JPEG = FileKind("a JPEG", ".jpg", "image/jpeg", rb"\xff\xd8\xff")
WEBP = FileKind("a WebP", ".webp", "image/webp", rb"RIFF....WEBP")
GIF = FileKind("a GIF", ".gif", "image/gif", rb"GIF8[79]a")
TIFF = FileKind("a TIFF", ".tif", "image/tiff", rb"II\*\0|MM\0\*")
BMP = FileKind("a BMP", start=rb"BM.{12}[\x0c-\x80]\0\0\0")
AVIF = FileKind("an AVIF picture", ".avif", "image/avif", rb"....ftypavi[fs]")
HEIC = FileKind("a HEIC picture", ".heic", "image/heic", rb"....ftyp(hei[cx]|hevc|mif1|msf1)")
MP4 = FileKind("a video", ".mp4", "video/mp4", rb"....ftyp")
WEBM = FileKind("a video", ".webm", "video/webm", rb"\x1a\x45\xdf\xa3")
WAV = FileKind("a sound", ".wav", "audio/wav", rb"RIFF....WAVE")
PDF = FileKind("a PDF", start=rb"%PDF")
# Stored as text, so that no double click on a foreign file runs its scripts.
SVG = FileKind("an SVG", ".txt", "text/plain", rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?<svg")
_TAGS = rb"<!doctype html|<html|<head|<body|<title|<script|<meta|<!--"
PAGE = FileKind("a web page", ".txt", "text/html", rb"(\xef\xbb\xbf)?\s*(?i:%s)[^\0]*\Z" % _TAGS)
TEXT = FileKind("no picture", ".txt", "text/plain")
BINARY, EMPTY = FileKind("no picture"), FileKind("empty")

KINDS = (PNG, JPEG, WEBP, GIF, TIFF, BMP, AVIF, HEIC, MP4, WEBM, WAV, PDF, SVG, PAGE)
"""The kinds that are known by their beginning; MP4 comes after those that begin like it."""
SENDABLE = {PNG: "PNG", JPEG: "JPEG", WEBP: "WEBP", GIF: "GIF"}
"""The kinds of pictures that services take, with Pillow's names for them."""

# Control characters that do not occur in text.
_UNPRINTABLE = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def sniff_kind(content: bytes) -> FileKind:
    """The kind of a file by its first bytes.

    >>> sniff_kind(b"\\x89PNG\\r\\n\\x1a\\n").suffix, sniff_kind(b"<HTML><h1>Expired").content_type, sniff_kind(b"%PDF-1.7").name
    ('.png', 'text/html', 'a PDF')
    """
    head = content[:HEAD_BYTES]
    kind = next((kind for kind in KINDS if re.match(kind.start, head, re.DOTALL)), None)
    if kind is not None or not head:
        return kind or EMPTY
    try:
        # Where the file is longer than the head, its last character may be cut.
        codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=len(head) < HEAD_BYTES)
    except UnicodeDecodeError:
        return BINARY
    return BINARY if _UNPRINTABLE.search(head) else TEXT


def read_size(source: bytes | IO[bytes]) -> tuple[int, int] | None:
    r"""Width and height of a PNG, JPEG, WebP or GIF, in memory or in an open file; None for anything else, or where it is damaged.

    >>> read_size(b"GIF but no picture"), read_size(b"\x89PNG\r\n\x1a\n cut short")
    (None, None)
    """
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    file.seek(0)
    kind = sniff_kind(file.read(HEAD_BYTES))
    if kind not in SENDABLE:
        return None
    from PIL import Image

    Image.init()
    file.seek(0)
    # Pillow raises errors of many types for a damaged header.
    with suppress(Exception):
        # Not `Image.open`, which warns of many pixels, or refuses them: their number is what is asked for here.
        width, height = Image.OPEN[SENDABLE[kind]][0](file, "").size
        return (width, height) if width and height else None
    return None
