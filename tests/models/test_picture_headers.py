"""What the first bytes of a file say, against the library that decodes it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from PIL import Image

from reelbook.models.picture_headers import guess_kind, parse_header

SIZES = [(1, 1), (64, 48), (300, 2), (1, 1000)]


def saved(size: tuple[int, int], kind: str, mode: str = "RGB", **options: Any) -> bytes:
    out = io.BytesIO()
    Image.new(mode, size, "teal" if mode != "L" else 90).save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PNG", {}),
        ("JPEG", {}),
        ("JPEG", {"progressive": True, "exif": Image.Exif().tobytes() + b"\xff\xc0" * 50}),
        ("WEBP", {"lossless": True}),
        ("WEBP", {"lossless": False}),
        ("WEBP", {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0"}),
        ("GIF", {}),
    ],
    ids=str,
)
def test_the_size_is_read_without_decoding(size: tuple[int, int], kind: str, options: dict[str, Any]) -> None:
    """In every flavour of the four formats, the same size that Pillow finds."""
    header = parse_header(saved(size, kind, **options))

    assert header is not None
    assert (header.kind.upper(), header.width, header.height) == (kind, *size)
    assert header.content_type == Image.MIME[kind]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_file_cut_short_is_a_picture_of_no_size(kind: str) -> None:
    """However short, nothing else goes wrong; and with the whole header, it has its size."""
    whole = saved((64, 48), kind)

    found = [parse_header(whole[:length]) for length in range(len(whole))]

    assert {header.pixels for header in found if header} == {0, 64 * 48}


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (saved((2, 2), "TIFF"), "a TIFF"),
        (saved((2, 2), "BMP"), "a BMP"),
        (b"\0\0\0\x18ftypheic\0\0", "a HEIC picture"),
        (b"\0\0\0\x18ftypavif\0\0", "an AVIF picture"),
        (b"\0\0\0\x18ftypisom\0\0", "a video"),
        (b"%PDF-1.7", "a PDF"),
        (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg">', "an SVG"),
        (b"<!DOCTYPE html><title>404</title>", "a web page"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"", "empty"),
        (b"a paper boat", "no picture"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_such_picture_has_no_header_and_is_told_by_name(content: bytes, name: str) -> None:
    """A person learns what they gave instead."""
    assert parse_header(content) is None
    assert guess_kind(content) == name
