"""The passes of LTX-Video: laying out a small clip, enlarging its latents, refining and decoding them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from diffusers import (
    FlowMatchEulerDiscreteScheduler,
    LTXConditionPipeline,
    LTXEulerAncestralRFScheduler,
    LTXI2VLongMultiPromptPipeline,
    LTXLatentUpsamplePipeline,
)
from diffusers.pipelines.ltx.pipeline_ltx_condition import LTXVideoCondition, linear_quadratic_schedule
from diffusers.utils.torch_utils import randn_tensor
from PIL import Image

from ..clip_plan import FRAMES, OVERLAP, SIDE, ClipPlan, Piece, PixelSize, sub_seed
from .clip import with_edges
from .parts import EncodedPrompt

AfterStep = Callable[..., dict[str, Any]]
UPSAMPLER_ADAIN = 1.0
"""What the authors always use between the passes."""
NOISE, TIMESTEP = 0.025, 0.05
"""The noise that the decoder was trained to remove, and the timestep that says so."""


@dataclass(frozen=True, slots=True)
class Guide:
    """What a clip is made from: its prompt, rate and guidance, and for image-to-video its first picture."""

    prompt: EncodedPrompt
    frame_rate: int
    guidance: float = 1.0
    negative: EncodedPrompt | None = None
    """Encoded only where the guidance is above 1."""

    def negative_arguments(self) -> dict[str, Any]:
        """Arguments of the library's pipelines."""
        if self.negative is None:
            return {}
        return {"negative_prompt_embeds": self.negative.embeds, "negative_prompt_attention_mask": self.negative.mask}


class EncodedLongPipeline(LTXI2VLongMultiPromptPipeline):  # type: ignore[misc]  # The library has no types.
    """The library's pipeline of long clips with a prompt that was encoded before.

    Its own encodes the prompt once for each window, and without a mask.
    """

    guide: Guide

    def encode_prompt(self, *args: Any, **options: Any) -> tuple[Any, Any, Any, Any]:
        """The embeddings and mask of the prompt and of the negative prompt."""
        negative = self.guide.negative
        embeds, mask = (None, None) if negative is None else (negative.embeds, negative.mask)
        return self.guide.prompt.embeds, self.guide.prompt.mask, embeds, mask


class LtxPasses:
    """Denoises with one loaded transformer. Noise is drawn on the CPU, so it is the same on every device."""

    def __init__(self, transformer: Any, vae: Any, upsampler: Any, device: str) -> None:
        self._device = device
        # The text encoder stays outside, because the pipelines compute where their first module is.
        parts = {"vae": vae, "transformer": transformer, "text_encoder": None, "tokenizer": None}
        # Never the scheduler of the folder: that of older weights shifts its sigmas.
        self.pipe = LTXConditionPipeline(scheduler=FlowMatchEulerDiscreteScheduler(), **parts)
        self._long = EncodedLongPipeline(scheduler=LTXEulerAncestralRFScheduler(eta=0.0), **parts)
        self.upsample = LTXLatentUpsamplePipeline(vae=vae, latent_upsampler=upsampler)
        for pipe in (self.pipe, self._long):
            pipe.set_progress_bar_config(disable=True)

    def first(self, plan: ClipPlan, guide: Guide, seed: int, steps: int, adain: float, after: AfterStep) -> Any:
        """The latents of the small clip, made from noise."""
        if len(plan.windows()) == 1:
            return self.denoise(None, plan.small, plan.latents, guide, sub_seed(seed, "first"), steps, 0, after)
        self._long.guide = guide
        width, height = plan.small
        latents = self._long(
            prompt=["-"],  # A list, because a plain text would be split at each "|"; the real one is encoded already.
            width=width, height=height, num_frames=plan.model_frames, frame_rate=guide.frame_rate,
            guidance_scale=guide.guidance,
            # With the closing zero, or the pipeline leaves out the last step.
            sigmas=[*linear_quadratic_schedule(steps).tolist(), 0.0],
            # Without its own seed, which would be drawn on the device.
            seed=None, generator=torch.Generator("cpu").manual_seed(sub_seed(seed, "first")),
            temporal_tile_size=plan.window * FRAMES, temporal_overlap=OVERLAP * FRAMES, adain_factor=adain,
            output_type="latent", callback_on_step_end=after,
        ).frames  # fmt: skip
        if latents.shape[2] != plan.latents:
            raise AssertionError(f"{latents.shape[2]} latent frames were made, and {plan.latents} were planned.")
        return latents

    def refine(
        self, latents: Any, plan: ClipPlan, guide: Guide, seed: int, steps: int, skip: int, after: AfterStep
    ) -> Any:
        """A pass over latents that exist; each window continues the one before, whose end stays as it is."""
        done: Any = None
        for start, end in plan.windows():
            part, fixed = latents[:, :, start:end], None
            if done is not None:
                fixed = done[:, :, start:]
                part = torch.cat([fixed, part[:, :, fixed.shape[2] :]], dim=2)
            window_seed = sub_seed(seed, str(start))
            new = self.denoise(part, plan.large, end - start, guide, window_seed, steps, skip, after, fixed=fixed)
            done = new if done is None else torch.cat([done, new[:, :, done.shape[2] - start :]], dim=2)
        return done

    def enlarge(self, latents: Any, plan: ClipPlan) -> Any:
        """The latents with twice the width and height."""
        width, height = plan.large
        return self.upsample(
            latents=latents, width=width, height=height, adain_factor=UPSAMPLER_ADAIN, output_type="latent"
        ).frames

    def denoise(
        self,
        latents: Any,
        size: PixelSize,
        count: int,
        guide: Guide,
        seed: int,
        steps: int,
        skip: int,
        after: AfterStep,
        *,
        start: Image.Image | None = None,
        fixed: Any = None,
    ) -> Any:
        """One window: from noise, or from latents with the first steps left out.

        `start` is the first picture of the clip. `fixed` are latent frames that come out as they are.
        """
        width, height = size
        pin = None if fixed is None else self._pin(fixed, (count, height // SIDE, width // SIDE), seed, skip)

        def after_step(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
            after()
            return {} if pin is None else {"latents": pin(step, tensors["latents"])}

        return self.pipe(
            conditions=None if start is None else [LTXVideoCondition(image=start, frame_index=0, strength=1.0)],
            prompt_embeds=guide.prompt.embeds, prompt_attention_mask=guide.prompt.mask, **guide.negative_arguments(),
            width=width, height=height, num_frames=(count - 1) * FRAMES + 1, frame_rate=guide.frame_rate,
            # No table of timesteps: the pipeline's own for 8 steps is the one that these weights were distilled on.
            num_inference_steps=steps, denoise_strength=(steps - skip + 0.5) / steps if skip else 1.0, latents=latents,
            guidance_scale=guide.guidance, image_cond_noise_scale=0.0,
            generator=torch.Generator("cpu").manual_seed(seed), output_type="latent", callback_on_step_end=after_step,
        ).frames  # fmt: skip

    def _pin(self, fixed: Any, shape: tuple[int, int, int], seed: int, skip: int) -> Callable[[int, Any], Any]:
        """Sets the fixed latents after each step, as noisy as that step is, with the noise that the pass began with."""
        generator = torch.Generator("cpu").manual_seed(seed)
        channels = fixed.shape[1]
        noise = randn_tensor(
            (1, channels, *shape), generator=generator, device=torch.device(self._device), dtype=torch.float32
        )
        noise, exact = self.pipe._pack_latents(noise), self.pipe._pack_latents(fixed.float())
        count = exact.shape[1]

        def pin(step: int, values: Any) -> Any:
            sigma = self.pipe.scheduler.sigmas[skip + step + 1]
            values = values.clone()
            values[:, :count] = (1 - sigma) * exact + sigma * noise[:, :count]
            return values

        return pin


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
        after_piece: Callable[[], object],
    ) -> Iterator[Any]:
        """The frames of each piece, `(frames, 3, height, width)` from -1 to 1; or all of it backwards."""
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
            frames = _blended(pixels(number), before, pieces, number)
            yield frames.flip(0) if is_reversed else frames
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


def _blended(pixels: Any, before: Any, pieces: list[Piece], number: int) -> Any:
    """The frames that are taken from a piece; those shared with the piece before go over from one to the other."""
    piece = pieces[number]
    frames = pixels[: piece.until - piece.first].clone()
    if before is not None and piece.blended:
        weight = torch.linspace(0, 1, piece.blended + 2, device=frames.device)[1:-1].view(-1, 1, 1, 1)
        offset = piece.first - pieces[number - 1].first
        frames[: piece.blended] = torch.lerp(before[offset : offset + piece.blended], frames[: piece.blended], weight)
    return frames


def placed(picture: Image.Image, plan: ClipPlan, made: PixelSize) -> Image.Image:
    """The start picture within a picture of a pass, its edges repeated around it."""
    place = plan.placement(made)
    return with_edges(picture.resize(place.size, Image.Resampling.LANCZOS), made, place.left, place.top)
