"""Weather in front of a picture: rain, snow, petals, leaves, sparks and fog, drawn as particles and veils."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from .path import ease
from .shot_plan import ShotPlan
from .warp import Planes

TURNS = 8
"""Stored rotations of a particle."""

NEARNESS = 4
"""Number of particle sizes; near ones are large, fast and soft-edged."""


@dataclass(frozen=True, slots=True)
class WeatherKind:
    """The appearance of one kind of weather. Lengths are shares of the frame's height, times are seconds."""

    count: int
    """Particles in a frame of 16:9."""
    long: float
    wide: float
    """The size of the nearest particles."""
    fall: float
    """The distance that the nearest fall in a second; negative for rising ones."""
    wind: float
    """The distance that they drift to the right in that time."""
    sway: float
    """The amplitude of their swing."""
    spin: float
    """Rotations per second."""
    colour: tuple[int, int, int]
    """Luma, blue and red chroma."""
    strength: float
    """Opacity, 0 to 1."""
    glow: bool = False
    """Whether they glow and pulsate, like embers."""


KINDS: Mapping[str, WeatherKind] = {
    "rain": WeatherKind(420, 0.13, 0.0022, 2.0, -0.17, 0.0, 0.0, (205, 131, 126), 0.5),
    "snow": WeatherKind(240, 0.026, 0.026, 0.28, 0.05, 0.03, 0.0, (232, 129, 127), 0.92),
    "petals": WeatherKind(64, 0.05, 0.026, 0.25, 0.15, 0.05, 0.35, (200, 122, 154), 0.95),
    "leaves": WeatherKind(70, 0.054, 0.026, 0.27, 0.12, 0.07, 0.3, (132, 84, 170), 0.95),
    "sparks": WeatherKind(130, 0.03, 0.03, -0.2, 0.05, 0.04, 0.0, (215, 72, 168), 1.0, glow=True),
}


class ClipWeather:
    """The weather of one clip; it sets in gradually, and frames can be rendered in any order."""

    def __init__(self, plan: ShotPlan, size: tuple[int, int]) -> None:
        draw = np.random.default_rng(plan.seed)
        self._flecks = [
            _Flecks(kind, plan.amount(name), size, draw) for name, kind in KINDS.items() if plan.amount(name)
        ]
        self._fog = _Fog(plan.amount("fog"), size, draw) if plan.amount("fog") else None

    def over(self, planes: Planes, seconds: float) -> Planes:
        """The planes of a frame with the weather in front; they are changed in place."""
        if self._fog:
            _lay(planes, self._fog.mask(seconds), (205, 129, 127))
        for flecks in self._flecks:
            _lay(planes, flecks.mask(seconds), flecks.kind.colour)
        return planes


def _lay(planes: Planes, mask: Image.Image, colour: tuple[int, int, int]) -> None:
    half = mask.reduce(2)
    for plane, value, cover in zip(planes, colour, (mask, half, half), strict=True):
        plane.paste(value, (0, 0), cover)


class _Flecks:
    """The particles of one kind of weather."""

    def __init__(self, kind: WeatherKind, amount: float, size: tuple[int, int], draw: np.random.Generator) -> None:
        self.kind, self._size = kind, size
        count = max(3, round(kind.count * min(1.6, 0.4 + amount) * min(3.0, size[0] / size[1] * 9 / 16 + 0.2)))
        # More far ones than near ones.
        self._near = np.sort(draw.uniform(0, 1, count) ** 1.7)
        self._start = draw.uniform(0, 1, (count, 2))
        self._phase = draw.uniform(0, 1, count)
        self._pace = draw.uniform(0.8, 1.2, count)
        self._sprites = [
            [_sprite(kind, (level + 0.5) / NEARNESS, turn / TURNS, size[1]) for turn in range(TURNS)]
            for level in range(NEARNESS)
        ]
        self._reach = max(max(sprite.size) for sprites in self._sprites for sprite in sprites) / 2

    def mask(self, seconds: float) -> Image.Image:
        """The opacity of the particles at each pixel at this moment."""
        kind, (width, height) = self.kind, self._size
        closeness = 0.35 + 0.65 * self._near
        swing = kind.sway * np.sin(math.tau * (0.35 * seconds * self._pace + self._phase)) * closeness
        # The field is a little larger than the frame, so that nothing appears or disappears at its edge.
        across = (self._start[:, 0] * 1.4 + kind.wind * closeness * seconds * height / width) % 1.4 - 0.2
        down = (self._start[:, 1] * 1.4 + kind.fall * closeness * self._pace * seconds) % 1.4 - 0.2
        xs, ys = (across + swing * height / width) * width, down * height
        strength = 255 * kind.strength * ease(min(1.0, seconds / 1.5)) * self._brightness(seconds)
        turns = (self._phase + kind.spin * seconds * self._pace) % 1 * TURNS
        levels = np.minimum(NEARNESS - 1, self._near * NEARNESS)
        reach = self._reach
        seen = (xs > -reach) & (xs < width + reach) & (ys > -reach) & (ys < height + reach)
        mask = Image.new("L", self._size)
        for x, y, level, turn, value in np.stack([xs, ys, levels, turns, strength], axis=-1)[seen].tolist():
            sprite = self._sprites[int(level)][int(turn) % TURNS]
            mask.paste(int(value), (round(x - sprite.width / 2), round(y - sprite.height / 2)), sprite)
        return mask

    def _brightness(self, seconds: float) -> NDArray[np.float64]:
        if not self.kind.glow:
            return np.ones(len(self._near))
        return np.asarray(0.55 + 0.45 * np.sin(math.tau * (0.9 * seconds * self._pace + 3 * self._phase)))


def _sprite(kind: WeatherKind, near: float, turn: float, height: int) -> Image.Image:
    """One particle as a mask: an ellipse with a soft edge, along its path where it only falls."""
    closeness = 0.3 + 0.7 * near**1.5
    long, wide = (max(1.2, size * height * closeness) for size in (kind.long, kind.wide))
    angle = math.tau * turn if kind.spin else math.atan2(kind.wind, kind.fall)
    # Spinning particles are sometimes seen from the side.
    wide *= abs(math.cos(math.tau * turn * 1.5)) * 0.7 + 0.3 if kind.spin else 1.0
    reach = math.ceil(max(long, wide) / 2) + 2
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(float)
    along, beside = x * math.sin(angle) + y * math.cos(angle), x * math.cos(angle) - y * math.sin(angle)
    distance = np.hypot(along / (long / 2), beside / (wide / 2))
    if kind.glow:
        cover = np.minimum(1, np.exp(-((3.2 * distance) ** 2)) + 0.3 * np.exp(-((1.6 * distance) ** 2)))
    else:
        edge = (0.35 + 0.5 * near) if kind.long == kind.wide else 0.35
        cover = np.clip((1 + edge - distance) / (2 * edge), 0, 1) ** 1.5 * (1 - 0.35 * near)
    return Image.fromarray(np.rint(255 * cover).astype(np.uint8))


class _Fog:
    """A drifting veil of varying density."""

    def __init__(self, amount: float, size: tuple[int, int], draw: np.random.Generator) -> None:
        self._amount, self._size = amount, size
        # Twice the frame's width and periodic, so that it can drift indefinitely.
        noise = np.sum([_noise(draw, cells) / cells for cells in (3, 6, 12)], axis=0)
        thick = (noise - noise.min()) / np.ptp(noise)
        self._veil = Image.fromarray(np.rint(255 * thick).astype(np.uint8))

    def mask(self, seconds: float) -> Image.Image:
        """The opacity of the fog at this moment."""
        width, height = self._veil.size
        shift = 0.035 * seconds * width
        box = (shift % (width / 2), 0.0, shift % (width / 2) + width / 2, float(height))
        seen = self._veil.resize(self._size, Image.Resampling.BICUBIC, box=box)
        strength = 0.75 * self._amount * ease(min(1.0, seconds / 2.5))
        return seen.point([round(value * strength) for value in range(256)])


def _noise(draw: np.random.Generator, cells: int) -> NDArray[np.float64]:
    """Smooth noise, twice as wide as its period."""
    rough = draw.uniform(0, 1, (cells, 2 * cells)).astype(np.float32)
    wide = np.concatenate([rough] * 4, axis=1)
    smooth = Image.fromarray(wide).resize((512, 64), Image.Resampling.BICUBIC)
    return np.asarray(smooth, dtype=np.float64)[:, 128:384]
