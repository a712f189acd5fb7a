"""The geometry of a scene, its camera, and the planes that are painted once and moved in every frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageFilter

from .light import Colour, Light
from .noise import NoiseField, generator
from .words import Scene

PAINTED = 800 * 450
"""Approximate number of painted pixels; the finished frame is scaled up from them."""

STILL = 0.52
"""Up to this nearness nothing moves if the prompt names no camera move (`Camera.breathing`)."""

_HORIZONS = {
    "water": 0.56, "river": 0.5, "beach": 0.5, "floe": 0.5, "street": 0.66, "floor": 0.72, "roofs": 0.93, "none": 1.2, "seabed": 0.8,
    "snow": 0.6, "sand": 0.6, "forest": 0.66,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class View:
    """The camera transform for one distance: the world is scaled about the vanishing point, then translated."""

    scale: float
    dx: float
    dy: float


@dataclass(frozen=True, slots=True)
class Stage:
    """Dimensions in pixels of the painted picture; (0, 0) is its top left corner when the camera is at rest."""

    scene: Scene
    light: Light
    seed: int
    width: int
    height: int
    horizon: float
    unit: float
    """The shorter side, so that figures have the same size in wide and tall pictures."""
    margin_x: int
    margin_y: int
    """With `margin_x`, how far the camera can move beyond the edges."""

    @property
    def wide(self) -> int:
        """The width of the world."""
        return self.width + 2 * self.margin_x

    @property
    def floor(self) -> float:
        """The lowest y of the world."""
        return float(self.height + self.margin_y)

    @property
    def centre(self) -> tuple[float, float]:
        """The vanishing point."""
        return self.width / 2, min(self.horizon, self.height * 0.75)

    def columns(self) -> NoiseField:
        """The x of every column of the world."""
        return np.arange(-self.margin_x, self.width + self.margin_x, dtype=np.float32)[None]

    def rows(self, top: float, bottom: float) -> NoiseField:
        """The y of every row from `top` to `bottom`."""
        return np.arange(int(top), int(bottom), dtype=np.float32)[:, None]

    def random(self, *what: object) -> np.random.Generator:
        """Random numbers for one part of the scene, independent of all others."""
        return generator(self.seed, *what)

    def row_y(self, share: float) -> float:
        """The y at a share of the way from the horizon to the lower edge."""
        return self.horizon + share * (self.height - self.horizon)

    def size_at(self, y: float) -> float:
        """The apparent size of an object at y; 1 at the usual position in front."""
        return max(0.12, 0.3 + 0.7 * (y - self.horizon) / max(1.0, 0.72 * (self.height - self.horizon)))

    def seen_at(self, view: View, x: float, y: float) -> tuple[float, float]:
        """The position in the picture of a point of the world."""
        cx, cy = self.centre
        return cx + (x - cx) * view.scale + view.dx, cy + (y - cy) * view.scale + view.dy

    def view(self, seconds: float, nearness: float) -> View:
        """The camera transform at a nearness: 0 for the sky, 1 for the foreground."""
        camera = self.scene.camera
        gone = float(np.tanh(seconds * camera.pace / 6))
        zoom = camera.zoom * gone if camera.zoom >= 0 else -camera.zoom * (1 - gone)
        dx = -camera.pan * (gone - 0.5) * self.width
        dy = camera.tilt * (gone - 0.5) * self.height
        if camera.shake:
            dx += 0.004 * self.width * (np.sin(seconds * 5.1) + 0.6 * np.sin(seconds * 8.3 + 1))
            dy += 0.004 * self.height * (np.sin(seconds * 6.3 + 2) + 0.6 * np.sin(seconds * 9.7))
        # Without a camera move in the prompt, far planes do not move, and are merged into one.
        share = min(1.0, max(0.0, (nearness - STILL) / 0.2)) if camera.breathing else 0.3 + 0.7 * nearness
        return View(1 + zoom * share, float(dx) * share, float(dy) * share)


def painted_size(size: tuple[int, int], *, detailed: bool) -> tuple[int, int]:
    """Width and height of the painted picture: the clip's shape, even sides, never larger than the clip.

    >>> painted_size((1280, 720), detailed=False), painted_size((480, 480), detailed=False)
    ((800, 450), (480, 480))
    """
    width, height = size
    factor = min(1.0, (PAINTED * (1.6 if detailed else 1) / (width * height)) ** 0.5)
    return round(width * factor / 2) * 2, round(height * factor / 2) * 2


def built_stage(scene: Scene, light: Light, seed: int, size: tuple[int, int], *, detailed: bool) -> Stage:
    """The geometry of a scene at a size."""
    width, height = painted_size(size, detailed=detailed)
    camera = scene.camera
    horizon = _HORIZONS.get(scene.ground, 0.62)
    if height > width and horizon < 1:
        horizon += 0.05
    return Stage(
        scene, light, seed, width, height, horizon * height, float(min(width, height)),
        margin_x=int(width * (abs(camera.pan) * 0.66 + 0.012 * camera.shake) + 2),
        margin_y=int(height * (abs(camera.tilt) * 0.66 + 0.012 * camera.shake) + 2),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plane:
    """A flat part of the scene at one distance."""

    picture: Image.Image
    mask: Image.Image
    top: int
    """The y of its first row in the world; its first column is the world's left edge."""
    nearness: float
    """0 for the sky, 1 for the foreground."""


def plane(colour: NoiseField, cover: NoiseField, top: float, nearness: float) -> Plane:
    """A plane made of colours and opacity, both from 0 to 1."""
    colour = np.broadcast_to(colour, (*cover.shape, 3))
    picture = Image.fromarray((np.clip(colour, 0, 1) * 255 + 0.5).astype(np.uint8), "RGB")
    mask = Image.fromarray((np.clip(cover, 0, 1) * 255 + 0.5).astype(np.uint8), "L")
    return Plane(picture, mask, int(top), nearness)


def blended(first: NoiseField | Colour, second: NoiseField | Colour, share: NoiseField) -> NoiseField:
    """Two colours mixed by a map of shares."""
    start, end = np.asarray(first, np.float32), np.asarray(second, np.float32)
    return np.asarray(start + (end - start) * share[..., None], np.float32)


def merged(planes: Sequence[Plane], within: float) -> list[Plane]:
    """The planes with adjacent ones merged whose nearness differs by no more than `within`."""
    groups: list[list[Plane]] = []
    for item in planes:
        if groups and abs(groups[-1][0].nearness - item.nearness) <= within:
            groups[-1].append(item)
        else:
            groups.append([item])
    return [_united(group) for group in groups]


def _united(planes: list[Plane]) -> Plane:
    if len(planes) == 1:
        return planes[0]
    top = min(item.top for item in planes)
    size = (planes[0].picture.width, max(item.top + item.picture.height for item in planes) - top)
    whole = Image.new("RGBA", size)
    for item in planes:
        layer = Image.new("RGBA", size)
        own = item.picture.convert("RGBA")
        own.putalpha(item.mask)
        layer.paste(own, (0, item.top - top))
        whole = Image.alpha_composite(whole, layer)
    # Colour extends slightly beyond the covered area: scaling would blend black into the edges.
    colour = whole.convert("RGBa").filter(ImageFilter.BoxBlur(2)).convert("RGBA").convert("RGB")
    cover = whole.getchannel("A")
    colour.paste(whole.convert("RGB"), (0, 0), cover.point([0] + [255] * 255))
    return Plane(colour, cover, top, planes[-1].nearness)


def show_plane(picture: Image.Image, item: Plane, stage: Stage, view: View) -> None:
    """Paint a plane into the picture as the camera sees it."""
    centre_x, centre_y = stage.centre
    # Picture = centre + (world - centre) * scale + shift, solved for the visible rectangle of the world.
    left = centre_x + (-view.dx - centre_x) / view.scale + stage.margin_x
    width = stage.width / view.scale
    world_top = centre_y + (-view.dy - centre_y) / view.scale
    first = max(0, int(np.floor(stage.seen_at(view, 0, item.top)[1])))
    last = min(stage.height, int(np.ceil(stage.seen_at(view, 0, item.top + item.picture.height)[1])))
    top = world_top + first / view.scale - item.top
    bottom = world_top + last / view.scale - item.top
    # The box must be inside the plane: at its edges the picture is a fraction of a pixel short.
    top, bottom = max(0.0, top), min(float(item.picture.height), bottom)
    left = min(max(0.0, left), item.picture.width - width)
    if last <= first or bottom - top < 1:
        return
    if view.scale == 1 and left == int(left) and top == int(top):
        corner = (int(left), int(top), int(left) + stage.width, int(top) + last - first)
        picture.paste(item.picture.crop(corner), (0, first), item.mask.crop(corner))
        return
    box, size = (left, top, left + width, bottom), (stage.width, last - first)
    seen = item.picture.resize(size, Image.Resampling.BILINEAR, box=box)
    picture.paste(seen, (0, first), item.mask.resize(size, Image.Resampling.BILINEAR, box=box))
