"""The interpreter that draws the figures of `figures.txt`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .brush import MOTIONS, FigurePart, Ink, paint, rotation
from .light import Colour, Light, hexed, mixed, scaled
from .noise import NoiseField
from .tables import FIGURES, Block, Figure, numbers, options_of


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
            factor = factor * (1, -1) if "down" in block.options else factor
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
