"""What the numbers of a request do to every frame: steps, colour matching, tone mapping, the detail pass; and colour grades."""

from __future__ import annotations

import math

import numpy as np
from PIL import Image, ImageChops, ImageFilter

from reelbook.models.text_to_video import TextToVideo

from .noise import NoiseField, cloudy, generator
from .stage import Stage, picture_of

CHUNK = 64
"""Frames whose colours belong together; later chunks drift away from the first one."""

_DRIFT = 1.1
"""How far a later chunk drifts in light and warmth if nothing holds it."""

_USUAL_STEPS = 8
_COARSE = 8
"""Pixels of the painted picture to one of the map of light."""

_GRADES = {
    "mono": (0.0, (1.0, 1.0, 1.0)), "sepia": (0.12, (1.08, 0.93, 0.72)), "vivid": (1.35, (1.0, 1.0, 1.0)),
    "muted": (0.5, (1.0, 1.0, 1.0)), "pastel": (0.8, (1.04, 1.0, 1.03)),
}  # fmt: skip
"""Saturation and tint of each grade."""


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
    return drift


def tone_curve(compression: float) -> list[int]:
    """A curve of brightness, which compresses dark and bright values towards middle grey; at 0 it changes nothing."""
    strength, values = 0.75 * compression, (np.arange(256) / 255 - 0.5) * 4
    pull = 1 / (1 + np.exp(-4 * strength * (np.abs(values) - 1)))
    mapped = values * (1 - 0.8 * strength * pull) / 4 + 0.5
    return [int(value) for value in np.clip(mapped * 255 + 0.5, 0, 255)] * 3


class Finish:
    """The last touch of every frame: light that wanders slowly, a vignette, grade, grain and tone curve."""

    def __init__(self, stage: Stage, request: TextToVideo) -> None:
        rng = generator("finish", stage.seed)
        first, second = request.first_pass_num_inference_steps, request.second_pass_num_inference_steps
        self.size, self.rate = (stage.width, stage.height), request.frame_rate
        small = (max(2, stage.width // _COARSE), max(2, stage.height // _COARSE))
        self.drift = drifts(1 + (request.num_frames - 2) // CHUNK, request.temporal_adain_factor, rng)
        x, y = np.linspace(-1, 1, small[0])[None], np.linspace(-1, 1, small[1])[:, None]
        fine = rng.standard_normal(small[::-1]) * noise_left(second - request.second_pass_skip_initial_steps, 0.6)
        self.base = 0.515 - 0.10 * np.clip(x * x + y * y - 0.5, 0, 2) + 0.03 * fine
        unsettled = noise_left(first, 0.8)
        rough = [Image.fromarray(rng.standard_normal((4, 6)).astype(np.float32)) for _ in range(2)]
        self.blotches = [np.asarray(part.resize(small, Image.Resampling.BICUBIC)) * 0.12 * unsettled for part in rough]
        colour, tint = _GRADES.get(stage.scene.grade, (1.0, (1.0, 1.0, 1.0)))
        colour *= 1 + 0.25 * (noise_left(_USUAL_STEPS, 0.8) - unsettled)
        self.matrix = [
            tint[channel] * ((1 - colour) * part + colour * (channel == other))
            for channel in range(3)
            for other, part in enumerate((0.30, 0.59, 0.11, 0.0))
        ]
        self.canvas = _canvas(stage) if request.enable_detail_pass else None
        ratio = request.tone_map_compression_ratio
        self.curve = tone_curve(ratio) if ratio else None

    def apply(self, picture: Image.Image, number: int) -> Image.Image:
        """The finished frame."""
        picture = ImageChops.soft_light(picture, self._light(number)).convert("RGB", tuple(self.matrix))
        if self.canvas is not None:
            picture = ImageChops.overlay(picture.filter(ImageFilter.UnsharpMask(1.4, 120, 0)), self.canvas)
        return picture.point(self.curve) if self.curve else picture

    def _light(self, number: int) -> Image.Image:
        """The soft-light layer: mid-grey where neutral, else lighter, darker, warmer or cooler."""
        # Chunks blend over a few frames, so that no cut is seen.
        chunk = min(number // CHUNK, len(self.drift) - 1)
        share = min(1.0, (number - chunk * CHUNK) / 16)
        light, warmth = self.drift[max(0, chunk - 1)] * (1 - share) + self.drift[chunk] * share
        angle = 2 * math.pi * number / self.rate / 7
        level = self.base + self.blotches[0] * math.cos(angle) + self.blotches[1] * math.sin(angle) + 0.04 * light
        warm = 0.035 * warmth
        small = picture_of(np.stack([level + warm, level, level - warm], 2))
        return small.resize(self.size, Image.Resampling.BILINEAR)


def _canvas(stage: Stage) -> Image.Image:
    """The grain of a painter's canvas."""
    rough = cloudy((stage.seed, "canvas"), 0.35)
    tiles = (-(-stage.height // rough.shape[0]), -(-stage.width // rough.shape[1]))
    grain = np.tile(rough, tiles)[: stage.height, : stage.width] - 0.5
    return Image.fromarray(np.clip((0.5 + grain * 0.25) * 255, 0, 255).astype(np.uint8)).convert("RGB")
