"""Small copies: the poster of each file and the preview of each clip, frame for frame, made once."""

from __future__ import annotations

import hashlib
import io
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest
from PIL import Image

from reelbook.media import posters, previews
from reelbook.media.posters import get_poster, get_posters, make_thumbnail
from reelbook.media.previews import get_preview
from tests.clips import film, number_of
from tests.media.making import grain
from tests.support import deep


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> None:
    for cached in (posters._made, posters._shrunk, previews._encoded):
        cached.cache_clear()


def shelved_film(library: Path, **how: Any) -> Path:
    """A film on the shelf of a library, under the hash of its content."""
    (library / "media").mkdir(parents=True, exist_ok=True)
    path = film(library / "clip.mp4", **how).path
    return path.rename(library / "media" / f"{hashlib.sha256(path.read_bytes()).hexdigest()}.mp4")


def picture(content: bytes | None) -> Image.Image:
    assert content is not None
    found = Image.open(io.BytesIO(content))
    assert found.format == "JPEG"
    return found


def test_a_poster_is_the_whole_picture_no_side_longer_than_asked(tmp_path: Path) -> None:
    """A wide film of 640 by 360 is 320 by 180, and never enlarged."""
    clip = film(tmp_path / "clip.mp4", size=(640, 360)).path

    assert picture(get_poster(clip)).size == (320, 180)
    assert picture(get_poster(clip, longest=100)).size == (100, 56)
    assert picture(get_poster(clip, longest=2000)).size == (640, 360)


@pytest.mark.parametrize("every", ["250", "10", "1"])
def test_a_poster_shows_the_middle(tmp_path: Path, every: str) -> None:
    """Wherever keyframes are: the clips of a sweep may all begin alike."""
    clip = film(tmp_path / "clip.mp4", options={"g": every, "bf": "3"}).path

    assert number_of(picture(get_poster(clip))) == 12


def test_small_copies_are_made_once_and_lie_in_the_library(tmp_path: Path) -> None:
    """The second time the clip is not even opened; other choices are other files."""
    clip = shelved_film(tmp_path / "library", size=(320, 180))
    whole, poster, preview = clip.read_bytes(), get_poster(clip), get_preview(clip)
    clip.write_bytes(b"\0" * len(whole))

    again = get_poster(clip), get_preview(clip)
    other = get_preview(clip, longest=64)
    clip.write_bytes(whole)

    kept = {
        file.relative_to(tmp_path / "library").as_posix().replace(clip.stem, "CLIP"): file.read_bytes()
        for name in ("posters", "previews")
        for file in (tmp_path / "library" / name).iterdir()
    }
    assert kept == {"posters/CLIP-3-320.jpg": poster, "previews/CLIP-3-320-150000-12.mp4": preview}
    assert (*again, other) == (poster, preview, None)
    assert get_preview(clip, longest=64, gop=6) not in (None, preview)


def test_of_a_file_elsewhere_nothing_is_written(tmp_path: Path) -> None:
    """It is remembered while it stays what it is; another file under its name has another poster."""
    (tmp_path / "media").mkdir()
    clip = film(tmp_path / "media" / "clip.mp4").path
    first = get_poster(clip)
    film(clip, frames=1)
    os.utime(clip, ns=(1, 1))

    assert number_of(picture(first)) > 0
    assert number_of(picture(get_poster(clip))) == 0
    assert not (tmp_path / "posters").exists()


def test_what_cannot_be_read_has_none(tmp_path: Path) -> None:
    """No file, an empty one, one that is something else, one that was cut off, a list of other files; too few bytes."""
    whole = film(tmp_path / "whole.mp4", noise=60).path
    grain().save(tmp_path / "picture.png")
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "cut.mp4").write_bytes(whole.read_bytes()[:400])
    (tmp_path / "list.mp4").write_text("ffconcat version 1.0\nfile whole.mp4\n")

    names = ("gone.mp4", "empty.mp4", "text.png", "cut.mp4", "list.mp4", "bad\0name.mp4")
    assert [get_poster(tmp_path / name) for name in names] == [None] * 6
    assert [get_preview(tmp_path / name) for name in (*names, "picture.png")] == [None] * 7
    assert get_preview(whole, max_bytes=500) is None
    assert make_thumbnail(tmp_path / "cut.mp4", 32, 32) is None


def test_posters_come_in_order(tmp_path: Path) -> None:
    """Each for its file, also where two are the same or one is not there."""
    clips = [film(tmp_path / f"{frames}.mp4", frames=frames).path for frames in (1, 25)]

    made = get_posters([clips[1], tmp_path / "gone.mp4", clips[0], clips[1]])

    assert made[1] is None
    assert [number_of(picture(content)) for content in (made[0], made[2])] == [12, 0]
    assert made[3] == made[0]
    assert get_posters([]) == []


@pytest.mark.parametrize("rate", [Fraction(24000, 1001), *deep((Fraction(24),), (Fraction(12),))])
def test_a_preview_has_every_frame_at_the_same_rate(tmp_path: Path, rate: Fraction) -> None:
    """Grids step through it by the frames of the clip."""
    clip = film(tmp_path / "clip.mp4", frames=25, size=(640, 360), rate=rate).path

    content = get_preview(clip)

    assert content is not None
    with av.open(io.BytesIO(content), "r", format="mp4") as copy:
        stream = copy.streams.video[0]
        frames = list(copy.decode(stream))
        # While the file is open: afterwards PyAV reads memory that was given back.
        facts = (stream.frames, stream.average_rate, stream.width, stream.height, stream.start_time)
    assert facts == (25, rate, 320, 180, 0)
    assert [number_of(Image.fromarray(frame.to_ndarray(format="rgb24"))) for frame in frames] == list(range(25))
    assert [number for number, frame in enumerate(frames) if frame.key_frame] == [0, 12, 24]


def test_the_preview_of_a_long_clip_is_smaller_rather_than_nothing(tmp_path: Path) -> None:
    """Many seconds of film stay within the bytes, and have all their frames."""
    clip = film(tmp_path / "clip.mp4", frames=150, size=(320, 180), noise=3, options={"crf": "30"}).path

    content = get_preview(clip, max_bytes=10_500)

    assert content is not None
    assert len(content) <= 10_500
    with av.open(io.BytesIO(content), "r", format="mp4") as copy:
        stream = copy.streams.video[0]
        assert (stream.frames, stream.width) == (150, 160)
