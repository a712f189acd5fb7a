"""Where move's camera is, and how it bends the picture."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PIL import Image, ImageDraw

from reelbook.models.image_to_video import ImageToVideo
from reelbook_service.engines.move.camera import CameraPose, Path
from reelbook_service.engines.move.field import Field, middle_of
from reelbook_service.engines.move.plan import Plan, make_plan
from reelbook_service.engines.saliency import saliency_of
from tests.support import once_each

GRID = np.meshgrid(np.linspace(-0.5, 0.5, 33), np.linspace(-0.5, 0.5, 33))

WILD = (
    "fast zoom in",
    "fast zoom out, the boat drifts left quickly",
    "fast truck right and up, orbit left",
    "fast spin, handheld",
    "earthquake, wind, ripples",
    "zoom in, then pan left, then pull back, then rotate anticlockwise",
    "dolly in, crane down, orbit right, roll, handheld, the balloon rises fast",
    "very fast drone shot, very fast orbit left, the boat drifts left very quickly, very fast dolly in",
    "very fast dolly out, the car drives left very fast, wild wind",
    "a quiet day",
)


def a_plan(prompt: str) -> Plan:
    return make_plan(ImageToVideo(prompt=prompt, image_url="u", cfg_scale=1, negative_prompt=""))


def poses(wanted: Plan, centre: tuple[float, float] = (0.1, -0.2), aspect: float = 16 / 9) -> list[CameraPose]:
    path = Path(wanted, centre, aspect, 5, 1.0)
    return [path.at(number / 119) for number in range(120)]


def still_life(width: int, height: int) -> Image.Image:
    """A thing that stands on the ground, before a background."""
    picture = Image.linear_gradient("L").resize((width, height)).convert("RGB")
    thing = (width * 0.4, height * 0.3, width * 0.65, height * 0.75)
    ImageDraw.Draw(picture).rectangle(thing, fill=(200, 30, 20))
    return picture


@pytest.mark.parametrize("aspect", [16 / 9, 0.5, 30.0])
@pytest.mark.parametrize("prompt", WILD)
def test_the_view_never_leaves_the_picture(prompt: str, aspect: float) -> None:
    """At every frame, the four corners of the view lie inside the picture, however it turns and shakes."""
    for pose in poses(a_plan(prompt), aspect=aspect):
        cos, sin = math.cos(pose.angle), math.sin(pose.angle)
        for x, y in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)):
            across = pose.centre[0] + pose.scale * (x * cos + y * sin / aspect)
            down = pose.centre[1] + pose.scale * (y * cos - x * sin * aspect)

            assert max(abs(across), abs(down)) <= 0.5 + 1e-9


@pytest.mark.parametrize(("prompt", "size"), once_each(WILD, [(160, 90), (60, 90), (600, 12)]))
def test_the_picture_never_folds(prompt: str, size: tuple[int, int]) -> None:
    """Every point of the frame shows a point of the picture, neighbours stay neighbours, and nothing turns inside out."""
    wanted, scene, aspect = a_plan(prompt), saliency_of(still_life(*size)), size[0] / size[1]
    way = poses(wanted, middle_of(scene), aspect)
    field = Field(scene, wanted, aspect)
    for pose in way[5::16]:
        x, y = field.origin(*GRID, pose)

        assert max(abs(x).max(), abs(y).max()) <= 0.5
        area = (
            np.diff(x, axis=1)[:-1] * np.diff(y, axis=0)[:, :-1] - np.diff(x, axis=0)[:, :-1] * np.diff(y, axis=1)[:-1]
        )
        assert area.min() > 0


@pytest.mark.parametrize("prompt", WILD)
def test_a_clip_begins_with_the_whole_picture_and_softly(prompt: str) -> None:
    """The first pose shows the picture as it is, and the second hardly differs."""
    first, second = poses(a_plan(prompt))[:2]

    assert (first.scale, first.centre, first.angle) == (1, (0, 0), 0)
    assert first.ramp == 0
    assert not any(any(effect) for effect in first.sums.values())
    assert abs(second.scale - 1) < 0.002
    assert math.hypot(*second.centre) < 0.002


def test_the_camera_stays_far_enough_to_be_sharp() -> None:
    """A picture with more pixels than the clip can be looked at more closely, down to a bound."""
    few, many, most = (Path(a_plan("fast zoom in"), (0, 0), 1.5, 5, detail).at(1).scale for detail in (1, 1.15, 3))

    assert (round(few, 4), round(most, 4)) == (round(1 / 1.35, 4), 0.6)
    assert few > many > most


def test_near_things_move_more_than_far_ones() -> None:
    """A camera that travels to the right sees the ground at its feet go left faster than the hills."""
    wanted, scene = a_plan("truck right"), saliency_of(still_life(160, 90))
    pose = poses(wanted, middle_of(scene))[-1]
    field = Field(scene, wanted, 16 / 9)

    far, near = (field.moved(np.zeros((1, 1)), np.full((1, 1), place), pose)[0][0, 0] for place in (-0.4, 0.4))

    assert near < far - 0.01


def test_a_handheld_camera_wanders_around_its_place() -> None:
    """It goes both ways, and comes back."""
    shaken = poses(a_plan("handheld"), centre=(0, 0))

    assert min(pose.centre[0] for pose in shaken) < -0.002 < 0.002 < max(pose.centre[0] for pose in shaken)
    assert max(abs(pose.centre[0]) for pose in shaken) < 0.03
