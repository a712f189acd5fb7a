"""LTX-Video: every field acts, the schedule is that of the authors, and the same seed gives the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from reelbook.models.image_to_video import ImageToVideo
from reelbook_service.weights.clip_plan import ClipPlan, sub_seed
from reelbook_service.weights.pipelines.engine import WeightsEngine
from reelbook_service.weights.pipelines.ltx import Clip, placed
from tests.heard import Heard
from tests.weights.ltx_runs import PICTURE, TEXT, Finished, ltx_row, model_of, run, small

AUTHORS = [1.0, 0.9937, 0.9875, 0.9812, 0.975, 0.9094, 0.725, 0.4219]
"""The sigmas that the weights were distilled on."""


def raw(finished: Finished) -> np.ndarray[Any, Any]:
    """The pictures; unlike the file's bytes they do not contain the input."""
    return np.stack(finished.frames())


def image(**changes: Any) -> ImageToVideo:
    """An input of image to video."""
    return ImageToVideo(**{"prompt": "slowly closer", "image_url": PICTURE, **changes})


def test_a_prompt_becomes_a_clip(usual: Finished, engine: WeightsEngine) -> None:
    """Size, count, rate, seed and prompt are in the output; the log names the weights and says what has no effect."""
    video = usual.output["video"]

    assert video.facts == {"width": 96, "height": 56, "frames": 17, "frame_rate": 24}
    assert usual.output["seed"] == 7
    assert usual.output["prompt"] == "a paper boat on a rainy street"
    assert len(usual.frames()) == 17
    assert engine.described(TEXT).startswith("ltx ltx-tiny-distilled@")
    assert usual.log.startswith(f"These are the weights {engine.described(TEXT)} in float32 on cpu")
    assert "not the hosted model" in usual.log
    assert "Without effect: negative_prompt" in usual.log
    assert "temporal_adain_factor" in usual.log
    assert usual.fractions == sorted(usual.fractions)
    assert 0.98 < usual.fractions[-1] <= 1


@pytest.mark.parametrize("field", [
    {"prompt": "a red balloon"}, {"frame_rate": 12}, {"first_pass_num_inference_steps": 4},
    {"second_pass_num_inference_steps": 9}, {"second_pass_skip_initial_steps": 3}, {"enable_detail_pass": True},
    {"tone_map_compression_ratio": 0.6}, {"reverse_video": True}, {"loras": ({"path": "paper"},)}, {"expand_prompt": True},
], ids=lambda field: next(iter(field)))  # fmt: skip
def test_the_field_acts(usual: Finished, engine: WeightsEngine, field: dict[str, Any]) -> None:
    """The pictures are others."""
    assert not np.array_equal(raw(run(engine, small(**field))), raw(usual))


def test_sizes_counts_and_seeds_are_exact(engine: WeightsEngine) -> None:
    """Any number of frames, every shape, and a seed of 400 digits."""
    for frames in (9, 10, 16, 24, 57, 58):
        assert len(run(engine, small(num_frames=frames)).frames()) == frames
    shapes = {
        ratio: run(engine, small(aspect_ratio=ratio, num_frames=9)).frames()[0].shape for ratio in ("9:16", "1:1")
    }
    assert shapes == {"9:16": (96, 56, 3), "1:1": (64, 64, 3)}
    assert run(engine, small(resolution="720p", num_frames=9)).frames()[0].shape == (112, 192, 3)
    assert run(engine, small(), seed=10**400).data != run(engine, small(), seed=8).data


def test_eight_steps_run_the_table_of_the_authors(usual: Finished, engine: WeightsEngine) -> None:
    """All eight in the first pass, the last three in the second."""
    sigmas: list[float] = []
    hook = model_of(engine).transformer.register_forward_pre_hook(
        lambda module, args, options: sigmas.append(float(options["timestep"].max()) / 1000), with_kwargs=True
    )

    run(engine, small())
    hook.remove()

    assert len(sigmas) == 11
    assert np.allclose(sigmas, AUTHORS + AUTHORS[5:], atol=1.1e-4)


def test_long_clips_run_in_windows(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact counts, the frames that windows share stay bit for bit, and the AdaIN factor acts."""
    engine = WeightsEngine({TEXT: ltx_row(weights, window_frames=33)}, "cpu")
    long = small(prompt="a paper boat | on a street", num_frames=97)
    first = run(engine, long)
    denoise, errors, windows = Clip.denoise, [], []

    def recorded(*args: Any, fixed: Any = None) -> Any:
        result = denoise(*args, fixed=fixed)
        windows.append(result.shape[2])
        if fixed is not None:
            errors.append(float((result[:, :, : fixed.shape[2]] - fixed).abs().max()))
        return result

    with monkeypatch.context() as patch:
        patch.setattr(Clip, "denoise", recorded)
        again = run(engine, long)

    assert len(first.frames()) == 97
    assert len(windows) == len(ClipPlan.of((96, 56), 97, ltx_row(weights, window_frames=33)).windows()) > 2
    assert errors
    assert max(errors) == 0.0
    assert again.data == first.data
    assert 0.98 < again.fractions[-1] <= 1
    assert "temporal_adain_factor" not in again.log
    assert not np.array_equal(raw(run(engine, long.model_copy(update={"temporal_adain_factor": 0.0}))), raw(first))


def test_a_picture_starts_the_clip(engine: WeightsEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its latents are the first frame of both passes, untouched; the clip has the picture's size."""
    model, denoise, passes = model_of(engine), Clip.denoise, []

    def recorded(clip: Clip, latents: Any, size: Any, *rest: Any, **fixed: Any) -> Any:
        assert clip.start is not None
        passes.append((placed(clip.start, clip.plan, size), denoise(clip, latents, size, *rest, **fixed)))
        return passes[-1][1]

    monkeypatch.setattr(Clip, "denoise", recorded)
    finished = run(engine, image())

    assert len(finished.frames()) == 120
    assert finished.frames()[0].shape == (56, 96, 3)
    assert "cfg_scale" in finished.log
    for (start, result), seed in zip(passes, (sub_seed(7, "first"), sub_seed(sub_seed(7, "second"), "0")), strict=True):
        pixels = model.pipe.video_processor.preprocess(start, start.height, start.width).unsqueeze(2)
        generator = torch.Generator("cpu").manual_seed(seed)
        torch.randn(result.shape, generator=generator)  # The pipeline draws the noise of the clip first.
        with torch.no_grad():
            sample = model.vae.encode(pixels).latent_dist.sample(generator)
        wanted = model.pipe._normalize_latents(sample, model.vae.latents_mean, model.vae.latents_std)
        assert float((result[:, :, :1] - wanted).abs().max()) < 1e-5


def test_a_long_prompt_is_cut_off_and_the_log_says_so(engine: WeightsEngine, usual: Finished) -> None:
    """The model reads 256 tokens; the last 64 prompts stay encoded."""
    report = model_of(engine).report = Heard()

    model_of(engine)._encoded("boat " * 400)
    for number in range(70):
        model_of(engine).prompts.encode(f"boat {number}")

    assert any("256 tokens" in line for line in report.lines)
    assert model_of(engine).prompts.cached.cache_info().currsize == 64
