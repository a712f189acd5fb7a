"""The parts that are loaded from folders, safetensors only: models, text encoder, expander of prompts, picture check."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers.utils import logging as diffusers_logging
from numpy.typing import NDArray
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageClassification,
    AutoTokenizer,
    T5EncoderModel,
    T5TokenizerFast,
)
from transformers.utils import logging as transformers_logging

from ...prompt_check import ContentRefused
from ..config import BadWeights, LtxWeights, SafetyCheck, WanWeights

MAX_TOKENS = 256
"""Of a prompt, as LTX reads it."""
CACHED_PROMPTS = 64
NEW_TOKENS = 96
INSTRUCTION = (
    "Describe the following video in one detailed paragraph: what is in it, how it moves, the light and the camera. "
    "Video: {prompt}\nDescription: {prompt}"
)
CHECKED_FRAMES = 8
"""Frames of each clip that the picture check reads, evenly spread from the first to the last."""
SAFE = {"use_safetensors": True, "local_files_only": True}

# Both libraries draw bars on stderr, which is the operator's log.
diffusers_logging.disable_progress_bar()
transformers_logging.disable_progress_bar()


def load_model(kind: Any, folder: Path, dtype: Any) -> Any:
    """A model of the library diffusers, with all its tensors."""
    return complete(kind.from_pretrained(folder, dtype=dtype, **SAFE), folder)


def load_transformer(kind: Any, row: LtxWeights | WanWeights) -> Any:
    """The transformer of a row on its device, stored and computed as the row says."""
    dtype = torch_dtype(row.dtype)
    transformer = load_model(kind, row.folder / "transformer", dtype)
    if row.storage:
        transformer.enable_layerwise_casting(storage_dtype=torch_dtype(row.storage), compute_dtype=dtype)
    return transformer.to(row.devices[0])


def load_transformers_model(kind: Any, folder: Path, dtype: Any) -> Any:
    """A model of the library transformers, with all its tensors."""
    model, facts = kind.from_pretrained(folder, dtype=dtype, output_loading_info=True, **SAFE)
    return complete(model, folder, facts["missing_keys"])


def complete(model: Any, folder: Path, missing: Any = ()) -> Any:
    """The model, ready to run; raises `BadWeights` for absent tensors.

    The libraries go on with random values or none in their place, and only warn.
    """
    absent = sorted({*missing, *(name for name, value in model.named_parameters() if value.is_meta)})
    if absent:
        raise BadWeights(
            f"{folder.parent.name}/{folder.name} lacks {len(absent)} tensors, the first {absent[0]}. The folder is damaged "
            "or of another version: fetch it again."
        )
    return model.eval().requires_grad_(False)


def torch_dtype(name: str) -> Any:
    """The number type of torch with this name."""
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise BadWeights(f"{name!r} is not a number type of torch; try bfloat16.")
    return found


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
        self.max_tokens = max_tokens
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
        encoded = self._cached[prompt]
        return EncodedPrompt(encoded.embeds.to(self._device), encoded.mask.to(self._device), encoded.is_full)

    def _encode(self, prompt: str) -> EncodedPrompt:
        tokens = self._tokenizer(
            prompt, padding="max_length", max_length=self.max_tokens, truncation=True, return_tensors="pt"
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


class PictureRefused(ContentRefused):
    """The check refused the pictures of a clip."""

    def __str__(self) -> str:
        return (
            "The safety check refused the pictures of the finished clip. Nothing was charged; choose other words or "
            "another seed."
        )


class PictureCheck:
    """An image classifier, in any folder of a model that `AutoModelForImageClassification` knows."""

    def __init__(self, settings: SafetyCheck, folder: Path, device: str) -> None:
        self._threshold, self._device = settings.threshold, device
        self._model = load_transformers_model(AutoModelForImageClassification, folder, torch.float32).to(device)
        labels = {name.lower(): number for number, name in self._model.config.id2label.items()}
        # That the label is one of them was checked with the folder.
        self._label = labels[settings.label.lower()]

    def check(self, frames: Sequence[NDArray[np.uint8]] | NDArray[np.uint8]) -> None:
        """Raise `ContentRefused` if one of the frames, (height, width, 3) each, reaches the threshold."""
        # A score that is no number is no pass.
        if not self.highest_score(frames) < self._threshold:
            raise PictureRefused("")

    def highest_score(self, frames: Sequence[NDArray[np.uint8]] | NDArray[np.uint8]) -> float:
        """The probability of the label in the frame that has the most of it."""
        size = self._model.config.image_size
        sides = (size, size) if isinstance(size, int) else tuple(size)
        chosen = np.stack([frames[number] for number in spread(len(frames))])
        pixels = torch.from_numpy(chosen).to(self._device).permute(0, 3, 1, 2).float() / 127.5 - 1
        pixels = torch.nn.functional.interpolate(pixels, size=sides, mode="bilinear", antialias=True)
        with torch.inference_mode():
            scores: Any = self._model(pixel_values=pixels).logits.float().softmax(-1)[:, self._label]
        return float(scores.max())


def spread(count: int) -> list[int]:
    """The numbers of the frames that are checked: eight at most, the first and last among them."""
    number = min(CHECKED_FRAMES, count)
    return [round(index * (count - 1) / max(1, number - 1)) for index in range(number)]
