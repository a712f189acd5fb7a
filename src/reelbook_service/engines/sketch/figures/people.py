"""Figures of people, robots and astronauts, and umbrellas."""

from __future__ import annotations

from ..palette import Colour, mixed, rgb, scaled
from ..puppet import Part
from ..soft_brush import Brush, Sprite
from .kit import Kit

SKINS = (rgb(240, 200, 170), rgb(206, 150, 112), rgb(146, 96, 66), rgb(104, 68, 50))
HAIRS = (rgb(60, 44, 36), rgb(34, 30, 34), rgb(150, 100, 56), rgb(196, 150, 90))
SHIRTS = (rgb(206, 76, 66), rgb(64, 118, 176), rgb(232, 178, 72), rgb(92, 150, 104), rgb(154, 98, 160))


def _limb(kit: Kit, length: float, width: float, colour: Colour, end: Colour, *, foot: bool) -> Sprite:
    def ink(brush: Brush) -> None:
        brush.line([(0, 0), (0.005, length * 0.5), (0, length)], width, colour, taper=0.78)
        if foot:
            brush.shape(
                [
                    (-width * 0.5, length + 0.025),
                    (-width * 0.4, length - 0.02),
                    (width * 0.5, length - 0.02),
                    (width * 1.25, length + 0.025),
                ],
                end,
            )
        else:
            brush.oval(0, length, width * 0.5, width * 0.55, end)

    return kit.paint(-width * 1.4, -width, width * 1.6, length + width, ink)


def person(kit: Kit) -> list[Part]:
    """A walking person."""
    return _walker(kit, kit.colour(SHIRTS[int(kit.rng.integers(len(SHIRTS)))]))


def _walker(kit: Kit, shirt: Colour, *, raised: bool = False) -> list[Part]:
    skin, hair = SKINS[int(kit.rng.integers(4))], HAIRS[int(kit.rng.integers(4))]
    trousers = mixed(rgb(54, 62, 92), shirt, 0.12)
    dress = bool(kit.rng.random() < 0.4)
    shoe = rgb(62, 46, 44)

    def body(brush: Brush) -> None:
        if dress:
            brush.shape(
                [(-0.075, -0.82), (0.075, -0.82), (0.085, -0.6), (0.17, -0.3), (-0.17, -0.3), (-0.085, -0.6)],
                shirt,
                smooth=False,
                round_=0.8,
            )
        else:
            brush.shape(
                [(-0.09, -0.8), (0, -0.84), (0.09, -0.8), (0.1, -0.6), (0.09, -0.44), (-0.09, -0.44), (-0.1, -0.6)],
                shirt,
                smooth=True,
                round_=0.8,
            )
        brush.line([(0, -0.84), (0.005, -0.88)], 0.055, skin, smooth=False)
        brush.oval(0.012, -0.925, 0.07, 0.08, skin, round_=0.7)
        brush.shape(
            [
                (-0.08, -0.86),
                (-0.075, -0.98),
                (0.01, -1.02),
                (0.08, -0.97),
                (0.06, -0.95),
                (-0.01, -0.955),
                (-0.03, -0.9),
            ],
            hair,
            smooth=True,
        )
        if dress:
            brush.shape([(-0.085, -0.96), (-0.02, -0.97), (-0.04, -0.84), (-0.1, -0.78)], hair, smooth=True)

    leg = _limb(kit, 0.4, 0.085, skin if dress else trousers, shoe, foot=True)
    far_leg = _limb(kit, 0.4, 0.085, scaled(skin if dress else trousers, 0.75), scaled(shoe, 0.8), foot=True)
    arm = _limb(kit, 0.3, 0.06, shirt, skin, foot=False)
    far_arm = _limb(kit, 0.3, 0.06, scaled(shirt, 0.75), scaled(skin, 0.8), foot=False)
    swing = 0.0 if kit.still else 24.0
    beat, phase = 0.85, kit.chance(0, 1)
    near_arm = Part(arm, (0.0, -0.76), swing=swing * 0.9, beat=beat, phase=phase + 0.5)
    if raised:
        near_arm = Part(_raised_arm(kit, shirt, skin), (0.0, -0.76), swing=2, beat=beat)
    return [
        Part(far_arm, (0.02, -0.76), swing=swing * 0.9, beat=beat, phase=phase),
        Part(far_leg, (0.02, -0.45), swing=swing, beat=beat, phase=phase + 0.5),
        Part(leg, (-0.01, -0.45), swing=swing, beat=beat, phase=phase),
        Part(kit.paint(-0.2, -1.06, 0.2, -0.26, body), bob=0.0 if kit.still else 0.012, beat=2 * beat, phase=phase),
        near_arm,
    ]


def _raised_arm(kit: Kit, shirt: Colour, skin: Colour) -> Sprite:
    def ink(brush: Brush) -> None:
        brush.line([(0, 0), (0.1, 0.12), (0.16, -0.02)], 0.06, shirt, taper=0.8)
        brush.oval(0.165, -0.04, 0.03, 0.03, skin)

    return kit.paint(-0.06, -0.12, 0.24, 0.2, ink)


def under_umbrella(kit: Kit) -> list[Part]:
    """A walking person with an umbrella."""
    cover = kit.colour(rgb(206, 52, 48))
    parts = _walker(kit, mixed(rgb(70, 84, 112), rgb(180, 150, 110), kit.chance(0, 1)), raised=True)

    def ink(brush: Brush) -> None:
        canopy(brush, cover, 0.0, -0.30, 0.44)
        brush.line([(0, -0.52), (0, 0.14)], 0.018, rgb(70, 60, 60), smooth=False)

    return [
        *parts[:-1],
        Part(kit.paint(-0.5, -0.7, 0.5, 0.2, ink), (0.165, -0.92), swing=2.0, beat=0.85, bob=0.01),
        parts[-1],
    ]


def canopy(brush: Brush, colour: Colour, x: float, y: float, half: float) -> None:
    """Paint the cloth of an umbrella in six gores, its rim at y."""
    top = y - half * 0.72
    edges = [-half + 2 * half * index / 4 for index in range(5)]
    rim = [(x + edge, y + (0.05 * half if index % 2 else 0)) for index, edge in enumerate(edges)]
    brush.shape(
        [
            (x - half, y),
            (x - half * 0.86, y - half * 0.36),
            (x - half * 0.45, y - half * 0.64),
            (x, top),
            (x + half * 0.45, y - half * 0.64),
            (x + half * 0.86, y - half * 0.36),
            (x + half, y),
            *rim[::-1][1:-1],
        ],
        colour,
        round_=0.9,
    )
    for left, right, factor in ((0, 1, 0.82), (2, 3, 0.9)):
        brush.shape(
            [(x, top + 0.01), rim[left], (x + (edges[left] + edges[right]) / 2, y - half * 0.12), rim[right]],
            scaled(colour, factor),
            round_=0.2,
            alpha=0.65,
        )
    brush.line([(x, top), (x, top - half * 0.14)], half * 0.04, rgb(70, 60, 60), smooth=False)


def umbrella(kit: Kit) -> list[Part]:
    """An open umbrella without a person, swaying."""
    colour = kit.colour(rgb(206, 52, 48))

    def ink(brush: Brush) -> None:
        brush.line([(0, -0.7), (0, -0.08), (0.05, -0.02), (0.1, -0.07)], 0.03, rgb(92, 66, 52))
        canopy(brush, colour, 0, -0.5, 0.55)

    return [Part(kit.paint(-0.6, -1.02, 0.6, 0.02, ink), swing=3, beat=0.4, phase=kit.chance(0, 1))]


def dancer(kit: Kit) -> list[Part]:
    """A dancer on one leg, arms up."""
    colour, skin = kit.colour(rgb(232, 128, 156)), SKINS[int(kit.rng.integers(4))]

    def ink(brush: Brush) -> None:
        brush.line([(0, -0.42), (0.01, -0.2), (0, -0.01)], 0.06, skin, taper=0.5)
        brush.line([(0.02, -0.42), (0.2, -0.3), (0.05, -0.22)], 0.055, skin, taper=0.6)
        brush.shape(
            [(-0.26, -0.42), (-0.07, -0.56), (0.07, -0.56), (0.26, -0.42), (0.12, -0.37), (-0.12, -0.37)],
            mixed(colour, (1, 1, 1), 0.3),
            smooth=True,
        )
        brush.shape([(-0.07, -0.74), (0.07, -0.74), (0.06, -0.5), (-0.06, -0.5)], colour, smooth=True, round_=0.8)
        for side in (-1, 1):
            brush.line([(side * 0.06, -0.72), (side * 0.22, -0.86), (side * 0.07, -1.02)], 0.045, skin, taper=0.6)
        brush.oval(0, -0.82, 0.06, 0.07, skin)
        brush.oval(-0.01, -0.87, 0.06, 0.04, HAIRS[0])
        brush.oval(-0.01, -0.92, 0.035, 0.035, HAIRS[0])

    return [
        Part(kit.paint(-0.3, -1.06, 0.3, 0.02, ink), swing=6, beat=0.5, narrow=0.4, phase=kit.chance(0, 1), bob=0.03)
    ]


def robot(kit: Kit) -> list[Part]:
    """A friendly robot."""
    colour = kit.colour(rgb(150, 172, 190))
    dark = mixed(colour, rgb(40, 46, 60), 0.65)

    def body(brush: Brush) -> None:
        brush.box(-0.21, -0.66, 0.21, -0.26, colour, corner=0.06, round_=0.6)
        brush.box(-0.12, -0.56, 0.12, -0.42, dark, corner=0.03)
        for index, lamp in enumerate((rgb(240, 90, 80), rgb(250, 206, 90), rgb(110, 220, 140))):
            brush.oval(-0.07 + 0.07 * index, -0.49, 0.022, 0.022, lamp, glow=True)
        brush.box(-0.05, -0.72, 0.05, -0.64, dark)

    def head(brush: Brush) -> None:
        brush.line([(0, -0.2), (0, -0.32)], 0.018, dark, smooth=False)
        brush.oval(0, -0.33, 0.032, 0.032, rgb(250, 90, 80), glow=True)
        brush.box(-0.17, -0.22, 0.17, 0.04, colour, corner=0.07, round_=0.6)
        brush.box(-0.13, -0.17, 0.13, -0.03, dark, corner=0.05)
        for x in (-0.06, 0.07):
            brush.oval(x, -0.1, 0.033, 0.036, rgb(150, 244, 255), glow=True)

    leg = _limb(kit, 0.22, 0.1, dark, colour, foot=True)
    arm = _limb(kit, 0.3, 0.075, dark, colour, foot=False)
    swing = 0.0 if kit.still else 18.0
    return [
        Part(leg, (0.1, -0.26), swing=swing, beat=0.8, phase=0.5), Part(leg, (-0.1, -0.26), swing=swing, beat=0.8),
        Part(arm, (0.24, -0.6), swing=26, beat=0.8), Part(kit.paint(-0.24, -0.74, 0.24, -0.22, body), bob=0.012, beat=1.6),
        Part(kit.paint(-0.2, -0.38, 0.2, 0.06, head), (0, -0.74), swing=4, beat=0.4, bob=0.012), Part(arm, (-0.24, -0.6), swing=26, beat=0.8, phase=0.5),
    ]  # fmt: skip


def astronaut(kit: Kit) -> list[Part]:
    """An astronaut, floating."""
    white, trim = rgb(240, 242, 246), kit.colour(rgb(226, 110, 60))

    def ink(brush: Brush) -> None:
        brush.box(-0.24, -0.74, 0.06, -0.36, scaled(white, 0.75), corner=0.05)
        for points in ([(-0.08, -0.34), (-0.16, -0.16), (-0.1, -0.02)], [(0.08, -0.34), (0.18, -0.2), (0.16, -0.03)]):
            brush.line(points, 0.14, white, taper=0.8)
            brush.oval(points[-1][0] + 0.02, points[-1][1], 0.09, 0.05, trim)
        brush.shape(
            [(-0.16, -0.7), (0.16, -0.7), (0.18, -0.5), (0.14, -0.3), (-0.14, -0.3), (-0.18, -0.5)],
            white,
            smooth=True,
            round_=0.8,
        )
        brush.line([(0.14, -0.62), (0.32, -0.56), (0.38, -0.72)], 0.1, white, taper=0.8)
        brush.line([(-0.14, -0.62), (-0.3, -0.48), (-0.38, -0.54)], 0.1, white, taper=0.8)
        brush.box(-0.08, -0.56, 0.08, -0.44, trim, corner=0.02)
        brush.oval(0, -0.84, 0.17, 0.17, white, round_=0.8)
        brush.oval(0.035, -0.84, 0.12, 0.11, rgb(38, 52, 92), round_=0.9)
        brush.oval(0.075, -0.89, 0.035, 0.025, (1, 1, 1), turn=-30, round_=0, alpha=0.75)

    return [Part(kit.paint(-0.45, -1.04, 0.45, 0.06, ink), swing=9, beat=0.12, phase=kit.chance(0, 1))]
