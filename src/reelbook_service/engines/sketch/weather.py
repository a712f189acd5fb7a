"""Weather in the air: rain, snow and other particles, mist, and lightning."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from .brush import Pose, show
from .figures import Kit, draw
from .light import hexed, in_bytes, mixed
from .noise import cloudy
from .stage import Stage
from .tables import TABLE


class Weather:
    """Paints the weather of a scene."""

    def __init__(self, stage: Stage) -> None:
        named, ground = stage.scene.weather, stage.scene.ground
        kinds = [name for name in TABLE["particles"] if name in named]
        if ground == "seabed":
            kinds = [name for name in kinds if name != "snow"] or ["bubbles"]
        if ground == "rock":
            kinds.append("sparks")
        self.rain = Rain(stage) if "rain" in named else None
        self.flocks = [Flock(stage, kind) for kind in kinds]
        self.has_fog = "fog" in named
        self.mist = _Mist(stage) if self.has_fog or stage.scene.time == "dawn" else None
        self.storm = _Lightning(stage) if "storm" in named else None

    def behind(self, picture: Image.Image, seconds: float) -> None:
        """Paint what is between the sky and the land: lightning."""
        if self.storm:
            self.storm.strike(picture, seconds)

    def among(self, picture: Image.Image, seconds: float) -> None:
        """Paint what is on the land, behind the figures: mist."""
        if self.mist:
            self.mist.drift(picture, seconds, (0, 1) if self.has_fog else (0,))

    def over(self, picture: Image.Image, seconds: float) -> Image.Image:
        """The picture with what is nearest: mist, rain, particles, and the flash of lightning."""
        if self.mist and self.has_fog:
            self.mist.drift(picture, seconds, (2,))
        if self.rain:
            self.rain.fall(picture, seconds)
        for flock in self.flocks:
            picture = flock.drift(picture, seconds)
        return self.storm.flash(picture, seconds) if self.storm else picture


class Rain:
    """Streaks at two depths, each a scrolling tile."""

    def __init__(self, stage: Stage) -> None:
        self.stage, light = stage, stage.light
        self.colour = in_bytes(mixed(mixed(light.low, (1, 1, 1), 0.55), light.glow, 0.2))
        self.slant = -0.16 - 0.3 * ("wind" in stage.scene.weather)
        self.tiles = [self._tile(index, count, long) for index, (count, long) in enumerate(((260, 0.075), (110, 0.15)))]

    def fall(self, picture: Image.Image, seconds: float) -> None:
        """Paint the streaks at a time."""
        width, height = self.stage.width, self.stage.height
        for tile, speed in zip(self.tiles, (1.44, 2.3), strict=True):
            way = seconds * speed * self.stage.unit
            down, across = int(way) % height, int(way * self.slant) % width
            picture.paste(
                self.colour, (0, 0), tile.crop((width - across, height - down, 2 * width - across, 2 * height - down))
            )

    def _tile(self, index: int, count: int, long: float) -> Image.Image:
        """A tile twice as wide and high as the picture, so that any crop of it wraps."""
        rng, width, height = self.stage.random("rain", index), self.stage.width, self.stage.height
        mask = Image.new("L", (width * 2, height * 2))
        pen = ImageDraw.Draw(mask)
        for _ in range(int(count * width * height / 360_000)):
            x, y, size = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(0.6, 1.2) * long * self.stage.unit
            strength = int(rng.uniform(50, 120) * (0.8 + 0.5 * index))
            for dx in (-width, 0, width):
                for dy in (-height, 0, height):
                    ends = (x + dx, y + dy, x + dx + size * self.slant, y + dy + size)
                    pen.line(ends, fill=strength, width=1 + index)
        tile = mask.filter(ImageFilter.GaussianBlur(0.6 + 0.3 * index)).crop((0, 0, width, height))
        for corner in ((0, 0), (width, 0), (0, height), (width, height)):
            mask.paste(tile, corner)
        return mask


class Flock:
    """Many small particles that drift independently: the rows of `[particles]`."""

    def __init__(self, stage: Stage, kind: str, *, many: float = 1.0) -> None:
        self.stage, self.row, rng = stage, TABLE["particles"][kind], stage.random("flock", kind)
        self.look = self.row.get("look", "dot")
        self.deep = min(stage.horizon, stage.height) if self.look == "star" else stage.height
        count = int(many * self.row["count"] * stage.width * stage.height / 360_000)
        self.x, self.y = rng.uniform(0, 1, count), rng.uniform(0, 1, count)
        near = rng.uniform(0, 1, count) ** (1.6 if kind == "snow" else 3.0 if kind == "stars" else 1.0)
        small, large = self.row["size"]
        self.radius = (small + (large - small) * near) * stage.unit
        self.near = 0.35 + 0.65 * near
        self.phase, self.rate = rng.uniform(0, 6.28, count), rng.uniform(0.5, 1.4, count)
        colours = [hexed(colour) for colour in self.row["colours"].split()]
        if self.look not in ("glow", "star"):
            colours = [mixed(stage.light.on(colour), colour, 0.45) for colour in colours]
        self.colour = np.array(colours, np.float32)[rng.integers(0, len(colours), count)] * 255

    def drift(self, picture: Image.Image, seconds: float) -> Image.Image:
        """The picture with the particles at a time."""
        stage, row = self.stage, self.row
        time = seconds * stage.scene.pace
        wind = row.get("drift", 0.0) + 0.14 * ("wind" in stage.scene.weather and self.look != "star")
        sway = 0.012 * np.sin(time * self.rate * 1.7 + self.phase) * row.get("sway", 1.0)
        x = (self.x + wind * time * self.near + sway) % 1.04 - 0.02
        y = (self.y + row["fall"] * time * self.near + (sway if self.look == "glow" else 0)) % 1.06 - 0.03
        squash, alpha = np.ones_like(x), 0.85 * np.ones_like(x)
        if self.look == "flat":
            squash = 0.35 + 0.65 * np.abs(np.sin(time * self.rate * 2.2 + self.phase))
        if self.look == "glow":
            alpha = np.clip(np.sin(time * self.rate * 1.6 + self.phase), 0, 1) ** 0.7
        if self.look == "star":
            alpha = (0.62 + 0.38 * np.sin(time * self.rate * 2 + self.phase)) * (1 - 0.6 * stage.scene.clouds)
        x, y, canvas = x * stage.width, y * self.deep, np.array(picture)
        reach = 1 if self.look == "star" else int(self.radius.max() * (2.6 if self.look == "glow" else 1)) + 2
        left, top = np.floor(x).astype(int), np.floor(y).astype(int)
        for dy in range(-reach, reach + 1):
            for dx in range(-reach, reach + 1):
                column, line = left + dx, top + dy
                far = np.hypot(column - x, (line - y) / squash)
                cover = np.clip(self.radius - far + 0.5, 0, 1)
                if self.look in ("glow", "star"):
                    cover = np.exp(-((far / self.radius) ** 2))
                elif self.look == "ring":
                    cover = np.exp(-(((far - self.radius) / 0.9) ** 2)) * 0.7 + 0.12 * (far < self.radius)
                cover = cover * alpha
                seen = (cover > 0.02) & (column >= 0) & (column < stage.width) & (line >= 0) & (line < stage.height)
                if seen.any():
                    spot = canvas[line[seen], column[seen]]
                    painted = spot + (self.colour[seen] - spot) * cover[seen, None]
                    canvas[line[seen], column[seen]] = painted.astype(np.uint8)
        return Image.fromarray(canvas, "RGB")


class _Mist:
    """Veils of haze that drift along the horizon, the last one thin and in front of everything."""

    def __init__(self, stage: Stage) -> None:
        self.stage, width = stage, stage.width
        self.colour = in_bytes(mixed(stage.light.haze, (1, 1, 1), 0.12))
        self.top = int(max(0, stage.horizon - 0.28 * stage.height))
        high = max(2, int(min(stage.height, stage.horizon + 0.3 * stage.height)) - self.top)
        band = np.clip(1 - np.linspace(-1, 1, high)[:, None] ** 2, 0, 1) ** 1.4
        # A veil wraps after twice the width of the picture, as the texture does.
        rows, columns = np.arange(high) * 4 // 5 % 512, np.arange(width * 2) * 512 // width % 512
        soft = np.clip((cloudy((stage.seed, "mist"), 1.6)[rows][:, columns] - 0.2) * 1.3, 0, 1) * band
        amount = 1.0 if "fog" in stage.scene.weather else 0.35
        self.veils = [Image.fromarray((soft * thick * amount).astype(np.uint8), "L") for thick in (150, 150, 70)]

    def drift(self, picture: Image.Image, seconds: float, which: tuple[int, ...]) -> None:
        width, pace = self.stage.width, self.stage.scene.pace
        for index in which:
            shift = ((seconds * pace * (0.018 + 0.014 * index) + 0.37 * index) * width) % width
            box = (shift, 0, shift + width, self.veils[index].height)
            window = self.veils[index].resize((width, box[3]), Image.Resampling.BILINEAR, box=box)
            picture.paste(self.colour, (0, self.top), window)


class _Lightning:
    """A bolt every few seconds, with a soft and rare flash that is safe to watch."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.foot = stage, min(stage.horizon, 0.8 * stage.height)
        self.bolt = draw("bolt", Kit(stage.light, self.foot, (), stage.random("bolt")))

    def _power(self, seconds: float) -> float:
        since = seconds % 3.1 - 0.9
        return float(np.exp(-since * 4.5)) if since >= 0 else 0.0

    def strike(self, picture: Image.Image, seconds: float) -> None:
        count, power = int(seconds / 3.1), self._power(seconds)
        x = self.stage.width * (0.2 + 0.6 * (0.618 * count % 1))
        show(picture, self.bolt, Pose(x, self.foot, self.foot, mirrored=count % 2 == 1, alpha=power))

    def flash(self, picture: Image.Image, seconds: float) -> Image.Image:
        level = int(34 * self._power(seconds))
        return ImageChops.add(picture, Image.new("RGB", picture.size, (level, level, level))) if level > 1 else picture
