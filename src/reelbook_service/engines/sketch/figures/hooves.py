"""Figures on hooves and other heavy feet: horses, cows, sheep, deer, elephants."""

from __future__ import annotations

from ..palette import Colour, mixed, rgb, scaled
from ..puppet import Part
from ..soft_brush import Brush
from .beast import DARK, Build, beast, long_tail, plain_head
from .kit import Kit


def horse(kit: Kit) -> list[Part]:
    """A horse with mane and tail."""
    build = Build(
        rgb(128, 78, 48),
        back=-0.64,
        long=0.86,
        deep=0.26,
        leg=0.07,
        head=(0.60, -0.92),
        skull=0.095,
        muzzle=0.17,
        neck=0.21,
        step=28,
        beat=1.15,
    )

    def head(brush: Brush, colour: Colour) -> None:
        mane = (
            mixed(scaled(colour, 0.45), colour, 0.15) if sum(colour) < 2.4 else mixed(colour, rgb(190, 180, 170), 0.5)
        )
        brush.line([(0.01, -0.12), (-0.12, 0.0), (-0.2, 0.16), (-0.25, 0.3)], 0.11, mane, taper=0.8)
        plain_head(build, ear=[(-0.05, -0.07), (0.0, -0.2), (0.05, -0.07)], muzzle_thick=0.62, drop=0.12)(brush, colour)

    def tail(brush: Brush, colour: Colour) -> None:
        mane = (
            mixed(scaled(colour, 0.45), colour, 0.15) if sum(colour) < 2.4 else mixed(colour, rgb(190, 180, 170), 0.5)
        )
        brush.shape(
            [(0.03, -0.02), (-0.14, 0.02), (-0.24, 0.2), (-0.22, 0.44), (-0.1, 0.38), (-0.06, 0.16), (0.02, 0.08)],
            mane,
            smooth=True,
        )

    return beast(kit, build, head=head, tail=tail, tail_swing=12)


def unicorn(kit: Kit) -> list[Part]:
    """A white horse with a golden horn."""
    white = Kit(kit.light, kit.scale, kit.colours or (rgb(246, 240, 246),), kit.rng, kit.depth, kit.still, kit.season)
    parts = horse(white)

    def horn(brush: Brush) -> None:
        brush.shape([(0.0, -0.06), (0.17, -0.34), (0.07, -0.04)], rgb(242, 200, 92))

    head = parts[4]
    return [
        *parts[:5],
        Part(
            kit.paint(-0.1, -0.45, 0.3, 0.1, horn),
            head.at,
            swing=head.swing,
            beat=head.beat,
            phase=head.phase,
            bob=head.bob,
        ),
        *parts[5:],
    ]


def cow(kit: Kit) -> list[Part]:
    """A spotted cow with short horns."""
    build = Build(
        rgb(240, 236, 228),
        back=-0.76,
        long=1.06,
        deep=0.40,
        leg=0.085,
        head=(0.66, -0.80),
        skull=0.12,
        muzzle=0.15,
        neck=0.24,
        step=13,
        beat=0.6,
    )

    def head(brush: Brush, colour: Colour) -> None:
        brush.line([(-0.05, -0.08), (-0.08, -0.2), (0.0, -0.24)], 0.04, rgb(222, 208, 176), taper=0.4)
        plain_head(
            build,
            ear=[(-0.08, -0.07), (-0.22, -0.02), (-0.08, 0.03)],
            muzzle_thick=0.75,
            nose=rgb(120, 84, 84),
            drop=0.09,
        )(brush, colour)
        brush.oval(0.17, 0.1, 0.085, 0.075, rgb(236, 178, 168))

    def marks(brush: Brush, colour: Colour) -> None:
        spot = rgb(58, 50, 50) if not kit.colours else scaled(colour, 0.6)
        for x, y, rx, ry in (
            (-0.28, -0.62, 0.14, 0.11),
            (0.06, -0.66, 0.12, 0.09),
            (0.34, -0.52, 0.09, 0.1),
            (-0.08, -0.45, 0.08, 0.05),
        ):
            brush.oval(x, y, rx, ry, spot, turn=20)

    tail = long_tail([(0, 0.02), (-0.1, 0.1), (-0.11, 0.4)], 0.04, 0.8, DARK)
    return beast(kit, build, head=head, tail=tail, marks=marks)


def sheep(kit: Kit) -> list[Part]:
    """A woolly sheep with a dark face."""
    wool = kit.colour(rgb(244, 240, 230))
    build = Build(
        rgb(72, 64, 64),
        back=-0.74,
        long=0.78,
        deep=0.34,
        leg=0.07,
        head=(0.5, -0.72),
        skull=0.11,
        muzzle=0.12,
        neck=0.14,
        step=13,
        beat=0.8,
    )

    def marks(brush: Brush, colour: Colour) -> None:
        for x, y, r in (
            (-0.34, -0.58, 0.19),
            (-0.16, -0.7, 0.2),
            (0.06, -0.73, 0.2),
            (0.26, -0.65, 0.19),
            (0.32, -0.5, 0.16),
            (0.04, -0.48, 0.22),
            (-0.22, -0.46, 0.2),
        ):
            brush.oval(x, y, r, r * 0.9, wool, round_=0.6)

    head = plain_head(build, ear=[(-0.06, -0.06), (-0.2, 0.0), (-0.06, 0.04)], muzzle_thick=0.6, drop=0.08)

    def capped(brush: Brush, colour: Colour) -> None:
        head(brush, colour)
        brush.oval(-0.04, -0.09, 0.1, 0.07, wool)

    plain = Kit(kit.light, kit.scale, (), kit.rng, kit.depth, kit.still, kit.season)
    return beast(plain, build, head=capped, tail=long_tail([(0, 0), (-0.06, 0.06)], 0.12, 0.8), marks=marks)


def deer(kit: Kit) -> list[Part]:
    """A stag with antlers."""
    build = Build(
        rgb(164, 108, 66),
        back=-0.56,
        long=0.74,
        deep=0.22,
        leg=0.05,
        head=(0.48, -0.80),
        skull=0.085,
        muzzle=0.13,
        neck=0.14,
        belly=rgb(232, 210, 184),
    )

    def head(brush: Brush, colour: Colour) -> None:
        horn = rgb(206, 182, 146)
        for side in (0.0, 0.05):
            brush.line([(side, -0.07), (side - 0.09, -0.22), (side - 0.02, -0.4)], 0.028, horn, taper=0.5)
            brush.line([(side - 0.075, -0.2), (side + 0.03, -0.29)], 0.022, horn, taper=0.5, smooth=False)
            brush.line([(side - 0.06, -0.3), (side - 0.14, -0.38)], 0.02, horn, taper=0.5, smooth=False)
        plain_head(build, ear=[(-0.06, -0.05), (-0.17, -0.1), (-0.05, 0.01)], muzzle_thick=0.45, drop=0.07)(
            brush, colour
        )

    return beast(kit, build, head=head, tail=long_tail([(0, 0), (-0.06, 0.06)], 0.07, 0.6, (0.95, 0.93, 0.9)))


def elephant(kit: Kit) -> list[Part]:
    """An elephant with a swinging trunk."""
    build = Build(
        rgb(142, 144, 156),
        back=-0.92,
        long=1.02,
        deep=0.56,
        leg=0.15,
        head=(0.62, -0.78),
        skull=0.22,
        muzzle=0.1,
        neck=0.36,
        step=10,
        beat=0.5,
    )

    def head(brush: Brush, colour: Colour) -> None:
        brush.line([(0.14, -0.02), (0.27, 0.14), (0.27, 0.4), (0.34, 0.5)], 0.2, colour, taper=0.4)
        brush.oval(0.02, -0.02, 0.23, 0.22, colour, round_=0.8)
        brush.line([(0.16, 0.14), (0.27, 0.24), (0.4, 0.22)], 0.06, rgb(246, 240, 222), taper=0.4)
        brush.shape(
            [(-0.02, -0.2), (-0.22, -0.24), (-0.36, -0.04), (-0.26, 0.22), (-0.08, 0.14), (0.0, -0.02)],
            scaled(colour, 0.88),
            smooth=True,
            round_=0.8,
        )
        brush.oval(0.12, -0.06, 0.02, 0.025, DARK, round_=0)

    return beast(kit, build, head=head, tail=long_tail([(0, 0.05), (-0.08, 0.2), (-0.06, 0.4)], 0.04, 0.6, DARK))
