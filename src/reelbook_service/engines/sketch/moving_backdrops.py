"""Moving backgrounds: light shafts under water, a sea of clouds, a waterfall, a plume of smoke."""

from __future__ import annotations

import numpy as np
from PIL import Image

from .figures.kit import Kit, smoke
from .layers import seen_at
from .noise import Field, cloudy, sampled, stepped
from .palette import mixed, scaled
from .puppet import Pose, show
from .stage import Stage, View


class Shafts:
    """Rays of light from above the water."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.texture = cloudy((stage.seed, "shafts"), 1.3)

    def lay(self, colour: Field, x: Field, y: Field, seconds: float, push: Field) -> Field:
        """Colours with bright stripes that fan out and drift."""
        unit = np.float32(self.stage.unit)
        pace = np.float32(seconds * self.stage.scene.pace)
        down = np.clip(y / np.float32(self.stage.height), 0, 1)
        fan = (x / unit + np.float32(0.25) * push * down) / (np.float32(0.7) + np.float32(0.75) * down)
        rays = sampled(
            self.texture, fan * np.float32(0.36) + pace * np.float32(0.006), 0 * fan + pace * np.float32(0.012)
        )
        fine = sampled(
            self.texture,
            fan * np.float32(0.9) - pace * np.float32(0.009),
            0 * fan + np.float32(0.4) + pace * np.float32(0.017),
        )
        strength = np.clip((rays + fine - np.float32(0.95)) * np.float32(1.5), 0, 1) * (1 - down) ** np.float32(1.3)
        glow = np.array(self.stage.light.glow, np.float32)
        return np.asarray(colour + (glow - colour) * (strength * np.float32(0.55))[..., None], np.float32)


class CloudSea:
    """Clouds from above, to the horizon."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.soft, self.fine = cloudy((stage.seed, "billows"), 1.6), cloudy((stage.seed, "tufts"), 1.2)
        light = stage.light
        self.lit = np.array(mixed(mixed(light.glow, (1, 1, 1), 0.3), light.ambient, 0.35), np.float32)
        self.dim = np.array(scaled(mixed(light.top, light.haze, 0.45), 0.92), np.float32)
        self.haze = np.array(light.low, np.float32)

    def lay(self, colour: Field, x: Field, below: Field, seconds: float, push: Field) -> None:
        """Paint clouds below the horizon; `x` and `below` are in shorter sides of the picture."""
        pace = np.float32(seconds * 0.016 * self.stage.scene.pace)
        flat = np.float32(0.30) / (np.maximum(below, 0) + np.float32(0.075))
        u, v = (
            x * flat * np.float32(0.36) + pace * np.float32(0.5),
            flat * np.float32(0.62) + pace + np.float32(0.008) * push,
        )
        side = np.float32(0.014 if self.stage.light.across > 0.5 else -0.014)
        body, tufts = sampled(self.soft, u, v), sampled(self.fine, u * 2, v * 2)
        ahead = sampled(self.soft, u + side, v + np.float32(0.012))
        light = np.clip(
            np.float32(0.5)
            + (body - ahead) * np.float32(6)
            + (body - np.float32(0.5)) * np.float32(1.1)
            + (tufts - np.float32(0.5)) * np.float32(0.35),
            0,
            1,
        )
        paint = self.dim + (self.lit - self.dim) * light[..., None]
        far = np.exp(-np.maximum(below, 0) * np.float32(9))[..., None]
        paint += (self.haze - paint) * far * np.float32(0.75)
        edge = stepped(0.0, 0.05, below + (body - np.float32(0.5)) * np.float32(0.045))
        colour += (paint - colour) * edge[..., None]


class Fall:
    """The water of a waterfall, between its cliffs."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.texture = cloudy((stage.seed, "fall"), 1.0)
        self.wide, self.high = max(8, int(0.27 * stage.unit)), max(8, int(0.43 * stage.unit))
        x = np.linspace(-1, 1, self.wide, dtype=np.float32)[None]
        y = np.linspace(0, 1, self.high, dtype=np.float32)[:, None]
        self.cover = np.clip((1 - np.abs(x) - 0.05 * np.sin(y * 9 + x * 4)) * 9, 0, 1) * np.clip(y * 12, 0.5, 1)
        self.spray = np.clip(y * 5 - 4, 0, 1) * np.clip(1.1 - np.abs(x), 0, 1)
        self.x, self.y = x, y
        self.white = np.array(stage.light.on((0.93, 0.97, 1.0)), np.float32) * 255
        self.blue = np.array(stage.light.on((0.52, 0.68, 0.76)), np.float32) * 255

    def pour(self, picture: Image.Image, seconds: float, view: View) -> None:
        """Paint the falling water at a time."""
        stage = self.stage
        pace = np.float32(seconds * stage.scene.pace)
        u = self.x * np.float32(0.16) + 0 * self.y
        v = np.sqrt(self.y + np.float32(0.04)) * np.float32(0.34) - pace * np.float32(0.42)
        streaks = sampled(self.texture, u * 2, v * np.float32(0.35) + 0 * self.x)
        fine = sampled(self.texture, u * 4 + np.float32(0.3), v * np.float32(0.5) + 0 * self.x)
        share = np.clip(np.float32(0.15) + streaks * np.float32(0.9) + fine * np.float32(0.3) + self.spray, 0, 1)[
            ..., None
        ]
        colour = self.blue + (self.white - self.blue) * share
        sheet = Image.fromarray(np.clip(colour, 0, 255).astype(np.uint8), "RGB")
        mask = Image.fromarray((self.cover * 245).astype(np.uint8), "L")
        size = (int(self.wide * view.scale), int(self.high * view.scale))
        left = stage.width / 2 + view.dx - size[0] / 2
        top = min(stage.horizon, stage.height * 0.75) + 3 + view.dy - size[1]
        picture.paste(
            sheet.resize(size, Image.Resampling.BILINEAR),
            (round(left), round(top)),
            mask.resize(size, Image.Resampling.BILINEAR),
        )


class Plume:
    """Smoke and sparks above a volcano."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        kit = Kit(stage.light, stage.unit, (), stage.random("plume"))
        self.parts = [
            *smoke(kit, 0, 0.02, (0.42, 0.36, 0.40), size=0.07, rise=0.34, lean=0.10, count=8, life=5.0),
            *smoke(kit, 0, 0.03, (0.95, 0.42, 0.18), size=0.03, rise=0.16, lean=0.02, count=5, life=1.6),
        ]

    def rise(self, picture: Image.Image, seconds: float, view: View) -> None:
        """Paint the plume, before the cone is painted."""
        stage = self.stage
        mouth = stage.horizon + 6 - 0.385 * min(stage.height, 1.3 * stage.unit)
        x, y = seen_at(stage, view, stage.width / 2, mouth)
        show(picture, self.parts, Pose(x, y, stage.unit * view.scale, time=seconds * stage.scene.pace))
