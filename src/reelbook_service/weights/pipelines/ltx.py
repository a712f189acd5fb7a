"""LTX-Video weights: text to video and image to video, in two passes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch
from diffusers import AutoencoderKLLTXVideo, LTXVideoTransformer3DModel
from diffusers.pipelines.ltx.modeling_latent_upsampler import LTXLatentUpsamplerModel

from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.text_to_video import LoRA, TextToVideo

from ...engines.long_step import StepReport
from ...engines.protocol import EngineTask, OutputFile
from ...engines.sketch.words import expanded
from ...engines.write_provenance import Provenance
from ..clip_plan import ClipPlan, StageShare, stage_shares, sub_seed
from ..config import BadWeights, LoRAError, LtxWeights
from ..folder import upsampler_folder, weights_identity
from .clip_file import write_clip
from .decoder import Decoder
from .load_parts import check_within_steps, load_model, load_transformer, torch_dtype
from .loras import Adapters
from .ltx_passes import Guide, LtxPasses
from .prompt_encoder import EncodedPrompt, PromptEncoder
from .prompt_expander import PromptExpander
from .start_picture import placed, start_picture

IMAGE_RATE = 24
DETAIL_STEPS = 2
"""Steps of the second pass that the detail pass repeats; with all of them it would forget the latents."""
DECODING = 0.3
"""The work of decoding, relative to both passes."""


class LtxModel:
    """The loaded weights on one device."""

    name = "ltx"

    def __init__(self, row: LtxWeights, report: StepReport) -> None:
        self.row, self.version = row, f"{row.folder.name}@{weights_identity(row)}"
        self._report: StepReport | None = None
        self._device, dtype = row.devices[0], torch_dtype(row.dtype)
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
        self._detailer: Adapters | None = None
        self._expander: PromptExpander | None = None
        check_within_steps(self.transformer.transformer_blocks, self._check)

    def close(self) -> None:
        """Free the adapters; the rest goes with the last reference."""
        self.adapters.clear()

    def end_run(self) -> None:
        """Forget the run that is reported to."""
        self._report = None
        if self._detailer is not None:
            self._detailer.clear()
            self._detailer = None

    def _check(self, module: Any, inputs: Any) -> None:
        if self._report is None:
            return
        if self._device != "cpu":
            # Python runs ahead of the device; without this, a run would be cancelled in the device's future.
            torch.cuda.current_stream().synchronize()
        self._report.check()

    def text_to_video(self, job: EngineTask[TextToVideo], report: StepReport) -> dict[str, Any]:
        """Make a clip from a prompt."""
        request, self._report = job.input, report
        prompt = self._expanded(request.prompt, report) if request.expand_prompt else request.prompt
        plan = ClipPlan.of(request.frame_size, request.num_frames, self.row)
        guidance = sum(self.row.guidance) / 2
        self._log_effects(plan, guidance, report)
        self.adapters.use(request.loras)
        guide = self._guide(prompt, request.negative_prompt, request.frame_rate, guidance, report)
        steps, skip = request.second_pass_num_inference_steps, request.second_pass_skip_initial_steps
        detail_steps = self._detail_steps(steps) if request.enable_detail_pass else 0
        windows = len(plan.windows())
        first, second, decoding = _shares(
            plan, request.first_pass_num_inference_steps, steps - skip + detail_steps, windows
        )
        latents = self.passes.first(
            plan, guide, job.seed, request.first_pass_num_inference_steps, request.temporal_adain_factor,
            _Steps(report, first),
        )  # fmt: skip
        latents = self.passes.enlarge(latents, plan)
        after = _Steps(report, second)
        latents = self.passes.refine(latents, plan, guide, sub_seed(job.seed, "second"), steps, skip, after)
        if detail_steps:
            detail_seed = sub_seed(job.seed, "detail")
            if self.row.detailer is None:
                skip = steps - detail_steps
                latents = self.passes.refine(latents, plan, guide, detail_seed, steps, skip, after)
            else:
                self._use_detailer(request.loras, self.row.detailer)
                latents = self.passes.add_details(latents, plan, guide, detail_seed, steps, after)
        video = self._write(
            job, plan, latents, request.frame_rate, _Steps(report, decoding), is_reversed=request.reverse_video,
            compression=request.tone_map_compression_ratio,
        )  # fmt: skip
        return {"video": video, "seed": job.seed, "prompt": prompt}

    def image_to_video(self, job: EngineTask[ImageToVideo], report: StepReport) -> dict[str, Any]:
        """Make a clip that starts with a picture."""
        request, self._report = job.input, report
        low, high = self.row.guidance
        guidance = low + (high - low) * request.cfg_scale
        if guidance <= 1:
            report.log("Without effect: cfg_scale and negative_prompt, because these weights run without guidance.")
        report.log(f"The seed is {job.seed}, chosen by the service.")
        picture = start_picture(request.image_url, job.sources[request.image_url])
        plan = ClipPlan.of(picture.size, IMAGE_RATE * int(request.duration), self.row)
        self.adapters.use(())
        guide = self._guide(request.prompt, request.negative_prompt, IMAGE_RATE, guidance, report)
        steps = max(2, self.row.steps)
        skip = min(steps - 1, max(1, round(steps * 5 / 8)))
        first, second, decoding = _shares(plan, steps, steps - skip, 1)
        latents = self.passes.denoise(
            None, plan.small, plan.latents, guide, sub_seed(job.seed, "first"), steps, 0, _Steps(report, first),
            start=placed(picture, plan, plan.small),
        )  # fmt: skip
        latents = self.passes.enlarge(latents, plan)
        latents = self.passes.denoise(
            latents, plan.large, plan.latents, guide, sub_seed(job.seed, "second"), steps, skip, _Steps(report, second),
            start=placed(picture, plan, plan.large),
        )  # fmt: skip
        return {"video": self._write(job, plan, latents, IMAGE_RATE, _Steps(report, decoding))}

    def _detail_steps(self, steps: int) -> int:
        return min(DETAIL_STEPS, steps - 1) if self.row.detailer is None else steps

    def _use_detailer(self, loras: Sequence[LoRA], path: Path) -> None:
        """Let the LoRA of the detail pass act beside those of the run."""
        loras_of_row = self.row.loras
        folders = loras_of_row.changed(folders=(*loras_of_row.folders, path.parent))
        row = self.row.changed(loras=folders)
        self.adapters.clear()
        # From here on the run's adapters are these; `end_run` removes them.
        self._detailer = Adapters(row, self.pipe)
        try:
            self._detailer.use((*loras, LoRA(path=path.name)))
        except LoRAError as error:
            raise BadWeights(f"The LoRA of the detail pass cannot be used: {error}") from None

    def _expanded(self, prompt: str, report: StepReport) -> str:
        if self.row.expand.folder is None:
            report.log("The prompt was expanded by a rule, because no language model is configured.")
            return expanded(prompt)
        report.progress("expanding the prompt", 0.0)
        if self._expander is None:
            self._expander = PromptExpander(self.row.expand.folder)
        return self._expander.expand(prompt)

    def _guide(self, prompt: str, negative: str, rate: int, guidance: float, report: StepReport) -> Guide:
        encoded = self._encoded(prompt, report)
        return Guide(encoded, rate, guidance, self._encoded(negative, report) if guidance > 1 else None)

    def _encoded(self, prompt: str, report: StepReport) -> EncodedPrompt:
        report.progress("reading the prompt", 0.01)
        encoded = self.prompts.encode(prompt)
        if encoded.is_full:
            report.log(
                "The prompt is longer than the 256 tokens that the model reads; its end has no effect.", "WARNING"
            )
        return encoded

    def _log_effects(self, plan: ClipPlan, guidance: float, report: StepReport) -> None:
        without = []
        if guidance <= 1:
            without.append("negative_prompt, because these weights run without guidance")
        if len(plan.windows()) == 1:
            without.append("temporal_adain_factor, because the clip is made in one window")
        if without:
            report.log(f"Without effect: {'; '.join(without)}.")

    def _write(
        self, job: EngineTask[Any], plan: ClipPlan, latents: Any, rate: int, after: _Steps, *, is_reversed: bool = False,
        compression: float = 0.0,
    ) -> OutputFile:  # fmt: skip
        provenance = Provenance(job.input.endpoint_id, job.input.wire(), job.seed, self.name, self.version)
        pieces = self.decoder.frames(
            latents, plan, sub_seed(job.seed, "decode"), compression=compression, is_reversed=is_reversed,
            after_piece=after,
        )  # fmt: skip
        path = job.folder / "clip.mp4"
        return write_clip(
            path,
            plan.size,
            plan.frames,
            Fraction(rate),
            provenance,
            pieces,
            is_reversed=is_reversed,
            check=after.report.check,
        )


class _Steps:
    """Called after each step of a stage; reports the progress."""

    def __init__(self, report: StepReport, share: StageShare) -> None:
        self.report, self._share, self._done = report, share, 0

    def __call__(self) -> None:
        self._done += 1
        self.report.progress(*self._share.after(self._done))


def _shares(plan: ClipPlan, first_steps: int, second_steps: int, windows: int) -> list[StageShare]:
    first, second = plan.pass_tokens(plan.small) * first_steps, plan.pass_tokens(plan.large) * second_steps
    return stage_shares(
        [
            ("first pass, step", first_steps * windows, first),
            ("second pass, step", second_steps * windows, second),
            ("decoding", len(plan.pieces()), DECODING * (first + second)),
        ]
    )
