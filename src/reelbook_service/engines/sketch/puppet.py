"""Animated figures: flat parts that swing, rotate and fold around their joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from PIL import Image

from .brush import Point, Sprite

_Matrix = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Part:
    """One flat piece of a figure and its motion."""

    sprite: Sprite
    at: Point = (0.0, 0.0)
    """The position of its origin on the figure, in units."""
    swing: float = 0.0
    """Amplitude of the swing in degrees."""
    beat: float = 1.0
    """Swings per second."""
    phase: float = 0.0
    """Phase of the swing, in full swings."""
    spin: float = 0.0
    """Rotation in degrees per second, as of wheels."""
    fold: float = 0.0
    """Vertical contraction during a swing, like a wing seen from the side: with 1 down to zero height."""
    narrow: float = 0.0
    """The same horizontally, like the wing of a butterfly."""
    bob: float = 0.0
    """Amplitude of the vertical oscillation, in units."""
    rise: float = 0.0
    """Distance it rises before it has faded and restarts, in units: smoke, bubbles, drops."""
    lean: float = 0.0
    """Horizontal drift during the rise, in units."""
    swell: float = 0.0
    """Relative growth during the rise."""
    life: float = 2.0
    """Seconds from start to restart, where it rises."""


MOTIONS = frozenset(item.name for item in fields(Part)) - {"sprite", "at"}
"""The names of the movements of a part."""


@dataclass(frozen=True, slots=True)
class Pose:
    """The position, size and time at which a figure is drawn."""

    x: float
    y: float
    """Position of its origin, in pixels of the picture."""
    scale: float
    """Pixels per unit."""
    mirrored: bool = False
    turn: float = 0.0
    """Clockwise rotation in degrees."""
    time: float = 0.0
    """Time of its animation in seconds."""
    squash: float = 1.0
    """A factor of its height; negative for upside-down reflections."""
    alpha: float = 1.0


def show(picture: Image.Image, parts: Sequence[Part], pose: Pose) -> None:
    """Paint a figure into the picture."""
    world = _times((pose.scale, 0, 0, pose.scale * pose.squash), _turned(-pose.turn if pose.mirrored else pose.turn))
    if pose.mirrored:
        world = _times((-1, 0, 0, 1), world)
    for part in parts:
        local, (x, y), alpha = _moved(part, pose.time)
        origin = (pose.x + world[0] * x + world[1] * y, pose.y + world[2] * x + world[3] * y)
        _paste(picture, part.sprite, _times(world, local), origin, alpha * pose.alpha)


def _moved(part: Part, time: float) -> tuple[_Matrix, Point, float]:
    wave = float(np.sin(2 * np.pi * (time * part.beat + part.phase)))
    x, y, alpha, size = part.at[0], part.at[1], 1.0, 1.0
    y -= part.bob * wave
    if part.rise or part.lean:
        age = (time / part.life + part.phase) % 1.0
        x, y = x + part.lean * age, y - part.rise * age
        size = 1 + part.swell * age
        # A fast fade-in and a slow fade-out, so that it does not pop up.
        alpha = min(1.0, age * 6) * (1 - age) ** 1.2
    matrix = _turned(part.swing * wave + part.spin * time)
    if part.fold:
        matrix = _times(matrix, (1, 0, 0, _opened(wave, part.fold)))
    if part.narrow:
        matrix = _times(matrix, (_opened(wave, part.narrow), 0, 0, 1))
    if size != 1:
        matrix = _times(matrix, (size, 0, 0, size))
    return matrix, (x, y), alpha


def _opened(wave: float, amount: float) -> float:
    """The visible share of its size; never near zero, because the matrix must be invertible."""
    value = 1 - amount * (0.5 + 0.5 * wave)
    return value if abs(value) > 0.06 else 0.06


def _turned(degrees: float) -> _Matrix:
    angle = np.radians(degrees)
    cosine, sine = float(np.cos(angle)), float(np.sin(angle))
    return cosine, -sine, sine, cosine


def _times(first: _Matrix, second: _Matrix) -> _Matrix:
    a, b, c, d = first
    e, f, g, h = second
    return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h


def _paste(picture: Image.Image, sprite: Sprite, matrix: _Matrix, origin: Point, alpha: float) -> None:
    """Paint a transformed sprite with its origin at `origin` in the picture."""
    if alpha <= 0.01:
        return
    a, b, c, d = (value / sprite.scale for value in matrix)
    width, height = sprite.picture.size
    ox, oy = sprite.origin
    corners = [(px - ox, py - oy) for px in (0, width) for py in (0, height)]
    xs = [origin[0] + a * px + b * py for px, py in corners]
    ys = [origin[1] + c * px + d * py for px, py in corners]
    left, top = max(0, int(min(xs)) - 1), max(0, int(min(ys)) - 1)
    right, bottom = min(picture.width, int(max(xs)) + 2), min(picture.height, int(max(ys)) + 2)
    determinant = a * d - b * c
    if right <= left or bottom <= top or abs(determinant) < 1e-9:
        return
    ia, ib, ic, id_ = d / determinant, -b / determinant, -c / determinant, a / determinant
    dx, dy = left - origin[0], top - origin[1]
    moved = sprite.picture.transform(
        (right - left, bottom - top),
        Image.Transform.AFFINE,
        (ia, ib, ia * dx + ib * dy + ox, ic, id_, ic * dx + id_ * dy + oy),
        Image.Resampling.BILINEAR,
    )
    straight = moved.convert("RGBA")
    mask = straight.getchannel("A")
    if alpha < 1:
        mask = mask.point([int(value * alpha + 0.5) for value in range(256)])
    picture.paste(straight.convert("RGB"), (left, top), mask)
