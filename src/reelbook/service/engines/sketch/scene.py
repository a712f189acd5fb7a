"""The scene of a prompt as plain values, which the painter reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Heading = Literal["left", "right", "up", "down", "near", "away", "stay"]
Side = Literal["left", "right", "middle"]

STYLE_SIZE = 24


@dataclass(frozen=True, slots=True)
class Actor:
    """A noun of the prompt: what it is, how many, and what it does."""

    kind: str
    count: int = 1
    colours: tuple[str, ...] = ()
    size: float = 1.0
    """1 is ordinary, 0.6 small, 2 giant."""
    heading: Heading | None = None
    deed: str = ""
    """`fly`, `jump`, `rest`, `swim`, `dance` or `spin`; empty is what this kind usually does."""
    pace: float = 1.0
    side: Side | None = None


@dataclass(frozen=True, slots=True)
class Camera:
    """How the camera moves; each value is what a long clip reaches, the first seconds go about half-way."""

    zoom: float = 0.0
    """How much nearer, as a part of the distance; negative is farther."""
    pan: float = 0.0
    """How far to the right, in picture widths; negative is left."""
    tilt: float = 0.0
    """How far up, in picture heights; negative is down."""
    roll: float = 0.0
    shake: float = 0.0
    pace: float = 1.0
    breathing: bool = False
    """The prompt names no move: only what is near comes a little nearer, and what is far stays as it is."""


@dataclass(frozen=True, slots=True)
class Weather:
    """What is in the air, each from 0 (none) to 1 (much)."""

    clouds: float = 0.35
    rain: float = 0.0
    snow: float = 0.0
    fog: float = 0.0
    storm: float = 0.0
    wind: float = 0.0
    stars: float = 0.0
    aurora: float = 0.0
    drifting: str = ""
    """Small things in the air: `leaves`, `petals`, `fireflies`, `bubbles`, `dust`, `sparks` or `confetti`."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything in a scene."""

    prompt: str
    ground: str
    """What is below the horizon: `water`, `grass`, `sand`, `street`, `floor`, `none` …"""
    backdrops: tuple[str, ...]
    """What stands between ground and sky, far to near: `mountains`, `pines`, `skyline` …"""
    time: str
    weather: Weather
    actors: tuple[Actor, ...]
    camera: Camera
    pace: float
    grade: str = ""
    """A colour grade such as `neon`, `pastel` or `mono`."""
    season: str = ""
    tints: tuple[str, ...] = ()
    """Colour words that belong to no noun: they tint the light."""
    style: tuple[float, ...] = field(default=(0.0,) * STYLE_SIZE)
    """A hashed vector of all words, so that unknown ones matter too, each from -1 to 1."""
