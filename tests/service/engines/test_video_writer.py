"""Movies written frame by frame, as players see them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import pytest

from reelbook_service.engines import video_writer
from reelbook_service.engines.video_writer import Movie
from reelbook_service.engines.write_provenance import WrittenProvenance
from tests.service.engines.playing import played

SIZE = (96, 54)
SIGN = WrittenProvenance("svc/a-model", {"prompt": "a boat"}, 7, "tester", "3")


def grey(level: int, size: tuple[int, int] = SIZE) -> av.VideoFrame:
    """One frame of an even grey."""
    frame = av.VideoFrame(*size, "yuv420p")
    for plane, value in zip(frame.planes, (level, 128, 128), strict=True):
        plane.update(bytes([value]) * plane.buffer_size)
    return frame


def film(path: Path, frames: int, rate: Fraction = Fraction(24), size: tuple[int, int] = SIZE) -> Path:
    """Grey that becomes brighter: frame n has the level 40 + n, as far as 200."""
    with Movie(path, size, rate, SIGN) as made:
        for number in range(frames):
            made.add(grey(40 + number % 160, size))
    return path


def levels(path: Path) -> list[float]:
    """The frames' levels, back from RGB to the scale of video."""
    return [16 + int(pixel[1]) * 219 / 255 for pixel in played(path).frames]


@pytest.fixture
def without_x264(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PyAV as some distributions build it."""
    monkeypatch.setattr(video_writer, "has_x264", lambda: False)


@pytest.mark.usefixtures("without_x264")
def test_without_x264_the_frames_are_the_same(tmp_path: Path) -> None:
    """The substitute keeps count, order, time, look and bytes."""
    path = film(tmp_path / "a.mp4", 60, Fraction(24000, 1001))
    again = film(tmp_path / "b.mp4", 60, Fraction(24000, 1001))

    with av.open(str(path)) as file:
        assert file.streams.video[0].codec_context.name in ("vp9", "libvpx-vp9")
    playback = played(path)
    assert playback.times == [number * Fraction(1001, 24000) for number in range(60)]
    assert playback.messages == []
    assert levels(path) == pytest.approx([40 + number for number in range(60)], abs=3)
    assert path.read_bytes() == again.read_bytes()
