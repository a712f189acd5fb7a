"""Construction of four-legged figures: a trunk on four legs, with a given head and tail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..palette import Colour, rgb, scaled
from ..puppet import Part
from ..soft_brush import Brush, Point
from .kit import Kit

DARK = rgb(34, 30, 34)


@dataclass(frozen=True, slots=True)
class Build:
    """The proportions of an animal that is one unit tall and faces right."""

    colour: Colour
    back: float = -0.66
    """The y of its back; its head may be higher."""
    long: float = 0.95
    """The length from chest to rump."""
    deep: float = 0.30
    """The height of its trunk."""
    leg: float = 0.075
    """The width of its legs."""
    head: Point = (0.58, -0.84)
    skull: float = 0.12
    muzzle: float = 0.16
    """The distance from the skull to the nose."""
    neck: float = 0.17
    belly: Colour | None = None
    step: float = 22.0
    beat: float = 0.9


def beast(
    kit: Kit,
    build: Build,
    *,
    head: Callable[[Brush, Colour], None],
    tail: Callable[[Brush, Colour], None],
    marks: Callable[[Brush, Colour], None] | None = None,
    tail_swing: float = 9.0,
) -> list[Part]:
    """A walking animal: far legs, tail, trunk with neck, head, near legs."""
    colour = kit.colour(build.colour)
    far = scaled(colour, 0.7)
    half, back, belly = build.long / 2, build.back, build.back + build.deep
    hips = (-half + build.deep * 0.34, half - build.deep * 0.30)
    hx, hy = build.head

    def limb(shade: Colour) -> Callable[[Brush], None]:
        def ink(brush: Brush) -> None:
            length = -(belly - build.deep * 0.35)
            brush.line(
                [(0, 0), (0.015, length * 0.5), (-0.005, length - build.leg * 0.4)], build.leg * 1.5, shade, taper=0.6
            )
            brush.oval(0.02, length - build.leg * 0.32, build.leg * 0.62, build.leg * 0.36, scaled(shade, 0.7))

        return ink

    def trunk(brush: Brush) -> None:
        d = build.deep
        brush.shape([
            (-half, back + d * 0.42), (-half * 0.82, back + d * 0.04), (-half * 0.2, back + d * 0.06), (half * 0.5, back + d * 0.0),
            (half * 0.96, back + d * 0.2), (half * 1.0, back + d * 0.62), (half * 0.62, belly), (0, belly - d * 0.02),
            (-half * 0.6, belly - d * 0.06), (-half * 0.96, back + d * 0.85),
        ], colour, smooth=True, round_=0.8)  # fmt: skip
        if build.belly:
            brush.oval(0.04, belly - d * 0.17, half * 0.7, d * 0.2, build.belly, alpha=0.8)
        brush.line(
            [
                (half * 0.72, back + d * 0.34),
                ((half * 0.8 + hx) / 2 + 0.02, (back + d * 0.1 + hy) / 2),
                (hx - build.skull * 0.3, hy),
            ],
            build.neck * 1.5,
            colour,
            taper=0.68,
        )
        if marks:
            marks(brush, colour)

    def face(brush: Brush) -> None:
        head(brush, colour)

    def rear(brush: Brush) -> None:
        tail(brush, colour)

    length = -(belly - build.deep * 0.35)
    box = (-build.leg * 1.6, -build.leg, build.leg * 1.8, length + build.leg * 0.3)
    near_leg, far_leg = kit.paint(*box, limb(colour)), kit.paint(*box, limb(far))
    top = belly - build.deep * 0.35
    swing = 0.0 if kit.still else build.step
    phase = kit.chance(0, 1)
    stride = (
        [(near_leg, hips[0], 0.0), (near_leg, hips[1], 0.55)],
        [(far_leg, hips[0] + 0.05, 0.5), (far_leg, hips[1] + 0.05, 0.05)],
    )
    bob = 0.0 if kit.still else 0.012
    return [
        *(Part(sprite, (x, top), swing=swing, beat=build.beat, phase=phase + share) for sprite, x, share in stride[1]),
        Part(
            kit.paint(-0.62, -0.5, 0.2, 0.5, rear),
            (-half * 0.94, back + build.deep * 0.2),
            swing=tail_swing,
            beat=0.7,
            phase=phase,
        ),
        Part(
            kit.paint(-half - 0.1, min(hy, back) - 0.3, max(half, hx) + 0.25, 0.0, trunk),
            bob=bob,
            beat=2 * build.beat,
            phase=phase,
        ),
        Part(kit.paint(-0.4, -0.55, 0.55, 0.45, face), build.head, swing=3.5, beat=0.4, phase=phase, bob=bob),
        *(Part(sprite, (x, top), swing=swing, beat=build.beat, phase=phase + share) for sprite, x, share in stride[0]),
    ]


def plain_head(
    build: Build, *, ear: list[Point], muzzle_thick: float = 0.55, nose: Colour = DARK, drop: float = 0.05
) -> Callable[[Brush, Colour], None]:
    """A function that draws a head from the side: skull, muzzle and eye."""
    s, m = build.skull, build.muzzle

    def ink(brush: Brush, colour: Colour) -> None:
        brush.shape([(x - s * 0.16, y) for x, y in ear], scaled(colour, 0.72))
        brush.line([(0, 0), (m, drop)], s * 1.7, colour, taper=muzzle_thick, smooth=False, round_=0.7)
        brush.oval(0, 0, s, s * 0.95, colour, round_=0.8)
        brush.shape(ear, colour)
        brush.oval(m + s * 0.36, drop - s * 0.14, s * 0.17, s * 0.14, nose, round_=0.2)
        brush.oval(s * 0.34, -s * 0.22, s * 0.13, s * 0.14, DARK, round_=0)
        brush.oval(s * 0.38, -s * 0.27, s * 0.045, s * 0.05, (1, 1, 1), round_=0, alpha=0.9)

    return ink


def long_tail(
    points: list[Point], width: float, taper: float, tip: Colour | None = None
) -> Callable[[Brush, Colour], None]:
    """A function that draws a tail, with a tip of another colour if there is one."""

    def ink(brush: Brush, colour: Colour) -> None:
        brush.line(points, width, colour, taper=taper)
        if tip:
            x, y = points[-1]
            brush.oval(x, y, width * 0.6, width * 0.6, tip)

    return ink
