"""The drawing kit of a figure, and parts that several figures share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..palette import Colour, Light, mixed
from ..puppet import Part
from ..soft_brush import Brush, Sprite

Ink = Callable[[Brush], None]


@dataclass(frozen=True, slots=True)
class Kit:
    """Light, scale, colours and random numbers for drawing one figure."""

    light: Light
    scale: float
    """Pixels per unit; sprites are painted at their displayed size."""
    colours: tuple[Colour, ...]
    rng: np.random.Generator
    depth: float = 0.0
    """Its share of haze, from 0 to 1."""
    still: bool = False
    """Whether it is at rest: legs and wheels do not move."""
    season: str = ""

    def colour(self, usual: Colour, index: int = 0) -> Colour:
        """The colour that the prompt names, else the usual one."""
        if not self.colours:
            return usual
        return self.colours[index % len(self.colours)] if index < len(self.colours) else usual

    def paint(self, left: float, top: float, right: float, bottom: float, ink: Ink) -> Sprite:
        """A sprite of what `ink` draws, within a box in units."""
        brush = Brush((left, top, right, bottom), self.scale, self.light, self.depth)
        ink(brush)
        return brush.sprite()

    def chance(self, low: float, high: float) -> float:
        """A random number between two bounds."""
        return float(self.rng.uniform(low, high))


def smoke(
    kit: Kit,
    x: float,
    y: float,
    colour: Colour,
    *,
    size: float = 0.1,
    rise: float = 0.6,
    lean: float = -0.3,
    count: int = 5,
    life: float = 3.0,
) -> list[Part]:
    """Puffs of smoke that rise from a point, grow and fade."""

    def puff(brush: Brush) -> None:
        brush.oval(0, 0, size, size * 0.9, colour, round_=0.5, alpha=0.55)
        brush.oval(size * 0.6, -size * 0.3, size * 0.6, size * 0.55, colour, round_=0.5, alpha=0.45)

    sprite = kit.paint(-size * 1.3, -size * 1.3, size * 1.5, size * 1.3, puff)
    return [
        Part(sprite, (x, y), rise=rise, lean=lean, swell=1.8, life=life, phase=index / count) for index in range(count)
    ]


def flame(kit: Kit, x: float, y: float, height: float, *, down: bool = False) -> list[Part]:
    """Flickering flames with a glow around them; `down` for the jet of a rocket."""
    way = -1.0 if down else 1.0

    def glow(brush: Brush) -> None:
        brush.halo(0, -way * height * 0.45, height * 1.6, (1.0, 0.62, 0.24), 0.5)

    def tongue(scale: float, colour: Colour) -> Ink:
        def ink(brush: Brush) -> None:
            h, w = height * scale, height * scale * 0.3
            outline = [
                (-w, -h * 0.22),
                (-w * 0.62, -h * 0.62),
                (w * 0.1, -h),
                (w * 0.7, -h * 0.55),
                (w, -h * 0.22),
                (0, 0.0),
            ]
            brush.shape([(px, py * way) for px, py in outline], colour, smooth=True, glow=True, alpha=0.92)

        return ink

    reach = height * 2.1
    parts = [Part(kit.paint(-height * 1.6, -reach, height * 1.6, reach, glow), (x, y), bob=height * 0.02, beat=2.3)]
    for scale, colour, beat, phase, dx in (
        (1.0, (0.96, 0.42, 0.12), 1.7, 0.0, 0.0),
        (0.72, (1.0, 0.62, 0.18), 2.1, 0.3, -0.11),
        (0.7, (1.0, 0.56, 0.14), 1.9, 0.7, 0.12),
        (0.52, (1.0, 0.86, 0.42), 2.6, 0.5, 0.0),
    ):
        sprite = kit.paint(-height * 0.45, -height * 1.1, height * 0.45, height * 1.1, tongue(scale, colour))
        parts.append(Part(sprite, (x + dx * height, y), swing=7, beat=beat, phase=phase, bob=height * 0.015))
    return parts


def wheel(
    kit: Kit,
    x: float,
    y: float,
    radius: float,
    *,
    spokes: int = 0,
    turn: float = 220.0,
    colour: Colour = (0.16, 0.16, 0.19),
) -> Part:
    """A wheel that turns, unless the figure is at rest."""

    def ink(brush: Brush) -> None:
        if spokes:
            ring = [(radius * float(np.cos(a)), radius * float(np.sin(a))) for a in np.linspace(0, 2 * np.pi, 40)]
            brush.line(ring, radius * 0.16, colour, smooth=False, round_=0)
            for index in range(spokes):
                angle = np.pi * index / spokes
                dx, dy = radius * float(np.cos(angle)), radius * float(np.sin(angle))
                brush.line([(-dx, -dy), (dx, dy)], radius * 0.06, mixed(colour, (0.7, 0.7, 0.72), 0.5), round_=0)
        else:
            brush.oval(0, 0, radius, radius, colour, round_=0.2)
            brush.oval(0, 0, radius * 0.56, radius * 0.56, (0.78, 0.79, 0.8), round_=0.3)
            brush.oval(radius * 0.3, 0, radius * 0.1, radius * 0.1, colour)
            brush.oval(-radius * 0.3, 0, radius * 0.1, radius * 0.1, colour)
        brush.oval(0, 0, radius * 0.14, radius * 0.14, colour)

    sprite = kit.paint(-radius * 1.15, -radius * 1.15, radius * 1.15, radius * 1.15, ink)
    return Part(sprite, (x, y), spin=0 if kit.still else turn)
