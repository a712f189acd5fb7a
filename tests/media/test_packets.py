"""Our record in the packet of a PNG, JPEG, WebP or MP4: it comes back whole, and nothing else in the file changes."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

from PIL import Image

from reelbook.media.metadata.packets import (
    copy_pieces,
    edit_file,
    find_record,
)
from tests.media.making import grain


def edited(data: bytes, record: str = '{"seed":7}') -> bytes:
    file, out = io.BytesIO(data), io.BytesIO()
    copy_pieces(file, out, edit_file(file, record, ""))
    return out.getvalue()


def picture(kind: str, image: Image.Image | None = None, **options: Any) -> bytes:
    out = io.BytesIO()
    (image or grain()).save(out, kind, **options)
    return out.getvalue()


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def box(kind: bytes, *parts: bytes, size: int | None = None) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I4s", len(body) + 8 if size is None else size, kind) + body


def test_a_jpeg_has_its_packet_after_what_comes_first_and_before_all_else() -> None:
    """JFIF and EXIF want to be first; distances to a second picture are counted from segments that come later."""
    exif = Image.Exif()
    exif[0x010E] = "a boat"
    data = picture("jpeg", exif=exif, icc_profile=b"profile")
    filled = data[:2] + b"\xff\xff" + data[2:]

    for original in (data, filled):
        copy = edited(original)
        assert (
            copy.index(b"JFIF") < copy.index(b"Exif\0\0") < copy.index(b"reelbook:record") < copy.index(b"ICC_PROFILE")
        )
        assert copy[copy.index(b"ICC_PROFILE") :] == data[data.index(b"ICC_PROFILE") :]


FTYP, MOOV, MDAT = box(b"ftyp", b"isom", bytes(4)), box(b"moov"), box(b"mdat", b"packets")


def test_a_record_that_others_wrote_behind_becomes_empty_in_its_place() -> None:
    """What follows an old record must not move: it may be packets."""
    first = edited(FTYP + MOOV, '{"old":1}') + MDAT

    copy = edited(first)

    assert copy.index(b"packets") == first.index(b"packets")
    assert (copy.count(b"uuid"), find_record(copy[copy.index(b"uuid") :])) == (1, '{"seed":7}')


def test_a_table_of_fragments_stays_at_the_end() -> None:
    """Players find it by its distance from the end of the file."""
    table = box(b"mfra", box(b"mfro", bytes(8)))

    copy = edited(edited(FTYP + MOOV + box(b"moof") + MDAT + table, '{"old":1}'))

    assert copy.endswith(table)
    assert (copy.count(b"uuid"), find_record(copy)) == (1, '{"seed":7}')
