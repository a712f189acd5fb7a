"""Land on the horizon: mountains, hills, dunes, rocks, islands, a volcano."""

from __future__ import annotations

import numpy as np

from .layers import Layer, blended, layer
from .noise import Field, cloudy, profile, sampled, smoothly, stepped
from .palette import Colour, mixed, rgb, scaled
from .stage import Stage

GRASS, AUTUMN, SNOW = rgb(92, 140, 74), rgb(168, 128, 62), rgb(232, 239, 247)
ROCK, SAND, RED_ROCK = rgb(104, 108, 124), rgb(226, 192, 138), rgb(186, 98, 66)


def meadow_colour(stage: Stage) -> Colour:
    """The colour of open land in this season."""
    return {"winter": SNOW, "autumn": AUTUMN, "spring": rgb(118, 166, 82)}.get(stage.scene.season, GRASS)


def crest(stage: Stage, key: str, *, base: float, height: float, features: float, slope: float) -> Field:
    """The y of a line of hills for every column, raised or lowered by the latents."""
    line = profile((stage.seed, key), stage.wide, features=features * stage.wide / stage.unit, slope=slope)
    points = np.linspace(0, len(stage.relief) - 1, stage.wide)
    lift = np.interp(points, np.arange(len(stage.relief)), stage.relief).astype(np.float32)
    return np.asarray(base - height * np.clip(line + 0.16 * lift, 0.02, 1.3), np.float32)


def slope_layer(
    stage: Stage, line: Field, colour: Colour, *, depth: float, nearness: float, mist: float = 0.3, rough: float = 0.16,
    bottom: float | None = None,
) -> Layer:  # fmt: skip
    """A plane of everything below a line: lit at the crest, hazy at the foot, slightly textured between."""
    top = max(-stage.margin_y, int(line.min()) - 2)
    bottom = stage.horizon + 0.06 * stage.height if bottom is None else bottom
    y = stage.rows(top, max(bottom, top + 4))
    x = stage.columns()
    cover = np.clip(y - line[None] + 0.5, 0, 1)
    below = np.clip((y - line[None]) / (0.34 * stage.height), 0, 1)
    grain = (
        sampled(cloudy((stage.seed, "slope"), 1.35), x / stage.unit * 0.9 + 0 * y, y / stage.unit * 1.1 + 0 * x) - 0.5
    )
    lit = stage.light.on(colour, depth=depth)
    foot = mixed(lit, stage.light.haze, mist)
    smooth = np.convolve(np.pad(line, 6, mode="edge"), np.full(13, 1 / 13, np.float32), "valid")
    steep = np.clip(np.gradient(smooth) * 0.14, -0.16, 0.16)[None] * (1 if stage.light.across < 0.5 else -1)
    shaded = (
        blended(lit, foot, stepped(0, 1, below)) * (1 + (rough * grain + steep * (1 - below)) * (1 - depth))[..., None]
    )
    return layer(stage, shaded, cover, top, nearness)


def mountains(stage: Stage) -> list[Layer]:
    """Two ranges with snow on the higher one, and foothills."""
    height = min(0.42 * stage.height, 0.62 * stage.unit) * (1 + 0.16 * stage.style(1))
    base = stage.horizon + 0.02 * stage.height
    far = _peaks(stage, "range", base=base, height=height, count=5)
    near = _peaks(stage, "front", base=base, height=0.58 * height, count=7)
    return [_range(stage, far, height, 0.5, 0.16), _range(stage, near, height, 0.28, 0.28)]


def _peaks(stage: Stage, key: str, *, base: float, height: float, count: int) -> Field:
    """A crest of peaks: each a pair of slopes, broken into smaller ones by noise that fades at the foot."""
    rng = stage.random(key)
    x = stage.columns()[0] / stage.unit
    low, high = float(x[0]), float(x[-1])
    count = max(3, int(count * (high - low) / 1.78))
    line = np.zeros(stage.wide, np.float32)
    for index in range(count):
        middle = low + (index + rng.uniform(0.1, 0.9)) / count * (high - low)
        top, half = rng.uniform(0.5, 1.0), rng.uniform(0.26, 0.42)
        lean = rng.uniform(0.75, 1.3)
        side = np.where(x < middle, (middle - x) * lean, (x - middle) / lean)
        line = np.maximum(line, top * np.clip(1 - side / half, 0, 1) ** 1.12).astype(np.float32)
    fine = profile((stage.seed, key, "fine"), stage.wide, features=6 * (high - low), slope=1.55) - 0.5
    lift = np.interp(np.linspace(0, len(stage.relief) - 1, stage.wide), np.arange(len(stage.relief)), stage.relief)
    rough = line + fine * 0.34 * (0.25 + line) + 0.05 * lift
    return np.asarray(base - height * np.clip(rough, 0.02, 1.2), np.float32)


def _range(stage: Stage, line: Field, height: float, depth: float, nearness: float) -> Layer:
    top = max(-stage.margin_y, int(line.min()) - 2)
    y, x = stage.rows(top, stage.horizon + 0.08 * stage.height), stage.columns()
    below = y - line[None]
    rough = cloudy((stage.seed, "rock"), 1.15)
    # Faces of rock: the texture shifts with the depth below the crest, and its horizontal slope is lit.
    u, v = x / stage.unit * 0.5 + below / stage.unit * 0.28, y / stage.unit * 0.34 + 0 * x
    face = smoothly(rough, u, v) - smoothly(rough, u + 0.012, v - 0.006)
    slope = np.gradient(np.convolve(np.pad(line, 4, mode="edge"), np.full(9, 1 / 9, np.float32), "valid"))[None]
    sunny = 1 if stage.light.across < 0.5 else -1
    face = np.clip(sunny * (5 * face - 0.55 * np.clip(slope, -1, 1)), -1, 1)
    bare = stage.light.on(ROCK, depth=depth)
    white = stage.light.on(SNOW, depth=depth * 0.7)
    snow_line = stage.horizon - height * (0.62 if stage.scene.season != "winter" else 0.1)
    snow = stepped(
        -0.1 * height, 0.1 * height, snow_line - y + (smoothly(rough, u * 2, v * 3) - 0.5) * 0.5 * height - 0.35 * below
    )
    colour = blended(bare, white, np.clip(snow + 0.35 * snow * face, 0, 1))
    colour = colour * (1 + 0.26 * face * (1 - depth))[..., None]
    mist = stepped(0.1, 1.0, (y - (stage.horizon - 0.75 * height)) / (0.75 * height)) * 0.75
    colour = blended(colour, stage.light.haze, np.broadcast_to(mist, face.shape))
    return layer(stage, colour, np.clip(below + 0.5, 0, 1), top, nearness)


def hills(stage: Stage) -> list[Layer]:
    """Three lines of hills, each nearer and greener."""
    colour, layers = meadow_colour(stage), []
    for index, (height, depth) in enumerate(((0.15, 0.62), (0.10, 0.4), (0.06, 0.2))):
        line = crest(
            stage, f"hill {index}", base=stage.horizon + 0.015 * stage.height * (index + 1),
            height=height * stage.height * (1 + 0.3 * stage.style(2)), features=1.6 + 0.5 * index, slope=1.9,
        )  # fmt: skip
        tint = mixed(colour, rgb(60, 106, 92), 0.35 - 0.15 * index) if stage.scene.season != "winter" else colour
        layers.append(slope_layer(stage, line, tint, depth=depth, nearness=0.14 + 0.1 * index, mist=0.35))
    return layers


def dunes(stage: Stage) -> list[Layer]:
    """Long waves of sand with one lit and one shaded side."""
    layers = []
    for index, (height, depth) in enumerate(((0.2, 0.45), (0.16, 0.25), (0.1, 0.08))):
        base = stage.horizon + (0.02 + 0.06 * index) * stage.height
        line = crest(
            stage, f"dune {index}", base=base, height=height * stage.height, features=1.1 + 0.3 * index, slope=2.2
        )
        layers.append(_dune(stage, line, depth, 0.15 + 0.16 * index, f"dune {index}", base + 0.1 * stage.height))
    return layers


def _dune(stage: Stage, line: Field, depth: float, nearness: float, key: str, bottom: float) -> Layer:
    top = int(line.min()) - 2
    y, x = stage.rows(top, bottom), stage.columns()
    below = (y - line[None]) / stage.unit
    # The edge between light and shade runs down from each crest in a curve.
    edge = profile((stage.seed, key, "edge"), stage.wide, features=3, slope=2.0)[None] - 0.5
    slope = np.gradient(np.convolve(np.pad(line, 12, mode="edge"), np.full(25, 1 / 25, np.float32), "valid"))[None]
    lit_side = slope * (1 if stage.light.across < 0.5 else -1) * 1.6 + 0.5 * edge
    shade = stepped(-0.1, 0.25, lit_side - below * 1.6)
    ripples = np.sin(below * 260 + x * 0.02 + edge * 30) * 0.012
    bright, dim = (
        stage.light.on(SAND, depth=depth),
        stage.light.on(scaled(mixed(SAND, rgb(150, 90, 90), 0.35), 0.72), depth=depth),
    )
    colour = blended(bright, dim, shade * 0.9) * (1 + ripples * (1 - depth))[..., None]
    return layer(stage, colour, np.clip(y - line[None] + 0.5, 0, 1), top, nearness)


def mesas(stage: Stage) -> list[Layer]:
    """Table mountains with bands of stone."""
    layers, rock = [], RED_ROCK if stage.scene.time != "mars" else rgb(160, 84, 58)
    for index, (height, depth) in enumerate(((0.24, 0.5), (0.15, 0.25))):
        raw = profile((stage.seed, "mesa", index), stage.wide, features=2.2 * stage.wide / stage.unit, slope=1.5)
        # Quantised to a few heights with steep sides between, as in table mountains.
        steps = stepped(0.42, 0.5, raw) * 0.72 + stepped(0.62, 0.68, raw) * 0.28 + raw * 0.05
        base = stage.horizon + 0.03 * stage.height
        line = (base - height * stage.height * steps).astype(np.float32)
        plane = slope_layer(stage, line, rock, depth=depth, nearness=0.15 + 0.14 * index, rough=0.3)
        layers.append(_banded(stage, plane))
    return layers


def _banded(stage: Stage, plane: Layer) -> Layer:
    colour = np.asarray(plane.picture, np.float32) / 255
    y = np.arange(colour.shape[0], dtype=np.float32)[:, None] / stage.unit
    wobble = profile((stage.seed, "bands"), colour.shape[1], features=4, slope=1.8)[None] * 0.05
    bands = np.sin((y + wobble) * 95) * 0.5 + np.sin((y + wobble) * 41 + 1) * 0.5
    return layer(
        stage,
        colour * (1 + 0.06 * bands)[..., None],
        np.asarray(plane.mask, np.float32) / 255,
        plane.top,
        plane.nearness,
    )


def island(stage: Stage) -> list[Layer]:
    """A green hump with a strip of beach."""
    x = stage.columns()[0]
    middle = stage.width * (0.62 if stage.style(4) > 0 else 0.38)
    hump = np.clip(1 - ((x - middle) / (0.36 * stage.unit)) ** 2, 0, None) ** 0.7
    bumps = profile((stage.seed, "island"), stage.wide, features=7, slope=1.4)
    green = (stage.horizon + 1 - hump * (0.1 + 0.06 * bumps) * stage.unit + 8 * (hump <= 0)).astype(np.float32)
    strip = np.clip(1 - ((x - middle) / (0.44 * stage.unit)) ** 2, 0, None) ** 0.5
    sand = (stage.horizon + 2 - strip * 0.022 * stage.unit + 8 * (strip <= 0)).astype(np.float32)
    bottom = stage.horizon + 2
    return [
        slope_layer(stage, green, rgb(70, 124, 72), depth=0.18, nearness=0.32, mist=0.1, bottom=bottom),
        slope_layer(stage, sand, SAND, depth=0.1, nearness=0.32, mist=0.0, bottom=bottom),
    ]


def icebergs(stage: Stage) -> list[Layer]:
    """White blocks, blue at the waterline, at several distances."""
    layers = []
    for index, (count, tall, depth) in enumerate(((5, 0.10, 0.45), (3, 0.22, 0.14))):
        rng, x = stage.random("ice", index), stage.columns()[0] / stage.unit
        line = np.full(stage.wide, -0.02, np.float32)
        for block in range(count):
            middle = (block + rng.uniform(0.1, 0.9)) / count * stage.width / stage.unit
            half = rng.uniform(0.10, 0.2) * (1 + 0.5 * index)
            corners = np.sort(rng.uniform(-1, 1, 5)) * half + middle
            heights = np.array([0.0, *rng.uniform(0.35, 1.0, 5), 0.0]) * tall
            places = np.array([middle - half * 1.1, *corners, middle + half * 1.1])
            line = np.maximum(line, np.interp(x, places, heights, left=-0.02, right=-0.02)).astype(np.float32)
        crest_line = (stage.horizon + 1 - line * stage.unit).astype(np.float32)
        layers.append(
            slope_layer(
                stage,
                crest_line,
                rgb(220, 239, 250),
                depth=depth,
                nearness=0.2 + 0.15 * index,
                rough=0.55,
                mist=0.15,
                bottom=stage.horizon + 2,
            )
        )
    return layers


def volcano(stage: Stage) -> list[Layer]:
    """A dark cone whose mouth glows, with lava running down."""
    x = stage.columns()[0]
    middle, half, height = stage.width / 2, 0.6 * stage.unit, 0.4 * min(stage.height, 1.3 * stage.unit)
    away = np.abs(x - middle) / half
    rough = profile((stage.seed, "cone"), stage.wide, features=9, slope=1.3) - 0.5
    cone = np.clip((1 - away) / (1 - 0.13), 0, 1) ** 1.5 - 0.05 * np.clip(1 - away / 0.13, 0, 1) ** 0.5
    line = (stage.horizon + 6 - (cone + 0.05 * rough * (cone > 0)) * height).astype(np.float32)
    dark = rgb(74, 58, 66)
    plane = slope_layer(stage, line, dark, depth=0.12, nearness=0.25, mist=0.2, rough=0.5)
    colour = np.asarray(plane.picture, np.float32) / 255
    y = np.arange(colour.shape[0], dtype=np.float32)[:, None] + plane.top
    down = np.clip((y - (stage.horizon - height)) / height, 0, 1)
    glowing = np.zeros(colour.shape[:2], np.float32)
    for index in range(4):
        wander = (profile((stage.seed, "lava", index), colour.shape[0], features=3, slope=1.6) - 0.5)[:, None]
        course = (
            middle + (index - 1.5) * 0.05 * stage.unit + (index - 1.5) * down * 0.24 * half + wander * down * 0.3 * half
        )
        thick = (0.010 + 0.012 * down) * stage.unit
        glowing = np.maximum(
            glowing, np.exp(-(((x[None] - course) / thick) ** 2)) * np.clip(1.25 - down * (0.9 + 0.25 * index), 0, 1)
        )
    hot = blended(rgb(214, 48, 22), rgb(255, 206, 96), glowing**2)
    colour = blended(colour, hot, np.clip(glowing * 1.6, 0, 1))
    ridge = slope_layer(
        stage, crest(stage, "foot", base=stage.horizon + 10, height=0.08 * stage.height, features=3, slope=1.5), rgb(52, 44, 56),
        depth=0.04, nearness=0.4, mist=0.15,
    )  # fmt: skip
    return [layer(stage, colour, np.asarray(plane.mask, np.float32) / 255, plane.top, plane.nearness), ridge]


def craters(stage: Stage) -> list[Layer]:
    """Grey hills of the moon."""
    lines = (
        crest(stage, f"moon {index}", base=stage.horizon + 4 * index, height=h * stage.height, features=2.2, slope=1.6)
        for index, h in enumerate((0.12, 0.06))
    )
    return [
        slope_layer(stage, line, rgb(150, 150, 158), depth=0.1, nearness=0.2 + 0.15 * index, mist=0.05, rough=0.3)
        for index, line in enumerate(lines)
    ]


def waterfall(stage: Stage) -> list[Layer]:
    """Two cliffs with a gap between them; the moving water is painted by `moving_backdrops.Fall`."""
    middle, half = stage.width / 2, 0.13 * stage.unit
    x = stage.columns()[0]
    rough = profile((stage.seed, "cliff"), stage.wide, features=8, slope=1.3)
    away = (np.abs(x - middle) - half) / stage.unit
    rise = stepped(-0.02, 0.02, away) * (0.50 + 0.16 * rough - 0.12 * np.clip(away, 0, 1))
    line = (stage.horizon + 4 - (0.40 + 0 * rise + rise * 0.3) * stage.unit).astype(np.float32)
    line = np.where(away < 0, stage.horizon + 4 - 0.42 * stage.unit, line).astype(np.float32)
    cliff = slope_layer(
        stage, line, rgb(98, 104, 100), depth=0.16, nearness=0.3, mist=0.2, rough=0.7, bottom=stage.horizon + 6
    )
    moss = mixed(meadow_colour(stage), rgb(50, 96, 60), 0.5)
    top = slope_layer(
        stage, line, moss, depth=0.14, nearness=0.3, mist=0.0, rough=0.5, bottom=float(line.max()) + 0.07 * stage.unit
    )
    return [cliff, top]
