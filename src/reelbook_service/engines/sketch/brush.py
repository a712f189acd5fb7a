"""Soft shapes with gentle shading and no outlines, painted once, and moved: they swing, rotate and fold around their joints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from .light import Colour, Light, mixed
from .noise import NoiseField

_FINER = 4
"""Factor by which masks are drawn larger and then reduced, for soft edges."""


@dataclass(frozen=True, slots=True)
class Ink:
    """One shape in units: y grows downwards, feet are at y = 0, and a figure is about 1 tall."""

    outlines: Sequence[NoiseField]
    """Closed outlines that are filled together, each an array of points."""
    colour: Colour
    round: float = 0.5
    """How strongly it is shaded as a convex body."""
    shade: float = 0.16
    """How much darker it is at its foot."""
    glow: bool = False
    """Whether it shines by itself, whatever the light."""
    alpha: float = 1.0
    fading: bool = False
    """Whether it is a halo: light around the middle of its outline, fading to nothing at the edge."""


MOTIONS = {
    "swing": 0.0,  # Amplitude of a swing in degrees,
    "beat": 1.0,  # swings per second,
    "phase": 0.0,  # and where a swing begins, in full swings.
    "spin": 0.0,  # Rotation in degrees per second, as of wheels.
    "fold": 0.0,  # Vertical contraction during a swing, like a wing seen from the side: with 1 down to zero height.
    "narrow": 0.0,  # The same horizontally, like the wing of a butterfly.
    "bob": 0.0,  # Amplitude of the vertical oscillation, in units.
    "rise": 0.0,  # Distance it rises before it has faded and restarts, in units: smoke, bubbles, drops;
    "lean": 0.0,  # its horizontal drift on the way, in units,
    "swell": 0.0,  # its relative growth,
    "life": 2.0,  # and the seconds that it takes.
}
"""What moves a part of a figure, and its usual values."""


@dataclass(frozen=True, slots=True)
class FigurePart:
    """One flat piece of a figure and its motion."""

    picture: Image.Image
    """Colours multiplied by their opacity (`RGBa`), so that rotation and scaling make no dark edges."""
    origin: NoiseField
    """The unit point (0, 0), in pixels of the picture."""
    scale: float
    """Pixels per unit."""
    at: tuple[float, float] = (0.0, 0.0)
    """The position of its origin on the figure, in units."""
    motion: Mapping[str, float] = field(default_factory=dict)
    """Numbers by the names in `MOTIONS`."""


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


def rotation(degrees: float) -> NoiseField:
    """The matrix of a clockwise rotation."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[cosine, -sine], [sine, cosine]])


def paint(inks: Sequence[Ink], scale: float, light: Light, depth: float = 0.0) -> FigurePart:
    """Shapes painted one over the other; `depth` is their share of haze."""
    every = np.concatenate([outline for ink in inks for outline in ink.outlines])
    corner = every.min(0) - 2.0 / scale
    width, height = np.maximum(4, ((every.max(0) + 2.0 / scale - corner) * scale + 1).astype(int)).tolist()
    canvas = np.zeros((height, width, 4), np.float32)
    for ink in inks:
        _fill(canvas, ink, [(outline - corner) * scale for outline in ink.outlines], light, depth)
    pixels = (np.clip(canvas, 0, 1) * 255 + 0.5).astype(np.uint8).tobytes()
    return FigurePart(Image.frombytes("RGBa", (width, height), pixels), -corner * scale, scale)


def _fill(canvas: NoiseField, ink: Ink, outlines: Sequence[NoiseField], light: Light, depth: float) -> None:
    every = np.concatenate(outlines)
    x0, y0 = np.maximum(0, every.min(0).astype(int) - 1).tolist()
    x1, y1 = np.minimum(canvas.shape[1::-1], every.max(0).astype(int) + 2).tolist()
    if x1 <= x0 or y1 <= y0:
        return
    colour = np.array(ink.colour, np.float32)
    if ink.fading:
        rows, columns = np.ogrid[y0:y1, x0:x1]
        (x, y), radius = (every.min(0) + every.max(0)) / 2, np.ptp(every[:, 0]) / 2
        cover = np.clip(1 - np.hypot(columns - x, rows - y) / radius, 0, 1) ** 2
    else:
        mask = Image.new("L", ((x1 - x0) * _FINER, (y1 - y0) * _FINER))
        pen = ImageDraw.Draw(mask)
        for outline in outlines:
            pen.polygon(((outline - (x0, y0)) * _FINER).ravel().tolist(), fill=255)
        mask = mask.reduce(_FINER)
        cover = np.asarray(mask) / 255
        if not ink.glow:
            dim = np.array(light.on(ink.colour, depth=depth), np.float32)
            bright = np.array(light.on(mixed(ink.colour, light.glow, 0.55), depth=depth), np.float32)
            relief = _relief(mask, ink, light)[..., None]
            colour = dim * (1 + np.minimum(relief, 0)) + (bright - dim) * np.maximum(relief, 0)
    cover = (cover * ink.alpha)[..., None]
    area = canvas[y0:y1, x0:x1]
    area *= 1 - cover
    area[..., :3] += colour * cover
    area[..., 3:] += cover


def _relief(mask: Image.Image, ink: Ink, light: Light) -> NoiseField:
    """The shading of each pixel, from -1 in the shadow to 1 in the light."""
    width, height = mask.size
    down = np.linspace(0.6, -1, height, dtype=np.float32)[:, None] * np.float32(ink.shade)
    if ink.round == 0 or min(width, height) < 4:
        return np.broadcast_to(down, (height, width))
    radius = max(1.0, 0.16 * min(width, height))
    pad = int(radius * 1.5) + 1
    wide = Image.new("L", (width + 2 * pad, height + 2 * pad))
    wide.paste(mask, (pad, pad))
    soft = np.asarray(wide.filter(ImageFilter.GaussianBlur(radius)), np.float32) / 255
    dx, dy = int(radius * (1 if light.across > 0.5 else -1)), -int(radius)
    inner = soft[pad - dy : pad - dy + height, pad - dx : pad - dx + width]
    outer = soft[pad + dy : pad + dy + height, pad + dx : pad + dx + width]
    return np.asarray(down + (inner - outer) * np.float32(ink.round * 0.75), np.float32)


def show(picture: Image.Image, parts: Sequence[FigurePart], pose: Pose) -> None:
    """Paint a figure into the picture."""
    side = -1 if pose.mirrored else 1
    world = np.diag([side * pose.scale, pose.scale * pose.squash]) @ rotation(side * pose.turn)
    for part in parts:
        motion = {**MOTIONS, **part.motion}
        wave = math.sin(2 * math.pi * (pose.time * motion["beat"] + motion["phase"]))
        at, alpha, size = np.array(part.at) - (0, motion["bob"] * wave), pose.alpha, 1.0
        if motion["rise"] or motion["lean"]:
            age = (pose.time / motion["life"] + motion["phase"]) % 1.0
            at = at + np.array((motion["lean"] * age, -motion["rise"] * age))
            size = 1 + motion["swell"] * age
            # A fast fade-in and a slow fade-out, so that it does not pop up.
            alpha *= min(1.0, age * 6) * (1 - age) ** 1.2
        # Never near zero, because the matrix must be invertible; below it, the wing is seen from the other side.
        shown = [1 - motion[name] * (0.5 + 0.5 * wave) for name in ("narrow", "fold")]
        opened = [size * (share if abs(share) > 0.06 else 0.06) for share in shown]
        local = rotation(motion["swing"] * wave + motion["spin"] * pose.time) @ np.diag(opened)
        _paste(picture, part, world @ local / part.scale, world @ at + (pose.x, pose.y), alpha)


def _paste(picture: Image.Image, part: FigurePart, matrix: NoiseField, origin: NoiseField, alpha: float) -> None:
    """Paint a transformed part with its origin at `origin` in the picture."""
    wide, high = part.picture.size
    corners = (np.array([(0, 0), (0, high), (wide, 0), (wide, high)]) - part.origin) @ matrix.T + origin
    left, top = np.maximum(0, corners.min(0).astype(int) - 1).tolist()
    right, bottom = np.minimum(picture.size, corners.max(0).astype(int) + 2).tolist()
    if alpha <= 0.01 or right <= left or bottom <= top or abs(np.linalg.det(matrix)) < 1e-9:
        return
    back = np.linalg.inv(matrix)
    start = back @ ((left, top) - origin) + part.origin
    affine = (*back[0].tolist(), float(start[0]), *back[1].tolist(), float(start[1]))
    size = (right - left, bottom - top)
    straight = part.picture.transform(size, Image.Transform.AFFINE, affine, Image.Resampling.BILINEAR).convert("RGBA")
    mask = straight.getchannel("A")
    if alpha < 1:
        mask = mask.point([int(value * alpha + 0.5) for value in range(256)])
    picture.paste(straight.convert("RGB"), (left, top), mask)
