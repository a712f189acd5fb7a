"""What move reads in prompts, and what it plans."""

from __future__ import annotations

import pytest

from reelbook.models.image_to_video import ImageToVideo
from reelbook_service.engines.move.plan import CAMERA, Act, Plan, described, make_plan


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
