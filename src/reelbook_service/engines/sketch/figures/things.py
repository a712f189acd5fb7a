"""Figures of small things: on the table, in the snow, on the lawn."""

from __future__ import annotations

import numpy as np

from ..palette import mixed, rgb, scaled
from ..puppet import Part
from ..soft_brush import Brush
from .kit import Kit, flame, smoke

COAL = rgb(44, 42, 46)


def candle(kit: Kit) -> list[Part]:
    """A burning candle in a holder."""
    colour = kit.colour(rgb(246, 236, 214))

    def ink(brush: Brush) -> None:
        brush.oval(0, -0.03, 0.28, 0.055, rgb(186, 146, 82))
        brush.shape([(-0.13, -0.62), (0.13, -0.62), (0.13, -0.06), (-0.13, -0.06)], colour, round_=0.8)
        brush.oval(0, -0.62, 0.13, 0.035, mixed(colour, rgb(255, 220, 150), 0.6), glow=True)
        brush.line([(-0.12, -0.6), (-0.11, -0.46)], 0.045, colour, smooth=False)
        brush.line([(0, -0.62), (0.005, -0.68)], 0.014, COAL, smooth=False)

    return [
        *flame(kit, 0, -0.66, 0.34)[:1],
        Part(kit.paint(-0.3, -0.72, 0.3, 0.04, ink)),
        *flame(kit, 0, -0.66, 0.34)[1:],
    ]


def cup(kit: Kit) -> list[Part]:
    """A steaming cup on a saucer."""
    colour = kit.colour(rgb(92, 150, 180))

    def ink(brush: Brush) -> None:
        brush.oval(0, -0.05, 0.66, 0.09, mixed(colour, (1, 1, 1), 0.55))
        ring = [(0.42 + 0.2 * float(np.cos(a)), -0.42 + 0.17 * float(np.sin(a))) for a in np.linspace(-1.7, 1.7, 20)]
        brush.line(ring, 0.075, colour, smooth=False)
        brush.shape(
            [(-0.46, -0.72), (0.46, -0.72), (0.42, -0.34), (0.26, -0.08), (-0.26, -0.08), (-0.42, -0.34)],
            colour,
            round_=0.8,
        )
        brush.oval(0, -0.72, 0.46, 0.085, mixed(colour, (1, 1, 1), 0.5))
        brush.oval(0, -0.71, 0.4, 0.062, rgb(112, 68, 40))

    steam = smoke(kit, 0, -0.8, rgb(250, 250, 250), size=0.08, rise=0.6, lean=0.1, count=6, life=2.6)
    return [Part(kit.paint(-0.7, -0.84, 0.72, 0.06, ink)), *steam]


def book(kit: Kit) -> list[Part]:
    """An open book whose page turns."""
    colour = kit.colour(rgb(158, 62, 58))

    def ink(brush: Brush) -> None:
        brush.shape([(-0.92, -0.12), (0, -0.02), (0.92, -0.12), (0.88, 0.0), (0, 0.06), (-0.88, 0.0)], colour)
        for side in (-1, 1):
            brush.shape(
                [
                    (0, -0.06),
                    (side * 0.3, -0.3),
                    (side * 0.86, -0.38),
                    (side * 0.86, -0.1),
                    (side * 0.3, -0.08),
                    (0, 0.02),
                ],
                rgb(250, 246, 234),
                smooth=False,
                round_=0.4,
            )
            for index in range(4):
                y = -0.3 + 0.05 * index
                brush.line(
                    [(side * 0.2, y + 0.06), (side * 0.5, y), (side * 0.78, y - 0.02)],
                    0.012,
                    rgb(170, 164, 156),
                    round_=0,
                )

    def page(brush: Brush) -> None:
        brush.shape([(0, 0), (0.3, -0.26), (0.8, -0.36), (0.8, -0.1), (0.3, -0.04)], rgb(255, 252, 242), round_=0.5)

    return [
        Part(kit.paint(-0.96, -0.44, 0.96, 0.1, ink)),
        Part(kit.paint(0, -0.4, 0.84, 0.04, page), (0, -0.04), narrow=2.0, beat=0.22),
    ]


def cake(kit: Kit) -> list[Part]:
    """A birthday cake with candles."""
    colour = kit.colour(rgb(240, 166, 184))

    def ink(brush: Brush) -> None:
        brush.oval(0, -0.03, 0.78, 0.08, rgb(226, 226, 230))
        brush.shape([(-0.62, -0.42), (0.62, -0.42), (0.62, -0.06), (-0.62, -0.06)], rgb(150, 98, 66), round_=0.6)
        brush.shape(
            [
                (-0.62, -0.44),
                (0.62, -0.44),
                (0.62, -0.3),
                (0.48, -0.22),
                (0.36, -0.3),
                (0.2, -0.2),
                (0.04, -0.3),
                (-0.14, -0.22),
                (-0.3, -0.3),
                (-0.46, -0.2),
                (-0.62, -0.3),
            ],
            colour,
            round_=0.5,
        )
        brush.oval(0, -0.43, 0.62, 0.09, mixed(colour, (1, 1, 1), 0.4))
        for index in range(5):
            x = -0.4 + 0.2 * index
            brush.line([(x, -0.44), (x, -0.68)], 0.04, (rgb(90, 160, 210), rgb(250, 206, 90))[index % 2], smooth=False)

    flames = [part for index in range(5) for part in flame(kit, -0.4 + 0.2 * index, -0.68, 0.13)[1:]]
    return [Part(kit.paint(-0.82, -0.72, 0.82, 0.08, ink)), *flames]


def apple(kit: Kit) -> list[Part]:
    """A shining apple with a leaf."""
    colour = kit.colour(rgb(206, 50, 46))

    def ink(brush: Brush) -> None:
        brush.shape(
            [
                (0, -0.76),
                (0.26, -0.86),
                (0.46, -0.66),
                (0.4, -0.28),
                (0.18, 0.0),
                (0, -0.05),
                (-0.18, 0.0),
                (-0.4, -0.28),
                (-0.46, -0.66),
                (-0.26, -0.86),
            ],
            colour,
            smooth=True,
            round_=0.9,
        )
        brush.line([(0, -0.74), (0.06, -0.98)], 0.04, rgb(96, 66, 46), smooth=False)
        brush.shape([(0.05, -0.88), (0.2, -1.0), (0.36, -0.94), (0.2, -0.84)], rgb(96, 156, 70), smooth=True)
        side = 1 if kit.light.across > 0.5 else -1
        brush.oval(side * 0.2, -0.62, 0.06, 0.1, (1, 1, 1), turn=side * 20, round_=0, alpha=0.55)

    return [Part(kit.paint(-0.52, -1.04, 0.52, 0.04, ink))]


def vase(kit: Kit) -> list[Part]:
    """A vase with a bunch of flowers."""
    colour = kit.colour(rgb(72, 128, 168))
    heads = (rgb(226, 84, 88), rgb(246, 196, 84), rgb(240, 156, 188), rgb(250, 246, 238), rgb(160, 112, 196))

    def pot(brush: Brush) -> None:
        brush.shape(
            [
                (-0.13, -0.5),
                (0.13, -0.5),
                (0.11, -0.4),
                (0.22, -0.22),
                (0.16, 0.0),
                (-0.16, 0.0),
                (-0.22, -0.22),
                (-0.11, -0.4),
            ],
            colour,
            smooth=True,
            round_=0.9,
        )

    def bunch(brush: Brush) -> None:
        for index, (x, y) in enumerate(((-0.26, -0.3), (0.26, -0.32), (-0.12, -0.44), (0.13, -0.46), (0.0, -0.3))):
            brush.line([(0, 0.06), (x * 0.5, y * 0.5), (x, y)], 0.018, rgb(92, 142, 74))
            for petal in range(6):
                angle = petal * np.pi / 3
                brush.oval(
                    x + 0.065 * float(np.cos(angle)),
                    y + 0.065 * float(np.sin(angle)),
                    0.055,
                    0.04,
                    heads[index],
                    turn=float(np.degrees(angle)),
                    round_=0.4,
                )
            brush.oval(x, y, 0.036, 0.036, rgb(240, 190, 80))

    return [
        Part(kit.paint(-0.45, -0.62, 0.45, 0.1, bunch), (0, -0.48), swing=2, beat=0.25),
        Part(kit.paint(-0.28, -0.56, 0.28, 0.04, pot)),
    ]


def clock(kit: Kit) -> list[Part]:
    """An alarm clock whose hands turn."""
    colour = kit.colour(rgb(206, 78, 68))

    def ink(brush: Brush) -> None:
        for side in (-1, 1):
            brush.line([(side * 0.26, -0.1), (side * 0.34, 0.0)], 0.06, scaled(colour, 0.7), smooth=False)
            brush.oval(side * 0.26, -0.88, 0.16, 0.11, scaled(colour, 0.85), turn=side * 35, round_=0.8)
        brush.oval(0, -0.46, 0.44, 0.44, colour, round_=0.7)
        brush.oval(0, -0.46, 0.36, 0.36, rgb(250, 246, 236), round_=0.3)
        for index in range(12):
            angle = index * np.pi / 6
            brush.oval(0.3 * float(np.cos(angle)), -0.46 + 0.3 * float(np.sin(angle)), 0.02, 0.02, COAL, round_=0)

    def hand(length: float, width: float) -> Part:
        def draw(brush: Brush) -> None:
            brush.line([(0, 0.04), (0, -length)], width, COAL, taper=0.6, smooth=False)

        return Part(kit.paint(-0.06, -0.4, 0.06, 0.08, draw), (0, -0.46), spin=40 if length > 0.2 else 3.4)

    return [Part(kit.paint(-0.5, -1.04, 0.5, 0.04, ink)), hand(0.18, 0.035), hand(0.28, 0.024)]


def teapot(kit: Kit) -> list[Part]:
    """A teapot with steam from its spout."""
    colour = kit.colour(rgb(206, 120, 92))

    def ink(brush: Brush) -> None:
        ring = [(-0.52 + 0.24 * float(np.cos(a)), -0.42 + 0.24 * float(np.sin(a))) for a in np.linspace(1.4, 4.9, 24)]
        brush.line(ring, 0.075, colour, smooth=False)
        brush.line([(0.36, -0.3), (0.6, -0.44), (0.74, -0.72)], 0.17, colour, taper=0.5)
        brush.shape(
            [
                (-0.3, -0.78),
                (0.3, -0.78),
                (0.54, -0.46),
                (0.44, -0.1),
                (0.2, 0.0),
                (-0.2, 0.0),
                (-0.44, -0.1),
                (-0.54, -0.46),
            ],
            colour,
            smooth=True,
            round_=0.9,
        )
        brush.oval(0, -0.78, 0.3, 0.08, scaled(colour, 0.85), round_=0.6)
        brush.oval(0, -0.9, 0.065, 0.065, scaled(colour, 0.85), round_=0.8)

    return [
        Part(kit.paint(-0.84, -1.0, 0.84, 0.04, ink)),
        *smoke(kit, 0.78, -0.78, rgb(250, 250, 250), size=0.06, rise=0.45, lean=0.2, count=5, life=2.2),
    ]


def guitar(kit: Kit) -> list[Part]:
    """A guitar that leans on the wall."""
    colour = kit.colour(rgb(198, 128, 66))

    def ink(brush: Brush) -> None:
        brush.line([(0, -0.44), (0, -0.92)], 0.06, rgb(84, 56, 42), smooth=False)
        brush.box(-0.05, -1.02, 0.05, -0.88, rgb(70, 46, 36), corner=0.02)
        brush.shape(
            [
                (-0.1, -0.54),
                (0.1, -0.54),
                (0.17, -0.42),
                (0.12, -0.32),
                (0.24, -0.14),
                (0.14, 0.0),
                (-0.14, 0.0),
                (-0.24, -0.14),
                (-0.12, -0.32),
                (-0.17, -0.42),
            ],
            colour,
            smooth=True,
            round_=0.7,
        )
        brush.oval(0, -0.3, 0.065, 0.065, rgb(60, 40, 34), round_=0.2)
        brush.box(-0.07, -0.13, 0.07, -0.1, rgb(60, 40, 34))
        for x in (-0.015, 0.0, 0.015):
            brush.line([(x, -0.96), (x, -0.12)], 0.004, rgb(236, 230, 214), smooth=False, round_=0)

    return [Part(kit.paint(-0.28, -1.05, 0.28, 0.03, ink), swing=1.5, beat=0.4)]


def gift(kit: Kit) -> list[Part]:
    """A wrapped present."""
    colour = kit.colour(rgb(86, 140, 186))
    ribbon = kit.colour(rgb(232, 86, 80), 1)

    def ink(brush: Brush) -> None:
        brush.box(-0.46, -0.66, 0.46, 0.0, colour, corner=0.03, round_=0.4)
        brush.box(-0.52, -0.78, 0.52, -0.6, mixed(colour, (1, 1, 1), 0.14), corner=0.03, round_=0.4)
        brush.box(-0.08, -0.78, 0.08, 0.0, ribbon, round_=0.3)
        for side in (-1, 1):
            brush.shape(
                [(0, -0.78), (side * 0.12, -0.98), (side * 0.3, -0.98), (side * 0.26, -0.82)],
                ribbon,
                smooth=True,
                round_=0.6,
            )

    return [Part(kit.paint(-0.56, -1.04, 0.56, 0.03, ink), swing=1.5, beat=0.6)]


def ball(kit: Kit) -> list[Part]:
    """A ball in gores that rolls."""
    colour = kit.colour(rgb(222, 70, 62))
    other = kit.colour(rgb(248, 244, 234), 1)

    def ink(brush: Brush) -> None:
        brush.oval(0, 0, 0.5, 0.5, other, round_=0.0, shade=0)
        for index in range(3):
            angles = np.linspace(index * 2 * np.pi / 3, index * 2 * np.pi / 3 + np.pi / 3, 12)
            brush.shape(
                [(0, 0), *((0.5 * float(np.cos(a)), 0.5 * float(np.sin(a))) for a in angles)], colour, round_=0, shade=0
            )
        brush.oval(0, 0, 0.1, 0.1, scaled(other, 0.92), round_=0)

    def shine(brush: Brush) -> None:
        side = 1 if kit.light.across > 0.5 else -1
        brush.oval(side * 0.17, -0.2, 0.13, 0.1, (1, 1, 1), turn=side * 30, round_=0, alpha=0.4)
        brush.shape(
            [(-0.5, 0), (-0.36, 0.36), (0, 0.5), (0.36, 0.36), (0.5, 0), (0.3, 0.24), (0, 0.34), (-0.3, 0.24)],
            (0.05, 0.05, 0.15),
            smooth=True,
            round_=0,
            alpha=0.22,
        )

    return [
        Part(kit.paint(-0.52, -0.52, 0.52, 0.52, ink), (0, -0.5), spin=0 if kit.still else 150),
        Part(kit.paint(-0.52, -0.52, 0.52, 0.52, shine), (0, -0.5)),
    ]


def snowman(kit: Kit) -> list[Part]:
    """A snowman with hat, scarf and carrot."""
    white, scarf = rgb(248, 250, 252), kit.colour(rgb(206, 56, 52))

    def ink(brush: Brush) -> None:
        for side in (-1, 1):
            brush.line(
                [(side * 0.18, -0.5), (side * 0.36, -0.62), (side * 0.46, -0.6)], 0.022, rgb(96, 66, 46), taper=0.6
            )
            brush.line([(side * 0.36, -0.62), (side * 0.42, -0.7)], 0.016, rgb(96, 66, 46), smooth=False)
        brush.oval(0, -0.2, 0.27, 0.22, white, round_=0.9)
        brush.oval(0, -0.5, 0.21, 0.18, white, round_=0.9)
        brush.oval(0, -0.75, 0.155, 0.145, white, round_=0.9)
        for y in (-0.4, -0.48, -0.56):
            brush.oval(0.03, y, 0.02, 0.02, COAL)
        brush.box(-0.14, -0.66, 0.14, -0.6, scarf, corner=0.03, round_=0.5)
        brush.shape([(0.06, -0.63), (0.15, -0.63), (0.17, -0.42), (0.08, -0.43)], scaled(scarf, 0.85))
        brush.shape([(0.02, -0.77), (0.24, -0.73), (0.02, -0.71)], rgb(240, 132, 44))
        for x in (-0.045, 0.075):
            brush.oval(x, -0.8, 0.02, 0.022, COAL, round_=0)
        brush.box(-0.19, -0.9, 0.19, -0.865, COAL, corner=0.015)
        brush.box(-0.12, -1.05, 0.12, -0.88, COAL, corner=0.02, round_=0.6)
        brush.box(-0.12, -0.93, 0.12, -0.895, scarf, round_=0)

    return [Part(kit.paint(-0.5, -1.08, 0.5, 0.04, ink), swing=1.2, beat=0.3, phase=kit.chance(0, 1))]


def sandcastle(kit: Kit) -> list[Part]:
    """A castle of sand with a flag."""
    colour = kit.colour(rgb(222, 186, 128))

    def ink(brush: Brush) -> None:
        brush.box(-0.4, -0.36, 0.4, 0.0, colour, round_=0.4)
        for x, top, half in ((-0.5, -0.62, 0.15), (0.5, -0.62, 0.15), (0, -0.8, 0.17)):
            brush.box(x - half, top, x + half, 0.0, colour, round_=0.6)
            for index in range(3):
                left = x - half + index * half * 0.78
                brush.box(left, top - 0.07, left + half * 0.44, top + 0.01, colour, round_=0.2)
        brush.shape([(-0.09, 0.0), (-0.09, -0.16), (0, -0.25), (0.09, -0.16), (0.09, 0.0)], scaled(colour, 0.6))
        brush.line([(0, -0.84), (0, -1.08)], 0.016, rgb(110, 80, 60), smooth=False)
        brush.shape([(0, -1.08), (0.2, -1.02), (0, -0.96)], rgb(214, 62, 56))

    return [Part(kit.paint(-0.7, -1.12, 0.7, 0.03, ink))]


def bench(kit: Kit) -> list[Part]:
    """A park bench."""
    colour = kit.colour(rgb(150, 102, 64))

    def ink(brush: Brush) -> None:
        for x in (-0.78, 0.78):
            brush.line([(x, 0.0), (x, -0.5), (x, -0.98)], 0.06, rgb(62, 64, 72), smooth=False)
        for y in (-0.94, -0.76, -0.48):
            brush.box(-0.95, y, 0.95, y + 0.12, colour, corner=0.02, round_=0.4)

    return [Part(kit.paint(-1, -1.05, 1, 0.03, ink))]
