"""Lengthening of prompts by a causal language model from a local folder."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from .load_parts import load_transformers_model

NEW_TOKENS = 96
INSTRUCTION = (
    "Describe the following video in one detailed paragraph: what is in it, how it moves, the light and the camera. "
    "Video: {prompt}\nDescription: {prompt}"
)


class PromptExpander:
    """Lengthens prompts on the CPU, always by its likeliest words: the same prompt gives the same text."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._model = load_transformers_model(AutoModelForCausalLM, folder, torch.float32)

    def expand(self, prompt: str) -> str:
        """The prompt with what the model adds to it."""
        tokens = self._tokenizer(INSTRUCTION.format(prompt=prompt), return_tensors="pt")
        with torch.no_grad():
            ids = self._model.generate(
                tokens.input_ids, attention_mask=tokens.attention_mask, max_new_tokens=NEW_TOKENS, do_sample=False,
                repetition_penalty=1.2, pad_token_id=self._tokenizer.eos_token_id,
            )  # fmt: skip
        added = self._tokenizer.decode(ids[0, tokens.input_ids.shape[1] :], skip_special_tokens=True)
        return " ".join(f"{prompt} {added}".split())
