"""The sky, painted anew for every frame: gradient, sun or moon, clouds, stars, aurora, and shafts of light under water."""

from __future__ import annotations

import numpy as np
from PIL import Image

from .light import mixed, scaled
from .noise import NoiseField, cloudy, sampled, smoothly, stepped
from .stage import Stage, View, blended
from .weather import Flock

_HALF = 2
"""The sky has no detail, so it is painted at half the size."""

_OPEN = ("none", "seabed", "floor")
"""Grounds that leave the sky open down to the lower edge."""


class Sky:
    """Paints the sky, the first layer of every frame."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        scene, light = stage.scene, stage.light
        # Below the horizon the ground covers the sky.
        ends = stage.height if scene.ground in _OPEN else min(stage.height, int(stage.horizon) + stage.margin_y + 12)
        self.width, self.height = -(-stage.width // _HALF), -(-ends // _HALF)
        self.soft, self.fine = cloudy((stage.seed, "cloud"), 1.72), cloudy((stage.seed, "wisp"), 1.2)
        self.speed = scene.pace * (1 + 1.6 * ("wind" in scene.weather))
        hidden = ("rain" in scene.weather) + ("storm" in scene.weather) + 0.7 * ("snow" in scene.weather)
        self.halo = max(0.12, 0.62 - 0.5 * hidden) * (0.5 if light.dark else 1)
        self.has_disc = (
            hidden < 0.5
            and scene.time not in ("dusk", "space", "underwater")
            and scene.grade != "neon"
            and "aurora" not in scene.weather
            and not {"sun", "moon"} & {actor.kind for actor in scene.actors}
        )
        self.stops = [np.array(colour, np.float32) for colour in (light.top, light.middle, light.low)]
        white = scaled(mixed(light.glow, (1.0, 1.0, 1.0), 0.25), 0.45 + 0.55 * max(light.ambient))
        storm = "storm" in scene.weather
        self.lit = np.array(mixed(white, light.low, 0.25), np.float32) * np.float32(0.62 if storm else 1)
        dim = mixed(mixed(light.middle, light.haze, 0.5), light.ambient, 0.12)
        self.dim = np.array(dim, np.float32) * np.float32(0.45 if storm else 1)
        self.stars = Flock(stage, "stars", many=scene.stars) if scene.stars else None

    def sun_at(self) -> tuple[float, float]:
        """The position of the sun or moon in the world."""
        light, horizon = self.stage.light, min(self.stage.horizon, 0.8 * self.stage.height)
        return light.across * self.stage.width, horizon - light.height * 0.8 * horizon - 0.02 * self.stage.height

    def paint(self, seconds: float, view: View) -> Image.Image:
        """The sky at a time."""
        stage, scene, unit = self.stage, self.stage.scene, np.float32(self.stage.unit)
        centre_y = np.float32(stage.centre[1])
        x = np.arange(self.width, dtype=np.float32)[None] * _HALF - np.float32(stage.width / 2 + view.dx)
        y = np.arange(self.height, dtype=np.float32)[:, None] * _HALF - centre_y - np.float32(view.dy)
        x, y = x / np.float32(view.scale), y / np.float32(view.scale) + centre_y
        horizon = np.float32(min(stage.horizon, 1.05 * stage.height))
        up = np.clip(y / horizon, -0.2, 1)
        colour = self._gradient(up)
        if "aurora" in scene.weather:
            colour = self._aurora(colour, x / unit, up, seconds)
        colour = self._shine(colour, x + np.float32(stage.width / 2), y)
        if scene.time == "underwater":
            colour = self._shafts(colour, x / unit, np.clip(y / np.float32(stage.height), 0, 1), seconds)
        elif scene.clouds > 0:
            self._cover(colour, x / unit, np.maximum(horizon - y, 0) / unit, seconds)
        picture = Image.fromarray((np.clip(colour, 0, 1) * np.float32(255)).astype(np.uint8), "RGB")
        picture = picture.resize((self.width * _HALF, self.height * _HALF), Image.Resampling.BILINEAR)
        if picture.size != (stage.width, stage.height):
            picture = picture.crop((0, 0, stage.width, stage.height))
        return self.stars.drift(picture, seconds) if self.stars else picture

    def _gradient(self, up: NoiseField) -> NoiseField:
        top, middle, low = self.stops
        share = up * up * (3 - 2 * up)
        upper, lower = top + (middle - top) * (share / 0.55), middle + (low - middle) * ((share - 0.55) / 0.45)
        return np.repeat(np.where(share < 0.55, upper, lower)[:, None], self.width, axis=1).astype(np.float32)

    def _shine(self, colour: NoiseField, x: NoiseField, y: NoiseField) -> NoiseField:
        """The colours with the sun's disc and the light around it."""
        stage, (sun_x, sun_y) = self.stage, self.sun_at()
        far = np.sqrt((x - np.float32(sun_x)) ** 2 + (y - np.float32(sun_y)) ** 2) / np.float32(stage.unit)
        halo = np.exp(far * np.float32(-3.4)) * np.float32(self.halo)
        if self.has_disc:
            radius = 0.045 if stage.light.dark else 0.05 + 0.03 * (stage.light.height < 0.2)
            halo = np.maximum(halo, np.clip((np.float32(radius) - far) * np.float32(stage.unit / 2.5), 0, 1))
        return blended(colour, stage.light.glow, np.clip(halo, 0, 1))

    def _cover(self, colour: NoiseField, x: NoiseField, high: NoiseField, seconds: float) -> None:
        """Paint clouds on a flat ceiling into `colour`, in perspective and lit from the sun's side."""
        wind, clouds = np.float32(seconds * 0.012 * self.speed), self.stage.scene.clouds
        flat = np.float32(0.42) / (high + np.float32(0.22))
        u, v = x * flat * np.float32(0.42) + wind, flat * np.float32(0.75)
        body = smoothly(self.soft, u, v)
        wisps = smoothly(self.fine, u * np.float32(2.3) + wind, v * np.float32(2.3))
        side = np.float32(0.02 if self.stage.light.across > 0.5 else -0.02)
        ahead = smoothly(self.soft, u + side, v + np.float32(0.016))
        thick = body * np.float32(0.74) + wisps * np.float32(0.26)
        edge = 0.74 - 0.42 * clouds
        share = stepped(edge, edge + 0.2, thick) * np.float32(0.55 + 0.4 * clouds)
        share *= np.clip(high * np.float32(7), 0, 1)
        light = np.float32(0.55) + (body - ahead) * np.float32(4.5) - (thick - np.float32(edge + 0.1)) * np.float32(0.9)
        paint = self.dim + (self.lit - self.dim) * np.clip(light, 0, 1)[..., None]
        colour += (paint - colour) * share[..., None]

    def _aurora(self, colour: NoiseField, x: NoiseField, up: NoiseField, seconds: float) -> NoiseField:
        """The colours with green and violet curtains that wave slowly."""
        wave = np.float32(seconds * 0.05 * self.speed)
        fold = x * np.float32(0.55) + np.float32(0.05) * np.sin(x * 5 + wave * 9)
        rays = smoothly(self.fine, fold * np.float32(1.3) + wave * np.float32(0.1), 0 * fold + wave * np.float32(0.4))
        edge = np.float32(0.62) + np.float32(0.16) * np.sin(x * 2.1 + wave * 6)
        above = np.clip(edge - up, 0, None)
        curtain = np.exp(-above * np.float32(3.6)) * stepped(0, 0.09, edge - up)
        curtain = curtain * np.clip(rays * np.float32(1.9) - np.float32(0.35), 0, 1) * np.float32(0.9)
        share = np.clip(above * np.float32(2.4), 0, 1)
        return np.asarray(
            colour + blended((0.28, 0.95, 0.62), (0.52, 0.32, 0.86), share) * curtain[..., None], np.float32
        )

    def _shafts(self, colour: NoiseField, x: NoiseField, down: NoiseField, seconds: float) -> NoiseField:
        """The colours with bright stripes that fan out from above the water and drift."""
        pace = np.float32(seconds * self.speed)
        fan = x / (np.float32(0.7) + np.float32(0.75) * down)
        still = 0 * fan + pace * np.float32(0.012)
        rays = sampled(self.soft, fan * np.float32(0.5) + pace * np.float32(0.006), still)
        rays = rays + sampled(self.soft, fan * np.float32(1.2) - pace * np.float32(0.009), still + np.float32(0.4))
        strength = np.clip((rays - np.float32(0.95)) * np.float32(1.5), 0, 1) * (1 - down) ** np.float32(1.3)
        return blended(colour, self.stage.light.glow, strength * np.float32(0.55))
