"""Post-processing of a frame: the latents' light, a vignette, the tone curve, and the grain of the detail pass."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageChops, ImageFilter

from .noise import Field, cloudy
from .sampler import LIGHT, WARMTH, tone_mapped
from .stage import Stage

_COARSE = 8


class Finish:
    """Post-processing, the same for every frame."""

    def __init__(self, stage: Stage, compression: float, fine: Field | None) -> None:
        self.size = (stage.width, stage.height)
        self.curve = _curve(compression) if compression else None
        self.small = (stage.width // _COARSE, stage.height // _COARSE)
        y = np.linspace(-1, 1, self.small[1], dtype=np.float32)[:, None]
        x = np.linspace(-1, 1, self.small[0], dtype=np.float32)[None]
        self.rim = (0.10 * np.clip(x * x + y * y - 0.5, 0, 2)).astype(np.float32)
        self.matrix = _MATRICES.get(stage.scene.grade)
        self.canvas = _canvas(stage, fine) if fine is not None else None

    def apply(self, picture: Image.Image, latents: Field) -> Image.Image:
        """The finished frame."""
        picture = ImageChops.soft_light(picture, self._light(latents))
        if self.matrix:
            picture = picture.convert("RGB", self.matrix)
        if self.canvas is not None:
            picture = picture.filter(ImageFilter.UnsharpMask(1.4, 120, 0))
            picture = ImageChops.overlay(picture, self.canvas)
        if self.curve:
            picture = picture.point(self.curve)
        return picture

    def _light(self, latents: Field) -> Image.Image:
        """The soft-light layer of the latents: mid-grey where neutral, else lighter, darker, warmer or cooler."""
        light, warmth = (
            np.asarray(
                Image.fromarray(np.ascontiguousarray(latents[index])).resize(self.small, Image.Resampling.BICUBIC),
                np.float32,
            )
            for index in (LIGHT, WARMTH)
        )
        level = np.float32(0.5) + np.float32(0.04) * np.clip(light, -2.5, 2.5) - self.rim
        warm = np.float32(0.035) * np.clip(warmth, -2.5, 2.5)
        both = np.stack([level + warm, level, level - warm], 2)
        small = Image.fromarray((np.clip(both, 0, 1) * 255 + np.float32(0.5)).astype(np.uint8), "RGB")
        return small.resize(self.size, Image.Resampling.BILINEAR)


def _mix(colourfulness: float, tint: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> tuple[float, ...]:
    """A colour matrix that scales saturation by `colourfulness`, then tints."""
    grey = (0.30, 0.59, 0.11)
    rows: list[float] = []
    for channel in range(3):
        weights = [
            (1 - colourfulness) * part + (colourfulness if index == channel else 0) for index, part in enumerate(grey)
        ]
        rows += [*(weight * tint[channel] for weight in weights), 0.0]
    return tuple(rows)


_MATRICES = {
    "mono": _mix(0), "sepia": _mix(0.12, (1.08, 0.93, 0.72)), "vivid": _mix(1.3), "muted": _mix(0.55), "pastel": _mix(0.8, (1.04, 1.0, 1.03)),
}  # fmt: skip


def _curve(compression: float) -> list[int]:
    """The sampler's tone curve for brightness, which compresses dark and bright values towards middle grey."""
    values = (np.arange(256, dtype=np.float32) / 255 - np.float32(0.5)) * 4
    mapped = tone_mapped(values, compression) / 4 + np.float32(0.5)
    return [int(value) for value in np.clip(mapped * 255 + np.float32(0.5), 0, 255)] * 3


def _canvas(stage: Stage, fine: Field) -> Image.Image:
    """A grain like a painter's canvas, stronger where the detail pass has more detail."""
    rough = cloudy((stage.seed, "canvas"), 0.35)
    tiles = (-(-stage.height // rough.shape[0]), -(-stage.width // rough.shape[1]))
    grain = np.tile(rough, tiles)[: stage.height, : stage.width] - np.float32(0.5)
    amount = Image.fromarray(np.ascontiguousarray(np.abs(fine))).resize(
        (stage.width, stage.height), Image.Resampling.BICUBIC
    )
    strength = np.float32(0.16) + np.float32(0.10) * np.clip(np.asarray(amount, np.float32), 0, 2)
    grey = np.clip((np.float32(0.5) + grain * strength) * 255, 0, 255).astype(np.uint8)
    return Image.fromarray(grey, "L").convert("RGB")
