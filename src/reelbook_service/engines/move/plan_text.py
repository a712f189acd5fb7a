"""Text of a plan, for the log of a run."""

from __future__ import annotations

from collections.abc import Mapping

from .shot_plan import CAMERA, Act, ShotPlan


def format_plan(plan: ShotPlan) -> str:
    """A sentence about the moves in the clip, whether the prompt or the engine chose them, and what was forbidden.

    >>> from reelbook.models.image_to_video import ImageToVideo
    >>> from .shot_plan import make_plan
    >>> format_plan(make_plan(ImageToVideo(prompt="pan left, rain, shaky", image_url="u", negative_prompt="shake")))
    'From the prompt: pan left, rain. Left out because of the negative prompt: shake.'
    """
    if plan.own:
        known = [_format_act(act) for act in plan.acts if act.wish.kind not in CAMERA]
        own = [_format_act(act) for act in plan.acts if act.wish.kind in CAMERA]
        text = f"From the prompt: {', '.join(known)}." if known else "The prompt names no camera move."
        text += f" Chosen by the engine: {', '.join(own)}." if own else " The camera stays still."
    else:
        steps = [
            ", ".join(_format_act(act) for act in plan.acts if act.wish.step == step) for step in range(plan.steps)
        ]
        text = f"From the prompt: {'; then '.join(step for step in steps if step)}."
    if plan.refused:
        text += f" Left out because of the negative prompt: {', '.join(plan.refused)}."
    if any(act.wish.kind in ("zoom", "dolly") and act.wish.sign < 0 for act in plan.acts):
        text += " Nothing lies outside the picture, so pulling back makes its middle smaller and its margins wider."
    return text


def _format_act(act: Act) -> str:
    wish = act.wish
    text = _ACT_TEXTS.get(wish.kind, wish.kind)
    if wish.kind in ("zoom", "dolly", "vertigo"):
        text += " in" if wish.sign > 0 else " out"
    elif wish.kind == "roll":
        text += " clockwise" if wish.sign > 0 else " anticlockwise"
    else:
        text += _direction(*wish.toward)
    if wish.kind not in CAMERA or wish.kind in _ACT_TEXTS:
        return text
    return f"slow {text}" if wish.vigour < 0.9 else f"fast {text}" if wish.vigour > 1.1 else text


def _direction(x: float, y: float) -> str:
    words = ("up" if y < 0 else "down" if y > 0 else "", "left" if x < 0 else "right" if x > 0 else "")
    return "".join(f" {word}" for word in words if word)


_ACT_TEXTS: Mapping[str, str] = {
    "vertigo": "dolly zoom",
    "shake": "a hand-held camera",
    "swing": "a swinging camera",
    "drift": "near things drift",
    "ripple": "rippling water",
    "sway": "wind",
    "bob": "bobbing",
    "breathe": "a faint breathing",
    "heat": "heat haze",
    "warm": "warmer light",
    "dusk": "falling dusk",
    "bright": "brighter light",
    "flicker": "flickering light",
    "flash": "lightning",
    "grey": "fading colours",
    "leaves": "falling leaves",
    "petals": "falling petals",
}
