"""The scene described by a prompt, as plain values for the painter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Heading = Literal["left", "right", "up", "down", "near", "away", "stay"]
Side = Literal["left", "right", "middle"]

STYLE_SIZE = 24


@dataclass(frozen=True, slots=True)
class Actor:
    """A noun of the prompt: its kind, number and action."""

    kind: str
    count: int = 1
    colours: tuple[str, ...] = ()
    size: float = 1.0
    """A factor: 1 is ordinary, 0.6 small, 2 giant."""
    heading: Heading | None = None
    deed: str = ""
    """`fly`, `jump`, `rest`, `swim`, `dance` or `spin`; empty for the usual action of its kind."""
    pace: float = 1.0
    side: Side | None = None


@dataclass(frozen=True, slots=True)
class Camera:
    """The movement of the camera: each value is the limit of a long clip, half reached in the first seconds."""

    zoom: float = 0.0
    """Approach as a fraction of the distance; negative for moving away."""
    pan: float = 0.0
    """Movement to the right in picture widths; negative for left."""
    tilt: float = 0.0
    """Movement up in picture heights; negative for down."""
    roll: float = 0.0
    shake: float = 0.0
    pace: float = 1.0
    breathing: bool = False
    """True if the prompt names no move: near objects approach slightly, and far ones do not move."""


@dataclass(frozen=True, slots=True)
class Weather:
    """The weather, each value from 0 (none) to 1 (much)."""

    clouds: float = 0.35
    rain: float = 0.0
    snow: float = 0.0
    fog: float = 0.0
    storm: float = 0.0
    wind: float = 0.0
    stars: float = 0.0
    aurora: float = 0.0
    drifting: str = ""
    """Drifting particles: `leaves`, `petals`, `fireflies`, `bubbles`, `dust`, `sparks` or `confetti`."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything in a scene."""

    prompt: str
    ground: str
    """The surface below the horizon: `water`, `grass`, `sand`, `street`, `floor`, `none` …"""
    backdrops: tuple[str, ...]
    """The backdrops between ground and sky, far to near: `mountains`, `pines`, `skyline` …"""
    time: str
    weather: Weather
    actors: tuple[Actor, ...]
    camera: Camera
    pace: float
    grade: str = ""
    """A colour grade such as `neon`, `pastel` or `mono`."""
    season: str = ""
    tints: tuple[str, ...] = ()
    """Colour words without a noun, which tint the light."""
    style: tuple[float, ...] = field(default=(0.0,) * STYLE_SIZE)
    """A hashed vector of all words, unknown ones included; each number is from -1 to 1."""
