"""What the first bytes of a file say, against the library that decodes it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from PIL import Image

from reelbook.models.file_kinds import HEAD_BYTES, parse_header, sniff_kind

FLAVOURS: list[tuple[str, dict[str, Any]]] = [
    ("PNG", {}),
    ("JPEG", {}),
    ("JPEG", {"progressive": True, "exif": Image.Exif().tobytes() + b"\xff\xc0" * 50}),
    ("WEBP", {"lossless": True}),
    ("WEBP", {"lossless": False}),
    ("WEBP", {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0"}),
    ("GIF", {}),
]


def saved(size: tuple[int, int], kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, "teal").save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize(("kind", "options"), FLAVOURS, ids=str)
def test_the_size_of_a_picture_is_read_without_decoding(kind: str, options: dict[str, Any]) -> None:
    """The same that Pillow finds; of a file cut short before it there is none, and nothing else goes wrong."""
    for size in ((1, 1), (64, 48), (300, 2), (1, 1000)):
        whole = saved(size, kind, **options)
        header = parse_header(whole)

        assert header is not None
        assert (header.width, header.height, header.kind.content_type) == (*size, Image.MIME[kind])
        found = [parse_header(whole[:length]) for length in range(min(len(whole), 600))]
        assert {cut.pixels for cut in found if cut} <= {0, size[0] * size[1]}
        assert found[20] is not None
        assert found[20].pixels == 0 or kind == "GIF"


@pytest.mark.parametrize(
    ("content", "name", "content_type"),
    [
        (saved((2, 2), "TIFF"), "a TIFF", "image/tiff"),
        (saved((2, 2), "BMP"), "a BMP", "application/octet-stream"),
        (b"\0\0\0\x18ftypheic\0\0", "a HEIC picture", "image/heic"),
        (b"\0\0\0\x18ftypavif\0\0", "an AVIF picture", "image/avif"),
        (b"\0\0\0\x18ftypisom\0\0", "a video", "video/mp4"),
        (b"\0\0\0\x14ftypqt  ", "a video", "video/mp4"),
        (b"\x1a\x45\xdf\xa3\x01", "a video", "video/webm"),
        (b"%PDF-1.7", "a PDF", "application/octet-stream"),
        (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg">', "an SVG", "text/plain"),
        (b"<!DOCTYPE html><title>404</title>", "a web page", "text/html"),
        # Pages in old alphabets are pages, and a letter cut at the end of what is looked at does no harm.
        (b"\xef\xbb\xbf \n<HTML lang=de>Gel\xf6scht", "a web page", "text/html"),
        (b"a" + ("ä" * HEAD_BYTES).encode(), "no picture", "text/plain"),
        (b'{"error": "expired"}', "no picture", "text/plain"),
        (b"plain\0not", "no picture", "application/octet-stream"),
        (b"\xf6\xf6", "no picture", "application/octet-stream"),
        (b"", "empty", "application/octet-stream"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_first_bytes_tell_the_kind_and_what_to_call_it(content: bytes, name: str, content_type: str) -> None:
    """A person learns what they gave instead of a picture."""
    kind = sniff_kind(content)

    assert (kind.name, kind.content_type, parse_header(content)) == (name, content_type, None)
