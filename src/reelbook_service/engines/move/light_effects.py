"""Changes of light over a clip: warmth, darkness, flicker, lightning, desaturation."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .path import ease
from .shot_plan import LIGHT, ShotPlan
from .warp import Planes

BLACK, WHITE, NEUTRAL = 16, 235, 128
"""The bounds of luma, and neutral chroma, in video of limited range."""


@dataclass(frozen=True, slots=True)
class Tone:
    """The light of a frame relative to the picture."""

    gain: float = 1.0
    lift: float = 0.0
    """Raises the middle tones, not black or white."""
    flash: float = 0.0
    """Added everywhere, as a fraction of the range from black to white."""
    blue: float = 0.0
    red: float = 0.0
    colour: float = 1.0


class ClipLight:
    """The light of one clip."""

    def __init__(self, plan: ShotPlan, seconds: float) -> None:
        self._plan, self._seconds = plan, seconds
        draw = random.Random(plan.seed + 1)
        self._strikes = [draw.uniform(part + 0.1, part + 0.8) * seconds / 3 for part in range(3)]
        self._phases = [draw.uniform(0, math.tau) for _ in range(3)]

    def lit(self, planes: Planes, seconds: float) -> Planes:
        """The planes of a frame with the light of their moment."""
        if not any(self._plan.amount(kind) for kind in LIGHT):
            return planes
        tone = self._tone(seconds)
        scale = np.arange(256.0)
        level = np.clip((scale - BLACK) / (WHITE - BLACK), 0, 1)
        # Highlights, such as a lamp or a window, stay bright when the rest is darkened.
        level = level * (tone.gain + max(0.0, 1 - tone.gain) * level**4)
        level = level + tone.lift * level * (1 - level) + tone.flash * (1 - 0.5 * level)
        colour = (scale - NEUTRAL) * tone.colour + NEUTRAL
        light, blue, red = planes
        return (
            light.point(_table(BLACK + (WHITE - BLACK) * level)),
            blue.point(_table(colour + tone.blue)),
            red.point(_table(colour + tone.red)),
        )

    def _tone(self, seconds: float) -> Tone:
        progress = ease(seconds / self._seconds)
        warm, dusk, bright, grey = (progress * self._plan.amount(kind) for kind in ("warm", "dusk", "bright", "grey"))
        unrest = self._flame_flicker(seconds) * self._plan.amount("flicker") * min(1.0, seconds)
        return Tone(
            gain=(1 - 0.55 * dusk) * (1 + 0.13 * unrest),
            lift=0.12 * warm + 0.8 * bright,
            flash=0.6 * self._plan.amount("flash") * self._lightning(seconds),
            blue=8 * dusk - 13 * warm - 3 * unrest,
            red=11 * warm - 4 * dusk + 2.5 * unrest,
            colour=(1 + 0.08 * warm) * (1 - 0.45 * dusk) * max(0.0, 1 - 1.2 * grey),
        )

    def _flame_flicker(self, seconds: float) -> float:
        """The flicker of a flame, from -1 to 1."""
        rates = (1.3, 3.1, 7.3)
        return sum(
            math.sin(math.tau * rate * seconds + phase) / 3 for rate, phase in zip(rates, self._phases, strict=True)
        )

    def _lightning(self, seconds: float) -> float:
        """The brightness of lightning: each strike flashes twice and decays."""
        glow = 0.0
        for strike in self._strikes:
            for delay, share in ((0.0, 1.0), (0.17, 0.7)):
                since = seconds - strike - delay
                glow = max(glow, share * math.exp(-since / 0.09) if since >= 0 else 0.0)
        return glow


def _table(values: NDArray[np.float64]) -> list[int]:
    return [int(value) for value in np.clip(np.rint(values), 0, 255)]
