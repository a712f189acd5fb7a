"""Previews: small copies of clips, frame for frame."""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path

import av
import pytest
from PIL import Image

from reelbook.media import previews as module
from reelbook.media.previews import get_preview
from tests.clips import film, number_of
from tests.media.making import grain
from tests.media.shelves import shelved_film
from tests.support import deep


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> None:
    module._encoded.cache_clear()


@pytest.mark.parametrize("rate", [Fraction(24000, 1001), *deep((Fraction(24),), (Fraction(12),))])
def test_it_has_every_frame_at_the_same_rate(tmp_path: Path, rate: Fraction) -> None:
    """Grids step through it by the frames of the clip."""
    clip = film(tmp_path / "clip.mp4", frames=25, size=(640, 360), rate=rate).path

    content = get_preview(clip)

    assert content is not None
    with av.open(io.BytesIO(content), "r", format="mp4") as copy:
        stream = copy.streams.video[0]
        frames = list(copy.decode(stream))
        # While the file is open: afterwards PyAV reads memory that was given back.
        told = (stream.frames, stream.average_rate, stream.width, stream.height, stream.start_time)
    assert told == (25, rate, 320, 180, 0)
    assert [number_of(Image.fromarray(frame.to_ndarray(format="rgb24"))) for frame in frames] == list(range(25))
    assert [number for number, frame in enumerate(frames) if frame.key_frame] == [0, 12, 24]


def test_it_is_kept_for_each_choice(tmp_path: Path) -> None:
    """The second time the clip is not even opened; other choices are other files; a torn one is made anew."""
    clip = shelved_film(tmp_path / "library", size=(320, 180))
    whole = clip.read_bytes()
    made = get_preview(clip)
    clip.write_bytes(b"\0" * len(whole))

    again, other = get_preview(clip), get_preview(clip, longest=64)

    folder = tmp_path / "library" / "previews"
    place = folder / f"{clip.stem}-3-320-150000-12.mp4"
    assert made == again == place.read_bytes()
    assert other is None
    clip.write_bytes(whole)
    assert get_preview(clip, longest=64, gop=6) is not None
    assert {path.name for path in folder.iterdir()} == {place.name, f"{clip.stem}-3-64-150000-6.mp4"}
    place.write_bytes((made or b"")[:-50])
    assert get_preview(clip) == place.read_bytes() == made


def test_a_long_clip_becomes_smaller_rather_than_nothing(tmp_path: Path) -> None:
    """Many seconds of film stay within the bytes, and have all their frames."""
    clip = film(tmp_path / "clip.mp4", frames=150, size=(320, 180), noise=3, options={"crf": "30"}).path

    content = get_preview(clip, max_bytes=10_500)

    assert content is not None
    assert len(content) <= 10_500
    with av.open(io.BytesIO(content), "r", format="mp4") as copy:
        stream = copy.streams.video[0]
        assert (stream.frames, stream.width) == (150, 160)


def test_where_there_is_none(tmp_path: Path) -> None:
    """No file, a picture, a cut off clip, too few bytes, and a list of other files."""
    clip = film(tmp_path / "clip.mp4", noise=60).path
    grain().save(tmp_path / "picture.png")
    (tmp_path / "cut.mp4").write_bytes(clip.read_bytes()[:300])
    (tmp_path / "list.mp4").write_text("ffconcat version 1.0\nfile clip.mp4\n")

    names = ("gone.mp4", "picture.png", "cut.mp4", "list.mp4")
    assert [get_preview(tmp_path / name) for name in names] == [None] * 4
    assert get_preview(clip, max_bytes=500) is None
