"""Decoding of a clip in pieces of time, so that only two pieces exist as pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..clip_plan import ClipPlan, Piece

NOISE, TIMESTEP = 0.025, 0.05
"""The noise that the decoder was trained to remove, and the timestep that says so."""


class Decoder:
    """Turns the latents of a clip into frames of its size."""

    def __init__(self, vae: Any, tone_map: Callable[[Any, float], Any], denormalize: Callable[..., Any]) -> None:
        self._vae, self._tone_map, self._denormalize = vae, tone_map, denormalize

    def frames(
        self,
        latents: Any,
        plan: ClipPlan,
        seed: int,
        *,
        compression: float = 0.0,
        is_reversed: bool = False,
        after_piece: Callable[[], None],
    ) -> Iterator[Any]:
        """The frames of each piece, `(frames, 3, height, width)` from -1 to 1; reversed, the last piece comes first."""
        latents = self._prepared(latents, seed, compression)
        pieces, decoded = plan.pieces(), dict[int, Any]()

        def pixels(number: int) -> Any:
            if number not in decoded:
                piece = pieces[number]
                decoded[number] = fitted(self._decode(latents[:, :, piece.start : piece.end]), plan)
                after_piece()
            return decoded[number]

        for number in reversed(range(len(pieces))) if is_reversed else range(len(pieces)):
            before = pixels(number - 1) if number else None
            yield blended(pixels(number), before, pieces, number)
            needed = number - 1 if is_reversed else number
            for other in [other for other in decoded if other != needed]:
                del decoded[other]

    def _prepared(self, latents: Any, seed: int, compression: float) -> Any:
        noise = torch.randn(latents.shape, generator=torch.Generator("cpu").manual_seed(seed), dtype=torch.float32)
        latents = (1 - NOISE) * latents.float() + NOISE * noise.to(latents.device)
        if compression:
            # After the last pass, on normalised values, as the authors do; the library's own argument is earlier.
            latents = self._tone_map(latents, compression)
        vae = self._vae
        return self._denormalize(latents, vae.latents_mean, vae.latents_std, vae.config.scaling_factor)

    def _decode(self, latents: Any) -> Any:
        vae, timestep = self._vae, None
        if vae.config.timestep_conditioning:
            timestep = torch.tensor([TIMESTEP], device=latents.device, dtype=vae.dtype)
        with torch.no_grad():
            decoded = vae.decode(latents.to(vae.dtype), timestep, return_dict=False)[0]
        return decoded[0].transpose(0, 1).float()


def fitted(pixels: Any, plan: ClipPlan) -> Any:
    """Decoded frames at the size of the clip."""
    fit, (width, height) = plan.fit(), plan.size
    if fit.size != plan.large:
        mode = "bilinear" if fit.size[0] < plan.large[0] else "bicubic"
        size = fit.size[::-1]
        pixels = torch.nn.functional.interpolate(pixels, size=size, mode=mode, antialias=True, align_corners=False)
    return pixels[:, :, fit.top : fit.top + height, fit.left : fit.left + width]


def blended(pixels: Any, before: Any, pieces: list[Piece], number: int) -> Any:
    """The frames that are taken from a piece; those shared with the piece before go over from one to the other."""
    piece = pieces[number]
    frames = pixels[: piece.until - piece.first].clone()
    if before is not None and piece.blended:
        weight = torch.linspace(0, 1, piece.blended + 2, device=frames.device)[1:-1].view(-1, 1, 1, 1)
        offset = piece.first - pieces[number - 1].first
        frames[: piece.blended] = torch.lerp(before[offset : offset + piece.blended], frames[: piece.blended], weight)
    return frames
