"""The plan of a clip: the prompt's wishes with amounts and times, without those that the negative prompt forbids."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from reelbook.models.image_to_video import ImageToVideo

from .move_phrases import MOTION, QUALITIES
from .read_prompt import MoveWish, ParsedPrompt, find_kinds, parse_prompt

CAMERA = frozenset({"zoom", "dolly", "vertigo", "pan", "tilt", "truck", "crane", "roll", "orbit", "shake", "swing"})
SCENE = frozenset({"drift", "ripple", "sway", "bob", "breathe", "heat"})
LIGHT = frozenset({"warm", "dusk", "bright", "flicker", "flash", "grey"})
WEATHER = frozenset({"rain", "snow", "petals", "leaves", "sparks", "fog"})

RELATED_KINDS: Mapping[str, frozenset[str]] = {
    "zoom": frozenset({"dolly", "vertigo"}),
    "pan": frozenset({"truck"}),
    "tilt": frozenset({"crane"}),
    "roll": frozenset({"swing"}),
    "ripple": frozenset({"heat"}),
}
"""The kinds that a negative prompt forbids along with the one it names."""

OVERLAP = 0.12
"""How far a step overlaps the next one, so that the camera never stops abruptly."""


@dataclass(frozen=True, slots=True)
class Act:
    """A wish with its amount and its time."""

    wish: MoveWish
    amount: float
    begin: float = 0.0
    end: float = 1.0


@dataclass(frozen=True, slots=True)
class ShotPlan:
    """All moves and effects of a clip, independent of the picture."""

    acts: tuple[Act, ...]
    steps: int
    seed: int
    """A hash of the prompt; determines what the words leave open."""
    bend: float
    """How much the picture may be warped, 1 where nothing forbids it."""
    sharp: bool
    """Whether the camera must keep enough distance for the picture to stay sharp."""
    own: bool = False
    """Whether the engine chose the camera moves, as the prompt names none."""
    refused: tuple[str, ...] = ()
    """Kinds in the prompt that the negative prompt forbids."""

    def amount(self, kind: str) -> float:
        """The largest amount of a kind."""
        return max((act.amount for act in self.acts if act.wish.kind == kind), default=0.0)


def make_plan(request: ImageToVideo) -> ShotPlan:
    """The plan of a request's clip.

    >>> [act.wish.kind for act in make_plan(ImageToVideo(prompt="zoom in, gentle rain", image_url="u")).acts]
    ['zoom', 'rain']
    >>> make_plan(ImageToVideo(prompt="zoom in, rain", image_url="u", negative_prompt="rain")).refused
    ('rain',)
    """
    reading = parse_prompt(request.prompt)
    away = forbidden_kinds(request.negative_prompt)
    seed = int.from_bytes(hashlib.sha256(request.prompt.encode()).digest()[:8], "big")
    wanted = tuple(wish for wish in reading.wishes if not (reading.still and wish.kind in CAMERA))
    accepted = tuple(wish for wish in wanted if wish.kind not in away)
    own = not any(wish.kind in CAMERA for wish in accepted)
    if own:
        accepted += _idea(reading, seed, away, alone=not accepted)
    strength = 0.25 + 0.75 * request.cfg_scale
    acts = tuple(_timed(wish, reading, strength, away) for wish in accepted)
    return ShotPlan(
        acts=acts,
        steps=reading.steps,
        seed=seed,
        bend=0.7 if "distort" in away else 1.0,
        sharp="blur" in away,
        own=own,
        refused=tuple(sorted({wish.kind for wish in wanted} - {wish.kind for wish in accepted})),
    )


def forbidden_kinds(negative: str) -> frozenset[str]:
    """The kinds and qualities that a negative prompt forbids.

    >>> sorted(forbidden_kinds("camera shake, blurry"))
    ['blur', 'shake']
    >>> forbidden_kinds("camera movement") == CAMERA
    True
    """
    kinds = find_kinds(negative)
    for kind in tuple(kinds):
        kinds |= RELATED_KINDS.get(kind, frozenset())
    plain = negative.lower()
    kinds |= {quality for quality, words in QUALITIES.items() if re.search(rf"\b(?:{words})\b", plain)}
    if any(re.fullmatch(MOTION, clause.strip()) for clause in re.split(r"[,.;\n]+", plain)):
        kinds |= CAMERA
    return frozenset(kinds)


def _idea(reading: ParsedPrompt, seed: int, away: frozenset[str], *, alone: bool) -> tuple[MoveWish, ...]:
    """A gentle move chosen by the engine, seeded by the prompt."""
    if (reading.still and "still" not in away) or away >= CAMERA:
        return (MoveWish("breathe", vigour=0.5),) if alone and "breathe" not in away else ()
    draw = random.Random(seed)
    side, rise = draw.choice((-1.0, 1.0)), draw.choice((-1.0, 1.0)) * draw.uniform(0.3, 0.6)
    ideas: tuple[tuple[MoveWish, ...], ...] = (
        (MoveWish("dolly"), MoveWish("orbit", (side, 0.0))),
        (MoveWish("zoom"),),
        (MoveWish("truck", (side, rise)),),
        (MoveWish("orbit", (side, 0.0)), MoveWish("crane", (0.0, -1.0), vigour=0.5)),
        (MoveWish("dolly"), MoveWish("crane", (0.0, rise), vigour=0.6)),
        (MoveWish("dolly"), MoveWish("truck", (side, rise), vigour=0.7)),
    )
    if any(wish.kind == "drift" for wish in reading.wishes):
        ideas = ideas[1:2]  # A camera that moves sideways would hide the direction of the subject.
    allowed = [idea for idea in ideas if not {wish.kind for wish in idea} & away]
    if not allowed:
        return (MoveWish("breathe"),)
    vigour = draw.uniform(0.55, 0.9)
    return tuple(replace(wish, vigour=wish.vigour * vigour) for wish in draw.choice(allowed))


def _timed(wish: MoveWish, reading: ParsedPrompt, strength: float, away: frozenset[str]) -> Act:
    """A wish with the amount allowed by speed words, `cfg_scale` and the negative prompt."""
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
