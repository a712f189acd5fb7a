"""Reflecting surfaces: open water with waves, and wet streets."""

from __future__ import annotations

import numpy as np
from PIL import Image

from .light import hexed, in_bytes
from .noise import NoiseField, cloudy, smoothly, stepped
from .stage import Stage, View


class Water:
    """Open water, painted as a reflection of the picture above the horizon, distorted by waves."""

    def __init__(self, stage: Stage, *, calm: float) -> None:
        self.stage, self.calm = stage, calm
        self.waves = cloudy((stage.seed, "waves"), 1.25)
        self.is_stormy = "storm" in stage.scene.weather
        deep = hexed("#243a46" if self.is_stormy else "#13546b")
        self.deep, self.glint = in_bytes(stage.light.on(deep, depth=0.06)), in_bytes(stage.light.glow)
        self.pace = stage.scene.pace * (1 + 0.8 * ("wind" in stage.scene.weather))

    def paint(self, picture: Image.Image, seconds: float, view: View, sun_x: float) -> None:
        """Paint the water below the horizon."""
        stage = self.stage
        top = round(stage.centre[1] + view.dy)
        height = stage.height - top
        if height < 2 or top < 2:
            return
        above = np.asarray(picture.crop((0, 0, stage.width, top)).convert("RGBX")).view(np.uint32)[..., 0]
        # Waves are smooth: computed at half the size, then enlarged.
        span = np.float32(stage.unit * view.scale)
        down = (np.arange(-(-height // 2), dtype=np.float32)[:, None] * 2 + np.float32(0.6)) / span
        across = np.arange(-(-stage.width // 2), dtype=np.float32)[None] * 2 - np.float32(stage.width / 2 + view.dx)
        across /= span
        small = self._waves(down, across, seconds)
        rough = np.float32(1.25 - self.calm)
        size = (stage.width, height)
        up = _enlarged(small * (np.float32(0.012) + down * np.float32(0.30)) * rough * np.float32(stage.unit), size)
        aside = _enlarged(small * (7 * rough), size)
        rows = np.abs(np.arange(height, dtype=np.float32)[:, None] * np.float32(0.92) + up)
        row = np.clip(np.float32(top - 1) - rows, 0, top - 1).astype(np.int32)
        column = np.clip(np.arange(stage.width, dtype=np.float32)[None] + aside, 0, stage.width - 1).astype(np.int32)
        row *= stage.width
        row += column
        mirrored = np.ascontiguousarray(above).ravel().take(row).tobytes()
        mirror = Image.frombuffer("RGBX", size, mirrored, "raw", "RGBX", 0, 1).convert("RGB")
        # Far water reflects the sky, near water has the colour of its depth.
        share = np.clip(np.float32(0.88) - down * np.float32(0.75), 0.30, 1) - np.float32(0.10) * np.clip(small, -1, 1)
        mirror.paste(self.deep, (0, 0), _mask(1 - share, size))
        mirror.paste(self.glint, (0, 0), _mask(self._sparkle(down, across, small, sun_x), size))
        picture.paste(mirror, (0, top))

    def _waves(self, down: NoiseField, across: NoiseField, seconds: float) -> NoiseField:
        """The slope of the water, from about -1 to 1, finer towards the horizon."""
        pace = np.float32(seconds * self.pace)
        far = 1 / (down + np.float32(0.055))
        u, v = across * far * np.float32(0.10), far * np.float32(0.36)
        first = smoothly(self.waves, u + pace * np.float32(0.010), v + pace * np.float32(0.030))
        u, v = u * np.float32(1.9) + np.float32(0.37), v * np.float32(1.7)
        second = smoothly(self.waves, u - pace * np.float32(0.014), v + pace * np.float32(0.022))
        return np.asarray((first + second - 1) * np.float32(1.9), np.float32)

    def _sparkle(self, down: NoiseField, across: NoiseField, wave: NoiseField, sun_x: float) -> NoiseField:
        """The strength of the path of light below the sun, and of foam on crests."""
        stage = self.stage
        centre = np.float32((sun_x - stage.width / 2) / stage.unit)
        path = np.exp(-(((across - centre) / (np.float32(0.07) + down * np.float32(0.55))) ** 2))
        low = 0.9 * (1.0 - 0.6 * stage.light.height) * (0.15 if {"rain", "storm", "fog"} & stage.scene.weather else 1)
        foam = np.float32(0.5 if self.is_stormy else 0.10) * stepped(0.5, 0.9, wave)
        return np.asarray(np.clip(path * stepped(0.30, 0.62, wave) * np.float32(low) + foam, 0, 0.92), np.float32)


class WetStreet:
    """A wet street, which reflects what is behind it, blurred and faint."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        size = (stage.width, max(2, int(0.9 * (stage.height - stage.horizon))))
        puddles = np.clip(cloudy((stage.seed, "wet"), 1.1)[::4, ::4] * 1.5 - 0.2, 0.15, 1)
        self.mask = _mask(puddles * np.linspace(0.46, 0.12, len(puddles), dtype=np.float32)[:, None], size)

    def paint(self, picture: Image.Image, view: View) -> None:
        """Paint the reflection over the ground."""
        width, height = self.mask.size
        top = round(self.stage.centre[1] + view.dy) + 3
        if top >= height // 2:
            band = picture.crop((0, max(0, top - int(1.6 * height)), width, top))
            # Shrinking and enlarging is the cheapest blur; wet stone blurs vertically more than horizontally.
            soft = band.resize((width // 3, 14), Image.Resampling.BILINEAR).transpose(Image.Transpose.FLIP_TOP_BOTTOM)
            picture.paste(soft.resize((width, height), Image.Resampling.BILINEAR), (0, top), self.mask)


def _enlarged(values: NoiseField, size: tuple[int, int]) -> NoiseField:
    picture = Image.fromarray(np.ascontiguousarray(values)).resize(size, Image.Resampling.BILINEAR)
    return np.asarray(picture, np.float32)


def _mask(share: NoiseField, size: tuple[int, int]) -> Image.Image:
    small = Image.fromarray((np.clip(share, 0, 1) * np.float32(255)).astype(np.uint8), "L")
    return small.resize(size, Image.Resampling.BILINEAR)
