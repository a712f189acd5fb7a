"""Backdrops without a horizon: under water and in space."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from PIL import ImageDraw

from .flora import Pen, silhouette
from .layers import Layer, blended, layer
from .noise import cloudy, profile, sampled
from .palette import Colour, mixed, rgb, scaled
from .stage import Stage


def reef(stage: Stage) -> list[Layer]:
    """Distant rocks, a sandy bottom, corals and weeds."""
    layers = []
    for index, (height, depth) in enumerate(((0.42, 0.72), (0.26, 0.5))):
        raw = profile((stage.seed, "rocks", index), stage.wide, features=2.6 * stage.wide / stage.unit, slope=1.5)
        edges = np.abs(np.linspace(-1, 1, stage.wide)) ** 1.5
        line = stage.height * (0.94 - height * (0.2 + 0.5 * raw + 0.7 * edges * raw))
        y, x = stage.rows(float(line.min()) - 2, stage.floor), stage.columns()
        texture = sampled(cloudy((stage.seed, "reef"), 1.2), x / stage.unit * 0.8 + 0 * y, y / stage.unit * 0.8 + 0 * x)
        rock = np.array(stage.light.on(rgb(60, 92, 110), depth=depth), np.float32)
        paint = rock * (1 + 0.3 * (texture - 0.5))[..., None]
        layers.append(
            layer(
                stage,
                paint,
                np.clip(y - line[None].astype(np.float32), 0, 1),
                float(line.min()) - 2,
                0.2 + 0.15 * index,
            )
        )
    layers.append(_bottom(stage))
    return [*layers, *_corals(stage)]


def _bottom(stage: Stage) -> Layer:
    top = stage.horizon
    y, x = stage.rows(top - 8, stage.floor), stage.columns()
    swell = (profile((stage.seed, "bottom"), stage.wide, features=2, slope=2)[None] - 0.5) * 0.05 * stage.height
    down = np.clip((y - top - swell) / (stage.height - top), 0, 1.5)
    away = 1 / (down + 0.12)
    ripples = (
        sampled(
            cloudy((stage.seed, "ripples"), 1.25), (x - stage.width / 2) / stage.unit * away * 0.1, away * 0.3 + 0 * x
        )
        - 0.5
    )
    colour = blended(
        stage.light.on(rgb(206, 196, 150), depth=0.62),
        stage.light.on(rgb(222, 208, 160), depth=0.12),
        np.clip(down, 0, 1),
    )
    return layer(stage, colour * (1 + 0.35 * ripples)[..., None], np.clip((y - top - swell) / 3, 0, 1), top - 8, 0.62)


def _corals(stage: Stage) -> list[Layer]:
    rng = stage.random("corals")
    colours: tuple[Colour, ...] = (
        rgb(232, 104, 112),
        rgb(240, 160, 84),
        rgb(176, 104, 190),
        rgb(92, 170, 120),
        rgb(240, 190, 200),
    )
    layers = []
    for index, colour in enumerate(colours):
        spots = []
        for _ in range(4):
            side = rng.choice((0.0, 1.0))
            place = rng.uniform(-0.02, 0.34) if side == 0 else rng.uniform(0.66, 1.02)
            spots.append(
                (place * stage.width, stage.height * rng.uniform(0.9, 1.03), rng.uniform(0.10, 0.24) * stage.unit)
            )

        layers.append(
            silhouette(
                stage,
                _branches(stage, spots, index),
                scaled(mixed(colour, rgb(120, 160, 190), 0.12), 0.95),
                top=0.55 * stage.height,
                bottom=stage.floor,
                depth=0.10,
                nearness=0.7,
                mist=0.0,
                leafy=0.35,
            )
        )
    return layers


def _branches(stage: Stage, spots: list[tuple[float, float, float]], kind: int) -> Pen:
    def pen(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        chance = stage.random("branches", kind)

        def line(x0: float, y0: float, x1: float, y1: float, width: float) -> None:
            draw.line(
                [((x0 + dx) * finer, (y0 + dy) * finer), ((x1 + dx) * finer, (y1 + dy) * finer)],
                fill=255,
                width=max(2, int(width * finer)),
            )
            r = width / 2
            draw.ellipse(
                [(x1 - r + dx) * finer, (y1 - r + dy) * finer, (x1 + r + dx) * finer, (y1 + r + dy) * finer], fill=255
            )

        def grow(x: float, y: float, long: float, angle: float, width: float, level: int) -> None:
            x1, y1 = x + long * np.sin(angle), y - long * np.cos(angle)
            line(x, y, x1, y1, width)
            if level:
                for turn in (-0.5, 0.05, 0.55):
                    grow(
                        x1,
                        y1,
                        long * chance.uniform(0.6, 0.8),
                        angle + turn * chance.uniform(0.7, 1.2),
                        width * 0.74,
                        level - 1,
                    )

        for x, y, high in spots:
            if kind in (0, 2):
                grow(x, y, high * 0.4, chance.uniform(-0.2, 0.2), high * 0.11, 3)
            elif kind == 3:
                for blade in range(5):
                    lean = chance.uniform(-0.3, 0.3)
                    points = [
                        (
                            x + (blade - 2) * 0.05 * high + lean * high * s**2 + 0.05 * high * np.sin(s * 7 + blade),
                            y - high * 1.3 * s,
                        )
                        for s in np.linspace(0, 1, 10)
                    ]
                    for (x0, y0), (x1, y1) in pairwise(points):
                        line(x0, y0, x1, y1, 0.06 * high)
            else:
                for _ in range(12):
                    cx, cy, r = (
                        x + chance.normal(0, 0.26) * high,
                        y - abs(chance.normal(0, 0.22)) * high,
                        chance.uniform(0.08, 0.16) * high,
                    )
                    draw.ellipse(
                        [(cx - r + dx) * finer, (cy - r + dy) * finer, (cx + r + dx) * finer, (cy + r + dy) * finer],
                        fill=255,
                    )

    return pen


def planets(stage: Stage) -> list[Layer]:
    """A glowing nebula, unless the prompt names celestial bodies."""
    y, x = stage.rows(-stage.margin_y, stage.floor), stage.columns()
    u, v = x / stage.unit * 0.34 + 0 * y, y / stage.unit * 0.34 + 0 * x
    first, second = (sampled(cloudy((stage.seed, "nebula", index), 1.55), u + 0.2 * index, v) for index in range(2))
    fine = sampled(cloudy((stage.seed, "nebula fine"), 1.1), u * 2, v * 2)
    angle = 0.6 * stage.style(5)
    band = np.exp(-((((y - stage.height * 0.5) + (x - stage.width / 2) * angle) / (0.34 * stage.unit)) ** 2))
    cloud = np.clip((first * 0.75 + fine * 0.25 - 0.36) * 1.9, 0, 1) * (0.30 + 0.70 * band)
    hues: tuple[Colour, ...] = (rgb(190, 70, 150), rgb(70, 110, 220), rgb(60, 190, 190), rgb(230, 130, 80))
    pick = int((stage.style(6) * 0.5 + 0.5) * 3.99)
    colour = blended(hues[pick], hues[(pick + 1) % 4], np.clip(second * 1.6 - 0.3, 0, 1))
    colour = blended(colour, (1.0, 0.94, 0.9), np.clip(cloud - 0.55, 0, 1) * band)
    dust = np.clip((second - 0.58) * 4, 0, 1) * band * 0.5
    return [layer(stage, colour * (1 - dust)[..., None], np.clip(cloud * 0.62, 0, 1), -stage.margin_y, 0.02)]
