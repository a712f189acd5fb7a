"""Pictures in a row, each for its own number of frames."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy
import pytest

from reelbook.errors import InvalidInput
from reelbook.models.base import WIRE
from reelbook.models.images_to_video import MAX_FRAMES, Frame, ImagesToVideo
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


def test_one_video_has_so_many_frames_and_no_more() -> None:
    """The sum counts, not only each picture's own number."""
    most = tables.GAPS["most_frames_in_all"]
    assert most == MAX_FRAMES

    assert ImagesToVideo(images=[Frame(url="a", frames=most - 24), "b"]).total_frames == most
    for images in ([Frame(url="a", frames=most - 23), "b"], ["a"] * (most // 24 + 1)):
        with pytest.raises(InvalidInput, match=r"`images` add up to 100,0\d\d frames; one video holds 100,000 at most"):
            ImagesToVideo(images=images)
