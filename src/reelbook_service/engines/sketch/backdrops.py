"""Backdrops between ground and sky: the rows of `[backdrop]` in words.toml, and four that are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from PIL import Image

from .brush import Pose, show
from .figures import Kit, draw
from .ground import SNOW, inside, meadow_colour
from .light import Colour, hexed, mixed
from .noise import NoiseField, cloudy, profile, sampled, smoothly, stepped
from .stage import Plane, Stage, blended, plane
from .tables import FIGURES, TABLE

Spot = tuple[float, float, float]
"""The x, the foot and the height of a figure, in pixels of the world."""


def backdrop(stage: Stage, name: str) -> list[Plane]:
    """The planes of a backdrop, far to near; none of one that moves, which is a figure."""
    computed = {"mountains": _mountains, "nebula": _nebula}
    if name in computed:
        return computed[name](stage)
    planes = []
    for index, row in enumerate(TABLE["backdrop"].get(name, ())):
        if "ridge" in row:
            planes.append(_ridge(stage, row, index))
        elif "canopy" in row:
            planes.append(_canopy(stage, row))
        elif "row" in row:
            planes.append(_place(stage, row["row"], _row(stage, row), row))
        elif "scatter" in row and stage.scene.season != "winter":
            planes.append(_place(stage, row["scatter"], _scatter(stage, row), row))
        elif "sides" in row:
            planes.append(_place(stage, row["sides"], _sides(stage, row), row))
        elif "one" in row:
            side = row["side"] if stage.scene.chance("side") > 0 else -row["side"]
            spot = stage.width * (0.5 + side), _foot(stage, row), row["size"] * stage.unit
            planes.append(_place(stage, row["one"], [spot], row))
    return planes


def _row(stage: Stage, row: dict[str, Any]) -> list[Spot]:
    """Places along the horizon, higher and lower in turn."""
    rng, size, gap, vary = stage.random(str(row)), row["size"] * stage.unit, row.get("gap", 0.55), row.get("vary", 0.5)
    if "skyline" in stage.scene.backdrops:
        size *= 0.8
    count = int(stage.wide / (size * gap)) + 2
    xs = np.linspace(-stage.margin_x, stage.width + stage.margin_x, count)
    if "even" not in row:
        xs = xs + rng.uniform(-0.4, 0.4, count) * size * gap
    crowd = profile((stage.seed, str(row)), count, features=4 if vary > 0.5 else count / 2, slope=1.2)
    heights = size * (1 - vary + vary * crowd) * rng.uniform(0.85, 1.15, count)
    return [(float(x), _foot(stage, row), float(high)) for x, high in zip(xs, heights, strict=True)]


def _foot(stage: Stage, row: dict[str, Any]) -> float:
    share = row.get("shore", row["foot"]) if stage.scene.ground in ("water", "river", "beach") else row["foot"]
    return float(stage.horizon + share * stage.height)


def _sides(stage: Stage, row: dict[str, Any]) -> list[Spot]:
    """Places in the left and right of the picture, whose middle stays free."""
    rng, spots = stage.random(str(row)), []
    for index in range(row["count"]):
        place = rng.uniform(-0.03, row.get("reach", 0.34))
        y = stage.height * rng.uniform(0.92 - row.get("high", 0.0), 1.04)
        spots.append(
            (stage.width * (place if index % 2 else 1 - place), y, row["size"] * stage.unit * rng.uniform(0.7, 1.25))
        )
    return sorted(spots, key=lambda spot: spot[1])


def _scatter(stage: Stage, row: dict[str, Any]) -> list[Spot]:
    """Places all over the ground, larger in front; flowers do not bloom in the snow."""
    rng, top, spots = stage.random(str(row)), stage.horizon + 0.04 * stage.height, []
    for down in np.sort(rng.uniform(0.04, 1.0, row["count"]) ** 0.9).tolist():
        x, y = rng.uniform(-0.05, 1.05) * stage.width, top + down * (stage.height - top)
        spots.append((x, y, (0.2 + 0.8 * down) * row["size"] * stage.unit * rng.uniform(0.7, 1.1)))
    return spots


def _place(stage: Stage, kinds: str, spots: Sequence[Spot], row: dict[str, Any]) -> Plane:
    """A plane of figures that stand still."""
    tallest, turn = max(high for _, _, high in spots), row.get("turn", 0.0)
    top = max(-stage.margin_y, int(min(foot - 1.4 * high for _, foot, high in spots)))
    bottom = int(min(stage.floor, max(foot + (1.1 if turn else 0.2) * high for _, foot, high in spots)))
    canvas = Image.new("RGBA", (stage.wide, max(2, bottom - top)))
    light = replace(inside(stage), dark=stage.light.dark or stage.scene.time == "dusk")
    variants = []
    for index, kind in enumerate(kinds.split() * (6 // len(kinds.split()))):
        rng, look = stage.random(kind, index), stage.scene.season or stage.scene.grade
        if index < len(spots):
            kit = Kit(light, min(tallest, 1.2 * stage.unit), (), rng, row["depth"], still=True, season=look)
            variants.append([part for part in draw(kind, kit) if not part.rise])
    choice = stage.random(str(row)).permutation(len(spots))
    for index, (x, foot, high) in enumerate(spots):
        pose = Pose(x + stage.margin_x, foot - top, high, mirrored=x > stage.width / 2, turn=turn * (index % 5 - 2))
        show(canvas, variants[choice[index] % len(variants)], pose)
    # Painted over nothing, colours are multiplied by their opacity.
    straight = Image.frombytes("RGBa", canvas.size, canvas.tobytes()).convert("RGBA")
    return Plane(straight.convert("RGB"), straight.getchannel("A"), top, row["near"])


def _smoothed(line: NoiseField, width: int = 13) -> NoiseField:
    return np.convolve(np.pad(line, width // 2, mode="edge"), np.full(width, 1 / width, np.float32), "valid")


def _sunny(stage: Stage) -> int:
    return 1 if stage.light.across < 0.5 else -1


def _crest(stage: Stage, key: object, foot: float, height: float, features: float, slope: float) -> NoiseField:
    """The y of a line of hills for every column; `foot` and `height` are shares of the picture."""
    line = profile((stage.seed, key), stage.wide, features=features * stage.wide / stage.unit, slope=slope)
    return np.asarray(stage.horizon + (foot - height * np.clip(line, 0.02, 1)) * stage.height, np.float32)


def _ridge(stage: Stage, row: dict[str, Any], index: int) -> Plane:
    """Everything below a line of hills: lit at the crest, hazy at the foot, slightly textured between."""
    foot, depth = row.get("foot", 0.0), row["depth"]
    line = _crest(stage, ("ridge", index), foot, row["height"], row["features"], row.get("slope", 1.9))
    colour = meadow_colour(stage) if row["ridge"] == "meadow" else hexed(row["ridge"])
    if row["ridge"] == "meadow" and stage.scene.season != "winter":
        colour = mixed(colour, hexed("#3c6a5c"), 0.6 * depth)
    top = max(-stage.margin_y, int(line.min()) - 2)
    y, x = stage.rows(top, stage.horizon + (0.06 + foot) * stage.height), stage.columns()
    below = np.clip((y - line[None]) / (0.34 * stage.height), 0, 1)
    texture = cloudy((stage.seed, "slope"), 1.35)
    grain = sampled(texture, x / stage.unit * 0.9 + 0 * y, y / stage.unit * 1.1 + 0 * x) - 0.5
    lit = stage.light.on(colour, depth=depth)
    steep = np.clip(np.gradient(_smoothed(line)) * 0.14, -0.16, 0.16)[None] * _sunny(stage)
    if "carved" in row:
        # The edge between light and shade runs down from each crest in a curve.
        edge = profile((stage.seed, "edge", index), stage.wide, features=3, slope=2.0)[None] - 0.5
        side = np.gradient(_smoothed(line, 25))[None] * _sunny(stage) * 1.6 + 0.5 * edge
        steep = -0.42 * stepped(-0.1, 0.25, side - (y - line[None]) / stage.unit * 1.6)
    shaded = blended(lit, mixed(lit, stage.light.haze, row.get("mist", 0.35)), stepped(0, 1, below))
    shaded = shaded * (1 + (row.get("rough", 0.16) * grain + steep * (1 - below)) * (1 - depth))[..., None]
    return plane(shaded, np.clip(y - line[None] + 0.5, 0, 1), top, row["near"])


def _mountains(stage: Stage) -> list[Plane]:
    """Two ranges, with snow on their tops."""
    height = min(0.42 * stage.height, 0.62 * stage.unit) * (1 + 0.1 * stage.scene.chance("mountains"))
    return [
        _rocks(stage, _peaks(stage, "range", height, 5), height, 0.5, 0.16),
        _rocks(stage, _peaks(stage, "front", 0.58 * height, 7), height, 0.28, 0.28),
    ]


def _peaks(stage: Stage, key: str, height: float, count: int) -> NoiseField:
    """A crest of peaks: each a pair of slopes, broken into smaller ones by noise that fades at the foot."""
    rng, x = stage.random(key), stage.columns()[0] / stage.unit
    low, high = float(x[0]), float(x[-1])
    count = max(3, int(count * (high - low) / 1.78))
    line = np.zeros(stage.wide)
    for index in range(count):
        middle = low + (index + rng.uniform(0.1, 0.9)) / count * (high - low)
        top, half, lean = rng.uniform(0.5, 1.0), rng.uniform(0.26, 0.42), rng.uniform(0.75, 1.3)
        side = np.where(x < middle, (middle - x) * lean, (x - middle) / lean)
        line = np.maximum(line, top * np.clip(1 - side / half, 0, 1) ** 1.12)
    fine = profile((stage.seed, key, "fine"), stage.wide, features=6 * (high - low), slope=1.55) - 0.5
    rough = np.clip(line + fine * 0.34 * (0.25 + line), 0.02, 1.2)
    return np.asarray(stage.horizon + 0.02 * stage.height - height * rough, np.float32)


def _rocks(stage: Stage, line: NoiseField, height: float, depth: float, near: float) -> Plane:
    """A range of mountains: faces of rock, the higher ones white."""
    top = max(-stage.margin_y, int(line.min()) - 2)
    y, x = stage.rows(top, stage.horizon + 0.08 * stage.height), stage.columns()
    below = y - line[None]
    rough = cloudy((stage.seed, "rock"), 1.15)
    # The texture shifts with the depth below the crest, and its horizontal slope is lit.
    u, v = x / stage.unit * 0.5 + below / stage.unit * 0.28, y / stage.unit * 0.34 + 0 * x
    face = smoothly(rough, u, v) - smoothly(rough, u + 0.012, v - 0.006)
    slope = np.clip(np.gradient(_smoothed(line, 9))[None], -1, 1)
    face = np.clip(_sunny(stage) * (5 * face - 0.55 * slope), -1, 1)
    snow_line = stage.horizon - height * (0.1 if stage.scene.season == "winter" else 0.62)
    snow = snow_line - y + (smoothly(rough, u * 2, v * 3) - 0.5) * 0.5 * height - 0.35 * below
    snow = stepped(-0.1 * height, 0.1 * height, snow)
    bare, white = stage.light.on(hexed("#686c7c"), depth=depth), stage.light.on(SNOW, depth=depth * 0.7)
    colour = blended(bare, white, np.clip(snow + 0.35 * snow * face, 0, 1))
    colour = colour * (1 + 0.26 * face * (1 - depth))[..., None]
    mist = stepped(0.1, 1.0, (y - (stage.horizon - 0.75 * height)) / (0.75 * height)) * 0.75
    colour = blended(colour, stage.light.haze, np.broadcast_to(mist, face.shape))
    return plane(colour, np.clip(below + 0.5, 0, 1), top, near)


def _canopy(stage: Stage, row: dict[str, Any]) -> Plane:
    """Leaves along the upper edge, with light shining through."""
    index, depth = row["canopy"], row["depth"]
    low = (0.42 - 0.10 * index) * stage.height
    y, x = stage.rows(-stage.margin_y, low), stage.columns()
    unit, texture = np.float32(stage.unit * (0.9 + 0.5 * index)), cloudy((stage.seed, "canopy", index), 1.15)
    u, v = x / unit * 0.9 + 0 * y, y / unit * 0.9 + 0 * x
    leaves, ahead = sampled(texture, u, v), sampled(texture, u + 0.01, v - 0.012)
    edge = profile((stage.seed, "canopy", index), stage.wide, features=5, slope=1.3)[None]
    cover = np.clip((leaves - 0.26 - 0.62 * np.clip(y / (low * (0.55 + 0.45 * edge)), 0, 2)) * 9, 0, 1)
    cover = cover * np.clip((low - y) / (0.08 * stage.height), 0, 1)
    tree = FIGURES["tree"].options
    crown = hexed(tree.get(f"$1.{stage.scene.season}", tree["$1"])[:7])
    colour: Colour = stage.light.on(mixed(crown, hexed("#284628"), 0.0 if stage.scene.season else 0.2), depth=depth)
    shine = np.clip(0.3 + (leaves - ahead) * 4.0, 0, 1) * (1 - 0.5 * depth)
    paint = blended(colour, mixed(colour, stage.light.glow, 0.4), shine)
    return plane(paint * (0.72 + 0.4 * leaves)[..., None], cover, -stage.margin_y, row["near"])


def _nebula(stage: Stage) -> list[Plane]:
    """A glowing cloud in space."""
    y, x = stage.rows(-stage.margin_y, stage.floor), stage.columns()
    u, v = x / stage.unit * 0.34 + 0 * y, y / stage.unit * 0.34 + 0 * x
    first, second = (sampled(cloudy((stage.seed, "nebula", index), 1.55), u + 0.2 * index, v) for index in range(2))
    fine = sampled(cloudy((stage.seed, "nebula fine"), 1.1), u * 2, v * 2)
    lean = 0.5 * stage.scene.chance("lean")
    band = np.exp(-((((y - stage.height * 0.5) + (x - stage.width / 2) * lean) / (0.34 * stage.unit)) ** 2))
    cloud = np.clip((first * 0.75 + fine * 0.25 - 0.36) * 1.9, 0, 1) * (0.30 + 0.70 * band)
    hues = tuple(map(hexed, ("#be4696", "#466edc", "#3cbebe", "#e68250")))
    pick = int((stage.scene.chance("nebula") * 0.5 + 0.5) * 3.99)
    colour = blended(hues[pick], hues[(pick + 1) % 4], np.clip(second * 1.6 - 0.3, 0, 1))
    colour = blended(colour, (1.0, 0.94, 0.9), np.clip(cloud - 0.55, 0, 1) * band)
    dust = np.clip((second - 0.58) * 4, 0, 1) * band * 0.5
    return [plane(colour * (1 - dust)[..., None], np.clip(cloud * 0.62, 0, 1), -stage.margin_y, 0.02)]
