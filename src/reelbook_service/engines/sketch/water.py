"""Reflecting surfaces: open water with waves, and wet streets."""

from __future__ import annotations

import numpy as np
from PIL import Image

from .light import hexed, in_bytes
from .noise import NoiseField, cloudy, sampled, stepped
from .stage import Stage, View


class Water:
    """Open water, painted as a reflection of the picture above the horizon, distorted by waves."""

    def __init__(self, stage: Stage, *, calm: float) -> None:
        self.stage, self.rough = stage, 1.25 - calm
        self.waves = cloudy((stage.seed, "waves"), 1.25)
        self.is_stormy = "storm" in stage.scene.weather
        deep = hexed("#243a46" if self.is_stormy else "#13546b")
        self.deep, self.glint = in_bytes(stage.light.on(deep, depth=0.06)), in_bytes(stage.light.glow)
        self.pace = stage.scene.pace * (1 + 0.8 * ("wind" in stage.scene.weather))

    def paint(self, picture: Image.Image, seconds: float, view: View, sun_x: float) -> None:
        """Paint the water below the horizon."""
        stage, top = self.stage, round(self.stage.centre[1] + view.dy)
        size = width, height = stage.width, stage.height - top
        if height < 2 or top < 2:
            return
        # Waves are smooth: computed at half the size, then enlarged.
        span = stage.unit * view.scale
        down = (np.arange(-(-height // 2), dtype=np.float32)[:, None] * 2 + 0.6) / span
        across = (np.arange(-(-width // 2), dtype=np.float32)[None] * 2 - width / 2 - view.dx) / span
        waves = self._waves(down, across, seconds * self.pace)
        up = _enlarged(waves * (0.012 + down * 0.30) * (self.rough * stage.unit), size)
        aside = _enlarged(waves * (7 * self.rough), size)
        row = np.abs(np.arange(height, dtype=np.float32)[:, None] * 0.92 + up)
        row = np.clip(top - 1 - row, 0, top - 1).astype(np.int32)
        column = np.clip(np.arange(width, dtype=np.float32)[None] + aside, 0, width - 1).astype(np.int32)
        # Four bytes a pixel, so that one index picks all of them.
        above = np.asarray(picture.crop((0, 0, width, top)).convert("RGBX")).view(np.uint32).ravel()
        mirrored = above.take(row * width + column).tobytes()
        mirror = Image.frombuffer("RGBX", size, mirrored, "raw", "RGBX", 0, 1).convert("RGB")
        # Far water reflects the sky, near water has the colour of its depth.
        share = np.clip(0.88 - down * 0.75, 0.30, 1) - 0.10 * np.clip(waves, -1, 1)
        mirror.paste(self.deep, (0, 0), _mask(1 - share, size))
        mirror.paste(self.glint, (0, 0), _mask(self._sparkle(down, across, waves, sun_x), size))
        picture.paste(mirror, (0, top))

    def _waves(self, down: NoiseField, across: NoiseField, time: float) -> NoiseField:
        """The slope of the water, from about -1 to 1, finer towards the horizon."""
        far = 1 / (down + 0.055)
        u, v = across * far * 0.10, far * 0.36
        first = sampled(self.waves, u + time * 0.010, v + time * 0.030)
        second = sampled(self.waves, u * 1.9 + 0.37 - time * 0.014, v * 1.7 + time * 0.022)
        return np.asarray((first + second - 1) * 1.9, np.float32)

    def _sparkle(self, down: NoiseField, across: NoiseField, waves: NoiseField, sun_x: float) -> NoiseField:
        """The strength of the path of light below the sun, and of foam on crests."""
        stage = self.stage
        path = np.exp(-(((across - (sun_x - stage.width / 2) / stage.unit) / (0.07 + down * 0.55)) ** 2))
        low = 0.9 * (1.0 - 0.6 * stage.light.height) * (0.15 if {"rain", "storm", "fog"} & stage.scene.weather else 1)
        foam = (0.5 if self.is_stormy else 0.10) * stepped(0.5, 0.9, waves)
        return np.clip(path * stepped(0.30, 0.62, waves) * low + foam, 0, 0.92)


def reflect_in_street(picture: Image.Image, stage: Stage, view: View) -> None:
    """Paint what a wet street reflects: what is behind it, blurred and faint."""
    width, height = stage.width, max(2, int(0.9 * (stage.height - stage.horizon)))
    top = round(stage.centre[1] + view.dy) + 3
    if top < height // 2:
        return
    band = picture.crop((0, max(0, top - int(1.6 * height)), width, top))
    # Shrinking and enlarging is the cheapest blur; wet stone blurs vertically more than horizontally.
    soft = band.resize((width // 3, 14), Image.Resampling.BILINEAR).transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    fading = _mask(np.linspace(0.4, 0.06, 14, dtype=np.float32)[:, None], (width, height))
    picture.paste(soft.resize((width, height), Image.Resampling.BILINEAR), (0, top), fading)


def _enlarged(values: NoiseField, size: tuple[int, int]) -> NoiseField:
    return np.asarray(Image.fromarray(np.ascontiguousarray(values)).resize(size, Image.Resampling.BILINEAR))


def _mask(share: NoiseField, size: tuple[int, int]) -> Image.Image:
    small = Image.fromarray((np.clip(share, 0, 1) * 255).astype(np.uint8))
    return small.resize(size, Image.Resampling.BILINEAR)
