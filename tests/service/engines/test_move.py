"""Clips that move makes of one picture, as a player sees them."""

from __future__ import annotations

from pathlib import Path

import av
import pytest
from PIL import Image

from reelbook.models.image_to_video import ImageToVideo
from reelbook_service.engines.move.engine import move
from reelbook_service.engines.protocol import EngineTask, Report
from tests.service.engines.moving import ADDRESS, encoded, motion, picture_of, psnr, scenery, shot
from tests.support import deep


@pytest.fixture(scope="module")
def source() -> bytes:
    return encoded(scenery())


def test_the_first_frame_is_the_picture(tmp_path: Path) -> None:
    """Whatever the prompt asks for, the clip begins with the picture, at 38 dB and better."""
    picture, prompt = scenery(192, 108), "fast zoom out, handheld, heavy snow, sunset"
    request = ImageToVideo(prompt=prompt, image_url=ADDRESS, cfg_scale=1)

    made = move(EngineTask(request, 0, tmp_path, {ADDRESS: encoded(picture)}), Report())["video"]

    assert dict(made.facts) == {"width": 192, "height": 108, "frames": 120, "frame_rate": 24}
    with av.open(str(made.path)) as file:
        first = next(file.decode(video=0)).to_ndarray(format="rgb24")
    assert psnr(Image.fromarray(first), picture) >= 38


DIRECTIONS = {
    "zoom in": ("size", 1.15, 2.0),
    "zoom out": ("size", 0.5, 0.94),
    "pan left": ("right", 0.06, 0.5),
    "pan right": ("right", -0.5, -0.06),
    "tilt up": ("down", 0.06, 0.5),
    "crane down": ("down", -0.5, -0.06),
    "rotate clockwise": ("turn", 4, 20),
    "rotate counter-clockwise": ("turn", -20, -4),
}


@pytest.fixture(scope="module")
def bare(source: bytes) -> Image.Image:
    """What a camera sees at the end that is held still."""
    return shot(source, "static camera", cfg_scale=1)


@pytest.mark.parametrize(
    "prompt", [*[*DIRECTIONS][::2], *(pytest.param(prompt, marks=pytest.mark.deep) for prompt in [*DIRECTIONS][1::2])]
)
def test_a_direction_word_moves_the_right_way(source: bytes, prompt: str) -> None:
    """Measured between the picture and the last frame: a camera that goes left sees things go right."""
    what, low, high = DIRECTIONS[prompt]

    seen = motion(picture_of(source), shot(source, prompt))

    assert low <= getattr(seen, what) <= high, seen


@pytest.mark.parametrize(
    "words",
    ["rain", "sunset", "monochrome", *deep(("snow",), ("petals",), ("autumn leaves",), ("sparks",), ("nightfall",))],
)
def test_light_and_weather_are_seen(source: bytes, bare: Image.Image, words: str) -> None:
    """With the camera held still, what changes is the light and the weather that the prompt names."""
    changed = shot(source, f"static camera, {words}", cfg_scale=1)

    assert psnr(bare, picture_of(source)) > 36
    assert 8 < psnr(changed, bare) < 36
