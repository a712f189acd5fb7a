"""Animated figures: flat parts that swing, rotate and fold around their joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from PIL import Image

from .brush import Point, Sprite
from .noise import Field


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
    world = np.diag([pose.scale, pose.scale * pose.squash]) @ _turned(-pose.turn if pose.mirrored else pose.turn)
    if pose.mirrored:
        world = np.diag([-1.0, 1.0]) @ world
    for part in parts:
        local, at, alpha = _moved(part, pose.time)
        _paste(picture, part.sprite, world @ local, world @ at + (pose.x, pose.y), alpha * pose.alpha)


def _moved(part: Part, time: float) -> tuple[Field, Field, float]:
    """A part's own transform, position and opacity at a time."""
    wave = float(np.sin(2 * np.pi * (time * part.beat + part.phase)))
    at, alpha, size = np.array(part.at) - (0, part.bob * wave), 1.0, 1.0
    if part.rise or part.lean:
        age = (time / part.life + part.phase) % 1.0
        at = at + np.array((part.lean * age, -part.rise * age))
        size = 1 + part.swell * age
        # A fast fade-in and a slow fade-out, so that it does not pop up.
        alpha = min(1.0, age * 6) * (1 - age) ** 1.2
    opened = [size * _opened(wave, part.narrow), size * _opened(wave, part.fold)]
    return _turned(part.swing * wave + part.spin * time) @ np.diag(opened), at, alpha


def _opened(wave: float, amount: float) -> float:
    """The visible share of its size; never near zero, because the matrix must be invertible."""
    value = 1 - amount * (0.5 + 0.5 * wave)
    return value if abs(value) > 0.06 else 0.06


def _turned(degrees: float) -> Field:
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[cosine, -sine], [sine, cosine]])


def _paste(picture: Image.Image, sprite: Sprite, matrix: Field, origin: Field, alpha: float) -> None:
    """Paint a transformed sprite with its origin at `origin` in the picture."""
    matrix = matrix / sprite.scale
    corners = (
        np.array([(x, y) for x in (0, sprite.picture.width) for y in (0, sprite.picture.height)]) - sprite.origin
    ) @ matrix.T + origin
    left, top = np.maximum(0, corners.min(0).astype(int) - 1).tolist()
    right, bottom = np.minimum(picture.size, corners.max(0).astype(int) + 2).tolist()
    if alpha <= 0.01 or right <= left or bottom <= top or abs(np.linalg.det(matrix)) < 1e-9:
        return
    back = np.linalg.inv(matrix)
    start = back @ ((left, top) - origin) + sprite.origin
    affine = (*back[0].tolist(), float(start[0]), *back[1].tolist(), float(start[1]))
    size = (right - left, bottom - top)
    straight = sprite.picture.transform(size, Image.Transform.AFFINE, affine, Image.Resampling.BILINEAR).convert("RGBA")
    mask = straight.getchannel("A")
    if alpha < 1:
        mask = mask.point([int(value * alpha + 0.5) for value in range(256)])
    picture.paste(straight.convert("RGB"), (left, top), mask)
