"""Loading of single parts of a pipeline: each with its own class, from a local folder, safetensors only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from diffusers.utils import logging as diffusers_logging
from transformers.utils import logging as transformers_logging

from ..config import BadWeights, LtxWeights, WanWeights

CHECKS_PER_STEP = 6
"""Places within a step at which a cancelled run ends: a step of a large clip takes seconds."""
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


def check_within_steps(blocks: Any, check: Any) -> None:
    """Call `check` at `CHECKS_PER_STEP` of a transformer's blocks, each time before the block runs."""
    for block in list(blocks)[:: max(1, len(blocks) // CHECKS_PER_STEP)]:
        block.register_forward_pre_hook(check)


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
