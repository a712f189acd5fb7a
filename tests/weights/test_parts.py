"""The parts around the two families: the picture check, the expander of prompts, and the colours of a clip."""

from __future__ import annotations

import shutil
from pathlib import Path

import av
import numpy as np
import pytest
import torch
from av.video.reformatter import Colorspace
from numpy.typing import NDArray
from transformers import LlamaConfig, LlamaForCausalLM

from reelbook_service.prompt_check import ContentRefused
from reelbook_service.weights.config import PromptModel, SafetyCheck
from reelbook_service.weights.pipelines.clip import yuv_planes
from reelbook_service.weights.pipelines.engine import WeightsEngine
from reelbook_service.weights.pipelines.parts import PictureCheck, spread
from tests.weights.ltx_runs import TEXT, ltx_row, run, small
from tests.weights.tiny import CHECK, LTX


def picture_check(weights: Path, threshold: float = 1.0, label: str = "nsfw") -> PictureCheck:
    """The tiny classifier."""
    settings = SafetyCheck(folder=weights / CHECK, label=label, threshold=threshold)
    return PictureCheck(settings, weights / CHECK, "cpu")


@pytest.fixture
def frames() -> NDArray[np.uint8]:
    """Twenty frames of noise."""
    return np.random.default_rng(3).integers(0, 256, (20, 48, 64, 3), dtype=np.uint8)


def test_a_clip_is_refused_at_the_threshold_and_above(weights: Path, frames: NDArray[np.uint8]) -> None:
    """The worst of the frames decides, in every order of the frames."""
    score = picture_check(weights).highest_score(frames)

    picture_check(weights, score + 1e-4).check(list(frames))
    with pytest.raises(ContentRefused, match="refused the pictures"):
        picture_check(weights, score, "NSFW").check(frames)


def test_no_frame_but_the_last_may_be_the_bad_one(weights: Path, frames: NDArray[np.uint8]) -> None:
    """The first and the last frame are among those that are read."""
    check = picture_check(weights)
    calm = np.repeat(frames[:1], 20, axis=0)
    singles = [check.highest_score(one[None]) for one in frames]
    worst = frames[int(np.argmax(singles))]

    assert max(singles) > singles[0]
    assert check.highest_score(np.concatenate([calm[1:], worst[None]])) == pytest.approx(max(singles))
    assert check.highest_score(np.concatenate([worst[None], calm[1:]])) == pytest.approx(max(singles))
    assert spread(20) == [0, 3, 5, 8, 11, 14, 16, 19]
    assert (spread(1), spread(3), spread(8)) == ([0], [0, 1, 2], list(range(8)))


def test_a_language_model_lengthens_the_prompt(weights: Path, tmp_path: Path) -> None:
    """The output has the prompt that was used; without a model, the rule of the sketch engine is used and named."""
    shutil.copytree(weights / LTX / "tokenizer", tmp_path, dirs_exist_ok=True)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=300, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        pad_token_id=0, eos_token_id=1, bos_token_id=None,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(tmp_path)
    request = small(num_frames=9, expand_prompt=True)

    by_model = run(WeightsEngine({TEXT: ltx_row(weights, expand=PromptModel(folder=tmp_path))}, "cpu"), request)
    again = run(WeightsEngine({TEXT: ltx_row(weights, expand=PromptModel(folder=tmp_path))}, "cpu"), request)
    by_rule = run(WeightsEngine({TEXT: ltx_row(weights)}, "cpu"), request)

    assert by_model.output["prompt"].startswith(request.prompt)
    assert len(by_model.output["prompt"]) > len(request.prompt)
    assert again.data == by_model.data
    assert by_rule.output["prompt"].startswith(request.prompt)
    assert by_rule.output["prompt"] != by_model.output["prompt"]
    assert "by a rule" in by_rule.log


def test_colours_are_those_of_ffmpeg() -> None:
    """Within two levels on surfaces of one colour, for every corner of the colour cube and greys between."""
    colours = torch.cartesian_prod(*[torch.tensor([-1.0, -0.3, 0.4, 1.0])] * 3)
    frames = colours.view(-1, 3, 1, 1).expand(-1, 3, 16, 32)
    ours = yuv_planes(frames).numpy()

    for planes, frame in zip(ours, frames, strict=True):
        pixels = frame.add(1).mul(127.5).round().to(torch.uint8).permute(1, 2, 0).contiguous().numpy()
        theirs = av.VideoFrame.from_ndarray(pixels, format="rgb24").reformat(
            format="yuv420p", dst_colorspace=Colorspace.ITU709
        )
        difference = planes.astype(int) - theirs.to_ndarray().astype(int)
        assert np.abs(difference).max() <= 2
