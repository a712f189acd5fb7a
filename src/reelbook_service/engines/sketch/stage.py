"""The geometry of a scene: dimensions, horizon, light, and movement of the camera."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .noise import Field, generator
from .palette import Light
from .scene import Camera, Scene

PAINTED = 800 * 450
"""Approximate number of painted pixels; the finished frame is scaled up from them."""

STILL = 0.52
"""Up to this nearness nothing moves if the prompt names no camera move (`Camera.breathing`)."""

_HORIZONS = {
    "water": 0.56, "river": 0.5, "beach": 0.5, "floe": 0.5, "street": 0.66, "floor": 0.7, "roofs": 0.93, "none": 1.2, "seabed": 0.8,
    "cloudsea": 0.62, "stage": 0.74, "snow": 0.6, "sand": 0.6, "forest": 0.66, "cave": 0.66, "rails": 0.62,
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
    detailed: bool
    relief: Field
    """The relief of the ground from the latents: one value from about -1 to 1 for some columns."""

    @property
    def wide(self) -> int:
        """The width of the world."""
        return self.width + 2 * self.margin_x

    def columns(self) -> Field:
        """The x of every column of the world."""
        return np.arange(-self.margin_x, self.width + self.margin_x, dtype=np.float32)[None]

    def rows(self, top: float, bottom: float) -> Field:
        """The y of every row from `top` to `bottom`."""
        return np.arange(int(top), int(bottom), dtype=np.float32)[:, None]

    @property
    def floor(self) -> float:
        """The lowest y of the world."""
        return float(self.height + self.margin_y)

    def random(self, *what: object) -> np.random.Generator:
        """Random numbers for one part of the scene, independent of all others."""
        return generator(self.seed, *what)

    def style(self, index: int) -> float:
        """One number of the scene's style vector, from -1 to 1."""
        return self.scene.style[index]

    def size_at(self, y: float) -> float:
        """The apparent size of an object at y; 1 at the usual position in front."""
        front = self.horizon + 0.72 * (self.height - self.horizon)
        return max(0.12, 0.3 + 0.7 * (y - self.horizon) / max(1.0, front - self.horizon))


def painted_size(size: tuple[int, int], *, detailed: bool) -> tuple[int, int]:
    """Width and height of the painted picture: the clip's shape, even sides, never larger than the clip.

    >>> painted_size((1280, 720), detailed=False), painted_size((480, 480), detailed=False)
    ((800, 450), (480, 480))
    """
    width, height = size
    pixels = PAINTED * (1.6 if detailed else 1)
    factor = min(1.0, (pixels / (width * height)) ** 0.5)
    return round(width * factor / 2) * 2, round(height * factor / 2) * 2


def built_stage(
    scene: Scene, light: Light, seed: int, size: tuple[int, int], relief: Field, *, detailed: bool
) -> Stage:
    """The geometry of a scene at a size."""
    width, height = painted_size(size, detailed=detailed)
    camera = scene.camera
    shake = 0.012 * camera.shake
    horizon = _HORIZONS.get(scene.ground, 0.62)
    if height > width and horizon < 1:
        horizon += 0.05
    return Stage(
        scene, light, seed, width, height, horizon * height, float(min(width, height)),
        margin_x=int(width * (abs(camera.pan) * 0.66 + shake) + 2 + 0.06 * width * (camera.roll > 0)),
        margin_y=int(height * (abs(camera.tilt) * 0.66 + shake) + 2 + 0.06 * height * (camera.roll > 0)),
        detailed=detailed,
        relief=relief,
    )  # fmt: skip


def progress(camera: Camera, seconds: float) -> float:
    """The progress of the camera, from 0 to almost 1: linear at first, then slowing down."""
    return float(np.tanh(seconds * camera.pace / 6))


def view(stage: Stage, seconds: float, nearness: float) -> View:
    """The camera transform at a nearness: 0 for the sky, 1 for the foreground."""
    camera = stage.scene.camera
    gone = progress(camera, seconds)
    zoom = camera.zoom * gone if camera.zoom >= 0 else -camera.zoom * (1 - gone)
    dx = -camera.pan * (gone - 0.5) * stage.width
    dy = camera.tilt * (gone - 0.5) * stage.height
    if camera.shake:
        dx += 0.004 * stage.width * (np.sin(seconds * 5.1) + 0.6 * np.sin(seconds * 8.3 + 1))
        dy += 0.004 * stage.height * (np.sin(seconds * 6.3 + 2) + 0.6 * np.sin(seconds * 9.7))
    # Without a camera move in the prompt, far planes do not move, and are merged into one.
    share = min(1.0, max(0.0, (nearness - STILL) / 0.2)) if camera.breathing else 0.3 + 0.7 * nearness
    return View(1 + zoom * share, float(dx) * share, float(dy) * share)
