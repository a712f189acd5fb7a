"""Backdrops of a city: a skyline whose windows are lit at night, and street fronts with shops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PIL import Image, ImageDraw

from .flora import silhouette
from .layers import Layer, layer
from .palette import Colour, mixed, rgb, scaled
from .stage import Stage

WINDOW = rgb(255, 220, 142)
NEON = (rgb(255, 60, 160), rgb(60, 230, 240), rgb(170, 90, 255), rgb(255, 196, 70))


def skyline(stage: Stage) -> list[Layer]:
    """Three rows of towers, lit at night."""
    tall = (
        min(0.62 * stage.horizon, 0.72 * stage.unit)
        if stage.scene.ground == "roofs"
        else min(0.8 * stage.horizon, 0.62 * stage.unit)
    )
    rows = ((0.86, 0.55, 0.14), (1.0, 0.36, 0.24), (0.62, 0.16, 0.36))
    return [_towers(stage, index, tall * high, depth, nearness) for index, (high, depth, nearness) in enumerate(rows)]


def _towers(stage: Stage, index: int, tall: float, depth: float, nearness: float) -> Layer:
    rng = stage.random("towers", index)
    base = stage.horizon + 0.02 * stage.height
    x, blocks = -float(stage.margin_x) - rng.uniform(0, 0.1) * stage.unit, []
    while x < stage.width + stage.margin_x:
        wide = stage.unit * rng.uniform(0.055, 0.12) * (1 + 0.25 * index)
        blocks.append((x, wide * 0.94, tall * rng.uniform(0.32, 1.0) ** 1.2, int(rng.integers(4))))
        x += wide

    def pen(draw: ImageDraw.ImageDraw, finer: float, dx: float, dy: float) -> None:
        def box(left: float, top: float, right: float, bottom: float) -> None:
            draw.rectangle(
                [(left + dx) * finer, (top + dy) * finer, (right + dx) * finer, (bottom + dy) * finer], fill=255
            )

        for left, wide, high, kind in blocks:
            box(left, base - high, left + wide, base)
            if kind == 1:
                box(left + wide * 0.2, base - high * 1.06, left + wide * 0.8, base - high)
            if kind == 2:
                draw.polygon(
                    [
                        ((px + dx) * finer, (py + dy) * finer)
                        for px, py in (
                            (left, base - high),
                            (left + wide, base - high),
                            (left + wide / 2, base - high - wide * 0.7),
                        )
                    ],
                    fill=255,
                )
            if kind == 3:
                box(left + wide * 0.47, base - high * 1.14, left + wide * 0.53, base - high)

    top = max(-stage.margin_y, base - tall * 1.25)
    concrete = mixed(rgb(112, 124, 146), rgb(150, 120, 116), 0.5 + 0.5 * stage.style(5))
    plane = silhouette(stage, pen, concrete, top=top, bottom=base, depth=depth, nearness=nearness, mist=0.5, leafy=0.06)
    return _with_windows(stage, plane, blocks, base, depth, index)


def _with_windows(
    stage: Stage, plane: Layer, blocks: list[tuple[float, float, float, int]], base: float, depth: float, index: int
) -> Layer:
    picture = plane.picture.copy()
    draw, rng = ImageDraw.Draw(picture), stage.random("windows", index)
    step = max(5.0, 0.021 * stage.unit * (1 + 0.2 * index))
    neon = stage.scene.grade == "neon"
    for left, wide, high, _ in blocks:
        columns, lines = int(wide / step) - 1, int(high / step) - 2
        glow = NEON[int(rng.integers(4))] if neon and rng.random() < 0.6 else WINDOW
        lit = rng.random((max(lines, 0), max(columns, 0)))
        for (line, column), chance in np.ndenumerate(lit):
            x, y = left + stage.margin_x + (column + 0.9) * step, base - high - plane.top + (line + 1.2) * step
            if stage.light.dark or stage.scene.time in ("dusk", "sunset"):
                if chance > (0.6 if stage.light.dark else 0.8):
                    draw.rectangle(
                        [x, y, x + step * 0.42, y + step * 0.5],
                        fill=_bytes(mixed(scaled(glow, 0.6 + 0.4 * chance), stage.light.haze, depth * 0.6)),
                    )
            else:
                draw.rectangle(
                    [x, y, x + step * 0.42, y + step * 0.5],
                    fill=_bytes(
                        stage.light.on(
                            mixed(rgb(96, 124, 156), rgb(206, 224, 236), float(chance) * 0.6),
                            depth=min(0.9, depth + 0.12),
                        )
                    ),
                )
        if neon and rng.random() < 0.5 and wide > 3 * step:
            x, y = left + stage.margin_x + wide * rng.uniform(0.1, 0.6), base - high - plane.top + step * 3
            draw.rectangle(
                [x, y, x + step * 0.8, y + high * 0.35],
                fill=_bytes(mixed(NEON[int(rng.integers(4))], stage.light.haze, depth * 0.4)),
            )
    return replace(plane, picture=picture)


def facades(stage: Stage) -> list[Layer]:
    """A row of town houses along the pavement, with shops below."""
    rng = stage.random("facades")
    base = stage.horizon + 0.03 * stage.height
    tall = (
        min(0.62 * stage.horizon, 0.6 * stage.unit)
        if "skyline" in stage.scene.backdrops
        else min(0.86 * stage.horizon, 0.72 * stage.unit)
    )
    walls: tuple[Colour, ...] = (
        rgb(222, 180, 140),
        rgb(196, 132, 108),
        rgb(234, 214, 180),
        rgb(168, 178, 184),
        rgb(214, 150, 130),
        rgb(180, 196, 170),
    )
    if stage.scene.grade == "neon":
        walls = (rgb(88, 82, 120), rgb(70, 76, 116), rgb(104, 80, 124))
    top = max(-stage.margin_y, int(base - tall * 1.1))
    picture = Image.new("RGB", (stage.wide * 2, (int(base) - top) * 2))
    mask = Image.new("L", picture.size)
    pen, cut = ImageDraw.Draw(picture), ImageDraw.Draw(mask)
    x = -float(stage.margin_x) - rng.uniform(0, 0.2) * stage.unit
    while x < stage.width + stage.margin_x:
        wide = stage.unit * rng.uniform(0.2, 0.32)
        wall = walls[int(rng.integers(len(walls)))]
        _facade(stage, pen, cut, rng, x + stage.margin_x, base - top, wide, tall * rng.uniform(0.62, 1.0), wall)
        x += wide
    size = (stage.wide, int(base) - top)
    colour = np.asarray(picture.resize(size, Image.Resampling.BOX), np.float32) / 255
    shade = np.linspace(1.04, 0.84, size[1], dtype=np.float32)[:, None, None]
    return [
        layer(stage, colour * shade, np.asarray(mask.resize(size, Image.Resampling.BOX), np.float32) / 255, top, 0.52)
    ]


def _facade(
    stage: Stage,
    pen: ImageDraw.ImageDraw,
    cut: ImageDraw.ImageDraw,
    rng: np.random.Generator,
    left: float,
    base: float,
    wide: float,
    tall: float,
    wall: Colour,
) -> None:
    """Draw one house: cornice, windows in rows, a shop with an awning."""

    def box(
        x0: float, y0: float, x1: float, y1: float, colour: Colour, *, lamp: bool = False, depth: float = 0.1
    ) -> None:
        tint = colour if lamp else stage.light.on(colour, depth=depth)
        pen.rectangle([x0 * 2, y0 * 2, x1 * 2 - 1, y1 * 2 - 1], fill=_bytes(tint))

    top, right = base - tall, left + wide
    cut.rectangle([left * 2, (top - 0.02 * tall) * 2, right * 2 - 1, base * 2], fill=255)
    box(left, top, right, base, wall)
    box(left, top - 0.02 * tall, right, top + 0.03 * tall, scaled(wall, 0.8))
    dark = stage.light.dark or stage.scene.time == "dusk"
    columns, lines = max(2, int(wide / (0.075 * stage.unit))), max(2, int(tall * 0.72 / (0.12 * stage.unit)))
    for line in range(lines):
        for column in range(columns):
            w, h = wide / columns * 0.44, tall * 0.72 / lines * 0.56
            cx = left + (column + 0.5) * wide / columns
            y = top + 0.06 * tall + line * tall * 0.72 / lines
            lit = dark and rng.random() < 0.55
            box(cx - w / 2 - 1.2, y - 1.2, cx + w / 2 + 1.2, y + h + 1.6, mixed(wall, (1, 1, 1), 0.45))
            glass = mixed(WINDOW, (1.0, 0.7, 0.4), float(rng.random()) * 0.4)
            if stage.scene.grade == "neon":
                glass = mixed(glass, NEON[int(rng.integers(4))], 0.6)
            box(
                cx - w / 2,
                y,
                cx + w / 2,
                y + h,
                glass if lit else mixed(rgb(84, 112, 140), rgb(170, 200, 216), float(rng.random()) * 0.5),
                lamp=lit,
            )
            box(cx - 0.6, y, cx + 0.6, y + h, mixed(wall, (1, 1, 1), 0.45))
    ground_floor = base - 0.2 * tall
    box(left + 2, ground_floor, right - 2, base, scaled(wall, 0.62))
    box(
        left + 0.1 * wide,
        ground_floor + 0.05 * tall,
        right - 0.36 * wide,
        base - 0.03 * tall,
        mixed(WINDOW, rgb(255, 170, 90), 0.3) if dark else rgb(120, 150, 166),
        lamp=dark,
    )
    box(right - 0.27 * wide, ground_floor + 0.05 * tall, right - 0.1 * wide, base, scaled(wall, 0.4))
    awning = (
        NEON[int(rng.integers(4))]
        if stage.scene.grade == "neon"
        else (rgb(190, 70, 64), rgb(70, 124, 110), rgb(60, 96, 150), rgb(214, 160, 70))[int(rng.integers(4))]
    )
    for stripe in range(8):
        x = left + 0.05 * wide + stripe * 0.9 * wide / 8
        box(
            x,
            ground_floor,
            x + 0.9 * wide / 8,
            ground_floor + 0.055 * tall,
            awning if stripe % 2 else mixed(awning, (1, 1, 1), 0.6),
            lamp=stage.scene.grade == "neon",
        )


def _bytes(colour: Colour) -> tuple[int, int, int]:
    red, green, blue = (int(max(0.0, min(1.0, part)) * 255 + 0.5) for part in colour)
    return red, green, blue
