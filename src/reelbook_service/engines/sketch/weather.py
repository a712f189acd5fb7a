"""Weather in the air: rain, snow and other particles, mist, and lightning."""

from __future__ import annotations

import math

import numpy as np
from PIL import Image, ImageChops

from ..particles import PARTICLES, Particles
from .brush import Pose, show
from .figures import Kit, draw
from .light import hexed, in_bytes, mixed
from .noise import cloudy
from .stage import Stage


class Weather:
    """Paints the weather of a scene."""

    def __init__(self, stage: Stage) -> None:
        self.stage, light = stage, stage.light
        named, ground = stage.scene.weather, stage.scene.ground
        kinds = [name for name in PARTICLES if name in named and name != "stars"]
        if ground == "seabed":
            kinds = [name for name in kinds if name != "snow"] or ["bubbles"]
        if ground == "rock":
            kinds.append("sparks")
        size, wind = (stage.width, stage.height), 0.14 * ("wind" in named)
        self.flocks = [
            (kind, Particles(kind, size, stage.random("particles", kind), wind=-wind if kind == "rain" else wind))
            for kind in kinds
        ]
        self.veils = self._veils() if "fog" in named or stage.scene.time == "dawn" else []
        self.air = in_bytes(mixed(light.haze, (1, 1, 1), 0.12))
        self.foot = min(stage.horizon, 0.8 * stage.height)
        self.bolt = draw("bolt", Kit(light, self.foot, (), stage.random("bolt"))) if "storm" in named else []

    def behind(self, picture: Image.Image, seconds: float) -> None:
        """Paint what is between the sky and the land: a bolt of lightning every few seconds."""
        if self.bolt:
            x = self.stage.width * (0.2 + 0.6 * (0.618 * int(seconds / 3.1) % 1))
            show(picture, self.bolt, Pose(x, self.foot, self.foot, alpha=_flash(seconds)))

    def among(self, picture: Image.Image, seconds: float) -> None:
        """Paint what is on the land, behind the figures: mist."""
        for index in range(len(self.veils[:2])):
            self._drift(picture, seconds, index)

    def over(self, picture: Image.Image, seconds: float) -> Image.Image:
        """The picture with what is nearest: mist, rain, particles, and the flash of lightning."""
        if len(self.veils) > 2:
            self._drift(picture, seconds, 2)
        for kind, flock in self.flocks:
            for text, mask in flock.masks(seconds * self.stage.scene.pace):
                shines = PARTICLES[kind].get("look") == "glow"
                colour = hexed(text) if shines else mixed(self.stage.light.on(hexed(text)), hexed(text), 0.6)
                picture.paste(in_bytes(colour), (0, 0), mask)
        level = int(34 * _flash(seconds)) if self.bolt else 0  # Soft and rare, so that it is safe to watch.
        return ImageChops.add(picture, Image.new("RGB", picture.size, (level, level, level))) if level else picture

    def _veils(self) -> list[Image.Image]:
        """Haze that drifts along the horizon; the last one is thin, and in front of everything."""
        stage, has_fog = self.stage, "fog" in self.stage.scene.weather
        high = max(2, int(min(stage.height, stage.horizon + 0.3 * stage.height)) - self._top)
        band = np.clip(1 - np.linspace(-1, 1, high)[:, None] ** 2, 0, 1) ** 1.4
        # A veil wraps after twice the width of the picture, as the texture does.
        rows, columns = np.arange(high) * 4 // 5 % 512, np.arange(stage.width * 2) * 512 // stage.width % 512
        soft = np.clip((cloudy((stage.seed, "mist"), 1.6)[rows][:, columns] - 0.2) * 1.3, 0, 1) * band
        return [Image.fromarray((soft * thick).astype(np.uint8)) for thick in ((150, 150, 70) if has_fog else (52,))]

    @property
    def _top(self) -> int:
        return int(max(0, self.stage.horizon - 0.28 * self.stage.height))

    def _drift(self, picture: Image.Image, seconds: float, index: int) -> None:
        width, veil = self.stage.width, self.veils[index]
        shift = (seconds * self.stage.scene.pace * (0.018 + 0.014 * index) + 0.37 * index) * width % width
        box = (shift, 0, shift + width, veil.height)
        picture.paste(self.air, (0, self._top), veil.resize((width, veil.height), Image.Resampling.BILINEAR, box=box))


def _flash(seconds: float) -> float:
    """The power of lightning: a strike every 3.1 seconds that fades."""
    since = seconds % 3.1 - 0.9
    return math.exp(-since * 4.5) if since >= 0 else 0.0
