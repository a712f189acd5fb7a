"""The check of a finished clip by an image classifier."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForImageClassification

from reelbook.util.printable import format_line

from ...prompt_check import ContentRefused
from ..config import BadWeights
from .clip_file import spread


class PictureRefused(ContentRefused):
    """The check refused the pictures of a clip."""

    def __str__(self) -> str:
        return (
            "The safety check refused the pictures of the finished clip. Nothing was charged; choose other words or another "
            "seed and run it again."
        )


class PictureCheck:
    """An image classifier, in any folder of a model that `AutoModelForImageClassification` knows."""

    def __init__(self, folder: Path, label: str, threshold: float, device: str) -> None:
        self._threshold, self._device = threshold, device
        model, info = AutoModelForImageClassification.from_pretrained(
            folder, use_safetensors=True, local_files_only=True, output_loading_info=True
        )
        if missing := sorted(info["missing_keys"]):
            raise BadWeights(f"{folder.name} lacks {len(missing)} tensors, the first {missing[0]}. Fetch it again.")
        labels = {name.lower(): number for number, name in model.config.id2label.items()}
        if label.lower() not in labels:
            raise BadWeights(f"{folder.name} has no label {format_line(label)!r}. Its labels are: {', '.join(labels)}.")
        self._label = labels[label.lower()]
        self._model = model.eval().to(device)

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
