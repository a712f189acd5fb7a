"""A brush for sprites: smooth shapes with soft shading and no outlines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from .noise import Field
from .palette import Colour, Light, mixed

Point = tuple[float, float]

_FINER = 4
"""Factor by which masks are drawn larger and then reduced, for soft edges."""


@dataclass(frozen=True, slots=True)
class Sprite:
    """A small picture with soft edges, and its origin."""

    picture: Image.Image
    """Colours multiplied by their opacity (`RGBa`), so that rotation and scaling make no dark edges."""
    origin: Point
    """The unit point (0, 0), in pixels of the picture."""
    scale: float
    """Pixels per unit."""


class Brush:
    """Paints shapes, in units, onto one transparent picture.

    y grows downwards; a figure stands with its feet at y = 0 and is about 1 tall, so its head is near y = -1.
    """

    def __init__(self, box: tuple[float, float, float, float], scale: float, light: Light, depth: float = 0.0) -> None:
        left, top, right, bottom = box
        margin = 2.0 / scale
        self.left, self.top = left - margin, top - margin
        self.scale = scale
        self.light, self.depth = light, depth
        self.width = max(4, int((right - left + 2 * margin) * scale + 0.999))
        self.height = max(4, int((bottom - top + 2 * margin) * scale + 0.999))
        self._colour = np.zeros((self.height, self.width, 3), np.float32)
        self._cover = np.zeros((self.height, self.width, 1), np.float32)

    def shape(
        self, points: Sequence[Point], colour: Colour, *,
        smooth: bool = False, round_: float = 0.5, shade: float = 0.16, glow: bool = False, alpha: float = 1.0,
    ) -> None:  # fmt: skip
        """Paint a filled outline; `round_` shades it as convex, `shade` darkens it downwards."""
        outline = rounded(points) if smooth else list(points)
        self._fill([outline], colour, round_, shade, glow, alpha)

    def oval(
        self, x: float, y: float, rx: float, ry: float, colour: Colour, *,
        turn: float = 0.0, round_: float = 0.5, shade: float = 0.16, glow: bool = False, alpha: float = 1.0,
    ) -> None:  # fmt: skip
        """Paint a filled ellipse around (x, y), rotated by `turn` degrees."""
        angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        cosine, sine = np.cos(np.radians(turn)), np.sin(np.radians(turn))
        across, down = rx * np.cos(angles), ry * np.sin(angles)
        points = list(
            zip((x + across * cosine - down * sine).tolist(), (y + across * sine + down * cosine).tolist(), strict=True)
        )
        self._fill([points], colour, round_, shade, glow, alpha)

    def box(
        self, left: float, top: float, right: float, bottom: float, colour: Colour, *,
        corner: float = 0.0, round_: float = 0.3, shade: float = 0.12, glow: bool = False, alpha: float = 1.0,
    ) -> None:  # fmt: skip
        """Paint a filled rectangle with round corners."""
        corner = min(corner, (right - left) / 2, (bottom - top) / 2)
        points: list[Point] = []
        for x, y, start in (
            (right - corner, top + corner, -90), (right - corner, bottom - corner, 0),
            (left + corner, bottom - corner, 90), (left + corner, top + corner, 180),
        ):  # fmt: skip
            for degrees in range(start, start + 91, 15) if corner > 0 else (start,):
                angle = np.radians(degrees)
                points.append((x + corner * float(np.cos(angle)), y + corner * float(np.sin(angle))))
        self._fill([points], colour, round_, shade, glow, alpha)

    def line(
        self, points: Sequence[Point], width: float, colour: Colour, *,
        taper: float = 1.0, smooth: bool = True, round_: float = 0.4, glow: bool = False, alpha: float = 1.0,
    ) -> None:  # fmt: skip
        """Paint a stroke with round ends, `taper` times as wide at its end as at its start."""
        path = np.array(flowing(points) if smooth and len(points) > 2 else points, float)
        ahead = np.gradient(path, axis=0)
        ahead /= np.hypot(ahead[:, 0], ahead[:, 1])[:, None] + 1e-9
        half = np.linspace(width / 2, width * taper / 2, len(path))
        side = np.stack([-ahead[:, 1], ahead[:, 0]], 1) * half[:, None]
        outline = [(float(x), float(y)) for x, y in np.concatenate([path + side, (path - side)[::-1]])]
        ends = [_disc(path[0], half[0]), _disc(path[-1], half[-1])]
        self._fill([outline, *ends], colour, round_, 0.08, glow, alpha)

    def halo(self, x: float, y: float, radius: float, colour: Colour, strength: float = 0.7) -> None:
        """Paint light around a point, fading to nothing at the radius."""
        rows, columns = np.ogrid[0 : self.height, 0 : self.width]
        across = (columns / self.scale + self.left - x) / radius
        down = (rows / self.scale + self.top - y) / radius
        fall = np.clip(1 - np.sqrt(across**2 + down**2), 0, 1).astype(np.float32)
        self._lay(
            np.asarray(fall * fall * np.float32(strength), np.float32)[..., None], np.array(colour, np.float32), 0, 0
        )

    def sprite(self) -> Sprite:
        """The painted shapes as a sprite."""
        both = np.concatenate([self._colour, self._cover], 2)
        picture = Image.frombytes(
            "RGBa", (self.width, self.height), (np.clip(both, 0, 1) * 255 + 0.5).astype(np.uint8).tobytes()
        )
        return Sprite(picture, (-self.left * self.scale, -self.top * self.scale), self.scale)

    def _fill(
        self, outlines: Sequence[Sequence[Point]], colour: Colour, round_: float, shade: float, glow: bool, alpha: float
    ) -> None:
        every = [point for outline in outlines for point in outline]
        x0 = max(0, int((min(x for x, _ in every) - self.left) * self.scale) - 1)
        y0 = max(0, int((min(y for _, y in every) - self.top) * self.scale) - 1)
        x1 = min(self.width, int((max(x for x, _ in every) - self.left) * self.scale) + 2)
        y1 = min(self.height, int((max(y for _, y in every) - self.top) * self.scale) + 2)
        if x1 <= x0 or y1 <= y0:
            return
        mask = Image.new("L", ((x1 - x0) * _FINER, (y1 - y0) * _FINER))
        pen, step = ImageDraw.Draw(mask), self.scale * _FINER
        for outline in outlines:
            pen.polygon(
                [((x - self.left) * step - x0 * _FINER, (y - self.top) * step - y0 * _FINER) for x, y in outline],
                fill=255,
            )
        mask = mask.reduce(_FINER)
        cover = np.asarray(mask, np.float32)[..., None] * np.float32(alpha / 255)
        paint = np.array(colour if glow else self.light.on(colour, depth=self.depth), np.float32)
        if glow:
            self._lay(cover, paint, x0, y0)
            return
        relief = self._relief(mask, round_, shade)[..., None]
        lit = np.array(mixed(colour, self.light.glow, 0.55), np.float32) * np.array(self.light.ambient, np.float32)
        lit = lit * (1 - self.depth) + np.array(self.light.haze, np.float32) * self.depth
        tone = paint * (1 + np.minimum(relief, 0)) + (lit - paint) * np.maximum(relief, 0)
        self._lay(cover, tone.astype(np.float32), x0, y0)

    def _relief(self, mask: Image.Image, round_: float, shade: float) -> Field:
        """The shading of each pixel, from -1 in the shadow to 1 in the light."""
        width, height = mask.size
        down = np.linspace(0.6, -1, height, dtype=np.float32)[:, None] * np.float32(shade)
        if round_ == 0 or min(width, height) < 4:
            return np.broadcast_to(down, (height, width))
        radius = max(1.0, 0.16 * min(width, height))
        pad = int(radius * 1.5) + 1
        wide = Image.new("L", (width + 2 * pad, height + 2 * pad))
        wide.paste(mask, (pad, pad))
        soft = np.asarray(wide.filter(ImageFilter.GaussianBlur(radius)), np.float32) / 255
        dx = int(radius * (1 if self.light.across > 0.5 else -1))
        dy = -int(radius)
        inner = soft[pad - dy : pad - dy + height, pad - dx : pad - dx + width]
        outer = soft[pad + dy : pad + dy + height, pad + dx : pad + dx + width]
        return np.asarray(down + (inner - outer) * np.float32(round_ * 0.75), np.float32)

    def _lay(self, cover: Field, paint: Field, x: int, y: int) -> None:
        height, width = cover.shape[:2]
        area = (slice(y, y + height), slice(x, x + width))
        self._colour[area] = self._colour[area] * (1 - cover) + paint * cover
        self._cover[area] = self._cover[area] * (1 - cover) + cover


def rounded(points: Sequence[Point], steps: int = 8) -> list[Point]:
    """A closed smooth outline through all points."""
    count = len(points)
    ring = np.array([points[(index - 1) % count] for index in range(count + 3)], float)
    return _spline(ring, steps)


def flowing(points: Sequence[Point], steps: int = 8) -> list[Point]:
    """An open smooth line through all points."""
    path = np.array([points[0], *points, points[-1]], float)
    return [*_spline(path, steps), (float(points[-1][0]), float(points[-1][1]))]


def _spline(path: np.ndarray[tuple[int, ...], np.dtype[np.float64]], steps: int) -> list[Point]:
    """A Catmull–Rom spline through all but the first and last point."""
    share = np.linspace(0, 1, steps, endpoint=False)[None, :, None]
    before, start, end, after = (path[index : len(path) - 3 + index][:, None] for index in range(4))
    curve = 0.5 * (
        2 * start + (end - before) * share + (2 * before - 5 * start + 4 * end - after) * share**2
        + (3 * start - before - 3 * end + after) * share**3
    )  # fmt: skip
    return [(float(x), float(y)) for x, y in curve.reshape(-1, 2)]


def _disc(centre: np.ndarray[tuple[int, ...], np.dtype[np.float64]], radius: float) -> list[Point]:
    angles = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    return [(float(centre[0] + radius * np.cos(a)), float(centre[1] + radius * np.sin(a))) for a in angles]
