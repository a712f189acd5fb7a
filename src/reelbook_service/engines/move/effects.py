"""Light and weather over a clip: warmth, darkness, flicker; rain, snow, leaves and fog in front of the picture."""

from __future__ import annotations

import math
import random

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor

from ..particles import PARTICLES, Particles
from ..sketch.noise import cloudy
from .camera import ease
from .plan import LIGHT, WEATHER, Plan

BLACK, WHITE, NEUTRAL = 16, 235, 128
"""The bounds of luma, and neutral chroma, in video of limited range."""

Planes = tuple[Image.Image, Image.Image, Image.Image]
"""Luma and two chroma planes, the latter at half the width and height."""

FOG = "#c8cdcf"


class Effects:
    """The light and the weather of one clip; both set in gradually, and frames can be drawn in any order."""

    def __init__(self, plan: Plan, size: tuple[int, int], seconds: float) -> None:
        self._size, self._seconds = size, seconds
        self._amounts = {kind: plan.amount(kind) for kind in (*LIGHT, *WEATHER) if plan.amount(kind)}
        draw, random_numbers = random.Random(plan.seed + 1), np.random.default_rng(plan.seed)
        self._strikes = [draw.uniform(part + 0.1, part + 0.8) * seconds / 3 for part in range(3)]
        self._phases = [draw.uniform(0, math.tau) for _ in range(3)]
        self._particles = [
            Particles(kind, size, random_numbers, many=min(1.6, 0.4 + amount))
            for kind, amount in self._amounts.items()
            if kind in PARTICLES
        ]
        veil = np.tile(cloudy((plan.seed, "fog"), 1.8)[::4, ::2], 2)
        self._veil = Image.fromarray(np.rint(255 * veil).astype(np.uint8))

    def over(self, planes: Planes, seconds: float) -> Planes:
        """The planes of a frame in the light of their moment, with the weather in front."""
        planes = self._lit(planes, seconds) if self._amounts.keys() & LIGHT.keys() else planes
        if fog := self._amounts.get("fog"):
            width, height = self._veil.size
            left = 0.035 * seconds * width % (width / 2)
            box = (left, 0.0, left + width / 2, float(height))
            strength = 0.75 * fog * ease(min(1.0, seconds / 2.5))
            seen = self._veil.resize(self._size, Image.Resampling.BICUBIC, box=box)
            _lay(planes, seen.point([round(value * strength) for value in range(256)]), FOG)
        for particles in self._particles:
            for colour, mask in particles.masks(seconds, ease(min(1.0, seconds / 1.5))):
                _lay(planes, mask, colour)
        return planes

    def _lit(self, planes: Planes, seconds: float) -> Planes:
        progress, amounts = ease(seconds / self._seconds), self._amounts
        gain, lift, blue, red, colour = (
            sum(progress * amounts.get(kind, 0) * row.get(name, 0.0) for kind, row in LIGHT.items())
            for name in ("gain", "lift", "blue", "red", "colour")
        )
        rates = zip((1.3, 3.1, 7.3), self._phases, strict=True)
        flame = sum(math.sin(math.tau * rate * seconds + phase) / 3 for rate, phase in rates)
        unrest = flame * amounts.get("flicker", 0) * min(1.0, seconds)
        gain = (1 + gain) * (1 + 0.13 * unrest)
        bolt = max(math.exp((strike - seconds) / 0.12) * (seconds >= strike) for strike in self._strikes)
        scale = np.arange(256.0)
        level = np.clip((scale - BLACK) / (WHITE - BLACK), 0, 1)
        # Highlights, such as a lamp or a window, stay bright when the rest is darkened.
        level = level * (gain + max(0.0, 1 - gain) * level**4)
        level = level + lift * level * (1 - level) + 0.6 * amounts.get("flash", 0) * bolt * (1 - 0.5 * level)
        chroma = (scale - NEUTRAL) * max(0.0, 1 + colour) + NEUTRAL
        light, first, second = planes
        return (
            light.point(_table(BLACK + (WHITE - BLACK) * level)),
            first.point(_table(chroma + blue - 3 * unrest)),
            second.point(_table(chroma + red + 2.5 * unrest)),
        )


def _lay(planes: Planes, mask: Image.Image, colour: str) -> None:
    """Paint a colour into the planes, which are changed in place."""
    red, green, blue = (part / 255 for part in ImageColor.getrgb(colour)[:3])
    luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    values = BLACK + 219 * luma, NEUTRAL + 224 * (blue - luma) / 1.8556, NEUTRAL + 224 * (red - luma) / 1.5748
    half = mask.reduce(2)
    for plane, value, cover in zip(planes, values, (mask, half, half), strict=True):
        plane.paste(round(value), (0, 0), cover)


def _table(values: NDArray[np.float64]) -> list[int]:
    return [int(value) for value in np.clip(np.rint(values), 0, 255)]
