"""The engine of real weights: loading, eviction, cancelling, failures, and that nothing is asked of a network."""

from __future__ import annotations

import hashlib
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from reelbook_service.engines.protocol import Cancelled, Report
from reelbook_service.prompt_check import ContentRefused
from reelbook_service.weights.config import SafetyCheck
from reelbook_service.weights.pipelines import parts
from reelbook_service.weights.pipelines.engine import WeightsEngine
from reelbook_service.worker import LOST_DEVICE
from tests.heard import Heard
from tests.weights.ltx_runs import TEXT, Finished, cancel_at, ltx_row, model_of, run, small, task
from tests.weights.tiny import CHECK, LTX


@pytest.mark.parametrize("stage", ["first pass, step 3", "second pass, step 2", "decoding 1"])
def test_a_run_is_cancelled_at_once(usual: Finished, engine: WeightsEngine, stage: str) -> None:
    """The model stays loaded, and the next run is the same bit for bit."""
    seconds = cancel_at(engine, small(num_frames=97), lambda news: news.stage.startswith(stage))

    assert seconds < 1.0
    assert run(engine, small()).data == usual.data


def test_a_run_is_cancelled_within_a_step(usual: Finished, engine: WeightsEngine) -> None:
    """A step of a large clip takes seconds, so it ends at one of six places in it: here before its second block."""
    model, blocks, heard = model_of(engine), [], Heard()

    def cancelled_after_the_first(module: Any, inputs: Any, output: Any) -> None:
        blocks.append("first")
        heard.is_cancelled = True

    first, second = model.transformer.transformer_blocks
    hooks = [
        first.register_forward_hook(cancelled_after_the_first),
        second.register_forward_hook(lambda module, inputs, output: blocks.append("second")),
    ]
    with pytest.raises(Cancelled):
        engine(task(small(), Path("unused")), heard)
    for hook in hooks:
        hook.remove()

    assert blocks == ["first"]
    assert run(engine, small()).data == usual.data


def test_out_of_memory_ends_only_the_run(
    usual: Finished, engine: WeightsEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to do; the loaded model goes on."""
    model, forward, calls = model_of(engine), model_of(engine).transformer.forward, []

    def failing(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")
        return forward(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(model.transformer, "forward", failing)
        with pytest.raises(MemoryError, match="smaller or shorter"):
            run(engine, small())

    assert run(engine, small()).data == usual.data
    assert model_of(engine) is model


def test_one_bad_picture_of_eight_refuses_a_clip(
    usual: Finished, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the threshold on; without a classifier, the log says that pictures are not read."""
    scores: list[float] = []

    def noted(check: parts.PictureCheck, picture: Any) -> float:
        scores.append(score(check, picture))
        return scores[-1]

    def engine_at(threshold: float) -> WeightsEngine:
        safety = SafetyCheck(folder=weights / CHECK, threshold=threshold)
        return WeightsEngine({TEXT: ltx_row(weights, safety=safety)}, "cpu")

    with monkeypatch.context() as patch:
        score = parts.PictureCheck.score
        patch.setattr(parts.PictureCheck, "score", noted)
        passed = run(engine_at(1.0), small())
    with pytest.raises(ContentRefused, match="refused the pictures"):
        run(engine_at(max(scores)), small())

    assert passed.data == usual.data == run(engine_at(max(scores) + 1e-6), small()).data
    assert len(set(scores)) == 8
    assert "read the prompt only" in usual.log
    assert "safety" not in passed.log


def test_only_with_permission_the_pictures_are_unchecked(weights: Path, tmp_path: Path) -> None:
    """Where the input turns the check off as well; the log says so."""
    engine = WeightsEngine({TEXT: ltx_row(weights, safety=SafetyCheck(folder=weights / CHECK, threshold=0.0))}, "cpu")
    off, heard = small(num_frames=9, enable_safety_checker=False), Heard()

    for job in (task(off, tmp_path), replace(task(small(num_frames=9), tmp_path), may_be_unchecked=True)):
        with pytest.raises(ContentRefused, match="refused the pictures"):
            engine(job, Report())
    engine(replace(task(off, tmp_path), may_be_unchecked=True), heard)

    assert "The safety check is turned off for this run." in heard.lines


def test_a_run_names_the_weights_that_are_loaded(weights: Path, tmp_path: Path) -> None:
    """Also where the files were replaced since: what is on the disk made nothing."""
    shutil.copytree(weights / LTX, tmp_path / "ltx")
    engine = WeightsEngine({TEXT: ltx_row(weights, folder=tmp_path / "ltx")}, "cpu")
    before = engine.described(TEXT)
    engine.load(TEXT, Report())

    (tmp_path / "ltx" / "vae" / "config.json").write_text("{}")
    replaced = WeightsEngine({TEXT: ltx_row(weights, folder=tmp_path / "ltx")}, "cpu")

    assert engine.described(TEXT) == before == f"ltx {model_of(engine).version}"
    assert replaced.described(TEXT) != before


def test_nothing_dials(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not while loading, nor in a run. The control: a dial is seen."""
    dials: list[Any] = []

    def dialled(self: socket.socket, address: Any) -> None:
        dials.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", dialled)
    run(WeightsEngine({TEXT: ltx_row(weights)}, "cpu"), small(expand_prompt=True))
    count = len(dials)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", 9))

    assert count == 0
    assert len(dials) == 1


FRESH = """
import hashlib, sys, torch
from pathlib import Path
from tests.weights.ltx_runs import *
torch.set_num_threads(int(sys.argv[2]))
engine = WeightsEngine({TEXT: ltx_row(Path(sys.argv[1]))}, "cpu")
run(engine, small(prompt="something else", num_frames=9))
print(hashlib.sha256(run(engine, small()).data).hexdigest(), flush=True)
def lost(*args, **options):
    raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")
model_of(engine).transformer.forward = lost
run(engine, small())
"""


def test_a_fresh_process_makes_the_same_bytes_and_leaves_with_a_lost_device(usual: Finished, weights: Path) -> None:
    """After another run, with as many threads; the exit code is the engine's own."""
    command = [sys.executable, "-c", FRESH, str(weights), str(torch.get_num_threads())]
    ended = subprocess.run(command, capture_output=True, text=True)

    assert ended.stdout.strip() == hashlib.sha256(usual.data).hexdigest(), ended.stderr
    assert ended.returncode == LOST_DEVICE
