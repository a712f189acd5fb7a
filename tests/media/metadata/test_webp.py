"""Texts in a WebP: its EXIF block, and our own record in its XMP packet."""

from __future__ import annotations

import io
import json
import struct
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image

from reelbook.media.metadata import webp, xmp
from reelbook.media.metadata.file_pieces import assemble
from reelbook.util.containers import MalformedFile
from reelbook_service.engines.write_provenance import WrittenProvenance
from tests.media.making import SIGN, grain


def saved(mode: str = "RGB", size: tuple[int, int] = (24, 16), **options: Any) -> io.BytesIO:
    out = io.BytesIO()
    grain(*size, mode=mode).save(out, "webp", **options)
    return out


def edited(file: io.BytesIO, record: str) -> io.BytesIO:
    out = io.BytesIO()
    assemble(file, out, webp.build_pieces(file, record))
    return out


def kinds(file: io.BytesIO) -> list[bytes]:
    return [chunk.kind for chunk in webp._chunks(file)]


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
@pytest.mark.parametrize("lossless", [False, True])
@pytest.mark.parametrize("size", [(24, 16), (1, 1), (301, 257)])
def test_the_simple_kind_becomes_the_one_that_holds_texts(mode: str, lossless: bool, size: tuple[int, int]) -> None:
    """Size and transparency go into the new header; the picture is the same to the pixel."""
    original = saved(mode, size, lossless=lossless)

    copy = edited(original, '{"seed":7}')

    assert kinds(copy)[0] == b"VP8X"
    assert bool(copy.getvalue()[20] & 0x10) == (mode == "RGBA")
    assert dict(webp.read_texts(copy)) == {"reelbook": '{"seed":7}'}
    with Image.open(original) as before, Image.open(copy) as after:
        assert (after.size, after.mode, after.tobytes()) == (before.size, before.mode, before.tobytes())


def test_our_record_goes_into_the_packet_that_is_there() -> None:
    """One packet, still sound XML, with what the engine said in it and ours beside it, the newer one only."""
    copy = edited(edited(saved(**SIGN.save_options("webp")), '{"old":1}'), '{"prompt":"<b>\\"&\'"}')

    assert kinds(copy).count(b"XMP ") == 1
    packet = Image.open(copy).info["xmp"]
    theirs, ours = ElementTree.fromstring(packet).iter("{http://www.w3.org/1999/02/22-rdf-syntax-ns#}Description")
    assert theirs.get("{http://ns.adobe.com/xap/1.0/}CreatorTool") == "reelbook sketch 1"
    assert ours.get("{urn:reelbook:provenance#}record") == '{"prompt":"<b>\\"&\'"}'
    assert dict(webp.read_texts(copy))["reelbook"] == '{"prompt":"<b>\\"&\'"}'


def test_a_packet_that_is_none_stays_beside_ours() -> None:
    """What cannot be added to is left alone."""
    copy = edited(saved(xmp=b"no packet"), "{}")

    assert kinds(copy).count(b"XMP ") == 2
    assert b"no packet" in copy.getvalue()
    assert dict(webp.read_texts(copy)) == {"reelbook": "{}"}


def test_a_moving_picture_keeps_its_frames() -> None:
    """An animation has the header already; only its note of a packet is set."""
    out = io.BytesIO()
    shades = [Image.new("RGB", (8, 8), (shade,) * 3) for shade in (0, 100, 200)]
    shades[0].save(out, "webp", save_all=True, append_images=shades[1:], duration=40, lossless=True)

    with Image.open(edited(out, "{}")) as copy:
        seen = []
        for number in range(3):
            copy.seek(number)
            seen.append(copy.convert("L").getpixel((4, 4)))

    assert seen == [0, 100, 200]


def test_what_stands_behind_the_end_stays() -> None:
    """Some programs append their own notes to a file."""
    assert edited(io.BytesIO(saved().getvalue() + b"more"), "{}").getvalue().endswith(b"more")


def test_a_last_chunk_without_its_padding_is_read_and_not_written_to() -> None:
    """Some writers leave the last byte out; a chunk after it would not be found."""
    content = b"XMP " + struct.pack("<I", 3) + b"odd"
    data = io.BytesIO(b"RIFF" + struct.pack("<I", len(content) + 4) + b"WEBP" + content)

    assert list(webp.read_texts(data)) == []
    with pytest.raises(MalformedFile, match="padding"):
        webp.build_pieces(data, "{}")


@pytest.mark.parametrize(
    "body",
    [b"", b"VP8X\0\0\0\0", b"VP8 \x0a\0\0\0" + bytes(10), b"VP8L\x0a\0\0\0" + bytes(10), b"VP8 \0\0\0\x7f", b"JUNK\0\0\0\0" * 110_000]
)  # fmt: skip
def test_a_webp_that_makes_no_sense_is_odd(body: bytes) -> None:
    """No chunks, no header, no picture, a claim of 2 GB, and a hundred thousand of nothing."""
    data = b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body

    with pytest.raises(MalformedFile):
        webp.build_pieces(io.BytesIO(data), "{}")


def test_exif_of_an_engine_is_read() -> None:
    """What an engine signs stands in the EXIF block of a WebP."""
    sign = WrittenProvenance("svc/smart-resize", {"prompt": "größer 船"}, 7, "recompose", "1")

    found = dict(webp.read_texts(saved(exif=sign.exif())))

    assert json.loads(found["description"]) == json.loads(sign.as_json())


def test_letters_that_xml_has_no_way_to_write_are_written_as_json_does() -> None:
    """The packet stays sound, and its record means the same."""
    record = json.dumps({"prompt": "\ufffe and \uffff"}, ensure_ascii=False)

    packet = xmp.make_packet(record)

    ElementTree.fromstring(packet)
    assert json.loads(xmp.find_record(packet) or "") == {"prompt": "\ufffe and \uffff"}


def test_a_record_in_xml_is_any_text() -> None:
    """Quotes, brackets, and control characters as JSON writes them."""
    for record in ('{"a":"<&>\\"\'"}', '{"a":"\\u0000\u2028\ud7ff\ufffd"}', "\x7f\x85", "&amp;lt;&#10;"):
        packet = xmp.make_packet(record)

        assert xmp.find_record(packet) == record
        ElementTree.fromstring(packet)
