"""Pictures in a row, each for its own number of frames."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from reelbook.errors import InvalidInput
from reelbook.models.base import WIRE
from reelbook.models.images_to_video import MAX_FRAMES, Frame, ImagesToVideo
from tests.models.inputs import FRAMES
from tests.spec import tables


@pytest.mark.parametrize(
    ("fps", "frames"),
    [(24, 24), (12, 12), (12.0, 12), (29.97, 30), (1, 1), (120, 120), (1.4, 1), (numpy.int64(12), 12), (numpy.float32(30), 30), (Decimal(48), 48)],
    ids=repr,
)  # fmt: skip
def test_a_bare_address_is_held_for_one_second(fps: Any, frames: int) -> None:
    """Whatever kind of number the frame rate is."""
    show = ImagesToVideo(images=["a.png", Frame(url="b.png", frames=7)], fps=fps)

    assert show.images == (Frame(url="a.png", frames=frames), Frame(url="b.png", frames=7))


def test_the_wire_takes_bare_addresses_as_well() -> None:
    """A second at the frame rate that comes with them, or at 24."""
    with_rate = ImagesToVideo.model_validate({"images": ["a.png"], "fps": 10}, context=WIRE)
    without = ImagesToVideo.model_validate({"images": ["a.png"]}, context=WIRE)

    assert (with_rate.images[0].frames, without.images[0].frames) == (10, 24)
    assert without.wire() == {"images": [{"url": "a.png", "frames": 24}], "fps": 24.0}


@pytest.mark.parametrize("fps", ["24", True, None, 0, 500, float("nan"), 10**400, [24]], ids=lambda fps: str(fps)[:9])
def test_a_wrong_frame_rate_is_the_only_problem(fps: Any) -> None:
    """Bare addresses beside it raise no second complaint."""
    with pytest.raises(InvalidInput) as caught:
        ImagesToVideo(images=["a.png", "b.png"], fps=fps)

    assert [problem.field for problem in caught.value.problems] == ["fps"]


@given(st.lists(FRAMES | st.just("a.png"), min_size=1, max_size=5))
def test_the_video_has_the_frames_of_all_pictures(images: list[Frame | str]) -> None:
    """One second for each address, and for each frame its own count."""
    expected = sum(24 if isinstance(image, str) else image.frames for image in images)

    assert ImagesToVideo(images=images).total_frames == expected


def test_one_video_has_so_many_frames_and_no_more() -> None:
    """The sum counts, not only each picture's own number."""
    most = tables.GAPS["most_frames_in_all"]
    assert most == MAX_FRAMES

    assert ImagesToVideo(images=[Frame(url="a", frames=most - 24), "b"]).total_frames == most
    for images in ([Frame(url="a", frames=most - 23), "b"], ["a"] * (most // 24 + 1)):
        with pytest.raises(InvalidInput, match=r"`images` add up to 100,0\d\d frames; one video holds 100,000 at most"):
            ImagesToVideo(images=images)


def test_too_many_frames_are_refused_on_the_wire() -> None:
    """With the same reason and at the same place."""
    images = [{"url": "a", "frames": MAX_FRAMES}, "b"]

    with pytest.raises(ValidationError) as refused:
        ImagesToVideo.model_validate({"images": images}, context=WIRE)

    assert [found["type"] for found in refused.value.errors()] == ["too_many_frames"]


def test_any_sequence_of_addresses_will_do() -> None:
    """A generator over files is as good as a list."""
    names = ["a.png", "b.png"]

    shows = [ImagesToVideo(images=images) for images in (names, (name for name in names), numpy.array(names), map(str, names))]  # fmt: skip

    assert len(set(shows)) == 1
    assert [frame.url for frame in shows[0].images] == names


def test_a_revised_show_keeps_its_counts() -> None:
    """The seconds of bare addresses are settled once; another frame rate only plays them faster."""
    show = ImagesToVideo(images=["a.png"]).revised(fps=12)

    assert (show.images[0].frames, show.fps) == (24, 12)
