"""Grounds: open soil in eleven colours, fields in rows, strips such as roads, streets, shores and a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .light import Colour, hexed, mixed, scaled
from .noise import Field, cloudy, profile, sampled, smoothly, stepped
from .stage import Plane, Stage, blended, plane, repainted

NEARNESS = 0.62
"""The nearness of grounds and figures alike, so that feet do not slip when the camera moves."""

SNOW, SAND, WARM = hexed("#e8eff7"), hexed("#e2c08a"), hexed("#fff0d2")


@dataclass(frozen=True, slots=True)
class Soil:
    """Open ground: its colours in front and far away, where it begins, and its texture."""

    near: str
    far: str
    top: float = 0.02
    rough: float = 0.3
    stretch: float = 1.0


_SOILS = {
    "sand": Soil("#e2c08a", "#ebcf9f", 0.06, 0.2, 2.2), "snow": Soil("#e8eff7", "#e0eaf6", 0.03, 0.1),
    "forest": Soil("#3c5c30", "#708e54", 0.02, 0.45), "moon": Soil("#88888e", "#96969c", 0.02, 0.34),
    "mars": Soil("#b05e3e", "#c26744", 0.02, 0.34), "roofs": Soil("#282a38", "#343646", 0.0, 0.1),
    "rock": Soil("#382e34", "#4a3a3e", 0.03, 0.5), "seabed": Soil("#ded0a0", "#cec496", -0.01, 0.35, 1.6),
    "street": Soil("#545660", "#707078", 0.015, 0.1),
}  # fmt: skip
_ROWS = {
    "rows-purple": ("#8460b8", "#567446"), "rows-gold": ("#e2b858", "#c4923a"), "rows-green": ("#6e9c48", "#94704a"),
    "rows-tulip": ("#d84854", "#548440"),
}  # fmt: skip
_TULIPS = ("#d84854", "#f6c448", "#f496b0", "#f0ece2")
_STRIPS = {
    "park": (0.42, 0.66, "#dac8a8", 0.02),
    "road": (0.32, 0.72, "#5c5e66", 0.008),
    "rails": (0.34, 0.52, "#92867a", 0.03),
}
_SHORES = {"beach": (0.47, "#a88a64"), "floe": (0.42, "#96c4d8"), "river": (0.66, "#5e5a3e")}


def meadow_colour(stage: Stage) -> Colour:
    """The colour of open land in this season."""
    return hexed({"winter": "#e8eff7", "autumn": "#a8803e", "spring": "#76a652"}.get(stage.scene.season, "#5c8c4a"))


def ground(stage: Stage) -> list[Plane]:
    """The ground of a scene; open water and the open sky have none."""
    kind = stage.scene.ground
    if kind in ("none", "water"):
        return []
    if kind == "floor":
        return [_table(stage)]
    if kind in _ROWS:
        return [_rows(stage, kind)]
    if kind in _SHORES:
        return _shore(stage, kind)
    if kind in _STRIPS:
        return [_strip(stage, _meadow(stage), kind)]
    if kind not in _SOILS:
        return [_meadow(stage)]
    soil = _SOILS[kind]
    near, far = hexed(soil.near), hexed(soil.far)
    if kind == "forest" and stage.scene.season in ("winter", "autumn"):
        near, far = (SNOW, SNOW) if stage.scene.season == "winter" else (hexed("#965c2c"), hexed("#c48c46"))
    if kind == "sand" and "mesas" in stage.scene.backdrops:
        near, far = mixed(near, hexed("#ba6242"), 0.45), mixed(far, hexed("#ba6242"), 0.35)
    base = _soil(stage, near, far, top=soil.top, rough=soil.rough, stretch=soil.stretch)
    extra = {"street": _street, "moon": _craters, "mars": _craters, "rock": _lava}.get(kind)
    return [extra(stage, base) if extra else base]


def _plan(stage: Stage, top: float) -> tuple[Field, Field, Field]:
    """For every pixel below `top`: its depth (0 at the top, 1 at the lower edge) and position on the flat ground."""
    y, x = stage.rows(top, stage.floor), stage.columns()
    down = np.clip((y - top) / (stage.height - top), 0.004, 1.6)
    away = 1 / (down + 0.07)
    across = (x - stage.width / 2) / stage.unit * away
    return np.broadcast_to(down, across.shape), across, np.broadcast_to(away, across.shape)


def _soil(stage: Stage, near: Colour, far: Colour, *, top: float, rough: float = 0.3, stretch: float = 1.0) -> Plane:
    """A plane of open ground: hazy at the far edge, textured in perspective."""
    y0 = stage.horizon + top * stage.height
    down, across, away = _plan(stage, y0)
    coarse = smoothly(cloudy((stage.seed, "soil"), 1.6), across * 0.09, away * 0.16 * stretch) - 0.5
    fine = smoothly(cloudy((stage.seed, "blades"), 0.95), across * 0.42, away * 0.9 * stretch) - 0.5
    colour = blended(stage.light.on(far, depth=0.38), stage.light.on(near), stepped(0, 0.8, down))
    # Texture fades with distance, where it would flicker.
    colour = colour * (1 + rough * (1.1 * coarse + 0.7 * fine) * np.clip(down * 2.6, 0.05, 1))[..., None]
    y = stage.rows(y0, stage.floor)
    cover = np.broadcast_to(np.clip((y - int(y0)) / 4, 0, 1), colour.shape[:2])
    return plane(_lit(stage, colour, down), cover, y0, NEARNESS)


def _lit(stage: Stage, colour: Field, down: Field) -> Field:
    """The colours, warmer on the side of the sun and darker at the lower edge."""
    x = stage.columns() / stage.width - stage.light.across
    warmth = np.exp(-((x / 0.5) ** 2)) * np.clip(1 - down * 1.1, 0, 1) * 0.22 * min(1.0, sum(stage.light.ambient) / 2.4)
    warm = blended(colour, stage.light.glow, warmth.astype(np.float32))
    return np.asarray(warm * (1 - 0.2 * np.clip(down - 0.45, 0, 1) ** 1.2)[..., None], np.float32)


def _meadow(stage: Stage) -> Plane:
    colour = meadow_colour(stage)
    near = colour if stage.scene.season == "winter" else mixed(scaled(colour, 0.86), hexed("#346028"), 0.25)
    return _soil(stage, near, mixed(colour, hexed("#bec86e"), 0.25), top=0.02)


def _down(stage: Stage, base: Plane) -> Field:
    y = stage.rows(base.top, base.top + base.picture.height)
    return np.asarray((y - base.top) / (stage.height - base.top), np.float32)


def _striped(stage: Stage, base: Plane, colour: str, share: Field) -> Plane:
    """The plane with another material where `share` is 1."""
    tint = np.array(stage.light.on(hexed(colour)), np.float32)
    return repainted(base, blended(base.colours, tint, np.broadcast_to(share, base.colours.shape[:2])))


def _dashes(stage: Stage, down: Field, at: float) -> Field:
    return np.exp(-(((down - at) / 0.011) ** 4)) * (((stage.columns() / stage.unit * 3.2) % 1) < 0.55) * 0.85


def _street(stage: Stage, base: Plane) -> Plane:
    """A pavement, a kerb and the roadway of a town."""
    down, joints = _down(stage, base), (stage.columns() / stage.unit * 9) % 1 > 0.05
    base = _striped(stage, base, "#b0a8a0", (1 - stepped(0.235, 0.245, down)) * (0.92 + 0.08 * joints))
    base = _striped(stage, base, "#cecac4", np.exp(-(((down - 0.25) / 0.012) ** 2)))
    return _striped(stage, base, "#f0e8d2", _dashes(stage, down, 0.66))


def _strip(stage: Stage, base: Plane, kind: str) -> Plane:
    """A lawn with a path, a road or rails across."""
    top, bottom, colour, edge = _STRIPS[kind]
    down = _down(stage, base)
    wobble = (profile((stage.seed, "edge"), stage.wide, features=9)[None] - 0.5) * edge * 2
    grain = smoothly(cloudy((stage.seed, "strip"), 1.0), stage.columns() / stage.unit + 0 * down, down * 3 + 0 * wobble)
    share = stepped(top - 0.012, top + 0.012, down + wobble) * (
        1 - stepped(bottom - 0.012, bottom + 0.012, down - wobble)
    )
    base = _striped(stage, base, colour, share * (0.88 + 0.12 * grain))
    if kind == "road":
        return _striped(stage, base, "#f0e8d2", _dashes(stage, down, 0.5))
    if kind == "rails":
        sleepers = ((stage.columns() / stage.unit * 18) % 1 < 0.42) & (down > 0.375) & (down < 0.49)
        base = _striped(stage, base, "#5c4636", sleepers.astype(np.float32))
        for at in (0.395, 0.455):
            base = _striped(stage, base, "#c4c8d0", np.exp(-(((down - at) / 0.007) ** 2)))
    return base


def _craters(stage: Stage, base: Plane) -> Plane:
    colour, rng = base.colours, stage.random("craters")
    y, x = stage.rows(base.top, base.top + colour.shape[0]), stage.columns()
    for _ in range(9):
        down = rng.uniform(0.08, 0.95) ** 1.3
        cy, cx = base.top + down * (stage.height - base.top), rng.uniform(0, stage.width)
        rx = (0.03 + 0.11 * down) * stage.unit * rng.uniform(0.5, 1.1)
        far = ((x - cx) / rx) ** 2 + ((y - cy) / (rx * 0.32)) ** 2
        rim = np.exp(-((far - 1.0) ** 2) * 9) * np.sign(cy - y)
        colour = colour * (1 - 0.3 * np.clip(1 - far, 0, 1) ** 0.6 + 0.16 * rim)[..., None]
    return repainted(base, colour)


def _lava(stage: Stage, base: Plane) -> Plane:
    """Black rock with glowing cracks."""
    down, across, away = _plan(stage, base.top)
    veins = np.abs(smoothly(cloudy((stage.seed, "veins"), 1.5), across * 0.12, away * 0.22) - 0.5)
    hot = np.exp(-((veins / (0.012 + 0.012 * down)) ** 2)) * np.clip(down * 3, 0, 1)
    fire = blended(hexed("#be2814"), hexed("#ffbe50"), hot**3)
    return repainted(base, blended(base.colours, fire, np.clip(hot * 1.1, 0, 1)))


def _rows(stage: Stage, kind: str) -> Plane:
    """A field whose rows meet at one vanishing point."""
    top = stage.horizon + 0.02 * stage.height
    plant, earth = map(hexed, _ROWS[kind])
    if stage.scene.season == "winter":
        plant, earth = SNOW, hexed("#c4cedc")
    down, across, away = _plan(stage, top)
    # Equidistant across the flat ground.
    share = stepped(-0.35, 0.45, np.sin(across * 17))
    heads = smoothly(cloudy((stage.seed, "heads"), 0.9), across * 0.6, away * 1.1)
    plants = np.broadcast_to(np.array(plant, np.float32), (*share.shape, 3))
    if kind == "rows-tulip" and stage.scene.season != "winter":
        plants = np.array([hexed(colour) for colour in _TULIPS], np.float32)[
            np.floor(across * 17 / (2 * np.pi)).astype(int) % 4
        ]
    colour = blended(np.broadcast_to(np.array(earth, np.float32), plants.shape), plants, share)
    colour = colour * (0.78 + 0.44 * heads)[..., None] * np.array(stage.light.ambient, np.float32)
    colour = blended(colour, stage.light.haze, np.clip(0.55 - down * 1.4, 0, 0.6))
    y = stage.rows(top, stage.floor)
    cover = np.broadcast_to(np.clip((y - int(top)) / 4, 0, 1), share.shape)
    return plane(_lit(stage, colour, down), cover, top, NEARNESS)


def _shore(stage: Stage, kind: str) -> list[Plane]:
    """Ground in front of water with a wet, wandering edge; a river has a far bank too."""
    at, wet = _SHORES[kind]
    near = {"beach": SAND, "floe": SNOW}.get(kind, scaled(meadow_colour(stage), 0.86))
    deep = stage.height - stage.horizon
    base = _soil(stage, near, mixed(near, WARM, 0.3), top=(at - 0.12) * deep / stage.height, rough=0.24)
    y = stage.rows(base.top, base.top + base.picture.height)
    inland = (y - stage.horizon - (at + 0.16 * (_wander(stage, "shore") - 0.5)) * deep) / stage.height
    damp = np.asarray(np.exp(-np.clip(inland, 0, None) * 26) * 0.75, np.float32)
    colour = blended(base.colours, stage.light.on(hexed(wet)), damp)
    front = plane(colour, np.asarray(stepped(-0.004, 0.008, inland), np.float32), base.top, NEARNESS)
    if kind != "river":
        return [front]
    y = stage.rows(stage.horizon - 2, stage.horizon + 0.14 * stage.height)
    edge = stage.horizon + (0.05 + 0.035 * _wander(stage, "far bank")) * stage.height
    grass, shade = meadow_colour(stage), scaled(meadow_colour(stage), 0.6)
    share = np.clip((y - edge + 4) / 8, 0, 1)
    bank = blended(stage.light.on(grass, depth=0.25), stage.light.on(shade, depth=0.2), share)
    return [plane(bank, np.clip(edge - y + 0.5, 0, 1), stage.horizon - 2, 0.5), front]


def _wander(stage: Stage, key: str) -> Field:
    return profile((stage.seed, key), stage.wide, features=1.6 * stage.wide / stage.unit, slope=2.2)[None]


def _table(stage: Stage) -> Plane:
    y, x = stage.rows(stage.horizon, stage.floor), stage.columns()
    down = np.clip((y - stage.horizon) / (stage.height - stage.horizon), 0, 1.2)
    across = (x - stage.width / 2) / stage.unit / (down + 0.35)
    grain = sampled(cloudy((stage.seed, "wood"), 1.3), across * 0.05 + 0 * down, down * 1.7 + 0 * across)
    shine = np.exp(-(((x - stage.width * 0.45) / (0.6 * stage.unit)) ** 2)) * np.clip(1 - down, 0, 1) * 0.3
    wood = np.array(hexed("#a47048"), np.float32) * np.array(room_light(stage), np.float32)
    lines = np.abs(np.sin(down * 13 + 0 * across)) < 0.05
    colour = wood * (0.72 + 0.45 * grain - 0.12 * lines + shine - 0.18 * down)[..., None]
    return plane(
        colour, np.broadcast_to(np.clip((y - int(stage.horizon)) / 2, 0, 1), across.shape), stage.horizon, NEARNESS
    )


def room_light(stage: Stage) -> Colour:
    """The light of a room: warm in the evening, daylight by day."""
    return (0.86, 0.66, 0.46) if stage.light.dark or stage.scene.time in ("dusk", "sunset") else (1.0, 0.95, 0.88)
