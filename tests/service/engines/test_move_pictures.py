"""Every kind of picture that people have, moved."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from reelbook_service.engines.protocol import PictureError
from tests.service.engines.moving import ADDRESS, clip, encoded, grey, psnr, scenery, shot


def half(left: tuple[int, ...], right: tuple[int, ...], mode: str = "RGB") -> Image.Image:
    """A small picture whose two halves can be told apart."""
    picture = Image.new(mode, (32, 20), left)
    picture.paste(right, (16, 0, 32, 20))
    return picture


def rotated() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6  # The camera was held so that the picture must be turned clockwise.
    return encoded(half((255, 255, 255), (0, 0, 0)), "JPEG", quality=95, exif=exif)


def animated() -> bytes:
    later = [half((0, 0, 0), (0, 0, 0)) for _ in range(2)]
    return encoded(half((255, 255, 255), (0, 0, 0)), "GIF", save_all=True, append_images=later)


SOURCES = {
    "RGB": (encoded(half((255, 255, 255), (0, 0, 0))), (32, 20)),
    "CMYK": (encoded(half((0, 0, 0, 0), (0, 0, 0, 255), "CMYK"), "TIFF"), (32, 20)),
    "palette": (encoded(half((255, 255, 255), (0, 0, 0)).quantize(4)), (32, 20)),
    "transparent": (encoded(half((255, 255, 255, 255), (255, 255, 255, 0), "RGBA")), (32, 20)),
    "16 bits": (encoded(Image.fromarray(np.repeat([[65535] * 16 + [0] * 16], 20, axis=0).astype(np.uint16))), (32, 20)),
    "animated": (animated(), (32, 20)),
    "EXIF": (rotated(), (20, 32)),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_picture_moves(kind: str) -> None:
    """White is white, black and transparent are black, up is up, and of an animation the first picture counts."""
    data, size = SOURCES[kind]

    first, last = (shot(data, "zoom in", number=number) for number in (0, 119))

    assert first.size == last.size == size
    assert psnr(first, last) < 35
    assert grey(first)[4, 4] > 235
    assert grey(first)[-4, -4] < 20


EVERYTHING = "orbit, roll, handheld, zoom out, ripples, the boat drifts left, snow, fog"


@pytest.mark.parametrize("size", [(1, 1), (3, 60), (33, 17), (700, 20)])
def test_strange_sizes_move(size: tuple[int, int]) -> None:
    """A single pixel and long strips give frames with even sides, whatever is asked of them."""
    frame = shot(encoded(Image.effect_noise(size, 60).convert("RGB")), EVERYTHING)

    assert (frame.width % 2, frame.height % 2) == (0, 0)


@pytest.mark.deep
@pytest.mark.parametrize("size", [(1, 1), (3, 60), (33, 17), (3, 300), (16, 16), (700, 20)])
def test_strange_sizes_make_clips(tmp_path: Path, size: tuple[int, int]) -> None:
    """The same, encoded and decoded again."""
    data = encoded(Image.effect_noise(size, 60).convert("RGB"))

    made = clip(tmp_path, data, EVERYTHING).made

    with av.open(str(made.path)) as file:
        assert sum(1 for _ in file.decode(video=0)) == 120
        width, height = file.streams.video[0].width, file.streams.video[0].height
    assert (width % 2, height % 2) == (0, 0)


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"not a picture", encoded(scenery(64, 36))[:900]])
def test_a_damaged_picture_is_named(tmp_path: Path, data: bytes) -> None:
    """What cannot be opened ends the run with the picture's address."""
    with pytest.raises(PictureError) as caught:
        clip(tmp_path, data, "zoom in")

    assert caught.value.source == ADDRESS
