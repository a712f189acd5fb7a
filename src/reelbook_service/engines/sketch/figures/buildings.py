"""Figures of buildings: houses, towers, mills, bridges, tents."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..palette import Colour, mixed, rgb, scaled
from ..puppet import Part
from ..soft_brush import Brush
from .kit import Kit, flame, smoke

LIT, PANE, WOOD, FRAME = rgb(255, 222, 140), rgb(112, 150, 176), rgb(120, 84, 58), rgb(240, 234, 222)


def window(kit: Kit, brush: Brush, left: float, top: float, right: float, bottom: float, frame: Colour = FRAME) -> None:
    """Paint a window with a cross, lit in the dark."""
    edge = 0.016
    brush.box(left - edge, top - edge, right + edge, bottom + edge, frame, round_=0)
    brush.box(left, top, right, bottom, LIT if kit.light.dark else PANE, glow=kit.light.dark, round_=0.2)
    brush.line([((left + right) / 2, top), ((left + right) / 2, bottom)], edge, frame, smooth=False, round_=0)
    brush.line([(left, (top + bottom) / 2), (right, (top + bottom) / 2)], edge, frame, smooth=False, round_=0)


def house(kit: Kit) -> list[Part]:
    """A cottage with a smoking chimney."""
    walls = (rgb(244, 226, 196), rgb(226, 196, 160), rgb(236, 236, 228), rgb(206, 178, 150))
    wall = kit.colour(walls[int(kit.rng.integers(4))])
    roof = rgb(182, 78, 58) if kit.season != "winter" else rgb(236, 241, 247)

    def ink(brush: Brush) -> None:
        if kit.light.dark:
            brush.halo(0, -0.3, 0.7, LIT, 0.3)
        brush.box(0.22, -0.98, 0.34, -0.66, rgb(150, 96, 76), round_=0.4)
        brush.box(-0.5, -0.56, 0.5, 0.0, wall, round_=0.25)
        brush.shape([(-0.6, -0.52), (-0.34, -0.94), (0.36, -0.94), (0.6, -0.52)], roof, round_=0.4, shade=0.25)
        for y in (-0.62, -0.73, -0.84):
            half = 0.6 - (y + 0.52) * -0.62
            brush.line([(-half, y), (half, y)], 0.01, scaled(roof, 0.82), smooth=False, round_=0)
        brush.box(-0.08, -0.34, 0.1, 0.0, WOOD, corner=0.03, round_=0.4)
        brush.oval(0.06, -0.16, 0.015, 0.015, rgb(230, 190, 90), round_=0)
        window(kit, brush, -0.38, -0.36, -0.2, -0.16)
        window(kit, brush, 0.22, -0.36, 0.4, -0.16)

    return [
        *smoke(kit, 0.28, -1.0, rgb(210, 208, 206), size=0.06, rise=0.45, lean=0.16, count=4, life=4.0),
        Part(kit.paint(-0.72, -1.04, 0.72, 0.3, ink)),
    ]


def church(kit: Kit) -> list[Part]:
    """A church with a pointed tower."""
    wall, roof = kit.colour(rgb(238, 230, 214)), rgb(104, 92, 108)

    def ink(brush: Brush) -> None:
        brush.box(-0.16, -0.4, 0.5, 0.0, wall, round_=0.25)
        brush.shape([(-0.2, -0.38), (0.0, -0.58), (0.36, -0.58), (0.55, -0.38)], roof, round_=0.3)
        brush.box(-0.4, -0.62, -0.12, 0.0, wall, round_=0.5)
        brush.shape([(-0.44, -0.6), (-0.26, -0.95), (-0.08, -0.6)], roof, round_=0.5)
        brush.line([(-0.26, -0.94), (-0.26, -1.06)], 0.014, rgb(230, 190, 90), smooth=False)
        brush.line([(-0.3, -1.02), (-0.22, -1.02)], 0.014, rgb(230, 190, 90), smooth=False)
        brush.oval(-0.26, -0.5, 0.06, 0.06, rgb(250, 248, 236), round_=0)
        for x in (0.0, 0.16, 0.32):
            brush.box(x, -0.32, x + 0.08, -0.12, LIT if kit.light.dark else PANE, corner=0.04, glow=kit.light.dark)
        brush.box(-0.31, -0.2, -0.21, 0.0, WOOD, corner=0.05)

    return [Part(kit.paint(-0.5, -1.1, 0.6, 0.02, ink))]


def tower(kit: Kit) -> list[Part]:
    """A lattice tower with a light on top."""
    colour = kit.colour(rgb(150, 116, 92))

    def ink(brush: Brush) -> None:
        legs = [(-0.24, 0.0), (-0.11, -0.34), (-0.045, -0.62), (-0.012, -0.95)]
        for side in (-1, 1):
            brush.line([(side * x, y) for x, y in legs], 0.045, colour, taper=0.35)
        for (x0, y0), (x1, y1) in pairwise(legs):
            for side in (-1, 1):
                brush.line([(side * x0, y0), (-side * x1, y1)], 0.014, scaled(colour, 0.85), smooth=False, round_=0)
        for y, half in ((-0.34, 0.15), (-0.62, 0.08)):
            brush.box(-half, y - 0.025, half, y + 0.015, colour, corner=0.01)
        brush.line([(0, -0.94), (0, -1.05)], 0.016, colour, smooth=False)
        brush.oval(0, -1.05, 0.022, 0.022, rgb(255, 220, 130), glow=True)
        if kit.light.dark:
            brush.halo(0, -1.05, 0.3, rgb(255, 220, 130), 0.6)
            brush.halo(0, -0.3, 0.5, rgb(255, 190, 90), 0.25)

    return [Part(kit.paint(-0.4, -1.3, 0.4, 0.03, ink))]


def lighthouse(kit: Kit) -> list[Part]:
    """A striped lighthouse on a rock, its beam turning."""
    colour = kit.colour(rgb(206, 62, 54))

    def ink(brush: Brush) -> None:
        brush.shape(
            [(-0.52, 0.05), (-0.42, -0.1), (-0.2, -0.17), (0.16, -0.17), (0.36, -0.1), (0.56, 0.05)],
            rgb(96, 92, 96),
            smooth=False,
            round_=0.6,
        )
        for index in range(5):
            top, bottom = -0.78 + 0.13 * index, -0.65 + 0.13 * index
            t, b = 0.095 + 0.016 * index, 0.111 + 0.016 * index
            brush.shape(
                [(-t, top), (t, top), (b, bottom + 0.005), (-b, bottom + 0.005)],
                colour if index % 2 == 0 else rgb(248, 244, 236),
                round_=0.0,
                shade=0.0,
            )
        brush.shape(
            [(-0.095, -0.78), (-0.03, -0.78), (-0.06, -0.13), (-0.175, -0.13)], (0.1, 0.1, 0.2), round_=0, alpha=0.16
        )
        brush.box(-0.13, -0.81, 0.13, -0.77, rgb(60, 62, 74), corner=0.01)
        brush.box(-0.07, -0.92, 0.07, -0.81, rgb(255, 240, 190), glow=True)
        brush.shape([(-0.1, -0.91), (0, -1.02), (0.1, -0.91)], rgb(60, 62, 74))
        brush.box(-0.035, -0.3, 0.035, -0.17, rgb(70, 60, 60), corner=0.03)
        brush.oval(0, -0.52, 0.026, 0.034, rgb(70, 80, 96), round_=0)

    def beam(brush: Brush) -> None:
        for spread, alpha in ((0.34, 0.14), (0.2, 0.2), (0.1, 0.22)):
            brush.shape(
                [(0, -0.02), (3.4, -spread), (3.4, spread), (0, 0.02)],
                rgb(255, 244, 200),
                glow=True,
                alpha=alpha,
                round_=0,
            )

    def lamp(brush: Brush) -> None:
        brush.halo(0, 0, 0.42, rgb(255, 244, 200), 0.9)

    parts = [Part(kit.paint(-0.56, -1.06, 0.6, 0.08, ink))]
    if kit.light.dark or kit.light.height < 0.2:
        ray = kit.paint(0, -0.36, 3.4, 0.36, beam)
        parts = [
            Part(ray, (0, -0.865), narrow=2.0, beat=0.16, phase=0.75),
            *parts,
            Part(kit.paint(-0.45, -0.45, 0.45, 0.45, lamp), (0, -0.865)),
        ]
    return parts


def mill(kit: Kit) -> list[Part]:
    """A windmill with turning sails."""
    colour = kit.colour(rgb(236, 226, 208))

    def ink(brush: Brush) -> None:
        brush.shape([(-0.17, -0.66), (0.17, -0.66), (0.27, 0.0), (-0.27, 0.0)], colour, round_=0.7)
        brush.shape(
            [(-0.2, -0.64), (-0.14, -0.78), (0, -0.85), (0.14, -0.78), (0.2, -0.64)],
            rgb(142, 82, 62),
            smooth=False,
            round_=0.6,
        )
        brush.box(-0.06, -0.2, 0.06, 0.0, WOOD, corner=0.05)
        window(kit, brush, -0.05, -0.5, 0.05, -0.38)

    def sails(brush: Brush) -> None:
        for index in range(4):
            angle = index * np.pi / 2 + 0.4
            ux, uy = float(np.cos(angle)), float(np.sin(angle))
            vx, vy = -uy, ux
            brush.line([(0, 0), (0.56 * ux, 0.56 * uy)], 0.026, WOOD, smooth=False)
            corners = [(0.1, 0.01), (0.56, 0.01), (0.56, 0.13), (0.1, 0.11)]
            brush.shape(
                [(r * ux + s * vx, r * uy + s * vy) for r, s in corners], rgb(250, 246, 236), round_=0.2, alpha=0.95
            )
            for r in (0.22, 0.34, 0.46):
                brush.line(
                    [(r * ux, r * uy), (r * ux + 0.12 * vx, r * uy + 0.12 * vy)], 0.01, WOOD, smooth=False, round_=0
                )
        brush.oval(0, 0, 0.035, 0.035, WOOD)

    return [
        Part(kit.paint(-0.3, -0.9, 0.3, 0.02, ink)),
        Part(kit.paint(-0.6, -0.6, 0.6, 0.6, sails), (0, -0.7), spin=34),
    ]


def bridge(kit: Kit) -> list[Part]:
    """A stone bridge of five arches that spans the picture; its deck is level, 0.93 above its foot."""
    colour = kit.colour(rgb(170, 154, 138))
    reach, centres = 3.3, (-2.24, -1.12, 0.0, 1.12, 2.24)

    def ink(brush: Brush) -> None:
        outline: list[tuple[float, float]] = [(-reach, -0.9), (reach, -0.9), (reach, 0.1)]
        for x in reversed(centres):
            outline += [(x + 0.46 * float(np.cos(a)), 0.1 - 0.74 * float(np.sin(a))) for a in np.linspace(0, np.pi, 24)]
        outline.append((-reach, 0.1))
        brush.shape(outline, colour, round_=0.0)
        for x in centres:
            ring = [(x + 0.48 * float(np.cos(a)), 0.1 - 0.76 * float(np.sin(a))) for a in np.linspace(0, np.pi, 30)]
            brush.line(ring, 0.06, scaled(colour, 0.86), smooth=False, round_=0.2)
        brush.box(-reach, -0.95, reach, -0.87, mixed(colour, (1, 1, 1), 0.25), round_=0.2)
        for index in range(40):
            x, y = -reach + 0.167 * index, -0.8 + 0.07 * (index % 2)
            brush.line([(x, y), (x + 0.08, y)], 0.012, scaled(colour, 0.8), smooth=False, round_=0)

    return [Part(kit.paint(-reach, -1.0, reach, 0.14, ink))]


def tent(kit: Kit) -> list[Part]:
    """A tent, lit from inside in the dark."""
    colour = kit.colour(rgb(232, 140, 56))

    def ink(brush: Brush) -> None:
        if kit.light.dark or kit.light.height < 0.1:
            brush.halo(-0.2, -0.35, 1.1, rgb(255, 196, 110), 0.4)
        brush.shape([(-0.3, -0.95), (0.55, -0.8), (1.0, 0.0), (0.1, 0.0)], scaled(colour, 0.78), round_=0.3)
        brush.shape([(-0.3, -0.95), (-0.95, 0.0), (0.22, 0.0)], colour, round_=0.4)
        lit = kit.light.dark or kit.light.height < 0.1
        brush.shape(
            [(-0.3, -0.72), (-0.52, 0.0), (-0.1, 0.0)], rgb(255, 224, 150) if lit else scaled(colour, 0.45), glow=lit
        )
        brush.shape([(-0.3, -0.74), (-0.08, 0.0), (0.04, 0.0)], mixed(colour, (1, 1, 1), 0.25))
        for x0, y0, x1 in ((-0.3, -0.95, -1.2), (0.55, -0.8, 1.25)):
            brush.line([(x0, y0), (x1, 0.0)], 0.012, rgb(220, 214, 200), smooth=False, round_=0)

    return [Part(kit.paint(-1.3, -1.35, 1.3, 0.5, ink))]


def campfire(kit: Kit) -> list[Part]:
    """A fire on crossed logs, with sparks."""

    def logs(brush: Brush) -> None:
        for points in ([(-0.42, 0.0), (0.3, -0.14)], [(0.42, 0.0), (-0.3, -0.14)], [(-0.24, 0.03), (0.26, 0.03)]):
            brush.line(points, 0.11, rgb(96, 62, 44), smooth=False)
            brush.oval(points[0][0], points[0][1], 0.05, 0.05, rgb(206, 160, 110))

    def spark(brush: Brush) -> None:
        brush.oval(0, 0, 0.014, 0.014, rgb(255, 190, 90), glow=True, round_=0)

    sprite = kit.paint(-0.03, -0.03, 0.03, 0.03, spark)
    sparks = [
        Part(
            sprite,
            (kit.chance(-0.16, 0.16), -0.4),
            rise=kit.chance(0.6, 1.1),
            lean=kit.chance(-0.25, 0.25),
            life=kit.chance(1.2, 2.4),
            phase=index / 9,
        )
        for index in range(9)
    ]
    return [
        *flame(kit, 0, -0.06, 0.92)[:1],
        Part(kit.paint(-0.52, -0.24, 0.52, 0.1, logs)),
        *flame(kit, 0, -0.06, 0.92)[1:],
        *sparks,
    ]


def fountain(kit: Kit) -> list[Part]:
    """A fountain with two basins and playing water."""
    stone, water = kit.colour(rgb(196, 190, 182)), rgb(206, 232, 244)

    def ink(brush: Brush) -> None:
        brush.shape([(-0.8, -0.24), (0.8, -0.24), (0.7, 0.0), (-0.7, 0.0)], stone, round_=0.4)
        brush.oval(0, -0.24, 0.8, 0.07, mixed(stone, water, 0.7))
        brush.shape([(-0.07, -0.62), (0.07, -0.62), (0.12, -0.24), (-0.12, -0.24)], stone, round_=0.8)
        brush.shape([(-0.34, -0.62), (0.34, -0.62), (0.12, -0.5), (-0.12, -0.5)], stone, round_=0.6)
        brush.oval(0, -0.62, 0.34, 0.04, mixed(stone, water, 0.7))
        for side in (-1, 1):
            for reach, height in ((0.3, 0.98), (0.18, 1.04)):
                brush.line(
                    [
                        (0, -0.66),
                        (side * reach * 0.35, -height),
                        (side * reach * 0.85, -height * 0.82),
                        (side * reach, -0.62),
                    ],
                    0.02,
                    water,
                    alpha=0.5,
                    taper=1.6,
                )
            brush.line([(side * 0.33, -0.6), (side * 0.46, -0.5), (side * 0.5, -0.25)], 0.03, water, alpha=0.55)

    def drop(brush: Brush) -> None:
        brush.oval(0, 0, 0.022, 0.03, water, alpha=0.9)

    sprite = kit.paint(-0.04, -0.04, 0.04, 0.04, drop)
    drops = [
        Part(sprite, (0.0, -1.0), rise=-0.7, lean=lean, life=1.1, phase=index / 14)
        for index, lean in enumerate(np.linspace(-0.42, 0.42, 14).tolist())
    ]
    jet = [Part(sprite, (0.0, -0.66), rise=0.42, lean=0.0, life=0.7, phase=index / 6) for index in range(6)]
    return [Part(kit.paint(-0.85, -1.1, 0.85, 0.02, ink)), *jet, *drops]


def lamp(kit: Kit) -> list[Part]:
    """A street lamp."""
    colour = kit.colour(rgb(58, 62, 74))

    def ink(brush: Brush) -> None:
        if kit.light.dark or kit.light.height < 0.15:
            brush.halo(0.18, -0.9, 0.6, rgb(255, 214, 130), 0.75)
        brush.line([(0, 0.0), (0, -0.9), (0.04, -0.98), (0.18, -0.97)], 0.026, colour, taper=0.8)
        brush.box(-0.045, -0.08, 0.045, 0.0, colour, corner=0.01)
        brush.shape([(0.1, -0.96), (0.26, -0.96), (0.23, -0.86), (0.13, -0.86)], rgb(255, 236, 176), glow=True)
        brush.shape([(0.09, -0.955), (0.18, -1.02), (0.27, -0.955)], colour)

    return [Part(kit.paint(-0.5, -1.5, 0.8, 0.02, ink))]


def carousel(kit: Kit) -> list[Part]:
    """A great wheel with coloured cabins."""
    colour = kit.colour(rgb(226, 90, 84))
    cabins = (rgb(236, 90, 84), rgb(250, 196, 74), rgb(90, 170, 210), rgb(120, 190, 120))

    def stand(brush: Brush) -> None:
        for side in (-1, 1):
            brush.line([(0, -0.52), (side * 0.26, 0.0)], 0.035, rgb(120, 124, 136), smooth=False)

    def rim(brush: Brush) -> None:
        for radius, width in ((0.44, 0.022), (0.38, 0.012)):
            ring = [(radius * float(np.cos(a)), radius * float(np.sin(a))) for a in np.linspace(0, 2 * np.pi, 60)]
            brush.line(ring, width, colour, smooth=False, round_=0)
        for index in range(12):
            angle = index * np.pi / 6
            brush.line(
                [(0, 0), (0.44 * float(np.cos(angle)), 0.44 * float(np.sin(angle)))],
                0.01,
                mixed(colour, (1, 1, 1), 0.3),
                smooth=False,
                round_=0,
            )
            brush.oval(
                0.44 * float(np.cos(angle)),
                0.44 * float(np.sin(angle)),
                0.05,
                0.05,
                cabins[index % 4],
                round_=0.7,
                glow=kit.light.dark,
            )
        brush.oval(0, 0, 0.05, 0.05, rgb(250, 226, 150))

    return [
        Part(kit.paint(-0.3, -0.56, 0.3, 0.02, stand)),
        Part(kit.paint(-0.52, -0.52, 0.52, 0.52, rim), (0, -0.52), spin=14),
    ]
