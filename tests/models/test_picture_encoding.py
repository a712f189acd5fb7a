"""Pictures in memory become files: what is accepted, what it looks like afterwards, and what is refused with which words."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from PIL import Image

from reelbook.models.picture_encoding import (
    MAX_BYTES,
    MAX_PIXELS,
    NotAPicture,
    encode_picture,
)

RAMP = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20


def seen(value: Any, mode: str = "RGB") -> NDArray[np.uint8]:
    """The pixels that a value is sent as."""
    content, _ = encode_picture(value)
    return np.asarray(Image.open(io.BytesIO(content)).convert(mode))


def saved(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def refusal(value: Any) -> str:
    with pytest.raises(NotAPicture) as caught:
        encode_picture(value)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, io.BytesIO])
def test_the_bytes_of_a_picture_stay_as_they_are(kind: str, wrap: Any) -> None:
    """Nobody decodes and encodes them again, which would cost quality and another hash."""
    content = saved(Image.fromarray(RAMP), kind)

    assert encode_picture(wrap(content))[0] == content


ARRAYS = {
    "grey": (RAMP, RAMP),
    "one channel": (RAMP[:, :, None], RAMP),
    "floats": (RAMP / 255, RAMP),
    "single floats": ((RAMP / 255).astype(np.float32), RAMP),
    "half floats": (np.array([[0, 0.5, 1]], np.float16), [[0, 128, 255]]),
    "noise at the ends": (np.array([[-1e-9, 1 + 1e-9]]), [[0, 255]]),
    "booleans": (RAMP > 100, (RAMP > 100) * 255),
    "stored by columns": (np.asfortranarray(RAMP), RAMP),
    "every other pixel": (np.repeat(RAMP, 2, axis=1)[:, ::2], RAMP),
    "backwards": (RAMP[::-1, ::-1], RAMP[::-1, ::-1]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_is_sent_as_it_looks(name: str) -> None:
    """Pixel for pixel, whatever its type and however it lies in memory."""
    array, expected = ARRAYS[name]

    assert (seen(array, "L") == np.asarray(expected)).all()


def test_colours_and_transparency_of_an_array_are_kept() -> None:
    """Three channels are red, green, blue; a fourth is how opaque a pixel is."""
    colours = np.arange(48, dtype=np.uint8).reshape(3, 4, 4)

    assert (seen(colours[:, :, :3]) == colours[:, :, :3]).all()
    assert (seen(colours, "RGBA") == colours).all()


class OnACard:
    """A tensor that has to be fetched first."""

    shape = (3, 4)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((3, 4, 5), np.uint8), "shape (3, 4, 5)"),
        (pd.Series({"output_video": "a.mp4", "seed": 1}), "table.output_video[7]"),
        (np.zeros((3, 40, 50)), "channels first: give array.transpose(1, 2, 0)"),
        (np.zeros(7), "shape (7,)"),
        (np.zeros((0, 4)), "shape (0, 4)"),
        (np.full((2, 2), 200.0), "values from 200 to 200"),
        (np.array([[0.0, 255.0]]), "values from 0 to 255. An array is taken"),
        (np.array([[0.0, 255.0]]), "give array / 255."),
        (np.array([[-0.02, 1.03]]), "values from -0.02 to 1.03"),
        (np.array([[-0.02, 1.03]]), "give array.clip(0, 1), or scale it"),
        (np.array([[0.5, np.nan]]), "values that are not numbers (nan)"),
        (np.array([[0, 255]]), "int64 with values from 0 to 255. An array is taken with the shape"),
        (np.array([[0, 255]]), 'give array.astype("uint8")'),
        (np.array([[-5, 1000]]), "scale it first"),
        (np.zeros((2, 2), complex), "complex128"),
        (np.array([["a", "b"]]), "<U1"),
        (OnACard(), "is of the type OnACard, which does not become an array: can't convert cuda:0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_array_that_is_no_picture_is_told_why(array: Any, words: str) -> None:
    """Its shape, type or range, what would be accepted, and how to get there."""
    assert words in refusal(array)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBa", "CMYK", "YCbCr", "HSV", "I;16"])
def test_an_image_of_any_mode_is_sent_as_it_looks(mode: str) -> None:
    """A grey ramp is still that ramp, give or take what the mode itself rounds away."""
    ramp = np.repeat(np.linspace(0, 255, 16).astype(np.uint8)[None], 4, axis=0)
    if mode == "1":
        ramp = np.where(ramp > 127, 255, 0).astype(np.uint8)
    image = Image.fromarray(ramp)
    between = {"PA": "P", "RGBa": "RGBA"}
    image = (
        Image.fromarray(ramp.astype(np.uint16) * 257)
        if mode == "I;16"
        else image.convert(between.get(mode, mode)).convert(mode)
    )

    sent = Image.open(io.BytesIO(encode_picture(image)[0]))

    grey = (
        np.asarray(sent, dtype=float) / 257 if sent.mode.startswith("I") else np.asarray(sent.convert("L"), dtype=float)
    )
    assert image.mode == mode
    assert np.abs(grey - ramp).max() <= 2


def test_grey_without_a_scale_is_refused() -> None:
    """Nobody can know what is white in it."""
    assert "a grey image of mode F" in refusal(Image.fromarray(np.array([[-4, 3000]], np.float32)))
    assert "a grey image of mode I" in refusal(Image.fromarray(np.array([[0, 70000]], np.int32)))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photo_is_turned_as_the_camera_says(orientation: int) -> None:
    """What is seen is what is sent; the picture itself stays as it was."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    photo = Image.open(io.BytesIO(saved(Image.fromarray(RAMP), "PNG", exif=exif)))

    sent = seen(photo, "L")

    turns: list[Any] = [
        lambda a: a, lambda a: a[:, ::-1], lambda a: a[::-1, ::-1], lambda a: a[::-1],
        lambda a: a.T, lambda a: np.rot90(a, -1), lambda a: np.rot90(a, 2).T, np.rot90,
    ]  # fmt: skip
    assert (sent == turns[orientation - 1](RAMP)).all()
    assert photo.size == (4, 3)
    assert photo.getexif()[0x0112] == orientation


def test_nothing_but_pixels_is_sent_of_an_image() -> None:
    """No place, no date, no name of a camera or a program; and so the same pixels are the same bytes."""
    exif = Image.Exif()
    exif[0x010F], exif[0x0132] = "A camera of mine", "2024:05:06 07:08:09"
    plain = Image.fromarray(RAMP)
    photo = Image.open(io.BytesIO(saved(plain, "PNG", exif=exif, dpi=(72, 72), icc_profile=b"p" * 200)))

    assert encode_picture(photo)[0] == encode_picture(plain)[0] == encode_picture(RAMP)[0]
    assert b"camera" not in encode_picture(photo)[0]
    assert photo.info["icc_profile"]


def drawing(side: float = 1.0) -> Any:
    figure = matplotlib.figure.Figure(figsize=(side, side), dpi=64)
    figure.subplots().plot([1, 3, 2])
    return figure


def test_a_figure_is_sent_as_it_is_drawn() -> None:
    """With its own size, and the same bytes for the same drawing: no version, no date."""
    content, label = encode_picture(drawing())

    assert Image.open(io.BytesIO(content)).size == (64, 64)
    assert label == "figure"
    assert encode_picture(drawing())[0] == content
    assert b"atplotlib" not in content


def test_a_file_is_read_from_its_start_and_left_where_it_was(tmp_path: Path) -> None:
    """Most have just been written, so that their end is where they stand."""
    content = saved(Image.fromarray(RAMP))
    memory = io.BytesIO()
    memory.write(content)

    assert encode_picture(memory) == (content, "file")
    assert memory.tell() == len(content)
    (tmp_path / "boat.png").write_bytes(content)
    with (tmp_path / "boat.png").open("rb") as file:
        assert encode_picture(file) == (content, "boat.png")
    with tempfile.NamedTemporaryFile() as file, tempfile.SpooledTemporaryFile() as spooled:
        file.write(content)
        spooled.write(content)
        assert encode_picture(file)[0] == encode_picture(spooled)[0] == content


def bomb(width: int, height: int) -> bytes:
    told = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + told + struct.pack(">I", zlib.crc32(told))


def test_a_picture_of_too_many_pixels_is_refused_by_its_header() -> None:
    """Before anything is decoded: what follows its header is not even there."""
    assert "has 10,000 × 4,001 pixels; the limit is 40 megapixels" in refusal(bomb(10_000, 4_001))
    assert encode_picture(bomb(10_000, 4_000))[0] == bomb(10_000, 4_000)
    assert "the limit is 40 megapixels" in refusal(np.broadcast_to(np.uint8(0), (8_000, 6_000)))
    lazy = Image.open(io.BytesIO(bomb(9_000, 5_000) + b"\0\0\0\0IDAT"))
    assert "the limit is 40 megapixels" in refusal(lazy)
    assert MAX_PIXELS == 40_000_000


def test_a_file_of_too_many_bytes_is_not_read_to_its_end() -> None:
    """One byte more than allowed is enough to know."""

    class Endless:
        asked = 0

        def read(self, size: int) -> bytes:
            self.asked = size
            return b"\x89" * size

    endless = Endless()

    assert "the limit is 50 MB" in refusal(endless)
    assert endless.asked == MAX_BYTES + 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"", "is empty;"),
        (b"hello", "is no picture; PNG, JPEG, WebP and GIF can be sent."),
        (saved(Image.fromarray(RAMP), "TIFF"), "is a TIFF; PNG, JPEG, WebP and GIF can be sent. A picture of another kind can be opened with PIL.Image.open"),
        (b"\x89PNG\r\n\x1a\n", "is a PNG that is damaged or cut short"),
        (5, "needs a picture and has 5. Give a path,"),
        (None, "has None."),
        ({"url": "a"}, "has a mapping of 1."),
        ([RAMP], "has a list of 1."),
        (object(), "has a value of the type object."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_what_is_no_picture_is_told_what_is(value: Any, words: str) -> None:
    """What it is instead, and what would be taken."""
    assert words in refusal(value)


def test_no_library_is_imported_to_find_out_what_a_value_is() -> None:
    """Neither by the inputs themselves nor by what looks at a value."""
    script = (
        "import sys; from reelbook.models.image_to_video import ImageToVideo\n"
        "ImageToVideo(prompt='a', image_url='boat.png'); ImageToVideo(prompt='a', image_url=sys.stdin.buffer.read())\n"
        "print(sorted({'numpy', 'PIL', 'matplotlib'} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], input=saved(Image.fromarray(RAMP)), capture_output=True, check=True
    )

    assert done.stdout.decode().strip() == "[]"
