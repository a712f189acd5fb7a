"""The land: grounds and backdrops, the rows of `[ground]` and `[backdrop]` in words.toml, and what reflects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from PIL import Image

from .figures import Kit, Pose, draw, show
from .light import Colour, Light, hexed, in_bytes, mixed, scaled
from .noise import NoiseField, cloudy, generator, profile, sampled, stepped
from .stage import Plane, Stage, View, blended, plane
from .words import TABLE

NEARNESS = 0.62
"""The nearness of grounds and figures alike, so that feet do not slip when the camera moves."""

SNOW = hexed("#e8eff7")

Spot = tuple[float, float, float]
"""The x, the foot and the height of a figure, in pixels of the world."""


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


def backdrop(stage: Stage, name: str) -> Iterator[Plane]:
    """Yield the planes of a backdrop, far to near; none of one that moves, which is a figure."""
    for row in TABLE["backdrop"].get(name, ()):
        for layer in np.linspace(0, 1, row.get("layers", 1)).tolist():
            item = {
                key: value[0] + (value[1] - value[0]) * layer if isinstance(value, list) else value
                for key, value in row.items()
            }
            if "ridge" in item:
                yield _ridge(stage, item, (name, layer))
            elif "scatter" not in item or stage.scene.season != "winter":  # Flowers do not bloom in the snow.
                yield _place(stage, *_spots(stage, item), item)


def _spots(stage: Stage, row: dict[str, Any]) -> tuple[Sequence[str], list[Spot]]:
    """The kinds of figures of a row, and where each stands."""
    rng, size, width, height = generator(stage.seed, str(row)), row["size"] * stage.unit, stage.width, stage.height
    by_water = stage.scene.ground in ("water", "river", "beach")
    foot = stage.horizon + height * (row.get("shore", row.get("foot", 0)) if by_water else row.get("foot", 0))
    spots: list[Spot] = []
    if "one" in row:
        side = row["side"] if stage.scene.chance("side") > 0 else -row["side"]
        return [row["one"]], [(width * (0.5 + side), foot, size)]
    if "sides" in row:  # The middle stays free.
        for index in range(int(row["count"])):
            place = rng.uniform(-0.03, row.get("reach", 0.34))
            y = height * rng.uniform(0.92 - row.get("high", 0.0), 1.04)
            spots.append((width * (place if index % 2 else 1 - place), y, size * rng.uniform(0.7, 1.25)))
        return [row["sides"]], sorted(spots, key=lambda spot: spot[1])
    if "scatter" in row:  # All over the ground, larger in front.
        top = stage.horizon + 0.04 * height
        for down in np.sort(rng.uniform(0.04, 1.0, row["count"]) ** 0.9).tolist():
            x, y = rng.uniform(-0.05, 1.05) * width, top + down * (height - top)
            spots.append((x, y, (0.2 + 0.8 * down) * size * rng.uniform(0.7, 1.1)))
        return [row["scatter"]], spots
    # Along the horizon, higher and lower in turn.
    gap, vary = row.get("gap", 0.55), row.get("vary", 0.5)
    size *= 0.8 if "skyline" in stage.scene.backdrops else 1
    count = int(stage.wide / (size * gap)) + 2
    xs = np.linspace(-stage.margin_x, width + stage.margin_x, count)
    if "even" not in row:
        xs = xs + rng.uniform(-0.4, 0.4, count) * size * gap
    crowd = profile((stage.seed, str(row)), count, features=4 if vary > 0.5 else count / 2, slope=1.2)
    heights = size * (1 - vary + vary * crowd) * rng.uniform(0.85, 1.15, count)
    return row["row"].split(), [(x, foot, high) for x, high in zip(xs.tolist(), heights.tolist(), strict=True)]


def _place(stage: Stage, kinds: Sequence[str], spots: Sequence[Spot], row: dict[str, Any]) -> Plane:
    """A plane of figures that stand still."""
    tallest, turn = max(high for _, _, high in spots), row.get("turn", 0.0)
    top = max(-stage.margin_y, int(min(foot - 1.4 * high for _, foot, high in spots)))
    lowest = max(foot + (1.1 if turn else 0.2) * high for _, foot, high in spots)
    bottom = int(min(stage.height + stage.margin_y, lowest))
    canvas = Image.new("RGBA", (stage.wide, max(2, bottom - top)))
    light = replace(inside(stage), dark=stage.light.dark or stage.scene.time == "dusk")
    figures = []
    for index in range(min(6, len(spots))):  # Six drawings of a kind are enough.
        kind = kinds[index % len(kinds)]
        kit = Kit(
            light, min(tallest, 1.2 * stage.unit), (), generator(stage.seed, kind, index), row["depth"], still=True,
            season=stage.scene.season or stage.scene.grade,
        )  # fmt: skip
        figures.append([part for part in draw(kind, kit) if not part.motion.get("rise")])
    choice = generator(stage.seed, str(row)).permutation(len(spots))
    for index, (x, foot, high) in enumerate(spots):
        pose = Pose(x + stage.margin_x, foot - top, high, mirrored=x > stage.width / 2, turn=turn * (index % 5 - 2))
        show(canvas, figures[choice[index] % len(figures)], pose)
    # Painted over nothing, colours are multiplied by their opacity.
    straight = Image.frombytes("RGBa", canvas.size, canvas.tobytes()).convert("RGBA")
    return Plane(straight.convert("RGB"), straight.getchannel("A"), top, row["near"])


def _ridge(stage: Stage, row: dict[str, Any], key: object) -> Plane:
    """Everything below a crest of hills or peaks: lit from the side of the sun, hazy at the foot, white above the snow line."""
    depth, high = row["depth"], row["height"] * min(stage.height, 1.5 * stage.unit)
    if "peaks" in row:
        line = _peaks(stage, key, int(row["peaks"]))
    else:
        features = row["features"] * stage.wide / stage.unit
        line = profile((stage.seed, "ridge", key), stage.wide, features=features, slope=row.get("slope", 1.9))
    foot = stage.horizon + row.get("foot", 0.0) * stage.height
    line = np.asarray(foot - high * np.clip(line, 0.02, 1.2), np.float32)
    top = max(-stage.margin_y, int(line.min()) - 2)
    x, y = stage.grid(top, foot + 0.06 * stage.height)
    below = y - line[None]
    texture, sun = cloudy((stage.seed, "slope"), 1.15), 1 if stage.light.across < 0.5 else -1
    # The texture shifts with the depth below the crest, and its horizontal slope is lit.
    u, v = x / stage.unit * 0.5 + below / stage.unit * 0.28, y / stage.unit * 0.34 + 0 * x
    face = sun * row.get("rough", 1.5) * (sampled(texture, u, v) - sampled(texture, u + 0.012, v - 0.006))
    soft = np.convolve(np.pad(line, 6, mode="edge"), np.full(13, 1 / 13, np.float32), "valid")
    face = np.clip(face - 0.4 * np.clip(sun * np.gradient(soft), -1, 1), -1, 1)
    bare = meadow_colour(stage) if row["ridge"] == "meadow" else hexed(row["ridge"])
    colour = np.broadcast_to(np.asarray(stage.light.on(bare, depth=depth), np.float32), (*below.shape, 3))
    if "snow" in row:
        snow = stage.horizon - high * (0.1 if stage.scene.season == "winter" else row["snow"]) - y - 0.35 * below
        snow = stepped(-0.1, 0.1, snow / high + (sampled(texture, u * 2, v * 3) - 0.5) * 0.5)
        colour = blended(colour, stage.light.on(SNOW, depth=depth * 0.7), np.clip(snow + 0.35 * snow * face, 0, 1))
    colour = colour * (1 + 0.26 * face * (1 - depth))[..., None]
    mist = stepped(0.1, 1.0, (y - foot + high) / high) * row.get("mist", 0.3)
    colour = blended(colour, stage.light.haze, np.broadcast_to(mist, below.shape))
    return plane(colour, np.clip(below + 0.5, 0, 1), top, row["near"])


def _peaks(stage: Stage, key: object, count: int) -> NoiseField:
    """A crest of peaks: each a pair of slopes, broken into smaller ones by noise that fades at the foot."""
    rng, x = generator(stage.seed, key), stage.grid(0, 0)[0][0] / stage.unit
    low, wide = float(x[0]), float(x[-1] - x[0])
    count = max(3, int(count * wide / 1.78))
    line = np.zeros(stage.wide)
    for index in range(count):
        middle = low + (index + rng.uniform(0.1, 0.9)) / count * wide
        top, half, lean = rng.uniform(0.5, 1.0), rng.uniform(0.3, 0.46), rng.uniform(0.75, 1.3)
        side = np.where(x < middle, (middle - x) * lean, (x - middle) / lean)
        line = np.maximum(line, top * np.clip(1 - side / half, 0, 1) ** 1.12)
    fine = profile((stage.seed, key, "fine"), stage.wide, features=6 * wide, slope=1.55) - 0.5
    return line + fine * 0.34 * (0.25 + line)
