"""The light and the geometry of a scene, its camera, and the planes that are painted once and moved in every frame."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from reelbook.models.text_to_video import LoRA

from .light import Colour, Light, hexed, scaled
from .noise import NoiseField, generator
from .words import TABLE, Scene

PAINTED = 800 * 450
"""Approximate number of painted pixels; the finished frame is scaled up from them."""

_STILL = 0.52
"""Up to this nearness nothing moves if the prompt names no camera move (`Camera.breathing`)."""


def named(word: str) -> Colour:
    """The colour that a word names."""
    return hexed(TABLE["colour"][word].split()[0])


def light_of(scene: Scene, loras: Sequence[LoRA] = ()) -> Light:
    """The light for a scene's time, weather, colour grade, words and LoRA styles."""
    row = TABLE["time"]["neon" if scene.grade == "neon" else scene.time]
    zenith, middle, low, glow, ambient, haze = map(hexed, row["colours"].split())
    across = min(0.88, max(0.12, row["across"] + 0.1 * scene.chance("sun")))
    light = Light(zenith, middle, low, glow, ambient, haze, row["height"], across, row.get("dark", False))
    grey = max((row["grey"] for name in scene.weather if "grey" in (row := TABLE["weather"][name])), default=0.0)
    if grey and scene.time not in ("space", "mars", "underwater"):
        # Rain and storm make the sky grey; the time of day stays recognisable.
        storm, rain = "storm" in scene.weather, "rain" in scene.weather
        brightness = float(light.ambient.sum()) / 2.6 * (1 - 0.42 * storm - 0.2 * rain)
        grey *= 0.6 if light.dark or scene.time in ("dusk", "sunset") else 1
        light = replace(light.washed(scaled(hexed("#a4aeb8"), brightness), grey), dark=light.dark or storm)
    for tint in scene.tints:
        light = light.washed(named(tint), 0.35)
    light = light.washed(np.array(colorsys.hls_to_rgb(scene.chance("hue") % 1, 0.5, 0.7)), 0.03)
    for lora in loras:
        # A style derived from the name of the weights: no file is read, and scale 0 changes nothing.
        rng = generator("lora", lora.path, lora.weight_name)
        style = colorsys.hls_to_rgb(rng.random(), rng.uniform(0.45, 0.65), rng.uniform(0.5, 0.9))
        light = light.washed(np.array(style), 1 - math.exp(-0.4 * lora.scale))
    return light


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
    def centre(self) -> tuple[float, float]:
        """The vanishing point."""
        return self.width / 2, min(self.horizon, self.height * 0.75)

    def grid(self, top: float, bottom: float) -> tuple[NoiseField, NoiseField]:
        """The x of every column of the world in a row, and the y of its rows from `top` to `bottom` in a column."""
        x = np.arange(-self.margin_x, self.width + self.margin_x, dtype=np.float32)
        return x[None], np.arange(int(top), int(bottom), dtype=np.float32)[:, None]

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
        gone = math.tanh(seconds * self.scene.pace / 6)
        zoom = camera.zoom * gone if camera.zoom >= 0 else -camera.zoom * (1 - gone)
        sway = 0.004 * self.width * camera.shake
        dx = -camera.pan * (gone - 0.5) * self.width + sway * math.sin(seconds * 5.1)
        dy = camera.tilt * (gone - 0.5) * self.height + sway * math.sin(seconds * 6.3 + 2)
        # Without a camera move in the prompt, far planes do not move.
        share = min(1.0, max(0.0, (nearness - _STILL) / 0.2)) if camera.breathing else 0.3 + 0.7 * nearness
        return View(1 + zoom * share, dx * share, dy * share)


def built_stage(scene: Scene, light: Light, seed: int, size: tuple[int, int], *, detailed: bool) -> Stage:
    """The geometry of a scene for a clip of this size: its shape, with even sides, and never larger than it."""
    factor = min(1.0, (PAINTED * (1.6 if detailed else 1) / (size[0] * size[1])) ** 0.5)
    width, height = (round(side * factor / 2) * 2 for side in size)
    camera = scene.camera
    horizon = TABLE["ground"][scene.ground].get("horizon", 0.62)
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

    def show(self, picture: Image.Image, stage: Stage, seconds: float) -> None:
        """Paint it into the picture as the camera sees it."""
        view, (centre_x, centre_y) = stage.view(seconds, self.nearness), stage.centre
        first, last = (stage.seen_at(view, 0, y)[1] for y in (self.top, self.top + self.picture.height))
        first, last = max(0, math.floor(first)), min(stage.height, math.ceil(last))
        # The visible rectangle of the world, within this plane: at its edges the picture is a fraction of a pixel short.
        left = centre_x - (centre_x + view.dx) / view.scale + stage.margin_x
        top, bottom = (centre_y + (y - centre_y - view.dy) / view.scale - self.top for y in (first, last))
        top, bottom = max(0.0, top), min(float(self.picture.height), bottom)
        width = stage.width / view.scale
        left = min(max(0.0, left), self.picture.width - width)
        if last <= first or bottom - top < 1:
            return
        # Pillow cuts out a box of whole pixels that keeps its size, which is quicker than to resize it.
        left, top, right, bottom = (round(side, 6) for side in (left, top, left + width, bottom))
        size, box = (stage.width, last - first), (left, top, right, bottom)
        shown, mask = (part.resize(size, Image.Resampling.BILINEAR, box=box) for part in (self.picture, self.mask))
        picture.paste(shown, (0, first), mask)


def plane(colour: NoiseField, cover: NoiseField, top: float, nearness: float) -> Plane:
    """A plane made of colours and opacity, both from 0 to 1."""
    return Plane(picture_of(np.broadcast_to(colour, (*cover.shape, 3))), picture_of(cover), int(top), nearness)


def picture_of(colour: NoiseField) -> Image.Image:
    """A picture of colours, or of greys, from 0 to 1."""
    return Image.fromarray((np.clip(colour, 0, 1) * 255 + 0.5).astype(np.uint8))


def blended(first: NoiseField, second: NoiseField, share: NoiseField) -> NoiseField:
    """Two colours mixed by a map of shares."""
    start, end = np.asarray(first, np.float32), np.asarray(second, np.float32)
    return np.asarray(start + (end - start) * share[..., None], np.float32)
