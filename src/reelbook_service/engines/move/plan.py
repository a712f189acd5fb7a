"""The plan of a clip: what a prompt asks for, without what the negative prompt forbids, and what nothing was made of."""

from __future__ import annotations

import hashlib
import random
import re
import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from reelbook.models.image_to_video import ImageToVideo

Vector = tuple[float, float]

TABLE: Mapping[str, Mapping[str, Any]] = tomllib.loads(files(__package__).joinpath("moves.toml").read_text("utf-8"))
CAMERA, LIGHT, WEATHER, WORDS = (TABLE[name] for name in ("camera", "light", "weather", "words"))
MOVES: Mapping[str, Mapping[str, Any]] = {**CAMERA, **TABLE["scene"], **LIGHT, **WEATHER}

_UNIT: Mapping[str, Vector] = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}


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

    def effect(self, name: str) -> float:
        """What the move does at an amount of 1, by a name of `moves.toml`."""
        return float(MOVES[self.kind].get(name, 0.0))


@dataclass(frozen=True, slots=True)
class Plan:
    """All moves and effects of a clip, independent of the picture."""

    acts: tuple[Act, ...]
    seed: int
    """A hash of the prompt; determines what the words leave open."""
    strength: float
    """How much of each move is shown, by `cfg_scale`."""
    own: bool = False
    """Whether the engine chose the camera moves, as the prompt names none."""
    refused: tuple[str, ...] = ()
    """Kinds in the prompt that the negative prompt forbids."""
    beyond: tuple[str, ...] = ()
    """The parts of the prompt in which nothing was understood."""

    def amount(self, kind: str) -> float:
        """The largest amount of a kind."""
        return self.strength * max((act.vigour for act in self.acts if act.kind == kind), default=0.0)


def make_plan(request: ImageToVideo) -> Plan:
    """The plan of a request's clip.

    >>> plan = make_plan(ImageToVideo(prompt="a boat, zoom in, rain", image_url="u", negative_prompt="rain"))
    >>> [act.kind for act in plan.acts], plan.refused, plan.beyond
    (['zoom'], ('rain',), ('a boat',))
    """
    wanted, refused, beyond = _read(request.prompt)
    away = _forbidden(_plain(request.negative_prompt))
    acts = [act for act in wanted if act.kind not in away]
    seed = int.from_bytes(hashlib.sha256(request.prompt.encode()).digest()[:8], "big")
    own = not any(act.kind in CAMERA or act.kind == "shake" for act in acts)
    if own:
        acts += _idea(seed, away | refused)
    return Plan(
        acts=tuple(acts),
        seed=seed,
        strength=0.25 + 0.75 * request.cfg_scale,
        own=own,
        refused=tuple(sorted({act.kind for act in wanted} & away)),
        beyond=beyond,
    )


@cache
def _pattern(words: str) -> re.Pattern[str]:
    letters = words.replace("~", r"\w*")
    return re.compile(rf"\b(?:{letters})\b", re.IGNORECASE)


def _has(words: str, text: str) -> bool:
    """Whether a text contains words of a pattern from `moves.toml`."""
    return bool(_pattern(words).search(text))


def _plain(text: str) -> str:
    """The text in lower case, with spaces for all signs."""
    return " ".join(re.sub(r"[\W_]+", " ", text.lower()).split())


def _forbidden(text: str) -> set[str]:
    """The kinds that a text speaks against."""
    kinds = {kind for kind, row in MOVES.items() if _has(row["words"], text)}
    kinds |= {MOVES[kind].get("also", kind) for kind in kinds}
    return kinds | ({*CAMERA, "shake"} - {"still"} if _has(WORDS["motion"], text) else set())


def _read(prompt: str) -> tuple[list[Act], set[str], tuple[str, ...]]:
    """What a prompt asks for, the kinds that it rules out, and the parts in which nothing was understood."""
    acts: dict[tuple[Any, ...], Act] = {}
    refused: set[str] = set()
    beyond: list[str] = []
    pace = 1.0
    for step, text in enumerate(filter(str.strip, _pattern(WORDS["then"]).split(prompt, maxsplit=1))):
        for part in re.split(r"[,.;:!?()\n]+", _pattern(WORDS["next"]).sub(",", text)):
            clause, vigour = _plain(part), _vigour(_plain(part))
            is_negative = _has(WORDS["no"], clause)
            understood = [] if is_negative else _acts(clause, vigour, step)
            for act in understood:
                acts.setdefault((act.kind, act.toward, act.sign, step), act)
            if is_negative and (ruled_out := _forbidden(clause)):
                refused |= ruled_out
            elif vigour != 1 and not understood:
                pace *= vigour
            elif clause and not understood:
                beyond.append(part.strip())
    allowed = [act for act in acts.values() if act.kind not in refused]
    return [replace(act, vigour=max(0.3, min(1.5, act.vigour * pace))) for act in allowed], refused, tuple(beyond)


def _acts(clause: str, vigour: float, step: int) -> list[Act]:
    """What a part of a prompt asks for: effects, and at most one move of the camera or of the subject."""
    effects = [kind for kind, row in MOVES.items() if kind not in CAMERA and _has(row["words"], clause)]
    acts = [Act(kind, vigour=vigour, step=step) for kind in effects]
    for kind, row in CAMERA.items():
        aim = row.get("aim", "none")
        toward = (0.0, 0.0) if aim == "none" else _direction(clause, places=kind == "zoom")
        if not any(toward):
            toward = _UNIT.get(aim, toward)
        if _has(row["words"], clause) and (any(toward) or aim != "?"):
            sign = -1 if "back" in row and _has(row["back"], clause) else 1
            return [*acts, Act(kind, toward, sign, vigour, step)]
    return acts


def _vigour(clause: str) -> float:
    """The strength that a clause requests; 1 is ordinary."""
    very = 1.3 if _has(WORDS["very"], clause) else 1.0
    return 0.6 / very if _has(WORDS["calm"], clause) else 1.4 * very if _has(WORDS["lively"], clause) else 1.0


def _direction(clause: str, *, places: bool) -> Vector:
    """The direction that a clause names, or a place in the picture."""
    x = y = 0.0
    for name, (right, down) in _UNIT.items():
        if _has(TABLE["directions"][name], clause) or (places and _has(TABLE["places"].get(name, "$^"), clause)):
            x, y = x or right, y or down
    return x, y


def _idea(seed: int, away: set[str]) -> list[Act]:
    """A gentle move chosen by the engine, seeded by the prompt."""
    draw = random.Random(seed)
    side, vigour = draw.choice((-1.0, 1.0)), draw.uniform(0.5, 0.9)
    ideas = [idea for idea in (["zoom"], ["truck"], ["dolly", "orbit"], ["dolly", "truck"]) if not away & {*idea}]
    kinds = draw.choice(ideas) if ideas else []
    return [Act(kind, (side, 0.0) if "shift" in CAMERA[kind] else (0.0, 0.0), vigour=vigour) for kind in kinds]


def described(plan: Plan) -> str:
    """What is in the clip, whether the prompt or the engine chose it, and what is not, for the log.

    >>> prompt = ImageToVideo(prompt="pan left, rain, a cat smiles, shaky", image_url="u", negative_prompt="shake")
    >>> described(make_plan(prompt))
    'From the prompt: pan left, rain. Left out because of the negative prompt: shake. Not understood as a move: “a cat smiles”.'
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
    if plan.beyond:
        parts = textwrap.shorten(", ".join(f"“{part}”" for part in plan.beyond), 300, placeholder=" …")
        sentences.append(f"Not understood as a move: {parts}.")
    return " ".join(sentences)


def _named(act: Act) -> str:
    speed = "slow " if act.vigour < 0.9 else "fast " if act.vigour > 1.1 else ""
    name = str(MOVES[act.kind].get("name", (speed if act.kind in CAMERA else "") + act.kind))
    if signs := MOVES[act.kind].get("signs"):
        return f"{name} {signs[act.sign < 0]}"
    x, y = act.toward
    return name + " up" * (y < 0) + " down" * (y > 0) + " left" * (x < 0) + " right" * (x > 0)
