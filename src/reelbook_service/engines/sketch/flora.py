"""Backdrops of plants: rows of trees, palms, hedges, blossoms, reeds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from PIL import ImageDraw

from .land import meadow_colour
from .layers import Layer, blended, drawn, layer
from .noise import cloudy, profile, sampled
from .palette import Colour, mixed, rgb, scaled
from .stage import Stage

PINE, LEAVES = rgb(50, 92, 72), rgb(86, 138, 72)
Pen = Callable[[ImageDraw.ImageDraw, float, float, float], None]


def crowns(stage: Stage) -> Colour:
    """The colour of leaves in this season."""
    return {"autumn": rgb(206, 124, 52), "spring": rgb(236, 172, 192), "winter": rgb(206, 216, 228)}.get(
        stage.scene.season, LEAVES
    )


def silhouette(
    stage: Stage, pen: Pen, colour: Colour, *, top: float, bottom: float, depth: float, nearness: float, mist: float = 0.35,
    leafy: float = 0.22,
) -> Layer:  # fmt: skip
    """A plane with drawn shapes in lit, textured colour that fades to haze at the foot."""
    cover = drawn(stage, top, bottom, pen)
    y, x = stage.rows(top, bottom), stage.columns()
    unit = np.float32(stage.unit)
    texture = sampled(cloudy((stage.seed, "leafage"), 1.05), x / unit * 1.1 + 0 * y, y / unit * 1.1 + 0 * x)
    ahead = sampled(
        cloudy((stage.seed, "leafage"), 1.05),
        x / unit * 1.1 + 0.012 * (1 if stage.light.across > 0.5 else -1) + 0 * y,
        y / unit * 1.1 - 0.012 + 0 * x,
    )
    lit = stage.light.on(colour, depth=depth)
    down = np.clip((y - top) / (bottom - top), 0, 1)
    paint = blended(lit, mixed(lit, stage.light.haze, mist), np.broadcast_to(down**1.5, cover.shape))
    paint = paint * (1 + leafy * (1 - depth) * ((texture - 0.5) * 0.9 + (texture - ahead) * 3.2))[..., None]
    return layer(stage, paint, cover, top, nearness)


def pines(stage: Stage) -> list[Layer]:
    """Two rows of firs at the foot of mountains."""
    colour = mixed(PINE, rgb(226, 234, 242), 0.3 if stage.scene.season == "winter" else 0)
    return [
        _pine_row(stage, index, colour, size, depth, nearness)
        for index, (size, depth, nearness) in enumerate(((0.10, 0.42, 0.34), (0.17, 0.2, 0.46)))
    ]


def _pine_row(stage: Stage, index: int, colour: Colour, size: float, depth: float, nearness: float) -> Layer:
    rng = stage.random("pines", index)
    base = stage.horizon + (0.02 + 0.025 * index) * stage.height
    size *= stage.unit
    count = int(stage.wide / (size * 0.20))
    xs = np.linspace(-stage.margin_x, stage.width + stage.margin_x, count) + rng.uniform(-0.3, 0.3, count) * size * 0.3
    crowd = profile((stage.seed, "crowd", index), count, features=4, slope=1.2)
    heights = size * (0.35 + 0.65 * crowd) * rng.uniform(0.75, 1.15, count)

    def pen(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        for x, high in zip(xs.tolist(), heights.tolist(), strict=True):
            for tier in range(4):
                y, half = base - high * (0.04 + 0.22 * tier), high * (0.22 - 0.042 * tier)
                points = [(x, y - high * 0.36), (x + half, y), (x - half, y)]
                draw.polygon([((px + dx) * finer, (py + dy) * finer) for px, py in points], fill=255)
        draw.rectangle(
            [0, (base - size * 0.05 + dy) * finer, (stage.wide) * finer, (base + 0.03 * stage.height + dy) * finer],
            fill=255,
        )

    top = base - size * 1.35
    return silhouette(stage, pen, colour, top=top, bottom=base + 0.03 * stage.height, depth=depth, nearness=nearness)


def trees(stage: Stage) -> list[Layer]:
    """Two rows of round trees."""
    return [
        _round_row(stage, index, crowns(stage), size, depth, nearness)
        for index, (size, depth, nearness) in enumerate(((0.13, 0.42, 0.34), (0.22, 0.2, 0.48)))
    ]


def _round_row(stage: Stage, index: int, colour: Colour, size: float, depth: float, nearness: float) -> Layer:
    rng = stage.random("round trees", index)
    base = stage.horizon + (0.022 + 0.02 * index) * stage.height
    size *= stage.unit
    count = int(stage.wide / (size * 0.62)) + 1
    xs = (
        np.linspace(-stage.margin_x, stage.width + stage.margin_x, count) + rng.uniform(-0.45, 0.45, count) * size * 0.7
    )
    heights = size * rng.uniform(0.5, 1.05, count)

    def pen(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        chance = np.random.default_rng(index)
        for x, high in zip(xs.tolist(), heights.tolist(), strict=True):
            draw.rectangle(
                [
                    (x - high * 0.04 + dx) * finer,
                    (base - high * 0.4 + dy) * finer,
                    (x + high * 0.04 + dx) * finer,
                    (base + dy) * finer,
                ],
                fill=255,
            )
            for _ in range(9):
                angle, far = chance.uniform(0, 6.28), chance.uniform(0.1, 0.26) * high
                cx, cy, r = (
                    x + far * np.cos(angle),
                    base - high * 0.62 + far * 0.8 * np.sin(angle),
                    high * chance.uniform(0.14, 0.22),
                )
                draw.ellipse(
                    [(cx - r + dx) * finer, (cy - r + dy) * finer, (cx + r + dx) * finer, (cy + r + dy) * finer],
                    fill=255,
                )
        draw.rectangle(
            [0, (base - size * 0.03 + dy) * finer, stage.wide * finer, (base + 0.025 * stage.height + dy) * finer],
            fill=255,
        )

    return silhouette(
        stage,
        pen,
        colour,
        top=base - size * 1.3,
        bottom=base + 0.025 * stage.height,
        depth=depth,
        nearness=nearness,
        leafy=0.4,
    )


def palms(stage: Stage) -> list[Layer]:
    """Two palms leaning in from the side of a beach."""
    rng = stage.random("palms")
    side = 1 if stage.style(4) > 0 else -1
    foot = stage.horizon + 0.34 * stage.height

    def pen(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        for place, high in ((0.9, 0.78), (0.99, 0.62)):
            x = stage.width * (place if side > 0 else 1 - place)
            high *= stage.unit
            top = (x - side * 0.22 * high, foot - high)
            path = [
                (x, foot),
                (x - side * 0.02 * high, foot - 0.4 * high),
                (x - side * 0.1 * high, foot - 0.75 * high),
                top,
            ]
            for (x0, y0), (x1, y1) in pairwise(path):
                draw.line(
                    [((x0 + dx) * finer, (y0 + dy) * finer), ((x1 + dx) * finer, (y1 + dy) * finer)],
                    fill=255,
                    width=int(0.045 * high * finer),
                )
            for angle in np.linspace(-0.5, 3.64, 9) + rng.uniform(-0.12, 0.12, 9):
                _frond(draw, top, high * 0.42, float(angle), finer, dx, dy)

    return [
        silhouette(
            stage,
            pen,
            rgb(54, 92, 62),
            top=max(-stage.margin_y, foot - 1.2 * stage.unit),
            bottom=foot,
            depth=0.04,
            nearness=0.62,
            mist=0.0,
            leafy=0.3,
        )
    ]


def _frond(
    draw: ImageDraw.ImageDraw, top: tuple[float, float], long: float, angle: float, finer: float, dx: float, dy: float
) -> None:
    """Draw a palm leaf that rises, bends over and hangs, with a fringe below."""
    steps = np.linspace(0, 1, 12)
    xs = top[0] + long * np.cos(angle) * steps
    ys = top[1] - long * 0.55 * np.sin(angle) * steps + long * 0.62 * steps**2
    width = long * 0.16 * np.sin(np.pi * np.clip(steps * 0.94 + 0.06, 0, 1))
    upper = [((x + dx) * finer, (y - w * 0.4 + dy) * finer) for x, y, w in zip(xs, ys, width, strict=True)]
    lower = [
        ((x + dx) * finer, (y + w * (1.0 if i % 2 else 0.4) + dy) * finer)
        for i, (x, y, w) in enumerate(zip(xs, ys, width, strict=True))
    ]
    draw.polygon([*upper, *lower[::-1]], fill=255)


def hedge(stage: Stage) -> list[Layer]:
    """Trees behind a garden's clipped hedge."""
    base = stage.horizon + 0.06 * stage.height
    bumps = profile((stage.seed, "hedge"), stage.wide, features=16, slope=1.0)
    top = base - (0.15 + 0.025 * bumps) * stage.unit

    def pen(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        points = [(index * finer, (float(y) + dy) * finer) for index, y in enumerate(top)]
        draw.polygon([*points, (stage.wide * finer, (base + dy) * finer), (0, (base + dy) * finer)], fill=255)

    back = _round_row(stage, 1, crowns(stage), 0.3, 0.3, 0.4)
    front = silhouette(
        stage,
        pen,
        scaled(mixed(LEAVES, rgb(40, 90, 50), 0.4), 0.95),
        top=float(top.min()) - 2,
        bottom=base,
        depth=0.12,
        nearness=0.52,
        mist=0.1,
        leafy=0.5,
    )
    return [back, front]


def blossoms(stage: Stage) -> list[Layer]:
    """Flowers scattered over a meadow, larger in front."""
    if stage.scene.season == "winter":
        return []
    rng = stage.random("blossoms")
    top = stage.horizon + 0.04 * stage.height
    heads = (rgb(236, 92, 90), rgb(250, 206, 86), rgb(250, 248, 240), rgb(240, 160, 192), rgb(150, 120, 204))
    layers = []
    down = rng.uniform(0.04, 1.0, 240) ** 0.9
    xs = rng.uniform(-0.05, 1.05, 240) * stage.width
    for index, colour in enumerate(heads):
        mine = [(float(x), float(d)) for x, d in zip(xs[index::5], down[index::5], strict=True)]
        layers.append(_heads(stage, mine, colour, top))
    return layers


def _heads(stage: Stage, spots: list[tuple[float, float]], colour: Colour, top: float) -> Layer:
    def pen(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        for x, down in spots:
            y, r = top + down * (stage.height - top), (0.0016 + 0.0075 * down) * stage.unit
            for angle in range(5):
                cx, cy = x + r * 0.8 * np.cos(angle * 1.257), y + r * 0.62 * np.sin(angle * 1.257)
                draw.ellipse(
                    [
                        (cx - r * 0.7 + dx) * finer,
                        (cy - r * 0.55 + dy) * finer,
                        (cx + r * 0.7 + dx) * finer,
                        (cy + r * 0.55 + dy) * finer,
                    ],
                    fill=255,
                )

    cover = drawn(stage, top - 6, stage.floor, pen)
    return layer(
        stage, np.broadcast_to(np.array(stage.light.on(colour), np.float32), (*cover.shape, 3)), cover, top - 6, 0.62
    )


def reeds(stage: Stage) -> list[Layer]:
    """Reeds in the lower corners of a pond."""
    rng = stage.random("reeds")
    blades = [
        (rng.choice((0, 1)), rng.uniform(0, 0.2), rng.uniform(0.14, 0.4), rng.uniform(-0.14, 0.14)) for _ in range(46)
    ]

    def pen(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        for side, place, high, lean in blades:
            x = stage.width * (place if side == 0 else 1 - place)
            high *= stage.unit
            foot, tip = stage.height * 1.02, (x + lean * high, stage.height * 1.02 - high)
            w = 0.007 * stage.unit
            draw.polygon(
                [((px + dx) * finer, (py + dy) * finer) for px, py in ((x - w, foot), (x + w, foot), tip)], fill=255
            )
            if high > 0.28 * stage.unit:
                draw.ellipse(
                    [
                        (tip[0] - w * 1.1 + dx) * finer,
                        (tip[1] + dy) * finer,
                        (tip[0] + w * 1.1 + dx) * finer,
                        (tip[1] + 0.06 * stage.unit + dy) * finer,
                    ],
                    fill=255,
                )

    colour = mixed(rgb(70, 104, 60), meadow_colour(stage), 0.2)
    return [
        silhouette(
            stage,
            pen,
            colour,
            top=stage.height - 0.46 * stage.unit,
            bottom=stage.floor,
            depth=0.0,
            nearness=0.95,
            mist=0.0,
        )
    ]
