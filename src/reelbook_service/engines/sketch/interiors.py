"""Interior backdrops: a room with a window, a cave, a theatre's stage."""

from __future__ import annotations

import numpy as np
from PIL import ImageDraw

from .flora import silhouette
from .layers import Layer, blended, layer
from .noise import cloudy, profile, sampled, stepped
from .palette import Colour, mixed, rgb, scaled
from .stage import Stage


def room_light(stage: Stage) -> Colour:
    """The light of a room: warm in the evening, daylight by day."""
    return (0.86, 0.66, 0.46) if stage.light.dark or stage.scene.time in ("dusk", "sunset") else (1.0, 0.95, 0.88)


def _lit(colour: Colour, lamp: Colour) -> Colour:
    red, green, blue = (a * b for a, b in zip(colour, lamp, strict=True))
    return red, green, blue


def room(stage: Stage) -> list[Layer]:
    """A wall with a window onto the sky, curtains, and a wooden table in front."""
    lamp = room_light(stage)
    walls = (rgb(206, 190, 168), rgb(176, 196, 190), rgb(214, 178, 160), rgb(180, 184, 208))
    wall = walls[int((stage.style(5) * 0.5 + 0.5) * 3.99)]
    table_top = stage.horizon
    y, x = stage.rows(-stage.margin_y, table_top + 4), stage.columns()
    wide, high = 0.62 * stage.unit, 0.56 * stage.unit
    left = stage.width * (0.5 if stage.width < stage.height else 0.34 if stage.style(4) > 0 else 0.66) - wide / 2
    top = max(0.07 * stage.height, table_top - high - 0.12 * stage.unit)
    glow = np.exp(
        -(((x - left - wide / 2) / (0.8 * stage.unit)) ** 2 + ((y - top - high / 2) / (0.7 * stage.unit)) ** 2)
    )
    fall = np.clip(0.62 + 0.5 * glow - 0.14 * (y / stage.height), 0, 1.2)
    stripes = 1 + 0.025 * np.sign(np.sin(x / stage.unit * 46)) + 0 * y
    paint = np.array(_lit(wall, lamp), np.float32) * (fall * stripes)[..., None]
    inside = ((x > left) & (x < left + wide) & (y > top) & (y < top + high)).astype(np.float32)
    bars = np.minimum(np.abs(x - left - wide / 2), np.abs(y - top - high * 0.42)) < 0.011 * stage.unit
    frame = (
        (x > left - 0.03 * stage.unit)
        & (x < left + wide + 0.03 * stage.unit)
        & (y > top - 0.03 * stage.unit)
        & (y < top + high + 0.05 * stage.unit)
    ).astype(np.float32)
    wood = np.array(_lit(rgb(244, 238, 226), lamp), np.float32)
    paint = blended(paint, np.broadcast_to(wood, paint.shape), np.maximum(frame - inside, inside * bars))
    cover = 1 - inside * (1 - bars)
    layers = [layer(stage, paint, cover, -stage.margin_y, 0.4)]
    layers += _curtains(stage, left, top, wide, high, lamp)
    layers.append(_table(stage, table_top, lamp))
    return layers


def _curtains(stage: Stage, left: float, top: float, wide: float, high: float, lamp: Colour) -> list[Layer]:
    colour = _lit(mixed(rgb(190, 92, 84), rgb(96, 130, 150), 0.5 + 0.5 * stage.style(6)), lamp)
    y, x = stage.rows(top - 0.08 * stage.unit, top + high + 0.12 * stage.unit), stage.columns()
    down = np.clip((y - top) / high, 0, 1.3)
    gather = 0.16 * wide * (1.15 - 0.45 * np.sin(np.clip(down, 0, 1) * np.pi))
    inner_left, inner_right = left + gather - 0.1 * wide, left + wide - gather + 0.1 * wide
    cover = np.clip(inner_left - x, 0, 1) * (x > left - 0.16 * wide) + np.clip(x - inner_right, 0, 1) * (
        x < left + wide + 0.16 * wide
    )
    folds = 0.82 + 0.22 * np.sin((x - left) / stage.unit * 74 + 2 * down)
    rod = (
        (y < top - 0.045 * stage.unit)
        & (y > top - 0.065 * stage.unit)
        & (x > left - 0.22 * wide)
        & (x < left + 1.22 * wide)
    ).astype(np.float32)
    cover = np.maximum(cover * (y > top - 0.055 * stage.unit), rod)
    paint = np.array(colour, np.float32) * np.where(rod > 0, 0.5, folds)[..., None]
    return [layer(stage, paint, cover, top - 0.08 * stage.unit, 0.4)]


def _table(stage: Stage, top: float, lamp: Colour) -> Layer:
    y, x = stage.rows(top, stage.floor), stage.columns()
    down = np.clip((y - top) / (stage.height - top), 0, 1.2)
    away = 1 / (down + 0.35)
    across = (x - stage.width / 2) / stage.unit * away
    grain = sampled(cloudy((stage.seed, "wood"), 1.3), across * 0.05 + 0 * down, down * 1.7 + 0 * across)
    lines = np.abs(np.sin(down * 13 + 0 * across)) < 0.05
    wood = np.array(_lit(rgb(164, 112, 72), lamp), np.float32)
    shine = np.exp(-(((x - stage.width * 0.45) / (0.6 * stage.unit)) ** 2)) * np.clip(1 - down, 0, 1) * 0.3
    paint = wood * (0.72 + 0.45 * grain - 0.12 * lines + shine - 0.18 * down)[..., None]
    return layer(stage, paint, np.broadcast_to(np.clip((y - int(top)) / 2, 0, 1), across.shape), top, 0.62)


def cave(stage: Stage) -> list[Layer]:
    """Dark rock around a bright mouth, with stalactites and a wet floor."""
    layers = []
    middle_x, middle_y = stage.width * (0.5 + 0.12 * stage.style(4)), 0.42 * stage.height
    for index, (reach, shade, nearness) in enumerate(((0.34, 0.62, 0.25), (0.46, 0.4, 0.5), (0.62, 0.2, 0.8))):
        y, x = stage.rows(-stage.margin_y, stage.floor), stage.columns()
        angle = np.arctan2(y - middle_y, x - middle_x)
        ring = profile((stage.seed, "mouth", index), 720, features=7, slope=1.6)
        rough = np.interp(angle, np.linspace(-np.pi, np.pi, 720), np.minimum(ring, ring[::-1]) - 0.4).astype(np.float32)
        far = np.hypot((x - middle_x) / 1.15, y - middle_y) / stage.unit
        edge = reach * (1 + 0.45 * rough)
        cover = np.clip((far - edge) * stage.unit * 0.6, 0, 1)
        texture = cloudy((stage.seed, "rock", index), 1.5)
        u, v = x / stage.unit * 0.6 + 0 * y, y / stage.unit * 0.6 + 0 * x
        relief = sampled(texture, u, v) - sampled(texture, u + 0.01, v - 0.012)
        rock = np.array(stage.light.on(scaled(rgb(118, 108, 112), shade + 0.25)), np.float32)
        lit = np.clip(1.25 - (far - edge) * 2.0, 0.3, 1.25)
        paint = rock * (lit * (1 + 1.3 * relief))[..., None]
        paint = blended(paint, stage.light.glow, np.clip(0.28 - (far - edge) * 3.2, 0, 0.28))
        layers.append(layer(stage, paint, cover, -stage.margin_y, nearness))
    layers.insert(2, _stalactites(stage))
    return layers


def _stalactites(stage: Stage) -> Layer:
    rng = stage.random("stalactites")
    spikes = [
        (rng.uniform(0, 1) * stage.width, rng.uniform(0.12, 0.34) * stage.unit, rng.uniform(0.012, 0.03) * stage.unit)
        for _ in range(22)
    ]

    def pen(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        for x, long, half in spikes:
            points = ((x - half, -stage.margin_y), (x + half, -stage.margin_y), (x + half * 0.3, long * 0.6), (x, long))
            draw.polygon([((px + dx) * finer, (py + dy) * finer) for px, py in points], fill=255)

    return silhouette(
        stage,
        pen,
        rgb(70, 64, 74),
        top=-stage.margin_y,
        bottom=0.5 * stage.unit,
        depth=0.1,
        nearness=0.6,
        mist=0.3,
        leafy=0.3,
    )


def theatre(stage: Stage) -> list[Layer]:
    """Red curtains, a wooden stage and a pool of light."""
    y, x = stage.rows(-stage.margin_y, stage.horizon + 2), stage.columns()
    folds = 0.55 + 0.45 * np.sin(x / stage.unit * 34 + 0.6 * np.sin(y / stage.unit * 3)) + 0 * y
    red = np.array(rgb(150, 28, 40), np.float32)
    pool = np.exp(-(((x - stage.width / 2) / (0.55 * stage.unit)) ** 2)) * 0.7 + 0.45
    back = layer(
        stage,
        red * (0.35 + 0.65 * folds)[..., None] * pool[..., None],
        np.ones(folds.shape, np.float32),
        -stage.margin_y,
        0.4,
    )
    y, x = stage.rows(stage.horizon, stage.floor), stage.columns()
    down = (y - stage.horizon) / (stage.height - stage.horizon)
    boards = 0.9 + 0.1 * np.sign(np.sin((x - stage.width / 2) / stage.unit * 26 / (0.5 + down)))
    spot = np.exp(-(((x - stage.width / 2) / (0.62 * stage.unit)) ** 2 + ((down - 0.55) / 0.5) ** 2))
    wood = np.array(rgb(150, 96, 58), np.float32) * (boards * (0.35 + 0.85 * spot))[..., None]
    floor = layer(stage, wood, np.ones(boards.shape, np.float32), stage.horizon, 0.62)
    y, x = stage.rows(-stage.margin_y, stage.horizon + 0.3 * stage.height), stage.columns()
    centre = np.abs(x - stage.width / 2) / (0.07 * stage.unit + (y + stage.margin_y) * 0.34)
    beam = (1 - stepped(0.5, 1.0, centre)) * 0.22
    light = layer(
        stage, np.broadcast_to(np.array(rgb(255, 236, 196), np.float32), (*beam.shape, 3)), beam, -stage.margin_y, 0.4
    )
    return [back, floor, light]
