"""The parts that are loaded from folders, safetensors only: models, the text encoder, and the check of pictures."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers.utils import logging as diffusers_logging
from numpy.typing import NDArray
from transformers import AutoModelForImageClassification, T5EncoderModel, T5TokenizerFast
from transformers.utils import logging as transformers_logging

from ...prompt_check import ContentRefused
from ..config import BadWeights, LtxWeights, SafetyCheck, WanWeights

MAX_TOKENS = 256
"""Of a prompt, as LTX reads it."""
CACHED_PROMPTS = 64
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
    return getattr(torch, name)  # One of those that `models.toml` may name.


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


class PictureCheck:
    """An image classifier, which reads some pictures of each clip."""

    FRAMES = 8
    """Pictures of a clip that are read, the first and the last among them."""

    def __init__(self, settings: SafetyCheck, device: str) -> None:
        self._settings, self._device = settings, device
        self._model = load_transformers_model(AutoModelForImageClassification, settings.folder, torch.float32)
        self._model.to(device)
        self._labels, self._size = self._model.config.id2label, self._model.config.image_size

    def numbers(self, count: int) -> set[int]:
        """The numbers of the pictures that are read of a clip with so many of them."""
        return {round(number * (count - 1) / (self.FRAMES - 1)) for number in range(self.FRAMES)}

    def score(self, picture: NDArray[np.uint8]) -> float:
        """The probability of the label for a picture of red, green and blue."""
        pixels = torch.from_numpy(picture).to(self._device).permute(2, 0, 1)[None].float() / 127.5 - 1
        pixels = torch.nn.functional.interpolate(pixels, self._size, mode="bilinear", antialias=True)
        with torch.inference_mode():
            scores = self._model(pixel_values=pixels).logits[0].softmax(-1)
        return next(float(scores[number]) for number, label in self._labels.items() if label == self._settings.label)

    def check(self, picture: NDArray[np.uint8]) -> None:
        """Raise `ContentRefused` for a picture that reaches the threshold."""
        if not self.score(picture) < self._settings.threshold:  # A score that is no number is refused, too.
            raise ContentRefused(
                "The safety check refused the pictures of this clip. Nothing was charged; choose other words or another "
                "seed."
            )
