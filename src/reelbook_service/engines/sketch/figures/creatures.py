"""Further creatures: penguins, chickens, frogs, snails, dinosaurs, dragons."""

from __future__ import annotations

from ..palette import mixed, rgb, scaled
from ..puppet import Part
from ..soft_brush import Brush
from .kit import Kit, flame

DARK, WHITE, BEAK = rgb(36, 36, 44), rgb(246, 244, 238), rgb(242, 158, 52)


def penguin(kit: Kit) -> list[Part]:
    """A penguin that waddles."""
    colour = kit.colour(rgb(44, 48, 62))

    def ink(brush: Brush) -> None:
        brush.oval(-0.12, -0.03, 0.13, 0.04, BEAK)
        brush.oval(0.12, -0.03, 0.13, 0.04, BEAK)
        brush.shape(
            [
                (0, -1.0),
                (0.17, -0.9),
                (0.19, -0.72),
                (0.31, -0.42),
                (0.24, -0.08),
                (0, -0.03),
                (-0.24, -0.08),
                (-0.31, -0.42),
                (-0.19, -0.72),
                (-0.17, -0.9),
            ],
            colour,
            smooth=True,
            round_=0.7,
        )
        brush.shape(
            [(0.04, -0.72), (0.19, -0.44), (0.17, -0.12), (0.02, -0.07), (-0.13, -0.12), (-0.13, -0.44)],
            WHITE,
            smooth=True,
            round_=0.5,
        )
        brush.oval(0.07, -0.83, 0.1, 0.08, WHITE)
        brush.shape([(0.14, -0.88), (0.32, -0.82), (0.14, -0.79)], BEAK)
        brush.oval(0.09, -0.87, 0.025, 0.03, DARK, round_=0)

    def wing(brush: Brush) -> None:
        brush.shape(
            [(-0.04, 0), (0.06, 0.02), (0.05, 0.3), (-0.03, 0.42), (-0.1, 0.26)], scaled(colour, 0.85), smooth=True
        )

    sway = 0.0 if kit.still else 5.0
    flipper = kit.paint(-0.14, -0.05, 0.12, 0.46, wing)
    phase = kit.chance(0, 1)
    return [
        Part(kit.paint(-0.34, -1.04, 0.36, 0.03, ink), swing=sway, beat=1.1, phase=phase),
        Part(flipper, (-0.24, -0.62), swing=14, beat=1.1, phase=phase),
    ]


def chicken(kit: Kit) -> list[Part]:
    """A hen that pecks."""
    colour = kit.colour(rgb(236, 220, 196))

    def body(brush: Brush) -> None:
        for x in (-0.06, 0.1):
            brush.line([(x, -0.24), (x + 0.01, -0.02)], 0.03, BEAK, smooth=False)
            brush.line([(x - 0.03, -0.015), (x + 0.08, -0.015)], 0.025, BEAK, smooth=False)
        brush.shape(
            [
                (-0.55, -0.86),
                (-0.4, -0.62),
                (-0.1, -0.56),
                (0.26, -0.62),
                (0.36, -0.4),
                (0.2, -0.2),
                (-0.1, -0.18),
                (-0.38, -0.36),
                (-0.56, -0.62),
            ],
            colour,
            smooth=True,
            round_=0.8,
        )
        brush.shape([(-0.24, -0.5), (0.1, -0.5), (0.04, -0.34), (-0.18, -0.32)], scaled(colour, 0.86), smooth=True)

    def head(brush: Brush) -> None:
        for x, y in ((-0.05, -0.14), (0.0, -0.17), (0.06, -0.14)):
            brush.oval(x, y, 0.045, 0.06, rgb(214, 48, 44))
        brush.line([(-0.04, 0.24), (0.0, 0.0)], 0.22, colour, taper=0.7, smooth=False)
        brush.oval(0, -0.02, 0.1, 0.1, colour)
        brush.shape([(0.08, -0.05), (0.2, 0.0), (0.08, 0.03)], BEAK)
        brush.oval(0.09, 0.07, 0.035, 0.055, rgb(214, 48, 44))
        brush.oval(0.035, -0.04, 0.018, 0.02, DARK, round_=0)

    return [
        Part(kit.paint(-0.6, -0.92, 0.42, 0.02, body)),
        Part(kit.paint(-0.2, -0.28, 0.25, 0.3, head), (0.28, -0.8), swing=9, beat=0.8, phase=kit.chance(0, 1)),
    ]


def frog(kit: Kit) -> list[Part]:
    """A sitting frog."""
    colour = kit.colour(rgb(96, 164, 72))

    def ink(brush: Brush) -> None:
        brush.shape(
            [(-0.6, -0.02), (-0.62, -0.3), (-0.4, -0.46), (-0.16, -0.3), (-0.1, -0.02)],
            scaled(colour, 0.85),
            smooth=True,
        )
        brush.shape(
            [(-0.5, -0.1), (-0.3, -0.6), (0.1, -0.84), (0.46, -0.74), (0.54, -0.5), (0.36, -0.16), (0, -0.02)],
            colour,
            smooth=True,
            round_=0.8,
        )
        brush.shape(
            [(0.5, -0.5), (0.34, -0.18), (0.06, -0.06), (0.16, -0.4)],
            mixed(colour, rgb(240, 236, 190), 0.7),
            smooth=True,
        )
        brush.line([(0.24, -0.3), (0.3, -0.05), (0.46, -0.02)], 0.1, scaled(colour, 0.9), taper=0.7)
        brush.oval(0.26, -0.86, 0.13, 0.13, colour)
        brush.oval(0.29, -0.88, 0.085, 0.085, rgb(240, 226, 130), round_=0)
        brush.oval(0.31, -0.88, 0.045, 0.05, DARK, round_=0)
        brush.line([(0.52, -0.56), (0.34, -0.5), (0.18, -0.54)], 0.02, scaled(colour, 0.5), round_=0)

    return [Part(kit.paint(-0.7, -1.05, 0.62, 0.04, ink), bob=0.01, beat=0.8, phase=kit.chance(0, 1))]


def snail(kit: Kit) -> list[Part]:
    """A snail with a striped shell."""
    colour = kit.colour(rgb(186, 118, 72))

    def ink(brush: Brush) -> None:
        skin = rgb(206, 184, 142)
        brush.shape(
            [
                (-0.8, -0.02),
                (-0.5, -0.14),
                (0.3, -0.16),
                (0.52, -0.4),
                (0.72, -0.46),
                (0.8, -0.32),
                (0.66, -0.1),
                (0.4, -0.01),
            ],
            skin,
            smooth=True,
        )
        for x in (0.66, 0.76):
            brush.line([(x, -0.42), (x + 0.05, -0.72)], 0.03, skin, smooth=False)
            brush.oval(x + 0.05, -0.74, 0.035, 0.035, DARK)
        for index, radius in enumerate((0.44, 0.32, 0.21, 0.1)):
            brush.oval(
                -0.08 - index * 0.03,
                -0.5 + index * 0.02,
                radius,
                radius,
                mixed(colour, (1, 0.93, 0.8), 0.25 * (index % 2)),
                round_=0.5,
            )

    return [Part(kit.paint(-0.85, -1.0, 0.88, 0.03, ink), bob=0.006)]


def dinosaur(kit: Kit) -> list[Part]:
    """A long-necked dinosaur."""
    colour = kit.colour(rgb(112, 146, 96))

    def body(brush: Brush) -> None:
        brush.line([(-0.3, -0.42), (-0.7, -0.34), (-1.0, -0.14), (-1.2, -0.12)], 0.3, colour, taper=0.1)
        brush.line([(0.28, -0.48), (0.5, -0.62), (0.6, -0.82), (0.66, -0.93)], 0.26, colour, taper=0.45)
        brush.shape(
            [
                (-0.52, -0.4),
                (-0.3, -0.6),
                (0.05, -0.64),
                (0.4, -0.56),
                (0.46, -0.36),
                (0.2, -0.2),
                (-0.2, -0.18),
                (-0.46, -0.26),
            ],
            colour,
            smooth=True,
            round_=0.9,
        )
        brush.oval(0.0, -0.26, 0.34, 0.09, mixed(colour, rgb(236, 226, 180), 0.5), alpha=0.8)
        for x, y in ((-0.3, -0.5), (-0.1, -0.55), (0.12, -0.52), (-0.5, -0.38), (0.3, -0.47)):
            brush.oval(x, y, 0.05, 0.035, scaled(colour, 0.78))
        brush.shape([(0.58, -0.98), (0.72, -1.02), (0.9, -0.93), (0.88, -0.86), (0.62, -0.86)], colour, smooth=True)
        brush.oval(0.71, -0.955, 0.018, 0.02, DARK, round_=0)
        brush.line([(0.88, -0.885), (0.76, -0.885)], 0.012, scaled(colour, 0.5), smooth=False, round_=0)

    def leg(brush: Brush) -> None:
        brush.line([(0, 0), (0.01, 0.26)], 0.15, colour, taper=0.8, smooth=False)
        brush.oval(0.02, 0.27, 0.09, 0.035, scaled(colour, 0.75))

    sprite = kit.paint(-0.12, -0.1, 0.15, 0.31, leg)
    swing = 0.0 if kit.still else 11.0
    legs = [
        Part(sprite, (x, -0.30), swing=swing, beat=0.5, phase=phase)
        for x, phase in ((-0.2, 0.5), (0.26, 0.0), (-0.32, 0.0), (0.14, 0.5))
    ]
    return [*legs[:2], Part(kit.paint(-1.25, -1.08, 0.95, -0.1, body), bob=0.008, beat=0.5), *legs[2:]]


def dragon(kit: Kit) -> list[Part]:
    """A dragon on the wing, breathing fire."""
    colour = kit.colour(rgb(176, 56, 52))

    def body(brush: Brush) -> None:
        brush.line([(-0.2, 0.0), (-0.6, 0.1), (-0.9, -0.04), (-1.2, 0.06)], 0.2, colour, taper=0.15)
        brush.shape([(-1.15, 0.06), (-1.36, -0.04), (-1.3, 0.16)], scaled(colour, 0.8))
        brush.shape(
            [(-0.3, -0.06), (0, -0.16), (0.34, -0.12), (0.4, 0.04), (0.1, 0.14), (-0.2, 0.1)],
            colour,
            smooth=True,
            round_=0.8,
        )
        brush.line([(0.3, -0.04), (0.54, -0.16), (0.7, -0.3)], 0.2, colour, taper=0.6)
        brush.shape([(0.62, -0.4), (0.76, -0.46), (1.0, -0.34), (0.98, -0.26), (0.68, -0.22)], colour, smooth=True)
        brush.shape([(0.66, -0.4), (0.5, -0.56), (0.74, -0.44)], mixed(colour, (0.96, 0.9, 0.7), 0.7))
        brush.oval(0.78, -0.37, 0.022, 0.022, rgb(250, 220, 90), round_=0, glow=True)
        for x, y in ((-0.5, 0.0), (-0.24, -0.1), (0.0, -0.18), (0.24, -0.17), (0.44, -0.2)):
            brush.shape([(x - 0.05, y + 0.05), (x, y - 0.08), (x + 0.06, y + 0.03)], scaled(colour, 0.7))

    def wing(brush: Brush) -> None:
        skin = mixed(colour, rgb(60, 20, 40), 0.35)
        brush.shape(
            [
                (0.2, 0),
                (0.1, -0.5),
                (-0.1, -1.0),
                (-0.3, -0.66),
                (-0.5, -0.72),
                (-0.48, -0.4),
                (-0.66, -0.3),
                (-0.4, 0.0),
            ],
            skin,
        )
        for tip in ((-0.1, -1.0), (-0.5, -0.72), (-0.66, -0.3)):
            brush.line([(0.16, -0.05), tip], 0.035, colour, taper=0.4, smooth=False)

    near = kit.paint(-0.72, -1.05, 0.26, 0.06, wing)
    fire = flame(kit, 0, 0, 0.34)
    breath = [
        Part(part.sprite, (1.06 + 0.05 * i, -0.28), swing=part.swing, beat=part.beat, phase=part.phase, spin=0)
        for i, part in enumerate(fire[:1])
    ]
    return [
        Part(near, (0.2, -0.1), fold=1.5, beat=0.9, phase=0.02, swing=6),
        Part(kit.paint(-1.4, -0.62, 1.05, 0.22, body), bob=-0.05, beat=0.9),
        *breath,
        Part(near, (0.06, -0.08), fold=1.6, beat=0.9, bob=-0.05),
    ]
