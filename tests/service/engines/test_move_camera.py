"""Where move's camera is, and how it bends the picture."""

from __future__ import annotations

import math

import pytest

from reelbook.models.image_to_video import ImageToVideo
from reelbook_service.engines.move.camera import CameraPose, Path
from reelbook_service.engines.move.plan import Plan, make_plan

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
