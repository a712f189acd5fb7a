"""Wan 2.2 TI2V weights: image to video with guidance, so that `cfg_scale` and the negative prompt act."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import torch
from diffusers import AutoencoderKLWan, UniPCMultistepScheduler, WanImageToVideoPipeline, WanTransformer3DModel
from PIL import Image
from transformers import UMT5EncoderModel

from reelbook.models.image_to_video import ImageToVideo

from ...engines.protocol import EngineTask, Report
from ..clip_plan import Stage, ceil_to, stages_of, sub_seed
from ..config import WanWeights
from .parts import IMAGE_RATE, EncodedPrompt, Model, as_bytes, load_model, with_edges

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


class WanModel(Model[WanWeights]):
    """The loaded weights on one device."""

    name = "wan"

    def __init__(self, row: WanWeights, report: Report) -> None:
        super().__init__(row, report, WanTransformer3DModel, UMT5EncoderModel, MAX_TOKENS)
        # In 32 bits, as its authors run it.
        self.vae = load_model(AutoencoderKLWan, row.folder / "vae", torch.float32).to(self.device)
        index = json.loads((row.folder / "model_index.json").read_text(encoding="utf-8"))
        self.pipe = WanImageToVideoPipeline(
            tokenizer=None, text_encoder=None, vae=self.vae, transformer=self.transformer,
            scheduler=UniPCMultistepScheduler.from_pretrained(row.folder / "scheduler", local_files_only=True),
            expand_timesteps=bool(index.get("expand_timesteps")),
        )  # fmt: skip
        self.pipe.set_progress_bar_config(disable=True)
        self._check_within_steps(self.transformer.blocks)
        # It decodes one latent frame at a time.
        self.vae.decoder.register_forward_pre_hook(self._check)

    def image_to_video(self, job: EngineTask[ImageToVideo]) -> dict[str, Any]:
        """Make a clip that starts with a picture."""
        request, (guidance, picture) = job.input, self._begin_image(job)
        if guidance <= 1:
            self.report.log(
                "Without effect: negative_prompt, because there is no guidance at this cfg_scale and these weights' range."
            )
        prompt, negative = map(_padded_with_zeros, self._encode_both(job, request.prompt, guidance))
        count = IMAGE_RATE * int(request.duration)
        frames = self._frames(picture, count, prompt, negative, guidance, job.seed)
        return {"video": self._write(job, picture.size, count, IMAGE_RATE, frames)}

    def _frames(
        self, picture: Image.Image, count: int, prompt: Any, negative: Any, guidance: float, seed: int
    ) -> Iterator[Any]:
        """The frames of each part, cut to the clip's size; a part starts with the last frame of the one before."""
        own, (width, height) = PART_FRAMES - 1, picture.size
        parts = -(-count // own)
        stages = stages_of(self.report, [
            stage
            for part in range(1, parts + 1)
            for stage in (
                (f"part {part} of {parts}, step", self.row.steps, 1.0), (f"decoding part {part} of {parts},", 1, DECODING)
            )
        ])  # fmt: skip
        start = with_edges(picture, (ceil_to(width, SIDE), ceil_to(height, SIDE)))
        for part in range(parts):
            steps, decoding = stages[2 * part : 2 * part + 2]
            pixels = self._decode(
                self._denoise(start, prompt, negative, guidance, sub_seed(seed, f"part {part}"), steps)
            )
            decoding()
            start = Image.fromarray(as_bytes(pixels[-1:])[0])
            for few in pixels[: min(own, count - part * own), :, :height, :width].split(WRITTEN_TOGETHER):
                yield few.clone()  # A view would hold all frames of this part while the next one is made.
            del pixels

    def _denoise(
        self, picture: Image.Image, prompt: Any, negative: Any, guidance: float, seed: int, after: Stage
    ) -> Any:
        return self.pipe(
            image=picture, prompt_embeds=prompt, negative_prompt_embeds=negative, width=picture.width, height=picture.height,
            num_frames=PART_FRAMES, num_inference_steps=self.row.steps, guidance_scale=guidance, output_type="latent",
            generator=torch.Generator("cpu").manual_seed(seed), callback_on_step_end=after,
        ).frames  # fmt: skip

    def _decode(self, latents: Any) -> Any:
        """The pixels of a part: (frames, 3, height, width), -1 to 1."""
        shape, config = (1, -1, 1, 1, 1), self.vae.config
        mean = torch.tensor(config.latents_mean, device=latents.device, dtype=torch.float32).view(shape)
        deviation = torch.tensor(config.latents_std, device=latents.device, dtype=torch.float32).view(shape)
        try:
            with torch.no_grad():
                return self.vae.decode(latents.float() * deviation + mean, return_dict=False)[0][0].transpose(0, 1)
        finally:
            self.vae.clear_cache()  # A cancelled run leaves it full.


def _padded_with_zeros(encoded: EncodedPrompt | None) -> Any:
    """The embeddings as the transformer reads them: without a mask, so what the encoder makes of the padding must go."""
    return None if encoded is None else encoded.embeds * encoded.mask.unsqueeze(-1).to(encoded.embeds.dtype)
