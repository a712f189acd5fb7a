"""Rain, snow, drifting particles, lightning and mist."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from .noise import Field, cloudy
from .palette import Colour, mixed, rgb
from .stage import Stage

_KINDS: dict[str, tuple[Colour, ...]] = {
    "snow": (rgb(250, 252, 255),),
    "leaves": (rgb(214, 120, 40), rgb(196, 72, 40), rgb(232, 178, 70)),
    "petals": (rgb(250, 190, 208), rgb(255, 224, 232)),
    "fireflies": (rgb(236, 255, 130),),
    "bubbles": (rgb(226, 246, 255),),
    "dust": (rgb(236, 200, 146),),
    "sparks": (rgb(255, 176, 80), rgb(255, 226, 140)),
    "confetti": (rgb(240, 80, 90), rgb(70, 160, 230), rgb(250, 206, 70), rgb(110, 200, 120)),
}


class Weather:
    """Paints the weather of a scene."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        weather = stage.scene.weather
        self.rain = _Rain(stage) if weather.rain else None
        kinds = [kind for kind, here in (("snow", weather.snow), (weather.drifting, weather.drifting)) if here]
        if stage.scene.ground == "seabed" and not kinds:
            kinds = ["bubbles"]
        if stage.scene.ground == "lava":
            kinds.append("sparks")
        self.flocks = [_Flock(stage, kind) for kind in kinds]
        self.mist = _Mist(stage) if weather.fog or stage.scene.time == "dawn" else None
        self.storm = _Lightning(stage) if weather.storm else None

    def behind(self, picture: Image.Image, seconds: float) -> None:
        """Paint what is between the sky and the land: lightning."""
        if self.storm:
            self.storm.strike(picture, seconds)

    def among(self, picture: Image.Image, seconds: float) -> None:
        """Paint what is on the land, behind the figures: mist."""
        if self.mist:
            self.mist.drift(picture, seconds, (0, 1) if self.stage.scene.weather.fog else (0,))

    def over(self, picture: Image.Image, seconds: float) -> Image.Image:
        """The picture with what is nearest: mist, rain, particles, and the flash of lightning."""
        if self.mist and self.stage.scene.weather.fog:
            self.mist.drift(picture, seconds, (2,))
        if self.rain:
            self.rain.fall(picture, seconds)
        for flock in self.flocks:
            picture = flock.drift(picture, seconds)
        if self.storm:
            picture = self.storm.flash(picture, seconds)
        return picture


class _Rain:
    """Streaks at two depths, each a scrolling tile."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        light = stage.light
        self.colour = tuple(int(255 * part) for part in mixed(mixed(light.low, (1, 1, 1), 0.55), light.glow, 0.2))
        slant = -0.16 - 0.3 * stage.scene.weather.wind
        self.tiles = [
            _streaks(stage, index, count, long, slant)
            for index, (count, long) in enumerate(((260, 0.075), (110, 0.15)))
        ]
        self.slant = slant
        self.speeds = (1.25, 2.0)

    def fall(self, picture: Image.Image, seconds: float) -> None:
        width, height = self.stage.width, self.stage.height
        for tile, speed in zip(self.tiles, self.speeds, strict=True):
            down = int(seconds * speed * self.stage.unit * 1.15) % height
            across = int(seconds * speed * self.stage.unit * 1.15 * self.slant) % width
            cut = (width - across, height - down, 2 * width - across, 2 * height - down)
            picture.paste(self.colour, (0, 0), tile.crop(cut))


def _streaks(stage: Stage, index: int, count: int, long: float, slant: float) -> Image.Image:
    """A tile twice as wide and high as the picture, so that any crop of it wraps."""
    rng = stage.random("rain", index)
    width, height = stage.width, stage.height
    mask = Image.new("L", (width * 2, height * 2))
    pen = ImageDraw.Draw(mask)
    count = int(count * width * height / 360_000)
    for _ in range(count):
        x, y, size = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(0.6, 1.2) * long * stage.unit
        strength = int(rng.uniform(50, 120) * (0.8 + 0.5 * index))
        for dx in (-width, 0, width):
            for dy in (-height, 0, height):
                pen.line([(x + dx, y + dy), (x + dx + size * slant, y + dy + size)], fill=strength, width=1 + index)
    tile = mask.filter(ImageFilter.GaussianBlur(0.6 + 0.3 * index)).crop((0, 0, width, height))
    wide = Image.new("L", (width * 2, height * 2))
    for dx in (0, width):
        for dy in (0, height):
            wide.paste(tile, (dx, dy))
    return wide


class _Flock:
    """Many small floating particles: soft dots that drift independently."""

    def __init__(self, stage: Stage, kind: str) -> None:
        self.stage, self.kind = stage, kind
        rng = stage.random("flock", kind)
        count = int(
            {"snow": 420, "dust": 160, "fireflies": 60, "bubbles": 46, "sparks": 80}.get(kind, 90)
            * stage.width
            * stage.height
            / 360_000
        )
        self.x, self.y = rng.uniform(0, 1, count), rng.uniform(0, 1, count)
        near = rng.uniform(0, 1, count) ** (1.6 if kind == "snow" else 1.0)
        size = {
            "snow": (0.0016, 0.0052),
            "fireflies": (0.004, 0.007),
            "bubbles": (0.004, 0.012),
            "dust": (0.0012, 0.003),
            "sparks": (0.0014, 0.0034),
        }.get(kind, (0.005, 0.011))
        self.radius = (size[0] + (size[1] - size[0]) * near) * stage.unit
        self.near = 0.35 + 0.65 * near
        self.phase, self.rate = rng.uniform(0, 6.28, count), rng.uniform(0.5, 1.4, count)
        colours = _KINDS[kind]
        tinted = [
            colour if kind in ("fireflies", "sparks") else mixed(stage.light.on(colour), colour, 0.45)
            for colour in colours
        ]
        self.colour = np.array(tinted, np.float32)[rng.integers(0, len(colours), count)] * 255

    def drift(self, picture: Image.Image, seconds: float) -> Image.Image:
        stage, kind = self.stage, self.kind
        time = seconds * stage.scene.pace
        fall = {"snow": 0.10, "leaves": 0.10, "petals": 0.075, "confetti": 0.13, "bubbles": -0.09, "sparks": -0.16}.get(
            kind, 0.004
        )
        wind = {"snow": 0.02, "leaves": 0.05, "petals": 0.05, "dust": 0.09}.get(
            kind, 0.0
        ) + 0.14 * stage.scene.weather.wind
        sway = (
            0.012
            * np.sin(time * self.rate * 1.7 + self.phase)
            * (2.4 if kind in ("fireflies", "leaves", "petals") else 1)
        )
        x = (self.x + wind * time * self.near + sway) % 1.04 - 0.02
        y = (
            self.y
            + fall * time * self.near
            + (0.03 * np.sin(time * self.rate + 2 * self.phase) if kind == "fireflies" else 0)
        ) % 1.06 - 0.03
        alpha = 0.85 * np.ones_like(x)
        squash = np.ones_like(x)
        if kind in ("leaves", "petals", "confetti"):
            squash = 0.35 + 0.65 * np.abs(np.sin(time * self.rate * 2.2 + self.phase))
        if kind == "fireflies":
            alpha = np.clip(np.sin(time * self.rate * 1.6 + self.phase), 0, 1) ** 0.7
        if kind == "sparks":
            alpha = np.clip(1.2 - np.abs(2 * y - 1), 0, 1)
        canvas = np.array(picture)
        self._dots(canvas, x * stage.width, y * stage.height, squash, alpha)
        return Image.fromarray(canvas, "RGB")

    def _dots(
        self, canvas: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], x: Field, y: Field, squash: Field, alpha: Field
    ) -> None:
        height, width = canvas.shape[:2]
        reach = int(self.radius.max() * (2.6 if self.kind == "fireflies" else 1)) + 2
        left, top = np.floor(x).astype(int), np.floor(y).astype(int)
        for dy in range(-reach, reach + 1):
            for dx in range(-reach, reach + 1):
                column, row = left + dx, top + dy
                far = np.hypot(column - x, (row - y) / squash)
                if self.kind == "fireflies":
                    cover = np.exp(-((far / self.radius) ** 2))
                elif self.kind == "bubbles":
                    cover = np.exp(-(((far - self.radius) / 0.9) ** 2)) * 0.7 + 0.12 * (far < self.radius)
                else:
                    cover = np.clip(self.radius - far + 0.5, 0, 1)
                cover = cover * alpha
                seen = (cover > 0.02) & (column >= 0) & (column < width) & (row >= 0) & (row < height)
                if seen.any():
                    spot = canvas[row[seen], column[seen]]
                    share = cover[seen, None]
                    canvas[row[seen], column[seen]] = (spot + (self.colour[seen] - spot) * share).astype(np.uint8)


class _Mist:
    """Layers of haze that drift along the horizon, the last one thin and in front of everything."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        amount = max(stage.scene.weather.fog, 0.35)
        self.colour = tuple(int(255 * part) for part in mixed(stage.light.haze, (1, 1, 1), 0.12))
        top, bottom = stage.horizon - 0.28 * stage.height, min(stage.height, stage.horizon + 0.3 * stage.height)
        self.top, self.height = int(max(0, top)), int(bottom) - int(max(0, top))
        wide = stage.width * 2
        y = np.linspace(-1, 1, self.height, dtype=np.float32)[:, None]
        band = np.clip(1 - y * y, 0, 1) ** 1.4
        self.veils = []
        for index, thick in enumerate((150, 150, 70)):
            texture = cloudy((stage.seed, "mist", index), 1.6)
            rows = (np.arange(self.height) * 0.8 + 160 * index).astype(int) % 512
            # The layer wraps after twice the width of the picture, as the texture does.
            columns = (np.arange(wide) * 512 * 2 // wide) % 512
            soft = np.clip((texture[rows][:, columns] - 0.2) * 1.3, 0, 1)
            self.veils.append(Image.fromarray((soft * band * thick * amount).astype(np.uint8), "L"))

    def drift(self, picture: Image.Image, seconds: float, which: tuple[int, ...]) -> None:
        width = self.stage.width
        for index in which:
            veil = self.veils[index]
            shift = (seconds * self.stage.scene.pace * (0.018 + 0.014 * index) * width) % width
            window = veil.resize(
                (width, self.height), Image.Resampling.BILINEAR, box=(shift, 0, shift + width, self.height)
            )
            picture.paste(self.colour, (0, self.top), window)


class _Lightning:
    """A bolt every few seconds, with a soft and rare flash that is safe to watch."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.bolts = [_bolt(stage, index) for index in range(3)]

    def _power(self, seconds: float) -> tuple[float, int]:
        count = int(seconds / 3.1)
        since = seconds - count * 3.1 - 0.9
        return (float(np.exp(-since * 4.5)) if since >= 0 else 0.0), count % 3

    def strike(self, picture: Image.Image, seconds: float) -> None:
        power, index = self._power(seconds)
        if power > 0.05:
            mask = self.bolts[index].point([int(value * power) for value in range(256)])
            picture.paste((236, 240, 255), (0, 0), mask)

    def flash(self, picture: Image.Image, seconds: float) -> Image.Image:
        power, _ = self._power(seconds)
        if power < 0.05:
            return picture
        level = int(34 * power)
        return ImageChops.add(picture, Image.new("RGB", picture.size, (level, level, int(level * 1.15))))


def _bolt(stage: Stage, index: int) -> Image.Image:
    rng = stage.random("bolt", index)
    mask = Image.new("L", (stage.width, stage.height))
    pen = ImageDraw.Draw(mask)
    foot = min(stage.horizon, 0.8 * stage.height)

    def branch(x: float, y: float, width: int, depth: int) -> None:
        while y < foot:
            nx, ny = x + rng.normal(0, 0.022) * stage.unit, y + rng.uniform(0.02, 0.05) * stage.unit
            pen.line([(x, y), (nx, ny)], fill=255 if depth == 0 else 150, width=width)
            if depth == 0 and rng.random() < 0.12:
                branch(nx, ny, 1, 1)
            if depth and rng.random() < 0.12:
                return
            x, y = nx, ny

    branch(rng.uniform(0.2, 0.8) * stage.width, 0.0, 2, 0)
    glow = mask.filter(ImageFilter.GaussianBlur(5)).point([min(255, value * 3) // 2 for value in range(256)])
    return ImageChops.lighter(mask.filter(ImageFilter.GaussianBlur(0.7)), glow)
