"""Backdrops inside a forest or a jungle."""

from __future__ import annotations

import numpy as np
from PIL import ImageDraw

from .flora import Pen, crowns, silhouette
from .layers import Layer, blended, layer
from .noise import Field, cloudy, profile, sampled
from .palette import mixed, rgb
from .stage import Stage


def woods(stage: Stage) -> list[Layer]:
    """The inside of a forest: trunks at three depths below a canopy."""
    layers = []
    bark = rgb(86, 66, 54)
    for index, (count, thick, depth, nearness) in enumerate(
        ((15, 0.026, 0.66, 0.2), (9, 0.045, 0.42, 0.38), (5, 0.08, 0.12, 0.58))
    ):
        rng = stage.random("woods", index)
        count = max(3, int(count * stage.wide / stage.unit / 1.78))
        xs = (np.arange(count) + rng.uniform(0.15, 0.85, count)) / count * stage.wide - stage.margin_x
        base = stage.horizon + (0.03 + 0.07 * index) * stage.height
        pen = _trunks(stage, xs, thick * stage.unit, base, index)
        tint = mixed(bark, rgb(120, 130, 130), 0.2)
        layers.append(
            silhouette(
                stage, pen, tint, top=-stage.margin_y, bottom=base, depth=depth, nearness=nearness, mist=0.1, leafy=0.3
            )
        )
        layers.append(_canopy(stage, index, depth, nearness))
    return layers


def _trunks(stage: Stage, xs: Field, thick: float, base: float, index: int) -> Pen:
    def pen(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        chance = stage.random("trunk", index)
        for x in xs.tolist():
            w, lean = thick * chance.uniform(0.7, 1.3), chance.uniform(-0.05, 0.05) * base
            top = -stage.margin_y
            points = [
                (x - w * 0.9, base),
                (x - w * 0.5, base - 0.1 * stage.unit),
                (x + lean - w * 0.36, top),
                (x + lean + w * 0.36, top),
                (x + w * 0.5, base - 0.1 * stage.unit),
                (x + w * 0.9, base),
            ]
            draw.polygon([((px + dx) * finer, (py + dy) * finer) for px, py in points], fill=255)
            for _ in range(2):
                share, way = chance.uniform(0.35, 0.8), chance.choice((-1, 1))
                y0, x0 = base + (top - base) * share, x + lean * share
                draw.line(
                    [
                        ((x0 + dx) * finer, (y0 + dy) * finer),
                        ((x0 + way * w * 3.4 + dx) * finer, (y0 - w * 2.2 + dy) * finer),
                    ],
                    fill=255,
                    width=max(1, int(w * 0.36 * finer)),
                )

    return pen


def _canopy(stage: Stage, index: int, depth: float, nearness: float) -> Layer:
    """Leaves along the upper edge, with light shining through."""
    low = (0.42 - 0.10 * index) * stage.height
    y, x = stage.rows(-stage.margin_y, low), stage.columns()
    unit = np.float32(stage.unit * (0.9 + 0.5 * index))
    texture = sampled(cloudy((stage.seed, "canopy", index), 1.15), x / unit * 0.9 + 0 * y, y / unit * 0.9 + 0 * x)
    edge = profile((stage.seed, "canopy", index), stage.wide, features=5, slope=1.3)[None]
    cover = np.clip((texture - 0.26 - 0.62 * np.clip(y / (low * (0.55 + 0.45 * edge)), 0, 2)) * 9, 0, 1)
    cover = cover * np.clip((low - y) / (0.08 * stage.height), 0, 1)
    colour = stage.light.on(
        mixed(crowns(stage), rgb(40, 70, 40), 0.2 if stage.scene.season == "" else 0.0), depth=depth
    )
    bright = mixed(colour, stage.light.glow, 0.4)
    ahead = sampled(
        cloudy((stage.seed, "canopy", index), 1.15), x / unit * 0.9 + 0.01 + 0 * y, y / unit * 0.9 - 0.012 + 0 * x
    )
    paint = blended(colour, bright, np.clip(0.3 + (texture - ahead) * 4.0, 0, 1) * (1 - 0.5 * depth))
    return layer(stage, paint * (0.72 + 0.4 * texture)[..., None], cover, -stage.margin_y, nearness)


def jungle(stage: Stage) -> list[Layer]:
    """Woods framed by large leaves."""
    layers = woods(stage)[:4]
    for index, (scale, depth, nearness) in enumerate(((0.30, 0.25, 0.5), (0.46, 0.02, 0.95))):
        rng = stage.random("jungle", index)
        spots: list[tuple[float, float, float]] = []
        for _ in range(24 if index == 0 else 12):
            side = rng.choice((0.0, 1.0))
            x = (
                rng.uniform(-0.05, 0.32 - 0.16 * index) if side == 0 else rng.uniform(0.68 + 0.16 * index, 1.05)
            ) * stage.width
            spots.append((x, rng.uniform(0.0, 1.05) * stage.height, rng.uniform(-0.9, 0.9) + (np.pi if side else 0)))
        green = mixed(rgb(46, 112, 62), rgb(20, 60, 44), 0.5 * index)
        layers.append(
            silhouette(
                stage,
                _leaves(stage, spots, scale * stage.unit),
                green,
                top=-stage.margin_y,
                bottom=stage.floor,
                depth=depth,
                nearness=nearness,
                mist=0.0,
                leafy=0.5,
            )
        )
    return layers


def _leaves(stage: Stage, spots: list[tuple[float, float, float]], size: float) -> Pen:
    def pen(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        for x, y, angle in spots:
            along = np.linspace(0, 1, 14)
            wide = 0.15 * np.sin(np.pi * along) ** 0.9
            px = np.concatenate([along, along[::-1]]) * size
            py = np.concatenate([wide, -wide[::-1]]) * size + 0.25 * size * (px / size) ** 2
            cosine, sine = np.cos(angle), np.sin(angle)
            points = [
                ((x + a * cosine - b * sine + dx) * finer, (y + a * sine + b * cosine + dy) * finer)
                for a, b in zip(px, py, strict=True)
            ]
            draw.polygon(points, fill=255)

    return pen
