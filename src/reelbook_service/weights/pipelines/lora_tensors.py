"""The tensors of a LoRA file, in one naming and at their true strength."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load

from ..config import LoRAError

Tensors = dict[str, Any]

_SIDES = {
    ".lora_A.weight": "A", ".lora_A.default.weight": "A", ".lora_down.weight": "A",
    ".lora_B.weight": "B", ".lora_B.default.weight": "B", ".lora_up.weight": "B",
}  # fmt: skip
_PREFIXES = ("transformer.", "diffusion_model.")


def parse_lora(data: bytes, name: str) -> Tensors:
    """The tensors of a LoRA, named `…lora_A.weight` and `…lora_B.weight`, with its alpha multiplied in.

    Only the bytes of a safetensors file are read; a pickle is refused by its first bytes.
    """
    try:
        state = dict(sorted(load(data).items()))  # They come in a random order.
    except SafetensorError:
        raise LoRAError(f"{name} is not a whole safetensors file. Copy it here again.") from None
    if not state:
        raise LoRAError(f"{name} is empty.")
    if any("dora_scale" in key or "magnitude_vector" in key for key in state):
        raise LoRAError(
            f"{name} is a DoRA. Its scales would be dropped without a word, so it is refused; use a plain LoRA."
        )
    scales = _alphas(state)
    layers: dict[tuple[str, str], Any] = {}
    for key, value in state.items():
        if key.endswith(".alpha"):
            continue
        suffix = next((suffix for suffix in _SIDES if key.endswith(suffix)), "")
        if not suffix or not key.startswith(_PREFIXES):
            raise LoRAError(f"{name} is not a LoRA of this kind of model: it has a tensor {key!r}.")
        if value.ndim != 2 or not value.is_floating_point() or not torch.isfinite(value.float()).all():
            raise LoRAError(f"{name} is damaged: the tensor {key!r} is not a matrix of finite numbers.")
        layers[key.removesuffix(suffix), _SIDES[suffix]] = value
    strength = _recorded_strength(data, name)
    tensors: Tensors = {}
    for layer in dict.fromkeys(layer for layer, _ in layers):
        down, up = layers.get((layer, "A")), layers.get((layer, "B"))
        if down is None or up is None or down.shape[0] != up.shape[1]:
            raise LoRAError(f"{name} is damaged: the two halves of its layer {layer} do not belong together.")
        factor = scales.pop(layer, None)
        factor = strength if factor is None else factor / down.shape[0]
        tensors[f"{layer}.lora_A.weight"] = down
        # The library takes the alpha to be the rank, and drops or refuses what says otherwise.
        tensors[f"{layer}.lora_B.weight"] = up if factor == 1 else (up.float() * factor).to(up.dtype)
    if scales:
        raise LoRAError(f"{name} is damaged: it has an alpha for {next(iter(scales))}, and no such layer.")
    return tensors


def _alphas(state: Mapping[str, Any]) -> dict[str, float]:
    return {
        key.removesuffix(".alpha"): float(value)
        for key, value in state.items()
        if key.endswith(".alpha") and value.numel() == 1
    }


def _recorded_strength(data: bytes, name: str) -> float:
    """Alpha by rank where the file's header records them, as the library writes them; otherwise 1."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    text = (header.get("__metadata__") or {}).get("lora_adapter_metadata")
    if text is None:
        return 1.0
    try:
        values = {key.rpartition(".")[2]: value for key, value in json.loads(text).items()}
        is_plain = not any(values.get(key) for key in ("alpha_pattern", "rank_pattern", "use_rslora", "use_dora"))
        strength = float(values.get("lora_alpha", 1)) / float(values.get("r", values.get("lora_alpha", 1)))
    except (ValueError, TypeError, AttributeError, ZeroDivisionError):
        is_plain, strength = False, 1.0
    if not is_plain:
        raise LoRAError(f"{name} records a kind of LoRA that is not known here; use a plain one.")
    return strength
