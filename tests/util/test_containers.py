"""The parts of a file: they adjoin, they end where it ends, and there are never too many."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator

import pytest

from reelbook.util.containers import (
    PIECE_BYTES,
    FilePart,
    MalformedFile,
    parse_boxes,
    parse_jpeg_segments,
    parse_png_chunks,
    parse_riff_chunks,
    read_exactly,
    read_pieces,
)
from tests.faults.bodies import every_kind

KINDS = every_kind()
Walk = Callable[..., Iterator[FilePart]]

WALKS: dict[str, Walk] = {
    "plain.png": parse_png_chunks,
    "lossy.webp": lambda file, **limit: parse_riff_chunks(file, len(KINDS["lossy.webp"]), **limit),
    "fast.mp4": lambda file, **limit: parse_boxes(file, 0, len(KINDS["fast.mp4"]), **limit),
}


@pytest.mark.parametrize("name", WALKS)
def test_parts_adjoin_up_to_the_end(name: str) -> None:
    """Each starts where the one before it ends, holds its content, and the last ends the file."""
    parts = list(WALKS[name](io.BytesIO(KINDS[name])))

    assert [part.start for part in parts[1:]] == [part.end for part in parts[:-1]]
    assert all(part.start < part.inside <= part.stop <= part.end for part in parts)
    assert parts[-1].end == len(KINDS[name])


def test_segments_of_a_jpeg_end_before_the_pixels() -> None:
    """The scan is the last, and the walk can go on where its pixels end."""
    content = KINDS["baseline.jpg"]
    file = io.BytesIO(content)

    segments = list(parse_jpeg_segments(file))

    assert segments[-1].kind == b"\xda"
    assert [segment.start for segment in segments[1:]] == [segment.end for segment in segments[:-1]]
    assert [(end.kind, end.end) for end in parse_jpeg_segments(file, len(content) - 2)] == [(b"\xd9", len(content))]


@pytest.mark.parametrize("name", [*WALKS, "baseline.jpg"])
def test_no_more_parts_are_read_than_allowed(name: str) -> None:
    """A file of headers alone could take minutes."""
    walk = WALKS.get(name, parse_jpeg_segments)

    with pytest.raises(MalformedFile, match=r"too many|more parts|does not end"):
        list(walk(io.BytesIO(KINDS[name]), limit=1))


def test_a_box_of_64_bits_and_an_open_one() -> None:
    """A long size stands after the type; without a size a box goes to the end of what contains it."""
    content = struct.pack(">I4sQ2s", 1, b"free", 18, b"ab") + struct.pack(">I4s4s", 0, b"mdat", b"rest")

    first, last = parse_boxes(io.BytesIO(content), 0, len(content))

    assert (first.inside, first.size, first.is_open) == (16, 2, False)
    assert (last.inside, last.size, last.is_open) == (26, 4, True)


def test_what_is_missing_is_counted() -> None:
    """A short file says by how many bytes."""
    with pytest.raises(MalformedFile, match="7 bytes are missing at byte 3"):
        read_exactly(io.BytesIO(b"abc"), 2, 8)


def test_a_long_range_comes_in_pieces() -> None:
    """In order, none larger than the bound; and a range beyond the end is an error."""
    content = bytes(range(256)) * (PIECE_BYTES // 100)

    pieces = list(read_pieces(io.BytesIO(content), 1, len(content)))

    assert b"".join(pieces) == content[1:]
    assert max(map(len, pieces)) == PIECE_BYTES
    with pytest.raises(MalformedFile):
        list(read_pieces(io.BytesIO(b"abc"), 1, 9))
