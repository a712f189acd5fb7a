"""LTX-Video weights: text to video and image to video, in two passes: a small clip, its latents enlarged, and refined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from diffusers import (
    AutoencoderKLLTXVideo,
    FlowMatchEulerDiscreteScheduler,
    LTXConditionPipeline,
    LTXEulerAncestralRFScheduler,
    LTXI2VLongMultiPromptPipeline,
    LTXLatentUpsamplePipeline,
    LTXVideoTransformer3DModel,
)
from diffusers.pipelines.ltx.modeling_latent_upsampler import LTXLatentUpsamplerModel
from diffusers.pipelines.ltx.pipeline_ltx_condition import LTXVideoCondition, linear_quadratic_schedule
from diffusers.utils.torch_utils import randn_tensor
from PIL import Image

from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.text_to_video import TextToVideo

from ...engines.protocol import EngineTask, Report
from ...engines.sketch.words import expanded
from ..clip_plan import FRAMES, OVERLAP, SEAM, SIDE, ClipPlan, PixelSize, Stage, stages_of, sub_seed
from ..config import LtxWeights
from ..folder import upsampler_folder
from .loras import use_loras
from .parts import (
    IMAGE_RATE,
    EncodedPrompt,
    Model,
    load_model,
    with_edges,
)

DETAIL_STEPS = 2
"""Steps of the second pass that the detail pass repeats; with all of them it would forget the latents."""
DECODING = 0.3
"""The work of decoding, relative to both passes."""
UPSAMPLER_ADAIN = 1.0
"""What the authors always use between the passes."""
NOISE, TIMESTEP = 0.025, 0.05
"""The noise that the decoder was trained to remove, and the timestep that says so."""


class EncodedLongPipeline(LTXI2VLongMultiPromptPipeline):  # type: ignore[misc]  # The library has no types.
    """The library's pipeline of long clips with a prompt that was encoded before.

    Its own encodes the prompt once for each window, and without a mask.
    """

    encoded: tuple[Any, Any, Any, Any]

    def encode_prompt(self, *args: Any, **options: Any) -> tuple[Any, Any, Any, Any]:
        """The embeddings and mask of the prompt and of the negative prompt."""
        return self.encoded


class LtxModel(Model[LtxWeights]):
    """The loaded weights on one device."""

    name = "ltx"

    def __init__(self, row: LtxWeights, report: Report) -> None:
        super().__init__(row, report, LTXVideoTransformer3DModel)
        dtype = getattr(torch, row.dtype)
        self.vae = load_model(AutoencoderKLLTXVideo, row.folder / "vae", dtype).to(self.device)
        self.vae.enable_tiling()
        report.progress("loading the upsampler", 0.0)
        assert row.upsampler is not None  # `check_weights` has seen it.
        upsampler = load_model(LTXLatentUpsamplerModel, upsampler_folder(row.upsampler), dtype).to(self.device)
        # The text encoder stays outside, because the pipelines compute where their first module is.
        parts = {"vae": self.vae, "transformer": self.transformer, "text_encoder": None, "tokenizer": None}
        # Never the scheduler of the folder: that of older weights shifts its sigmas.
        self.pipe = LTXConditionPipeline(scheduler=FlowMatchEulerDiscreteScheduler(), **parts)
        self.long_pipe = EncodedLongPipeline(scheduler=LTXEulerAncestralRFScheduler(eta=0.0), **parts)
        self.upsample = LTXLatentUpsamplePipeline(vae=self.vae, latent_upsampler=upsampler)
        for pipe in (self.pipe, self.long_pipe):
            pipe.set_progress_bar_config(disable=True)
        self._check_within_steps(self.transformer.transformer_blocks)

    def text_to_video(self, job: EngineTask[TextToVideo]) -> dict[str, Any]:
        """Make a clip from a prompt."""
        request = job.input
        prompt = expanded(request.prompt) if request.expand_prompt else request.prompt
        plan = ClipPlan.of(request.frame_size, request.num_frames, self.row)
        guidance = sum(self.row.guidance) / 2
        without = []
        if guidance <= 1:
            without.append("negative_prompt, because these weights run without guidance")
        if len(plan.windows()) == 1:
            without.append("temporal_adain_factor, because the clip is made in one window")
        if without:
            self.report.log(f"Without effect: {'; '.join(without)}.")
        use_loras(self.pipe, self.row, request.loras)
        prompts = self._encode_both(job, prompt, guidance)
        clip = Clip(self, plan, job.seed, *prompts, request.frame_rate, guidance)
        steps = request.second_pass_num_inference_steps, request.second_pass_skip_initial_steps
        detail = min(DETAIL_STEPS, steps[0] - 1) if request.enable_detail_pass else 0
        first_steps, adain = request.first_pass_num_inference_steps, request.temporal_adain_factor
        latents, decoding = clip.make(first_steps, *steps, detail=detail, adain=adain)
        frames = clip.frames(
            latents, decoding, compression=request.tone_map_compression_ratio, is_reversed=request.reverse_video
        )
        video = self._write(job, plan.size, plan.frames, request.frame_rate, frames)
        return {"video": video, "seed": job.seed, "prompt": prompt}

    def image_to_video(self, job: EngineTask[ImageToVideo]) -> dict[str, Any]:
        """Make a clip that starts with a picture, in one window."""
        guidance, picture = self._begin_image(job)
        if guidance <= 1:
            self.report.log(
                "Without effect: cfg_scale and negative_prompt, because these weights run without guidance."
            )
        plan = ClipPlan.of(picture.size, IMAGE_RATE * int(job.input.duration), self.row)
        plan = replace(plan, window=plan.latents)
        use_loras(self.pipe, self.row, ())
        prompts = self._encode_both(job, job.input.prompt, guidance)
        clip = Clip(self, plan, job.seed, *prompts, IMAGE_RATE, guidance, picture)
        steps = max(2, self.row.steps)
        latents, decoding = clip.make(steps, steps, min(steps - 1, max(1, round(steps * 5 / 8))))
        frames = clip.frames(latents, decoding)
        return {"video": self._write(job, plan.size, plan.frames, IMAGE_RATE, frames)}


@dataclass(frozen=True, slots=True)
class Clip:
    """One clip and the passes that make it. Noise is drawn on the CPU, so it is the same on every device."""

    model: LtxModel
    plan: ClipPlan
    seed: int
    prompt: EncodedPrompt
    negative: EncodedPrompt | None
    """Encoded only where the guidance is above 1."""
    frame_rate: int
    guidance: float = 1.0
    start: Image.Image | None = None
    """Its first picture."""

    def make(
        self, first_steps: int, steps: int, skip: int, *, detail: int = 0, adain: float = 0.0
    ) -> tuple[Any, Stage]:
        """The latents of the clip, and the stage of its decoding; `detail` steps of the second pass are repeated."""
        windows, second_steps = len(self.plan.windows()), steps - skip + detail
        works = float(first_steps), 4.0 * second_steps  # The second pass has four times as many values.
        first, second, decoding = stages_of(
            self.model.report,
            [
                ("first pass, step", first_steps * windows, works[0]),
                ("second pass, step", second_steps * windows, works[1]),
                ("decoding", len(self.plan.pieces()), DECODING * sum(works)),
            ],
        )
        latents = self.refine(self.enlarge(self.first(first_steps, adain, first)), "second", steps, skip, second)
        if detail:
            latents = self.refine(latents, "detail", steps, steps - detail, second)
        return latents, decoding

    def first(self, steps: int, adain: float, after: Stage) -> Any:
        """The latents of the small clip, made from noise."""
        plan, seed = self.plan, sub_seed(self.seed, "first")
        if len(plan.windows()) == 1:
            return self.denoise(None, plan.small, plan.latents, seed, steps, 0, after)
        pipe, negative = self.model.long_pipe, self.negative
        encoded = (None, None) if negative is None else (negative.embeds, negative.mask)
        pipe.encoded = self.prompt.embeds, self.prompt.mask, *encoded
        width, height = plan.small
        latents = pipe(
            prompt=["-"],  # A list, because a plain text would be split at each "|"; the real one is encoded already.
            width=width, height=height, num_frames=plan.model_frames, frame_rate=self.frame_rate,
            guidance_scale=self.guidance,
            # With the closing zero, or the pipeline leaves out the last step.
            sigmas=[*linear_quadratic_schedule(steps).tolist(), 0.0],
            # Without its own seed, which would be drawn on the device.
            seed=None, generator=torch.Generator("cpu").manual_seed(seed),
            temporal_tile_size=plan.window * FRAMES, temporal_overlap=OVERLAP * FRAMES, adain_factor=adain,
            output_type="latent", callback_on_step_end=after,
        ).frames  # fmt: skip
        if latents.shape[2] != plan.latents:
            raise AssertionError(f"{latents.shape[2]} latent frames were made, and {plan.latents} were planned.")
        return latents

    def enlarge(self, latents: Any) -> Any:
        """The latents with twice the width and height."""
        width, height = self.plan.large
        return self.model.upsample(
            latents=latents, width=width, height=height, adain_factor=UPSAMPLER_ADAIN, output_type="latent"
        ).frames

    def refine(self, latents: Any, part: str, steps: int, skip: int, after: Stage) -> Any:
        """A pass over latents that exist; each window continues the one before, whose end stays as it is."""
        done: Any = None
        for start, end in self.plan.windows():
            window, fixed = latents[:, :, start:end], None
            if done is not None:
                fixed = done[:, :, start:]
                window = torch.cat([fixed, window[:, :, fixed.shape[2] :]], dim=2)
            seed = sub_seed(sub_seed(self.seed, part), str(start))
            new = self.denoise(window, self.plan.large, end - start, seed, steps, skip, after, fixed=fixed)
            done = new if done is None else torch.cat([done, new[:, :, done.shape[2] - start :]], dim=2)
        return done

    def denoise(
        self,
        latents: Any,
        size: PixelSize,
        count: int,
        seed: int,
        steps: int,
        skip: int,
        after: Stage,
        *,
        fixed: Any = None,
    ) -> Any:
        """One window of a pass: from noise, or from latents with the first steps left out.

        `fixed` are latent frames that come out as they are.
        """
        (width, height), pipe, negative = size, self.model.pipe, {}
        if self.negative is not None:
            negative["negative_prompt_embeds"] = self.negative.embeds
            negative["negative_prompt_attention_mask"] = self.negative.mask
        pin = None if fixed is None else self._pin(fixed, (count, height // SIDE, width // SIDE), seed, skip)

        def after_step(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
            after()
            return {} if pin is None else {"latents": pin(step, tensors["latents"])}

        picture = None if self.start is None else placed(self.start, self.plan, size)
        return pipe(
            conditions=None if picture is None else [LTXVideoCondition(image=picture, frame_index=0, strength=1.0)],
            prompt_embeds=self.prompt.embeds, prompt_attention_mask=self.prompt.mask, **negative,
            width=width, height=height, num_frames=(count - 1) * FRAMES + 1, frame_rate=self.frame_rate,
            # No table of timesteps: the pipeline's own for 8 steps is the one that these weights were distilled on.
            num_inference_steps=steps, denoise_strength=(steps - skip + 0.5) / steps if skip else 1.0, latents=latents,
            guidance_scale=self.guidance, image_cond_noise_scale=0.0,
            generator=torch.Generator("cpu").manual_seed(seed), output_type="latent", callback_on_step_end=after_step,
        ).frames  # fmt: skip

    def _pin(self, fixed: Any, shape: tuple[int, int, int], seed: int, skip: int) -> Callable[[int, Any], Any]:
        """Sets the fixed latents after each step, as noisy as that step is, with the noise that the pass began with."""
        pipe, generator = self.model.pipe, torch.Generator("cpu").manual_seed(seed)
        device = torch.device(self.model.device)
        noise = randn_tensor((1, fixed.shape[1], *shape), generator=generator, device=device, dtype=torch.float32)
        noise, exact = pipe._pack_latents(noise), pipe._pack_latents(fixed.float())
        count = exact.shape[1]

        def pin(step: int, values: Any) -> Any:
            sigma = pipe.scheduler.sigmas[skip + step + 1]
            values = values.clone()
            values[:, :count] = (1 - sigma) * exact + sigma * noise[:, :count]
            return values

        return pin

    def frames(
        self, latents: Any, after_piece: Callable[[], object], *, compression: float = 0.0, is_reversed: bool = False
    ) -> Iterator[Any]:
        """The frames of each piece, `(frames, 3, height, width)` from -1 to 1; or all of it backwards.

        The frames that two pieces share go over from one to the other.
        """
        latents, pieces, neighbour = self._denormalized(latents, compression), self.plan.pieces(), None
        weight = torch.linspace(0, 1, SEAM + 2, device=latents.device)[1:-1].view(-1, 1, 1, 1)
        for start, end in reversed(pieces) if is_reversed else pieces:
            pixels = fitted(self._decode(latents[:, :, start:end]), self.plan)[: self.plan.frames - start * FRAMES]
            after_piece()
            frames = pixels[SEAM if start else 0 : len(pixels) - (SEAM if end < self.plan.latents else 0)]
            if neighbour is not None:
                before, behind = (pixels, neighbour) if is_reversed else (neighbour, pixels)
                seam = torch.lerp(before[-SEAM:], behind[:SEAM], weight)
                frames = torch.cat([frames, seam] if is_reversed else [seam, frames])
            yield frames.flip(0) if is_reversed else frames
            neighbour = pixels

    def _denormalized(self, latents: Any, compression: float) -> Any:
        generator, vae = torch.Generator("cpu").manual_seed(sub_seed(self.seed, "decode")), self.model.vae
        noise = torch.randn(latents.shape, generator=generator, dtype=torch.float32)
        latents = (1 - NOISE) * latents.float() + NOISE * noise.to(latents.device)
        if compression:
            # After the last pass, on normalised values, as the authors do; the library's own argument is earlier.
            latents = self.model.upsample.tone_map_latents(latents, compression)
        factor = vae.config.scaling_factor
        return self.model.pipe._denormalize_latents(latents, vae.latents_mean, vae.latents_std, factor)

    def _decode(self, latents: Any) -> Any:
        vae, timestep = self.model.vae, None
        if vae.config.timestep_conditioning:
            timestep = torch.tensor([TIMESTEP], device=latents.device, dtype=vae.dtype)
        with torch.no_grad():
            decoded = vae.decode(latents.to(vae.dtype), timestep, return_dict=False)[0]
        return decoded[0].transpose(0, 1).float()


def fitted(pixels: Any, plan: ClipPlan) -> Any:
    """Decoded frames at the size of the clip."""
    (size, left, top), (width, height) = plan.fit(), plan.size
    if size != plan.large:
        mode = "bilinear" if size[0] < plan.large[0] else "bicubic"
        pixels = torch.nn.functional.interpolate(pixels, size[::-1], mode=mode, antialias=True, align_corners=False)
    return pixels[:, :, top : top + height, left : left + width]


def placed(picture: Image.Image, plan: ClipPlan, size: PixelSize) -> Image.Image:
    """The start picture as a picture of a pass, with its edges repeated where `fitted` cuts."""
    return with_edges(picture, *plan.fit()).resize(size, Image.Resampling.LANCZOS)
