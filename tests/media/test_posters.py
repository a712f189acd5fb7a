"""Posters: the middle of each file as a small JPEG, made once."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from PIL import Image

from reelbook.media import posters as module
from reelbook.media.posters import get_poster, get_posters, make_thumbnail
from tests.clips import film, number_of
from tests.media.shelves import shelved_film


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> None:
    module._made.cache_clear()
    module._shrunk.cache_clear()


def picture(content: bytes | None) -> Image.Image:
    assert content is not None
    found = Image.open(io.BytesIO(content))
    assert found.format == "JPEG"
    return found


class TestOfAClip:
    def test_it_is_the_whole_picture_no_side_longer_than_asked(self, tmp_path: Path) -> None:
        """A wide film of 640 by 360 is 320 by 180, and never enlarged."""
        clip = film(tmp_path / "clip.mp4", size=(640, 360)).path

        assert picture(get_poster(clip)).size == (320, 180)
        assert picture(get_poster(clip, longest=100)).size == (100, 56)
        assert picture(get_poster(clip, longest=2000)).size == (640, 360)

    @pytest.mark.parametrize("every", ["250", "10", "1"])
    def test_it_shows_the_middle(self, tmp_path: Path, every: str) -> None:
        """Wherever keyframes are: the clips of a sweep may all begin alike."""
        clip = film(tmp_path / "clip.mp4", options={"g": every, "bf": "3"}).path

        assert number_of(picture(get_poster(clip))) == 12


class TestKept:
    def test_it_is_made_once_and_lies_in_the_library(self, tmp_path: Path) -> None:
        """The second time the clip is not even opened."""
        clip = shelved_film(tmp_path / "library")
        made = get_poster(clip)
        size = clip.stat().st_size
        clip.write_bytes(b"\0" * size)

        again = get_poster(clip)

        place = tmp_path / "library" / "posters" / f"{clip.stem}-3-320.jpg"
        assert made == again == place.read_bytes()
        assert [path.name for path in place.parent.iterdir()] == [place.name]

    @pytest.mark.parametrize("harm", [b"", b"\0" * 4000, b"\xff\xd8\xff torn"])
    def test_a_torn_one_is_made_anew(self, tmp_path: Path, harm: bytes) -> None:
        """A power cut may leave nothing, zeros, or a half."""
        clip = shelved_film(tmp_path / "library")
        made = get_poster(clip)
        place = tmp_path / "library" / "posters" / f"{clip.stem}-3-320.jpg"
        place.write_bytes(harm)

        assert get_poster(clip) == made == place.read_bytes()

    def test_of_a_file_elsewhere_nothing_is_written(self, tmp_path: Path) -> None:
        """It is remembered while it stays what it is; another file under its name has another poster."""
        (tmp_path / "media").mkdir()
        clip = film(tmp_path / "media" / "clip.mp4").path
        first = get_poster(clip)
        film(clip, frames=1)
        os.utime(clip, ns=(1, 1))

        assert number_of(picture(first)) > 0
        assert number_of(picture(get_poster(clip))) == 0
        assert not (tmp_path / "posters").exists()


class TestNone:
    def test_what_cannot_be_read_has_none(self, tmp_path: Path) -> None:
        """No file, an empty one, one that is something else, and one that was cut off."""
        whole = film(tmp_path / "whole.mp4", noise=40).path
        (tmp_path / "empty.mp4").touch()
        (tmp_path / "text.png").write_text("no picture")
        (tmp_path / "cut.mp4").write_bytes(whole.read_bytes()[:400])

        names = ("gone.mp4", "empty.mp4", "text.png", "cut.mp4", "bad\0name.mp4")
        assert [get_poster(tmp_path / name) for name in names] == [None] * 5
        assert make_thumbnail(tmp_path / "cut.mp4", 32, 32) is None


class TestSeveral:
    def test_they_come_in_order(self, tmp_path: Path) -> None:
        """Each for its file, also where two are the same or one is not there."""
        clips = [film(tmp_path / f"{frames}.mp4", frames=frames).path for frames in (1, 25)]

        found = get_posters([clips[1], tmp_path / "gone.mp4", clips[0], clips[1]])

        assert found[1] is None
        assert [number_of(picture(one)) for one in (found[0], found[2])] == [12, 0]
        assert found[3] == found[0]
        assert get_posters([]) == []
