"""What only a CUDA device can show: run with `--gpu` on a machine with a card of 40 GiB or more."""

from __future__ import annotations

import gc
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from diffusers import LTXVideoTransformer3DModel

from reelbook_service.weights.pipelines.engine import WeightsEngine
from tests.weights.ltx_runs import TEXT, cancel_at, ltx_row, model_of, run, small

pytestmark = pytest.mark.gpu

GIB = 2**30
SIZE_13B = {
    "in_channels": 128, "out_channels": 128, "num_attention_heads": 32, "attention_head_dim": 128,
    "cross_attention_dim": 4096, "num_layers": 48, "caption_channels": 4096,
}  # fmt: skip
"""The shape of LTX-Video 13B."""
WEIGHTS_GIB = 24.3
PLAN_GIB = {6_240: 0.8, 15_360: 1.9, 24_960: 3.1}
"""Memory above the weights in one step, by tokens: the first pass, and the second at half and at two thirds."""

STORAGES = [{"dtype": "bfloat16"}, {"dtype": "bfloat16", "storage": "float8_e4m3fn"}]


def engine_on_card(weights: Path, **changes: Any) -> WeightsEngine:
    """The tiny weights on the card."""
    return WeightsEngine({TEXT: ltx_row(weights, **changes)}, "cuda:0")


FRESH = """
import hashlib, json, sys
from pathlib import Path
from tests.weights.test_gpu import engine_on_card
from tests.weights.ltx_runs import run, small
engine = engine_on_card(Path(sys.argv[1]), **json.loads(sys.argv[2]))
print(hashlib.sha256(run(engine, small()).data).hexdigest())
"""


@pytest.mark.parametrize("storage", STORAGES, ids=["bfloat16", "float8"])
def test_two_processes_make_the_same_bytes(weights: Path, storage: dict[str, str]) -> None:
    """And warm, the same again."""
    engine = engine_on_card(weights, **storage)
    first = run(engine, small())

    command = [sys.executable, "-c", FRESH, str(weights), json.dumps(storage)]
    fresh = subprocess.run(command, capture_output=True, text=True)

    assert run(engine, small()).data == first.data
    assert fresh.stdout.strip() == hashlib.sha256(first.data).hexdigest(), fresh.stderr


@pytest.mark.parametrize("stage", ["first pass", "second pass", "decoding"])
def test_a_run_on_the_card_is_cancelled_within_a_second(weights: Path, stage: str) -> None:
    """In a clip that keeps the card busy."""
    engine = engine_on_card(weights, dtype="bfloat16")
    run(engine, small())

    assert cancel_at(engine, small(num_frames=1441), lambda news: news.stage.startswith(stage)) < 1.0


def test_out_of_memory_on_purpose_then_a_good_run(weights: Path) -> None:
    """The card is filled up; the run ends with a sentence, and the next one is the same as before."""
    engine = engine_on_card(weights, dtype="bfloat16")
    before = run(engine, small())
    torch.cuda.empty_cache()
    ballast = torch.empty(max(0, torch.cuda.mem_get_info()[0] - 8 * 2**20), dtype=torch.uint8, device="cuda:0")

    with pytest.raises(MemoryError, match="192×112 with 1441 frames"):
        run(engine, small(resolution="720p", num_frames=1441))
    del ballast

    assert run(engine, small()).data == before.data


@pytest.fixture(scope="module")
def transformer() -> Iterator[Any]:
    """A transformer of the real size with random weights, made on the card."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda:0"):
            model = LTXVideoTransformer3DModel(**SIZE_13B).eval().requires_grad_(False)
    finally:
        torch.set_default_dtype(default)
    yield model
    del model
    gc.collect()
    torch.cuda.empty_cache()


def test_the_weights_have_the_planned_size(transformer: Any) -> None:
    """Within a hundredth."""
    held = sum(value.numel() * value.element_size() for value in transformer.parameters())

    assert held / GIB == pytest.approx(WEIGHTS_GIB, rel=0.01)


@pytest.mark.parametrize("tokens", PLAN_GIB)
def test_a_step_takes_the_planned_memory(
    transformer: Any, tokens: int, record_property: Callable[[str, object], None]
) -> None:
    """Within 15 %; seconds and memory of a step are printed with `-s`."""
    inputs = {
        "hidden_states": torch.randn(1, tokens, 128, device="cuda:0", dtype=torch.bfloat16),
        "encoder_hidden_states": torch.randn(1, 256, 4096, device="cuda:0", dtype=torch.bfloat16),
        "timestep": torch.full((1, 1), 1000.0, device="cuda:0"),
        "encoder_attention_mask": torch.ones(1, 256, dtype=torch.bool, device="cuda:0"),
        "video_coords": torch.rand(1, 3, tokens, device="cuda:0") * 100,
    }
    with torch.no_grad():
        transformer(**inputs)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before, began = torch.cuda.memory_allocated(), time.perf_counter()
        transformer(**inputs)
        torch.cuda.synchronize()
    seconds, peak = time.perf_counter() - began, (torch.cuda.max_memory_allocated() - before) / GIB
    record_property("seconds per step", seconds)
    print(f"{tokens} tokens: {seconds:.2f} s per step, {peak:.2f} GiB above the weights")

    assert peak == pytest.approx(PLAN_GIB[tokens], rel=0.15, abs=0.1)


def test_the_model_is_on_the_card(weights: Path) -> None:
    """And a parked text encoder is not."""
    engine = engine_on_card(weights, dtype="bfloat16", text_encoder="park")
    run(engine, small(num_frames=9))
    model = model_of(engine)

    assert next(model.transformer.parameters()).device.type == "cuda"
    assert next(model.prompts._encoder.parameters()).device.type == "cpu"
