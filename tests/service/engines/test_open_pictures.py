"""Source pictures of every kind, sound and hostile."""

from __future__ import annotations

import io
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from reelbook_service.engines.open_pictures import FORMATS, flattened, open_picture, upright_size
from reelbook_service.engines.protocol import PictureError
from tests.service.engines.moving import encoded
from tests.support import examples, raw_png


def ramp(width: int = 256, height: int = 4) -> np.ndarray[Any, Any]:
    """Grey from black to white."""
    return np.tile(np.linspace(0, 255, width), (height, 1))


def quarters(size: tuple[int, int] = (40, 24)) -> Image.Image:
    """Red, green, blue and white in the four corners: no two of its turns look the same."""
    picture = Image.new("RGB", size, "white")
    half = size[0] // 2, size[1] // 2
    picture.paste((255, 0, 0), (0, 0, *half))
    picture.paste((0, 255, 0), (half[0], 0, size[0], half[1]))
    picture.paste((0, 0, 255), (0, half[1], half[0], size[1]))
    return picture


def grey_levels() -> dict[str, bytes]:
    """The same ramp, in every depth that a file can have."""
    sixteen = np.rint(ramp() * 257).astype(np.uint16)
    rows = b"".join(b"\0" + np.repeat(row.astype(">u2"), 3).tobytes() for row in sixteen)
    return {
        "8 bits": encoded(Image.fromarray(ramp().astype(np.uint8))),
        "16 bits": encoded(Image.fromarray(sixteen)),
        "16 bits, big end first": encoded(Image.fromarray(sixteen.astype(">u2")), "TIFF"),
        "16 bits, colour": raw_png(256, 4, 16, 2, zlib.compress(rows)),
    }


@pytest.mark.parametrize("depth", grey_levels())
def test_every_depth_keeps_its_greys(depth: str) -> None:
    """Whatever a channel's depth, black stays black, white stays white, and the steps between are even."""
    picture = open_picture("a", grey_levels()[depth])

    assert picture.mode == "RGB"
    shown = np.asarray(picture)[2].astype(float)
    assert np.abs(shown - ramp()[2][:, None]).max() <= 1


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
def test_printing_colours_become_light(kind: str) -> None:
    """CMYK is converted; no ink is white, all ink is black."""
    inks = Image.new("CMYK", (32, 16), (0, 0, 0, 0))
    inks.paste((0, 0, 0, 255), (16, 0, 32, 16))

    picture = open_picture("a", encoded(inks, kind))

    assert picture.mode == "RGB"
    assert np.asarray(picture)[8, 4].min() >= 250
    assert np.asarray(picture)[8, 28].max() <= 5


@pytest.mark.parametrize(
    "data",
    [
        encoded(Image.new("RGBA", (8, 8), (200, 100, 0, 0))),
        encoded(Image.new("LA", (8, 8), (200, 0))),
        encoded(Image.new("RGB", (8, 8), (200, 100, 0)), transparency=(200, 100, 0)),
        encoded(Image.new("L", (8, 8), 200), transparency=200),
        encoded(Image.new("RGBA", (8, 8), (200, 100, 0, 0)), "WEBP", lossless=True, exact=True),
        encoded(Image.new("RGBA", (8, 8), (200, 100, 0, 0)), "TIFF"),
    ],
    ids=["RGBA", "grey with alpha", "keyed colour", "keyed grey", "WebP", "TIFF"],
)
def test_hidden_colour_stays_hidden(data: bytes) -> None:
    """What is transparent comes out black, in whatever way the file says that it is."""
    picture = open_picture("a", data)

    assert picture.mode == "RGBA"
    assert flattened(picture).getextrema() == ((0, 0), (0, 0), (0, 0))


BEST: dict[str, dict[str, Any]] = {"JPEG": {"quality": 98, "subsampling": 0}, "WEBP": {"lossless": True}}


def tagged(kind: str, orientation: int, size: tuple[int, int] = (40, 24)) -> bytes:
    tag = Image.Exif()
    tag[0x0112] = orientation
    return encoded(quarters(size), kind, exif=tag, **BEST.get(kind, {}))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(10))
def test_pictures_are_turned_upright(orientation: int, kind: str) -> None:
    """The eight ways to hold a camera are undone; a number that means nothing changes nothing."""
    data = tagged(kind, orientation)
    wanted = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))

    picture = open_picture("a", data)

    assert picture.size == wanted.size == upright_size("a", data)
    assert np.abs(np.asarray(picture, float) - np.asarray(wanted, float)).max() <= 12


@pytest.mark.parametrize("kind", FORMATS)
def test_cut_files_are_refused(kind: str) -> None:
    """Half a file is no picture, whatever its format."""
    rough = np.random.default_rng(2).integers(0, 255, (60, 60, 3), dtype=np.uint8)
    data = encoded(Image.fromarray(rough), kind)

    for share in (0.05, 0.5, 0.9):
        with pytest.raises(PictureError) as caught:
            open_picture("https://example.org/half.png", data[: int(len(data) * share)])
        assert "half.png" in str(caught.value)


@pytest.mark.parametrize("look", [open_picture, upright_size])
def test_a_bomb_is_judged_by_its_header(look: Any) -> None:
    """A small file that would unpack to a huge picture is refused before anything is unpacked."""
    bomb = raw_png(7000, 6000, 8, 2, zlib.compress(b""))

    with pytest.raises(PictureError, match=r"7,000 × 6,000 pixels; the limit is 40 megapixels"):
        look("a", bomb)


@settings(max_examples=examples(40, 150), deadline=None)
@given(kind=st.sampled_from(FORMATS), seed=st.integers(0, 1 << 30), cuts=st.integers(0, 4))
def test_damage_is_never_a_surprise(kind: str, seed: int, cuts: int) -> None:
    """However a file is damaged: it opens as a picture, or it is refused with the one error that engines expect."""
    random = np.random.default_rng(seed)
    data = bytearray(encoded(quarters(), kind))
    for _ in range(1 + cuts):
        place = int(random.integers(0, len(data)))
        data[place : place + int(random.integers(0, 3))] = random.bytes(int(random.integers(0, 4)))

    try:
        picture = open_picture("a", bytes(data))
    except PictureError:
        return
    assert picture.mode in ("RGB", "RGBA")
