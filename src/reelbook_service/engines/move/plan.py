"""The plan of a clip: what a prompt asks for, with amounts and times, without what the negative prompt forbids."""

from __future__ import annotations

import hashlib
import random
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from reelbook.models.image_to_video import ImageToVideo

Vector = tuple[float, float]

TABLE: Mapping[str, Mapping[str, Any]] = tomllib.loads(files(__package__).joinpath("moves.toml").read_text("utf-8"))
CAMERA, SCENE, LIGHT, WEATHER = (TABLE[name] for name in ("camera", "scene", "light", "weather"))

OVERLAP = 0.12
"""How far a step overlaps the next one, so that the camera never stops abruptly."""

_UNIT: Mapping[str, Vector] = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
_USUAL: Mapping[str, Vector] = {"pan": (1, 0), "tilt": (0, -1), "crane": (0, -1)}
_STEERED = frozenset({"zoom", "dolly", "orbit", "roll", "drift", "pan", "tilt", "truck", "crane"})
"""Kinds that need more than their name."""


@dataclass(frozen=True, slots=True)
class Act:
    """One move or effect of a clip."""

    kind: str
    toward: Vector = (0.0, 0.0)
    """The direction of the camera, of the moving subject, or of what a zoom aims at: right and down are positive."""
    sign: int = 1
    """1 for closer or clockwise, -1 for the opposite."""
    vigour: float = 1.0
    """Strength and speed in the prompt; 1 where it does not name them."""
    step: int = 0
    """0 or 1: `zoom in, then pan left` has two steps."""
    amount: float = 1.0
    begin: float = 0.0
    end: float = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """All moves and effects of a clip, independent of the picture."""

    acts: tuple[Act, ...]
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
        return max((act.amount for act in self.acts if act.kind == kind), default=0.0)


def make_plan(request: ImageToVideo) -> Plan:
    """The plan of a request's clip.

    >>> [act.kind for act in make_plan(ImageToVideo(prompt="zoom in, gentle rain", image_url="u")).acts]
    ['zoom', 'rain']
    >>> make_plan(ImageToVideo(prompt="zoom in, rain", image_url="u", negative_prompt="rain")).refused
    ('rain',)
    """
    text = _plain(request.prompt)
    wishes, pace = _wishes(text)
    away = forbidden_kinds(request.negative_prompt)
    still = _has("still", text) or any(
        clause.strip() in ("static", "still", "motionless") for clause in re.split(r"[,.;]", text)
    )
    wanted = [act for act in wishes if not (still and act.kind in CAMERA)]
    accepted = [act for act in wanted if act.kind not in away]
    seed = int.from_bytes(hashlib.sha256(request.prompt.encode()).digest()[:8], "big")
    own = not any(act.kind in CAMERA for act in accepted)
    if own and (away >= CAMERA.keys() or (still and "still" not in away)):
        accepted += [Act("breathe", vigour=0.5)] if not accepted and "breathe" not in away else []
    elif own:
        accepted += _idea(accepted, seed, away)
    strength = 0.25 + 0.75 * request.cfg_scale
    steps = 1 + max((act.step for act in accepted), default=0)
    return Plan(
        acts=tuple(_timed(act, steps, pace, strength, away) for act in accepted),
        seed=seed,
        bend=0.7 if "distort" in away else 1.0,
        sharp="blur" in away,
        own=own,
        refused=tuple(sorted({act.kind for act in wanted if act.kind in away})),
    )


def forbidden_kinds(negative: str) -> frozenset[str]:
    """The kinds and qualities that a negative prompt forbids.

    >>> sorted(forbidden_kinds("camera shake, blurry"))
    ['blur', 'shake']
    >>> forbidden_kinds("camera movement") == CAMERA.keys()
    True
    """
    kinds = _kinds(_plain(negative)) | _kinds(negative.lower(), ("quality",))
    for kind in kinds & TABLE["related"].keys():
        kinds |= {*TABLE["related"][kind].split()}
    if any(_pattern("words", "motion").fullmatch(clause.strip()) for clause in re.split(r"[,.;\n]+", negative.lower())):
        kinds |= CAMERA.keys()
    return frozenset(kinds)


@cache
def _pattern(table: str, name: str) -> re.Pattern[str]:
    row = TABLE[table][name]
    words = (row if isinstance(row, str) else row["words"]).replace("~", r"\w*")
    return re.compile(rf"\b(?:{words})\b")


def _has(name: str, text: str) -> bool:
    """Whether a text contains words of a kind from `[words]`."""
    return bool(_pattern("words", name).search(text))


def _kinds(text: str, tables: tuple[str, ...] = ("camera", "scene", "light", "weather")) -> set[str]:
    """The kinds that a text names, in any direction."""
    return {kind for table in tables for kind in TABLE[table] if _pattern(table, kind).search(text)}


def _plain(text: str) -> str:
    """The text in lower case, with phrases of several words replaced by one."""
    text = re.sub(r"[-–—_/'’\"]+", " ", text.lower())
    for pattern, word in TABLE["phrases"].items():
        text = re.sub(rf"\b(?:{pattern})\b", word or " ", text)
    return text


def _wishes(text: str) -> tuple[list[Act], float]:
    """What a prompt asks for, and the speed that it names for the whole clip."""
    steps = [step for step in _pattern("words", "then").split(text, maxsplit=1) if step.strip()]
    acts: dict[tuple[Any, ...], Act] = {}
    refused: set[str] = set()
    pace = 1.0
    for number, step in enumerate(steps):
        for clause in re.split(rf"[,.;:!?()\n]+|{_pattern('words', 'next').pattern}", step):
            found = _clause(clause, number)
            if _has("no", clause):
                refused |= _kinds(clause)
                continue
            if not found:
                pace *= _vigour(clause)
            for act in found:
                acts.setdefault((act.kind, act.toward, act.sign, act.step), act)
    return [act for act in acts.values() if act.kind not in refused], min(2.0, max(0.3, pace))


def _clause(clause: str, step: int) -> list[Act]:
    """What a clause asks for."""
    kinds, vigour, aim = _kinds(clause), _vigour(clause), _aim(clause)
    acts = [Act(kind, vigour=vigour, step=step) for kind in sorted(kinds - _STEERED)]
    closer = -1 if _has("back", clause) else 1
    act: Act | None = None
    if "zoom" in kinds:
        act = Act("zoom", aim if any(aim) else _direction(clause, "places"), closer)
    elif "dolly" in kinds and (not any(aim) or _has("deep", clause)):
        act = Act("dolly", sign=closer)
    elif kinds & {"orbit", "roll"}:
        # A rotating object is better rendered as an orbit; the whole picture rotates where the clause says so.
        if "orbit" in kinds or not (_has("camera", clause) or _has("whole", clause) or len(clause.split()) <= 2):
            act = Act("orbit", (aim[0] or 1.0, 0.0))
        else:
            act = Act("roll", sign=-1 if "anticlockwise" in clause or "left" in clause else 1)
    elif any(aim) and _subject_moves(clause):
        act = Act("drift", aim)
    else:
        aim = aim if any(aim) else next((_USUAL[kind] for kind in _USUAL if kind in kinds), aim)
        # A rotating camera shows less depth than a travelling one.
        slides = ("pan", "tilt") if _has("turning", clause) else ("truck", "crane")
        act = Act(slides[0] if aim[0] else slides[1], aim) if any(aim) else None
    return [*acts, replace(act, vigour=vigour, step=step)] if act else acts


def _vigour(clause: str) -> float:
    """The strength that a clause requests; 1 is ordinary."""
    very = 1.5 if _has("very", clause) else 1.0
    if _has("calm", clause):
        return 0.6 / very
    return 1.4 * min(very, 1.2) if _has("lively", clause) else 1.0


def _aim(clause: str) -> Vector:
    """The direction in which a clause says that something moves."""
    x, y = _direction(clause, "directions", "ward")
    if _has("subject_verb", clause) or _has("mover", clause) or _has("camera", clause) or len(clause.split()) <= 2:
        dx, dy = _direction(clause, "directions")
        x, y = x or dx, y or dy
    return x, y


def _direction(clause: str, table: str, ending: str = "") -> Vector:
    """The direction that the words of a table name; those with `ward` are one even without a word of motion."""
    x = y = 0.0
    for name, (dx, dy) in _UNIT.items():
        if _pattern(table, name + ending).search(clause):
            x, y = x or dx, y or dy
    return x, y


def _subject_moves(clause: str) -> bool:
    """Whether the clause describes movement in the picture: `the boat drifts to the left`."""
    verb = _pattern("words", "subject_verb").search(clause)
    if not verb or _has("camera", clause):
        return False
    return bool(_pattern("words", "filler").sub(" ", clause[: verb.start()]).strip())


def _idea(accepted: list[Act], seed: int, away: frozenset[str]) -> list[Act]:
    """A gentle move chosen by the engine, seeded by the prompt."""
    draw = random.Random(seed)
    side, rise = draw.choice((-1.0, 1.0)), draw.choice((-1.0, 1.0)) * draw.uniform(0.3, 0.6)
    ideas = [
        [Act("zoom")],
        [Act("truck", (side, rise))],
        [Act("dolly"), Act("orbit", (side, 0.0))],
        [Act("dolly"), Act("truck", (side, rise), vigour=0.7)],
    ]
    if any(act.kind == "drift" for act in accepted):
        ideas = ideas[:1]  # A camera that moves sideways would hide the direction of the subject.
    allowed = [idea for idea in ideas if not {act.kind for act in idea} & away]
    if not allowed:
        return [Act("breathe")]
    vigour = draw.uniform(0.55, 0.9)
    return [replace(act, vigour=act.vigour * vigour) for act in draw.choice(allowed)]


def _timed(act: Act, steps: int, pace: float, strength: float, away: frozenset[str]) -> Act:
    """The act with the amount allowed by speed words, `cfg_scale` and the negative prompt, and with its time."""
    vigour = act.vigour * pace
    if "fast" in away:
        vigour = min(vigour, 0.7)
    if away & {"slow", "still"}:
        vigour = max(vigour, 1.0)
    act = replace(act, amount=strength * max(0.3, min(1.8, vigour)))
    if act.kind not in CAMERA and act.kind != "drift":
        return act
    length = 1 / steps
    begin = act.step * length
    return replace(act, begin=max(0.0, begin - OVERLAP * length), end=min(1.0, begin + length * (1 + OVERLAP)))


def described(plan: Plan) -> str:
    """What is in the clip, whether the prompt or the engine chose it, and what was forbidden, for the log.

    >>> prompt = ImageToVideo(prompt="pan left, rain, shaky", image_url="u", negative_prompt="shake")
    >>> described(make_plan(prompt))
    'From the prompt: pan left, rain. Left out because of the negative prompt: shake.'
    """
    chosen = [act for act in plan.acts if plan.own and act.kind in CAMERA]
    steps = (", ".join(_named(act) for act in plan.acts if act.step == step and act not in chosen) for step in (0, 1))
    read = "; then ".join(filter(None, steps))
    sentences = [f"From the prompt: {read}." if read else "The prompt names no camera move."]
    if plan.own:
        names = ", ".join(map(_named, chosen))
        sentences.append(f"Chosen by the engine: {names}." if names else "The camera stays still.")
    if plan.refused:
        sentences.append(f"Left out because of the negative prompt: {', '.join(plan.refused)}.")
    if any(act.kind in ("zoom", "dolly") and act.sign < 0 for act in plan.acts):
        sentences.append(
            "Nothing lies outside the picture, so pulling back makes its middle smaller and its margins wider."
        )
    return " ".join(sentences)


def _named(act: Act) -> str:
    text = str(TABLE["names"].get(act.kind, act.kind))
    if act.kind in ("zoom", "dolly"):
        text += " in" if act.sign > 0 else " out"
    elif act.kind == "roll":
        text += " clockwise" if act.sign > 0 else " anticlockwise"
    else:
        x, y = act.toward
        text += " up" * (y < 0) + " down" * (y > 0) + " left" * (x < 0) + " right" * (x > 0)
    if act.kind not in CAMERA or act.kind in TABLE["names"]:
        return text
    return f"slow {text}" if act.vigour < 0.9 else f"fast {text}" if act.vigour > 1.1 else text
