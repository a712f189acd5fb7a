"""Backdrops between ground and sky: lines of hills, mountains, woods, towns, a room, a nebula, and rows of figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from PIL import Image

from .figures import Kit, draw
from .ground import SAND, SNOW, meadow_colour, room_light
from .light import Colour, hexed, mixed, scaled
from .noise import Field, cloudy, profile, sampled, smoothly, stepped
from .puppet import Pose, show
from .stage import Plane, Sheet, Stage, blended, plane, repainted
from .tables import FIGURES

_WINDOW = hexed("#ffdc8e")
_NEON = tuple(map(hexed, ("#ff3ca0", "#3ce6f0", "#aa5aff", "#ffc446")))

Spot = tuple[float, float, float]
"""The x, the foot and the height of a figure, in pixels of the world."""


def _smoothed(line: Field, width: int = 13) -> Field:
    return np.convolve(np.pad(line, width // 2, mode="edge"), np.full(width, 1 / width, np.float32), "valid")


def _sunny(stage: Stage) -> int:
    return 1 if stage.light.across < 0.5 else -1


def _crest(stage: Stage, key: str, base: float, height: float, features: float, slope: float) -> Field:
    """The y of a line of hills for every column; `base` and `height` are shares of the picture."""
    line = profile((stage.seed, key), stage.wide, features=features * stage.wide / stage.unit, slope=slope)
    return np.asarray(stage.horizon + (base - height * np.clip(line, 0.02, 1)) * stage.height, np.float32)


def _ridge(
    stage: Stage, line: Field, colour: Colour, depth: float, nearness: float, *, mist: float = 0.35, rough: float = 0.16,
    bottom: float | None = None,
) -> Plane:  # fmt: skip
    """A plane of everything below a line: lit at the crest, hazy at the foot, slightly textured between."""
    top = max(-stage.margin_y, int(line.min()) - 2)
    y, x = stage.rows(top, max(bottom or stage.horizon + 0.06 * stage.height, top + 4)), stage.columns()
    below = np.clip((y - line[None]) / (0.34 * stage.height), 0, 1)
    texture = cloudy((stage.seed, "slope"), 1.35)
    grain = sampled(texture, x / stage.unit * 0.9 + 0 * y, y / stage.unit * 1.1 + 0 * x) - 0.5
    lit = stage.light.on(colour, depth=depth)
    steep = np.clip(np.gradient(_smoothed(line)) * 0.14, -0.16, 0.16)[None] * _sunny(stage)
    shaded = blended(lit, mixed(lit, stage.light.haze, mist), stepped(0, 1, below))
    shaded = shaded * (1 + (rough * grain + steep * (1 - below)) * (1 - depth))[..., None]
    return plane(shaded, np.clip(y - line[None] + 0.5, 0, 1), top, nearness)


def _hills(stage: Stage) -> list[Plane]:
    """Three lines of hills, each nearer and greener."""
    planes = []
    for index, (height, depth) in enumerate(((0.15, 0.62), (0.10, 0.4), (0.06, 0.2))):
        line = _crest(stage, f"hill {index}", 0.015 * (index + 1), height, 1.6 + 0.5 * index, 1.9)
        far = 0.35 - 0.15 * index if stage.scene.season != "winter" else 0.0
        colour = mixed(meadow_colour(stage), hexed("#3c6a5c"), far)
        planes.append(_ridge(stage, line, colour, depth, 0.14 + 0.1 * index))
    return planes


def _dunes(stage: Stage) -> list[Plane]:
    """Long waves of sand with one lit and one shaded side."""
    planes = []
    for index, (height, depth) in enumerate(((0.2, 0.45), (0.16, 0.25), (0.1, 0.08))):
        base = 0.02 + 0.06 * index
        line = _crest(stage, f"dune {index}", base, height, 1.1 + 0.3 * index, 2.2)
        y, x = stage.rows(int(line.min()) - 2, stage.horizon + (base + 0.1) * stage.height), stage.columns()
        below = (y - line[None]) / stage.unit
        # The edge between light and shade runs down from each crest in a curve.
        edge = profile((stage.seed, f"dune {index}", "edge"), stage.wide, features=3, slope=2.0)[None] - 0.5
        slope = np.gradient(_smoothed(line, 25))[None] * _sunny(stage) * 1.6 + 0.5 * edge
        shade = stepped(-0.1, 0.25, slope - below * 1.6) * 0.9
        dark = scaled(mixed(SAND, hexed("#965a5a"), 0.35), 0.72)
        colour = blended(stage.light.on(SAND, depth=depth), stage.light.on(dark, depth=depth), shade)
        colour = colour * (1 + np.sin(below * 260 + x * 0.02 + edge * 30) * 0.012 * (1 - depth))[..., None]
        planes.append(plane(colour, np.clip(y - line[None] + 0.5, 0, 1), int(line.min()) - 2, 0.15 + 0.16 * index))
    return planes


def _mesas(stage: Stage) -> list[Plane]:
    """Table mountains with bands of stone."""
    planes = []
    for index, (height, depth) in enumerate(((0.24, 0.5), (0.15, 0.25))):
        raw = profile((stage.seed, "mesa", index), stage.wide, features=2.2 * stage.wide / stage.unit, slope=1.5)
        # A few heights with steep sides between.
        steps = stepped(0.42, 0.5, raw) * 0.72 + stepped(0.62, 0.68, raw) * 0.28 + raw * 0.05
        line = (stage.horizon + (0.03 - height * steps) * stage.height).astype(np.float32)
        base = _ridge(stage, line, hexed("#ba6242"), depth, 0.15 + 0.14 * index, mist=0.3, rough=0.3)
        y = np.arange(base.picture.height, dtype=np.float32)[:, None] / stage.unit
        y = y + profile((stage.seed, "bands"), stage.wide, features=4, slope=1.8)[None] * 0.05
        bands = np.sin(y * 95) * 0.5 + np.sin(y * 41 + 1) * 0.5
        planes.append(repainted(base, base.colours * (1 + 0.06 * bands)[..., None]))
    return planes


def _ranges(stage: Stage) -> list[Plane]:
    """Grey hills of the moon."""
    return [
        _ridge(
            stage, _crest(stage, f"moon {index}", 0.01 * index, height, 2.2, 1.6), hexed("#96969e"), 0.1,
            0.2 + 0.15 * index, mist=0.05, rough=0.3,
        )
        for index, height in enumerate((0.12, 0.06))
    ]  # fmt: skip


def _island(stage: Stage) -> list[Plane]:
    """A green hump with a strip of beach."""
    x = stage.columns()[0] - stage.width * (0.62 if stage.scene.chance("island") > 0 else 0.38)
    bumps = profile((stage.seed, "island"), stage.wide, features=7, slope=1.4)
    planes = []
    for half, high, colour, depth in ((0.36, 0.1 + 0.06 * bumps, hexed("#467c48"), 0.18), (0.44, 0.022, SAND, 0.1)):
        hump = np.clip(1 - (x / (half * stage.unit)) ** 2, 0, None) ** 0.6
        line = (stage.horizon + 1 - hump * high * stage.unit + 8 * (hump <= 0)).astype(np.float32)
        planes.append(_ridge(stage, line, colour, depth, 0.32, mist=0.05, bottom=stage.horizon + 2))
    return planes


def _icebergs(stage: Stage) -> list[Plane]:
    """White blocks at two distances."""
    planes = []
    for index, (count, tall, depth) in enumerate(((5, 0.10, 0.45), (3, 0.22, 0.14))):
        rng, x = stage.random("ice", index), stage.columns()[0] / stage.unit
        line = np.full(stage.wide, -0.02)
        for block in range(count):
            middle = (block + rng.uniform(0.1, 0.9)) / count * stage.width / stage.unit
            half = rng.uniform(0.10, 0.2) * (1 + 0.5 * index)
            corners = np.array([-1.1, *np.sort(rng.uniform(-1, 1, 5)), 1.1]) * half + middle
            heights = np.array([0.0, *rng.uniform(0.35, 1.0, 5), 0.0]) * tall
            line = np.maximum(line, np.interp(x, corners, heights, left=-0.02, right=-0.02))
        crest, bottom = (stage.horizon + 1 - line * stage.unit).astype(np.float32), stage.horizon + 2
        colour, nearness = hexed("#dceffa"), 0.2 + 0.15 * index
        planes.append(_ridge(stage, crest, colour, depth, nearness, mist=0.15, rough=0.55, bottom=bottom))
    return planes


def _mountains(stage: Stage) -> list[Plane]:
    """Two ranges, with snow on their tops."""
    height = min(0.42 * stage.height, 0.62 * stage.unit) * (1 + 0.1 * stage.scene.chance("mountains"))
    return [
        _rocks(stage, _peaks(stage, "range", height, 5), height, 0.5, 0.16),
        _rocks(stage, _peaks(stage, "front", 0.58 * height, 7), height, 0.28, 0.28),
    ]


def _peaks(stage: Stage, key: str, height: float, count: int) -> Field:
    """A crest of peaks: each a pair of slopes, broken into smaller ones by noise that fades at the foot."""
    rng, x = stage.random(key), stage.columns()[0] / stage.unit
    low, high = float(x[0]), float(x[-1])
    count = max(3, int(count * (high - low) / 1.78))
    line = np.zeros(stage.wide)
    for index in range(count):
        middle = low + (index + rng.uniform(0.1, 0.9)) / count * (high - low)
        top, half, lean = rng.uniform(0.5, 1.0), rng.uniform(0.26, 0.42), rng.uniform(0.75, 1.3)
        side = np.where(x < middle, (middle - x) * lean, (x - middle) / lean)
        line = np.maximum(line, top * np.clip(1 - side / half, 0, 1) ** 1.12)
    fine = profile((stage.seed, key, "fine"), stage.wide, features=6 * (high - low), slope=1.55) - 0.5
    rough = np.clip(line + fine * 0.34 * (0.25 + line), 0.02, 1.2)
    return np.asarray(stage.horizon + 0.02 * stage.height - height * rough, np.float32)


def _rocks(stage: Stage, line: Field, height: float, depth: float, nearness: float) -> Plane:
    """A range of mountains: faces of rock, the higher ones white."""
    top = max(-stage.margin_y, int(line.min()) - 2)
    y, x = stage.rows(top, stage.horizon + 0.08 * stage.height), stage.columns()
    below = y - line[None]
    rough = cloudy((stage.seed, "rock"), 1.15)
    # The texture shifts with the depth below the crest, and its horizontal slope is lit.
    u, v = x / stage.unit * 0.5 + below / stage.unit * 0.28, y / stage.unit * 0.34 + 0 * x
    face = smoothly(rough, u, v) - smoothly(rough, u + 0.012, v - 0.006)
    slope = np.clip(np.gradient(_smoothed(line, 9))[None], -1, 1)
    face = np.clip(_sunny(stage) * (5 * face - 0.55 * slope), -1, 1)
    snow_line = stage.horizon - height * (0.1 if stage.scene.season == "winter" else 0.62)
    snow = snow_line - y + (smoothly(rough, u * 2, v * 3) - 0.5) * 0.5 * height - 0.35 * below
    snow = stepped(-0.1 * height, 0.1 * height, snow)
    bare, white = stage.light.on(hexed("#686c7c"), depth=depth), stage.light.on(SNOW, depth=depth * 0.7)
    colour = blended(bare, white, np.clip(snow + 0.35 * snow * face, 0, 1))
    colour = colour * (1 + 0.26 * face * (1 - depth))[..., None]
    mist = stepped(0.1, 1.0, (y - (stage.horizon - 0.75 * height)) / (0.75 * height)) * 0.75
    colour = blended(colour, stage.light.haze, np.broadcast_to(mist, face.shape))
    return plane(colour, np.clip(below + 0.5, 0, 1), top, nearness)


def _place(stage: Stage, kind: str, spots: Sequence[Spot], depth: float, nearness: float, turn: float = 0.0) -> Plane:
    """A plane of figures that stand still."""
    tallest = max(high for _, _, high in spots)
    top = max(-stage.margin_y, int(min(foot - 1.4 * high for _, foot, high in spots)))
    bottom = int(min(stage.floor, max(foot + 0.2 * high for _, foot, high in spots)))
    canvas = Image.new("RGBA", (stage.wide, max(2, bottom - top)))
    light = replace(stage.light, dark=stage.light.dark or stage.scene.time == "dusk")
    variants = [
        draw(kind, Kit(light, tallest, (), stage.random(kind, index), depth, still=True, season=stage.scene.season))
        for index in range(min(4, len(spots)))
    ]
    for index, (x, foot, high) in enumerate(spots):
        parts = [part for part in variants[index % len(variants)] if not part.rise]
        pose = Pose(x + stage.margin_x, foot - top, high, mirrored=x > stage.width / 2, turn=turn * (index % 5 - 2))
        show(canvas, parts, pose)
    # Painted over nothing, colours are multiplied by their opacity.
    straight = Image.frombytes("RGBa", canvas.size, canvas.tobytes()).convert("RGBA")
    return Plane(straight.convert("RGB"), straight.getchannel("A"), top, nearness)


def _row(
    stage: Stage,
    kind: str,
    size: float,
    foot: float,
    depth: float,
    nearness: float,
    *,
    gap: float = 0.55,
    vary: float = 0.5,
) -> Plane:
    """A row of figures along the horizon; `size` is a share of the shorter side, `foot` of the height below the horizon."""
    rng, size = stage.random("row", kind, foot), size * stage.unit
    count = int(stage.wide / (size * gap)) + 1
    xs = np.linspace(-stage.margin_x, stage.width + stage.margin_x, count) + rng.uniform(-0.4, 0.4, count) * size * gap
    crowd = profile((stage.seed, kind, foot), count, features=4, slope=1.2)
    heights = size * (1 - vary + vary * crowd) * rng.uniform(0.8, 1.15, count)
    y = stage.horizon + foot * stage.height
    return _place(stage, kind, [(float(x), y, float(h)) for x, h in zip(xs, heights, strict=True)], depth, nearness)


def _sides(
    stage: Stage, kind: str, count: int, size: tuple[float, float], depth: float, nearness: float, *,
    foot: tuple[float, float] = (0.9, 1.03), reach: float = 0.34, turn: float = 0.0,
) -> Plane:  # fmt: skip
    """Figures in the left and right of the picture, whose middle stays free."""
    rng, spots = stage.random("sides", kind), []
    for index in range(count):
        place = rng.uniform(-0.03, reach)
        x = stage.width * (place if index % 2 else 1 - place)
        spots.append((x, stage.height * rng.uniform(*foot), stage.unit * rng.uniform(*size)))
    return _place(stage, kind, sorted(spots, key=lambda spot: spot[1]), depth, nearness, turn)


def _one(stage: Stage, kind: str, size: float, depth: float, nearness: float, *, foot: float, side: float) -> Plane:
    """A single figure, `side` of the width from the middle to the left or right."""
    x = stage.width * (0.5 + (side if stage.scene.chance(kind) > 0 else -side))
    return _place(stage, kind, [(x, stage.horizon + foot * stage.height, size * stage.unit)], depth, nearness)


def _pines(stage: Stage) -> list[Plane]:
    return [
        _row(stage, "pine", 0.12, 0.02, 0.5, 0.34, gap=0.24, vary=0.6),
        _row(stage, "pine", 0.19, 0.045, 0.28, 0.46, gap=0.26, vary=0.65),
    ]


def _trees(stage: Stage) -> list[Plane]:
    return [_row(stage, "tree", 0.15, 0.022, 0.46, 0.34), _row(stage, "tree", 0.24, 0.042, 0.24, 0.48)]


def _palms(stage: Stage) -> list[Plane]:
    side = 1 if stage.scene.chance("palms") > 0 else -1
    foot = stage.horizon + 0.34 * stage.height
    spots = [(stage.width * (0.5 + side * x), foot, high * stage.unit) for x, high in ((0.36, 0.8), (0.46, 0.64))]
    return [_place(stage, "palm", spots, 0.04, 0.62)]


def _hedge(stage: Stage) -> list[Plane]:
    """Trees behind a garden's clipped hedge."""
    line = _crest(stage, "hedge", -0.07, 0.03, 16, 1.0)
    bottom = stage.horizon + 0.06 * stage.height
    colour = mixed(hexed("#568a48"), hexed("#285a32"), 0.4)
    hedge = _ridge(stage, line, colour, 0.12, 0.52, mist=0.1, rough=0.9, bottom=bottom)
    return [_row(stage, "tree", 0.3, 0.03, 0.3, 0.4), hedge]


def _blossoms(stage: Stage) -> list[Plane]:
    """Flowers scattered over a meadow, larger in front."""
    if stage.scene.season == "winter":
        return []
    rng, top = stage.random("blossoms"), stage.horizon + 0.04 * stage.height
    heads = [stage.light.on(hexed(colour)) for colour in ("#ec5c5a", "#face56", "#faf8f0", "#f0a0c0", "#9678cc")]
    sheet = Sheet(stage, top - 6, stage.floor)
    for down in np.sort(rng.uniform(0.04, 1.0, 240) ** 0.9).tolist():
        x, y, r = (
            rng.uniform(-0.05, 1.05) * stage.width,
            top + down * (stage.height - top),
            (0.0014 + 0.0062 * down) * stage.unit,
        )
        colour = heads[int(rng.integers(5))]
        for angle in (0.0, 2.1, 4.2):
            sheet.ellipse(x + r * 0.6 * float(np.cos(angle)), y + r * 0.5 * float(np.sin(angle)), r, r * 0.75, colour)
    return [sheet.plane(0.62)]


def _village(stage: Stage) -> list[Plane]:
    """Cottages and a church between trees."""
    rng, by_water = stage.random("village"), stage.scene.ground in ("water", "river", "beach")
    # At the water's edge there is no meadow below them.
    foot = stage.horizon + (0.012 if by_water else 0.045) * stage.height
    count = max(4, int(stage.wide / stage.unit * 3.4))
    spots: list[Spot] = []
    for index in range(count):
        x = (index + rng.uniform(0.2, 0.8)) / count * stage.wide - stage.margin_x
        y = foot + rng.uniform(-0.012, 0.01 if by_water else 0.03) * stage.height
        spots.append((x, y, stage.unit * rng.uniform(0.11, 0.16)))
    spots.sort(key=lambda spot: spot[1])
    church = [(stage.width * (0.3 + 0.4 * rng.random()), foot - 0.01 * stage.height, 0.27 * stage.unit)]
    trees = [(x + 0.09 * stage.unit, y, high * 1.05) for x, y, high in spots[::2]]
    return [
        _place(stage, "church", church, 0.28, 0.36), _place(stage, "tree", trees, 0.24, 0.4),
        _place(stage, "house", spots, 0.16, 0.42),
    ]  # fmt: skip


def _woods(stage: Stage) -> list[Plane]:
    """The inside of a forest: trunks at three depths below a canopy."""
    planes = []
    for index, (count, thick, depth, nearness) in enumerate(
        ((15, 0.026, 0.66, 0.2), (9, 0.045, 0.42, 0.38), (5, 0.08, 0.12, 0.58))
    ):
        rng, top = stage.random("woods", index), -float(stage.margin_y)
        count = max(3, int(count * stage.wide / stage.unit / 1.78))
        base = stage.horizon + (0.03 + 0.07 * index) * stage.height
        bark = stage.light.on(hexed("#5d4f47"), depth=depth)
        sheet = Sheet(stage, top, base)
        for trunk in range(count):
            x = (trunk + rng.uniform(0.15, 0.85)) / count * stage.wide - stage.margin_x
            w, lean = thick * stage.unit * rng.uniform(0.7, 1.3), rng.uniform(-0.05, 0.05) * base
            foot = base - 0.1 * stage.unit
            right = [(x + w * 0.5, foot), (x + w * 0.9, base)]
            left = [(x - w * 0.9, base), (x - w * 0.5, foot)]
            sheet.polygon([*left, (x + lean - w * 0.36, top), (x + lean + w * 0.36, top), *right], bark)
            for share in rng.uniform(0.35, 0.8, 2).tolist():
                y0, x0, way = base + (top - base) * share, x + lean * share, float(rng.choice((-1, 1)))
                tip = x0 + way * w * 3.4, y0 - w * 2.2
                sheet.polygon([(x0, y0 - w * 0.2), tip, (tip[0], tip[1] + w * 0.14), (x0, y0 + w * 0.25)], bark)
        planes.append(sheet.plane(nearness, _leafy(stage, top, base, 0.3)))
        planes.append(_canopy(stage, index, depth, nearness))
    return planes


def _leafy(stage: Stage, top: float, bottom: float, strength: float) -> Field:
    """A texture of small leaves or bark around 1."""
    y, x = stage.rows(top, bottom) / stage.unit * 1.1, stage.columns() / stage.unit * 1.1
    texture = cloudy((stage.seed, "leafage"), 1.05)
    here, ahead = sampled(texture, x + 0 * y, y + 0 * x), sampled(texture, x + 0.012 + 0 * y, y - 0.012 + 0 * x)
    return np.asarray(1 + strength * ((here - 0.5) * 0.9 + (here - ahead) * 3.2), np.float32)


def _canopy(stage: Stage, index: int, depth: float, nearness: float) -> Plane:
    """Leaves along the upper edge, with light shining through."""
    low = (0.42 - 0.10 * index) * stage.height
    y, x = stage.rows(-stage.margin_y, low), stage.columns()
    unit, texture = np.float32(stage.unit * (0.9 + 0.5 * index)), cloudy((stage.seed, "canopy", index), 1.15)
    u, v = x / unit * 0.9 + 0 * y, y / unit * 0.9 + 0 * x
    leaves, ahead = sampled(texture, u, v), sampled(texture, u + 0.01, v - 0.012)
    edge = profile((stage.seed, "canopy", index), stage.wide, features=5, slope=1.3)[None]
    cover = np.clip((leaves - 0.26 - 0.62 * np.clip(y / (low * (0.55 + 0.45 * edge)), 0, 2)) * 9, 0, 1)
    cover = cover * np.clip((low - y) / (0.08 * stage.height), 0, 1)
    tree = FIGURES["tree"].options
    crown = hexed(tree.get(f"$1.{stage.scene.season}", tree["$1"])[:7])
    colour = stage.light.on(mixed(crown, hexed("#284628"), 0.0 if stage.scene.season else 0.2), depth=depth)
    shine = np.clip(0.3 + (leaves - ahead) * 4.0, 0, 1) * (1 - 0.5 * depth)
    paint = blended(colour, mixed(colour, stage.light.glow, 0.4), shine)
    return plane(paint * (0.72 + 0.4 * leaves)[..., None], cover, -stage.margin_y, nearness)


def _jungle(stage: Stage) -> list[Plane]:
    """Woods framed by large leaves."""
    far = _sides(stage, "leaf", 30, (0.26, 0.34), 0.3, 0.5, foot=(0.0, 1.05), reach=0.3, turn=24)
    near = _sides(stage, "leaf", 15, (0.4, 0.52), 0.0, 0.95, foot=(0.05, 1.1), reach=0.12, turn=20)
    return [*_woods(stage)[:4], far, near]


def _reef(stage: Stage) -> list[Plane]:
    """Distant rocks, corals and weeds."""
    planes = []
    for index, (height, depth) in enumerate(((0.42, 0.72), (0.26, 0.5))):
        raw = profile((stage.seed, "rocks", index), stage.wide, features=2.6 * stage.wide / stage.unit, slope=1.5)
        edges = np.abs(np.linspace(-1, 1, stage.wide)) ** 1.5
        line = (stage.height * (0.94 - height * (0.2 + 0.5 * raw + 0.7 * edges * raw))).astype(np.float32)
        rock = hexed("#3c5c6e")
        planes.append(_ridge(stage, line, rock, depth, 0.2 + 0.15 * index, mist=0.0, rough=0.4, bottom=stage.floor))
    for kind, count, size in (("weed", 7, (0.14, 0.26)), ("brain-coral", 8, (0.08, 0.15)), ("coral", 9, (0.12, 0.22))):
        planes.append(_sides(stage, kind, count, size, 0.12, 0.7))
    return planes


def _nebula(stage: Stage) -> list[Plane]:
    """A glowing cloud in space."""
    y, x = stage.rows(-stage.margin_y, stage.floor), stage.columns()
    u, v = x / stage.unit * 0.34 + 0 * y, y / stage.unit * 0.34 + 0 * x
    first, second = (sampled(cloudy((stage.seed, "nebula", index), 1.55), u + 0.2 * index, v) for index in range(2))
    fine = sampled(cloudy((stage.seed, "nebula fine"), 1.1), u * 2, v * 2)
    lean = 0.5 * stage.scene.chance("lean")
    band = np.exp(-((((y - stage.height * 0.5) + (x - stage.width / 2) * lean) / (0.34 * stage.unit)) ** 2))
    cloud = np.clip((first * 0.75 + fine * 0.25 - 0.36) * 1.9, 0, 1) * (0.30 + 0.70 * band)
    hues = tuple(map(hexed, ("#be4696", "#466edc", "#3cbebe", "#e68250")))
    pick = int((stage.scene.chance("nebula") * 0.5 + 0.5) * 3.99)
    colour = blended(hues[pick], hues[(pick + 1) % 4], np.clip(second * 1.6 - 0.3, 0, 1))
    colour = blended(colour, (1.0, 0.94, 0.9), np.clip(cloud - 0.55, 0, 1) * band)
    dust = np.clip((second - 0.58) * 4, 0, 1) * band * 0.5
    return [plane(colour * (1 - dust)[..., None], np.clip(cloud * 0.62, 0, 1), -stage.margin_y, 0.02)]


def _skyline(stage: Stage) -> list[Plane]:
    """Three rows of towers, lit at night."""
    on_roofs = stage.scene.ground == "roofs"
    tall = min(0.62 * stage.horizon, 0.72 * stage.unit) if on_roofs else min(0.8 * stage.horizon, 0.62 * stage.unit)
    rows = ((0.86, 0.55, 0.14), (1.0, 0.36, 0.24), (0.62, 0.16, 0.36))
    return [_towers(stage, index, tall * high, depth, nearness) for index, (high, depth, nearness) in enumerate(rows)]


def _towers(stage: Stage, index: int, tall: float, depth: float, nearness: float) -> Plane:
    rng, base = stage.random("towers", index), stage.horizon + 0.02 * stage.height
    top = max(-stage.margin_y, int(base - tall * 1.25))
    sheet, x = Sheet(stage, top, base), -float(stage.margin_x) - rng.uniform(0, 0.1) * stage.unit
    wall = stage.light.on(hexed("#83808a"), depth=depth)
    step, is_neon = max(5.0, 0.021 * stage.unit * (1 + 0.2 * index)), stage.scene.grade == "neon"
    while x < stage.width + stage.margin_x:
        wide = stage.unit * rng.uniform(0.055, 0.12) * (1 + 0.25 * index)
        right, roof, kind = x + wide * 0.94, base - tall * rng.uniform(0.32, 1.0) ** 1.2, int(rng.integers(4))
        sheet.rect(x, roof, right, base, wall)
        if kind == 1:
            sheet.rect(x + wide * 0.2, roof - (base - roof) * 0.06, x + wide * 0.75, roof, wall)
        elif kind == 2:
            sheet.polygon([(x, roof), (right, roof), ((x + right) / 2, roof - wide * 0.7)], wall)
        elif kind == 3:
            sheet.rect(x + wide * 0.45, roof - (base - roof) * 0.14, x + wide * 0.5, roof, wall)
        glow = _NEON[int(rng.integers(4))] if is_neon and rng.random() < 0.6 else _WINDOW
        columns, lines = max(0, int((right - x) / step) - 1), max(0, int((base - roof) / step) - 2)
        for (line, column), chance in np.ndenumerate(rng.random((lines, columns))):
            left, y = x + (column + 0.9) * step, roof + (line + 1.2) * step
            pane = _pane(stage, glow, float(chance), depth)
            if pane:
                sheet.rect(left, y, left + step * 0.42, y + step * 0.5, pane)
        if is_neon and rng.random() < 0.5 and wide > 3 * step:
            left, sign = (
                x + wide * rng.uniform(0.1, 0.6),
                mixed(_NEON[int(rng.integers(4))], stage.light.haze, depth * 0.4),
            )
            sheet.rect(left, roof + step * 3, left + step * 0.8, roof + step * 3 + (base - roof) * 0.35, sign)
        x += wide
    # Haze collects at the foot.
    towers = sheet.plane(nearness)
    haze = np.linspace(0, 1, towers.picture.height, dtype=np.float32)[:, None] ** 1.5 * 0.4
    return repainted(towers, blended(towers.colours, stage.light.haze, np.broadcast_to(haze, towers.colours.shape[:2])))


def _pane(stage: Stage, glow: Colour, chance: float, depth: float) -> Colour | None:
    """The colour of a distant window; None for a dark one."""
    if not (stage.light.dark or stage.scene.time in ("dusk", "sunset")):
        glass = mixed(hexed("#607c9c"), hexed("#cee0ec"), chance * 0.6)
        return stage.light.on(glass, depth=min(0.9, depth + 0.12))
    is_lit = chance > (0.6 if stage.light.dark else 0.8)
    return mixed(scaled(glow, 0.6 + 0.4 * chance), stage.light.haze, depth * 0.6) if is_lit else None


def _facades(stage: Stage) -> list[Plane]:
    """A row of town houses along the pavement, with shops below."""
    rng, base, horizon = stage.random("facades"), stage.horizon + 0.03 * stage.height, stage.horizon
    tall = (
        min(0.62 * horizon, 0.6 * stage.unit)
        if "skyline" in stage.scene.backdrops
        else min(0.86 * horizon, 0.72 * stage.unit)
    )
    is_neon = stage.scene.grade == "neon"
    walls = "#58527a #464c74 #68507c" if is_neon else "#deb48c #c4846c #ead6b4 #a8b2b8 #d69682 #b4c4aa"
    sheet, x = (
        Sheet(stage, max(-stage.margin_y, base - tall * 1.1), base),
        -stage.margin_x - rng.uniform(0, 0.2) * stage.unit,
    )
    while x < stage.width + stage.margin_x:
        wide = stage.unit * rng.uniform(0.2, 0.32)
        wall = hexed(str(rng.choice(walls.split())))
        _house(stage, sheet, rng, (x, base - tall * rng.uniform(0.62, 1.0), x + wide, base), wall, is_neon)
        x += wide
    houses = sheet.plane(0.52)
    return [repainted(houses, houses.colours * np.linspace(1.04, 0.84, houses.picture.height)[:, None, None])]


def _house(
    stage: Stage,
    sheet: Sheet,
    rng: np.random.Generator,
    box: tuple[float, float, float, float],
    wall: Colour,
    is_neon: bool,
) -> None:
    """One house of a street: cornice, windows in rows, a shop with an awning."""
    left, top, right, base = box
    wide, tall, light = right - left, base - top, partial(stage.light.on, depth=0.1)
    frame, dark = light(mixed(wall, (1, 1, 1), 0.45)), stage.light.dark or stage.scene.time == "dusk"
    sheet.rect(left, top, right, base, light(wall))
    sheet.rect(left, top - 0.02 * tall, right, top + 0.03 * tall, light(scaled(wall, 0.8)))
    columns, lines = max(2, int(wide / (0.075 * stage.unit))), max(2, int(tall * 0.72 / (0.12 * stage.unit)))
    w, h = wide / columns * 0.22, tall * 0.72 / lines * 0.56
    for line in range(lines):
        for column in range(columns):
            x, y = left + (column + 0.5) * wide / columns, top + 0.06 * tall + line * tall * 0.72 / lines
            glass = mixed(_WINDOW, (1.0, 0.7, 0.4), float(rng.random()) * 0.4)
            glass = mixed(glass, _NEON[int(rng.integers(4))], 0.6) if is_neon else glass
            day = light(mixed(hexed("#54708c"), hexed("#aac8d8"), float(rng.random()) * 0.5))
            sheet.rect(x - w - 1.2, y - 1.2, x + w + 1.2, y + h + 1.6, frame)
            sheet.rect(x - w, y, x + w, y + h, glass if dark and rng.random() < 0.55 else day)
            sheet.rect(x - 0.6, y, x + 0.6, y + h, frame)
    shop, glow = base - 0.2 * tall, mixed(_WINDOW, hexed("#ffaa5a"), 0.3) if dark else light(hexed("#7896a6"))
    sheet.rect(left + 2, shop, right - 2, base, light(scaled(wall, 0.62)))
    sheet.rect(left + 0.1 * wide, shop + 0.05 * tall, right - 0.36 * wide, base - 0.03 * tall, glow)
    sheet.rect(right - 0.27 * wide, shop + 0.05 * tall, right - 0.1 * wide, base, light(scaled(wall, 0.4)))
    awning = (
        _NEON[int(rng.integers(4))] if is_neon else hexed(str(rng.choice(("#be4640", "#467c6e", "#3c6096", "#d6a046"))))
    )
    for stripe in range(8):
        cloth = awning if stripe % 2 else mixed(awning, (1, 1, 1), 0.6)
        x, step = left + (0.05 + 0.1125 * stripe) * wide, 0.1125 * wide
        sheet.rect(x, shop, x + step, shop + 0.055 * tall, cloth if is_neon else light(cloth))


def _room(stage: Stage) -> list[Plane]:
    """A wall with a window onto the sky, and curtains."""
    lamp, unit, bottom = np.array(room_light(stage), np.float32), stage.unit, stage.horizon + 4
    y, x = stage.rows(-stage.margin_y, bottom), stage.columns()
    wide, high = 0.62 * unit, 0.56 * unit
    middle = 0.5 if stage.width < stage.height else 0.34 if stage.scene.chance("window") > 0 else 0.66
    across, top = x - stage.width * middle, max(0.07 * stage.height, stage.horizon - high - 0.12 * unit)
    down = (y - top) / high
    glow = np.exp(-((across / (0.8 * unit)) ** 2 + ((down - 0.5) * high / (0.7 * unit)) ** 2))
    shade = np.clip(0.62 + 0.5 * glow - 0.14 * (y / stage.height), 0, 1.2) * (
        1 + 0.025 * np.sign(np.sin(x / unit * 46))
    )
    walls = ("#cebea8", "#b0c4be", "#d6b2a0", "#b4b8d0")
    wall = hexed(walls[int((stage.scene.chance("wall") * 0.5 + 0.5) * 3.99)])
    colour = np.array(wall, np.float32) * lamp * shade[..., None]

    def inside(border: float) -> Field:
        return (np.abs(across) < wide / 2 + border) & (y > top - border) & (y < top + high + border)

    bars = np.minimum(np.abs(across), np.abs(down - 0.42) * high) < 0.011 * unit
    pane = inside(0) & ~bars
    colour = np.where((inside(0.03 * unit) & ~pane)[..., None], np.array(hexed("#f4eee2"), np.float32) * lamp, colour)
    gather = wide / 2 - 0.16 * wide * (1.15 - 0.45 * np.sin(np.clip(down, 0, 1) * np.pi)) + 0.1 * wide
    curtain = (np.abs(across) > gather) & (np.abs(across) < 0.66 * wide) & (down > -0.1) & (down < 1.18)
    rod = (np.abs(across) < 0.72 * wide) & (np.abs(down + 0.1) < 0.018)
    cloth = (
        np.array(mixed(hexed("#be5c54"), hexed("#608296"), 0.5 + 0.5 * stage.scene.chance("curtain")), np.float32)
        * lamp
    )
    folds = 0.82 + 0.22 * np.sin(across / unit * 74 + 2 * down)
    colour = np.where(curtain[..., None], cloth * folds[..., None], colour)
    colour = np.where(rod[..., None], cloth * np.float32(0.5), colour)
    return [plane(colour, (~pane | curtain | rod).astype(np.float32), -stage.margin_y, 0.4)]


BACKDROPS: Mapping[str, Callable[[Stage], list[Plane]]] = {
    "hills": _hills, "dunes": _dunes, "mesas": _mesas, "ranges": _ranges, "island": _island, "icebergs": _icebergs,
    "mountains": _mountains, "pines": _pines, "trees": _trees, "palms": _palms, "hedge": _hedge, "blossoms": _blossoms,
    "woods": _woods, "jungle": _jungle, "village": _village, "skyline": _skyline, "facades": _facades, "reef": _reef,
    "nebula": _nebula, "room": _room,
    "barn": lambda stage: [_one(stage, "barn", 0.3, 0.12, 0.46, foot=0.06, side=0.24)],
    "keep": lambda stage: [_one(stage, "keep", 0.5, 0.2, 0.36, foot=0.02, side=0.1)],
    "curtain": lambda stage: [_one(stage, "curtain", 0.8 * stage.horizon / stage.unit, 0.05, 0.4, foot=0.01, side=0.0)],
    "reeds": lambda stage: [_sides(stage, "reeds", 9, (0.2, 0.4), 0.0, 0.95, foot=(1.0, 1.06), reach=0.2)],
    "billows": lambda stage: [
        _row(stage, "cloud", size, foot, depth, near, gap=1.1, vary=0.3)
        for size, foot, depth, near in ((0.14, -0.42, 0.5, 0.3), (0.24, -0.3, 0.3, 0.45), (0.4, -0.14, 0.1, 0.6))
    ],
}  # fmt: skip
"""What paints each backdrop; a few others, such as volcanoes, are figures that move."""
