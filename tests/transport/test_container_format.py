"""What bytes are, and whether they are all: judged by their structure, with no decoder and no trust in their numbers."""

from __future__ import annotations

import io
import struct
import tracemalloc
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from reelbook.transport.downloads.container_format import HEAD_BYTES, Damaged, check_container, sniff_kind
from reelbook.util.containers import PIECE_BYTES
from tests.faults.bodies import every_kind, picture
from tests.support import examples

KINDS = every_kind()


def verdict(content: bytes) -> str:
    """`proven`, `open` or `damaged`."""
    try:
        return "proven" if check_container(io.BytesIO(content)).proven else "open"
    except Damaged:
        return "damaged"


@pytest.mark.parametrize("name", KINDS)
def test_a_whole_file_proves_that_it_is_whole(name: str) -> None:
    """Every way of writing every kind parses to its last byte, and is called what it is."""
    found = check_container(io.BytesIO(KINDS[name]))

    assert found.proven
    assert found.kind.suffix == Path(name).suffix


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_file_cut_anywhere_is_never_proven(name: str) -> None:
    """Each proper beginning of a file is refused, or at least leaves the question open to those who know its length."""
    content = KINDS[name]

    # Of a film in one piece the beginning and the end byte by byte, and of what is between them a few.
    step = examples(7, 1) if name in ("film.mp4", "fast.mp4") else 1
    cuts = [cut for cut in range(1, len(content)) if not 2000 < cut < len(content) - 2000 or cut % step == 0]
    proven = [cut for cut in cuts if verdict(content[:cut]) == "proven"]

    assert proven == []


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_file_that_lost_its_end_is_known_to_be_damaged(name: str) -> None:
    """Half of a file is not merely unproven: no told length makes it acceptable."""
    assert verdict(KINDS[name][: len(KINDS[name]) // 2]) == "damaged"


def test_every_flipped_bit_of_a_png_is_noticed() -> None:
    """Its checksums cover everything; a flipped signature makes it a kind nobody knows."""
    content = KINDS["plain.png"]

    for place in range(len(content)):
        flipped = content[:place] + bytes([content[place] ^ (1 << place % 8)]) + content[place + 1 :]
        assert verdict(flipped) == "damaged" or sniff_kind(flipped).suffix == ".bin", place


@pytest.mark.parametrize("name", ["plain.png", "baseline.jpg", "moving.gif", "lossy.webp"])
def test_what_follows_the_end_leaves_the_question_open(name: str) -> None:
    """A picture with something behind it is not proven: only a told length can say that it belongs there."""
    assert verdict(KINDS[name] + b"and more") == "open"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I4s", 2**31, b"IDAT"),
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I4s", 0, b"IEND") + b"\xae\x42\x60\x82",
        b"\xff\xd8\xff\xd9",
        b"\xff\xd8\xff\xe0\xff\xff",
        b"\xff\xd8\xff\xe0\x00\x00",
        b"GIF89a" + bytes(6) + b"\x87",
        b"GIF89a" + bytes(7) + b";",
        b"RIFF\xff\xff\xff\xffWEBP",
        b"RIFF\x04\0\0\0WEBP",
        struct.pack(">I4s4sI", 16, b"ftyp", b"isom", 0),
        struct.pack(">I4s4sI", 16, b"ftyp", b"isom", 0) + struct.pack(">I4sQ", 1, b"mdat", 2**63),
        struct.pack(">I4s4sI", 16, b"ftyp", b"isom", 0) + struct.pack(">I4s", 4, b"free"),
        struct.pack(">I4s4sI", 16, b"ftyp", b"isom", 0) + struct.pack(">I4sI4s", 8, b"moov", 8, b"mdat"),
    ],
)
def test_an_empty_shell_is_damaged(content: bytes) -> None:
    """Enormous lengths, lengths of nothing, and files that end before they hold anything."""
    assert verdict(content) == "damaged"


def test_a_film_whose_last_box_is_open_is_not_proven() -> None:
    """A box of length 0 goes to the end of the file, wherever that is; someone else must know the length."""
    content = KINDS["fast.mp4"]
    at = content.rindex(b"mdat")

    opened = content[: at - 4] + bytes(4) + content[at:]

    assert verdict(opened) == "open"


@given(st.sampled_from(sorted(KINDS)), st.integers(0, 400), st.binary(max_size=12))
def test_no_content_breaks_the_judge(name: str, place: int, stroke: bytes) -> None:
    """Whatever stands in the bytes, the answer is one of three."""
    content = KINDS[name]

    told = verdict(content[:place] + stroke + content[place + len(stroke) :])

    assert told in ("proven", "open", "damaged")


class Endless(io.RawIOBase):
    """A file that claims to be huge, and remembers the most that was read at once."""

    def __init__(self, start: bytes, size: int) -> None:
        self.start, self.size, self.at, self.most = start, size, 0, 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = offset + (self.size if whence == 2 else 0)
        return self.at

    def read(self, size: int = -1) -> bytes:
        self.most = max(self.most, size)
        piece = (self.start[self.at :] + bytes(size))[:size]
        self.at += size
        return piece


@pytest.mark.parametrize(
    "start",
    [
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I4s", 13, b"IHDR") + bytes(17) + struct.pack(">I4s", 2**31 - 1, b"IDAT"),
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I4s", 2**31 - 1, b"IHDR"),
        b"\xff\xd8\xff\xda\x00\x02" + bytes(64),
        struct.pack(">I4s4sI", 16, b"ftyp", b"isom", 0) + struct.pack(">I4sQ", 1, b"moov", 2**39),
    ],
)
def test_no_number_in_a_file_decides_how_much_is_read(start: bytes) -> None:
    """Of a file of 32 MB that claims enormous parts, little is in memory at any time."""
    file = Endless(start, 32 << 20)
    reader: BinaryIO = file  # type: ignore[assignment]  # It has the two methods that are used.
    tracemalloc.start()

    with pytest.raises(Damaged):
        check_container(reader)

    assert tracemalloc.get_traced_memory()[1] < 8 * PIECE_BYTES
    tracemalloc.stop()
    assert file.most <= PIECE_BYTES


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (b"<!DOCTYPE html><title>Expired</title>", "text/html"),
        (b"\xef\xbb\xbf \n<HTML lang=de>Gel\xf6scht", "text/html"),
        (b'{"error": "expired"}', "text/plain"),
        (("ä" * HEAD_BYTES).encode(), "text/plain"),
        (b"a" + ("ä" * HEAD_BYTES).encode(), "text/plain"),
        (b"plain\0not", "application/octet-stream"),
        (b"\xf6\xf6", "application/octet-stream"),
        (b"\x1a\x45\xdf\xa3\x01", "video/webm"),
        (b"\0\0\0\x14ftypqt  ", "video/mp4"),
        (b"\0\0\0\x14ftypheic", "image/heic"),
    ],
)
def test_first_bytes_tell_the_kind(content: bytes, content_type: str) -> None:
    """Pages in old alphabets are pages, and a letter cut at the end of what is looked at does no harm."""
    assert sniff_kind(content[:HEAD_BYTES]).content_type == content_type


def test_a_large_jpeg_with_markers_across_pieces_is_proven() -> None:
    """Nothing is lost where two pieces of the reading meet."""
    content = picture("JPEG", side=700, quality=98)

    assert len(content) > 2 * PIECE_BYTES
    assert verdict(content) == "proven"
    assert verdict(content[:-2]) == "damaged"
    Image.open(io.BytesIO(content)).load()
