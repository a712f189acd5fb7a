"""Wan 2.2 TI2V weights: image to video with guidance, so that `cfg_scale` and the negative prompt act."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from diffusers import AutoencoderKLWan, UniPCMultistepScheduler, WanImageToVideoPipeline, WanTransformer3DModel
from PIL import Image
from transformers import UMT5EncoderModel

from reelbook.models.image_to_video import ImageToVideo

from ...engines.long_step import StepReport
from ...engines.move.size import frame_size
from ...engines.open_pictures import flattened, open_picture, upright_size
from ...engines.protocol import EngineTask
from ...engines.write_provenance import Provenance
from ..clip_plan import Size, StageShare, ceil_to, stage_shares, sub_seed
from ..config import WanWeights
from ..folder import weights_identity
from .clip_file import write_clip
from .load_parts import check_within_steps, load_model, load_transformer
from .prompt_encoder import PromptEncoder

RATE = 24
PART_FRAMES = 121
"""The frames that these weights make at once; the last one starts the next part."""
SIDE = 32
"""Sides of the model's pictures are multiples of this."""
MAX_TOKENS = 512
"""The length of the prompt that the transformer reads; what is shorter is filled with zeros."""
DECODING = 0.1
"""The work of decoding a part, relative to its steps."""
WRITTEN_TOGETHER = 8
"""Frames whose colours are converted at once; all of a part would take gigabytes of the device's memory."""


class WanModel:
    """The loaded weights on one device."""

    name = "wan"

    def __init__(self, row: WanWeights, report: StepReport) -> None:
        self.row, self.version = row, f"{row.folder.name}@{weights_identity(row)}"
        self._device = row.devices[0]
        self._report: StepReport | None = None
        self._decoding: _Steps | None = None
        report.progress("loading the text encoder", 0.0)
        self.prompts = PromptEncoder(row, UMT5EncoderModel, MAX_TOKENS)
        report.progress("loading the transformer", 0.0)
        self.transformer = load_transformer(WanTransformer3DModel, row)
        report.progress("loading the decoder", 0.0)
        # In 32 bits, as its authors run it.
        self.vae = load_model(AutoencoderKLWan, row.folder / "vae", torch.float32).to(self._device)
        index = json.loads((row.folder / "model_index.json").read_text(encoding="utf-8"))
        self.pipe = WanImageToVideoPipeline(
            tokenizer=None, text_encoder=None, vae=self.vae, transformer=self.transformer,
            scheduler=UniPCMultistepScheduler.from_pretrained(row.folder / "scheduler", local_files_only=True),
            expand_timesteps=bool(index.get("expand_timesteps")),
        )  # fmt: skip
        self.pipe.set_progress_bar_config(disable=True)
        check_within_steps(self.transformer.blocks, self._check)
        # It decodes one latent frame at a time.
        self.vae.decoder.register_forward_pre_hook(self._check)
        self.vae.decoder.register_forward_hook(self._after_latent)

    def close(self) -> None:
        """Nothing: all goes with the last reference."""

    def end_run(self) -> None:
        """Forget the run that is reported to."""
        self._report = self._decoding = None
        self.vae.clear_cache()

    def image_to_video(self, job: EngineTask[ImageToVideo], report: StepReport) -> dict[str, Any]:
        """Make a clip that starts with a picture."""
        request, self._report = job.input, report
        report.log(f"The seed is {job.seed}, chosen by the service.")
        low, high = self.row.guidance
        guidance = low + (high - low) * request.cfg_scale
        if guidance <= 1:
            report.log(
                "Without effect: negative_prompt, because there is no guidance at this cfg_scale and these weights' range."
            )
        size, picture = _start(request.image_url, job.sources[request.image_url])
        prompt = self._encoded(request.prompt, report)
        negative = self._encoded(request.negative_prompt, report) if guidance > 1 else None
        count = RATE * int(request.duration)
        frames = self._frames(size, count, picture, prompt, negative, guidance, job.seed, report)
        provenance = Provenance(request.endpoint_id, request.wire(), job.seed, self.name, self.version)
        video = write_clip(
            job.folder / "clip.mp4", size, count, Fraction(RATE), provenance, frames, is_reversed=False, check=report.check
        )  # fmt: skip
        return {"video": video}

    def _frames(
        self, size: Size, count: int, picture: Image.Image, prompt: Any, negative: Any, guidance: float, seed: int, report: StepReport
    ) -> Iterator[Any]:  # fmt: skip
        """The frames of each part, cut to the clip's size; a part starts with the last frame of the one before."""
        own = PART_FRAMES - 1
        parts = -(-count // own)
        shares = _shares(parts, self.row.steps, (PART_FRAMES - 1) // self.pipe.vae_scale_factor_temporal + 1)
        width, height = size
        for part in range(parts):
            steps, decoding = _Steps(report, shares[2 * part]), _Steps(report, shares[2 * part + 1])
            latents = self._denoise(picture, prompt, negative, guidance, sub_seed(seed, f"part {part}"), steps)
            pixels = self._decode(latents, decoding)
            picture = _as_picture(pixels[-1])
            for few in pixels[: min(own, count - part * own), :, :height, :width].split(WRITTEN_TOGETHER):
                yield few.clone()  # A view would hold all frames of this part while the next one is made.
            del pixels

    def _denoise(
        self, picture: Image.Image, prompt: Any, negative: Any, guidance: float, seed: int, after: _Steps
    ) -> Any:
        def after_step(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
            after()
            return {}

        return self.pipe(
            image=picture, prompt_embeds=prompt, negative_prompt_embeds=negative, width=picture.width, height=picture.height,
            num_frames=PART_FRAMES, num_inference_steps=self.row.steps, guidance_scale=guidance, output_type="latent",
            generator=torch.Generator("cpu").manual_seed(seed), callback_on_step_end=after_step,
        ).frames  # fmt: skip

    def _decode(self, latents: Any, after: _Steps) -> Any:
        """The pixels of a part: (frames, 3, height, width), -1 to 1."""
        shape, config = (1, -1, 1, 1, 1), self.vae.config
        mean = torch.tensor(config.latents_mean, device=latents.device, dtype=torch.float32).view(shape)
        deviation = torch.tensor(config.latents_std, device=latents.device, dtype=torch.float32).view(shape)
        self._decoding = after
        try:
            with torch.no_grad():
                decoded = self.vae.decode(latents.float() * deviation + mean, return_dict=False)[0]
        finally:
            self._decoding = None
        return decoded[0].transpose(0, 1)

    def _encoded(self, prompt: str, report: StepReport) -> Any:
        report.progress("reading the prompt", 0.01)
        encoded = self.prompts.encode(prompt)
        if encoded.is_full:
            report.log(
                f"The prompt is longer than the {MAX_TOKENS} tokens that the model reads; its end has no effect.",
                "WARNING",
            )
        # The transformer has no mask: what the encoder makes of the padding must not reach it.
        return encoded.embeds * encoded.mask.unsqueeze(-1).to(encoded.embeds.dtype)

    def _check(self, module: Any, inputs: Any) -> None:
        if self._report is None:
            return
        if self._device != "cpu":
            # Python runs ahead of the device; without this, a run would be cancelled in the device's future.
            torch.cuda.current_stream().synchronize()
        self._report.check()

    def _after_latent(self, module: Any, inputs: Any, output: Any) -> None:
        if self._decoding is not None:
            self._decoding()


class _Steps:
    """Called after each step of a stage; reports the progress."""

    def __init__(self, report: StepReport, share: StageShare) -> None:
        self._report, self._share, self._done = report, share, 0

    def __call__(self) -> None:
        self._done += 1
        self._report.progress(*self._share.after(self._done))


def _shares(parts: int, steps: int, latents: int) -> list[StageShare]:
    """For each part, the shares of its steps and of its decoding."""
    stages: list[tuple[str, int, float]] = []
    for part in range(1, parts + 1):
        stages += [
            (f"part {part} of {parts}, step", steps, 1.0),
            (f"decoding part {part} of {parts},", latents, DECODING),
        ]
    return stage_shares(stages)


def _start(source: str, data: bytes) -> tuple[Size, Image.Image]:
    """The size of the clip, and its first picture with edges repeated to the right and below."""
    width, height = size = frame_size(*upright_size(source, data))
    picture = flattened(open_picture(source, data, at_least=size)).resize(size, Image.Resampling.LANCZOS)
    right, below = ceil_to(width, SIDE) - width, ceil_to(height, SIDE) - height
    return size, Image.fromarray(np.pad(np.asarray(picture), ((0, below), (0, right), (0, 0)), mode="edge"))


def _as_picture(pixels: Any) -> Image.Image:
    values = pixels.float().clamp(-1, 1).add(1).mul(127.5).round().to(torch.uint8)
    return Image.fromarray(values.permute(1, 2, 0).cpu().numpy())
