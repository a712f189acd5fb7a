"""Seven drawn pictures with marked subjects, for the contact sheet and the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

Colour = tuple[int, int, int]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture, and white on black masks of its subjects, one for each."""

    name: str
    picture: Image.Image
    subjects: tuple[Image.Image, ...]


class _Canvas:
    """A drawing surface of height 1, with its aspect ratio as width; y points down."""

    def __init__(self, width: int, height: int, seed: int) -> None:
        self.width, self.height = width, height
        self.aspect = width / height
        self.rng = np.random.default_rng(seed)
        self.picture = Image.new("RGB", (width, height))
        self.subjects = [Image.new("L", (width, height))]

    def next_subject(self) -> None:
        """Begin a new subject; further shapes are part of it."""
        self.subjects.append(Image.new("L", self.picture.size))

    def sky(self, top: Colour, bottom: Colour, until: float = 1.0) -> None:
        """A vertical gradient from the top to `until`, flat below."""
        ramp = Image.linear_gradient("L").resize((self.width, max(1, round(until * self.height))))
        mask = Image.new("L", self.picture.size, 255)
        mask.paste(ramp)
        flat = [Image.new("RGB", self.picture.size, colour) for colour in (bottom, top)]
        self.picture = Image.composite(flat[0], flat[1], mask)

    def texture(self, strength: float, grain: tuple[float, float], region: Image.Image | None = None) -> None:
        """Add soft noise to the region; `grain` is the size of its spots, across and down."""
        noise = Image.new("L", self.picture.size, 128)
        for octave in (1.0, 0.45, 0.2):
            size = [
                max(2, round(extent / (spot * octave))) for extent, spot in zip((self.aspect, 1), grain, strict=True)
            ]
            spots = self.rng.normal(128, 40 * strength * octave**0.6, (size[1], size[0])).clip(0, 255).astype(np.uint8)
            layer = Image.fromarray(spots).resize(self.picture.size, Image.Resampling.BICUBIC)
            noise = ImageChops.add(noise, layer, offset=-128)
        textured = ImageChops.add(self.picture, Image.merge("RGB", (noise,) * 3), offset=-128)
        self.picture.paste(textured, mask=region)

    def region(self, points: Iterable[Point]) -> Image.Image:
        """The inside of a polygon as a mask."""
        mask = Image.new("L", self.picture.size)
        ImageDraw.Draw(mask).polygon(self._pixels(points), fill=255)
        return mask

    def polygon(self, points: Iterable[Point], colour: Colour, *, subject: bool = False) -> None:
        points = list(points)
        self._draw(lambda draw, fill: draw.polygon(self._pixels(points), fill=fill), colour, subject)

    def box(
        self, left: float, top: float, right: float, bottom: float, colour: Colour, *, subject: bool = False
    ) -> None:
        self.polygon([(left, top), (right, top), (right, bottom), (left, bottom)], colour, subject=subject)

    def ellipse(self, x: float, y: float, rx: float, ry: float, colour: Colour, *, subject: bool = False) -> None:
        corners = self._pixels([(x - rx, y - ry), (x + rx, y + ry)])
        self._draw(lambda draw, fill: draw.ellipse([*corners[0], *corners[1]], fill=fill), colour, subject)

    def line(self, points: Iterable[Point], thickness: float, colour: Colour, *, subject: bool = False) -> None:
        points = list(points)
        width = max(1, round(thickness * self.height))
        self._draw(lambda draw, fill: draw.line(self._pixels(points), fill=fill, width=width), colour, subject)

    def text(self, x: float, y: float, text: str, size: float, colour: Colour) -> None:
        font = ImageFont.load_default(round(size * self.height))
        at = self._pixels([(x, y)])[0]
        self._draw(lambda draw, fill: draw.text(at, text, fill=fill, font=font, anchor="mm"), colour, False)

    def ridge(self, height: float, swing: float, colour: Colour, texture: float = 0.3) -> None:
        """Draw hills whose crest varies around `height`."""
        xs = np.linspace(0, self.aspect, 60)
        phase, pace = self.rng.uniform(0, 6, 3), self.rng.uniform(2, 7, 3)
        crest = height + swing * sum(np.sin(xs * pace[i] + phase[i]) / (i + 1) for i in range(3)) / 2
        points = [(0.0, 1.1), *zip(xs.tolist(), crest.tolist(), strict=True), (self.aspect, 1.1)]
        self.polygon(points, colour)
        self.texture(texture, (0.04, 0.02), self.region(points))

    def blur(self, radius: float) -> None:
        self.picture = self.picture.filter(ImageFilter.GaussianBlur(radius * self.height))

    def _pixels(self, points: Iterable[Point]) -> list[tuple[float, float]]:
        return [(x * self.height, y * self.height) for x, y in points]

    def _draw(self, paint: Callable[[ImageDraw.ImageDraw, Any], None], colour: Colour, subject: bool) -> None:
        paint(ImageDraw.Draw(self.picture), colour)
        if subject:
            paint(ImageDraw.Draw(self.subjects[-1]), 255)


def _balloon(c: _Canvas) -> None:
    x, y, r = c.aspect * c.rng.uniform(0.3, 0.7), c.rng.uniform(0.3, 0.36), 0.15
    c.sky((96, 152, 214), (226, 224, 214))
    c.texture(0.22, (0.5, 0.12))
    for height, swing, colour in (
        (0.7, 0.08, (134, 160, 158)),
        (0.79, 0.07, (98, 138, 92)),
        (0.9, 0.06, (66, 108, 62)),
    ):
        c.ridge(height, swing, colour)
    c.polygon(
        [(x - 0.62 * r, y + 0.75 * r), (x + 0.62 * r, y + 0.75 * r), (x + 0.03, y + 0.24), (x - 0.03, y + 0.24)],
        (150, 28, 30),
        subject=True,
    )
    c.ellipse(x, y, r, r, (206, 40, 36), subject=True)
    c.ellipse(x, y, r * 0.66, r, (240, 196, 60), subject=True)
    c.ellipse(x, y, r * 0.3, r, (206, 40, 36), subject=True)
    c.box(x - 0.03, y + 0.25, x + 0.03, y + 0.3, (96, 58, 30), subject=True)


def _boat(c: _Canvas) -> None:
    x = c.aspect * c.rng.uniform(0.35, 0.65)
    c.sky((150, 186, 214), (246, 216, 178), until=0.55)
    c.texture(0.14, (0.7, 0.08))
    c.ellipse(c.aspect * 0.85, 0.3, 0.05, 0.05, (255, 240, 206))
    sea = [(0.0, 0.55), (c.aspect, 0.55), (c.aspect, 1.0), (0.0, 1.0)]
    c.polygon(sea, (44, 96, 122))
    c.texture(0.55, (0.14, 0.012), c.region(sea))
    c.polygon([(x - 0.19, 0.6), (x + 0.2, 0.6), (x + 0.14, 0.68), (x - 0.15, 0.68)], (92, 40, 30), subject=True)
    c.line([(x, 0.6), (x, 0.2)], 0.009, (70, 46, 34), subject=True)
    c.polygon([(x + 0.012, 0.22), (x + 0.17, 0.57), (x + 0.012, 0.57)], (250, 248, 240), subject=True)
    c.polygon([(x - 0.012, 0.26), (x - 0.13, 0.57), (x - 0.012, 0.57)], (232, 226, 212), subject=True)


def _portrait(c: _Canvas) -> None:
    x = c.aspect * c.rng.uniform(0.4, 0.6)
    c.sky((70, 84, 72), (112, 104, 84))
    for _ in range(26):
        spot = c.rng.uniform((0, 0, 0.02), (c.aspect, 1, 0.07))
        shade = int(c.rng.integers(90, 170))
        c.ellipse(spot[0], spot[1], spot[2], spot[2], (shade, shade - 10, shade - 40))
    c.blur(0.025)
    c.ellipse(x, 1.06, 0.36, 0.36, (44, 62, 104))
    c.box(x - 0.06, 0.56, x + 0.06, 0.76, (206, 156, 128))
    c.ellipse(x, 0.36, 0.185, 0.225, (58, 36, 26), subject=True)
    c.ellipse(x, 0.42, 0.145, 0.195, (228, 180, 150), subject=True)
    for side in (-1, 1):
        c.ellipse(x + side * 0.058, 0.4, 0.024, 0.013, (250, 248, 244), subject=True)
        c.ellipse(x + side * 0.058, 0.4, 0.011, 0.012, (52, 74, 60), subject=True)
        c.line([(x + side * 0.03, 0.366), (x + side * 0.088, 0.364)], 0.009, (58, 36, 26), subject=True)
    c.polygon([(x, 0.42), (x + 0.02, 0.48), (x - 0.02, 0.48)], (204, 148, 122), subject=True)
    c.ellipse(x, 0.53, 0.048, 0.014, (178, 80, 78), subject=True)


def _sign(c: _Canvas) -> None:
    x = c.aspect * c.rng.uniform(0.42, 0.58)
    c.sky((196, 182, 160), (178, 162, 140))
    c.texture(0.25, (0.05, 0.04))
    c.texture(0.2, (0.6, 0.5))
    c.box(x - 0.42, 0.34, x + 0.42, 0.62, (24, 62, 58), subject=True)
    c.box(x - 0.405, 0.355, x + 0.405, 0.605, (240, 232, 208), subject=True)
    c.box(x - 0.395, 0.365, x + 0.395, 0.595, (24, 62, 58), subject=True)
    c.text(x, 0.48, "OPEN LATE", 0.13, (244, 236, 212))


def _pair(c: _Canvas) -> None:
    c.sky((238, 208, 170), (250, 234, 206), until=0.6)
    c.texture(0.1, (0.6, 0.1))
    sand = [(0.0, 0.62), (c.aspect, 0.6), (c.aspect, 1.0), (0.0, 1.0)]
    c.polygon(sand, (214, 186, 140))
    c.texture(0.35, (0.05, 0.015), c.region(sand))
    apart = c.rng.uniform(0.2, 0.26)
    for side, coat, top in ((-1, (42, 84, 140), 0.3), (1, (186, 60, 70), 0.36)):
        x = c.aspect / 2 + side * apart
        if side > 0:
            c.next_subject()
        c.polygon(
            [(x - 0.1, 0.84), (x - 0.055, top + 0.14), (x + 0.055, top + 0.14), (x + 0.1, 0.84)], coat, subject=True
        )
        c.ellipse(x, top + 0.075, 0.062, 0.075, (196, 142, 112), subject=True)
        c.ellipse(x, top + 0.035, 0.066, 0.045, (52, 38, 32), subject=True)


def _bird(c: _Canvas) -> None:
    x, y = c.aspect * c.rng.uniform(0.7, 0.78), c.rng.uniform(0.26, 0.34)
    c.sky((120, 166, 210), (214, 226, 230))
    c.texture(0.3, (0.45, 0.14))
    c.ridge(0.93, 0.05, (88, 104, 110))
    c.polygon([(x - 0.02, y), (x - 0.2, y - 0.13), (x - 0.08, y + 0.03)], (40, 40, 52), subject=True)
    c.polygon([(x + 0.02, y), (x + 0.16, y - 0.16), (x + 0.08, y + 0.03)], (40, 40, 52), subject=True)
    c.ellipse(x, y + 0.02, 0.1, 0.038, (54, 52, 62), subject=True)
    c.polygon([(x + 0.09, y + 0.01), (x + 0.14, y + 0.025), (x + 0.09, y + 0.035)], (222, 158, 56), subject=True)


def _tower(c: _Canvas) -> None:
    x = c.aspect * c.rng.uniform(0.42, 0.6)
    c.sky((28, 40, 84), (226, 150, 112), until=0.86)
    c.texture(0.12, (0.4, 0.1))
    c.polygon(
        [(0, 0.84), (c.aspect * 0.4, 0.81), (c.aspect * 0.75, 0.83), (c.aspect, 0.87), (c.aspect, 1), (0, 1)],
        (42, 40, 48),
    )
    c.polygon([(x - 0.075, 0.84), (x - 0.045, 0.3), (x + 0.045, 0.3), (x + 0.075, 0.84)], (240, 236, 230), subject=True)
    for top in (0.36, 0.54, 0.72):
        spread = 0.045 + 0.03 * (top - 0.3) / 0.54
        c.box(x - spread, top, x + spread, top + 0.08, (196, 50, 44), subject=True)
    c.box(x - 0.06, 0.285, x + 0.06, 0.305, (40, 40, 50), subject=True)
    c.box(x - 0.032, 0.22, x + 0.032, 0.285, (255, 236, 160), subject=True)
    c.polygon([(x - 0.045, 0.22), (x, 0.16), (x + 0.045, 0.22)], (150, 40, 38), subject=True)


_DRAWN: Mapping[str, tuple[float, Callable[[_Canvas], None]]] = {
    "balloon": (16 / 9, _balloon),
    "boat": (16 / 9, _boat),
    "portrait": (3 / 2, _portrait),
    "sign": (3 / 2, _sign),
    "pair": (16 / 9, _pair),
    "bird": (16 / 9, _bird),
    "tower": (2 / 3, _tower),
}
NAMES = tuple(_DRAWN)


def scene(name: str, *, height: int = 540, seed: int = 0) -> Scene:
    """One of the seven pictures; another seed moves its subject and draws other hills.

    >>> boat = scene("boat", height=90)
    >>> boat.picture.size, len(boat.subjects)
    ((160, 90), 1)
    """
    aspect, draw = _DRAWN[name]
    canvas = _Canvas(round(height * aspect), height, seed * 1000 + NAMES.index(name))
    draw(canvas)
    return Scene(name, canvas.picture, tuple(canvas.subjects))
