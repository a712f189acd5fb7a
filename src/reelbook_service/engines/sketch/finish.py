"""What the numbers of a request do to every frame: steps, colour matching, tone mapping, the detail pass; and colour grades."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageChops, ImageFilter

from reelbook.models.text_to_video import TextToVideo

from .noise import NoiseField, cloudy, generator
from .stage import Stage

CHUNK = 64
"""Frames whose colours belong together; later chunks drift away from the first one."""

_DRIFT = 1.1
"""How far a later chunk drifts in light and warmth if nothing holds it."""

_USUAL_STEPS = 8
_COARSE = 8
"""Pixels of the painted picture to one of the map of light."""


def noise_left(steps: int, each: float) -> float:
    """The share of a pass's noise that is left after so many steps, each of which keeps a share of it.

    >>> [round(noise_left(steps, 0.8), 2) for steps in (2, 8, 12)]
    [0.64, 0.17, 0.07]
    """
    return float(each**steps)


def drifts(chunks: int, matching: float, rng: np.random.Generator) -> NoiseField:
    """How much lighter and warmer each chunk is than the first; `matching` (AdaIN) takes back that share of it."""
    angle = rng.uniform(0, 2 * np.pi, chunks)
    drift = np.stack([np.cos(angle), np.sin(angle)], 1) * (_DRIFT * (1 - matching))
    drift[0] = 0
    return np.asarray(drift, np.float32)


def tone_mapped(values: NoiseField, compression: float) -> NoiseField:
    """The values with those far from zero compressed towards it; a compression of 0 changes nothing."""
    strength = np.float32(0.75 * compression)
    pull = 1 / (1 + np.exp(-4 * strength * (np.abs(values) - 1)))
    return np.asarray(values * (1 - np.float32(0.8) * strength * pull), np.float32)


class Finish:
    """The last touch of every frame: light that wanders slowly, a vignette, grade, grain and tone curve."""

    def __init__(self, stage: Stage, request: TextToVideo) -> None:
        rng = generator("finish", stage.seed)
        first, second = request.first_pass_num_inference_steps, request.second_pass_num_inference_steps
        self.size, self.rate = (stage.width, stage.height), request.frame_rate
        self.small = (max(2, stage.width // _COARSE), max(2, stage.height // _COARSE))
        self.drift = drifts(1 + (request.num_frames - 2) // CHUNK, request.temporal_adain_factor, rng)
        x, y = np.linspace(-1, 1, self.small[0])[None], np.linspace(-1, 1, self.small[1])[:, None]
        self.base = np.asarray(0.515 - 0.10 * np.clip(x * x + y * y - 0.5, 0, 2), np.float32)
        fine = rng.standard_normal(self.small[::-1]) * noise_left(second - request.second_pass_skip_initial_steps, 0.6)
        self.base += (0.03 * fine).astype(np.float32)
        unsettled = noise_left(first, 0.8)
        self.blotches = [self._blotches(rng) * np.float32(0.12 * unsettled) for _ in range(2)]
        vividness = 1 + 0.25 * (noise_left(_USUAL_STEPS, 0.8) - unsettled)
        colour, tint = _GRADES.get(stage.scene.grade, (1.0, (1.0, 1.0, 1.0)))
        self.matrix = (
            _matrix(colour * vividness, tint) if (colour * vividness, tint) != (1.0, (1.0, 1.0, 1.0)) else None
        )
        self.canvas = _canvas(stage) if request.enable_detail_pass else None
        ratio = request.tone_map_compression_ratio
        self.curve = _curve(ratio) if ratio else None

    def apply(self, picture: Image.Image, number: int) -> Image.Image:
        """The finished frame."""
        picture = ImageChops.soft_light(picture, self._light(number))
        if self.matrix:
            picture = picture.convert("RGB", self.matrix)
        if self.canvas is not None:
            picture = picture.filter(ImageFilter.UnsharpMask(1.4, 120, 0))
            picture = ImageChops.overlay(picture, self.canvas)
        if self.curve:
            picture = picture.point(self.curve)
        return picture

    def _light(self, number: int) -> Image.Image:
        """The soft-light layer: mid-grey where neutral, else lighter, darker, warmer or cooler."""
        # Chunks blend over a few frames, so that no cut is seen.
        chunk = min(number // CHUNK, len(self.drift) - 1)
        share = np.float32(min(1.0, (number - chunk * CHUNK) / 16))
        light, warmth = self.drift[max(0, chunk - 1)] * (1 - share) + self.drift[chunk] * share
        angle = 2 * np.pi * number / self.rate / 7
        level = self.base + self.blotches[0] * np.float32(np.cos(angle)) + self.blotches[1] * np.float32(np.sin(angle))
        level = level + np.float32(0.04) * light
        warm = np.float32(0.035) * warmth
        both = np.stack([level + warm, level, level - warm], 2)
        small = Image.fromarray((np.clip(both, 0, 1) * 255 + np.float32(0.5)).astype(np.uint8), "RGB")
        return small.resize(self.size, Image.Resampling.BILINEAR)

    def _blotches(self, rng: np.random.Generator) -> NoiseField:
        rough = Image.fromarray(rng.standard_normal((4, 6)).astype(np.float32))
        return np.asarray(rough.resize(self.small, Image.Resampling.BICUBIC), np.float32)


def _matrix(colourfulness: float, tint: tuple[float, float, float]) -> tuple[float, ...]:
    """A colour matrix that scales saturation by `colourfulness`, then tints."""
    rows: list[float] = []
    for channel in range(3):
        grey = [(1 - colourfulness) * part for part in (0.30, 0.59, 0.11)]
        grey[channel] += colourfulness
        rows += [*(weight * tint[channel] for weight in grey), 0.0]
    return tuple(rows)


_GRADES = {
    "mono": (0.0, (1.0, 1.0, 1.0)), "sepia": (0.12, (1.08, 0.93, 0.72)), "vivid": (1.35, (1.0, 1.0, 1.0)),
    "muted": (0.5, (1.0, 1.0, 1.0)), "pastel": (0.8, (1.04, 1.0, 1.03)),
}  # fmt: skip
"""Saturation and tint of each grade."""


def _curve(compression: float) -> list[int]:
    """A curve of brightness, which compresses dark and bright values towards middle grey."""
    values = (np.arange(256, dtype=np.float32) / 255 - np.float32(0.5)) * 4
    mapped = tone_mapped(values, compression) / 4 + np.float32(0.5)
    return [int(value) for value in np.clip(mapped * 255 + np.float32(0.5), 0, 255)] * 3


def _canvas(stage: Stage) -> Image.Image:
    """The grain of a painter's canvas."""
    rough = cloudy((stage.seed, "canvas"), 0.35)
    tiles = (-(-stage.height // rough.shape[0]), -(-stage.width // rough.shape[1]))
    grain = np.tile(rough, tiles)[: stage.height, : stage.width] - np.float32(0.5)
    return Image.fromarray(np.clip((0.5 + grain * 0.25) * 255, 0, 255).astype(np.uint8), "L").convert("RGB")
