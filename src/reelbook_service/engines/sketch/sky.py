"""The sky of every frame, and the weather in the air: clouds, stars, aurora; rain, snow and mist."""

from __future__ import annotations

import numpy as np
from PIL import Image

from ..particles import PARTICLES, Particles
from .light import hexed, in_bytes, mixed, scaled
from .noise import NoiseField, cloudy, generator, sampled, stepped
from .stage import Stage, View, blended, picture_of

_HALF = 2
"""The sky has no detail, so it is painted at half the size."""


class Sky:
    """Paints the sky, the first layer of every frame."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        scene, light = stage.scene, stage.light
        # Below the horizon the ground covers the sky, but for a few grounds.
        is_open = scene.ground in ("none", "seabed", "floor")
        ends = stage.height if is_open else min(stage.height, int(stage.horizon) + stage.margin_y + 12)
        self.width, self.height = -(-stage.width // _HALF), -(-ends // _HALF)
        self.soft, self.fine = cloudy((stage.seed, "cloud"), 1.72), cloudy((stage.seed, "wisp"), 1.2)
        self.speed = scene.pace * (1 + 1.6 * ("wind" in scene.weather))
        storm = "storm" in scene.weather
        hidden = ("rain" in scene.weather) + storm + 0.7 * ("snow" in scene.weather)
        self.halo = max(0.12, 0.62 - 0.5 * hidden) * (0.5 if light.dark else 1)
        shown = {scene.time, scene.grade, *scene.weather, *(actor.kind for actor in scene.actors)}
        self.has_disc = hidden < 0.5 and not shown & {"dusk", "space", "underwater", "neon", "aurora", "sun", "moon"}
        self.stops = [np.array(colour, np.float32) for colour in (light.zenith, light.middle, light.low)]
        white = scaled(mixed(light.glow, (1, 1, 1), 0.25), 0.45 + 0.55 * float(light.ambient.max()))
        dim = mixed(mixed(light.middle, light.haze, 0.5), light.ambient, 0.12)
        self.lit = np.array(scaled(mixed(white, light.low, 0.25), 0.62 if storm else 1), np.float32)
        self.dim = np.array(scaled(dim, 0.45 if storm else 1), np.float32)
        above = stage.width, int(min(stage.horizon, stage.height))
        self.stars = Particles("stars", above, generator(stage.seed, "stars"), many=scene.stars)

    def sun_at(self) -> tuple[float, float]:
        """The position of the sun or moon in the world."""
        light, horizon = self.stage.light, min(self.stage.horizon, 0.8 * self.stage.height)
        return light.across * self.stage.width, horizon - light.height * 0.8 * horizon - 0.02 * self.stage.height

    def paint(self, seconds: float, view: View) -> Image.Image:
        """The sky at a time."""
        stage, scene, unit = self.stage, self.stage.scene, self.stage.unit
        x = (np.arange(self.width, dtype=np.float32)[None] * _HALF - stage.width / 2 - view.dx) / view.scale
        y = np.arange(self.height, dtype=np.float32)[:, None] * _HALF - stage.centre[1] - view.dy
        y = y / view.scale + stage.centre[1]
        horizon = min(stage.horizon, 1.05 * stage.height)
        up = np.clip(y / horizon, -0.2, 1)
        top, middle, low = self.stops
        share = up * up * (3 - 2 * up)
        upper, lower = top + (middle - top) * (share / 0.55), middle + (low - middle) * ((share - 0.55) / 0.45)
        colour = np.repeat(np.where(share < 0.55, upper, lower)[:, None], self.width, axis=1)
        if "aurora" in scene.weather:
            colour = self._aurora(colour, x / unit, up, seconds)
        colour = self._shine(colour, x + stage.width / 2, y)
        if scene.time == "underwater":
            colour = self._shafts(colour, x / unit, np.clip(y / stage.height, 0, 1), seconds)
        elif scene.clouds > 0:
            self._cover(colour, x / unit, np.maximum(horizon - y, 0) / unit, seconds)
        picture = picture_of(colour).resize((self.width * _HALF, self.height * _HALF), Image.Resampling.BILINEAR)
        picture = picture.crop((0, 0, stage.width, stage.height))
        for tint, mask in self.stars.masks(seconds * scene.pace, 1 - 0.6 * scene.clouds) if scene.stars else ():
            picture.paste(tint, (0, 0), mask)
        return picture

    def _shine(self, colour: NoiseField, x: NoiseField, y: NoiseField) -> NoiseField:
        """The colours with the sun's disc and the light around it."""
        stage, (sun_x, sun_y) = self.stage, self.sun_at()
        far = np.sqrt((x - sun_x) ** 2 + (y - sun_y) ** 2) / stage.unit
        halo = np.exp(far * -3.4) * self.halo
        if self.has_disc:
            radius = 0.045 if stage.light.dark else 0.05 + 0.03 * (stage.light.height < 0.2)
            halo = np.maximum(halo, np.clip((radius - far) * (stage.unit / 2.5), 0, 1))
        return blended(colour, stage.light.glow, np.clip(halo, 0, 1))

    def _cover(self, colour: NoiseField, x: NoiseField, high: NoiseField, seconds: float) -> None:
        """Paint clouds on a flat ceiling into `colour`, in perspective and lit from the sun's side."""
        wind, clouds = seconds * 0.012 * self.speed, self.stage.scene.clouds
        flat = 0.42 / (high + 0.22)
        u, v = x * flat * 0.42 + wind, flat * 0.75
        body, wisps = sampled(self.soft, u, v), sampled(self.fine, u * 2.3 + wind, v * 2.3)
        ahead = sampled(self.soft, u + (0.02 if self.stage.light.across > 0.5 else -0.02), v + 0.016)
        thick = body * 0.74 + wisps * 0.26
        edge = 0.74 - 0.42 * clouds
        share = stepped(edge, edge + 0.2, thick) * (0.55 + 0.4 * clouds)
        share *= np.clip(high * 7, 0, 1)
        light = 0.55 + (body - ahead) * 4.5 - (thick - edge - 0.1) * 0.9
        paint = self.dim + (self.lit - self.dim) * np.clip(light, 0, 1)[..., None]
        colour += (paint - colour) * share[..., None]

    def _aurora(self, colour: NoiseField, x: NoiseField, up: NoiseField, seconds: float) -> NoiseField:
        """The colours with green and violet curtains that wave slowly."""
        wave = seconds * 0.05 * self.speed
        fold = x * 0.55 + 0.05 * np.sin(x * 5 + wave * 9)
        rays = sampled(self.fine, fold * 1.3 + wave * 0.1, 0 * fold + wave * 0.4)
        edge = 0.62 + 0.16 * np.sin(x * 2.1 + wave * 6)
        above = np.clip(edge - up, 0, None)
        curtain = np.exp(above * -3.6) * stepped(0, 0.09, edge - up) * np.clip(rays * 1.9 - 0.35, 0, 1) * 0.9
        tint = blended(hexed("#47f29e"), hexed("#8552db"), np.clip(above * 2.4, 0, 1))
        return np.asarray(colour + tint * curtain[..., None], np.float32)

    def _shafts(self, colour: NoiseField, x: NoiseField, down: NoiseField, seconds: float) -> NoiseField:
        """The colours with bright stripes that fan out from above the water and drift."""
        pace = seconds * self.speed
        fan = x / (0.7 + 0.75 * down)
        still = 0 * fan + pace * 0.012
        rays = sampled(self.soft, fan * 0.5 + pace * 0.006, still)
        rays = rays + sampled(self.soft, fan * 1.2 - pace * 0.009, still + 0.4)
        strength = np.clip((rays - 0.95) * 1.5, 0, 1) * (1 - down) ** 1.3
        return blended(colour, self.stage.light.glow, strength * 0.55)


class Weather:
    """Paints the weather of a scene."""

    def __init__(self, stage: Stage) -> None:
        self.stage, light = stage, stage.light
        size, wind = (stage.width, stage.height), 0.14 * ("wind" in stage.scene.weather)
        self.flocks = {}
        for kind in sorted(stage.scene.weather & PARTICLES.keys() - {"stars"}):
            rng, blow = generator(stage.seed, "particles", kind), -wind if kind == "rain" else wind
            self.flocks[kind] = Particles(kind, size, rng, wind=blow)
        thick = (0.6, 0.6, 0.25) if "fog" in stage.scene.weather else (0.2,) if stage.scene.time == "dawn" else ()
        self.top = int(max(0, stage.horizon - 0.28 * stage.height))
        self.veils = [self._veil(strength) for strength in thick]
        self.air = in_bytes(mixed(light.haze, (1, 1, 1), 0.12))

    def among(self, picture: Image.Image, seconds: float) -> None:
        """Paint what is on the land, behind the figures: mist."""
        width, pace = self.stage.width, self.stage.scene.pace
        for index, veil in enumerate(self.veils):
            shift = (seconds * pace * (0.018 + 0.014 * index) + 0.37 * index) * width % width
            box = (shift, 0, shift + width, veil.height)
            mask = veil.resize((width, veil.height), Image.Resampling.BILINEAR, box=box)
            picture.paste(self.air, (0, self.top), mask)

    def over(self, picture: Image.Image, seconds: float) -> None:
        """Paint what is nearest: rain, snow, leaves, sparks."""
        for kind, flock in self.flocks.items():
            for text, mask in flock.masks(seconds * self.stage.scene.pace):
                shines = PARTICLES[kind].get("look") == "glow"
                colour = hexed(text) if shines else mixed(self.stage.light.on(hexed(text)), hexed(text), 0.6)
                picture.paste(in_bytes(colour), (0, 0), mask)

    def _veil(self, strength: float) -> Image.Image:
        """Haze along the horizon, which wraps after twice the width of the picture, as its texture does."""
        stage = self.stage
        high = max(2, int(min(stage.height, stage.horizon + 0.3 * stage.height)) - self.top)
        band = np.clip(1 - np.linspace(-1, 1, high)[:, None] ** 2, 0, 1) ** 1.4
        rows, columns = np.arange(high) * 4 // 5 % 512, np.arange(stage.width * 2) * 512 // stage.width % 512
        soft = np.clip((cloudy((stage.seed, "mist"), 1.6)[rows][:, columns] - 0.2) * 1.3, 0, 1) * band
        return picture_of(soft * strength)
