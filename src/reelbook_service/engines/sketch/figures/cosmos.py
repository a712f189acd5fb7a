"""Figures of the sky and of space: sun, moon, rainbow, planets, rockets, fireworks."""

from __future__ import annotations

import numpy as np

from ..palette import mixed, rgb, scaled
from ..puppet import Part
from ..soft_brush import Brush
from .kit import Kit, flame

WHITE = rgb(246, 246, 244)


def sun(kit: Kit) -> list[Part]:
    """A large sun with soft rays."""
    colour = kit.colour(rgb(255, 214, 92))

    def disc(brush: Brush) -> None:
        brush.halo(0, 0, 1.25, mixed(colour, kit.light.glow, 0.4), 0.75)
        brush.oval(0, 0, 0.44, 0.44, mixed(colour, (1, 1, 0.92), 0.35), glow=True)

    def rays(brush: Brush) -> None:
        for index in range(12):
            angle = index * np.pi / 6
            far = 0.98 if index % 2 else 0.8
            side = 0.09
            brush.shape(
                [
                    (0.5 * float(np.cos(angle - side)), 0.5 * float(np.sin(angle - side))),
                    (far * float(np.cos(angle)), far * float(np.sin(angle))),
                    (0.5 * float(np.cos(angle + side)), 0.5 * float(np.sin(angle + side))),
                ],
                mixed(colour, (1, 1, 1), 0.3),
                glow=True,
                alpha=0.4,
            )

    return [Part(kit.paint(-1, -1, 1, 1, rays), spin=6), Part(kit.paint(-1.25, -1.25, 1.25, 1.25, disc))]


def moon(kit: Kit) -> list[Part]:
    """A full moon with dark seas."""
    colour = kit.colour(rgb(248, 244, 222))

    def ink(brush: Brush) -> None:
        brush.halo(0, 0, 1.3, mixed(colour, rgb(170, 190, 255), 0.35), 0.5)
        brush.oval(0, 0, 0.5, 0.5, colour, glow=True)
        for x, y, r in (
            (-0.18, -0.14, 0.13),
            (0.06, -0.24, 0.09),
            (0.2, 0.06, 0.12),
            (-0.1, 0.18, 0.1),
            (0.1, 0.3, 0.06),
            (-0.3, 0.08, 0.05),
        ):
            brush.oval(x, y, r, r * 0.9, scaled(colour, 0.9), glow=True, alpha=0.75)

    return [Part(kit.paint(-1.3, -1.3, 1.3, 1.3, ink))]


def rainbow(kit: Kit) -> list[Part]:
    """An arc of seven soft colours."""
    bands = (
        rgb(226, 76, 70),
        rgb(240, 148, 62),
        rgb(248, 218, 90),
        rgb(110, 190, 100),
        rgb(80, 156, 220),
        rgb(84, 94, 190),
        rgb(150, 96, 190),
    )

    def ink(brush: Brush) -> None:
        angles = np.linspace(np.pi, 2 * np.pi, 60)
        for index, colour in enumerate(bands):
            radius = 1.0 - 0.026 * index
            arc = [(radius * float(np.cos(a)), radius * float(np.sin(a))) for a in angles]
            brush.line(arc, 0.036, colour, smooth=False, round_=0, glow=True, alpha=0.5)

    return [Part(kit.paint(-1.03, -1.03, 1.03, 0.02, ink))]


def cloud(kit: Kit) -> list[Part]:
    """A white cloud."""
    colour = kit.colour(rgb(252, 252, 252))

    def ink(brush: Brush) -> None:
        for x, y, r in (
            (-0.62, -0.22, 0.24),
            (-0.3, -0.4, 0.34),
            (0.12, -0.52, 0.42),
            (0.5, -0.32, 0.3),
            (0.78, -0.2, 0.2),
            (0.06, -0.24, 0.3),
        ):
            brush.oval(x, y, r, r, colour, round_=0.55, shade=0.1, alpha=0.96)
        brush.box(-0.84, -0.26, 0.94, 0.0, colour, corner=0.13, round_=0.3)

    return [Part(kit.paint(-0.95, -1.0, 1.05, 0.04, ink))]


def star(kit: Kit) -> list[Part]:
    """A five-pointed star that shines."""
    colour = kit.colour(rgb(255, 224, 110))

    def ink(brush: Brush) -> None:
        brush.halo(0, -0.5, 0.9, colour, 0.4)
        points = []
        for index in range(10):
            radius, angle = (0.5, 0.21)[index % 2], np.pi * index / 5 - np.pi / 2
            points.append((radius * float(np.cos(angle)), -0.5 + radius * float(np.sin(angle))))
        brush.shape(points, colour, glow=True)

    return [Part(kit.paint(-0.9, -1.4, 0.9, 0.4, ink), swing=8, beat=0.3, phase=kit.chance(0, 1))]


def planet(kit: Kit) -> list[Part]:
    """A banded planet with a ring."""
    choices = (rgb(222, 170, 112), rgb(96, 150, 206), rgb(196, 108, 96), rgb(140, 190, 160))
    colour = kit.colour(choices[int(kit.rng.integers(4))])

    def ring(back: bool) -> Part:
        def ink(brush: Brush) -> None:
            for rx, width, alpha in ((0.92, 0.07, 0.75), (0.78, 0.05, 0.55)):
                angles = np.linspace(np.pi, 2 * np.pi, 40) if back else np.linspace(0, np.pi, 40)
                arc = [(rx * float(np.cos(a)), rx * 0.26 * float(np.sin(a))) for a in angles]
                brush.line(arc, width, mixed(colour, WHITE, 0.55), smooth=False, round_=0, alpha=alpha)

        return Part(kit.paint(-1, -0.34, 1, 0.34, ink), (0, 0), swing=0, spin=0)

    def ball(brush: Brush) -> None:
        brush.halo(0, 0, 0.72, colour, 0.3)
        brush.oval(0, 0, 0.5, 0.5, colour, round_=1.0, shade=0.3)
        for y, half, factor in ((-0.26, 0.38, 1.14), (-0.08, 0.47, 0.84), (0.12, 0.46, 1.12), (0.3, 0.36, 0.85)):
            brush.oval(0, y, half, 0.05, scaled(colour, factor), alpha=0.55, round_=0.2)
        side = -1 if kit.light.across > 0.5 else 1
        brush.shape(
            [
                (0, -0.5),
                (side * 0.34, -0.37),
                (side * 0.5, 0),
                (side * 0.34, 0.37),
                (0, 0.5),
                (side * 0.2, 0.3),
                (side * 0.28, 0),
                (side * 0.2, -0.3),
            ],
            (0.03, 0.03, 0.1),
            smooth=True,
            round_=0,
            alpha=0.45,
            glow=True,
        )

    return [ring(True), Part(kit.paint(-0.75, -0.75, 0.75, 0.75, ball)), ring(False)]


def comet(kit: Kit) -> list[Part]:
    """A shooting star with a long tail."""
    colour = kit.colour(rgb(214, 234, 255))

    def ink(brush: Brush) -> None:
        for width, alpha, length in ((0.3, 0.18, 3.0), (0.18, 0.3, 2.3), (0.08, 0.6, 1.5)):
            brush.line(
                [(0, 0), (-length * 0.86, -length * 0.42)],
                width,
                colour,
                taper=0.05,
                smooth=False,
                glow=True,
                alpha=alpha,
            )
        brush.halo(0, 0, 0.5, colour, 0.8)
        brush.oval(0, 0, 0.13, 0.13, (1, 1, 1), glow=True)

    return [Part(kit.paint(-2.8, -1.5, 0.5, 0.5, ink))]


def rocket(kit: Kit) -> list[Part]:
    """A rocket with its jet."""
    colour = kit.colour(rgb(212, 62, 54))

    def ink(brush: Brush) -> None:
        for side in (-1, 1):
            brush.shape([(side * 0.13, -0.4), (side * 0.32, -0.12), (side * 0.3, 0.02), (side * 0.12, -0.12)], colour)
        brush.shape(
            [(0, -1.0), (0.13, -0.78), (0.18, -0.5), (0.13, -0.1), (-0.13, -0.1), (-0.18, -0.5), (-0.13, -0.78)],
            WHITE,
            smooth=True,
            round_=0.9,
        )
        brush.shape([(0, -1.0), (0.1, -0.86), (0.145, -0.74), (-0.145, -0.74), (-0.1, -0.86)], colour, round_=0.7)
        brush.oval(0, -0.56, 0.085, 0.085, scaled(colour, 0.75))
        brush.oval(0, -0.56, 0.06, 0.06, rgb(120, 200, 232), glow=True)
        brush.box(-0.11, -0.12, 0.11, -0.05, rgb(90, 92, 102))
        brush.shape([(-0.03, -0.3), (0.03, -0.3), (0.03, 0.06), (-0.03, 0.06)], scaled(colour, 0.9))

    body = Part(kit.paint(-0.36, -1.04, 0.36, 0.1, ink), swing=1.2, beat=1.4)
    return [*flame(kit, 0, -0.06, 0.42, down=True), body]


def ufo(kit: Kit) -> list[Part]:
    """A saucer with blinking lamps and a beam."""
    colour = kit.colour(rgb(150, 164, 186))

    def beam(brush: Brush) -> None:
        brush.shape([(-0.26, 0.0), (0.26, 0.0), (0.6, 1.1), (-0.6, 1.1)], rgb(170, 255, 214), glow=True, alpha=0.22)

    def ink(brush: Brush) -> None:
        brush.shape(
            [(-0.34, -0.1), (-0.3, -0.36), (0, -0.5), (0.3, -0.36), (0.34, -0.1)],
            rgb(150, 226, 230),
            smooth=True,
            alpha=0.85,
            round_=0.9,
        )
        brush.oval(0, 0, 1.0, 0.2, colour, round_=0.9)
        brush.oval(0, -0.06, 0.66, 0.1, mixed(colour, WHITE, 0.4))
        for x, lamp in (
            (-0.66, rgb(255, 96, 84)),
            (-0.34, rgb(255, 220, 110)),
            (0, rgb(120, 255, 160)),
            (0.34, rgb(255, 220, 110)),
            (0.66, rgb(255, 96, 84)),
        ):
            brush.oval(x, 0.08 - 0.05 * abs(x), 0.05, 0.04, lamp, glow=True)

    return [
        Part(kit.paint(-0.62, -0.02, 0.62, 1.12, beam), (0, 0.08), narrow=0.2, beat=0.4),
        Part(kit.paint(-1.02, -0.55, 1.02, 0.24, ink), swing=5, beat=0.3),
    ]


def satellite(kit: Kit) -> list[Part]:
    """A satellite with two solar panels."""
    colour = kit.colour(rgb(206, 176, 104))

    def ink(brush: Brush) -> None:
        brush.line([(-0.9, 0), (0.9, 0)], 0.03, rgb(150, 154, 164), smooth=False)
        for left in (-1.0, 0.36):
            brush.box(left, -0.17, left + 0.64, 0.17, rgb(52, 84, 160), round_=0.4)
            for index in range(1, 4):
                brush.line(
                    [(left + 0.16 * index, -0.17), (left + 0.16 * index, 0.17)],
                    0.014,
                    rgb(130, 160, 220),
                    smooth=False,
                    round_=0,
                )
        brush.box(-0.2, -0.24, 0.2, 0.24, colour, corner=0.03, round_=0.6)
        brush.oval(0.0, -0.36, 0.2, 0.09, rgb(226, 228, 232))
        brush.line([(0, -0.36), (0, -0.54)], 0.02, rgb(226, 228, 232), smooth=False)

    return [Part(kit.paint(-1.05, -0.6, 1.05, 0.3, ink), swing=12, beat=0.08)]


def firework(kit: Kit) -> list[Part]:
    """A burst of sparks that opens and fades."""
    choices = (rgb(255, 120, 110), rgb(255, 214, 110), rgb(130, 200, 255), rgb(176, 255, 170), rgb(240, 150, 255))
    colour = kit.colour(choices[int(kit.rng.integers(5))])

    def ink(brush: Brush) -> None:
        brush.halo(0, 0, 0.24, colour, 0.4)
        for ring, count in ((0.42, 22), (0.28, 16), (0.15, 10)):
            for index in range(count):
                angle = 2 * np.pi * (index + 0.5 * (ring > 0.3)) / count
                x, y = ring * float(np.cos(angle)), ring * float(np.sin(angle))
                brush.line([(x * 0.78, y * 0.78), (x, y)], 0.012, colour, taper=1.6, smooth=False, glow=True)
                brush.oval(x, y, 0.016, 0.016, (1, 1, 0.95), glow=True, round_=0)

    sprite = kit.paint(-0.5, -0.5, 0.5, 0.5, ink)
    phase = kit.chance(0, 1)
    return [
        Part(sprite, (dx, dy), rise=-0.06, swell=1.5, life=2.6, phase=phase + share)
        for dx, dy, share in ((0, 0, 0.0), (0.55, -0.3, 0.5))
    ]
