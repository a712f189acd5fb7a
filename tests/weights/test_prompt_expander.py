"""Prompts are lengthened by a language model from a folder, always the same way."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from reelbook_service.weights.config import PromptModel
from reelbook_service.weights.pipelines.engine import WeightsEngine
from tests.weights.ltx_runs import TEXT, ltx_row, run, small
from tests.weights.tiny import LTX


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
