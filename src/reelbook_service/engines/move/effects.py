"""Light and weather over a clip: warmth, darkness, flicker; rain, snow, leaves and fog in front of the picture."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..sketch.noise import cloudy
from .camera import ease
from .plan import LIGHT, WEATHER, Plan
from .warp import Planes

BLACK, WHITE, NEUTRAL = 16, 235, 128
"""The bounds of luma, and neutral chroma, in video of limited range."""

FOG = (205, 129, 127)

TURNS = 8
"""Stored rotations of a particle."""

NEARNESS = 4
"""Number of particle sizes; near ones are large, fast and soft-edged."""


class Light:
    """The light of one clip."""

    def __init__(self, plan: Plan, seconds: float) -> None:
        self._plan, self._seconds = plan, seconds
        draw = random.Random(plan.seed + 1)
        self._strikes = [draw.uniform(part + 0.1, part + 0.8) * seconds / 3 for part in range(3)]
        self._phases = [draw.uniform(0, math.tau) for _ in range(3)]

    def lit(self, planes: Planes, seconds: float) -> Planes:
        """The planes of a frame with the light of their moment."""
        amounts = {kind: self._plan.amount(kind) for kind in LIGHT}
        if not any(amounts.values()):
            return planes
        progress = ease(seconds / self._seconds)
        gain, lift, blue, red, colour = (
            sum(progress * amounts[kind] * row.get(name, 0.0) for kind, row in LIGHT.items())
            for name in ("gain", "lift", "blue", "red", "colour")
        )
        unrest = self._flame(seconds) * amounts["flicker"] * min(1.0, seconds)
        gain = (1 + gain) * (1 + 0.13 * unrest)
        scale = np.arange(256.0)
        level = np.clip((scale - BLACK) / (WHITE - BLACK), 0, 1)
        # Highlights, such as a lamp or a window, stay bright when the rest is darkened.
        level = level * (gain + max(0.0, 1 - gain) * level**4)
        level = level + lift * level * (1 - level) + 0.6 * amounts["flash"] * self._bolt(seconds) * (1 - 0.5 * level)
        chroma = (scale - NEUTRAL) * max(0.0, 1 + colour) + NEUTRAL
        light, first, second = planes
        return (
            light.point(_table(BLACK + (WHITE - BLACK) * level)),
            first.point(_table(chroma + blue - 3 * unrest)),
            second.point(_table(chroma + red + 2.5 * unrest)),
        )

    def _flame(self, seconds: float) -> float:
        """The flicker of a flame, from -1 to 1."""
        rates = zip((1.3, 3.1, 7.3), self._phases, strict=True)
        return sum(math.sin(math.tau * rate * seconds + phase) / 3 for rate, phase in rates)

    def _bolt(self, seconds: float) -> float:
        """The brightness of lightning: each strike flashes twice and decays."""
        ages = [
            (seconds - strike - delay, share) for strike in self._strikes for delay, share in ((0.0, 1.0), (0.17, 0.7))
        ]
        return max((share * math.exp(-age / 0.09) for age, share in ages if age >= 0), default=0.0)


class Weather:
    """The weather of one clip; it sets in gradually, and frames can be drawn in any order."""

    def __init__(self, plan: Plan, size: tuple[int, int]) -> None:
        draw = np.random.default_rng(plan.seed)
        named = {kind: row for kind, row in WEATHER.items() if plan.amount(kind)}
        self._flecks = [_Flecks(row, plan.amount(kind), size, draw) for kind, row in named.items() if "count" in row]
        self._size, self._fog = size, plan.amount("fog")
        if self._fog:
            self._veil = Image.fromarray(
                np.rint(255 * np.tile(cloudy((plan.seed, "fog"), 1.8)[::4, ::2], 2)).astype(np.uint8)
            )

    def over(self, planes: Planes, seconds: float) -> Planes:
        """The planes of a frame with the weather in front; they are changed in place."""
        if self._fog:
            width, height = self._veil.size
            left = 0.035 * seconds * width % (width / 2)
            box = (left, 0.0, left + width / 2, float(height))
            strength = 0.75 * self._fog * ease(min(1.0, seconds / 2.5))
            seen = self._veil.resize(self._size, Image.Resampling.BICUBIC, box=box)
            _lay(planes, seen.point([round(value * strength) for value in range(256)]), FOG)
        for flecks in self._flecks:
            _lay(planes, flecks.mask(seconds), flecks.row["colour"])
        return planes


class _Flecks:
    """The particles of one kind of weather."""

    def __init__(self, row: Mapping[str, Any], amount: float, size: tuple[int, int], draw: np.random.Generator) -> None:
        self.row, self._size = row, size
        count = max(3, round(row["count"] * min(1.6, 0.4 + amount) * min(3.0, size[0] / size[1] * 9 / 16 + 0.2)))
        # More far ones than near ones.
        self._near = np.sort(draw.uniform(0, 1, count) ** 1.7)
        self._start = draw.uniform(0, 1, (2, count))
        self._phase = draw.uniform(0, 1, count)
        self._pace = draw.uniform(0.8, 1.2, count)
        self._sprites = [
            [_sprite(row, (level + 0.5) / NEARNESS, turn / TURNS, size[1]) for turn in range(TURNS)]
            for level in range(NEARNESS)
        ]
        self._reach = max(max(sprite.size) for sprites in self._sprites for sprite in sprites) / 2

    def mask(self, seconds: float) -> Image.Image:
        """The opacity of the particles at each pixel at this moment."""
        row, (width, height), pace = self.row, self._size, self._pace
        closeness = 0.35 + 0.65 * self._near
        swing = row.get("sway", 0.0) * np.sin(math.tau * (0.35 * seconds * pace + self._phase)) * closeness
        # The field is a little larger than the frame, so that nothing appears or disappears at its edge.
        across = (self._start[0] * 1.4 + row["wind"] * closeness * seconds * height / width) % 1.4 - 0.2
        down = (self._start[1] * 1.4 + row["fall"] * closeness * pace * seconds) % 1.4 - 0.2
        xs, ys = across * width + swing * height, down * height
        strength = np.full_like(xs, 255 * row["strength"] * ease(min(1.0, seconds / 1.5)))
        if row.get("glow"):
            strength *= 0.55 + 0.45 * np.sin(math.tau * (0.9 * seconds * pace + 3 * self._phase))
        turns = (self._phase + row.get("spin", 0.0) * seconds * pace) % 1 * TURNS
        levels, reach = np.minimum(NEARNESS - 1, self._near * NEARNESS), self._reach
        seen = (xs > -reach) & (xs < width + reach) & (ys > -reach) & (ys < height + reach)
        mask = Image.new("L", self._size)
        for x, y, level, turn, value in np.stack([xs, ys, levels, turns, strength], axis=-1)[seen].tolist():
            sprite = self._sprites[int(level)][int(turn) % TURNS]
            mask.paste(int(value), (round(x - sprite.width / 2), round(y - sprite.height / 2)), sprite)
        return mask


def _sprite(row: Mapping[str, Any], near: float, turn: float, height: int) -> Image.Image:
    """One particle as a mask: an ellipse with a soft edge, along its path where it only falls."""
    long, wide = (max(1.2, row[side] * height * (0.3 + 0.7 * near**1.5)) for side in ("long", "wide"))
    angle = math.tau * turn if "spin" in row else math.atan2(row["wind"], row["fall"])
    # Spinning particles are sometimes seen from the side.
    wide *= abs(math.cos(math.tau * turn * 1.5)) * 0.7 + 0.3 if "spin" in row else 1.0
    reach = math.ceil(max(long, wide) / 2) + 2
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(float)
    along, aside = x * math.sin(angle) + y * math.cos(angle), x * math.cos(angle) - y * math.sin(angle)
    distance = np.hypot(along / (long / 2), aside / (wide / 2))
    if row.get("glow"):
        cover = np.minimum(1, np.exp(-((3.2 * distance) ** 2)) + 0.3 * np.exp(-((1.6 * distance) ** 2)))
    else:
        edge = (0.35 + 0.5 * near) if row["long"] == row["wide"] else 0.35
        cover = np.clip((1 + edge - distance) / (2 * edge), 0, 1) ** 1.5 * (1 - 0.35 * near)
    return Image.fromarray(np.rint(255 * cover).astype(np.uint8))


def _lay(planes: Planes, mask: Image.Image, colour: tuple[int, int, int]) -> None:
    half = mask.reduce(2)
    for plane, value, cover in zip(planes, colour, (mask, half, half), strict=True):
        plane.paste(value, (0, 0), cover)


def _table(values: NDArray[np.float64]) -> list[int]:
    return [int(value) for value in np.clip(np.rint(values), 0, 255)]
