"""LTX-Video weights: text to video and image to video, in two passes."""

from __future__ import annotations

from typing import Any

from diffusers import AutoencoderKLLTXVideo, LTXVideoTransformer3DModel
from diffusers.pipelines.ltx.modeling_latent_upsampler import LTXLatentUpsamplerModel

from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.text_to_video import TextToVideo

from ...engines.protocol import EngineTask, Report
from ...engines.sketch.words import expanded
from ..clip_plan import ClipPlan, Stage, stages_of, sub_seed
from ..config import BadWeights, LtxWeights
from ..folder import upsampler_folder
from .clip import IMAGE_RATE, Model
from .loras import Adapters
from .ltx_passes import Decoder, Guide, LtxPasses, placed
from .parts import PromptEncoder, load_model, load_transformer, torch_dtype

DETAIL_STEPS = 2
"""Steps of the second pass that the detail pass repeats; with all of them it would forget the latents."""
DECODING = 0.3
"""The work of decoding, relative to both passes."""


class LtxModel(Model[LtxWeights]):
    """The loaded weights on one device."""

    name = "ltx"

    def __init__(self, row: LtxWeights, report: Report) -> None:
        super().__init__(row)
        dtype = torch_dtype(row.dtype)
        if row.upsampler is None:
            raise BadWeights(f"{row.endpoint_id}: `upsampler` is missing; the second pass starts from its latents.")
        report.progress("loading the text encoder", 0.0)
        self.prompts = PromptEncoder(row)
        report.progress("loading the transformer", 0.0)
        self.transformer = load_transformer(LTXVideoTransformer3DModel, row)
        report.progress("loading the decoder", 0.0)
        self.vae = load_model(AutoencoderKLLTXVideo, row.folder / "vae", dtype).to(self._device)
        self.vae.enable_tiling()
        report.progress("loading the upsampler", 0.0)
        upsampler = load_model(LTXLatentUpsamplerModel, upsampler_folder(row.upsampler), dtype).to(self._device)
        self.passes = LtxPasses(self.transformer, self.vae, upsampler, self._device)
        self.pipe = self.passes.pipe
        self.decoder = Decoder(self.vae, self.passes.upsample.tone_map_latents, self.pipe._denormalize_latents)
        self.adapters = Adapters(row, self.pipe)
        self._check_within_steps(self.transformer.transformer_blocks)

    def close(self) -> None:
        """Free the adapters; the rest goes with the last reference."""
        self.adapters.clear()

    def text_to_video(self, job: EngineTask[TextToVideo], report: Report) -> dict[str, Any]:
        """Make a clip from a prompt."""
        request, self._report = job.input, report
        prompt = expanded(request.prompt) if request.expand_prompt else request.prompt
        plan = ClipPlan.of(request.frame_size, request.num_frames, self.row)
        guidance = sum(self.row.guidance) / 2
        self._log_effects(plan, guidance, report)
        self.adapters.use(request.loras)
        guide = self._guide(prompt, request.negative_prompt, request.frame_rate, guidance, report)
        steps, skip = request.second_pass_num_inference_steps, request.second_pass_skip_initial_steps
        detail_steps = min(DETAIL_STEPS, steps - 1) if request.enable_detail_pass else 0
        first_steps = request.first_pass_num_inference_steps
        first, second, decoding = _stages(report, plan, first_steps, steps - skip + detail_steps)
        latents = self.passes.first(plan, guide, job.seed, first_steps, request.temporal_adain_factor, first)
        latents = self.passes.enlarge(latents, plan)
        latents = self.passes.refine(latents, plan, guide, sub_seed(job.seed, "second"), steps, skip, second)
        if detail_steps:
            seed, skip = sub_seed(job.seed, "detail"), steps - detail_steps
            latents = self.passes.refine(latents, plan, guide, seed, steps, skip, second)
        frames = self.decoder.frames(
            latents, plan, sub_seed(job.seed, "decode"), compression=request.tone_map_compression_ratio,
            is_reversed=request.reverse_video, after_piece=decoding,
        )  # fmt: skip
        video = self._write(job, plan.size, plan.frames, request.frame_rate, frames, report)
        return {"video": video, "seed": job.seed, "prompt": prompt}

    def image_to_video(self, job: EngineTask[ImageToVideo], report: Report) -> dict[str, Any]:
        """Make a clip that starts with a picture."""
        request, (guidance, picture) = job.input, self._begin_image(job, report)
        if guidance <= 1:
            report.log("Without effect: cfg_scale and negative_prompt, because these weights run without guidance.")
        plan = ClipPlan.of(picture.size, IMAGE_RATE * int(request.duration), self.row)
        self.adapters.use(())
        guide = self._guide(request.prompt, request.negative_prompt, IMAGE_RATE, guidance, report)
        steps = max(2, self.row.steps)
        skip = min(steps - 1, max(1, round(steps * 5 / 8)))
        first, second, decoding = _stages(report, plan, steps, steps - skip)
        latents = self.passes.denoise(
            None, plan.small, plan.latents, guide, sub_seed(job.seed, "first"), steps, 0, first,
            start=placed(picture, plan, plan.small),
        )  # fmt: skip
        latents = self.passes.enlarge(latents, plan)
        latents = self.passes.denoise(
            latents, plan.large, plan.latents, guide, sub_seed(job.seed, "second"), steps, skip, second,
            start=placed(picture, plan, plan.large),
        )  # fmt: skip
        frames = self.decoder.frames(
            latents, plan, sub_seed(job.seed, "decode"), after_piece=decoding
        )  # fmt: skip
        return {"video": self._write(job, plan.size, plan.frames, IMAGE_RATE, frames, report)}

    def _guide(self, prompt: str, negative: str, rate: int, guidance: float, report: Report) -> Guide:
        encoded = self._encoded(prompt, report)
        return Guide(encoded, rate, guidance, self._encoded(negative, report) if guidance > 1 else None)

    def _log_effects(self, plan: ClipPlan, guidance: float, report: Report) -> None:
        without = []
        if guidance <= 1:
            without.append("negative_prompt, because these weights run without guidance")
        if len(plan.windows()) == 1:
            without.append("temporal_adain_factor, because the clip is made in one window")
        if without:
            report.log(f"Without effect: {'; '.join(without)}.")


def _stages(report: Report, plan: ClipPlan, first_steps: int, second_steps: int) -> list[Stage]:
    windows = len(plan.windows())
    first, second = plan.pass_tokens(plan.small) * first_steps, plan.pass_tokens(plan.large) * second_steps
    return stages_of(
        report,
        [
            ("first pass, step", first_steps * windows, first),
            ("second pass, step", second_steps * windows, second),
            ("decoding", len(plan.pieces()), DECODING * (first + second)),
        ],
    )
