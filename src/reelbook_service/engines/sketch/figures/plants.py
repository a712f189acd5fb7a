"""Figures of plants: trees, flowers, mushrooms."""

from __future__ import annotations

import numpy as np

from ..palette import Colour, rgb, scaled
from ..puppet import Part
from ..soft_brush import Brush, Sprite
from .kit import Kit

BARK, LEAF, STEM = rgb(112, 80, 58), rgb(84, 142, 70), rgb(84, 134, 66)


def leafage(kit: Kit) -> Colour:
    """The colour of leaves in this season."""
    autumn = (rgb(214, 120, 44), rgb(200, 84, 44), rgb(226, 168, 60))[int(kit.rng.integers(3))]
    return {"autumn": autumn, "spring": rgb(244, 178, 198), "winter": rgb(226, 234, 242)}.get(kit.season, LEAF)


def tree(kit: Kit) -> list[Part]:
    """A broad tree whose crown sways."""
    colour = kit.colour(leafage(kit))

    def trunk(brush: Brush) -> None:
        brush.shape(
            [(-0.07, 0.0), (-0.045, -0.2), (-0.05, -0.5), (0.05, -0.5), (0.045, -0.2), (0.08, 0.0)], BARK, round_=0.7
        )
        brush.line([(0.0, -0.36), (0.16, -0.56)], 0.04, BARK, taper=0.6, smooth=False)
        brush.line([(0.0, -0.32), (-0.15, -0.52)], 0.035, BARK, taper=0.6, smooth=False)

    def crown(brush: Brush) -> None:
        rng = np.random.default_rng(int(kit.rng.integers(1 << 30)))
        for shade, spread, size in ((0.74, 0.30, 0.17), (0.9, 0.27, 0.15), (1.06, 0.20, 0.11)):
            for index in range(9):
                angle = 2 * np.pi * index / 9 + rng.uniform(0, 0.6)
                x, y = (
                    spread * float(np.cos(angle)),
                    -0.30 + spread * 0.78 * float(np.sin(angle)) - (1.06 - shade) * -0.1,
                )
                radius = size * rng.uniform(0.8, 1.15)
                brush.oval(
                    x - (shade - 0.8) * (0.1 if kit.light.across < 0.5 else -0.1),
                    y - (shade - 0.74) * 0.12,
                    radius,
                    radius * 0.92,
                    scaled(colour, shade),
                    round_=0.5,
                    shade=0.08,
                )
            brush.oval(0, -0.3, spread, spread * 0.8, scaled(colour, shade), round_=0.3, shade=0.1, alpha=0.7)

    return [
        Part(kit.paint(-0.2, -0.62, 0.22, 0.03, trunk)),
        Part(kit.paint(-0.52, -0.72, 0.52, 0.14, crown), (0, -0.32), swing=1.4, beat=0.25, phase=kit.chance(0, 1)),
    ]


def pine(kit: Kit) -> list[Part]:
    """A fir in five tiers, white in winter."""
    colour = kit.colour(rgb(52, 104, 74))

    def ink(brush: Brush) -> None:
        brush.box(-0.045, -0.14, 0.045, 0.0, BARK, round_=0.6)
        for index in range(5):
            y, half = -0.1 - 0.17 * index, 0.34 - 0.058 * index
            brush.shape(
                [
                    (0, y - 0.28),
                    (half * 0.5, y - 0.08),
                    (half, y),
                    (half * 0.4, y + 0.03),
                    (0, y + 0.015),
                    (-half * 0.4, y + 0.03),
                    (-half, y),
                    (-half * 0.5, y - 0.08),
                ],
                scaled(colour, 0.86 + 0.06 * index),
                round_=0.6,
            )
            if kit.season == "winter":
                brush.shape(
                    [
                        (0, y - 0.26),
                        (half * 0.5, y - 0.09),
                        (half * 0.9, y - 0.01),
                        (half * 0.3, y - 0.06),
                        (0, y - 0.05),
                        (-half * 0.3, y - 0.06),
                        (-half * 0.9, y - 0.01),
                        (-half * 0.5, y - 0.09),
                    ],
                    rgb(240, 245, 250),
                    round_=0.4,
                    alpha=0.9,
                )

    return [Part(kit.paint(-0.38, -1.08, 0.38, 0.02, ink), swing=0.8, beat=0.25, phase=kit.chance(0, 1))]


def palm(kit: Kit) -> list[Part]:
    """A palm with nodding leaves."""
    colour = kit.colour(rgb(72, 140, 78))
    lean = kit.chance(-0.2, 0.2)
    top = (lean, -0.72)

    def trunk(brush: Brush) -> None:
        brush.line([(0, 0.0), (lean * 0.2, -0.35), top], 0.075, rgb(150, 112, 78), taper=0.6, round_=0.7)
        for index in range(8):
            share = (index + 1) / 9
            x = lean * (0.2 * min(1, share * 2) if share < 0.5 else 0.2 + 0.8 * (share - 0.5) * 2)
            brush.line(
                [(x - 0.03, -0.72 * share), (x + 0.03, -0.72 * share + 0.012)],
                0.008,
                rgb(110, 78, 54),
                smooth=False,
                round_=0,
            )

    def nuts(brush: Brush) -> None:
        for x, y in ((-0.035, 0.03), (0.035, 0.035), (0, 0.055)):
            brush.oval(x, y, 0.032, 0.036, rgb(118, 78, 48), round_=0.8)

    leaves = [
        Part(_frond(kit, colour, angle), top, swing=4, beat=0.3, phase=index * 0.13)
        for index, angle in enumerate((-100, -60, -20, 20, 160, 200, 240))
    ]
    return [Part(kit.paint(-0.3, -0.76, 0.3, 0.03, trunk)), *leaves, Part(kit.paint(-0.1, -0.02, 0.1, 0.12, nuts), top)]


def _frond(kit: Kit, colour: Colour, angle: float) -> Sprite:
    """A palm leaf that points `angle` degrees down from the right, its upper side up."""
    cosine, sine = float(np.cos(np.radians(angle))), float(np.sin(np.radians(angle)))
    over = -1 if abs(angle) > 90 else 1

    def ink(brush: Brush) -> None:
        outline = [
            (0, 0),
            (0.16, -0.1 * over),
            (0.34, -0.06 * over),
            (0.48, 0.12 * over),
            (0.32, 0.04 * over),
            (0.14, 0.02 * over),
        ]
        turned = [(x * cosine - y * sine, x * sine + y * cosine) for x, y in outline]
        brush.shape(turned, scaled(colour, 0.85 + 0.2 * abs(sine)), smooth=True, round_=0.5)

    return kit.paint(-0.54, -0.54, 0.54, 0.54, ink)


FLOWERS = (
    rgb(226, 74, 78),
    rgb(246, 196, 74),
    rgb(240, 150, 184),
    rgb(150, 104, 190),
    rgb(248, 246, 240),
    rgb(240, 130, 60),
)


def flower(kit: Kit) -> list[Part]:
    """A flower with petals around a yellow heart, nodding."""
    colour = kit.colour(FLOWERS[int(kit.rng.integers(len(FLOWERS)))])

    def stem(brush: Brush) -> None:
        brush.line([(0, 0.0), (0.03, -0.3), (0.0, -0.74)], 0.035, STEM, taper=0.8)
        brush.shape([(0.015, -0.22), (0.18, -0.4), (0.26, -0.36), (0.14, -0.24)], STEM, smooth=True)
        brush.shape([(0.01, -0.34), (-0.16, -0.5), (-0.22, -0.44), (-0.1, -0.34)], scaled(STEM, 0.9), smooth=True)
        for index in range(8):
            angle = 2 * np.pi * index / 8
            brush.oval(
                0.155 * float(np.cos(angle)),
                -0.78 + 0.155 * float(np.sin(angle)),
                0.125,
                0.075,
                scaled(colour, 0.92 + 0.1 * (index % 2)),
                turn=float(np.degrees(angle)),
                round_=0.5,
            )
        brush.oval(0, -0.78, 0.09, 0.09, rgb(246, 190, 66), round_=0.8)

    return [Part(kit.paint(-0.32, -1.08, 0.32, 0.02, stem), swing=3.5, beat=0.35, phase=kit.chance(0, 1))]


def sunflower(kit: Kit) -> list[Part]:
    """A tall sunflower."""
    colour = kit.colour(rgb(248, 190, 48))

    def ink(brush: Brush) -> None:
        brush.line([(0, 0.0), (0.03, -0.4), (0.0, -0.74)], 0.04, STEM)
        for side, y in ((1, -0.3), (-1, -0.44)):
            brush.shape(
                [(0, y), (side * 0.14, y - 0.12), (side * 0.28, y - 0.06), (side * 0.16, y + 0.04)], STEM, smooth=True
            )
        for ring, count, size in ((0.2, 18, 0.1), (0.165, 14, 0.085)):
            for index in range(count):
                angle = 2 * np.pi * (index + 0.5 * (ring < 0.19)) / count
                brush.oval(
                    ring * float(np.cos(angle)),
                    -0.78 + ring * float(np.sin(angle)),
                    size,
                    0.034,
                    scaled(colour, 0.86 if ring > 0.19 else 1.0),
                    turn=float(np.degrees(angle)),
                    round_=0.3,
                )
        brush.oval(0, -0.78, 0.13, 0.13, rgb(104, 66, 40), round_=0.7)
        brush.oval(0, -0.78, 0.075, 0.075, rgb(74, 46, 32), round_=0.4)

    return [Part(kit.paint(-0.34, -1.1, 0.34, 0.02, ink), swing=2.5, beat=0.28, phase=kit.chance(0, 1))]


def cactus(kit: Kit) -> list[Part]:
    """A cactus with two arms and a flower."""
    colour = kit.colour(rgb(84, 142, 84))

    def ink(brush: Brush) -> None:
        brush.line([(0.08, -0.34), (0.3, -0.38), (0.32, -0.66)], 0.14, colour, round_=0.9)
        brush.line([(-0.08, -0.26), (-0.28, -0.32), (-0.3, -0.54)], 0.13, colour, round_=0.9)
        brush.line([(0, 0.0), (0, -0.86)], 0.24, colour, smooth=False, round_=0.9)
        for x in (-0.06, 0.0, 0.06):
            brush.line([(x, -0.04), (x, -0.88)], 0.012, scaled(colour, 0.76), smooth=False, round_=0)
        brush.oval(0, -0.98, 0.08, 0.05, rgb(240, 110, 150))

    return [Part(kit.paint(-0.42, -1.06, 0.42, 0.06, ink))]


def mushroom(kit: Kit) -> list[Part]:
    """A toadstool with white dots."""
    colour = kit.colour(rgb(206, 52, 48))

    def ink(brush: Brush) -> None:
        brush.shape([(-0.13, 0.0), (-0.1, -0.5), (0.1, -0.5), (0.14, 0.0)], rgb(244, 236, 218), round_=0.8)
        brush.shape(
            [(-0.5, -0.46), (-0.42, -0.74), (0, -0.98), (0.42, -0.74), (0.5, -0.46), (0.2, -0.4), (-0.2, -0.4)],
            colour,
            smooth=True,
            round_=0.9,
        )
        for x, y, r in (
            (-0.26, -0.62, 0.06),
            (0.04, -0.8, 0.075),
            (0.3, -0.6, 0.05),
            (-0.02, -0.55, 0.045),
            (-0.16, -0.8, 0.04),
        ):
            brush.oval(x, y, r, r * 0.85, rgb(250, 246, 236), round_=0.3)

    return [Part(kit.paint(-0.54, -1.02, 0.54, 0.03, ink))]


def pumpkin(kit: Kit) -> list[Part]:
    """A pumpkin, with a lit face in the dark."""
    colour = kit.colour(rgb(232, 126, 40))

    def ink(brush: Brush) -> None:
        brush.line([(0, -0.78), (0.06, -0.98)], 0.09, rgb(96, 116, 60), smooth=False)
        for x, rx in ((-0.4, 0.26), (0.4, 0.26), (-0.2, 0.28), (0.2, 0.28), (0, 0.26)):
            brush.oval(x, -0.42, rx, 0.42, colour, round_=0.7)
        if kit.light.dark:
            for points in (
                [(-0.34, -0.5), (-0.22, -0.66), (-0.12, -0.5)],
                [(0.34, -0.5), (0.22, -0.66), (0.12, -0.5)],
                [
                    (-0.36, -0.34),
                    (-0.14, -0.28),
                    (0.0, -0.34),
                    (0.14, -0.28),
                    (0.36, -0.34),
                    (0.2, -0.14),
                    (-0.2, -0.14),
                ],
            ):
                brush.shape(points, rgb(255, 220, 110), glow=True)

    return [Part(kit.paint(-0.7, -1.05, 0.7, 0.03, ink))]
