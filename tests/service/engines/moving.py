"""Pictures to move, frames of their clips, and a way to measure what moved."""

from __future__ import annotations

import io
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from reelbook.models.image_to_video import ImageToVideo
from reelbook_service.engines.move.engine import Shot
from reelbook_service.engines.move.plan import make_plan

ADDRESS = "https://example.org/boat.png"


def scenery(width: int = 192, height: int = 108) -> Image.Image:
    """A picture with soft hills everywhere and a bright thing in the middle: every move of it can be measured."""
    draw = np.random.default_rng(5)
    layers = []
    for cells, strength in ((5, 60), (11, 40), (23, 25)):
        rough = draw.uniform(-1, 1, (max(2, cells * height // width), cells, 3)).astype(np.float32)
        smooth = [
            Image.fromarray(rough[..., channel]).resize((width, height), Image.Resampling.BICUBIC)
            for channel in range(3)
        ]
        layers.append(strength * np.stack([np.asarray(channel) for channel in smooth], axis=-1))
    picture = Image.fromarray(np.clip(120 + sum(layers) * np.array([1, 0.9, 0.6]), 0, 255).astype(np.uint8))
    centre, reach = width / 2, height / 7
    ImageDraw.Draw(picture).ellipse(
        (centre - reach, height / 2 - reach, centre + reach, height / 2 + reach), fill=(235, 225, 190)
    )
    return picture


def encoded(picture: Image.Image, image_format: str = "PNG", **options: Any) -> bytes:
    data = io.BytesIO()
    picture.save(data, image_format, **options)
    return data.getvalue()


def shot(data: bytes, prompt: str, *, number: int = 119, **fields: Any) -> Image.Image:
    """One frame, the last if none is named, before it is encoded; for what needs no file."""
    wanted = make_plan(ImageToVideo(prompt=prompt, image_url=ADDRESS, **fields))
    return Shot(ADDRESS, data, wanted, 5).frame(number, 120)


def picture_of(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def grey(picture: Image.Image) -> NDArray[np.float64]:
    return np.asarray(picture.convert("L"), dtype=np.float64)


def psnr(one: Image.Image, other: Image.Image) -> float:
    difference = np.asarray(one.convert("RGB"), float) - np.asarray(other.convert("RGB"), float)
    return float(10 * np.log10(255**2 / max(1e-9, (difference**2).mean())))


@dataclass
class Motion:
    """How the middle of a picture has changed: its size, its place as shares of the sides, its turn in degrees."""

    size: float
    right: float
    down: float
    turn: float


def motion(first: Image.Image, last: Image.Image) -> Motion:
    """The motion that explains the change best, by trying, first in coarse steps, then in fine ones."""
    small = (96, 54)
    before, after = first.convert("L").resize(small), grey(last.resize(small))
    window = (slice(13, 41), slice(23, 73))
    best = (1.0, 0.0, 0.0, 0.0)
    for reach, step in ((4, (0.08, 0.05, 0.05, 4.0)), (2, (0.03, 0.018, 0.018, 1.5)), (2, (0.012, 0.007, 0.007, 0.6))):
        centre = best

        def likeness(change: tuple[float, ...]) -> float:
            size, right, down, turn = change
            angle = np.deg2rad(turn)
            cos, sin = np.cos(angle) / size, np.sin(angle) / size
            x, y = small[0] * (0.5 + right), small[1] * (0.5 + down)
            affine = (cos, sin, small[0] / 2 - cos * x - sin * y, -sin, cos, small[1] / 2 + sin * x - cos * y)
            moved = grey(before.transform(small, Image.Transform.AFFINE, affine, Image.Resampling.BILINEAR))
            return float(-abs(moved[window] - after[window]).mean())

        # The four are tried in pairs that hardly mix: place with size first, then the turn with all.
        tries = [
            (centre[0] + a * step[0], centre[1] + b * step[1], centre[2] + c * step[2], centre[3])
            for a, b, c in product(range(-reach, reach + 1), repeat=3)
        ]
        best = max(tries, key=likeness)
        turns = [(*best[:3], best[3] + a * step[3]) for a in range(-reach, reach + 1)]
        best = max(turns, key=likeness)
    return Motion(*best)
