"""Texts in an MP4: tags of every writer's way, and our own record at the end, where it moves nothing."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from reelbook.media.metadata import mp4, xmp
from reelbook.media.metadata.file_pieces import assemble
from reelbook.util.containers import MalformedFile
from tests.media.making import content, plain
from tests.service.engines.playing import second_opinion


def edited(file: io.BytesIO, record: str) -> bytes:
    out = io.BytesIO()
    assemble(file, out, mp4.build_pieces(file, record))
    return out.getvalue()


def texts(data: bytes) -> dict[str, str]:
    return dict(mp4.read_texts(io.BytesIO(data)))


def box(kind: bytes, *content: bytes, size: int | None = None) -> bytes:
    body = b"".join(content)
    return struct.pack(">I4s", len(body) + 8 if size is None else size, kind) + body


def long_box(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I4sQ", 1, kind, len(body) + 16) + body


def tagged(tags: dict[bytes, str]) -> bytes:
    items = [box(name, box(b"data", struct.pack(">II", 1, 0), text.encode())) for name, text in tags.items()]
    return box(b"udta", box(b"meta", bytes(4), box(b"hdlr", bytes(24)), box(b"ilst", *items)))


FTYP = box(b"ftyp", b"isom", bytes(4))
MOOV = box(b"moov", tagged({b"\xa9cmt": "a comment", b"\xa9nam": "a name", b"\xa9too": "a tool"}))
MDAT = box(b"mdat", b"packets")


@pytest.mark.parametrize(
    ("container", "options"), [("mp4", {}), ("mp4", {"movflags": "use_metadata_tags"}), ("mov", {}), ("ipod", {})]
)
def test_a_comment_is_read_from_every_writer(container: str, options: dict[str, str], tmp_path: Path) -> None:
    """iTunes tags, keys with names of their own, and QuickTime's older way."""
    path = tmp_path / "clip.mp4"
    with av.open(str(path), "w", format=container, options=options) as film:
        film.metadata.update({"comment": "größer 船"})
        stream = film.add_stream("libx264", rate=24)
        stream.width, stream.height, stream.pix_fmt = 16, 16, "yuv420p"
        film.mux(stream.encode(av.VideoFrame.from_ndarray(np.zeros((16, 16, 3), np.uint8), format="rgb24")))
        film.mux(stream.encode())

    assert texts(path.read_bytes())["comment"] == "größer 船"


def test_tags_without_names_of_ours_are_left_out() -> None:
    """Comment and title are read, the program that wrote the file is not asked for."""
    assert texts(FTYP + MOOV + MDAT) == {"comment": "a comment", "title": "a name"}


def test_the_copy_begins_with_the_original(tmp_path: Path) -> None:
    """Not a byte before our box is another: whatever points into the file points at the same."""
    data = plain(tmp_path / "clip.mp4").read_bytes()

    copy = edited(io.BytesIO(data), '{"seed":7}')

    assert copy.startswith(data)
    assert texts(copy) == {"reelbook": '{"seed":7}'}


def test_a_last_box_without_an_end_gets_one(tmp_path: Path) -> None:
    """`0` means that packets go on to the end of the file; with ours behind them they need a length."""
    path = plain(tmp_path / "clip.mp4")
    data = bytearray(path.read_bytes())
    start = data.index(b"mdat") - 4
    assert start + int.from_bytes(data[start : start + 4]) == len(data)
    data[start : start + 4] = bytes(4)

    (tmp_path / "copy.mp4").write_bytes(edited(io.BytesIO(bytes(data)), "{}"))

    assert texts((tmp_path / "copy.mp4").read_bytes()) == {"reelbook": "{}"}
    assert content(tmp_path / "copy.mp4") == content(path)
    assert second_opinion(tmp_path / "copy.mp4") == (5, "")


def test_a_record_that_others_wrote_behind_becomes_empty_in_its_place() -> None:
    """What follows an old record must not move: it may be packets. The place stays, its name says that it is free."""
    first = edited(io.BytesIO(FTYP + MOOV), "{old}")

    copy = edited(io.BytesIO(first + MDAT), "{new}")

    assert copy.index(b"packets") == (first + MDAT).index(b"packets")
    assert texts(copy) == {"comment": "a comment", "title": "a name", "reelbook": "{new}"}
    assert copy.count(b"uuid") == 1


def test_a_table_of_fragments_stays_at_the_end() -> None:
    """Players find it by its distance from the end of the file."""
    table = box(b"mfra", box(b"mfro", bytes(8)))
    data = FTYP + box(b"moof", b"") + MDAT + table

    copy = edited(io.BytesIO(edited(io.BytesIO(data), "{old}")), "{new}")

    assert copy.endswith(table)
    assert (copy.count(b"uuid"), texts(copy)) == (1, {"reelbook": "{new}"})


def test_another_packet_stays() -> None:
    """What a camera or an editor said in a packet of its own is not ours to change."""
    theirs = box(b"uuid", mp4.XMP_BOX, b"<x:xmpmeta/>")

    copy = edited(io.BytesIO(FTYP + MOOV + theirs), "{}")

    assert theirs in copy
    assert texts(copy)["reelbook"] == "{}"


def test_long_sizes_are_read() -> None:
    """A box of more than 4 GiB says so in eight bytes more; any box may."""
    data = FTYP + long_box(b"mdat", b"packets") + long_box(b"moov", MOOV[8:])

    copy = edited(io.BytesIO(data), "{}")

    assert copy.startswith(data)
    assert texts(copy) == {"comment": "a comment", "title": "a name", "reelbook": "{}"}


def test_a_packet_with_quotes_is_read_as_it_was_written() -> None:
    """JSON is full of quotes, and in XML they are words."""
    record = '{"prompt":"<b>\\"&\'"}'

    assert xmp.find_record(xmp.make_packet(record)) == record


HOSTILE: dict[str, bytes] = {
    "a box of 200 MB": FTYP + box(b"moov", b"", size=200_000_000),
    "a long box of 2^63": FTYP + struct.pack(">I4sQ", 1, b"moov", 2**63),
    "a long box of 3": FTYP + struct.pack(">I4sQ", 1, b"moov", 3),
    "a box of 7": FTYP + box(b"moov", size=7),
    "a tag that is larger than its list": FTYP
    + box(b"moov", box(b"meta", bytes(4), box(b"ilst", box(b"\xa9cmt", size=900)))),
    "a hundred thousand tags": FTYP + box(b"moov", box(b"meta", bytes(4), box(b"ilst", box(b"\xa9cmt") * 110_000))),
    "a million boxes": FTYP + box(b"free") * 1_000_000,
    "many lists of many tags": FTYP
    + box(b"moov", *[box(b"meta", bytes(4), box(b"ilst", *[box(b"\xa9cmt", box(b"free") * 9)] * 900))] * 50),
    "an old comment of two bytes": FTYP + box(b"moov", box(b"udta", box(b"\xa9cmt", b"\0\1"))),
    "keys that end early": FTYP
    + box(b"moov", box(b"meta", bytes(4), box(b"keys", bytes(4)), box(b"ilst", box(b"\0\0\0\1")))),
    "data without a text": FTYP
    + box(b"moov", box(b"meta", bytes(4), box(b"ilst", box(b"\xa9cmt", box(b"data", b"\0"))))),
    "an empty index": FTYP + box(b"moov"),
    "an empty meta": FTYP + box(b"moov", box(b"meta")),
    "an empty packet": FTYP + MOOV + box(b"uuid", mp4.XMP_BOX),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_film_tells_nothing_and_harms_nothing(name: str) -> None:
    """Claims beyond the file, boxes without end, tags in masses: read or written, it ends, with our own error at most."""
    found: dict[str, Any] = {}
    for act in (texts, lambda data: edited(io.BytesIO(data), "{}")):
        try:
            found[act.__name__] = act(HOSTILE[name])
        except MalformedFile:
            continue

    assert set(found.get("texts", {})) <= {"comment", "title"}
