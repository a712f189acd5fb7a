"""The LoRAs on one loaded transformer."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from reelbook.models.text_to_video import LoRA

from ..config import BadWeights, LoRAError, LtxWeights
from ..folder import find_lora, read_header


class Adapters:
    """The LoRAs that act on a pipeline's transformer. A set stays loaded until another one is asked for."""

    def __init__(self, row: LtxWeights, pipe: Any) -> None:
        self._row, self._pipe = row, pipe
        self._loaded: set[str] = set()

    @property
    def loaded(self) -> frozenset[str]:
        """The names of the adapters that are loaded."""
        return frozenset(self._loaded)

    def use(self, loras: Iterable[LoRA]) -> None:
        """Let exactly these LoRAs act. If one cannot be used, it raises `LoRAError` and none is left."""
        scales: dict[str, float] = {}
        paths: dict[str, Path] = {}
        try:
            for lora in loras:
                path = find_lora(self._row.loras, lora.path, lora.weight_name)
                name = _adapter_name(path)
                paths[name] = path
                scales[name] = scales.get(name, 0.0) + lora.scale  # A file that is named twice adds up.
            if self._loaded != set(scales):
                self.clear()
                for name in sorted(scales):
                    self._load(name, paths[name])
        except BaseException:
            self.clear()
            raise
        # In the order of their names: sums in another order differ in their last bits, and the set may be an earlier one.
        acting = {name: scales[name] for name in sorted(scales) if scales[name]}
        # One at scale 0 would still add a product with zero, which is not zero where it overflowed.
        if acting:
            self._pipe.enable_lora()
            self._pipe.set_adapters(list(acting), list(acting.values()))
        elif self._loaded:
            self._pipe.disable_lora()

    def clear(self) -> None:
        """Remove all LoRAs; the transformer is then bit for bit as it was before the first."""
        if self._loaded or getattr(self._pipe.transformer, "peft_config", None):
            self._pipe.unload_lora_weights()
        self._loaded.clear()

    def _load(self, name: str, path: Path) -> None:
        file = {"weight_name": path.name, "use_safetensors": True, "local_files_only": True}
        try:
            count = len(read_header(path))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Several adapters are meant.
                self._pipe.load_lora_weights(str(path.parent), adapter_name=name, **file)
        except BadWeights:
            raise LoRAError(f"{path.name} is not a whole safetensors file. Copy it here again.") from None
        except (torch.OutOfMemoryError, torch.AcceleratorError):
            raise
        except Exception as error:
            reason = (str(error).splitlines() or [""])[0][:160]
            raise LoRAError(f"{path.name} does not fit these weights: {reason}") from None
        self._loaded.add(name)
        values = {key: value for key, value in self._pipe.transformer.named_parameters() if f".{name}." in key}
        # The library only warns of tensors that match nothing, and fills up what is missing with noise.
        if len(values) != count:
            raise LoRAError(
                f"{path.name} does not fit these weights: it has {count} tensors, and there is a place for {len(values)} of "
                "them. Take a plain LoRA that was made for this model."
            )
        if self._row.storage:
            self._restore(name, values, self._pipe.lora_state_dict(str(path.parent), **file))

    def _restore(self, name: str, values: dict[str, Any], tensors: dict[str, Any]) -> None:
        """Set the values again: where weights are stored in 8 bits, the library has rounded them to 8 bits."""
        for key, value in values.items():
            tensor = tensors[f"transformer.{key.replace(f'.{name}.', '.')}"]
            value.data = tensor.to(value.device, getattr(torch, self._row.dtype))


def _adapter_name(path: Path) -> str:
    """A name of this file, as long as it does not change."""
    facts = path.stat()
    return f"l{hashlib.sha256(f'{path}/{facts.st_size}/{facts.st_mtime_ns}'.encode()).hexdigest()[:24]}"
