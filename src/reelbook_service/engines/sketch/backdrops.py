"""Backdrops between ground and sky: the rows of `[backdrop]` in words.toml."""

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
from .noise import NoiseField, cloudy, generator, profile, sampled, stepped
from .stage import Plane, Stage, blended, plane
from .tables import TABLE

Spot = tuple[float, float, float]
"""The x, the foot and the height of a figure, in pixels of the world."""

LOOKS = 6
"""How many differently drawn figures a row has."""


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
    bottom = int(
        min(stage.height + stage.margin_y, max(foot + (1.1 if turn else 0.2) * high for _, foot, high in spots))
    )
    canvas = Image.new("RGBA", (stage.wide, max(2, bottom - top)))
    light = replace(inside(stage), dark=stage.light.dark or stage.scene.time == "dusk")
    figures = []
    for index in range(min(LOOKS, len(spots))):
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
    if row["ridge"] == "meadow":
        bare = meadow_colour(stage)
        bare = bare if stage.scene.season == "winter" else mixed(bare, hexed("#3c6a5c"), 0.6 * depth)
    else:
        bare = hexed(row["ridge"])
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
