"""What only a CUDA device can show: run with `--gpu` on a machine with a card of 40 GiB or more."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from reelbook_service.weights.pipelines.engine import WeightsEngine
from tests.weights.ltx_runs import TEXT, cancel_at, ltx_row, run, small

pytestmark = pytest.mark.gpu

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
    """The card is filled up; the run ends with what to do, and the next one is the same as before."""
    engine = engine_on_card(weights, dtype="bfloat16")
    before = run(engine, small())
    torch.cuda.empty_cache()
    ballast = torch.empty(max(0, torch.cuda.mem_get_info()[0] - 8 * 2**20), dtype=torch.uint8, device="cuda:0")

    with pytest.raises(MemoryError, match="smaller or shorter"):
        run(engine, small(resolution="720p", num_frames=1441))
    del ballast

    assert run(engine, small()).data == before.data
