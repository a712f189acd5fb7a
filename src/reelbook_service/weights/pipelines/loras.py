"""The LoRAs on one loaded transformer."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from reelbook.models.text_to_video import LoRA

from ..config import LoRAError, LtxWeights
from ..folder import find_lora


def use_loras(pipe: Any, row: LtxWeights, loras: Iterable[LoRA]) -> None:
    """Let exactly these LoRAs act on the transformer. If one cannot be used, it raises `LoRAError` and none is left."""
    _unload(pipe)
    scales: dict[Path, float] = {}
    for lora in loras:
        path = find_lora(row.loras, lora.path, lora.weight_name)
        scales[path] = scales.get(path, 0.0) + lora.scale  # A file that is named twice adds up.
    # Sorted: sums in another order differ in their last bits. One at scale 0 would still add a product with zero, which is
    # not zero where it overflowed.
    acting = {f"lora{number}": path for number, path in enumerate(sorted(scales)) if scales[path]}
    try:
        for name, path in acting.items():
            _load(pipe, row, name, path)
    except BaseException:
        _unload(pipe)
        raise
    if acting:
        pipe.set_adapters(list(acting), [scales[path] for path in acting.values()])


def _unload(pipe: Any) -> None:
    """Remove all LoRAs; the transformer is then bit for bit as it was before the first."""
    if getattr(pipe.transformer, "peft_config", None):
        pipe.unload_lora_weights()


def _load(pipe: Any, row: LtxWeights, name: str, path: Path) -> None:
    file = {"weight_name": path.name, "use_safetensors": True, "local_files_only": True}
    try:
        with safe_open(path, "pt") as tensors:
            count = len(tensors.keys())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Several adapters are meant.
            pipe.load_lora_weights(str(path.parent), adapter_name=name, **file)
    except SafetensorError:
        raise LoRAError(f"{path.name} is not a whole safetensors file. Copy it here again.") from None
    except (torch.OutOfMemoryError, torch.AcceleratorError):
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0][:160]
        raise LoRAError(f"{path.name} does not fit these weights: {reason}") from None
    values = {key: value for key, value in pipe.transformer.named_parameters() if f".{name}." in key}
    # The library only warns of tensors that match nothing, and fills up what is missing with noise.
    if len(values) != count:
        raise LoRAError(
            f"{path.name} does not fit these weights: it has {count} tensors, and there is a place for {len(values)} of "
            "them. Take a plain LoRA that was made for this model."
        )
    if row.storage:
        # The library has rounded the values to 8 bits where the weights are stored in them.
        tensors = pipe.lora_state_dict(str(path.parent), **file)
        for key, value in values.items():
            tensor = tensors[f"transformer.{key.replace(f'.{name}.', '.')}"]
            value.data = tensor.to(value.device, getattr(torch, row.dtype))
