"""Latents sampled in two passes of flow matching, with the exact denoiser of a Gaussian field.

The field's mean and spectrum depend on the scene, so there are no weights to train or load; steps, skip,
chunks, colour matching and tone mapping work as in a trained model, on six channels at 1/64 of the size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from .noise import Field, generator
from .scene import Scene

CHANNELS = 6
DRIFT_X, DRIFT_Y, COVER, LIGHT, WARMTH, SWELL = range(CHANNELS)

FRAMES_PER_LATENT = 8
CHUNK = 9
"""Latent frames sampled together; chunks share their border frame, so the default 121 frames are two chunks."""

_DRIFT = np.float32(1.1)
"""Distance of a later chunk's colours from those of the first chunk before they are matched."""


@dataclass(frozen=True, slots=True)
class Request:
    """The parameters of the sampler."""

    scene: Scene
    seed: int
    size: tuple[int, int]
    frames: int
    frame_rate: int
    first_steps: int
    second_steps: int
    skip: int
    matching: float
    compression: float
    detailed: bool


@dataclass(slots=True)
class Latents:
    """The sampled field, filled in when the last step is done."""

    values: Field
    """Axes: latent frame, channel, row, column."""
    fine: Field | None = None
    """The map of fine structure from the detail pass, at twice the resolution."""

    def at(self, frame: int) -> Field:
        """Channels, rows and columns at a frame of the clip, interpolated between latent frames."""
        position = frame / FRAMES_PER_LATENT
        index = min(int(position), len(self.values) - 1)
        after = min(index + 1, len(self.values) - 1)
        share = np.float32(position - index)
        share = share * share * (3 - 2 * share)
        return np.asarray(self.values[index] * (1 - share) + self.values[after] * share, np.float32)


def schedule(steps: int) -> NDArray[np.float64]:
    """Noise levels from 1 to 0: half of the steps near pure noise, where the layout is decided.

    >>> schedule(4).tolist()
    [1.0, 0.95, 0.9, 0.45, 0.0]
    """
    early = max(1, steps // 2)
    return np.concatenate([np.linspace(1, 0.9, early, endpoint=False), np.linspace(0.9, 0, steps - early + 1)])


def tone_mapped(values: Field, compression: float) -> Field:
    """The values with those far from zero compressed towards it; a compression of 0 changes nothing."""
    if compression == 0:
        return values
    strength = np.float32(0.75 * compression)
    pull = 1 / (1 + np.exp(-4 * strength * (np.abs(values) - 1)))
    return (values * (1 - np.float32(0.8) * strength * pull)).astype(np.float32)


def matched(values: Field, reference: Field, factor: float) -> Field:
    """The values with each channel's mean and spread moved towards the reference's: adaptive instance normalisation."""
    mean, spread = _moments(values)
    aim_mean, aim_spread = _moments(reference)
    aligned = (values - mean) / (spread + np.float32(1e-6)) * aim_spread + aim_mean
    return values + np.float32(factor) * (aligned - values)


def sample(request: Request, result: Latents) -> Iterator[str]:
    """Sample the latents into `result`; yields the name of each completed step."""
    rng = generator("latents", request.seed)
    count = latent_frames(request.frames)
    chunks = max(1, -(-(count - 1) // (CHUNK - 1)))
    width, height = request.size
    rows, columns = max(4, -(-height // 64)), max(4, -(-width // 64))
    drift = _drifts(rng, chunks)
    field = rng.standard_normal((chunks, CHUNK, CHANNELS, rows, columns), dtype=np.float32)
    prior = _Prior(request, rows, columns)
    levels = schedule(request.first_steps)
    for step in range(request.first_steps):
        field = prior.stepped(field, levels[step], levels[step + 1], drift)
        yield f"pass 1, {step + 1} of {request.first_steps}"
    field = _doubled(field)
    for chunk in range(1, chunks):
        field[chunk] = matched(field[chunk], field[0], request.matching)
    field = tone_mapped(field, request.compression)
    drift = drift * np.float32(1 - request.matching)
    levels = schedule(request.second_steps)[request.skip :]
    fresh = rng.standard_normal(field.shape, dtype=np.float32)
    field = np.float32(1 - levels[0]) * field + np.float32(levels[0]) * fresh
    prior = _Prior(request, 2 * rows, 2 * columns)
    last = len(levels) - 1
    for step in range(last):
        field = prior.stepped(field, levels[step], levels[step + 1], drift)
        yield f"pass 2, {step + 1} of {last}"
    result.values = _joined(field)[:count]
    if request.detailed:
        result.fine = _fine_structure(rng, 4 * rows, 4 * columns)
        yield "detail pass"


def latent_frames(frames: int) -> int:
    """The number of latent frames of a clip.

    >>> latent_frames(9), latent_frames(121)
    (2, 16)
    """
    return -(-(frames - 1) // FRAMES_PER_LATENT) + 1


class _Prior:
    """The Gaussian prior of a scene's latents."""

    def __init__(self, request: Request, rows: int, columns: int) -> None:
        style = request.scene.style
        calm = np.array([3.0, 3.0, 2.3, 3.2, 3.4, 2.4]) + 0.5 * np.array(style[:CHANNELS])
        seconds = FRAMES_PER_LATENT / request.frame_rate
        # In cycles per second, not per frame: motion is the same at 12 frames per second as at 60.
        beat = np.fft.fftfreq(CHUNK, d=seconds)[:, None, None] / (0.12 * (0.5 + 0.5 * request.scene.pace))
        down = np.fft.fftfreq(rows)[:, None] * rows
        across = np.fft.rfftfreq(columns) * columns
        distance = (beat**2 + down**2 + across**2)[:, None]
        power = (1 + distance) ** (-calm[:, None, None] / 2)
        power /= power.mean(axis=(0, 2, 3), keepdims=True)
        # The mean of a channel depends on the scene and on a chunk's drift; little of it is random, or the
        # complete picture would flicker.
        power[0, :, 0, 0] *= 0.02
        power[1:, :, 0, 0] *= 0.2
        self.power = power.astype(np.float32)
        self.mean = _mean(style, rows, columns)
        self.shape = (CHUNK, rows, columns)

    def stepped(self, field: Field, level: float, following: float, drift: Field) -> Field:
        """One Euler step of the flow, from one noise level to the next."""
        keep, noise = np.float32(1 - level), np.float32(level)
        mean = self.mean + drift
        waves = np.fft.rfftn(field - keep * mean, axes=(1, 3, 4))
        waves *= keep * self.power / (keep * keep * self.power + noise * noise + np.float32(1e-6))
        clean = np.fft.irfftn(waves, s=self.shape, axes=(1, 3, 4)).astype(np.float32) + mean
        return np.asarray(field + np.float32((following - level) / max(level, 1e-3)) * (field - clean), np.float32)


def _mean(style: tuple[float, ...], rows: int, columns: int) -> Field:
    down = np.linspace(-1, 1, rows, dtype=np.float32)[:, None]
    across = np.linspace(-1, 1, columns, dtype=np.float32)
    mean = np.zeros((1, 1, CHANNELS, rows, columns), np.float32)
    mean[0, 0, COVER] = 0.5 * style[6] - 0.3 * down + 0.3 * style[7] * across
    mean[0, 0, LIGHT] = 0.6 * np.exp(-((across - 0.6 * style[8]) ** 2 + (down + 0.3) ** 2) * 1.5)
    mean[0, 0, WARMTH] = 0.5 * style[9] + 0.3 * style[10] * across
    return mean


def _drifts(rng: np.random.Generator, chunks: int) -> Field:
    """The offset of each chunk's light and warmth: zero for the first, the others at equal distance from it."""
    drift = np.zeros((chunks, 1, CHANNELS, 1, 1), np.float32)
    angle = rng.uniform(0, 2 * np.pi, chunks)
    drift[1:, 0, LIGHT, 0, 0] = _DRIFT * np.cos(angle[1:])
    drift[1:, 0, WARMTH, 0, 0] = _DRIFT * np.sin(angle[1:])
    return drift


def _moments(values: Field) -> tuple[Field, Field]:
    axes = (0, 2, 3)
    return values.mean(axes, keepdims=True), values.std(axes, keepdims=True)


def _doubled(field: Field) -> Field:
    *outer, rows, columns = field.shape
    planes = [
        np.asarray(Image.fromarray(plane).resize((2 * columns, 2 * rows), Image.Resampling.BICUBIC))
        for plane in field.reshape(-1, rows, columns)
    ]
    return np.stack(planes).reshape(*outer, 2 * rows, 2 * columns)


def _joined(field: Field) -> Field:
    """The chunks concatenated: each starts at the last frame of the previous one, blended over three frames."""
    fade = np.zeros((CHUNK, 1, 1, 1), np.float32)
    fade[:3, 0, 0, 0] = (1.0, 0.6, 0.2)
    parts = [field[0]]
    for chunk in field[1:]:
        parts.append((chunk + fade * (parts[-1][-1] - chunk[0]))[1:])
    return np.concatenate(parts)


def _fine_structure(rng: np.random.Generator, rows: int, columns: int) -> Field:
    white = rng.standard_normal((rows, columns), dtype=np.float32)
    far = np.hypot(np.fft.fftfreq(rows)[:, None] * rows, np.fft.rfftfreq(columns) * columns)
    fine = np.fft.irfft2(np.fft.rfft2(white) * (far / far.max()) ** 0.5, s=(rows, columns)).astype(np.float32)
    return fine / np.float32(fine.std())
