"""Figures: soft shapes without outlines, painted once from `figures.txt`, and moved: they swing, turn and fold around joints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from .light import Colour, Light, hexed, mixed, scaled
from .noise import NoiseField


@dataclass(slots=True)
class Block:
    """A part of a figure, or another figure used as one."""

    name: str
    """The letter of the part, or the name of the other figure."""
    options: Mapping[str, str]
    places: Sequence[Sequence[float]]
    """x, y and phase of each copy."""
    is_use: bool = False
    shapes: list[list[str]] = field(default_factory=list)
    """The words of each line of shapes."""


@dataclass(slots=True)
class Figure:
    """A noun that can be drawn."""

    words: str
    where: str
    """`sky`, `water`, `under` (water), `ground`, `road`, `table`; `heaven` or `backdrop`, which are behind the land."""
    gait: str
    """`stand`, `walk`, `roll`, `sail`, `fly`, `drift`, `swim` or `hover`."""
    options: Mapping[str, str]
    blocks: list[Block]

    def number(self, option: str, usual: float = 0.0) -> float:
        """An option of its heading as a number."""
        return float(self.options.get(option, usual))


def options_of(tokens: Sequence[str]) -> dict[str, str]:
    """Tokens such as `size=.4` and `gait` as a mapping."""
    return {key: value for key, _, value in (token.partition("=") for token in tokens)}


def numbers(token: str) -> list[float]:
    """Numbers that are separated by commas."""
    return [float(part) for part in token.split(",")]


def _read_figures(text: str) -> dict[str, Figure]:
    table: dict[str, Figure] = {}
    for line in text.splitlines():
        if line.startswith("["):
            heading, _, rest = line[1:].partition("] ")
            name, _, words = heading.partition(":")
            where, gait, *options = rest.split()
            own = options_of(options)
            table[name] = figure = Figure(words, where, gait, own, [Block("", own, [[0, 0]])])
        elif line.startswith(("part", "use")):
            head, _, shape = line.partition(": ")
            kind, *tokens = head.split()
            name = tokens.pop(0) if tokens and tokens[0] != "gait" and "=" not in tokens[0] else ""
            places = [numbers(token[3:]) for token in tokens if token.startswith("at=")]
            figure.blocks.append(Block(name, options_of(tokens), places or [[0, 0]], kind == "use"))
            if shape:
                figure.blocks[-1].shapes.append(shape.split())
        elif line.startswith(" "):
            figure.blocks[-1].shapes.append(line.split())
    return table


FIGURES: Mapping[str, Figure] = _read_figures(files(__package__).joinpath("figures.txt").read_text("utf-8"))
"""All figures by name; those without words are parts of others, or of backdrops."""

_FINER = 4
"""Factor by which masks are drawn larger and then reduced, for soft edges."""


@dataclass(frozen=True, slots=True)
class Ink:
    """One shape in units: y grows downwards, feet are at y = 0, and a figure is about 1 tall."""

    outlines: Sequence[NoiseField]
    """Closed outlines that are filled together, each an array of points."""
    colour: Colour
    round: float = 0.5
    """How strongly it is shaded as a convex body."""
    shade: float = 0.16
    """How much darker it is at its foot."""
    glow: bool = False
    """Whether it shines by itself, whatever the light."""
    alpha: float = 1.0
    fading: bool = False
    """Whether it is a halo: light around the middle of its outline, fading to nothing at the edge."""


MOTIONS = {
    "swing": 0.0,  # Amplitude of a swing in degrees,
    "beat": 1.0,  # swings per second,
    "phase": 0.0,  # and where a swing begins, in full swings.
    "spin": 0.0,  # Rotation in degrees per second, as of wheels.
    "fold": 0.0,  # Vertical contraction during a swing, like a wing seen from the side: with 1 down to zero height.
    "narrow": 0.0,  # The same horizontally, like the wing of a butterfly.
    "bob": 0.0,  # Amplitude of the vertical oscillation, in units.
    "rise": 0.0,  # Distance it rises before it has faded and restarts, in units: smoke, bubbles, drops;
    "lean": 0.0,  # its horizontal drift on the way, in units,
    "swell": 0.0,  # its relative growth,
    "life": 2.0,  # and the seconds that it takes.
}
"""What moves a part of a figure, and its usual values."""


@dataclass(frozen=True, slots=True)
class FigurePart:
    """One flat piece of a figure and its motion."""

    picture: Image.Image
    """Colours multiplied by their opacity (`RGBa`), so that rotation and scaling make no dark edges."""
    origin: NoiseField
    """The unit point (0, 0), in pixels of the picture."""
    scale: float
    """Pixels per unit."""
    at: tuple[float, float] = (0.0, 0.0)
    """The position of its origin on the figure, in units."""
    motion: Mapping[str, float] = field(default_factory=dict)
    """Numbers by the names in `MOTIONS`."""


@dataclass(frozen=True, slots=True)
class Pose:
    """The position, size and time at which a figure is drawn."""

    x: float
    y: float
    """Position of its origin, in pixels of the picture."""
    scale: float
    """Pixels per unit."""
    mirrored: bool = False
    turn: float = 0.0
    """Clockwise rotation in degrees."""
    time: float = 0.0
    """Time of its animation in seconds."""
    squash: float = 1.0
    """A factor of its height; negative for upside-down reflections."""
    alpha: float = 1.0


def rotation(degrees: float) -> NoiseField:
    """The matrix of a clockwise rotation."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[cosine, -sine], [sine, cosine]])


def paint(inks: Sequence[Ink], scale: float, light: Light, depth: float = 0.0) -> FigurePart:
    """Shapes painted one over the other; `depth` is their share of haze."""
    every = np.concatenate([outline for ink in inks for outline in ink.outlines])
    corner = every.min(0) - 2.0 / scale
    width, height = np.maximum(4, ((every.max(0) + 2.0 / scale - corner) * scale + 1).astype(int)).tolist()
    canvas = np.zeros((height, width, 4), np.float32)
    for ink in inks:
        _fill(canvas, ink, [(outline - corner) * scale for outline in ink.outlines], light, depth)
    pixels = (np.clip(canvas, 0, 1) * 255 + 0.5).astype(np.uint8).tobytes()
    return FigurePart(Image.frombytes("RGBa", (width, height), pixels), -corner * scale, scale)


def _fill(canvas: NoiseField, ink: Ink, outlines: Sequence[NoiseField], light: Light, depth: float) -> None:
    every = np.concatenate(outlines)
    x0, y0 = np.maximum(0, every.min(0).astype(int) - 1).tolist()
    x1, y1 = np.minimum(canvas.shape[1::-1], every.max(0).astype(int) + 2).tolist()
    if x1 <= x0 or y1 <= y0:
        return
    colour = np.array(ink.colour, np.float32)
    if ink.fading:
        rows, columns = np.ogrid[y0:y1, x0:x1]
        (x, y), radius = (every.min(0) + every.max(0)) / 2, np.ptp(every[:, 0]) / 2
        cover = np.clip(1 - np.hypot(columns - x, rows - y) / radius, 0, 1) ** 2
    else:
        mask = Image.new("L", ((x1 - x0) * _FINER, (y1 - y0) * _FINER))
        pen = ImageDraw.Draw(mask)
        for outline in outlines:
            pen.polygon(((outline - (x0, y0)) * _FINER).ravel().tolist(), fill=255)
        mask = mask.reduce(_FINER)
        cover = np.asarray(mask) / 255
        if not ink.glow:
            dim = np.array(light.on(ink.colour, depth=depth), np.float32)
            bright = np.array(light.on(mixed(ink.colour, light.glow, 0.55), depth=depth), np.float32)
            relief = _relief(mask, ink, light)[..., None]
            colour = dim * (1 + np.minimum(relief, 0)) + (bright - dim) * np.maximum(relief, 0)
    cover = (cover * ink.alpha)[..., None]
    area = canvas[y0:y1, x0:x1]
    area *= 1 - cover
    area[..., :3] += colour * cover
    area[..., 3:] += cover


def _relief(mask: Image.Image, ink: Ink, light: Light) -> NoiseField:
    """The shading of each pixel, from -1 in the shadow to 1 in the light."""
    width, height = mask.size
    down = np.linspace(0.6, -1, height, dtype=np.float32)[:, None] * np.float32(ink.shade)
    if ink.round == 0 or min(width, height) < 4:
        return np.broadcast_to(down, (height, width))
    radius = max(1.0, 0.16 * min(width, height))
    pad = int(radius * 1.5) + 1
    wide = Image.new("L", (width + 2 * pad, height + 2 * pad))
    wide.paste(mask, (pad, pad))
    soft = np.asarray(wide.filter(ImageFilter.GaussianBlur(radius)), np.float32) / 255
    dx, dy = int(radius * (1 if light.across > 0.5 else -1)), -int(radius)
    inner = soft[pad - dy : pad - dy + height, pad - dx : pad - dx + width]
    outer = soft[pad + dy : pad + dy + height, pad + dx : pad + dx + width]
    return np.asarray(down + (inner - outer) * np.float32(ink.round * 0.75), np.float32)


def show(picture: Image.Image, parts: Sequence[FigurePart], pose: Pose) -> None:
    """Paint a figure into the picture."""
    side = -1 if pose.mirrored else 1
    world = np.diag([side * pose.scale, pose.scale * pose.squash]) @ rotation(side * pose.turn)
    for part in parts:
        motion = {**MOTIONS, **part.motion}
        wave = math.sin(2 * math.pi * (pose.time * motion["beat"] + motion["phase"]))
        at, alpha, size = np.array(part.at) - (0, motion["bob"] * wave), pose.alpha, 1.0
        if motion["rise"] or motion["lean"]:
            age = (pose.time / motion["life"] + motion["phase"]) % 1.0
            at = at + np.array((motion["lean"] * age, -motion["rise"] * age))
            size = 1 + motion["swell"] * age
            # A fast fade-in and a slow fade-out, so that it does not pop up.
            alpha *= min(1.0, age * 6) * (1 - age) ** 1.2
        # Never near zero, because the matrix must be invertible; below it, the wing is seen from the other side.
        shown = [1 - motion[name] * (0.5 + 0.5 * wave) for name in ("narrow", "fold")]
        opened = [size * (share if abs(share) > 0.06 else 0.06) for share in shown]
        local = rotation(motion["swing"] * wave + motion["spin"] * pose.time) @ np.diag(opened)
        _paste(picture, part, world @ local / part.scale, world @ at + (pose.x, pose.y), alpha)


def _paste(picture: Image.Image, part: FigurePart, matrix: NoiseField, origin: NoiseField, alpha: float) -> None:
    """Paint a transformed part with its origin at `origin` in the picture."""
    wide, high = part.picture.size
    corners = (np.array([(0, 0), (0, high), (wide, 0), (wide, high)]) - part.origin) @ matrix.T + origin
    left, top = np.maximum(0, corners.min(0).astype(int) - 1).tolist()
    right, bottom = np.minimum(picture.size, corners.max(0).astype(int) + 2).tolist()
    if alpha <= 0.01 or right <= left or bottom <= top or abs(np.linalg.det(matrix)) < 1e-9:
        return
    back = np.linalg.inv(matrix)
    start = back @ ((left, top) - origin) + part.origin
    affine = (*back[0].tolist(), float(start[0]), *back[1].tolist(), float(start[1]))
    size = (right - left, bottom - top)
    straight = part.picture.transform(size, Image.Transform.AFFINE, affine, Image.Resampling.BILINEAR).convert("RGBA")
    mask = straight.getchannel("A")
    if alpha < 1:
        mask = mask.point([int(value * alpha + 0.5) for value in range(256)])
    picture.paste(straight.convert("RGB"), (left, top), mask)


@dataclass(frozen=True, slots=True)
class Kit:
    """Light, scale, colours and random numbers for drawing one figure."""

    light: Light
    scale: float
    """Pixels per unit; figures are painted at their displayed size."""
    colours: tuple[Colour, ...]
    rng: np.random.Generator
    depth: float = 0.0
    """Its share of haze, from 0 to 1."""
    still: bool = False
    """Whether it is at rest: legs and wheels do not move."""
    season: str = ""
    gait: Mapping[str, float] = field(default_factory=dict)
    """How its legs move, where they do not say."""

    @property
    def lit(self) -> bool:
        """Whether lamps and windows are lit."""
        return self.light.dark or self.light.height < 0.12


def draw(name: str, kit: Kit) -> list[FigurePart]:
    """The parts of a figure, ready to be shown."""
    parts = _parts(name, kit, _palette(FIGURES[name], kit), np.ones(2))
    shift = float(kit.rng.uniform(0, 1))
    return [replace(part, motion={**part.motion, "phase": part.motion["phase"] + shift}) for part in parts]


def _palette(figure: Figure, kit: Kit) -> dict[str, Colour]:
    """The figure's own colours; the first ones give way to those that the prompt names."""
    palette = {}
    for name in (name for name in figure.options if name.startswith("$") and "." not in name):
        choices = figure.options.get(f"{name}.{kit.season}", figure.options[name]).split("|")
        palette[name] = hexed(choices[int(kit.rng.integers(len(choices)))])
    return palette | {f"${index}": colour for index, colour in enumerate(kit.colours, 1) if f"${index}" in palette}


def _parts(name: str, kit: Kit, palette: Mapping[str, Colour], size: NoiseField) -> list[FigurePart]:
    """The parts of a figure, `size` times as wide and high as it is written."""
    parts: list[FigurePart] = []
    named: dict[str, Block] = {}
    figure = FIGURES[name]
    if "step" in figure.options:
        kit = replace(kit, gait=dict(zip(("swing", "beat"), numbers(figure.options["step"]), strict=True)))
    for block in figure.blocks:
        motion = dict(kit.gait) if "gait" in block.options else {}
        motion |= {key: float(value) for key, value in block.options.items() if key in MOTIONS}
        if kit.still and "gait" in block.options:
            motion |= {"swing": 0.0, "spin": 0.0, "bob": 0.0}
        if block.is_use:
            own = {key: _colour(value, palette) for key, value in block.options.items() if key.startswith("$")}
            factor = np.array(numbers(block.options.get("size", "1")))
            colours = _palette(FIGURES[block.name], replace(kit, colours=())) | own
            drawn = _parts(block.name, kit, colours, size * factor)
        else:
            origin = named.setdefault(block.name, block) if block.name else block
            inks = [ink for shape in origin.shapes for ink in _inks(shape, kit, palette, size)]
            drawn = [paint(inks, kit.scale, kit.light, kit.depth)] if inks else []
        times = int(block.options.get("times", 1))
        for x, y, *phase in block.places:
            for part in drawn:
                at = part.at[0] + x * float(size[0]), part.at[1] + y * float(size[1])
                first = (phase[0] if phase else motion.get("phase", 0.0)) + part.motion.get("phase", 0.0)
                for copy in range(times):
                    moves = {**part.motion, **motion, "phase": first + copy / times}
                    parts.append(replace(part, at=at, motion=moves))
    return parts


_USUAL = {"line": (0.4, 0.08), "arc": (0.4, 0.08), "box": (0.3, 0.12)}
"""How round kinds of shapes are, and how much darker at their foot, where they do not say."""


def _inks(tokens: Sequence[str], kit: Kit, palette: Mapping[str, Colour], size: NoiseField) -> list[Ink]:
    """The shapes of one line."""
    conditions = {"night": kit.lit, "day": not kit.lit, "winter": kit.season == "winter"}
    if not conditions.get(tokens[0], True):
        return []
    kind, colour, *rest = tokens[1:] if tokens[0] in conditions else tokens
    options = options_of([token for token in rest if token != "/" and not _is_point(token)])
    glow = "glow" in options
    if kit.lit and "lit" in options:
        colour, glow = options["lit"], True
    elif kit.season == "winter" and "winter" in options:
        colour = options["winter"]
    usual_round, usual_shade = _USUAL.get(kind, (0.5, 0.16))
    rounded = float(options.get("round", usual_round))
    copies: list[list[NoiseField]] = []
    for path in " ".join(rest).split("/"):
        points = np.array([numbers(token) for token in path.split() if _is_point(token)])
        copies += _copies(_outlines(kind, points, options, size), options, size)
    if (glow or rounded == 0) and kind != "halo":
        # Without shading of their own, all of them are one shape, which is quicker.
        copies = [[outline for copy in copies for outline in copy]]
    tint, shade = _colour(colour, palette), float(options.get("shade", usual_shade))
    alpha = float(options.get("alpha", 0.7 if kind == "halo" else 1))
    return [Ink(copy, tint, rounded, shade, glow, alpha, kind == "halo") for copy in copies]


def _outlines(kind: str, points: NoiseField, options: Mapping[str, str], size: NoiseField) -> list[NoiseField]:
    """The outlines of one shape, in units of the figure."""
    width, taper = float(options.get("w", 0)) * abs(size[0]), float(options.get("taper", 1))
    if kind == "shape":
        return [smooth(points * size, closed=True) if "smooth" in options else points * size]
    if kind == "line":
        is_curved = len(points) > 2 and "straight" not in options
        return stroke(smooth(points * size, closed=False) if is_curved else points * size, width, taper)
    x, y, *extent = points[0] * np.resize(size, points.shape[1])
    if kind == "box":
        return [box(x, y, extent[0], extent[1], float(options.get("corner", 0)) * size[0])]
    rx, ry = extent[0], abs(extent[1]) if len(extent) > 1 else abs(size[1]) * points[0][2]
    if kind == "arc":
        return stroke(arc(x, y, rx, ry, float(options.get("from", 0)), float(options.get("to", 360))), width, taper)
    return [arc(0, 0, rx, ry, 0, 352.5, steps=48) @ rotation(float(options.get("turn", 0))).T + (x, y)]


def _copies(outlines: list[NoiseField], options: Mapping[str, str], size: NoiseField) -> list[list[NoiseField]]:
    """The outlines, and their copies around a point (`ring`), along a line (`row`) or on the other side (`mirror`)."""
    if "mirror" in options:
        return [outlines, [outline * (-1, 1) for outline in outlines]]
    count, _, point = options.get("ring", options.get("row", "1")).partition("@")
    step, shrink = np.array(numbers(point or "0,0")) * size, float(options.get("shrink", 1))
    if "ring" in options:
        turns = [rotation(360 * index / int(count)).T for index in range(int(count))]
        return [[(outline - step) @ turn + step for outline in outlines] for turn in turns]
    return [[outline * shrink**index + step * index for outline in outlines] for index in range(int(count))]


def _is_point(token: str) -> bool:
    return "," in token and "=" not in token


def _colour(text: str, palette: Mapping[str, Colour]) -> Colour:
    """A colour such as `#d02020`, `$1`, `$1*.8` (darker) or `$1+#ffffff*.3` (mixed with white)."""
    name, plus, other = text.partition("+")
    if plus:
        tint, _, share = other.partition("*")
        return mixed(palette[name], hexed(tint), float(share))
    name, _, factor = text.partition("*")
    return scaled(palette[name] if name.startswith("$") else hexed(name), float(factor or 1))


def arc(x: float, y: float, rx: float, ry: float, start: float, end: float, steps: int = 40) -> NoiseField:
    """Points along an arc around (x, y), in degrees clockwise from the right."""
    angles = np.radians(np.linspace(start, end, steps))
    return np.stack([x + rx * np.cos(angles), y + ry * np.sin(angles)], 1)


def box(left: float, top: float, right: float, bottom: float, corner: float = 0.0) -> NoiseField:
    """The outline of a rectangle whose corners are cut off."""
    across, down = (left, left + corner, right - corner, right), (top, top + corner, bottom - corner, bottom)
    corners = ((1, 0), (2, 0), (3, 1), (3, 2), (2, 3), (1, 3), (0, 2), (0, 1))
    return np.array([(across[x], down[y]) for x, y in corners])


def stroke(path: NoiseField, width: float, taper: float = 1.0) -> list[NoiseField]:
    """The outlines of a stroke with round ends, `taper` times as wide at its end as at its start."""
    ahead = np.gradient(path, axis=0)
    ahead /= np.hypot(ahead[:, 0], ahead[:, 1])[:, None] + 1e-9
    half = np.linspace(width / 2, width * taper / 2, len(path))
    side = np.stack([-ahead[:, 1], ahead[:, 0]], 1) * half[:, None]
    ends = [arc(float(path[at, 0]), float(path[at, 1]), half[at], half[at], 0, 352.5) for at in (0, -1)]
    return [np.concatenate([path + side, (path - side)[::-1]]), *ends]


def smooth(points: NoiseField, *, closed: bool) -> NoiseField:
    """A smooth line through all points: a Catmull–Rom spline."""
    ring = np.concatenate([points[-1:], points, points[:2]] if closed else [points[:1], points, points[-1:]])
    share = np.linspace(0, 1, 8, endpoint=False)[None, :, None]
    before, start, end, after = (ring[index : len(ring) - 3 + index][:, None] for index in range(4))
    curve = 0.5 * (
        2 * start + (end - before) * share + (2 * before - 5 * start + 4 * end - after) * share**2
        + (3 * start - before - 3 * end + after) * share**3
    )  # fmt: skip
    return np.concatenate([curve.reshape(-1, 2), points[-1:][: not closed]])
