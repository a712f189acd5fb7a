"""Parsing of a prompt into camera moves, movement in the scene, light and weather."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .move_phrases import (
    AIMS,
    BACK,
    CALM,
    CAMERA_WORD,
    KINDS,
    LIVELY,
    MOVER,
    NO,
    PHRASES,
    PLACES,
    STILL,
    SUBJECT_VERB,
    THEN,
    VERY,
    WHOLE,
)

Vector = tuple[float, float]


@dataclass(frozen=True, slots=True)
class MoveWish:
    """One move or effect that the prompt requests."""

    kind: str
    """A key of `move_phrases.KINDS`."""
    toward: Vector = (0.0, 0.0)
    """The direction of the camera, or of the moving subject: right and down are positive."""
    sign: int = 1
    """1 for closer or clockwise, -1 for the opposite."""
    vigour: float = 1.0
    """Strength and speed; 1 where the prompt does not name them."""
    step: int = 0
    """The part of the clip: `zoom in, then pan left` has two."""


@dataclass(frozen=True, slots=True)
class ParsedPrompt:
    """The result of parsing a prompt."""

    wishes: tuple[MoveWish, ...] = ()
    steps: int = 1
    vigour: float = 1.0
    """The speed that the prompt names for the whole clip."""
    still: bool = False
    """Whether the camera must not move."""


def parse_prompt(prompt: str) -> ParsedPrompt:
    """The wishes in a prompt.

    >>> [(wish.kind, wish.sign, wish.step) for wish in parse_prompt("Zoom in, then slowly pull back").wishes]
    [('zoom', 1, 0), ('dolly', -1, 1)]
    >>> [(wish.kind, wish.toward) for wish in parse_prompt("pan left, without any zoom").wishes]
    [('pan', (-1, 0))]
    """
    steps = [step for step in re.split(THEN, _plain(prompt)) if step.strip()]
    wishes: list[MoveWish] = []
    refused: set[str] = set()
    loose = 1.0
    for number, step in enumerate(steps):
        for clause in re.split(r"[,.;:!?()\n]+|\b(?:and|while|as|with|but|plus)\b", step):
            found = _clause(clause, number)
            if re.search(NO, clause):
                refused |= find_kinds(clause)
            elif found:
                wishes += found
            else:
                loose *= _vigour(clause)
    wanted = tuple(wish for wish in _joined(wishes) if wish.kind not in refused)
    return ParsedPrompt(wanted, max(1, len(steps)), min(2.0, max(0.3, loose)), bool(re.search(STILL, _plain(prompt))))


def find_kinds(text: str) -> set[str]:
    """The kinds of moves and qualities that a text names, in any direction.

    >>> sorted(find_kinds("no camera shake, no rotation"))
    ['roll', 'shake']
    """
    plain = _plain(text)
    return {kind for kind, words in KINDS.items() if re.search(rf"\b(?:{words})\b", plain)}


def _plain(text: str) -> str:
    """The text in lower case, with phrases of several words replaced by one."""
    text = re.sub(r"[-–—_/'’\"]+", " ", text.lower())
    for pattern, word in PHRASES:
        text = re.sub(pattern, word, text)
    return text


def _clause(clause: str, step: int) -> list[MoveWish]:
    """The wishes in a clause."""
    kinds = find_kinds(clause)
    vigour = _vigour(clause)
    aim = _aim(clause)
    wishes = [MoveWish(kind, vigour=vigour, step=step) for kind in sorted(kinds - _STEERED)]
    closer = -1 if re.search(BACK, clause) else 1
    if "zoom" in kinds:
        wishes.append(MoveWish("zoom", aim or _place(clause), closer, vigour, step))
    elif "vertigo" in kinds:
        wishes.append(MoveWish("vertigo", sign=closer, vigour=vigour, step=step))
    elif "dolly" in kinds and not _sideways(clause, aim):
        wishes.append(MoveWish("dolly", sign=closer, vigour=vigour, step=step))
    elif "orbit" in kinds or ("roll" in kinds and not _picture_rotates(clause)):
        wishes.append(MoveWish("orbit", (aim[0] or 1.0, 0.0) if aim else (1.0, 0.0), 1, vigour, step))
    elif "roll" in kinds:
        wishes.append(
            MoveWish("roll", sign=-1 if "anticlockwise" in clause or "left" in clause else 1, vigour=vigour, step=step)
        )
    elif aim and _subject_moves(clause):
        wishes.append(MoveWish("drift", aim, 1, vigour, step))
    elif aim := aim or next((_USUAL[kind] for kind in _USUAL if kind in kinds), None):
        wishes.append(MoveWish(_slide(clause, aim), aim, 1, vigour, step))
    return wishes


_USUAL: Mapping[str, Vector] = {"pan": (1.0, 0.0), "tilt": (0.0, -1.0), "crane": (0.0, -1.0)}
"""Default directions."""

_STEERED = frozenset({"zoom", "vertigo", "dolly", "orbit", "roll", "drift", "pan", "tilt", "truck", "crane"})
"""Kinds that need more than their name."""


def _slide(clause: str, aim: Vector) -> str:
    """The kind of a move across the picture: a rotating camera shows less depth than a travelling one."""
    turning = re.search(r"\b(?:pan|tilt|turn|look|sweep)", clause)
    if aim[0]:
        return "pan" if turning else "truck"
    return "tilt" if turning else "crane"


def _vigour(clause: str) -> float:
    """The strength that a clause requests; 1 is ordinary."""
    very = 1.5 if re.search(VERY, clause) else 1.0
    if re.search(CALM, clause):
        return 0.6 / very
    return 1.4 * min(very, 1.2) if re.search(LIVELY, clause) else 1.0


def _aim(clause: str) -> Vector | None:
    """The direction that a clause names; None without one."""
    words = clause.split()
    moving = re.search(MOVER, clause) or re.search(CAMERA_WORD, clause) or len(words) <= 2
    x = y = 0.0
    for word in words:
        dx, dy, always = AIMS.get(word, (0.0, 0.0, False))
        if always or moving:
            x, y = x or dx, y or dy
    return (x, y) if x or y else None


def _place(clause: str) -> Vector:
    """The part of the picture that a clause names: `zoom in on the upper left`."""
    x = y = 0.0
    for word in clause.split():
        dx, dy = PLACES.get(word, (0.0, 0.0))
        x, y = x or dx, y or dy
    return x, y


def _sideways(clause: str, aim: Vector | None) -> bool:
    """Whether a dolly moves sideways, not in or out."""
    return aim is not None and not re.search(
        r"\b(?:in|out|closer|nearer|forwards?|back|backwards?|away|towards?)\b", clause
    )


def _subject_moves(clause: str) -> bool:
    """Whether the clause describes movement in the picture: `the boat drifts to the left`."""
    verb = re.search(SUBJECT_VERB, clause)
    if not verb or re.search(CAMERA_WORD, clause):
        return False
    before = re.sub(r"\b(?:\w+ly|slow|a|an|the|it|very|then|gentle|fast|quick)\b", " ", clause[: verb.start()])
    return bool(before.strip())


def _picture_rotates(clause: str) -> bool:
    """Whether the picture rotates; a rotating object is better rendered as an orbit."""
    return bool(re.search(WHOLE, clause)) or len(clause.split()) <= 2


def _joined(wishes: list[MoveWish]) -> list[MoveWish]:
    """The wishes without duplicates within a step."""
    unique: dict[tuple[object, ...], MoveWish] = {}
    for wish in wishes:
        unique.setdefault((wish.kind, wish.toward, wish.sign, wish.step), wish)
    return list(unique.values())
