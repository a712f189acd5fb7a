"""The sky, painted anew for every frame: gradient, sun or moon, clouds, stars, aurora."""

from __future__ import annotations

import numpy as np
from PIL import Image

from .layers import blended
from .moving_backdrops import CloudSea, Shafts
from .noise import Field, cloudy, smoothly, stepped
from .palette import Colour, mixed, scaled
from .sampler import COVER, DRIFT_X, DRIFT_Y, LIGHT, WARMTH
from .stage import Stage, View

_HALF = 2
"""The sky has no detail, so it is painted at half the size."""


_OPEN = ("none", "cloudsea", "seabed", "cave", "stage", "floor")
"""Grounds that leave the sky open down to the lower edge."""


class Sky:
    """Paints the sky, the first layer of every frame."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        # Below the horizon the ground covers the sky.
        reach = (
            stage.height if stage.scene.ground in _OPEN else min(stage.height, int(stage.horizon) + stage.margin_y + 12)
        )
        self.width, self.height = -(-stage.width // _HALF), -(-reach // _HALF)
        scene, light = stage.scene, stage.light
        self.soft = cloudy((stage.seed, "cloud", scene.style[3]), 1.72)
        self.fine = cloudy((stage.seed, "wisp", scene.style[4]), 1.2)
        self.clouds = scene.weather.clouds
        self.speed = scene.pace * (1 + 1.6 * scene.weather.wind)
        self.sun = "sun" not in {actor.kind for actor in scene.actors} and "moon" not in {
            actor.kind for actor in scene.actors
        }
        self.stops = tuple(np.array(colour, np.float32) for colour in (light.top, light.middle, light.low))
        self.glow = np.array(light.glow, np.float32)
        white = mixed(light.glow, (1.0, 1.0, 1.0), 0.25)
        lit: Colour = mixed(scaled(white, 0.45 + 0.55 * max(light.ambient)), light.low, 0.25)
        self.cloud_lit = np.array(lit, np.float32)
        self.cloud_dim = np.array(mixed(mixed(light.middle, light.haze, 0.5), light.ambient, 0.12), np.float32)
        if scene.weather.storm:
            self.cloud_lit, self.cloud_dim = self.cloud_lit * np.float32(0.62), self.cloud_dim * np.float32(0.45)
        self.stars = _Stars(stage) if scene.weather.stars else None
        self.shafts = Shafts(stage) if scene.time == "underwater" else None
        self.below = CloudSea(stage) if scene.ground == "cloudsea" else None

    def sun_at(self) -> tuple[float, float]:
        """The position of the sun or moon in the world."""
        light, horizon = self.stage.light, min(self.stage.horizon, 0.8 * self.stage.height)
        return light.across * self.stage.width, horizon - light.height * 0.8 * horizon - 0.02 * self.stage.height

    def paint(self, seconds: float, latents: Field, view: View) -> Image.Image:
        """The sky at a time."""
        stage, unit = self.stage, np.float32(self.stage.unit)
        cut = np.float32(self.height * _HALF / stage.height)
        maps = [
            _enlarged(latents[index][: max(2, round(len(latents[index]) * float(cut)))], self.width, self.height)
            for index in (DRIFT_X, DRIFT_Y, COVER, LIGHT)
        ]
        drift_x, drift_y, cover, bright = maps
        centre_y = np.float32(min(stage.horizon, stage.height * 0.75))
        x = (
            np.arange(self.width, dtype=np.float32)[None] * _HALF - np.float32(stage.width / 2 + view.dx)
        ) / np.float32(view.scale)
        y = (np.arange(self.height, dtype=np.float32)[:, None] * _HALF - centre_y - np.float32(view.dy)) / np.float32(
            view.scale
        ) + centre_y
        horizon = np.float32(min(stage.horizon, 1.05 * stage.height))
        up = np.clip(y / horizon, -0.2, 1)
        colour = self._gradient(up, float(latents[WARMTH].mean()))
        if stage.scene.weather.aurora:
            colour = self._aurora(colour, x / unit, up, seconds, drift_x)
        colour = self._shine(colour, x + np.float32(stage.width / 2), y, bright)
        if self.shafts:
            colour = self.shafts.lay(colour, x, y, seconds, drift_x)
        if self.below:
            self.below.lay(colour, x / unit, (y - horizon) / unit, seconds, drift_y)
        elif self.clouds > 0:
            self._cover(colour, x / unit, np.maximum(horizon - y, 0) / unit, seconds, drift_x, drift_y, cover)
        picture = Image.fromarray((np.clip(colour, 0, 1) * np.float32(255)).astype(np.uint8), "RGB")
        picture = picture.resize((self.width * _HALF, self.height * _HALF), Image.Resampling.BILINEAR)
        if picture.size != (stage.width, stage.height):
            picture = picture.crop((0, 0, stage.width, stage.height))
        if self.stars:
            picture = self.stars.over(picture, seconds, view, self.clouds)
        return picture

    def _gradient(self, up: Field, warmth: float) -> Field:
        top, middle, low = self.stops
        share = up * up * (3 - 2 * up)
        column = np.where(
            share < 0.55, top + (middle - top) * (share / 0.55), middle + (low - middle) * ((share - 0.55) / 0.45)
        )
        warm = np.array([0.030, 0.0, -0.030], np.float32) * np.float32(np.clip(warmth, -2, 2))
        return np.repeat((column + warm * (0.4 + column))[:, None], self.width, axis=1).astype(np.float32)

    def _shine(self, colour: Field, x: Field, y: Field, bright: Field) -> Field:
        """The colours with the sun's disc and the light around it."""
        stage = self.stage
        sun_x, sun_y = self.sun_at()
        far = np.sqrt((x - np.float32(sun_x)) ** 2 + (y - np.float32(sun_y)) ** 2) / np.float32(stage.unit)
        hidden = stage.scene.weather.rain + stage.scene.weather.storm + 0.7 * stage.scene.weather.snow
        strength = np.float32(max(0.12, 0.62 - 0.5 * hidden) * (0.5 if stage.light.dark else 1))
        halo = np.exp(far * np.float32(-3.4)) * strength * (1 + np.float32(0.18) * bright)
        if (
            self.sun
            and hidden < 0.5
            and stage.scene.time not in ("dusk", "space", "stage", "cave", "underwater")
            and stage.scene.grade != "neon"
            and not stage.scene.weather.aurora
        ):
            radius = 0.045 if stage.light.dark else 0.05 + 0.03 * (stage.light.height < 0.2)
            halo = np.maximum(halo, np.clip((np.float32(radius) - far) * np.float32(stage.unit / 2.5), 0, 1))
        return blended(colour, self.glow, np.clip(halo, 0, 1))

    def _cover(
        self, colour: Field, x: Field, high: Field, seconds: float, drift_x: Field, drift_y: Field, cover: Field
    ) -> None:
        """Paint clouds on a flat ceiling into `colour`, in perspective and lit from the sun's side."""
        wind = np.float32(seconds * 0.012 * self.speed)
        flat = np.float32(0.42) / (high + np.float32(0.22))
        u = x * flat * np.float32(0.42) + wind + np.float32(0.012) * drift_x
        v = flat * np.float32(0.75) + np.float32(0.010) * drift_y
        body = smoothly(self.soft, u, v)
        wisps = smoothly(self.fine, u * np.float32(2.3) + wind, v * np.float32(2.3))
        side = np.float32(0.02 if self.stage.light.across > 0.5 else -0.02)
        ahead = smoothly(self.soft, u + side, v + np.float32(0.016))
        thick = body * np.float32(0.74) + wisps * np.float32(0.26) + np.float32(0.045) * cover
        edge = np.float32(0.74 - 0.42 * self.clouds)
        share = stepped(float(edge), float(edge) + 0.2, thick) * np.float32(0.55 + 0.4 * self.clouds)
        share *= np.clip(high * np.float32(7), 0, 1)
        light = np.clip(
            np.float32(0.55) + (body - ahead) * np.float32(4.5) - (thick - edge - np.float32(0.1)) * np.float32(0.9),
            0,
            1,
        )
        paint = self.cloud_dim + (self.cloud_lit - self.cloud_dim) * light[..., None]
        colour += (paint - colour) * share[..., None]

    def _aurora(self, colour: Field, x: Field, up: Field, seconds: float, drift: Field) -> Field:
        """The colours with green and violet curtains that wave slowly."""
        wave = np.float32(seconds * 0.05 * self.speed)
        drift = drift[len(drift) // 2]  # The same from top to bottom, so that the rays are vertical.
        fold = x * np.float32(0.55) + np.float32(0.05) * np.sin(x * 5 + wave * 9) + np.float32(0.05) * drift
        rays = smoothly(self.fine, fold * np.float32(1.3) + wave * np.float32(0.1), 0 * fold + wave * np.float32(0.4))
        edge = np.float32(0.62) + np.float32(0.16) * np.sin(x * 2.1 + wave * 6) + np.float32(0.06) * drift
        above = np.clip(edge - up, 0, None)
        curtain = (
            np.exp(-above * np.float32(3.6))
            * stepped(0, 0.09, edge - up)
            * np.clip(rays * np.float32(1.9) - np.float32(0.35), 0, 1)
        )
        share = np.clip(above * np.float32(2.4), 0, 1)[..., None]
        green, violet = np.array((0.28, 0.95, 0.62), np.float32), np.array((0.52, 0.32, 0.86), np.float32)
        return np.asarray(
            colour + (green + (violet - green) * share) * curtain[..., None] * np.float32(0.9), np.float32
        )


class _Stars:
    """Points of light that twinkle independently."""

    def __init__(self, stage: Stage) -> None:
        rng = stage.random("stars")
        count = int(
            260
            * (0.5 + stage.scene.weather.stars)
            * stage.width
            * stage.height
            / 360_000
            * (1.7 if stage.scene.time == "space" else 1)
        )
        self.stage = stage
        reach = stage.height if not stage.scene.ground or stage.horizon > stage.height else stage.horizon
        self.x = rng.uniform(-0.1, 1.1, count) * stage.width
        self.y = rng.uniform(0, 1, count) ** 1.15 * reach * 0.98
        self.size = rng.uniform(0.5, 1.0, count) ** 3 * 1.5 + 0.55
        self.phase, self.rate = rng.uniform(0, 6.28, count), rng.uniform(0.6, 3.0, count)
        warm = rng.uniform(0, 1, (count, 1))
        self.colour = np.array([0.78, 0.86, 1.0]) * (1 - warm) + np.array([1.0, 0.93, 0.8]) * warm

    def over(self, picture: Image.Image, seconds: float, view: View, clouds: float) -> Image.Image:
        """The picture with its stars."""
        stage = self.stage
        x = (self.x - stage.width / 2) * view.scale + stage.width / 2 + view.dx
        y = self.y * view.scale + view.dy
        twinkle = 0.62 + 0.38 * np.sin(seconds * self.rate + self.phase)
        power = twinkle * (1 - 0.6 * min(1.0, clouds)) * 235
        canvas = np.array(picture)
        left, top = np.floor(x).astype(int), np.floor(y).astype(int)
        for dy in range(-1, 3):
            for dx in range(-1, 3):
                column, row = left + dx, top + dy
                far = (column - x) ** 2 + (row - y) ** 2
                inside = (column >= 0) & (column < stage.width) & (row >= 0) & (row < stage.height)
                value = (power * np.exp(-far / (self.size * 0.62)))[inside, None] * self.colour[inside]
                spot = canvas[row[inside], column[inside]]
                canvas[row[inside], column[inside]] = np.minimum(255, np.maximum(spot, spot * 0.6 + value)).astype(
                    np.uint8
                )
        return Image.fromarray(canvas, "RGB")


def _enlarged(plane: Field, width: int, height: int) -> Field:
    picture = Image.fromarray(np.ascontiguousarray(plane)).resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(picture, np.float32)
