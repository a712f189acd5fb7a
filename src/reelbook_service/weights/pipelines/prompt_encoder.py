"""The text encoder, and a cache of the prompts that it encoded last."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import torch
from transformers import T5EncoderModel, T5TokenizerFast

from ..config import LtxWeights, WanWeights
from .load_parts import load_transformers_model, torch_dtype

MAX_TOKENS = 256
CACHED_PROMPTS = 64


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """A prompt as the transformer reads it."""

    embeds: Any
    mask: Any
    is_full: bool
    """Whether all tokens are used, so that the end of the prompt may be missing."""


class PromptEncoder:
    """Encodes prompts; a sweep over seeds runs the encoder once."""

    def __init__(self, row: LtxWeights | WanWeights, kind: Any = T5EncoderModel, max_tokens: int = MAX_TOKENS) -> None:
        self._max_tokens = max_tokens
        self._device = row.devices[0]
        self._runs_on = "cpu" if row.text_encoder == "cpu" else self._device
        self._rests_on = self._device if row.text_encoder == "stay" else "cpu"
        self._tokenizer = T5TokenizerFast.from_pretrained(row.folder / "tokenizer", local_files_only=True)
        self._encoder = load_transformers_model(kind, row.folder / "text_encoder", torch_dtype(row.dtype))
        self._encoder.to(self._rests_on)
        self._cached: OrderedDict[str, EncodedPrompt] = OrderedDict()
        self.encoded = 0
        """How often the encoder ran."""

    def encode(self, prompt: str) -> EncodedPrompt:
        """The prompt on the device, from the cache if it is there."""
        if prompt not in self._cached:
            self._cached[prompt] = self._encode(prompt)
            while len(self._cached) > CACHED_PROMPTS:
                self._cached.popitem(last=False)
        self._cached.move_to_end(prompt)
        found = self._cached[prompt]
        return EncodedPrompt(found.embeds.to(self._device), found.mask.to(self._device), found.is_full)

    def _encode(self, prompt: str) -> EncodedPrompt:
        tokens = self._tokenizer(
            prompt, padding="max_length", max_length=self._max_tokens, truncation=True, return_tensors="pt"
        )
        mask = tokens.attention_mask.bool()
        try:
            self._encoder.to(self._runs_on)
            with torch.no_grad():
                embeds = self._encoder(tokens.input_ids.to(self._runs_on), attention_mask=mask.to(self._runs_on))[
                    0
                ].cpu()
        finally:
            # Also after running out of memory: a parked encoder must not stay on the device.
            self._encoder.to(self._rests_on)
        self.encoded += 1
        return EncodedPrompt(embeds, mask, bool(mask.all()))
