"""Backdrops between ground and sky: the rows of `[backdrop]` in words.toml, and two that are computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from PIL import Image

from .brush import Pose, show
from .figures import Kit, draw
from .ground import SNOW, inside, meadow_colour
from .light import hexed, mixed
from .noise import NoiseField, cloudy, profile, sampled, stepped
from .stage import Plane, Stage, blended, plane
from .tables import TABLE

Spot = tuple[float, float, float]
"""The x, the foot and the height of a figure, in pixels of the world."""

LOOKS = 6
"""How many differently drawn figures a row has."""


def backdrop(stage: Stage, name: str) -> Iterator[Plane]:
    """Yield the planes of a backdrop, far to near; none of one that moves, which is a figure."""
    if name == "mountains":
        height = min(0.42 * stage.height, 0.62 * stage.unit) * (1 + 0.1 * stage.scene.chance("mountains"))
        yield _rocks(stage, _peaks(stage, "range", height, 5), height, 0.5, 0.16)
        yield _rocks(stage, _peaks(stage, "front", 0.58 * height, 7), height, 0.28, 0.28)
    elif name == "nebula":
        yield _nebula(stage)
    for index, row in enumerate(TABLE["backdrop"].get(name, ())):
        if "ridge" in row:
            yield _ridge(stage, row, index)
        elif "scatter" not in row or stage.scene.season != "winter":  # Flowers do not bloom in the snow.
            kinds, spots = _spots(stage, row)
            yield _place(stage, kinds, spots, row)


def _spots(stage: Stage, row: dict[str, Any]) -> tuple[Sequence[str], list[Spot]]:
    """The kinds of figures of a row, and where each stands."""
    rng, size, width, height = stage.random(str(row)), row["size"] * stage.unit, stage.width, stage.height
    by_water = stage.scene.ground in ("water", "river", "beach")
    foot = stage.horizon + height * (row.get("shore", row.get("foot", 0)) if by_water else row.get("foot", 0))
    spots: list[Spot] = []
    if "one" in row:
        side = row["side"] if stage.scene.chance("side") > 0 else -row["side"]
        return [row["one"]], [(width * (0.5 + side), foot, size)]
    if "sides" in row:  # The middle stays free.
        for index in range(row["count"]):
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
    bottom = int(min(stage.floor, max(foot + (1.1 if turn else 0.2) * high for _, foot, high in spots)))
    canvas = Image.new("RGBA", (stage.wide, max(2, bottom - top)))
    light = replace(inside(stage), dark=stage.light.dark or stage.scene.time == "dusk")
    figures = []
    for index in range(min(LOOKS, len(spots))):
        kind = kinds[index % len(kinds)]
        kit = Kit(
            light, min(tallest, 1.2 * stage.unit), (), stage.random(kind, index), row["depth"], still=True,
            season=stage.scene.season or stage.scene.grade,
        )  # fmt: skip
        figures.append([part for part in draw(kind, kit) if not part.motion.get("rise")])
    choice = stage.random(str(row)).permutation(len(spots))
    for index, (x, foot, high) in enumerate(spots):
        pose = Pose(x + stage.margin_x, foot - top, high, mirrored=x > stage.width / 2, turn=turn * (index % 5 - 2))
        show(canvas, figures[choice[index] % len(figures)], pose)
    # Painted over nothing, colours are multiplied by their opacity.
    straight = Image.frombytes("RGBa", canvas.size, canvas.tobytes()).convert("RGBA")
    return Plane(straight.convert("RGB"), straight.getchannel("A"), top, row["near"])


def _slope(stage: Stage, line: NoiseField, width: int = 13) -> NoiseField:
    """How much a line of hills falls away from the sun at each column."""
    soft = np.convolve(np.pad(line, width // 2, mode="edge"), np.full(width, 1 / width, np.float32), "valid")
    return np.gradient(soft)[None] * (1 if stage.light.across < 0.5 else -1)


def _ridge(stage: Stage, row: dict[str, Any], index: int) -> Plane:
    """Everything below a line of hills: lit at the crest, hazy at the foot, slightly textured between."""
    foot, depth = row.get("foot", 0.0), row["depth"]
    line = profile(
        (stage.seed, ("ridge", index)), stage.wide, features=row["features"] * stage.wide / stage.unit,
        slope=row.get("slope", 1.9),
    )  # fmt: skip
    line = stage.horizon + (foot - row["height"] * np.clip(line, 0.02, 1)) * stage.height
    colour = meadow_colour(stage) if row["ridge"] == "meadow" else hexed(row["ridge"])
    if row["ridge"] == "meadow" and stage.scene.season != "winter":
        colour = mixed(colour, hexed("#3c6a5c"), 0.6 * depth)
    top = max(-stage.margin_y, int(line.min()) - 2)
    y, x = stage.rows(top, stage.horizon + (0.06 + foot) * stage.height), stage.columns()
    below = y - line[None]
    grain = sampled(cloudy((stage.seed, "slope"), 1.35), x / stage.unit * 0.9 + 0 * y, y / stage.unit * 1.1 + 0 * x)
    steep = np.clip(_slope(stage, line) * 0.14, -0.16, 0.16)
    if "carved" in row:
        # The edge between light and shade runs down from each crest in a curve.
        edge = profile((stage.seed, "edge", index), stage.wide, features=3, slope=2.0)[None] - 0.5
        side = _slope(stage, line, 25) * 1.6 + 0.5 * edge
        steep = -0.42 * stepped(-0.1, 0.25, side - below / stage.unit * 1.6)
    far = np.clip(below / (0.34 * stage.height), 0, 1)
    lit = stage.light.on(colour, depth=depth)
    shaded = blended(lit, mixed(lit, stage.light.haze, row.get("mist", 0.35)), stepped(0, 1, far))
    shaded = shaded * (1 + (row.get("rough", 0.16) * (grain - 0.5) + steep * (1 - far)) * (1 - depth))[..., None]
    return plane(shaded, np.clip(below + 0.5, 0, 1), top, row["near"])


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
    face = 5 * (sampled(rough, u, v) - sampled(rough, u + 0.012, v - 0.006))
    face = np.clip(
        (1 if stage.light.across < 0.5 else -1) * face - 0.55 * np.clip(_slope(stage, line, 9), -1, 1), -1, 1
    )
    snow_line = stage.horizon - height * (0.1 if stage.scene.season == "winter" else 0.62)
    snow = snow_line - y + (sampled(rough, u * 2, v * 3) - 0.5) * 0.5 * height - 0.35 * below
    snow = stepped(-0.1 * height, 0.1 * height, snow)
    bare, white = stage.light.on(hexed("#686c7c"), depth=depth), stage.light.on(SNOW, depth=depth * 0.7)
    colour = blended(bare, white, np.clip(snow + 0.35 * snow * face, 0, 1))
    colour = colour * (1 + 0.26 * face * (1 - depth))[..., None]
    mist = stepped(0.1, 1.0, (y - (stage.horizon - 0.75 * height)) / (0.75 * height)) * 0.75
    colour = blended(colour, stage.light.haze, np.broadcast_to(mist, face.shape))
    return plane(colour, np.clip(below + 0.5, 0, 1), top, near)


def _nebula(stage: Stage) -> Plane:
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
    colour = blended(colour, hexed("#fff0e6"), np.clip(cloud - 0.55, 0, 1) * band)
    dust = np.clip((second - 0.58) * 4, 0, 1) * band * 0.5
    return plane(colour * (1 - dust)[..., None], np.clip(cloud * 0.62, 0, 1), -stage.margin_y, 0.02)
