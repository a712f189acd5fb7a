"""Ranges of frames: decoded and encoded, none too many and none too few."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence

from reelbook.errors import ReelbookError
from reelbook.media.frame_range import decode_range, encode_clip, encode_gif
from tests.clips import DARKEST, STEP, Pixels, at, film, number_of, write_clip

CODINGS = {
    "reordered": {"bf": "2", "g": "12"},
    "one keyframe": {"bf": "3", "g": "250"},
    "open groups": {"bf": "2", "g": "5", "x264-params": "open-gop=1"},
    "all keyframes": {"g": "1"},
}
RANGES = [(0, 24), (3, 9), (4, 5), (12, 24), (23, 24)]


def uneven(path: Path) -> list[Fraction]:
    """Write a clip of six frames at odd times, and return these."""
    times = [Fraction(number, 1000) for number in (0, 40, 50, 200, 240, 300)]
    write_clip(path, greys(6, (64, 48)), rate=25, options={"crf": "18", "bf": "2"}, times=times)
    return times


def greys(count: int, size: tuple[int, int]) -> list[Pixels]:
    """The first frames of a film."""
    return [np.full((size[1], size[0], 3), DARKEST + STEP * number, np.uint8) for number in range(count)]


@pytest.mark.parametrize("coding", CODINGS)
def test_a_range_has_exactly_its_frames(coding: str, tmp_path: Path) -> None:
    """As an MP4 and as a GIF, wherever keyframes are and however frames are ordered in the file."""
    source = film(tmp_path / "film.mp4", options=CODINGS[coding]).path

    for first, last in RANGES:
        encode_clip(source, tmp_path / "clip.mp4", first, last)
        encode_gif(source, tmp_path / "clip.gif", first, last, longest=480)

        wanted = [*range(first, last + 1)]
        clip = at(tmp_path / "clip.mp4")
        assert [number_of(frame) for frame in clip.frames()] == wanted
        assert (clip.probe.frames, clip.probe.rate) == (len(wanted), Fraction(24))
        with Image.open(tmp_path / "clip.gif") as picture:
            assert [number_of(frame) for frame in ImageSequence.Iterator(picture)] == wanted
    assert [number_of(at(source).still(frame=number)) for number in (0, 7, 24)] == [0, 7, 24]


def test_times_stay_as_they_are(tmp_path: Path) -> None:
    """A range of a clip whose frames are not evenly spaced begins at zero, with the same pauses."""
    times = uneven(tmp_path / "film.mp4")

    encode_clip(tmp_path / "film.mp4", tmp_path / "clip.mp4", 1, 4)
    found = [float((frame.pts or 0) * (frame.time_base or 0)) for frame in decode_range(tmp_path / "clip.mp4", 0, 3)]

    assert found == pytest.approx([float(time - times[1]) for time in times[1:5]], abs=2e-3)
    with pytest.raises(ReelbookError, match="the frames 0 to 3"):
        list(decode_range(tmp_path / "clip.mp4", 2, 4))


def test_odd_sizes_and_other_codecs(tmp_path: Path) -> None:
    """Not a line is lost."""
    path = tmp_path / "film.webm"
    write_clip(path, greys(8, (65, 49)), codec="libvpx-vp9", options={"crf": "20", "b": "0"})

    encode_clip(path, tmp_path / "clip.mp4", 2, 6)
    whole = at(path).clip(tmp_path / "whole.mp4")

    frames = list(at(tmp_path / "clip.mp4").frames())
    assert [frame.size for frame in frames] == [(65, 49)] * 5
    assert [number_of(frame) for frame in frames] == [2, 3, 4, 5, 6]
    assert [number_of(frame) for frame in at(whole).frames()] == [*range(8)]


def test_a_whole_clip_under_another_suffix_of_its_format_is_the_same_file(tmp_path: Path) -> None:
    """Nothing is encoded again, so that its sound stays."""
    path = write_clip(tmp_path / "film.mov", greys(8, (64, 48)))

    whole = at(path).clip(tmp_path / "WHOLE.MP4")

    assert whole.read_bytes() == path.read_bytes()


def test_a_clip_is_turned_as_its_file_asks_for(tmp_path: Path) -> None:
    """As a player turns it; the parts of it need not be turned any more."""
    path = tmp_path / "film.mp4"
    picture = np.zeros((48, 64, 3), np.uint8)
    picture[:16] = 200  # A bright edge on top.
    write_clip(path, [picture] * 6, options={"crf": "10"})
    upright, turned = (
        b"".join(int(value * 65536).to_bytes(4, "big", signed=True) for value in matrix) + bytes(4) + b"\x40\0\0\0"
        for matrix in ((1, 0, 0, 0, 1, 0, 0), (0, 1, 0, -1, 0, 0, 0))
    )
    # The matrix of the track, the second in the file: clockwise by a quarter.
    before, middle, after = path.read_bytes().split(upright)
    path.write_bytes(before + upright + middle + turned + after)

    still = np.asarray(at(path).still(frame=3))
    encode_clip(path, tmp_path / "clip.mp4", 1, 4)
    (first, *_) = at(tmp_path / "clip.mp4").frames()

    assert still.shape == (64, 48, 3)
    assert still[:, -12:].mean() > 150 > 50 > still[:, :24].mean()
    assert np.abs(np.asarray(first, np.int16)[:, -12:] - 200).mean() < 10
