"""Figures on wheels."""

from __future__ import annotations

from dataclasses import replace

from ..palette import Colour, mixed, rgb, scaled
from ..puppet import Part
from ..soft_brush import Brush
from .kit import Kit, smoke, wheel

GLASS, TYRE = rgb(150, 194, 216), rgb(42, 42, 50)
CARS = (rgb(206, 60, 54), rgb(60, 112, 178), rgb(240, 190, 70), rgb(236, 236, 232), rgb(74, 140, 112))


def _glass(kit: Kit) -> Colour:
    return rgb(255, 226, 160) if kit.light.dark else GLASS


def _lamps(kit: Kit, brush: Brush, front: tuple[float, float], rear: tuple[float, float]) -> None:
    """Paint head and tail lamp, lit in the dark."""
    if kit.light.dark:
        brush.halo(front[0] + 0.1, front[1], 0.5, rgb(255, 240, 190), 0.5)
        brush.halo(rear[0], rear[1], 0.24, rgb(255, 70, 50), 0.5)
    brush.oval(*front, 0.045, 0.045, rgb(255, 246, 206), glow=kit.light.dark, round_=0.2)
    brush.oval(*rear, 0.035, 0.045, rgb(226, 52, 44), glow=kit.light.dark, round_=0.2)


def car(kit: Kit) -> list[Part]:
    """A small car."""
    colour = kit.colour(CARS[int(kit.rng.integers(len(CARS)))])

    def ink(brush: Brush) -> None:
        brush.shape(
            [(-0.66, -0.5), (-0.5, -0.86), (-0.3, -0.98), (0.2, -0.98), (0.42, -0.86), (0.66, -0.52)],
            colour,
            smooth=False,
            round_=0.5,
        )
        for points in (
            [(-0.54, -0.55), (-0.42, -0.82), (-0.06, -0.9), (-0.06, -0.55)],
            [(0.02, -0.55), (0.02, -0.9), (0.3, -0.84), (0.52, -0.55)],
        ):
            brush.shape(points, _glass(kit), glow=kit.light.dark, round_=0.3)
        brush.shape(
            [
                (-1.0, -0.5),
                (-0.9, -0.58),
                (0.66, -0.56),
                (0.96, -0.46),
                (1.06, -0.34),
                (1.04, -0.16),
                (0.96, -0.12),
                (-0.96, -0.12),
                (-1.04, -0.2),
            ],
            colour,
            round_=0.6,
        )
        brush.box(-1.0, -0.2, 1.04, -0.12, scaled(colour, 0.6), round_=0)
        brush.box(-0.14, -0.46, -0.02, -0.43, scaled(colour, 0.7), round_=0)
        for x in (-0.58, 0.6):
            brush.oval(x, -0.16, 0.24, 0.24, scaled(colour, 0.4), round_=0)
        _lamps(kit, brush, (1.0, -0.38), (-1.0, -0.42))

    return [
        Part(kit.paint(-1.3, -1.05, 1.65, 0.1, ink), bob=0.006, beat=2.2),
        wheel(kit, -0.58, -0.19, 0.19),
        wheel(kit, 0.6, -0.19, 0.19),
    ]


def truck(kit: Kit) -> list[Part]:
    """A lorry with a box behind."""
    colour = kit.colour(rgb(64, 124, 170))

    def ink(brush: Brush) -> None:
        brush.box(-1.15, -1.0, 0.36, -0.24, rgb(236, 232, 222), corner=0.03, round_=0.3)
        brush.box(-1.05, -0.74, 0.26, -0.6, colour, round_=0)
        brush.shape([(0.42, -0.24), (0.42, -0.86), (0.78, -0.86), (0.98, -0.52), (1.02, -0.24)], colour, round_=0.5)
        brush.shape([(0.56, -0.56), (0.56, -0.8), (0.75, -0.8), (0.88, -0.56)], _glass(kit), glow=kit.light.dark)
        brush.box(-1.15, -0.26, 1.04, -0.16, rgb(58, 58, 66), round_=0)
        _lamps(kit, brush, (1.0, -0.32), (-1.14, -0.34))

    return [
        Part(kit.paint(-1.3, -1.05, 1.6, 0.1, ink), bob=0.006, beat=1.7),
        *(wheel(kit, x, -0.17, 0.17) for x in (-0.82, -0.44, 0.72)),
    ]


def bus(kit: Kit) -> list[Part]:
    """A bus with many windows."""
    colour = kit.colour(rgb(232, 178, 52))

    def ink(brush: Brush) -> None:
        brush.box(-1.2, -1.0, 1.2, -0.14, colour, corner=0.1, round_=0.4)
        for index in range(6):
            left = -1.08 + 0.34 * index
            brush.box(left, -0.86, left + 0.28, -0.54, _glass(kit), corner=0.03, glow=kit.light.dark)
        brush.box(0.97, -0.86, 1.16, -0.4, _glass(kit), corner=0.03, glow=kit.light.dark)
        brush.box(-1.2, -0.42, 1.2, -0.37, scaled(colour, 0.6), round_=0)
        _lamps(kit, brush, (1.18, -0.26), (-1.18, -0.28))

    return [
        Part(kit.paint(-1.4, -1.04, 1.75, 0.1, ink), bob=0.005, beat=1.7),
        wheel(kit, -0.72, -0.17, 0.17),
        wheel(kit, 0.72, -0.17, 0.17),
    ]


def train(kit: Kit) -> list[Part]:
    """A steam engine with its tender and two coaches."""
    colour = kit.colour(rgb(172, 52, 48))
    dark, coach = rgb(46, 46, 56), mixed(colour, rgb(120, 60, 44), 0.4)

    def engine(brush: Brush) -> None:
        brush.box(0.62, -0.98, 0.76, -0.6, dark, corner=0.02)
        brush.box(0.58, -1.02, 0.80, -0.94, dark, corner=0.02)
        brush.box(-0.06, -0.72, 0.94, -0.28, colour, corner=0.12, round_=0.9)
        brush.oval(0.22, -0.74, 0.09, 0.09, rgb(222, 180, 92))
        brush.box(-0.44, -0.96, 0.0, -0.24, colour, corner=0.03)
        brush.box(-0.5, -1.02, 0.06, -0.94, dark, corner=0.03)
        brush.box(-0.34, -0.84, -0.1, -0.58, _glass(kit), corner=0.02, glow=kit.light.dark)
        brush.box(-0.46, -0.28, 1.0, -0.2, dark, round_=0)
        brush.shape([(0.98, -0.28), (1.2, -0.06), (0.96, -0.06)], dark)
        for x in (0.1, 0.5):
            brush.line([(x, -0.72), (x, -0.28)], 0.025, rgb(222, 180, 92), smooth=False)
        _lamps(kit, brush, (0.96, -0.6), (-0.46, -0.5))

    def wagon(left: float) -> None:
        def ink(brush: Brush) -> None:
            brush.box(0, -0.84, 1.16, -0.22, coach, corner=0.05, round_=0.3)
            brush.box(-0.03, -0.9, 1.19, -0.8, dark, corner=0.04)
            for index in range(4):
                brush.box(
                    0.1 + 0.26 * index, -0.7, 0.28 + 0.26 * index, -0.46, _glass(kit), corner=0.03, glow=kit.light.dark
                )
            brush.box(0, -0.38, 1.16, -0.34, rgb(232, 206, 140), round_=0)
            brush.box(1.14, -0.26, 1.3, -0.2, dark, round_=0)

        parts.append(Part(kit.paint(-0.06, -0.94, 1.34, -0.14, ink), (left, 0), bob=0.005, beat=1.9, phase=left))
        parts.extend(wheel(kit, left + x, -0.12, 0.12, turn=260) for x in (0.18, 0.42, 0.76, 1.0))

    parts: list[Part] = smoke(kit, 0.69, -1.02, rgb(226, 226, 228), size=0.13, rise=0.55, lean=-1.5, count=9, life=3.2)
    for left in (-3.1, -1.84):
        wagon(left)
    parts.append(Part(kit.paint(-0.54, -1.08, 1.4, 0.0, engine), bob=0.006, beat=1.9))
    parts.extend(wheel(kit, x, -0.16, 0.16, spokes=4, turn=260, colour=dark) for x in (-0.26, 0.1, 0.46))
    parts.append(wheel(kit, 0.8, -0.11, 0.11, spokes=4, turn=320, colour=dark))
    # The complete train is centred on its origin.
    return [replace(part, at=(part.at[0] + 1.0, part.at[1])) for part in parts]


def bicycle(kit: Kit) -> list[Part]:
    """A bicycle with its rider."""
    colour = kit.colour(rgb(206, 64, 54))
    skin, shirt = rgb(216, 164, 128), rgb(64, 118, 170)

    def frame(brush: Brush) -> None:
        for points in (
            [(-0.36, -0.22), (-0.14, -0.5), (0.24, -0.48), (-0.02, -0.22), (-0.14, -0.5)],
            [(-0.36, -0.22), (-0.02, -0.22)],
            [(0.38, -0.22), (0.24, -0.56), (0.32, -0.6)],
            [(-0.14, -0.5), (-0.17, -0.56)],
        ):
            brush.line(points, 0.03, colour, smooth=False, round_=0.2)
        brush.box(-0.25, -0.585, -0.1, -0.555, TYRE, corner=0.015)
        brush.line([(-0.16, -0.6), (-0.08, -0.8), (0.04, -0.86)], 0.13, shirt, taper=0.9)
        brush.line([(0.02, -0.82), (0.16, -0.7), (0.3, -0.61)], 0.045, shirt)
        brush.oval(0.085, -0.95, 0.06, 0.068, skin)
        brush.shape([(0.0, -0.95), (0.03, -1.03), (0.12, -1.03), (0.16, -0.97)], rgb(240, 196, 70), smooth=True)

    def leg(brush: Brush) -> None:
        brush.line([(0, 0), (0.16, 0.16), (0.08, 0.4)], 0.07, rgb(56, 62, 92), taper=0.7)
        brush.oval(0.11, 0.41, 0.05, 0.025, TYRE)

    sprite = kit.paint(-0.08, -0.06, 0.24, 0.46, leg)
    turn = 0.0 if kit.still else 13.0
    return [
        Part(sprite, (-0.14, -0.58), swing=turn, beat=0.9, phase=0.5), wheel(kit, -0.36, -0.22, 0.22, spokes=4, colour=TYRE), wheel(kit, 0.38, -0.22, 0.22, spokes=4, colour=TYRE),
        Part(kit.paint(-0.6, -1.06, 0.62, 0.0, frame)), Part(sprite, (-0.15, -0.58), swing=turn, beat=0.9),
    ]  # fmt: skip


def motorcycle(kit: Kit) -> list[Part]:
    """A motorcycle with a helmeted rider."""
    colour = kit.colour(rgb(52, 92, 160))

    def ink(brush: Brush) -> None:
        brush.line([(-0.46, -0.24), (0.0, -0.3), (0.4, -0.58)], 0.1, rgb(70, 72, 80), smooth=False)
        brush.line([(0.5, -0.24), (0.36, -0.62), (0.28, -0.68)], 0.05, rgb(150, 154, 160), smooth=False)
        brush.shape(
            [(-0.5, -0.46), (-0.2, -0.48), (0.04, -0.6), (0.34, -0.56), (0.22, -0.36), (-0.3, -0.38)],
            colour,
            smooth=True,
            round_=0.8,
        )
        brush.line([(-0.14, -0.52), (-0.08, -0.74), (0.02, -0.8)], 0.18, rgb(54, 54, 64), taper=0.9)
        brush.line([(0.0, -0.76), (0.16, -0.66), (0.3, -0.68)], 0.06, rgb(54, 54, 64))
        brush.line([(-0.12, -0.5), (0.1, -0.4), (0.04, -0.2)], 0.09, rgb(60, 66, 96))
        brush.oval(0.07, -0.91, 0.1, 0.1, colour, round_=0.9)
        brush.oval(0.12, -0.9, 0.055, 0.04, rgb(30, 34, 44))
        _lamps(kit, brush, (0.4, -0.56), (-0.52, -0.46))

    return [
        wheel(kit, -0.46, -0.22, 0.22),
        wheel(kit, 0.5, -0.22, 0.22),
        Part(kit.paint(-0.85, -1.05, 1.05, -0.02, ink), bob=0.006, beat=2.0),
    ]
