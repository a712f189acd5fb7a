"""Plain PNGs decoded the quicker way: the same pixels as the careful way, or none at all."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from reelbook_service.engines.open_pictures import open_picture
from reelbook_service.engines.png_decoder import plain
from reelbook_service.engines.protocol import PictureError
from reelbook_service.engines.write_provenance import WrittenProvenance
from tests.support import examples

SIZE = (61, 40)


def noise(mode: str = "RGB", size: tuple[int, int] = SIZE) -> Image.Image:
    channels = len(Image.new(mode, (1, 1)).getbands())
    values = np.random.default_rng(3).integers(1, 255, (size[1], size[0], channels), dtype=np.uint8)
    return Image.fromarray(values.squeeze(), mode)


def encoded(picture: Image.Image, **options: Any) -> bytes:
    data = io.BytesIO()
    picture.save(data, "PNG", **options)
    return data.getvalue()


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def handmade(packed: bytes, before: bytes = b"") -> bytes:
    """A PNG whose checksums are right, whatever its content."""
    header = chunk(b"IHDR", struct.pack(">II5B", *SIZE, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + before + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


ROWS = b"".join(b"\0" + row.tobytes() for row in np.asarray(noise()))


@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_a_plain_picture_has_the_same_pixels(level: int) -> None:
    """Both ways give the same picture, however it was packed."""
    data = encoded(noise(), compress_level=level)

    frame = plain(data, SIZE)

    assert frame is not None
    assert np.array_equal(frame.to_ndarray(), np.asarray(open_picture("a", data)))


def test_remarks_are_not_passed_on() -> None:
    """A picture with texts, such as those our own engines write, is still a plain one."""
    told = WrittenProvenance("svc/smart-resize", {"prompt": "a boat"}, 7, "recompose", "1")

    assert plain(encoded(noise(), pnginfo=told.png()), SIZE) is not None


def turned() -> bytes:
    tag = Image.Exif()
    tag[0x0112] = 6
    return encoded(noise(), exif=tag)


def turned_by_text() -> bytes:
    info = PngInfo()
    info.add_itxt("XML:com.adobe.xmp", '<x tiff:Orientation="6"/>')
    return encoded(noise(), pnginfo=info)


@pytest.mark.parametrize(
    "data",
    [
        encoded(noise("RGBA")),
        encoded(noise("L")),
        encoded(noise().quantize(16)),
        encoded(noise(), transparency=(9, 9, 9)),
        encoded(noise(size=(61, 41))),
        turned(),
        turned_by_text(),
        encoded(noise(), save_all=True, append_images=[noise()]),
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"GIF89a",
    ],
    ids=["alpha", "grey", "palette", "keyed", "size", "exif", "xmp", "animated", "empty", "bare", "gif"],
)
def test_what_is_not_plain_is_left_to_pillow(data: bytes) -> None:
    """Transparency, palettes, another size, a tag that turns the picture: each is somebody else's task."""
    assert plain(data, SIZE) is None


@pytest.mark.parametrize(
    "data",
    [
        handmade(zlib.compress(ROWS)[:3000]),
        handmade(zlib.compress(ROWS[: len(ROWS) // 2])),
        handmade(zlib.compress(b"\7" + ROWS[1:])),
        handmade(zlib.compress(ROWS[:1840] + b"\7" + ROWS[1841:])),
        handmade(b""),
        handmade(zlib.compress(ROWS))[:-12],
        handmade(zlib.compress(ROWS), before=chunk(b"IHDR", struct.pack(">II5B", 9, 9, 8, 2, 0, 0, 0))),
    ],
    ids=["cut stream", "half the rows", "unknown filter", "unknown filter later", "no pixels", "no end", "two headers"],
)
def test_damage_behind_right_checksums_is_left_to_pillow(data: bytes) -> None:
    """The quicker decoder is silent about rows that it could not read; such pictures are judged by the careful one."""
    assert plain(data, SIZE) is None


@settings(max_examples=examples(40, 150), deadline=None)
@given(
    place=st.integers(0, len(encoded(noise())) - 1),
    damage=st.sampled_from(["cut", "flip", "drop", "zero"]),
    bit=st.integers(0, 7),
)
def test_nothing_is_accepted_that_pillow_refuses(place: int, damage: str, bit: int) -> None:
    """Whatever is damaged, the quicker way never shows a picture where the careful one would not, nor another one."""
    data = bytearray(encoded(noise()))
    if damage == "cut":
        del data[place:]
    elif damage == "drop":
        del data[place : place + 3]
    elif damage == "zero":
        data[place : place + 8] = bytes(len(data[place : place + 8]))
    else:
        data[place] ^= 1 << bit

    frame = plain(bytes(data), SIZE)

    try:
        careful = open_picture("a", bytes(data))
    except PictureError:
        assert frame is None
    else:
        assert frame is None or np.array_equal(frame.to_ndarray(), np.asarray(careful))
