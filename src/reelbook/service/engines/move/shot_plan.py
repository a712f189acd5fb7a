"""What the clip will show: the prompt's wishes with amounts and times, less what the negative prompt takes away."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ....models.image_to_video import ImageToVideo
from .move_phrases import MOTION, QUALITIES
from .read_prompt import Reading, Wish, named, read

CAMERA = frozenset({"zoom", "dolly", "vertigo", "pan", "tilt", "truck", "crane", "roll", "orbit", "shake", "swing"})
SCENE = frozenset({"drift", "ripple", "sway", "bob", "breathe", "heat"})
LIGHT = frozenset({"warm", "dusk", "bright", "flicker", "flash", "grey"})
WEATHER = frozenset({"rain", "snow", "petals", "leaves", "sparks", "fog"})

KIN: Mapping[str, frozenset[str]] = {
    "zoom": frozenset({"dolly", "vertigo"}),
    "pan": frozenset({"truck"}),
    "tilt": frozenset({"crane"}),
    "roll": frozenset({"swing"}),
    "ripple": frozenset({"heat"}),
}
"""What goes with a kind when a negative prompt names it."""

OVERLAP = 0.12
"""How far a step reaches into the next one, so that the camera never stops dead."""


@dataclass(frozen=True, slots=True)
class Act:
    """A wish with its amount and its time."""

    wish: Wish
    amount: float
    begin: float = 0.0
    end: float = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decides how the clip moves, the picture aside."""

    acts: tuple[Act, ...]
    steps: int
    seed: int
    """Drawn from the words: decides what they leave open."""
    bend: float
    """How freely the picture may be bent, 1 where nothing forbids it."""
    sharp: bool
    """Whether the camera must stay far enough away to keep the picture sharp."""
    own: bool = False
    """Whether the camera's moves are our own idea, as the prompt names none."""
    refused: tuple[str, ...] = ()
    """What was asked for and taken away."""

    def amount(self, kind: str) -> float:
        """How much of a kind there is at most."""
        return max((act.amount for act in self.acts if act.wish.kind == kind), default=0.0)


def plan(request: ImageToVideo) -> Plan:
    """What to show for a request.

    >>> [act.wish.kind for act in plan(ImageToVideo(prompt="zoom in, gentle rain", image_url="u")).acts]
    ['zoom', 'rain']
    >>> plan(ImageToVideo(prompt="zoom in, rain", image_url="u", negative_prompt="rain")).refused
    ('rain',)
    """
    reading = read(request.prompt)
    away = taken_away(request.negative_prompt)
    seed = int.from_bytes(hashlib.sha256(request.prompt.encode()).digest()[:8], "big")
    wanted = tuple(wish for wish in reading.wishes if not (reading.still and wish.kind in CAMERA))
    kept = tuple(wish for wish in wanted if wish.kind not in away)
    own = not any(wish.kind in CAMERA for wish in kept)
    if own:
        kept += _idea(reading, seed, away, alone=not kept)
    strength = 0.25 + 0.75 * request.cfg_scale
    acts = tuple(_timed(wish, reading, strength, away) for wish in kept)
    return Plan(
        acts=acts,
        steps=reading.steps,
        seed=seed,
        bend=0.7 if "distort" in away else 1.0,
        sharp="blur" in away,
        own=own,
        refused=tuple(sorted({wish.kind for wish in wanted} - {wish.kind for wish in kept})),
    )


def taken_away(negative: str) -> frozenset[str]:
    """The kinds and qualities that a negative prompt forbids.

    >>> sorted(taken_away("camera shake, blurry"))
    ['blur', 'shake']
    >>> taken_away("camera movement") == CAMERA
    True
    """
    kinds = named(negative)
    for kind in tuple(kinds):
        kinds |= KIN.get(kind, frozenset())
    plain = negative.lower()
    kinds |= {quality for quality, words in QUALITIES.items() if re.search(rf"\b(?:{words})\b", plain)}
    if any(re.fullmatch(MOTION, clause.strip()) for clause in re.split(r"[,.;\n]+", plain)):
        kinds |= CAMERA
    return frozenset(kinds)


def _idea(reading: Reading, seed: int, away: frozenset[str], *, alone: bool) -> tuple[Wish, ...]:
    """A gentle move of our own, decided by the prompt's words."""
    if (reading.still and "still" not in away) or away >= CAMERA:
        return (Wish("breathe", vigour=0.5),) if alone and "breathe" not in away else ()
    draw = random.Random(seed)
    side, rise = draw.choice((-1.0, 1.0)), draw.choice((-1.0, 1.0)) * draw.uniform(0.3, 0.6)
    ideas: tuple[tuple[Wish, ...], ...] = (
        (Wish("dolly"), Wish("orbit", (side, 0.0))),
        (Wish("zoom"),),
        (Wish("truck", (side, rise)),),
        (Wish("orbit", (side, 0.0)), Wish("crane", (0.0, -1.0), vigour=0.5)),
        (Wish("dolly"), Wish("crane", (0.0, rise), vigour=0.6)),
        (Wish("dolly"), Wish("truck", (side, rise), vigour=0.7)),
    )
    if any(wish.kind == "drift" for wish in reading.wishes):
        ideas = ideas[1:2]  # A camera that goes sideways would hide which way the thing itself goes.
    allowed = [idea for idea in ideas if not {wish.kind for wish in idea} & away]
    if not allowed:
        return (Wish("breathe"),)
    vigour = draw.uniform(0.55, 0.9)
    return tuple(replace(wish, vigour=wish.vigour * vigour) for wish in draw.choice(allowed))


def _timed(wish: Wish, reading: Reading, strength: float, away: frozenset[str]) -> Act:
    """A wish with the amount that speed words, `cfg_scale` and the negative prompt leave it."""
    vigour = wish.vigour * reading.vigour
    if "fast" in away:
        vigour = min(vigour, 0.7)
    if "slow" in away or "still" in away:
        vigour = max(vigour, 1.0)
    amount = strength * max(0.3, min(1.8, vigour))
    if wish.kind not in CAMERA and wish.kind != "drift":
        return Act(wish, amount)
    length = 1 / reading.steps
    begin = wish.step * length
    return Act(wish, amount, max(0.0, begin - OVERLAP * length), min(1.0, begin + length * (1 + OVERLAP)))
