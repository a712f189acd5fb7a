"""Texts in a PNG: found in each kind of chunk, and never more than there is room for."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from reelbook.media.metadata import png
from reelbook.media.metadata.file_pieces import MAX_BYTES, assemble
from reelbook.util.containers import PNG_SIGNATURE, MalformedFile
from tests.media.making import grain


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def with_chunks(*chunks: bytes, after: bytes = b"") -> io.BytesIO:
    """A small PNG with these chunks right behind its header."""
    out = io.BytesIO()
    grain().save(out, "png")
    data = out.getvalue()
    return io.BytesIO(data[:33] + b"".join(chunks) + data[33:] + after)


def edited(file: io.BytesIO, record: str) -> bytes:
    out = io.BytesIO()
    assemble(file, out, png.build_pieces(file, record))
    return out.getvalue()


def test_every_kind_of_text_is_read() -> None:
    """Latin-1 and UTF-8, plain and compressed, as Pillow writes them."""
    info = PngInfo()
    info.add_text("plain", "größer")
    info.add_text("packed", "ein Boot " * 50, zip=True)
    info.add_itxt("international", "船")
    info.add_itxt("both", "船" * 50, zip=True)
    out = io.BytesIO()
    grain().save(out, "png", pnginfo=info)

    found = dict(png.read_texts(out))

    assert found == {"plain": "größer", "packed": "ein Boot " * 50, "international": "船", "both": "船" * 50}


def test_utf8_where_the_standard_says_latin_is_read_as_what_it_is() -> None:
    """Most programs write UTF-8 into `tEXt`, whatever the standard says."""
    assert dict(png.read_texts(with_chunks(chunk(b"tEXt", b"parameters\0" + "größer".encode())))) == {
        "parameters": "größer"
    }


def test_a_text_of_gigabytes_in_a_few_bytes_is_cut() -> None:
    """A compressed text is unpacked as far as there is room, and no further."""
    bomb = chunk(b"zTXt", b"bomb\0\0" + zlib.compress(bytes(64 * MAX_BYTES), 9))

    assert len(dict(png.read_texts(with_chunks(bomb)))["bomb"]) <= MAX_BYTES


def test_many_long_texts_stop_being_read() -> None:
    """Together they take no more memory than a few of the longest."""
    texts = [chunk(b"tEXt", f"text{number}\0".encode() + bytes(900_000)) for number in range(12)]

    assert len(dict(png.read_texts(with_chunks(*texts)))) < 6


@pytest.mark.parametrize(
    "content", [b"", b"\0", b"name", b"name\0", b"name\0\1", b"name\0\1\0\0\0no zlib", b"\xff\xfe\0\0\0\0\0\xff"]
)
@pytest.mark.parametrize("kind", [b"tEXt", b"zTXt", b"iTXt"])
def test_a_broken_text_is_some_text(kind: bytes, content: bytes) -> None:
    """Whatever a chunk holds, it is read as a name and a text, maybe empty ones."""
    assert len(dict(png.read_texts(with_chunks(chunk(kind, content))))) == 1


def test_a_claim_of_200_mb_is_not_believed() -> None:
    """A chunk that claims more than the file has ends the reading; what came before it counts."""
    file = with_chunks(chunk(b"tEXt", b"before\0it"), struct.pack(">I", 200_000_000) + b"tEXtafter\0it")

    texts = png.read_texts(file)

    assert next(texts) == ("before", "it")
    with pytest.raises(MalformedFile, match="it breaks off"):
        next(texts)


def test_our_record_stands_before_the_pixels_and_only_once() -> None:
    """An earlier one goes, in whatever kind of chunk it is; what stands behind the end of the picture stays."""
    old = chunk(b"tEXt", png.OURS + b"\0old"), chunk(b"zTXt", png.OURS + b"\0\0" + zlib.compress(b"old"))

    data = edited(with_chunks(*old, after=b"more"), '{"seed":7}')

    assert data.index(b"iTXtreelbook") < data.index(b"IDAT")
    assert data.count(png.OURS) == 1
    assert data.endswith(b"more")
    assert Image.open(io.BytesIO(data)).tobytes() == grain().tobytes()


def test_checksums_are_right(tmp_path: Path) -> None:
    """Pillow checks the sum of our chunk as it does those of others."""
    data = edited(with_chunks(), '{"prompt":"船"}')

    with Image.open(io.BytesIO(data)) as picture:
        picture.verify()


def test_a_moving_png_keeps_all_its_frames() -> None:
    """An APNG is a PNG with more chunks; every one of them stays where it is."""
    out = io.BytesIO()
    shades = [Image.new("L", (8, 8), shade) for shade in (0, 100, 200)]
    shades[0].save(out, "png", save_all=True, append_images=shades[1:], duration=40)

    with Image.open(io.BytesIO(edited(out, "{}"))) as copy:
        seen = []
        for number in range(3):
            copy.seek(number)
            seen.append(copy.convert("L").getpixel((4, 4)))

    assert seen == [0, 100, 200]


@pytest.mark.parametrize(
    "data", [PNG_SIGNATURE, PNG_SIGNATURE + chunk(b"IHDR", bytes(13)), PNG_SIGNATURE + chunk(b"IEND", b"")]
)
def test_a_png_without_pixels_is_odd(data: bytes) -> None:
    """What has no place for our record is not written to."""
    with pytest.raises(MalformedFile):
        png.build_pieces(io.BytesIO(data), "{}")


def test_a_png_without_an_end_is_odd() -> None:
    """A picture that was cut short is left as it is."""
    data = with_chunks().getvalue()

    with pytest.raises(MalformedFile):
        png.build_pieces(io.BytesIO(data[:-12]), "{}")
