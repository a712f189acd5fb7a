"""Grounds: the rows of `[ground]` in words.toml, as soil with bands, fields in rows, or shores; and what reflects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PIL import Image

from .light import Colour, Light, hexed, in_bytes, mixed, scaled
from .noise import NoiseField, cloudy, profile, sampled, stepped
from .stage import Plane, Stage, View, blended, plane
from .tables import TABLE

NEARNESS = 0.62
"""The nearness of grounds and figures alike, so that feet do not slip when the camera moves."""

SNOW = hexed("#e8eff7")


def meadow_colour(stage: Stage) -> Colour:
    """The colour of open land in this season."""
    return hexed(TABLE["meadow"].get(stage.scene.season, TABLE["meadow"]["usual"]))


def inside(stage: Stage) -> Light:
    """The light of the scene; in a room it is warm in the evening, daylight by day."""
    if stage.scene.ground != "floor":
        return stage.light
    is_evening = stage.light.dark or stage.scene.time in ("dusk", "sunset")
    lamp = hexed("#dba875" if is_evening else "#fff2e0")
    return replace(stage.light, ambient=lamp, haze=lamp)


def ground(stage: Stage) -> list[Plane]:
    """The ground of a scene in perspective; open water and the open sky have none."""
    row, season, light = TABLE["ground"][stage.scene.ground], stage.scene.season, inside(stage)
    if "near" not in row:
        return []
    if row["near"] == "meadow":
        meadow = meadow_colour(stage)
        near = meadow if season == "winter" else mixed(scaled(meadow, 0.86), hexed("#346028"), 0.25)
        far = mixed(meadow, hexed("#bec86e"), 0.25)
    else:
        near, far = hexed(row.get(season, row["near"])), hexed(row.get(season, row["far"]))
    deep = stage.height - stage.horizon
    top = stage.horizon + ((row["shore"] - 0.12) * deep if "shore" in row else row.get("top", 0.02) * stage.height)
    # For every pixel its depth (0 at the top, 1 at the lower edge) and position on the flat ground.
    x, y = stage.grid(top, stage.height + stage.margin_y)
    down = np.broadcast_to(np.clip((y - top) / (stage.height - top), 0.004, 1.6), (len(y), stage.wide))
    away = 1 / (down + 0.07)
    across, nearing = (x - stage.width / 2) / stage.unit * away, stepped(0, 0.8, down)
    colour = blended(far, near, nearing)
    if "plants" in row:  # In rows that meet at one vanishing point, equally far apart on the ground.
        plants = np.array([SNOW] if season == "winter" else [hexed(plant) for plant in row["plants"]], np.float32)
        colour = blended(colour, plants[np.floor(across * 17 / (2 * np.pi)).astype(int) % len(plants)],
                         stepped(-0.35, 0.45, np.sin(across * 17)))  # fmt: skip
    coarse = sampled(cloudy((stage.seed, "soil"), 1.6), across * 0.09, away * row.get("stretch", 1.0) * 0.16) - 0.5
    fine = sampled(cloudy((stage.seed, "blades"), 0.95), across * 0.42, away * row.get("stretch", 1.0) * 0.9) - 0.5
    # Texture fades with distance, where it would flicker.
    texture = row.get("rough", 0.3) * (1.1 * coarse + 0.7 * fine) * np.clip(down * 2.6, 0.05, 1)
    colour = colour * (1 + texture)[..., None]
    wobble = (profile((stage.seed, "edge"), stage.wide, features=9)[None] - 0.5) * 2 * row.get("edge", 0.0)
    for start, end, tint, *dashes in row.get("bands", ()):
        soft = min(0.012, (end - start) / 2)
        share = stepped(start - soft, start + soft, down + wobble)
        share = share * (1 - stepped(end - soft, end + soft, down - wobble))
        if dashes:
            share = share * ((x / stage.unit * dashes[0]) % 1 < dashes[1])
        colour = blended(colour, hexed(tint), share)
    cover = np.clip((y - int(top)) / 4, 0, 1)
    if "shore" in row:
        # The edge of the water wanders, and is wet.
        bends = profile((stage.seed, "shore"), stage.wide, features=1.6 * stage.wide / stage.unit, slope=2.2)
        inland = (y - stage.horizon - (row["shore"] + 0.16 * (bends[None] - 0.5)) * deep) / stage.height
        colour = blended(colour, hexed(row["wet"]), np.exp(-np.clip(inland, 0, None) * 26) * 0.75)
        cover = stepped(-0.004, 0.008, inland)
    colour = blended(colour * np.asarray(light.ambient, np.float32), light.haze, row.get("haze", 0.38) * (1 - nearing))
    # Warmer on the side of the sun, and darker at the lower edge.
    sunny = np.exp(-(((x / stage.width - light.across) / 0.5) ** 2)) * np.clip(1 - down * 1.1, 0, 1)
    colour = blended(colour, light.glow, sunny * 0.22 * min(1.0, float(light.ambient.sum()) / 2.4))
    colour = colour * (1 - 0.2 * np.clip(down - 0.45, 0, 1) ** 1.2)[..., None]
    return [plane(colour, np.broadcast_to(cover, down.shape), top, NEARNESS)]


class Water:
    """Open water, painted as a reflection of the picture above the horizon, distorted by waves."""

    def __init__(self, stage: Stage, calm: float) -> None:
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
