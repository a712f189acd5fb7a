"""Backdrops of buildings: villages, barns, castles, quays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PIL import Image, ImageDraw

from .city import WINDOW
from .figures import FIGURES
from .figures.kit import Kit
from .flora import Pen, silhouette
from .layers import Layer, drawn, layer
from .palette import rgb
from .puppet import Pose, show
from .stage import Stage

NEON = (rgb(255, 60, 160), rgb(60, 230, 240), rgb(170, 90, 255), rgb(255, 196, 70))


def _placed(
    stage: Stage,
    kind: str,
    spots: list[tuple[float, float, float]],
    *,
    depth: float,
    nearness: float,
    top: float,
    bottom: float,
    key: str,
) -> Layer:
    """A plane of static figures at `spots`, each (x, foot, height)."""
    size = (stage.wide, int(bottom) - int(top))
    light = replace(stage.light, dark=stage.light.dark or stage.scene.time == "dusk")
    colours, masks = [], []
    # Painted over black and over white: the difference is the transparency.
    for ground in ((0, 0, 0), (255, 255, 255)):
        picture = Image.new("RGB", size, ground)
        for index, (x, foot, high) in enumerate(spots):
            kit = Kit(light, high, (), stage.random(key, kind, index), depth, still=True, season=stage.scene.season)
            parts = [part for part in FIGURES[kind].draw(kit) if not part.rise]
            show(picture, parts, Pose(x + stage.margin_x, foot - int(top), high, mirrored=index % 2 == 1))
        colours.append(np.asarray(picture, np.float32) / 255)
    masks = 1 - (colours[1] - colours[0]).mean(axis=2)
    paint = colours[0] / np.maximum(masks, 0.02)[..., None]
    return layer(stage, paint, masks, top, nearness)


def village(stage: Stage) -> list[Layer]:
    """Cottages and a church between trees."""
    rng = stage.random("village")
    # At the water's edge there is no meadow below them.
    foot = stage.horizon + (0.012 if stage.scene.ground in ("water", "river", "beach") else 0.045) * stage.height
    count = max(4, int(stage.wide / stage.unit * 3.4))
    spots = []
    for index in range(count):
        x = (index + rng.uniform(0.2, 0.8)) / count * stage.wide - stage.margin_x
        spots.append(
            (
                x,
                foot
                + rng.uniform(-0.012, 0.01 if stage.scene.ground in ("water", "river", "beach") else 0.03)
                * stage.height,
                stage.unit * rng.uniform(0.11, 0.16),
            )
        )
    spots.sort(key=lambda spot: spot[1])
    church = [(stage.width * (0.3 + 0.4 * rng.random()), foot - 0.01 * stage.height, 0.27 * stage.unit)]
    trees = [(x + 0.09 * stage.unit, y, high * 1.05) for x, y, high in spots[::2]]
    top, bottom = foot - 0.34 * stage.unit, foot + 0.05 * stage.height
    return [
        _placed(stage, "church", church, depth=0.28, nearness=0.36, top=top, bottom=bottom, key="church"),
        _placed(stage, "tree", trees, depth=0.24, nearness=0.4, top=top, bottom=bottom, key="trees"),
        _placed(stage, "house", spots, depth=0.16, nearness=0.42, top=top, bottom=bottom, key="houses"),
    ]


def barn(stage: Stage) -> list[Layer]:
    """A red barn with a silo, beside a tree."""
    foot, x = stage.horizon + 0.06 * stage.height, stage.width * (0.74 if stage.style(4) > 0 else 0.26)
    high = 0.3 * stage.unit

    def pen(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        outline = ((-0.62, 0), (-0.62, -0.5), (-0.46, -0.78), (0, -0.98), (0.46, -0.78), (0.62, -0.5), (0.62, 0))
        draw.polygon([((x + px * high + dx) * finer, (foot + py * high + dy) * finer) for px, py in outline], fill=255)
        draw.rectangle(
            [
                (x + 0.72 * high + dx) * finer,
                (foot - 1.0 * high + dy) * finer,
                (x + 0.98 * high + dx) * finer,
                (foot + dy) * finer,
            ],
            fill=255,
        )
        draw.ellipse(
            [
                (x + 0.72 * high + dx) * finer,
                (foot - 1.13 * high + dy) * finer,
                (x + 0.98 * high + dx) * finer,
                (foot - 0.87 * high + dy) * finer,
            ],
            fill=255,
        )

    def trim(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        for points in (
            ((-0.64, -0.5), (-0.47, -0.79), (0, -1.0), (0.47, -0.79), (0.64, -0.5)),
            ((-0.22, 0), (-0.22, -0.42), (0.22, -0.42), (0.22, 0)),
            ((-0.22, 0), (0.22, -0.42)),
            ((0.22, 0), (-0.22, -0.42)),
        ):
            draw.line(
                [((x + px * high + dx) * finer, (foot + py * high + dy) * finer) for px, py in points],
                fill=255,
                width=int(0.035 * high * finer),
            )

    options = {
        "top": foot - 1.2 * high,
        "bottom": foot + 2,
        "depth": 0.12,
        "nearness": 0.46,
        "mist": 0.05,
        "leafy": 0.08,
    }
    trees = [(stage.width * (0.2 if x > stage.width / 2 else 0.8), foot, 0.34 * stage.unit)]
    return [
        _placed(stage, "tree", trees, depth=0.14, nearness=0.46, top=foot - 0.4 * stage.unit, bottom=foot + 2, key="barn"),
        silhouette(stage, pen, rgb(176, 66, 54), **options), silhouette(stage, trim, rgb(244, 238, 226), **options),
    ]  # fmt: skip


def castle(stage: Stage) -> list[Layer]:
    """A castle with pointed towers on its hill."""
    foot, x, high = (
        stage.horizon + 0.02 * stage.height,
        stage.width * (0.6 if stage.style(4) > 0 else 0.4),
        0.5 * stage.unit,
    )
    towers = ((-0.5, 0.62, 0.1), (-0.28, 0.86, 0.11), (0.0, 1.0, 0.14), (0.26, 0.8, 0.1), (0.5, 0.58, 0.1))

    def walls(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        def box(left: float, top: float, right: float) -> None:
            draw.rectangle(
                [
                    (x + left * high + dx) * finer,
                    (foot - top * high + dy) * finer,
                    (x + right * high + dx) * finer,
                    (foot + dy) * finer,
                ],
                fill=255,
            )

        box(-0.6, 0.36, 0.6)
        for place, tall, half in towers:
            box(place - half / 2, tall * 0.74, place + half / 2)
        for index in range(20):
            box(-0.6 + index * 0.061, 0.40, -0.6 + index * 0.061 + 0.034)

    def roofs(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        for place, tall, half in towers:
            points = ((place - half * 0.66, tall * 0.73), (place + half * 0.66, tall * 0.73), (place, tall * 1.06))
            draw.polygon(
                [((x + px * high + dx) * finer, (foot - py * high + dy) * finer) for px, py in points], fill=255
            )

    def windows(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        for place, tall, _ in towers:
            for level in (0.45, 0.62):
                cx, cy = x + place * high, foot - tall * level * high
                draw.ellipse(
                    [
                        (cx - 0.014 * high + dx) * finer,
                        (cy - 0.024 * high + dy) * finer,
                        (cx + 0.014 * high + dx) * finer,
                        (cy + 0.024 * high + dy) * finer,
                    ],
                    fill=255,
                )
        draw.pieslice(
            [
                (x - 0.09 * high + dx) * finer,
                (foot - 0.2 * high + dy) * finer,
                (x + 0.09 * high + dx) * finer,
                (foot + 0.2 * high + dy) * finer,
            ],
            180,
            360,
            fill=255,
        )

    options = {
        "top": foot - 1.1 * high,
        "bottom": foot + 2,
        "depth": 0.2,
        "nearness": 0.36,
        "mist": 0.25,
        "leafy": 0.12,
    }
    planes = [
        silhouette(stage, walls, rgb(206, 196, 186), **options),
        silhouette(stage, roofs, rgb(92, 98, 150), **options),
    ]
    cover = drawn(stage, foot - 1.1 * high, foot + 2, windows)
    colour = WINDOW if stage.light.dark or stage.scene.time == "dusk" else stage.light.on(rgb(86, 84, 104))
    return [
        *planes,
        layer(stage, np.broadcast_to(np.array(colour, np.float32), (*cover.shape, 3)), cover, foot - 1.1 * high, 0.36),
    ]


def quay(stage: Stage) -> list[Layer]:
    """Gabled houses along a harbour wall, masts before them."""
    rng = stage.random("quay")
    base = stage.horizon + 0.012 * stage.height
    colours = (
        rgb(206, 92, 74),
        rgb(238, 190, 96),
        rgb(110, 160, 180),
        rgb(240, 228, 204),
        rgb(150, 176, 132),
        rgb(220, 140, 110),
    )
    x, layers = -float(stage.margin_x), []
    top = base - 0.3 * stage.unit
    rows: dict[int, list[tuple[float, float, float]]] = {}
    while x < stage.width + stage.margin_x:
        wide = stage.unit * rng.uniform(0.085, 0.12)
        rows.setdefault(int(rng.integers(len(colours))), []).append((x, wide, stage.unit * rng.uniform(0.15, 0.22)))
        x += wide
    everything = [house for houses in rows.values() for house in houses]
    layers = [
        silhouette(
            stage,
            _gables(houses, base),
            colours[index],
            top=top,
            bottom=base,
            depth=0.14,
            nearness=0.36,
            mist=0.1,
            leafy=0.08,
        )
        for index, houses in rows.items()
    ]
    panes = drawn(stage, top, base, _panes(everything, base))
    dark = stage.light.dark or stage.scene.time in ("dusk", "sunset")
    tint = np.array(WINDOW if dark else stage.light.on(rgb(92, 112, 132), depth=0.2), np.float32)
    layers.append(layer(stage, np.broadcast_to(tint, (*panes.shape, 3)), panes, top, 0.36))

    def wall(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        draw.rectangle(
            [0, (base - 0.012 * stage.unit + dy) * finer, stage.wide * finer, (base + 0.02 * stage.unit + dy) * finer],
            fill=255,
        )

    return [
        *layers,
        silhouette(
            stage,
            wall,
            rgb(128, 120, 116),
            top=base - 0.02 * stage.unit,
            bottom=base + 0.02 * stage.unit,
            depth=0.1,
            nearness=0.36,
            mist=0.0,
        ),
    ]


def _gables(houses: list[tuple[float, float, float]], base: float) -> Pen:
    def pen(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        for x, wide, high in houses:
            points = (
                (x, base),
                (x, base - high),
                (x + wide / 2, base - high - wide * 0.55),
                (x + wide, base - high),
                (x + wide, base),
            )
            draw.polygon([((px + dx) * finer, (py + dy) * finer) for px, py in points], fill=255)

    return pen


def _panes(houses: list[tuple[float, float, float]], base: float) -> Pen:
    def pen(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        for x, wide, high in houses:
            for level in range(3):
                for column in (0.22, 0.5, 0.78):
                    cx, cy = x + column * wide, base - high * (0.2 + 0.28 * level)
                    draw.rectangle(
                        [
                            (cx - 0.06 * wide + dx) * finer,
                            (cy - 0.1 * wide + dy) * finer,
                            (cx + 0.06 * wide + dx) * finer,
                            (cy + 0.08 * wide + dy) * finer,
                        ],
                        fill=255,
                    )

    return pen
