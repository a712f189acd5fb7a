"""Texts in an EXIF block: those of every writer, and none of a block that lies."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from reelbook.media.metadata import exif
from tests.media.making import SIGN


def block(order: str, *entries: tuple[int, int, int, int], more: bytes = b"") -> bytes:
    """A block of one directory; each entry is its tag, its kind, its size and its value."""
    head = {"<": b"II", ">": b"MM"}[order] + struct.pack(order + "HI", 42, 8)
    packed = b"".join(struct.pack(order + "HHII", *entry) for entry in entries)
    return head + struct.pack(order + "H", len(entries)) + packed + bytes(4) + more


def test_an_engines_block_is_read() -> None:
    """All three texts that an engine of ours writes, in the main directory and in the one below."""
    found = exif.parse_texts(SIGN.exif())

    assert found == {
        "ImageDescription": SIGN.as_json(),
        "Software": "reelbook sketch 1",
        "UserComment": SIGN.parameters(),
    }


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("letters", ["utf-16-be", "utf-16-le"])
def test_letters_of_two_bytes_are_read_in_either_order(order: str, letters: str) -> None:
    """Which byte comes first is written nowhere, and programs differ, whatever the order of the block."""
    text = "ein größeres Boot 船\nSteps: 20, Seed: 7"
    comment = b"UNICODE\0" + text.encode(letters)
    below = struct.pack(order + "HHHIII", 1, 0x9286, 7, len(comment), 44, 0) + comment

    found = exif.parse_texts(block(order, (0x8769, 4, 1, 26), more=below))

    assert found == {"UserComment": text}


@pytest.mark.parametrize("head", [b"ASCII\0\0\0", bytes(8), b""])
def test_plain_letters_are_read_with_any_head(head: bytes) -> None:
    """`ASCII`, no head, or one of zeros."""
    comment = head + b"a boat"

    assert exif.parse_texts(block("<", (0x9286, 7, len(comment), 26), more=comment)) == {"UserComment": "a boat"}


def test_a_short_text_stands_in_its_entry() -> None:
    """Four letters and fewer need no other place."""
    assert exif.parse_texts(block("<", (0x0131, 2, 4, int.from_bytes(b"abc\0", "little")))) == {"Software": "abc"}


def test_many_tags_that_point_at_the_same_place_are_not_copied() -> None:
    """A thousand tags that each claim the whole block: only the texts that are wanted are taken, once each."""
    entries = [(number, 2, 900_000, 0) for number in range(1000)]

    found = exif.parse_texts(block("<", *entries, more=bytes(900_000)))

    assert sum(map(len, found.values())) <= 2_000_000


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"II",
        b"XX*\0\x08\0\0\0",
        b"II*\0\xff\xff\xff\xff",
        b"II*\0\x08\0\0\0\xff\xff",
        block("<", (0x8769, 4, 1, 8)),
        block("<", (0x8769, 4, 1, 2**32 - 1)),
        block("<", (0x010E, 2, 2**32 - 1, 2**32 - 1)),
        block(">", (0x010E, 5, 10, 0)),
    ],
)
def test_a_block_that_lies_tells_nothing(data: bytes) -> None:
    """Directories in circles or beyond the end, sizes of gigabytes, texts that are numbers."""
    assert not any(exif.parse_texts(data).values())


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_error(data: bytes) -> None:
    """Whatever a block holds, it gives texts or none."""
    for head in (b"II*\0\x08\0\0\0", b"MM\0*\0\0\0\x08"):
        assert all(isinstance(text, str) for text in exif.parse_texts(head + data).values())


def test_pillow_reads_the_same() -> None:
    """The control: where Pillow can be asked, it says the same."""
    theirs = Image.Exif()
    theirs.load(SIGN.exif())

    assert exif.parse_texts(SIGN.exif())["ImageDescription"] == theirs[0x010E]
