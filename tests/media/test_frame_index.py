"""The index of a clip: its numbers and times are those of the frames that PyAV decodes, for clips of every kind."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from reelbook.media.frame_index import NO_FRAME, FrameIndex, read_frame_index, read_uneven_times
from reelbook.media.local_file import LocalFile
from reelbook.media.posters import get_poster
from reelbook.media.previews import make_preview
from reelbook.media.stills import get_size, read_frames
from reelbook.models.base import File
from tests.media.bars import SAYS, bar_clip
from tests.numbered import KINDS, Kind, kind_of, numbered_clip, read_number

DECODED = [kind for kind in KINDS if kind.is_decoded]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the clips of all tests."""
    return tmp_path_factory.mktemp("clips")


def decoded(content: bytes) -> Iterator[tuple[int, float, Image.Image]]:
    """Number, time and upright picture of each frame, by PyAV."""
    with av.open(io.BytesIO(content), "r") as container:
        for frame in container.decode(video=0):
            coded = frame.to_ndarray(format="rgb24")
            picture = Image.fromarray(np.rot90(coded, frame.rotation // 90 % 4))
            yield read_number(picture), frame.time or 0.0, picture


def decoded_by(index: FrameIndex, content: bytes) -> list[int]:
    """The number on each frame, decoded from the samples where the index has them, in the order that it says."""
    samples = [content[start : start + count] for start, count in zip(index.offsets, index.lengths, strict=True)]
    with av.open(io.BytesIO(content), "r") as container:
        context = container.streams.video[0].codec_context
        found: dict[int, int] = {}
        for number, sample in zip(index.numbers, samples, strict=True):
            packet = av.Packet(sample)
            packet.pts = number if number != NO_FRAME else 10_000
            for frame in context.decode(packet):
                found[frame.pts or 0] = read_number(_turned(frame))
        for frame in context.decode(None):
            found[frame.pts or 0] = read_number(_turned(frame))
        found.pop(10_000, None)
        return [found[number] for number in sorted(found)]


def _turned(frame: av.VideoFrame) -> Image.Image:
    return Image.fromarray(np.rot90(frame.to_ndarray(format="rgb24"), frame.rotation // 90 % 4))


def check(index: FrameIndex | None, content: bytes, kind: Kind) -> None:
    """The index names every frame of this clip at its time."""
    assert index is not None
    frames = list(decoded(content))
    assert [number for number, _, _ in frames] == list(range(kind.shown))
    assert index.frames == kind.shown
    assert index.times == pytest.approx([time - frames[0][1] for _, time, _ in frames], abs=1e-6)


@pytest.mark.parametrize("kind", DECODED, ids=str)
def test_numbers_and_times_are_those_of_the_decoder(folder: Path, kind: Kind) -> None:
    """Of the original: the samples are where the index says, and become the frames that it says."""
    path = numbered_clip(folder, kind)

    index = read_frame_index(path)

    check(index, path.read_bytes(), kind)
    assert index is not None
    if not kind.rotation:
        assert decoded_by(index, path.read_bytes()) == list(range(kind.shown))
    assert index.rotation == kind.rotation
    assert index.is_even == (not kind.ticks)
    assert len(read_uneven_times(path)) == (kind.shown if kind.ticks else 0)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_preview_has_the_same_frames(folder: Path, kind: Kind) -> None:
    """In the same number, evenly spaced, upright, and at the same rate."""
    path = numbered_clip(folder, kind)

    preview = make_preview(path, longest=120, max_bytes=150_000)

    assert preview is not None
    index = read_frame_index(preview)
    check(index, preview, kind)
    assert index is not None
    assert index.is_even
    assert index.rotation == kind.rotation
    assert index.rate == LocalFile(path, File(url="")).probe.rate


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_stills_are_the_named_frames_and_upright(folder: Path, kind: Kind) -> None:
    """Whether by number, spread, from the middle, or as a poster; sizes are those that a player displays."""
    path = numbered_clip(folder, kind)
    file = LocalFile(path, File(url=""))
    last = kind.shown - 1
    size = (round(kind.size[0] * kind.aspect), kind.size[1])

    assert get_size(path) == (file.probe.width, file.probe.height) == size
    assert file.probe.frames == kind.shown
    assert [read_number(file.still(frame=number)) for number in (0, 7, 8, last)] == [0, 7, 8, last]
    assert file.still(frame=7).size == size
    assert [read_number(file.still(at)) for at in (0, 0.5, 1)] == [0, round(last / 2), last]
    few = read_frames(path, lambda count, _: (7, count - 1), (80, 80))
    assert ([read_number(picture) for picture in few.frames], few.count, few.size) == ([7, last], kind.shown, size)
    poster = get_poster(path)
    assert poster is not None
    assert read_number(Image.open(io.BytesIO(poster))) >= 0


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.is_decoded], ids=str)
def test_what_browsers_do_not_decode_has_no_index(folder: Path, kind: Kind) -> None:
    """Nor has what is broken off, or no clip."""
    path = numbered_clip(folder, kind)
    (folder / "cut.mp4").write_bytes(numbered_clip(folder, KINDS[0]).read_bytes()[:2000])

    assert read_frame_index(path) is None
    assert read_frame_index(folder / "cut.mp4") is None
    assert read_frame_index(folder / "none.mp4") is None
    assert read_frame_index(b"nothing") is None


def test_the_duration_is_that_of_uneven_frames(folder: Path) -> None:
    """A WebM states the rate that it was made for, at which it would end too early."""
    kind = kind_of("VP9 in WebM, uneven")

    probe = LocalFile(numbered_clip(folder, kind), File(url="")).probe

    assert probe.seconds == pytest.approx(kind.ticks[-1] / 100, abs=0.1)


def test_decoding_starts_at_refreshes_only(folder: Path) -> None:
    """An open group begins with a picture that WebCodecs do not start with, although the file calls it a keyframe."""
    opened, closed = (
        read_frame_index(numbered_clip(folder, kind_of(name)))
        for name in ("open groups", "closed groups with B-frames")
    )

    assert opened is not None
    assert closed is not None
    assert opened.keys == (0,)
    assert closed.keys == (0, 10, 20, 30)


BT601 = {"matrix": "smpte170m", "primaries": "smpte170m", "transfer": "smpte170m", "fullRange": False}
BT709 = {"matrix": "bt709", "primaries": "bt709", "transfer": "bt709", "fullRange": False}


@pytest.mark.parametrize(
    ("says", "size", "colours"),
    [
        ("BT.709", (64, 64), BT709),
        ("BT.601 of 525 lines, full", (64, 64), {**BT601, "fullRange": True}),
        ("nothing", (64, 64), BT601),
        ("nothing", (64, 720), BT709),
        ("full only", (64, 720), {**BT601, "fullRange": True}),
    ],
)
def test_colours_are_named(tmp_path: Path, says: str, size: tuple[int, int], colours: Any) -> None:
    """Without them WebCodecs takes every clip for BT.709, and players do so from 720 lines on."""
    clip = bar_clip(tmp_path / "clip.mp4", size, next(one for one in SAYS if one.name == says))

    index = read_frame_index(clip)

    assert index is not None
    assert index.to_json().get("colours") == colours
