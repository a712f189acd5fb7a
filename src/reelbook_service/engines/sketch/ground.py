"""Grounds: the rows of `[ground]` in words.toml, as open soil with bands across it, fields in rows, or shores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .light import Colour, Light, hexed, mixed, scaled
from .noise import NoiseField, cloudy, profile, sampled, stepped
from .stage import Plane, Stage, blended, plane
from .tables import TABLE

NEARNESS = 0.62
"""The nearness of grounds and figures alike, so that feet do not slip when the camera moves."""

SNOW = hexed("#e8eff7")


def ground(stage: Stage) -> list[Plane]:
    """The ground of a scene; open water and the open sky have none."""
    row = TABLE["ground"].get(stage.scene.ground, {})
    if "plant" in row:
        return [_rows(stage, row)]
    if "shore" in row:
        return _shore(stage, row)
    return [_banded(stage, row)] if row else []


def meadow_colour(stage: Stage) -> Colour:
    """The colour of open land in this season."""
    return hexed({"winter": "#e8eff7", "autumn": "#a8803e", "spring": "#76a652"}.get(stage.scene.season, "#5c8c4a"))


def inside(stage: Stage) -> Light:
    """The light of the scene; in a room it is warm in the evening, daylight by day."""
    if stage.scene.ground != "floor":
        return stage.light
    lamp = (0.86, 0.66, 0.46) if stage.light.dark or stage.scene.time in ("dusk", "sunset") else (1.0, 0.95, 0.88)
    return replace(stage.light, ambient=lamp, haze=lamp)


def _plan(stage: Stage, top: float) -> tuple[NoiseField, NoiseField, NoiseField]:
    """For every pixel below `top`: its depth (0 at the top, 1 at the lower edge) and position on the flat ground."""
    down = np.clip((stage.rows(top, stage.floor) - top) / (stage.height - top), 0.004, 1.6)
    away = 1 / (down + 0.07)
    across = (stage.columns() - stage.width / 2) / stage.unit * away
    return np.broadcast_to(down, across.shape), across, np.broadcast_to(away, across.shape)


def _soil(stage: Stage, row: dict[str, Any], near: Colour, far: Colour) -> tuple[NoiseField, NoiseField, float]:
    """The colours of open ground, hazy at the far edge and textured in perspective; its depth, and where it begins."""
    top = stage.horizon + row.get("top", 0.02) * stage.height
    down, across, away = _plan(stage, top)
    away = away * row.get("stretch", 1.0)
    coarse = sampled(cloudy((stage.seed, "soil"), 1.6), across * 0.09, away * 0.16) - 0.5
    fine = sampled(cloudy((stage.seed, "blades"), 0.95), across * 0.42, away * 0.9) - 0.5
    light = inside(stage)
    colour = blended(light.on(far, depth=row.get("haze", 0.38)), light.on(near), stepped(0, 0.8, down))
    # Texture fades with distance, where it would flicker.
    texture = row.get("rough", 0.3) * (1.1 * coarse + 0.7 * fine) * np.clip(down * 2.6, 0.05, 1)
    return colour * (1 + texture)[..., None], down, top


def _banded(stage: Stage, row: dict[str, Any]) -> Plane:
    """Open ground, with bands across it such as roads, rails and kerbs."""
    season, meadow = stage.scene.season, meadow_colour(stage)
    if row["near"] != "meadow":
        near, far = hexed(row.get(season, row["near"])), hexed(row.get(season, row["far"]))
    else:
        near = meadow if season == "winter" else mixed(scaled(meadow, 0.86), hexed("#346028"), 0.25)
        far = mixed(meadow, hexed("#bec86e"), 0.25)
    colour, down, top = _soil(stage, row, near, far)
    wobble = (profile((stage.seed, "edge"), stage.wide, features=9)[None] - 0.5) * 2 * row.get("edge", 0.0)
    for start, end, tint, *dashes in row.get("bands", ()):
        soft = min(0.012, (end - start) / 2)
        share = stepped(start - soft, start + soft, down + wobble)
        share = share * (1 - stepped(end - soft, end + soft, down - wobble))
        if dashes:
            share = share * ((stage.columns() / stage.unit * dashes[0]) % 1 < dashes[1])
        colour = blended(colour, stage.light.on(hexed(tint)), share)
    return _plane(stage, colour, down, top)


def _plane(stage: Stage, colour: NoiseField, down: NoiseField, top: float) -> Plane:
    """The ground, warmer on the side of the sun and darker at the lower edge."""
    x, y = stage.columns() / stage.width - stage.light.across, stage.rows(top, stage.floor)
    warmth = np.exp(-((x / 0.5) ** 2)) * np.clip(1 - down * 1.1, 0, 1) * 0.22 * min(1.0, sum(stage.light.ambient) / 2.4)
    warm = blended(colour, stage.light.glow, warmth)
    warm = warm * (1 - 0.2 * np.clip(down - 0.45, 0, 1) ** 1.2)[..., None]
    return plane(warm, np.broadcast_to(np.clip((y - int(top)) / 4, 0, 1), down.shape), top, NEARNESS)


def _rows(stage: Stage, row: dict[str, Any]) -> Plane:
    """A field whose rows meet at one vanishing point."""
    top, is_winter = stage.horizon + 0.02 * stage.height, stage.scene.season == "winter"
    plants = [SNOW] if is_winter else [hexed(colour) for colour in row["plant"].split()]
    down, across, away = _plan(stage, top)
    # Equidistant across the flat ground.
    share = stepped(-0.35, 0.45, np.sin(across * 17))
    heads = sampled(cloudy((stage.seed, "heads"), 0.9), across * 0.6, away * 1.1)
    plant = np.array(plants, np.float32)[np.floor(across * 17 / (2 * np.pi)).astype(int) % len(plants)]
    colour = blended(hexed("#c4cedc" if is_winter else row["earth"]), plant, share)
    colour = colour * (0.78 + 0.44 * heads)[..., None] * np.array(stage.light.ambient, np.float32)
    return _plane(stage, blended(colour, stage.light.haze, np.clip(0.55 - down * 1.4, 0, 0.6)), down, top)


def _shore(stage: Stage, row: dict[str, Any]) -> list[Plane]:
    """Ground in front of water with a wet, wandering edge; a river has a far bank too."""
    deep, grass = stage.height - stage.horizon, meadow_colour(stage)
    near = scaled(grass, 0.86) if row["near"] == "meadow" else hexed(row["near"])
    begin = {"top": (row["shore"] - 0.12) * deep / stage.height}
    colour, _, top = _soil(stage, begin, near, mixed(near, hexed("#fff0d2"), 0.3))
    edge = stage.horizon + (row["shore"] + 0.16 * (_wander(stage, "shore") - 0.5)) * deep
    inland = (stage.rows(top, stage.floor) - edge) / stage.height
    colour = blended(colour, stage.light.on(hexed(row["wet"])), np.exp(-np.clip(inland, 0, None) * 26) * 0.75)
    front = plane(colour, stepped(-0.004, 0.008, inland), top, NEARNESS)
    if row["near"] != "meadow":
        return [front]
    y = stage.rows(stage.horizon - 2, stage.horizon + 0.14 * stage.height)
    edge = stage.horizon + (0.05 + 0.035 * _wander(stage, "far bank")) * stage.height
    lit, shaded = stage.light.on(grass, depth=0.25), stage.light.on(scaled(grass, 0.6), depth=0.2)
    bank = blended(lit, shaded, np.clip((y - edge + 4) / 8, 0, 1))
    return [plane(bank, np.clip(edge - y + 0.5, 0, 1), stage.horizon - 2, 0.5), front]


def _wander(stage: Stage, key: str) -> NoiseField:
    return profile((stage.seed, key), stage.wide, features=1.6 * stage.wide / stage.unit, slope=2.2)[None]
