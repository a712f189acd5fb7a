"""Colours: what is shown of a clip or a picture has the colours of the clip or the picture."""

from __future__ import annotations

import io
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image, ImageCms, ImageOps

from reelbook.display import embedding
from reelbook.media import stills, video_colours
from reelbook.media.posters import get_poster, make_thumbnail
from reelbook.media.previews import get_preview
from tests.clips import at
from tests.media.bars import COLOURS, SAYS, Says, bar_clip, bar_values, bars
from tests.support import once_each

NEAR = 4
"""How far a channel may be off, of 255."""
SIZES = [(64, 64), (320, 180), (1280, 720)]


def off(found: list[tuple[int, ...]], meant: list[tuple[int, ...]]) -> int:
    """How far the farthest channel is."""
    return int(np.abs(np.array(found) - np.array(meant)).max())


def decoded(path: Path | io.BytesIO) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """The bars of a clip's second frame as FFmpeg decodes it, and the tags it has."""
    with av.open(path if isinstance(path, io.BytesIO) else str(path), "r", format="mp4") as container:
        frame = list(container.decode(video=0))[1]
    picture = Image.fromarray(frame.to_ndarray(format="rgb24", interpolation=video_colours.SMOOTH))
    return bar_values(picture), (frame.colorspace, frame.color_range, frame.color_primaries, frame.color_trc)


def tags(path: Path) -> tuple[int, ...]:
    return decoded(path)[1]


@pytest.mark.parametrize(("says", "size"), once_each(SAYS, SIZES), ids=str)
class TestOfAClip:
    def test_stills_are_the_colours_that_were_put_in(self, tmp_path: Path, says: Says, size: tuple[int, int]) -> None:
        """Poster, thumbnail, strip, frames of a sheet, and the frames of `video.frames()` and `still()`."""
        path = bar_clip(tmp_path / "clip.mp4", size, says)
        file = at(path)

        assert off(bar_values(get_poster(path)), COLOURS) <= NEAR
        assert off(bar_values(make_thumbnail(path, 200, 200)), COLOURS) <= NEAR
        assert off(bar_values(stills.read_spread(path, 1, (160, 160)).frames[0]), COLOURS) <= NEAR
        assert off(bar_values(stills.read_spread(path, 2, (160, 160)).frames[1]), COLOURS) <= NEAR
        assert off(bar_values(next(iter(file.frames()))), COLOURS) <= NEAR
        assert off(bar_values(file.still(0.5)), COLOURS) <= NEAR
        assert off(bar_values(file.still(1.0)), COLOURS) <= NEAR
        strip = Image.open(io.BytesIO(embedding.strip_jpeg(file)))
        width = (strip.width + embedding.GAP) // embedding.FRAMES - embedding.GAP
        assert off(bar_values(strip.crop((0, 0, width, strip.height))), COLOURS) <= NEAR + 4  # Bars of 11 pixels.

    def test_the_small_copy_says_what_its_numbers_mean(self, tmp_path: Path, says: Says, size: tuple[int, int]) -> None:
        """Its tags are those of the clip, or say what players take for granted of one without; FFmpeg sees the same."""
        path = bar_clip(tmp_path / "clip.mp4", size, says)

        content = get_preview(path, longest=160, max_bytes=1_000_000)

        assert content is not None
        found, told = decoded(io.BytesIO(content))
        assert off(found, COLOURS) <= NEAR
        assert 2 not in (told[0], *told[2:])
        assert told[1] == (says.range or 1)
        assert b"colr" in content
        if says.is_tagged:
            assert told == tags(path)


def test_of_hdr_the_copy_says_that_it_is(tmp_path: Path) -> None:
    """It plays as the original does."""
    path = bar_clip(tmp_path / "clip.mp4", (320, 180), Says("PQ", 9, 1, 9, 16))

    content = get_preview(path, longest=160, max_bytes=1_000_000)

    assert content is not None
    assert decoded(io.BytesIO(content))[1] == (9, 1, 9, 16) == tags(path)


class TestOfAPicture:
    def test_a_profile_becomes_srgb(self, tmp_path: Path) -> None:
        """Of numbers that mean something else the poster has the colours that are meant."""
        swapped = _profile_with_red_and_blue_exchanged()
        picture = bars(320, 160)
        red, green, blue = picture.split()
        for name in ("a.png", "a.jpg", "a.webp", "a.tiff"):
            path = tmp_path / name
            Image.merge("RGB", (blue, green, red)).save(path, icc_profile=swapped, quality=98)

            assert off(bar_values(get_poster(path)), COLOURS) <= NEAR + 2, name

    def test_it_stands_upright_in_every_kind(self, tmp_path: Path) -> None:
        """All eight ways that Exif knows."""
        for turn in range(1, 9):
            exif = Image.Exif()
            exif[0x0112] = turn
            upright = bars(320, 160)
            upright.getexif()[0x0112] = {6: 8, 8: 6}.get(turn, turn)
            lying = ImageOps.exif_transpose(upright)
            for name in ("a.jpg", "a.webp", "a.png"):
                lying.save(tmp_path / name, exif=exif, quality=98)

                assert stills.get_size(tmp_path / name) == (320, 160), (name, turn)
                assert off(bar_values(get_poster(tmp_path / name)), COLOURS) <= NEAR + 2, (name, turn)

    def test_other_pixels(self, tmp_path: Path) -> None:
        """Four inks, a palette, and 16 bits of grey."""
        bars(320, 160).convert("CMYK").save(tmp_path / "inks.jpg", quality=98)
        bars(320, 160).quantize(16).save(tmp_path / "palette.png")
        grey = np.repeat(np.linspace(0, 65535, 320)[None, :], 160, axis=0).astype(np.uint16)
        Image.fromarray(grey).save(tmp_path / "deep.png")

        with Image.open(io.BytesIO(get_poster(tmp_path / "deep.png") or b"")) as found:
            ends = [found.convert("L").getpixel((x, 80)) for x in (4, 160, 315)]

        assert off(bar_values(get_poster(tmp_path / "inks.jpg")), COLOURS) <= NEAR + 2
        assert off(bar_values(get_poster(tmp_path / "palette.png")), COLOURS) <= NEAR
        assert np.abs(np.array(ends) - (3, 128, 252)).max() <= NEAR


def _profile_with_red_and_blue_exchanged() -> bytes:
    """A profile by whose tables the first channel is blue."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    for number in range(int.from_bytes(profile[128:132])):
        place = 132 + 12 * number
        name = bytes(profile[place : place + 4])
        if name in (b"rXYZ", b"bXYZ"):
            profile[place : place + 4] = b"bXYZ" if name == b"rXYZ" else b"rXYZ"
    return bytes(profile)
