"""Texts in a JPEG: comments, EXIF, and our own record in as many comments as it takes."""

from __future__ import annotations

import io
import struct

import pytest
from PIL import Image

from reelbook.media.metadata import jpeg
from reelbook.media.metadata.file_pieces import assemble
from reelbook.util.containers import MalformedFile
from tests.media.making import grain


def saved(**options: object) -> io.BytesIO:
    out = io.BytesIO()
    grain().save(out, "jpeg", **options)
    return out


def edited(file: io.BytesIO, record: str) -> io.BytesIO:
    out = io.BytesIO()
    assemble(file, out, jpeg.build_pieces(file, record))
    return out


def segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def test_a_comment_is_read() -> None:
    """The plainest way to write into a JPEG."""
    assert dict(jpeg.read_texts(saved(comment="größer".encode()))) == {"comment": "größer"}


@pytest.mark.parametrize("length", [0, 1, 64_999, 65_000, 65_001, 300_000])
def test_a_record_of_any_length_comes_back(length: int) -> None:
    """A comment holds 64 KiB; a longer record takes several, cut anywhere, also in the middle of a letter."""
    record = "{" + "船" * (length // 3) + "x" * (length % 3) + "}"

    copy = edited(edited(saved(comment=b"theirs"), "{old}"), record)

    assert dict(jpeg.read_texts(copy)) == {"reelbook": record, "comment": "theirs"}
    assert Image.open(copy).tobytes() == Image.open(saved()).tobytes()


def test_it_stands_behind_what_comes_first_and_before_all_else() -> None:
    """JFIF and EXIF want to be first; distances to a second picture are counted from segments that come later."""
    exif = Image.Exif()
    exif[0x010E] = "a boat"
    data = saved(exif=exif, icc_profile=b"profile").getvalue()

    copy = edited(io.BytesIO(data), "{}").getvalue()

    assert copy.index(b"JFIF") < copy.index(b"Exif\0\0") < copy.index(b"Reelbook 1/1 {}") < copy.index(b"ICC_PROFILE")
    assert copy[copy.index(b"ICC_PROFILE") :] == data[data.index(b"ICC_PROFILE") :]


def test_parts_in_another_order_are_put_in_theirs() -> None:
    """Programs that rewrite a file need not keep its comments in order."""
    data = saved().getvalue()
    parts = segment(0xFE, b"Reelbook 2/2 7}") + segment(0xFE, b'Reelbook 1/2 {"seed":')

    assert dict(jpeg.read_texts(io.BytesIO(data[:2] + parts + data[2:]))) == {"reelbook": '{"seed":7}'}


def test_filling_between_segments_is_no_fault() -> None:
    """Any number of FF may stand before a marker."""
    data = saved().getvalue()
    filled = io.BytesIO(data[:2] + b"\xff\xff\xff" + segment(0xFE, b"told") + data[2:])

    assert dict(jpeg.read_texts(filled)) == {"comment": "told"}
    assert dict(jpeg.read_texts(edited(filled, "{}"))) == {"comment": "told", "reelbook": "{}"}


@pytest.mark.parametrize(
    "rest",
    [b"", b"\xff", b"\xff\xfe\0\0", b"\xff\xfe\0\1", b"\xff\xfe\xff\xff", b"nonsense", segment(0xFE, b"x") * 20_000],
)
def test_a_jpeg_that_makes_no_sense_is_odd(rest: bytes) -> None:
    """Segments that end too late, nothing but fillings, no pixels, far too many comments."""
    with pytest.raises(MalformedFile):
        jpeg.build_pieces(io.BytesIO(b"\xff\xd8" + rest), "{}")
