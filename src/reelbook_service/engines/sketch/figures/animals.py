"""Figures on paws: cats, dogs, foxes, rabbits, lions, bears."""

from __future__ import annotations

from ..palette import Colour, mixed, rgb, scaled
from ..puppet import Part
from ..soft_brush import Brush
from .beast import DARK, Build, beast, long_tail, plain_head
from .kit import Kit


def cat(kit: Kit) -> list[Part]:
    """A cat with its tail up."""
    build = Build(
        rgb(214, 138, 72),
        back=-0.62,
        long=0.92,
        deep=0.27,
        leg=0.065,
        head=(0.52, -0.76),
        skull=0.15,
        muzzle=0.06,
        neck=0.15,
        step=16,
        beat=0.8,
    )

    def head(brush: Brush, colour: Colour) -> None:
        for side in (-1, 1):
            brush.shape(
                [(side * 0.14 + 0.02, -0.02), (side * 0.125 + 0.02, -0.24), (side * 0.02 + 0.02, -0.12)], colour
            )
            brush.shape(
                [(side * 0.115 + 0.02, -0.06), (side * 0.11 + 0.02, -0.19), (side * 0.05 + 0.02, -0.11)],
                rgb(236, 168, 160),
                alpha=0.7,
            )
        brush.oval(0.02, 0, 0.165, 0.145, colour, round_=0.8)
        brush.oval(0.06, 0.055, 0.085, 0.06, mixed(colour, (1, 1, 1), 0.55), alpha=0.9)
        for x in (-0.03, 0.115):
            brush.oval(x, -0.025, 0.027, 0.036, rgb(226, 222, 120), round_=0)
            brush.oval(x + 0.006, -0.025, 0.012, 0.034, DARK, round_=0)
        brush.shape([(0.045, 0.03), (0.085, 0.03), (0.065, 0.055)], rgb(216, 120, 118), round_=0)

    tail = long_tail([(0, 0.02), (-0.16, -0.02), (-0.22, -0.2), (-0.14, -0.4), (-0.2, -0.46)], 0.085, 0.7)
    return beast(kit, build, head=head, tail=tail, tail_swing=11)


def dog(kit: Kit) -> list[Part]:
    """A dog that wags its tail."""
    build = Build(
        rgb(176, 124, 76),
        back=-0.66,
        long=0.88,
        deep=0.29,
        leg=0.075,
        head=(0.52, -0.86),
        skull=0.14,
        muzzle=0.17,
        neck=0.19,
        beat=1.1,
    )

    def head(brush: Brush, colour: Colour) -> None:
        plain_head(
            build, ear=[(-0.1, -0.1), (0.03, -0.13), (-0.02, 0.02), (-0.1, 0.13), (-0.16, 0.06)], muzzle_thick=0.5
        )(brush, colour)
        brush.shape(
            [(-0.11, -0.1), (0.01, -0.11), (-0.03, 0.05), (-0.1, 0.15), (-0.16, 0.06)],
            scaled(colour, 0.62),
            smooth=True,
        )
        brush.line([(0.16, 0.115), (0.2, 0.16)], 0.045, rgb(226, 110, 116), smooth=False)
        brush.line([(-0.1, 0.19), (0.08, 0.21)], 0.04, rgb(200, 50, 50), smooth=False)

    tail = long_tail([(0, 0.02), (-0.12, -0.1), (-0.18, -0.28), (-0.12, -0.38)], 0.09, 0.5)
    return beast(kit, build, head=head, tail=tail, tail_swing=16)


def fox(kit: Kit) -> list[Part]:
    """A fox whose tail has a white tip."""
    build = Build(
        rgb(214, 104, 44),
        back=-0.6,
        long=0.92,
        deep=0.25,
        leg=0.06,
        head=(0.54, -0.74),
        skull=0.13,
        muzzle=0.17,
        neck=0.16,
        belly=rgb(244, 226, 206),
    )

    def head(brush: Brush, colour: Colour) -> None:
        plain_head(build, ear=[(-0.1, -0.08), (-0.04, -0.27), (0.05, -0.1)], muzzle_thick=0.32, drop=0.07)(
            brush, colour
        )
        brush.shape([(0.02, 0.11), (0.18, 0.08), (0.06, 0.02)], rgb(248, 236, 222), alpha=0.9)

    def tail(brush: Brush, colour: Colour) -> None:
        brush.shape(
            [(0.04, 0.0), (-0.2, 0.04), (-0.42, 0.16), (-0.56, 0.18), (-0.46, 0.3), (-0.22, 0.24), (0, 0.12)],
            colour,
            smooth=True,
        )
        brush.shape([(-0.42, 0.17), (-0.58, 0.17), (-0.46, 0.3), (-0.38, 0.27)], rgb(246, 238, 228), smooth=True)

    return beast(kit, build, head=head, tail=tail)


def rabbit(kit: Kit) -> list[Part]:
    """A rabbit with long ears."""
    build = Build(
        rgb(190, 168, 146),
        back=-0.58,
        long=0.66,
        deep=0.36,
        leg=0.075,
        head=(0.36, -0.64),
        skull=0.17,
        muzzle=0.08,
        neck=0.18,
        step=20,
        beat=1.3,
    )

    def head(brush: Brush, colour: Colour) -> None:
        for x in (-0.1, 0.02):
            brush.oval(x, -0.3, 0.055, 0.2, colour, turn=-8)
            brush.oval(x + 0.005, -0.29, 0.028, 0.15, rgb(236, 178, 172), turn=-8, alpha=0.8)
        plain_head(build, ear=[(-0.1, -0.1), (-0.06, -0.14), (-0.02, -0.1)], nose=rgb(214, 120, 124), muzzle_thick=0.7)(
            brush, colour
        )

    return beast(kit, build, head=head, tail=long_tail([(0, 0.05), (-0.05, 0.04)], 0.16, 0.9, (0.97, 0.96, 0.94)))


def lion(kit: Kit) -> list[Part]:
    """A lion with a mane."""
    build = Build(
        rgb(216, 162, 86),
        back=-0.66,
        long=0.96,
        deep=0.30,
        leg=0.085,
        head=(0.54, -0.74),
        skull=0.14,
        muzzle=0.1,
        neck=0.22,
        step=16,
        beat=0.8,
    )

    def head(brush: Brush, colour: Colour) -> None:
        mane = mixed(colour, rgb(112, 56, 24), 0.65)
        for x, y, r in (
            (-0.1, -0.12, 0.15),
            (-0.16, 0.04, 0.16),
            (-0.1, 0.2, 0.15),
            (0.02, -0.17, 0.13),
            (0.0, 0.18, 0.14),
            (0.07, -0.1, 0.12),
        ):
            brush.oval(x, y, r, r, mane, round_=0.5)
        plain_head(build, ear=[(-0.08, -0.1), (-0.06, -0.18), (0.02, -0.12)], muzzle_thick=0.8, drop=0.05)(
            brush, colour
        )

    return beast(
        kit,
        build,
        head=head,
        tail=long_tail([(0, 0.0), (-0.16, 0.1), (-0.2, 0.32), (-0.3, 0.36)], 0.045, 0.8, rgb(110, 60, 30)),
    )


def bear(kit: Kit) -> list[Part]:
    """A heavy bear."""
    usual = rgb(112, 76, 54) if kit.season != "winter" else rgb(238, 236, 228)
    build = Build(
        usual,
        back=-0.86,
        long=1.0,
        deep=0.48,
        leg=0.13,
        head=(0.6, -0.72),
        skull=0.18,
        muzzle=0.15,
        neck=0.32,
        step=13,
        beat=0.6,
    )
    head = plain_head(
        build, ear=[(-0.1, -0.12), (-0.1, -0.24), (0.0, -0.24), (0.03, -0.13)], muzzle_thick=0.6, drop=0.06
    )
    return beast(kit, build, head=head, tail=long_tail([(0, 0.05), (-0.04, 0.07)], 0.1, 0.9))
