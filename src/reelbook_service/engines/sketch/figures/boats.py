"""Figures of boats and ships."""

from __future__ import annotations

from ..palette import mixed, rgb, scaled
from ..puppet import Part
from ..soft_brush import Brush
from .kit import Kit, smoke

WOOD = rgb(134, 90, 58)


def boat(kit: Kit) -> list[Part]:
    """A small sailing boat with a mainsail and a jib."""
    colour = kit.colour(rgb(196, 74, 58))
    sail = kit.colour(rgb(248, 244, 232), 1)

    def ink(brush: Brush) -> None:
        brush.line([(0.02, -0.14), (0.02, -1.0)], 0.022, rgb(120, 86, 60), smooth=False)
        brush.shape([(0.045, -0.95), (0.2, -0.74), (0.36, -0.42), (0.44, -0.2), (0.045, -0.2)], sail, round_=0.3)
        brush.shape(
            [(0.0, -0.88), (-0.12, -0.6), (-0.3, -0.32), (-0.38, -0.21), (0.0, -0.23)],
            mixed(sail, colour, 0.14),
            round_=0.7,
        )
        for y in (-0.42, -0.62):
            brush.line(
                [(0.05, y), (0.36 + (y + 0.42) * 0.9, y)],
                0.008,
                mixed(sail, rgb(150, 140, 130), 0.3),
                smooth=False,
                round_=0,
            )
        brush.shape(
            [(-0.46, -0.16), (0.5, -0.16), (0.42, -0.04), (0.3, 0.03), (-0.3, 0.03), (-0.42, -0.04)], colour, round_=0.5
        )
        brush.shape(
            [(-0.47, -0.175), (0.51, -0.175), (0.5, -0.135), (-0.46, -0.135)], mixed(colour, (1, 1, 1), 0.6), round_=0
        )
        brush.shape([(0.02, -1.0), (0.02, -0.93), (0.15, -0.965)], scaled(colour, 1.1), round_=0)

    return [Part(kit.paint(-0.52, -1.05, 0.56, 0.06, ink), swing=2.6, beat=0.28, phase=kit.chance(0, 1), bob=0.012)]


def paper_boat(kit: Kit) -> list[Part]:
    """A boat folded from a sheet of paper."""
    colour = kit.colour(rgb(250, 248, 240))

    def ink(brush: Brush) -> None:
        brush.shape([(0, -0.86), (0.36, -0.22), (-0.36, -0.22)], scaled(colour, 0.94), round_=0.2)
        brush.shape([(0, -0.86), (0.36, -0.22), (0.0, -0.22)], scaled(colour, 0.82), round_=0.2)
        brush.shape([(-0.86, -0.52), (0, -0.3), (0.86, -0.52), (0.52, 0.04), (-0.52, 0.04)], colour, round_=0.4)
        brush.shape([(0.0, -0.3), (0.86, -0.52), (0.52, 0.04), (0.12, 0.04)], scaled(colour, 0.87), round_=0.2)
        brush.shape([(-0.86, -0.52), (-0.34, -0.4), (-0.3, 0.04), (-0.52, 0.04)], scaled(colour, 0.96), round_=0.1)

    return [Part(kit.paint(-0.9, -0.9, 0.9, 0.07, ink), swing=4.5, beat=0.42, phase=kit.chance(0, 1), bob=0.02)]


def rowing_boat(kit: Kit) -> list[Part]:
    """A wooden boat with an oar and a rower."""
    colour = kit.colour(WOOD)

    def ink(brush: Brush) -> None:
        brush.line([(0, -0.3), (0.0, -0.56)], 0.22, rgb(70, 112, 160), smooth=False, taper=0.8)
        brush.oval(0.0, -0.78, 0.11, 0.12, rgb(222, 172, 136))
        brush.oval(-0.01, -0.87, 0.16, 0.04, rgb(220, 190, 120))
        brush.oval(-0.01, -0.9, 0.09, 0.06, rgb(220, 190, 120))
        brush.shape(
            [
                (-0.95, -0.4),
                (-0.5, -0.26),
                (0.5, -0.26),
                (0.95, -0.4),
                (0.74, -0.06),
                (0.5, 0.05),
                (-0.5, 0.05),
                (-0.74, -0.06),
            ],
            colour,
            round_=0.5,
        )
        brush.line(
            [(-0.94, -0.38), (-0.4, -0.25), (0.4, -0.25), (0.94, -0.38)],
            0.05,
            mixed(colour, (1, 1, 1), 0.35),
            round_=0.2,
        )

    def oar(brush: Brush) -> None:
        brush.line([(0.0, 0), (-0.56, 0.38)], 0.035, rgb(196, 160, 110), smooth=False)
        brush.oval(-0.6, 0.41, 0.12, 0.045, rgb(196, 160, 110), turn=-34)

    return [
        Part(kit.paint(-1.0, -1.0, 1.0, 0.08, ink), swing=2, beat=0.3, bob=0.01),
        Part(kit.paint(-0.76, -0.06, 0.06, 0.5, oar), (0.02, -0.42), swing=15, beat=0.45),
    ]


def ship(kit: Kit) -> list[Part]:
    """A steamer with two funnels."""
    colour = kit.colour(rgb(52, 62, 84))

    def ink(brush: Brush) -> None:
        for x in (-0.26, 0.1):
            brush.shape(
                [(x - 0.07, -0.95), (x + 0.07, -0.95), (x + 0.08, -0.56), (x - 0.06, -0.56)],
                rgb(206, 74, 56),
                round_=0.8,
            )
            brush.box(x - 0.075, -1.0, x + 0.075, -0.9, rgb(40, 40, 48))
        brush.box(-0.6, -0.6, 0.46, -0.42, rgb(244, 242, 236), corner=0.02)
        brush.box(-0.76, -0.44, 0.66, -0.26, rgb(236, 232, 224), corner=0.02)
        lit = kit.light.dark
        for row, (left, count) in enumerate(((-0.52, 9), (-0.68, 12))):
            for index in range(count):
                brush.oval(
                    left + 0.108 * index,
                    -0.51 + 0.16 * row,
                    0.024,
                    0.024,
                    rgb(255, 226, 150) if lit else rgb(88, 120, 150),
                    round_=0,
                    glow=lit,
                )
        brush.shape(
            [(-1.1, -0.3), (1.2, -0.34), (1.0, -0.02), (0.9, 0.05), (-0.94, 0.05), (-1.06, -0.08)], colour, round_=0.4
        )
        brush.shape([(-1.04, -0.06), (0.97, -0.04), (0.9, 0.05), (-0.94, 0.05)], rgb(176, 60, 50), round_=0)
        brush.line([(0.72, -0.32), (0.72, -0.7)], 0.02, rgb(90, 80, 76), smooth=False)

    puffs = [
        part
        for x in (-0.26, 0.1)
        for part in smoke(kit, x, -1.0, rgb(150, 150, 156), size=0.08, rise=0.4, lean=-0.5, count=4, life=3.4)
    ]
    return [*puffs, Part(kit.paint(-1.15, -1.04, 1.25, 0.08, ink), swing=0.8, beat=0.2, bob=0.006)]


def submarine(kit: Kit) -> list[Part]:
    """A small submarine with portholes."""
    colour = kit.colour(rgb(240, 190, 64))

    def ink(brush: Brush) -> None:
        brush.line([(0.06, -0.6), (0.06, -0.9), (0.2, -0.9)], 0.05, scaled(colour, 0.7), smooth=False)
        brush.box(-0.18, -0.66, 0.26, -0.3, colour, corner=0.08)
        brush.oval(0, -0.1, 0.9, 0.36, colour, round_=0.9)
        brush.shape([(-0.8, -0.2), (-1.06, -0.42), (-1.0, 0.24), (-0.8, 0.02)], scaled(colour, 0.8))
        for x in (-0.3, 0.08, 0.46):
            brush.oval(x, -0.12, 0.125, 0.125, scaled(colour, 0.7))
            brush.oval(x, -0.12, 0.09, 0.09, rgb(170, 232, 244), glow=True)

    return [Part(kit.paint(-1.1, -0.96, 0.94, 0.3, ink), swing=2, beat=0.2, bob=0.02)]
