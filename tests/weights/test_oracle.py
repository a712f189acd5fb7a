"""The frames of a clip in one window, beside the documented two-pass recipe written with the library's own pipelines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from diffusers import FlowMatchEulerDiscreteScheduler, LTXConditionPipeline, LTXLatentUpsamplePipeline
from diffusers.pipelines.ltx.modeling_latent_upsampler import LTXLatentUpsamplerModel
from PIL import Image
from transformers import T5TokenizerFast

from reelbook_service.weights.clip_plan import sub_seed
from reelbook_service.weights.pipelines.engine import WeightsEngine
from reelbook_service.weights.pipelines.ltx import Clip
from tests.weights.ltx_runs import CLOSE_DB, TEXT, Small, ltx_row, psnr, run
from tests.weights.tiny import LTX, UPSAMPLER

WIDTH, HEIGHT, FRAMES = 128, 64, 17


class Whole(Small):
    """An input at a size that both passes have exactly, so that the clip needs no cut."""

    @property
    def frame_size(self) -> tuple[int, int]:
        return WIDTH, HEIGHT


def recipe(weights: Path, prompt: str, seed: int) -> list[Image.Image]:
    """A clip by the library alone: half size, upsample with AdaIN, then the last three of eight steps at full size."""
    pipe = LTXConditionPipeline.from_pretrained(
        weights / LTX, tokenizer=T5TokenizerFast.from_pretrained(weights / LTX / "tokenizer"),
        scheduler=FlowMatchEulerDiscreteScheduler(),
    )  # fmt: skip
    upsampler = LTXLatentUpsamplerModel.from_pretrained(weights / UPSAMPLER / "latent_upsampler")
    upsample = LTXLatentUpsamplePipeline(vae=pipe.vae, latent_upsampler=upsampler)

    def seeded(part: str) -> torch.Generator:
        return torch.Generator("cpu").manual_seed(sub_seed(seed, part))

    usual = {"prompt": prompt, "num_frames": FRAMES, "frame_rate": 24, "guidance_scale": 1.0, "num_inference_steps": 8}
    first = pipe(**usual, width=WIDTH // 2, height=HEIGHT // 2, generator=seeded("first"), output_type="latent").frames
    larger = upsample(latents=first, width=WIDTH, height=HEIGHT, adain_factor=1.0, output_type="latent").frames
    window = torch.Generator("cpu").manual_seed(sub_seed(sub_seed(seed, "second"), "0"))
    second = pipe(
        **usual, width=WIDTH, height=HEIGHT, latents=larger, denoise_strength=3.5 / 8, generator=window,
        decode_timestep=0.05, decode_noise_scale=0.025, image_cond_noise_scale=0.0, output_type="latent",
    ).frames  # fmt: skip
    noise = torch.randn(second.shape, generator=seeded("decode"))
    latents = pipe._denormalize_latents(
        0.975 * second + 0.025 * noise, pipe.vae.latents_mean, pipe.vae.latents_std, pipe.vae.config.scaling_factor
    )
    with torch.no_grad():
        pixels = pipe.vae.decode(latents, torch.tensor([0.05]), return_dict=False)[0]
    return list(pipe.video_processor.postprocess_video(pixels, output_type="pil")[0])


def test_a_clip_is_that_of_the_documented_recipe(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes, steps, schedule, seeds, upsampling and decoding; before the file, whose encoding is no part of the recipe."""
    engine = WeightsEngine({TEXT: ltx_row(weights)}, "cpu")
    decoded, pieces = Clip.frames, []

    def recorded(*args: Any, **options: Any) -> Iterator[Any]:
        for pixels in decoded(*args, **options):
            pieces.append(pixels)
            yield pixels

    monkeypatch.setattr(Clip, "frames", recorded)
    clip = run(engine, Whole(prompt="a paper boat", num_frames=FRAMES, expand_prompt=False))
    frames = torch.cat(pieces).add(1).mul(127.5).clamp(0, 255).round().permute(0, 2, 3, 1).numpy()

    assert clip.output["video"].facts["frames"] == len(frames) == FRAMES
    assert psnr(frames, np.stack([np.asarray(frame) for frame in recipe(weights, "a paper boat", 7)])) >= CLOSE_DB
