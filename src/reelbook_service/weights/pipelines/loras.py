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


class Adapters:
    """The LoRAs that act on a pipeline's transformer. A set stays loaded until another one is asked for."""

    def __init__(self, row: LtxWeights, pipe: Any) -> None:
        self._row, self._pipe = row, pipe
        self.loaded: list[tuple[Path, int, int]] = []
        """The files that are loaded, with what changes when one is replaced."""

    def use(self, loras: Iterable[LoRA]) -> None:
        """Let exactly these LoRAs act. If one cannot be used, it raises `LoRAError` and none is left."""
        scales: dict[Path, float] = {}
        try:
            for lora in loras:
                path = find_lora(self._row.loras, lora.path, lora.weight_name)
                scales[path] = scales.get(path, 0.0) + lora.scale  # A file that is named twice adds up.
            # Sorted: sums in another order differ in their last bits.
            files = [(path, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(scales)]
            if files != self.loaded:
                self.clear()
                self.loaded = files
                for number, (path, _, _) in enumerate(files):
                    self._load(f"lora{number}", path)
        except BaseException:
            self.clear()
            raise
        acting = {f"lora{number}": scales[path] for number, (path, _, _) in enumerate(files) if scales[path]}
        # One at scale 0 would still add a product with zero, which is not zero where it overflowed.
        if acting:
            self._pipe.enable_lora()
            self._pipe.set_adapters(list(acting), list(acting.values()))
        elif files:
            self._pipe.disable_lora()

    def clear(self) -> None:
        """Remove all LoRAs; the transformer is then bit for bit as it was before the first."""
        if getattr(self._pipe.transformer, "peft_config", None):
            self._pipe.unload_lora_weights()
        self.loaded = []

    def _load(self, name: str, path: Path) -> None:
        file = {"weight_name": path.name, "use_safetensors": True, "local_files_only": True}
        try:
            with safe_open(path, "pt") as tensors:
                count = len(tensors.keys())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Several adapters are meant.
                self._pipe.load_lora_weights(str(path.parent), adapter_name=name, **file)
        except SafetensorError:
            raise LoRAError(f"{path.name} is not a whole safetensors file. Copy it here again.") from None
        except (torch.OutOfMemoryError, torch.AcceleratorError):
            raise
        except Exception as error:
            reason = (str(error).splitlines() or [""])[0][:160]
            raise LoRAError(f"{path.name} does not fit these weights: {reason}") from None
        values = {key: value for key, value in self._pipe.transformer.named_parameters() if f".{name}." in key}
        # The library only warns of tensors that match nothing, and fills up what is missing with noise.
        if len(values) != count:
            raise LoRAError(
                f"{path.name} does not fit these weights: it has {count} tensors, and there is a place for {len(values)} of "
                "them. Take a plain LoRA that was made for this model."
            )
        if self._row.storage:
            # The library has rounded the values to 8 bits where the weights are stored in them.
            tensors = self._pipe.lora_state_dict(str(path.parent), **file)
            for key, value in values.items():
                tensor = tensors[f"transformer.{key.replace(f'.{name}.', '.')}"]
                value.data = tensor.to(value.device, getattr(torch, self._row.dtype))
