"""Figures of the air: birds, balloons, kites, butterflies, planes."""

from __future__ import annotations

from ..palette import mixed, rgb, scaled
from ..puppet import Part
from ..soft_brush import Brush
from .kit import Kit

BIRD, RED, ORANGE = rgb(62, 66, 84), rgb(214, 60, 52), rgb(240, 134, 44)


def bird(kit: Kit) -> list[Part]:
    """A bird in flight, wings beating."""
    colour = kit.colour(rgb(240, 242, 244) if not kit.light.dark else BIRD)
    tip = mixed(colour, rgb(40, 44, 56), 0.55)
    phase = kit.chance(0, 1)

    def body(brush: Brush) -> None:
        brush.shape(
            [
                (-0.62, -0.04),
                (-0.4, -0.1),
                (0, -0.15),
                (0.34, -0.14),
                (0.5, -0.06),
                (0.36, 0.03),
                (0, 0.08),
                (-0.36, 0.03),
            ],
            colour,
            smooth=True,
        )
        brush.shape([(-0.52, -0.05), (-0.92, -0.12), (-0.9, 0.04), (-0.5, 0.03)], tip)
        brush.oval(0.42, -0.11, 0.115, 0.1, colour)
        brush.shape([(0.51, -0.14), (0.68, -0.08), (0.51, -0.06)], ORANGE)
        brush.oval(0.46, -0.13, 0.02, 0.02, rgb(24, 24, 30), round_=0)

    def wing(brush: Brush) -> None:
        brush.shape(
            [(0.24, 0.02), (0.1, -0.42), (-0.2, -0.86), (-0.56, -1.08), (-0.5, -0.66), (-0.34, -0.26), (-0.26, 0.03)],
            colour,
            smooth=True,
        )
        brush.shape([(-0.2, -0.82), (-0.58, -1.1), (-0.5, -0.68), (-0.36, -0.52)], tip, smooth=True, alpha=0.85)

    near, far = kit.paint(-0.7, -1.2, 0.35, 0.12, wing), kit.paint(-0.7, -1.2, 0.35, 0.12, wing)
    middle = kit.paint(-1.0, -0.3, 0.75, 0.2, body)
    beat = kit.chance(1.5, 2.1)
    return [
        Part(far, (0.14, -0.06), fold=1.55, beat=beat, phase=phase, swing=5, bob=-0.06),
        Part(middle, (0, 0), bob=-0.06, beat=beat, phase=phase),
        Part(near, (0.0, -0.02), fold=1.7, beat=beat, phase=phase, bob=-0.06),
    ]


def balloon(kit: Kit) -> list[Part]:
    """A round balloon on a string."""
    colour = kit.colour(RED)

    def ink(brush: Brush) -> None:
        brush.line([(0, -0.34), (0.03, -0.2), (-0.03, -0.08), (0.01, 0.06)], 0.012, rgb(240, 238, 230), alpha=0.8)
        brush.shape(
            [
                (0, -1.02),
                (0.24, -0.93),
                (0.33, -0.72),
                (0.24, -0.5),
                (0.05, -0.36),
                (-0.05, -0.36),
                (-0.24, -0.5),
                (-0.33, -0.72),
                (-0.24, -0.93),
            ],
            colour,
            smooth=True,
            round_=0.9,
            shade=0.2,
        )
        brush.shape([(-0.05, -0.33), (0, -0.38), (0.05, -0.33)], scaled(colour, 0.85))
        side = 1 if kit.light.across > 0.5 else -1
        brush.oval(side * 0.13, -0.83, 0.06, 0.09, (1, 1, 1), turn=side * 25, round_=0, alpha=0.5)

    return [Part(kit.paint(-0.36, -1.05, 0.36, 0.1, ink), swing=3.5, beat=0.22, phase=kit.chance(0, 1))]


def owl(kit: Kit) -> list[Part]:
    """An owl in flight with wide wings."""
    colour = kit.colour(rgb(140, 104, 74))

    def body(brush: Brush) -> None:
        brush.shape(
            [(-0.24, -0.34), (0, -0.46), (0.24, -0.34), (0.24, 0.1), (0.1, 0.44), (-0.1, 0.44), (-0.24, 0.1)],
            colour,
            smooth=True,
            round_=0.8,
        )
        brush.oval(0, 0.08, 0.15, 0.24, mixed(colour, rgb(246, 232, 206), 0.6))
        brush.oval(0, -0.3, 0.26, 0.22, colour)
        for x in (-0.11, 0.11):
            brush.oval(x, -0.31, 0.12, 0.12, mixed(colour, rgb(246, 232, 206), 0.75))
            brush.oval(x, -0.31, 0.065, 0.065, rgb(250, 206, 70), round_=0, glow=True)
            brush.oval(x, -0.31, 0.035, 0.04, BIRD, round_=0)
        brush.shape([(-0.035, -0.25), (0.035, -0.25), (0, -0.16)], ORANGE)

    def wing(side: int) -> Part:
        def ink(brush: Brush) -> None:
            brush.shape(
                [
                    (0, -0.18),
                    (side * 0.5, -0.34),
                    (side * 1.05, -0.2),
                    (side * 0.9, 0.08),
                    (side * 0.5, 0.2),
                    (0, 0.16),
                ],
                scaled(colour, 0.86),
                smooth=True,
                round_=0.7,
            )
            for x in (0.4, 0.62, 0.84):
                brush.line(
                    [(side * (x - 0.06), -0.2), (side * x, 0.1)], 0.02, scaled(colour, 0.6), smooth=False, round_=0
                )

        return Part(
            kit.paint(min(0, side * 1.1), -0.42, max(0, side * 1.1), 0.28, ink),
            (side * 0.14, -0.02),
            narrow=0.45,
            swing=12 * side,
            beat=1.1,
        )

    return [wing(-1), wing(1), Part(kit.paint(-0.3, -0.56, 0.3, 0.5, body), bob=-0.04, beat=1.1)]


def butterfly(kit: Kit) -> list[Part]:
    """A butterfly with patterned wings."""
    choices = (rgb(240, 140, 46), rgb(86, 140, 220), rgb(246, 206, 80), rgb(214, 92, 150))
    colour = kit.colour(choices[int(kit.rng.integers(4))])
    dark = mixed(colour, rgb(40, 26, 36), 0.75)

    def wing(side: int) -> Part:
        def ink(brush: Brush) -> None:
            upper = [(0, 0.0), (side * 0.2, -0.42), (side * 0.62, -0.58), (side * 0.7, -0.26), (side * 0.4, 0.04)]
            lower = [(0, 0.02), (side * 0.4, 0.02), (side * 0.52, 0.28), (side * 0.28, 0.5), (side * 0.06, 0.24)]
            for points in (upper, lower):
                centre = (sum(x for x, _ in points) / 5, sum(y for _, y in points) / 5)
                brush.shape(points, dark, smooth=True)
                inner = [(centre[0] + (x - centre[0]) * 0.8, centre[1] + (y - centre[1]) * 0.8) for x, y in points]
                brush.shape(inner, colour, smooth=True, round_=0.7)
                brush.oval(*centre, 0.07, 0.08, mixed(colour, (1, 1, 1), 0.65))

        return Part(
            kit.paint(min(0, side * 0.75), -0.66, max(0, side * 0.75), 0.56, ink),
            (side * 0.02, 0),
            narrow=0.82,
            beat=2.4,
            phase=phase,
        )

    def body(brush: Brush) -> None:
        brush.line([(0, -0.2), (0, 0.3)], 0.075, dark, taper=0.5, smooth=False)
        for side in (-1, 1):
            brush.line([(0, -0.2), (side * 0.06, -0.34), (side * 0.14, -0.42)], 0.02, dark, taper=0.8)

    phase = kit.chance(0, 1)
    return [wing(-1), wing(1), Part(kit.paint(-0.2, -0.48, 0.2, 0.34, body))]


def bee(kit: Kit) -> list[Part]:
    """A striped bee with humming wings."""
    colour = kit.colour(rgb(248, 196, 56))

    def body(brush: Brush) -> None:
        brush.oval(0, 0, 0.52, 0.34, colour, round_=0.9)
        for x, half in ((-0.26, 0.27), (0.0, 0.33), (0.24, 0.29)):
            brush.oval(x, 0, 0.06, half, rgb(54, 42, 38), round_=0.3)
        brush.oval(0.48, -0.04, 0.2, 0.2, rgb(54, 42, 38))
        brush.oval(0.54, -0.08, 0.045, 0.05, (1, 1, 1), round_=0)
        brush.shape([(-0.5, -0.04), (-0.66, 0.0), (-0.5, 0.04)], rgb(54, 42, 38))

    def wing(brush: Brush) -> None:
        brush.oval(-0.1, -0.3, 0.2, 0.34, (0.92, 0.97, 1.0), turn=-24, alpha=0.7)

    sprite = kit.paint(-0.42, -0.7, 0.2, 0.06, wing)
    return [
        Part(sprite, (0.14, -0.24), swing=22, beat=7, phase=0.3), Part(kit.paint(-0.7, -0.4, 0.72, 0.4, body), bob=0.06, beat=1.3, phase=kit.chance(0, 1)),
        Part(sprite, (0.0, -0.24), swing=22, beat=7),
    ]  # fmt: skip


def hot_air_balloon(kit: Kit) -> list[Part]:
    """A striped hot-air balloon with its basket."""
    choices = (rgb(214, 70, 58), rgb(236, 168, 56), rgb(66, 130, 178), rgb(126, 88, 168), rgb(84, 152, 110))
    colour = kit.colour(choices[int(kit.rng.integers(5))])
    other = kit.colour(rgb(250, 236, 206), 1)

    def ink(brush: Brush) -> None:
        outline = [
            (0, -1.0),
            (0.26, -0.93),
            (0.39, -0.7),
            (0.34, -0.48),
            (0.12, -0.24),
            (-0.12, -0.24),
            (-0.34, -0.48),
            (-0.39, -0.7),
            (-0.26, -0.93),
        ]
        for x in (-0.09, 0.09):
            brush.line([(x * 1.2, -0.25), (x * 0.7, -0.1)], 0.01, rgb(90, 70, 54), smooth=False, round_=0)
        brush.shape(outline, colour, smooth=True, round_=0.9, shade=0.2)
        for factor, inner in ((0.78, 0.48), (0.2, -0.2)):
            brush.shape([(x * factor, y + 0.002) for x, y in outline], other, smooth=True, round_=0.5, shade=0.2)
            brush.shape(
                [(x * inner if inner > 0 else 0, y + 0.004) for x, y in outline]
                if inner > 0
                else [(0, -0.99), (0.02, -0.6), (0, -0.26), (-0.02, -0.6)],
                colour,
                smooth=True,
                round_=0.5,
                shade=0.2,
            )
        if kit.light.dark:
            brush.halo(0, -0.34, 0.4, rgb(255, 190, 90), 0.55)
        brush.box(-0.12, -0.27, 0.12, -0.23, scaled(colour, 0.7), corner=0.02)
        brush.box(-0.075, -0.11, 0.075, 0.0, rgb(150, 104, 62), corner=0.02)
        brush.box(-0.085, -0.12, 0.085, -0.09, rgb(112, 74, 44), corner=0.015)

    return [Part(kit.paint(-0.42, -1.03, 0.42, 0.03, ink), swing=1.6, beat=0.14, phase=kit.chance(0, 1))]


def kite(kit: Kit) -> list[Part]:
    """A kite with a tail of bows."""
    colour = kit.colour(rgb(236, 88, 66))
    other = kit.colour(rgb(250, 204, 84), 1)

    def sail(brush: Brush) -> None:
        brush.line([(0, 0.0), (-0.3, 0.9), (-0.9, 1.9)], 0.008, (0.95, 0.95, 0.95), round_=0, alpha=0.7)
        for points, tint in (
            ([(0, -0.5), (0.34, -0.12), (0, -0.12)], colour),
            ([(0, -0.5), (-0.34, -0.12), (0, -0.12)], other),
            ([(0, 0.5), (0.34, -0.12), (0, -0.12)], other),
            ([(0, 0.5), (-0.34, -0.12), (0, -0.12)], colour),
        ):
            brush.shape(points, tint, round_=0.4)

    def tail(brush: Brush) -> None:
        brush.line([(0, 0), (0.08, 0.2), (-0.06, 0.42), (0.06, 0.64)], 0.014, (0.95, 0.93, 0.9))
        for x, y, tint in ((0.07, 0.18, colour), (-0.05, 0.4, other), (0.05, 0.62, colour)):
            brush.shape([(x, y), (x - 0.1, y - 0.06), (x - 0.1, y + 0.06)], tint)
            brush.shape([(x, y), (x + 0.1, y - 0.06), (x + 0.1, y + 0.06)], tint)

    return [
        Part(kit.paint(-0.2, -0.05, 0.2, 0.72, tail), (0, 0.5), swing=18, beat=0.55, phase=0.2),
        Part(kit.paint(-1.0, -0.55, 0.4, 2.0, sail), swing=8, beat=0.35),
    ]


def plane(kit: Kit) -> list[Part]:
    """An airliner."""
    colour = kit.colour(rgb(244, 246, 248))
    trim = rgb(48, 96, 168) if not kit.colours else mixed(colour, (1, 1, 1), 0.6)

    def ink(brush: Brush) -> None:
        brush.shape([(-0.08, -0.02), (-0.5, -0.42), (-0.36, -0.42), (0.26, -0.02)], scaled(colour, 0.78))
        brush.shape([(-0.98, -0.08), (-1.18, -0.5), (-1.0, -0.5), (-0.66, -0.1)], trim)
        brush.shape(
            [(-1.16, -0.1), (-0.8, -0.16), (0.6, -0.2), (0.96, -0.12), (1.1, 0.0), (0.9, 0.1), (-0.6, 0.1)],
            colour,
            smooth=True,
            round_=0.8,
        )
        brush.line([(-0.9, -0.02), (1.0, 0.0)], 0.03, trim, smooth=False, round_=0)
        for index in range(11):
            brush.oval(
                -0.62 + 0.125 * index,
                -0.075,
                0.026,
                0.03,
                rgb(255, 230, 160) if kit.light.dark else rgb(86, 120, 160),
                round_=0,
                glow=kit.light.dark,
            )
        brush.shape([(0.86, -0.12), (1.0, -0.07), (0.86, -0.05)], rgb(60, 80, 110))
        brush.shape([(0.3, 0.04), (-0.46, 0.5), (-0.62, 0.5), (-0.2, 0.04)], scaled(colour, 0.9))
        brush.oval(-0.1, 0.2, 0.16, 0.06, scaled(colour, 0.7))

    return [Part(kit.paint(-1.2, -0.55, 1.15, 0.55, ink), swing=1.2, beat=0.2)]


def helicopter(kit: Kit) -> list[Part]:
    """A helicopter with turning blades."""
    colour = kit.colour(rgb(212, 66, 56))

    def ink(brush: Brush) -> None:
        brush.line([(-0.2, -0.1), (-1.0, -0.2)], 0.16, colour, taper=0.4, smooth=False)
        brush.shape([(-1.06, -0.44), (-0.92, -0.16), (-1.04, -0.1), (-1.16, -0.3)], scaled(colour, 0.85))
        brush.shape(
            [(-0.4, -0.12), (-0.2, -0.34), (0.2, -0.36), (0.48, -0.14), (0.44, 0.1), (0.0, 0.18), (-0.34, 0.1)],
            colour,
            smooth=True,
            round_=0.8,
        )
        brush.shape([(0.1, -0.3), (0.24, -0.3), (0.44, -0.1), (0.42, 0.02), (0.12, 0.02)], rgb(168, 214, 232))
        brush.line([(0, -0.34), (0, -0.48)], 0.05, rgb(70, 70, 78), smooth=False)
        brush.line([(-0.4, 0.32), (0.44, 0.32), (0.54, 0.26)], 0.035, rgb(70, 70, 78))
        for x in (-0.2, 0.24):
            brush.line([(x, 0.1), (x, 0.32)], 0.03, rgb(70, 70, 78), smooth=False)

    def blade(brush: Brush) -> None:
        brush.oval(0, 0, 0.95, 0.022, rgb(60, 62, 70), round_=0, alpha=0.75)

    return [
        Part(kit.paint(-1.2, -0.52, 0.6, 0.38, ink), swing=2.5, beat=0.3),
        Part(kit.paint(-1, -0.05, 1, 0.05, blade), (0, -0.49), narrow=1.7, beat=5.3),
        Part(kit.paint(-1, -0.05, 1, 0.05, blade), (0, -0.49), narrow=1.7, beat=5.3, phase=0.31),
    ]


def lantern(kit: Kit) -> list[Part]:
    """A paper lantern that glows."""
    colour = kit.colour(rgb(250, 150, 60))

    def ink(brush: Brush) -> None:
        brush.halo(0, -0.5, 0.95, mixed(colour, rgb(255, 210, 130), 0.5), 0.5)
        brush.shape(
            [(-0.2, -0.95), (0.2, -0.95), (0.33, -0.6), (0.24, -0.1), (-0.24, -0.1), (-0.33, -0.6)],
            colour,
            smooth=False,
            glow=True,
        )
        brush.oval(0, -0.32, 0.22, 0.3, rgb(255, 226, 150), glow=True, alpha=0.6)
        brush.box(-0.25, -0.12, 0.25, -0.06, scaled(colour, 0.6), glow=True)

    return [Part(kit.paint(-0.95, -1.4, 0.95, 0.45, ink), swing=4, beat=0.2, phase=kit.chance(0, 1), bob=0.02)]


def bubble(kit: Kit) -> list[Part]:
    """A soap bubble."""

    def ink(brush: Brush) -> None:
        brush.oval(0, -0.5, 0.46, 0.46, kit.colour((0.86, 0.95, 1.0)), alpha=0.25, glow=True)
        brush.oval(-0.16, -0.68, 0.09, 0.06, (1, 1, 1), turn=-35, alpha=0.85, glow=True)
        brush.oval(0.2, -0.32, 0.05, 0.03, (1, 0.9, 0.98), turn=-35, alpha=0.7, glow=True)

    return [Part(kit.paint(-0.5, -1, 0.5, 0.02, ink), narrow=0.06, beat=0.6)]
