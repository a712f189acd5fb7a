"""Figures of animals in the water: fish, octopuses, turtles, whales, dolphins, swans and ducks."""

from __future__ import annotations

from ..palette import mixed, rgb, scaled
from ..puppet import Part
from ..soft_brush import Brush
from .kit import Kit, smoke

DARK, WHITE = rgb(30, 32, 40), rgb(248, 248, 244)
FISH = (rgb(244, 132, 44), rgb(250, 198, 64), rgb(66, 140, 208), rgb(226, 86, 84), rgb(150, 102, 190))


def fish(kit: Kit) -> list[Part]:
    """A bright fish with a waving tail."""
    colour = kit.colour(FISH[int(kit.rng.integers(len(FISH)))])
    stripe = mixed(colour, WHITE, 0.75)

    def body(brush: Brush) -> None:
        brush.shape([(-0.2, -0.26), (0.06, -0.5), (0.34, -0.3)], scaled(colour, 0.8), smooth=True)
        brush.shape([(-0.1, 0.22), (-0.06, 0.42), (0.16, 0.24)], scaled(colour, 0.8), smooth=True)
        brush.shape(
            [(-0.62, 0.0), (-0.4, -0.2), (0, -0.33), (0.42, -0.24), (0.66, 0.0), (0.42, 0.22), (0, 0.3), (-0.4, 0.18)],
            colour,
            smooth=True,
            round_=0.9,
        )
        for x, half in ((0.18, 0.3), (-0.2, 0.24)):
            brush.shape(
                [
                    (x - 0.06, -half),
                    (x + 0.04, -half),
                    (x + 0.08, 0),
                    (x + 0.03, half * 0.93),
                    (x - 0.06, half * 0.93),
                    (x - 0.01, 0),
                ],
                stripe,
                smooth=True,
                alpha=0.75,
            )
        brush.shape([(0.1, 0.06), (-0.1, 0.02), (-0.16, 0.16), (0.04, 0.2)], scaled(colour, 0.84), smooth=True)
        brush.oval(0.44, -0.07, 0.062, 0.066, WHITE, round_=0)
        brush.oval(0.46, -0.07, 0.034, 0.042, DARK, round_=0)

    def tail(brush: Brush) -> None:
        brush.shape(
            [(0.06, 0), (-0.26, -0.3), (-0.4, -0.3), (-0.3, 0), (-0.4, 0.3), (-0.26, 0.28)],
            scaled(colour, 0.92),
            smooth=True,
        )

    phase = kit.chance(0, 1)
    return [
        Part(kit.paint(-0.46, -0.36, 0.12, 0.36, tail), (-0.56, 0), narrow=0.75, beat=1.6, phase=phase),
        Part(kit.paint(-0.66, -0.54, 0.7, 0.46, body), swing=2.5, beat=1.6, phase=phase),
    ]


def shark(kit: Kit) -> list[Part]:
    """A shark."""
    colour = kit.colour(rgb(104, 122, 142))

    def body(brush: Brush) -> None:
        brush.shape([(-0.12, -0.2), (-0.16, -0.5), (0.16, -0.22)], scaled(colour, 0.9))
        brush.shape([(0.1, 0.12), (-0.12, 0.42), (0.3, 0.14)], scaled(colour, 0.85))
        brush.shape(
            [
                (-0.9, -0.02),
                (-0.4, -0.15),
                (0.1, -0.25),
                (0.6, -0.16),
                (0.92, -0.01),
                (0.6, 0.12),
                (0.1, 0.18),
                (-0.4, 0.1),
            ],
            colour,
            smooth=True,
            round_=0.8,
        )
        brush.shape(
            [(-0.5, 0.08), (0.1, 0.08), (0.84, 0.02), (0.6, 0.12), (0.1, 0.18)], mixed(colour, WHITE, 0.75), smooth=True
        )
        brush.line([(0.6, 0.09), (0.72, 0.075), (0.84, 0.03)], 0.018, scaled(colour, 0.5), round_=0)
        brush.oval(0.62, -0.05, 0.026, 0.026, DARK, round_=0)
        for x in (0.3, 0.36, 0.42):
            brush.line([(x, -0.08), (x - 0.02, 0.05)], 0.014, scaled(colour, 0.65), smooth=False, round_=0)

    def tail(brush: Brush) -> None:
        brush.shape([(0.08, -0.03), (-0.3, -0.42), (-0.16, -0.02), (-0.24, 0.24), (0.08, 0.04)], colour)

    return [
        Part(kit.paint(-0.36, -0.46, 0.12, 0.3, tail), (-0.84, -0.01), narrow=0.6, beat=0.9),
        Part(kit.paint(-0.95, -0.55, 0.96, 0.46, body), swing=1.5, beat=0.9),
    ]


def jellyfish(kit: Kit) -> list[Part]:
    """A glowing jellyfish that pulses."""
    colour = kit.colour(rgb(232, 150, 206))
    pale = mixed(colour, WHITE, 0.5)

    def bell(brush: Brush) -> None:
        brush.halo(0, -0.72, 0.62, pale, 0.35)
        brush.shape(
            [
                (-0.36, -0.5),
                (-0.33, -0.78),
                (0, -1.0),
                (0.33, -0.78),
                (0.36, -0.5),
                (0.18, -0.55),
                (0, -0.48),
                (-0.18, -0.55),
            ],
            colour,
            smooth=True,
            round_=0.9,
            alpha=0.82,
        )
        brush.oval(0, -0.74, 0.17, 0.13, pale, alpha=0.55, round_=0)

    def arms(brush: Brush) -> None:
        for x, length in ((-0.24, 0.42), (-0.12, 0.58), (0, 0.5), (0.12, 0.6), (0.24, 0.44)):
            brush.line(
                [(x, 0), (x + 0.05, length * 0.35), (x - 0.05, length * 0.7), (x + 0.03, length)],
                0.04,
                pale,
                taper=0.3,
                alpha=0.6,
            )

    phase = kit.chance(0, 1)
    return [
        Part(kit.paint(-0.34, -0.05, 0.34, 0.64, arms), (0, -0.54), swing=5, beat=0.4, phase=phase, bob=0.03),
        Part(kit.paint(-0.64, -1.36, 0.64, -0.1, bell), narrow=0.18, beat=0.8, phase=phase, bob=0.03),
    ]


def turtle(kit: Kit) -> list[Part]:
    """A turtle rowing with its flippers."""
    colour = kit.colour(rgb(92, 132, 78))
    skin = mixed(colour, rgb(206, 200, 140), 0.5)

    def body(brush: Brush) -> None:
        brush.shape([(0.44, -0.08), (0.62, -0.2), (0.82, -0.14), (0.8, 0.0), (0.5, 0.08)], skin, smooth=True)
        brush.oval(0.7, -0.1, 0.028, 0.03, DARK, round_=0)
        brush.shape(
            [(-0.58, 0.06), (-0.4, -0.24), (0, -0.4), (0.36, -0.26), (0.52, 0.04), (0.2, 0.16), (-0.3, 0.16)],
            colour,
            smooth=True,
            round_=0.9,
        )
        for x, y, rx, ry in (
            (-0.28, -0.1, 0.13, 0.1),
            (0, -0.22, 0.14, 0.11),
            (0.26, -0.08, 0.12, 0.1),
            (0, 0.02, 0.13, 0.08),
        ):
            brush.oval(x, y, rx, ry, scaled(colour, 0.78), alpha=0.7)

    def flipper(brush: Brush) -> None:
        brush.shape(
            [(0.1, -0.03), (0.02, 0.24), (-0.22, 0.5), (-0.3, 0.42), (-0.14, 0.14), (-0.06, -0.02)], skin, smooth=True
        )

    fin = kit.paint(-0.34, -0.08, 0.16, 0.54, flipper)
    return [
        Part(fin, (0.28, 0.02), swing=26, beat=0.5, phase=0.1), Part(fin, (-0.36, 0.06), swing=14, beat=0.5, phase=0.5),
        Part(kit.paint(-0.62, -0.44, 0.86, 0.22, body), swing=2, beat=0.5), Part(fin, (0.18, 0.06), swing=30, beat=0.5),
    ]  # fmt: skip


def octopus(kit: Kit) -> list[Part]:
    """An octopus with curling arms."""
    colour = kit.colour(rgb(196, 84, 96))

    def head(brush: Brush) -> None:
        brush.shape(
            [(-0.24, -0.36), (-0.32, -0.66), (-0.2, -0.94), (0.06, -1.0), (0.26, -0.86), (0.3, -0.6), (0.24, -0.36)],
            colour,
            smooth=True,
            round_=0.9,
        )
        for x in (-0.08, 0.14):
            brush.oval(x, -0.52, 0.07, 0.075, WHITE, round_=0)
            brush.oval(x + 0.015, -0.51, 0.036, 0.045, DARK, round_=0)

    def arm(brush: Brush) -> None:
        brush.line([(0, 0), (0.04, 0.16), (-0.02, 0.3), (0.1, 0.4), (0.18, 0.34)], 0.11, colour, taper=0.3)

    sprite = kit.paint(-0.1, -0.06, 0.26, 0.48, arm)
    arms = [
        Part(sprite, (x, -0.42), swing=14, beat=0.5, phase=index * 0.17)
        for index, x in enumerate((-0.22, -0.12, -0.02, 0.08, 0.18))
    ]
    return [*arms, Part(kit.paint(-0.36, -1.05, 0.36, -0.3, head), bob=0.015, beat=0.5)]


def whale(kit: Kit) -> list[Part]:
    """A blue whale with its spout."""
    colour = kit.colour(rgb(62, 92, 132))

    def body(brush: Brush) -> None:
        brush.shape(
            [
                (-0.86, -0.2),
                (-0.5, -0.42),
                (0.1, -0.62),
                (0.66, -0.54),
                (0.94, -0.26),
                (0.86, -0.04),
                (0.4, 0.06),
                (-0.2, 0.02),
                (-0.66, -0.08),
            ],
            colour,
            smooth=True,
            round_=0.9,
        )
        brush.shape(
            [(0.92, -0.2), (0.86, -0.03), (0.4, 0.06), (-0.1, 0.03), (0.3, -0.08), (0.66, -0.12)],
            mixed(colour, WHITE, 0.72),
            smooth=True,
        )
        for index in range(4):
            y = -0.08 + 0.035 * index
            brush.line(
                [(0.86 - 0.06 * index, y), (0.5, y + 0.03), (0.16, y + 0.03)],
                0.012,
                mixed(colour, WHITE, 0.35),
                round_=0,
                alpha=0.8,
            )
        brush.line([(0.94, -0.22), (0.72, -0.18), (0.6, -0.22)], 0.016, scaled(colour, 0.5), round_=0)
        brush.oval(0.6, -0.28, 0.024, 0.024, DARK, round_=0)
        brush.shape([(0.24, -0.06), (0.02, 0.16), (0.16, 0.2), (0.4, -0.02)], scaled(colour, 0.8), smooth=True)

    def tail(brush: Brush) -> None:
        brush.line([(0.14, 0.04), (-0.14, -0.12), (-0.24, -0.26)], 0.18, colour, taper=0.5)
        brush.shape(
            [
                (-0.24, -0.2),
                (-0.56, -0.36),
                (-0.46, -0.5),
                (-0.24, -0.38),
                (-0.1, -0.54),
                (0.02, -0.44),
                (-0.14, -0.28),
            ],
            colour,
            smooth=True,
        )

    spout = smoke(kit, 0.52, -0.6, rgb(236, 246, 250), size=0.055, rise=0.36, lean=0.1, count=6, life=1.3)
    return [
        Part(kit.paint(-0.62, -0.6, 0.24, 0.18, tail), (-0.74, -0.16), swing=9, beat=0.35),
        Part(kit.paint(-0.9, -0.68, 1.0, 0.24, body), swing=2.2, beat=0.35), *spout,
    ]  # fmt: skip


def dolphin(kit: Kit) -> list[Part]:
    """A dolphin in a leap."""
    colour = kit.colour(rgb(98, 122, 150))

    def ink(brush: Brush) -> None:
        brush.shape(
            [
                (-0.86, 0.12),
                (-0.5, -0.16),
                (0, -0.32),
                (0.4, -0.26),
                (0.64, -0.06),
                (0.86, 0.06),
                (0.82, 0.12),
                (0.6, 0.12),
                (0.2, 0.06),
                (-0.3, 0.06),
            ],
            colour,
            smooth=True,
            round_=0.9,
        )
        brush.shape(
            [(0.8, 0.1), (0.56, 0.1), (0.1, 0.04), (-0.3, 0.06), (0.2, -0.06), (0.5, 0.0)],
            mixed(colour, WHITE, 0.75),
            smooth=True,
            alpha=0.9,
        )
        brush.shape([(-0.12, -0.28), (-0.3, -0.52), (0.12, -0.3)], scaled(colour, 0.9))
        brush.shape([(0.26, 0.0), (0.06, 0.24), (0.38, 0.06)], scaled(colour, 0.85))
        brush.shape([(-0.76, 0.06), (-1.06, 0.1), (-0.92, 0.18), (-0.98, 0.36), (-0.74, 0.16)], colour, smooth=True)
        brush.oval(0.56, -0.06, 0.024, 0.024, DARK, round_=0)

    return [Part(kit.paint(-1.1, -0.56, 0.92, 0.4, ink), swing=14, beat=0.8, phase=kit.chance(0, 1))]


def duck(kit: Kit) -> list[Part]:
    """A duck on the water."""
    colour = kit.colour(rgb(250, 206, 70))

    def ink(brush: Brush) -> None:
        brush.shape(
            [
                (-0.62, -0.5),
                (-0.4, -0.4),
                (0, -0.46),
                (0.36, -0.42),
                (0.5, -0.22),
                (0.34, 0.02),
                (-0.3, 0.02),
                (-0.52, -0.18),
            ],
            colour,
            smooth=True,
            round_=0.9,
        )
        brush.shape([(-0.36, -0.32), (0.1, -0.36), (0.04, -0.14), (-0.24, -0.12)], scaled(colour, 0.88), smooth=True)
        brush.line([(0.28, -0.36), (0.3, -0.62)], 0.24, colour, smooth=False)
        brush.oval(0.32, -0.74, 0.21, 0.2, colour, round_=0.9)
        brush.shape([(0.48, -0.8), (0.74, -0.72), (0.72, -0.64), (0.48, -0.64)], rgb(240, 130, 44), smooth=True)
        brush.oval(0.38, -0.79, 0.034, 0.04, DARK, round_=0)

    return [Part(kit.paint(-0.66, -1.0, 0.78, 0.06, ink), swing=3, beat=0.4, bob=0.012, phase=kit.chance(0, 1))]


def swan(kit: Kit) -> list[Part]:
    """A swan with an S-shaped neck."""
    colour = kit.colour(rgb(250, 250, 248))

    def ink(brush: Brush) -> None:
        brush.shape(
            [
                (-0.66, -0.4),
                (-0.4, -0.46),
                (0, -0.42),
                (0.34, -0.3),
                (0.4, -0.12),
                (0.2, 0.03),
                (-0.3, 0.03),
                (-0.52, -0.12),
            ],
            colour,
            smooth=True,
            round_=0.9,
        )
        brush.shape(
            [(-0.7, -0.46), (-0.3, -0.5), (0.12, -0.34), (0.04, -0.14), (-0.3, -0.14)],
            scaled(colour, 0.93),
            smooth=True,
            round_=0.8,
        )
        brush.line([(0.28, -0.16), (0.42, -0.42), (0.3, -0.66), (0.3, -0.86), (0.42, -0.95)], 0.12, colour, taper=0.75)
        brush.oval(0.43, -0.92, 0.085, 0.07, colour)
        brush.shape([(0.48, -0.96), (0.68, -0.87), (0.48, -0.86)], rgb(240, 130, 44))
        brush.oval(0.45, -0.94, 0.018, 0.02, DARK, round_=0)

    return [Part(kit.paint(-0.72, -1.02, 0.72, 0.06, ink), swing=1.5, beat=0.3, bob=0.008, phase=kit.chance(0, 1))]
