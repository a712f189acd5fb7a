"""Grounds: grass, sand, snow, streets, fields in rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .land import RED_ROCK, SAND, SNOW, meadow_colour
from .layers import Layer, blended, layer
from .noise import Field, cloudy, profile, smoothly, stepped
from .palette import Colour, mixed, rgb, scaled
from .stage import Stage

NEARNESS = 0.62
"""The nearness of grounds and figures alike, so that feet do not slip when the camera moves."""


def _plan(stage: Stage, top: float) -> tuple[Field, Field, Field]:
    """For every pixel below `top`: its depth (0 at the top, 1 at the lower edge) and position on the flat ground."""
    y, x = stage.rows(top, stage.floor), stage.columns()
    down = np.clip((y - top) / (stage.height - top), 0.004, 1.6)
    away = 1 / (down + 0.07)
    across = (x - stage.width / 2) / stage.unit * away
    return np.broadcast_to(down, across.shape), across, np.broadcast_to(away, across.shape)


def _soil(
    stage: Stage, near: Colour, far: Colour, *, top: float, rough: float = 0.3, soft: float = 4.0, stretch: float = 1.0
) -> Layer:
    """A plane of open ground: hazy at the far edge, textured in perspective."""
    down, across, away = _plan(stage, top)
    coarse = smoothly(cloudy((stage.seed, "soil"), 1.6), across * 0.09, away * 0.16 * stretch) - 0.5
    fine = smoothly(cloudy((stage.seed, "blades"), 0.95), across * 0.42, away * 0.9 * stretch) - 0.5
    share = stepped(0, 0.8, down)
    colour = blended(stage.light.on(far, depth=0.38), stage.light.on(near), share)
    # Texture fades with distance, where it would flicker.
    strength = np.clip(down * 2.6, 0.05, 1)
    colour = colour * (1 + rough * (1.1 * coarse + 0.7 * fine) * strength)[..., None]
    y = stage.rows(top, stage.floor)
    cover = np.broadcast_to(np.clip((y - int(top)) / soft, 0, 1), colour.shape[:2])
    return layer(stage, _lit(stage, colour, down, across), cover, top, NEARNESS)


def _lit(stage: Stage, colour: Field, down: Field, across: Field) -> Field:
    """The colours, warmer on the side of the sun and darker at the lower edge."""
    x = stage.columns() / stage.width - stage.light.across
    warmth = np.exp(-((x / 0.5) ** 2)) * np.clip(1 - down * 1.1, 0, 1) * 0.22
    warm = blended(
        colour,
        stage.light.glow,
        np.broadcast_to(warmth, down.shape).astype(np.float32) * min(1.0, sum(stage.light.ambient) / 2.4),
    )
    return np.asarray(warm * (1 - 0.2 * np.clip(down - 0.45, 0, 1) ** 1.2)[..., None], np.float32)


def grass(stage: Stage) -> list[Layer]:
    """A meadow in its season."""
    colour = meadow_colour(stage)
    near = mixed(scaled(colour, 0.86), rgb(52, 96, 40), 0.25) if stage.scene.season != "winter" else colour
    return [_soil(stage, near, mixed(colour, rgb(190, 200, 110), 0.25), top=stage.horizon + 0.02 * stage.height)]


def sand(stage: Stage) -> list[Layer]:
    """Sand with soft ripples."""
    red = "mesas" in stage.scene.backdrops
    colour = mixed(SAND, RED_ROCK, 0.45) if red else SAND
    return [
        _soil(
            stage,
            colour,
            mixed(colour, rgb(255, 236, 200), 0.3),
            top=stage.horizon + 0.06 * stage.height,
            rough=0.2,
            stretch=2.2,
        )
    ]


def snow(stage: Stage) -> list[Layer]:
    """White ground with blue hollows."""
    return [_soil(stage, SNOW, rgb(224, 234, 246), top=stage.horizon + 0.03 * stage.height, rough=0.1)]


def regolith(stage: Stage) -> list[Layer]:
    """The grey dust of the moon, with a few craters."""
    return [_cratered(stage, rgb(136, 136, 142))]


def mars(stage: Stage) -> list[Layer]:
    """Red dust."""
    return [_cratered(stage, rgb(176, 94, 62))]


def _cratered(stage: Stage, colour: Colour) -> Layer:
    plane = _soil(stage, colour, scaled(colour, 1.1), top=stage.horizon + 0.02 * stage.height, rough=0.34)
    paint = np.asarray(plane.picture, np.float32) / 255
    y, x = stage.rows(plane.top, plane.top + paint.shape[0]), stage.columns()
    rng = stage.random("craters")
    for _ in range(9):
        down = rng.uniform(0.08, 0.95) ** 1.3
        cy, cx = plane.top + down * (stage.height - plane.top), rng.uniform(0, stage.width)
        rx = (0.03 + 0.11 * down) * stage.unit * rng.uniform(0.5, 1.1)
        far = ((x - cx) / rx) ** 2 + ((y - cy) / (rx * 0.32)) ** 2
        bowl = np.clip(1 - far, 0, 1) ** 0.6
        rim = np.exp(-((far - 1.0) ** 2) * 9)
        paint = paint * (1 - 0.3 * bowl + 0.16 * rim * np.sign(cy - y))[..., None]
    return layer(stage, paint, np.asarray(plane.mask, np.float32) / 255, plane.top, plane.nearness)


def forest_floor(stage: Stage) -> list[Layer]:
    """Moss and leaves in the shade."""
    season = stage.scene.season
    near = {"winter": SNOW, "autumn": rgb(150, 92, 44)}.get(season, rgb(60, 92, 48))
    far = {"winter": rgb(214, 226, 238), "autumn": rgb(196, 140, 70)}.get(season, rgb(112, 142, 84))
    return [_soil(stage, near, far, top=stage.horizon + 0.02 * stage.height, rough=0.45, soft=12)]


def park(stage: Stage) -> list[Layer]:
    """A lawn with a path across."""
    lawn = grass(stage)[0]
    return [_with_strip(stage, lawn, top=0.42, bottom=0.66, colour=rgb(218, 200, 168), edge=0.02)]


def road(stage: Stage) -> list[Layer]:
    """A country road from left to right, with a broken line."""
    plane = _with_strip(stage, grass(stage)[0], top=0.32, bottom=0.72, colour=rgb(92, 94, 102), edge=0.008)
    return [_dashed(stage, plane, at=0.5)]


def rails(stage: Stage) -> list[Layer]:
    """A bed of gravel with sleepers and two rails."""
    plane = _with_strip(stage, grass(stage)[0], top=0.34, bottom=0.52, colour=rgb(146, 134, 122), edge=0.03)
    paint = np.asarray(plane.picture, np.float32) / 255
    down, x = _down(stage, plane), stage.columns()
    sleepers = ((x / stage.unit * 18) % 1 < 0.42) & (down > 0.375) & (down < 0.49)
    paint = np.where(sleepers[..., None], np.array(stage.light.on(rgb(92, 70, 54)), np.float32), paint)
    for at in (0.395, 0.455):
        rail = np.exp(-(((down - at) / 0.007) ** 2))
        paint = blended(paint, stage.light.on(rgb(196, 200, 208)), np.broadcast_to(rail, paint.shape[:2]))
    return [layer(stage, paint, np.asarray(plane.mask, np.float32) / 255, plane.top, plane.nearness)]


def street(stage: Stage) -> list[Layer]:
    """A pavement, a kerb and the roadway of a town."""
    plane = _soil(stage, rgb(84, 86, 96), rgb(112, 112, 120), top=stage.horizon + 0.015 * stage.height, rough=0.1)
    paint, down = np.asarray(plane.picture, np.float32) / 255, _down(stage, plane)
    paved = np.broadcast_to(1 - stepped(0.235, 0.245, down), paint.shape[:2])
    stone = stage.light.on(rgb(176, 168, 160))
    joints = 1 - 0.08 * (((stage.columns() / stage.unit * 9 + 0 * down) % 1) < 0.05)
    paint = blended(paint, np.array(stone, np.float32) * joints[..., None], paved)
    kerb = np.exp(-(((down - 0.25) / 0.012) ** 2))
    paint = blended(paint, stage.light.on(rgb(206, 202, 196)), np.broadcast_to(kerb, paint.shape[:2]))
    plane = layer(stage, paint, np.asarray(plane.mask, np.float32) / 255, plane.top, plane.nearness)
    return [_dashed(stage, plane, at=0.66)]


def beach(stage: Stage) -> list[Layer]:
    """Sand in front of the sea, wet at the edge."""
    return _shore(stage, SAND, mixed(SAND, rgb(255, 240, 210), 0.3), at=0.47, wet=rgb(168, 138, 100))


def floe(stage: Stage) -> list[Layer]:
    """A sheet of ice in front of the sea."""
    return _shore(stage, SNOW, rgb(226, 236, 246), at=0.42, wet=rgb(150, 196, 216))


def river(stage: Stage) -> list[Layer]:
    """The near bank of a river, and the grass of the far one."""
    colour = meadow_colour(stage)
    near = _shore(
        stage,
        scaled(colour, 0.86),
        mixed(colour, rgb(190, 200, 110), 0.25),
        at=0.66,
        wet=scaled(mixed(colour, rgb(90, 70, 50), 0.6), 0.8),
    )
    y = stage.rows(stage.horizon - 2, stage.horizon + 0.14 * stage.height)
    edge = stage.horizon + (0.05 + 0.035 * _wander(stage, "far bank")) * stage.height
    lit = blended(
        stage.light.on(colour, depth=0.25),
        stage.light.on(scaled(colour, 0.6), depth=0.2),
        np.clip((y - edge + 4) / 8, 0, 1),
    )
    return [layer(stage, lit, np.clip(edge - y + 0.5, 0, 1), stage.horizon - 2, 0.5), *near]


def _wander(stage: Stage, key: str) -> Field:
    return profile((stage.seed, key), stage.wide, features=1.6 * stage.wide / stage.unit, slope=2.2)[None]


def _shore(stage: Stage, near: Colour, far: Colour, *, at: float, wet: Colour) -> list[Layer]:
    """Ground in front of water; its edge is bent by the latents and at random."""
    plane = _soil(stage, near, far, top=stage.horizon + (at - 0.12) * (stage.height - stage.horizon), rough=0.24)
    y = stage.rows(plane.top, plane.top + plane.picture.height)
    edge = stage.horizon + (at + 0.16 * (_wander(stage, "shore") - 0.5)) * (stage.height - stage.horizon)
    inland = (y - edge) / stage.height
    damp = np.exp(-np.clip(inland, 0, None) * 26) * 0.75
    paint = blended(np.asarray(plane.picture, np.float32) / 255, stage.light.on(wet), np.asarray(damp, np.float32))
    return [layer(stage, paint, np.asarray(stepped(-0.004, 0.008, inland), np.float32), plane.top, NEARNESS)]


def roofs(stage: Stage) -> list[Layer]:
    """A dark strip of the nearest roofs below a skyline."""
    return [_soil(stage, rgb(40, 42, 56), rgb(52, 54, 70), top=stage.horizon, rough=0.1)]


def lava(stage: Stage) -> list[Layer]:
    """Black rock with glowing cracks."""
    plane = _soil(stage, rgb(56, 46, 52), rgb(74, 58, 62), top=stage.horizon + 0.03 * stage.height, rough=0.5)
    paint = np.asarray(plane.picture, np.float32) / 255
    down, across, away = _plan(stage, plane.top)
    veins = np.abs(smoothly(cloudy((stage.seed, "veins"), 1.5), across * 0.12, away * 0.22) - 0.5)
    hot = np.exp(-((veins / (0.012 + 0.012 * down)) ** 2)) * np.clip(down * 3, 0, 1)
    paint = blended(paint, blended(rgb(190, 40, 20), rgb(255, 190, 80), hot**3), np.clip(hot * 1.1, 0, 1))
    return [layer(stage, paint, np.asarray(plane.mask, np.float32) / 255, plane.top, plane.nearness)]


_ROWS: Mapping[str, tuple[Colour, Colour]] = {
    "rows-purple": (rgb(132, 96, 184), rgb(86, 116, 70)),
    "rows-gold": (rgb(226, 184, 88), rgb(196, 146, 58)),
    "rows-green": (rgb(110, 156, 72), rgb(148, 112, 74)),
    "rows-tulip": (rgb(216, 72, 84), rgb(84, 132, 64)),
}


def _rows(kind: str) -> Callable[[Stage], list[Layer]]:
    def field(stage: Stage) -> list[Layer]:
        top = stage.horizon + 0.02 * stage.height
        plant, between = _ROWS[kind]
        if stage.scene.season == "winter":
            plant, between = SNOW, rgb(196, 206, 220)
        down, across, away = _plan(stage, top)
        # Rows meet at one vanishing point, so they are equidistant across the flat ground.
        wave = np.sin(across * 17)
        share = stepped(-0.35, 0.45, wave)
        tulips = smoothly(cloudy((stage.seed, "heads"), 0.9), across * 0.6, away * 1.1)
        colours = np.array(plant, np.float32)
        if kind == "rows-tulip":
            bands = (np.floor(across * 17 / (2 * np.pi)).astype(int) % 4)[..., None]
            choices = np.array([plant, rgb(246, 196, 72), rgb(244, 150, 176), rgb(240, 236, 226)], np.float32)
            colours = choices[bands[..., 0]]
        earth = np.broadcast_to(np.array(between, np.float32), (*share.shape, 3))
        paint = blended(earth, np.broadcast_to(colours, earth.shape), share) * (0.78 + 0.44 * tulips)[..., None]
        paint = paint * np.array(stage.light.ambient, np.float32)
        far = np.clip(0.55 - down * 1.4, 0, 0.6)
        paint = blended(paint, stage.light.haze, far)
        y = stage.rows(top, stage.floor)
        cover = np.broadcast_to(np.clip((y - int(top)) / 4, 0, 1), share.shape)
        return [layer(stage, _lit(stage, paint, down, across), cover, top, NEARNESS)]

    return field


def _down(stage: Stage, plane: Layer) -> Field:
    y = stage.rows(plane.top, plane.top + plane.picture.height)
    return np.asarray((y - plane.top) / (stage.height - plane.top), np.float32)


def _with_strip(stage: Stage, plane: Layer, *, top: float, bottom: float, colour: Colour, edge: float) -> Layer:
    paint, down = np.asarray(plane.picture, np.float32) / 255, _down(stage, plane)
    wobble = (cloudy((stage.seed, "edge"), 1.6)[7] - 0.5) * edge * 2
    line = np.interp(np.linspace(0, 3, stage.wide) % 1, np.linspace(0, 1, len(wobble)), wobble)[None]
    strip = stepped(top - 0.012, top + 0.012, down + line) * (1 - stepped(bottom - 0.012, bottom + 0.012, down - line))
    grain = smoothly(
        cloudy((stage.seed, "strip"), 1.0), stage.columns() / stage.unit + 0 * down, down * 3 + 0 * stage.columns()
    )
    surface = np.array(stage.light.on(colour), np.float32) * (0.93 + 0.14 * grain)[..., None]
    return layer(
        stage, blended(paint, surface, strip), np.asarray(plane.mask, np.float32) / 255, plane.top, plane.nearness
    )


def _dashed(stage: Stage, plane: Layer, *, at: float) -> Layer:
    paint, down = np.asarray(plane.picture, np.float32) / 255, _down(stage, plane)
    line = np.exp(-(((down - at) / 0.011) ** 4)) * (((stage.columns() / stage.unit * 3.2) % 1) < 0.55)
    paint = blended(paint, stage.light.on(rgb(240, 232, 210)), np.asarray(line * 0.85, np.float32))
    return layer(stage, paint, np.asarray(plane.mask, np.float32) / 255, plane.top, plane.nearness)


GROUNDS: Mapping[str, Callable[[Stage], list[Layer]]] = {
    "grass": grass, "sand": sand, "snow": snow, "regolith": regolith, "mars": mars, "forest": forest_floor, "park": park,
    "beach": beach, "floe": floe, "river": river, "road": road, "rails": rails, "street": street, "roofs": roofs, "lava": lava,
    **{name: _rows(name) for name in _ROWS},
}  # fmt: skip
"""The function that paints each ground; moving grounds, such as water, are painted elsewhere."""
