"""The LoRAs on one loaded transformer."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from reelbook.models.text_to_video import LoRA

from ..config import LoRAError, LtxWeights
from ..lora_files import file_state, find_lora, read_lora
from .lora_tensors import Tensors, parse_lora


class Adapters:
    """The LoRAs that act on a pipeline's transformer. A set stays loaded until another one is asked for."""

    def __init__(self, row: LtxWeights, pipe: Any) -> None:
        self._row, self._pipe = row, pipe
        linear = {name: part for name, part in pipe.transformer.named_modules() if isinstance(part, torch.nn.Linear)}
        self._sizes = {name: (part.in_features, part.out_features) for name, part in linear.items()}
        self._loaded: set[str] = set()
        self._names: dict[tuple[Path, tuple[int, ...]], str] = {}
        """The adapters of files read before, as long as those do not change."""

    @property
    def loaded(self) -> frozenset[str]:
        """The names of the adapters that are loaded: hashes of their files."""
        return frozenset(self._loaded)

    def use(self, loras: Iterable[LoRA]) -> None:
        """Let exactly these LoRAs act. If one cannot be used, it raises `LoRAError` and none is left."""
        try:
            scales = self._load_set(loras)
        except BaseException:
            self.clear()
            raise
        # In the order of their names: sums in another order differ in their last bits, and the set may be an earlier one.
        acting = {name: scales[name] for name in sorted(scales) if scales[name]}
        # One at scale 0 would still add a product with zero, which is no zero where it overflowed.
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
        self._names.clear()

    def _load_set(self, loras: Iterable[LoRA]) -> dict[str, float]:
        """Load what is not loaded, and return the scale of each adapter; a file that is named twice adds up."""
        scales: dict[str, float] = {}
        fresh: dict[str, tuple[bytes, str]] = {}
        names: dict[tuple[Path, tuple[int, ...]], str] = {}
        for lora in loras:
            path = find_lora(self._row.loras.folders, lora.path, lora.weight_name)
            key = (path, file_state(path))
            name = names.get(key) or self._names.get(key)
            if name is None:
                data = read_lora(path, self._row.loras.most_mib)
                name = _adapter_name(data)
                fresh[name] = (data, path.name)
            names[key] = name
            scales[name] = scales.get(name, 0.0) + lora.scale
        if self._loaded != set(scales):
            self.clear()
            # Of a set that changed, files that were read for an earlier one are read again: only adapters stay in memory.
            for (path, _), name in names.items():
                if name not in fresh:
                    fresh[name] = (read_lora(path, self._row.loras.most_mib), path.name)
                    if _adapter_name(fresh[name][0]) != name:
                        raise LoRAError(f"{path.name} changed while it was read. Run it again.")
            for name in sorted(scales):
                self._load(name, *fresh[name])
        self._names = names
        return scales

    def _load(self, name: str, data: bytes, file: str) -> None:
        tensors = parse_lora(data, file)
        try:
            tensors = self._pipe.lora_state_dict(tensors)
            self._check_sizes(tensors, file)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Several adapters are meant.
                self._pipe.load_lora_weights(tensors, adapter_name=name)
        except (torch.OutOfMemoryError, torch.AcceleratorError):
            raise
        except Exception as error:
            reason = (str(error).splitlines() or [""])[0][:160]
            raise LoRAError(
                str(error) if isinstance(error, LoRAError) else f"{file} does not fit these weights: {reason}"
            ) from None
        self._loaded.add(name)
        # The library only warns of tensors that match nothing.
        if (arrived := self._set_values(name, tensors)) != len(tensors):
            raise LoRAError(
                f"{file} does not fit these weights: {len(tensors) - arrived} of its {len(tensors)} tensors found no place."
            )

    def _check_sizes(self, tensors: Tensors, file: str) -> None:
        """Raise unless each tensor belongs to a layer of the model that has its width."""
        for key, value in tensors.items():
            layer, _, side = key.removeprefix("transformer.").removesuffix(".weight").rpartition(".lora_")
            size = self._sizes.get(layer)
            if size is None:
                raise LoRAError(
                    f"{file} does not fit these weights: they have no layer {layer}. It was made for another model."
                )
            if value.shape[side == "A"] != size[side == "B"]:
                raise LoRAError(
                    f"{file} does not fit these weights: its layer {layer} has another width. It was made for another model."
                )

    def _set_values(self, name: str, tensors: Tensors) -> int:
        """How many tensors arrived. Beside weights stored in 8 bits, the library rounded them to 8 bits: set them again."""
        arrived = 0
        for key, parameter in self._pipe.transformer.named_parameters():
            plain = f"transformer.{key.replace(f'.{name}.', '.')}"
            if f".{name}." in key and plain in tensors:
                arrived += 1
                if self._row.storage:
                    parameter.data = tensors[plain].to(parameter.device, getattr(torch, self._row.dtype))
        return arrived


def _adapter_name(data: bytes) -> str:
    """A name that only these bytes have."""
    return f"l{hashlib.sha256(data).hexdigest()[:24]}"
