"""What move reads in prompts, where its camera goes, and the clips that it makes of one picture."""

from __future__ import annotations

import math
from pathlib import Path

import av
import pytest
from PIL import Image

from reelbook.models.image_to_video import ImageToVideo
from reelbook_service.engines.move.camera import CameraPose
from reelbook_service.engines.move.camera import Path as CameraPath
from reelbook_service.engines.move.engine import move
from reelbook_service.engines.move.plan import CAMERA, Act, Plan, described, make_plan
from reelbook_service.engines.protocol import EngineTask, Report
from tests.service.engines.moving import ADDRESS, encoded, motion, picture_of, psnr, scenery, shot
from tests.support import deep


def planned(prompt: str, **fields: str | float) -> Plan:
    return make_plan(ImageToVideo.model_validate({"prompt": prompt, "image_url": "u", **fields}))


def asked(prompt: str) -> set[str]:
    """Kinds and directions in a form that reads well: `pan left`, `zoom out`."""
    plan = planned(prompt)
    return {" ".join([act.kind, *_way(act)]) for act in plan.acts if not (plan.own and act.kind in OWN)}


OWN = {*CAMERA, "shake"}
"""What the engine chooses itself where a prompt names no move."""


def _way(act: Act) -> list[str]:
    if act.kind in ("zoom", "dolly"):
        return ["in" if act.sign > 0 else "out"]
    if act.kind == "roll":
        return ["clockwise" if act.sign > 0 else "anticlockwise"]
    x, y = act.toward
    return ["left"] * (x < 0) + ["right"] * (x > 0) + ["up"] * (y < 0) + ["down"] * (y > 0)


PROMPTS = {
    "Zoom in.": {"zoom in"},
    "a slow zoom out": {"zoom out"},
    "zoom out to reveal the city": {"zoom out"},
    "The camera slowly pushes in": {"dolly in"},
    "the camera moves closer": {"dolly in"},
    "pull back": {"dolly out"},
    "the camera moves away": {"dolly out"},
    "a man walks toward the camera": {"dolly in"},
    "dolly left": {"truck left"},
    "pan left": {"pan left"},
    "camera pans slowly to the right": {"pan right"},
    "a pan from left to right": {"pan right"},
    "pan left and zoom in": {"pan left", "zoom in"},
    "tilt up": {"tilt up"},
    "tilt down": {"tilt down"},
    "crane down": {"crane down"},
    "a drone shot, rising": {"crane up"},
    "tracking shot to the left": {"truck left"},
    "the camera moves up": {"crane up"},
    "look to the right": {"pan right"},
    "orbit left around the statue": {"orbit left"},
    "the camera circles the flower": {"orbit right"},
    "rotate clockwise": {"roll clockwise"},
    "spin counter-clockwise": {"roll anticlockwise"},
    "handheld, shaky footage": {"shake"},
    "the boat drifts to the left": {"drift left"},
    "the balloon rises": {"drift up"},
    "a train passes from right to left": {"drift left"},
    "the boat sails away": {"dolly out"},
    "the dancer spins gracefully": {"orbit right"},
    "the camera rotates": {"roll clockwise"},
    "gentle waves on a lake, a light breeze": {"ripple", "sway"},
    "heavy rain": {"rain"},
    "cherry blossoms fall, golden hour": {"petals", "warm"},
    "black and white": {"grey"},
    # What only looks like a move.
    "a close-up of a cat on the right": set(),
    "the man on the left smiles": set(),
    "a house upside down": set(),
    "green rolling hills": set(),
    "snow-capped mountains": set(),
    "he waves at the crowd": set(),
    "they shake hands, all right": set(),
    "a truck": set(),
    "": set(),
}


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_prompt_is_understood(prompt: str) -> None:
    """Each of these asks for exactly this."""
    assert asked(prompt) == PROMPTS[prompt]


def test_what_a_prompt_refuses_is_not_shown() -> None:
    """`Without zoom` is no wish to zoom."""
    assert asked("pan left, no zoom, without any shaking") == {"pan left"}
    assert asked("don't rotate") == set()


def test_then_makes_two_steps() -> None:
    """One thing after another, in the order of the words; what follows joins the second."""
    plan = planned("zoom in, then pan left, finally pull back")

    assert [(act.kind, act.step) for act in plan.acts] == [("zoom", 0), ("pan", 1), ("dolly", 1)]
    assert described(plan).startswith("From the prompt: zoom in; then pan left, dolly out.")


def test_what_was_not_understood_is_reported() -> None:
    """Each part of a prompt from which nothing came is in the log, in its own words; a speed alone is understood."""
    plan = planned("The Boat turns into a bird, zoom in; slowly, do not make it rain and don't add a hat")

    assert plan.beyond == ("The Boat turns into a bird", "don't add a hat")
    assert described(plan).endswith("Not understood as a move: “The Boat turns into a bird”, “don't add a hat”.")
    assert "Not understood" not in described(planned("zoom in, rain"))


@pytest.mark.parametrize(
    "prompt", ["static camera", "locked-off shot of a street", "tripod", "no camera movement", "Still."]
)
def test_a_still_camera_stays(prompt: str) -> None:
    """A prompt that wants the camera to stay gets no move of it, not even one of our own."""
    assert {act.kind for act in planned(f"{prompt}, rain").acts} <= {"still", "rain"}


def test_cfg_scale_scales_everything() -> None:
    """Camera, scene, light and weather obey alike."""
    low, high = (planned("pan left, ripples, sunset, snow", cfg_scale=scale) for scale in (0.1, 0.9))

    assert [act.kind for act in low.acts] == ["pan", "ripple", "warm", "snow"]
    assert all(low.amount(act.kind) < high.amount(act.kind) / 2 for act in low.acts)


NEGATIVES = {
    "shake": ("handheld", "shake"),
    "zoom, rotation": ("dolly in", "dolly"),
    "rotation": ("rotate", "roll"),
    "panning": ("truck left", "truck"),
    "camera motion": ("orbit", "orbit"),
    "wind": ("the wind blows", "sway"),
    "rain": ("rainy day", "rain"),
    "waves": ("the sea", "ripple"),
}


@pytest.mark.parametrize("negative", NEGATIVES)
def test_negative_words_take_moves_away(negative: str) -> None:
    """The move is there without the word, and gone with it; the log says so."""
    prompt, kind = NEGATIVES[negative]
    free, bound = planned(prompt), planned(prompt, negative_prompt=negative)

    assert free.amount(kind) > 0
    assert bound.amount(kind) == 0
    assert kind in bound.refused
    assert f"Left out because of the negative prompt: {kind}." in described(bound)


# The camera.

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


def poses(wanted: Plan, centre: tuple[float, float] = (0.1, -0.2), aspect: float = 16 / 9) -> list[CameraPose]:
    path = CameraPath(wanted, centre, aspect, 5, 1.0)
    return [path.at(number / 119) for number in range(120)]


@pytest.mark.parametrize("aspect", [16 / 9, 0.5, 30.0])
@pytest.mark.parametrize("prompt", WILD)
def test_the_view_never_leaves_the_picture(prompt: str, aspect: float) -> None:
    """At every frame, the four corners of the view lie inside the picture, however it turns and shakes."""
    for pose in poses(planned(prompt, cfg_scale=1, negative_prompt=""), aspect=aspect):
        cos, sin = math.cos(pose.angle), math.sin(pose.angle)
        for x, y in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)):
            across = pose.centre[0] + pose.scale * (x * cos + y * sin / aspect)
            down = pose.centre[1] + pose.scale * (y * cos - x * sin * aspect)

            assert max(abs(across), abs(down)) <= 0.5 + 1e-9


# What is seen.


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
