"""Deterministic expansion of a short prompt by what it leaves open."""

from __future__ import annotations

from collections.abc import Sequence

from .grammar import parse_words
from .prompt_words import spoken, style_of

_TIMES = ("in the golden light of the afternoon", "at sunset", "at dawn", "on a sunny day")
_CAMERAS = (
    "the camera slowly zooms in",
    "the camera slowly pans right",
    "the camera slowly pans left",
    "slow zoom out",
)
_LIFE = ("a flock of birds", "two birds", "a few white birds", "a bird")
_AIR = ("soft mist over the hills", "a gentle wind", "clouds drifting by", "clear air")


def expanded(prompt: str) -> str:
    """The prompt with a time, a mood, a living thing and a camera move added where it names none.

    >>> expanded("a red boat at night, slow zoom in").startswith("a red boat at night, slow zoom in, ")
    True
    """
    words = spoken(prompt)
    reading, chance = parse_words(words), style_of(words)
    parts = [prompt.strip() or "an open landscape"]
    if not reading.times and "underwater" not in reading.places and "space" not in reading.places:
        parts.append(_chosen(_TIMES, float(chance[17])))
    if not reading.weathers:
        parts.append(_chosen(_AIR, float(chance[18])))
    if not any(actor.kind == "bird" for actor in reading.actors):
        parts.append(_chosen(_LIFE, float(chance[19])) + " in the distance")
    if not reading.cameras:
        parts.append(_chosen(_CAMERAS, float(chance[20])))
    parts.append("soft light, rich colours, gentle motion")
    return ", ".join(parts)


def _chosen(phrases: Sequence[str], chance: float) -> str:
    return phrases[int((chance * 0.5 + 0.5) * 997) % len(phrases)]
