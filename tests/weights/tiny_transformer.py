"""The tiny transformer of LTX alone, and what it computes: enough to see whether LoRAs act."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from diffusers import FlowMatchEulerDiscreteScheduler, LTXConditionPipeline, LTXVideoTransformer3DModel

from reelbook_service.weights.config import LoRAFolders, LtxWeights
from reelbook_service.weights.pipelines.loras import Adapters
from tests.weights.tiny import LORAS, LTX


class TinyTransformer:
    """The transformer with its adapters, in one type of numbers and storage."""

    def __init__(self, weights: Path, *, storage: str = "", dtype: str = "float32") -> None:
        self._dtype = getattr(torch, dtype)
        self.model = LTXVideoTransformer3DModel.from_pretrained(
            weights / LTX / "transformer", torch_dtype=self._dtype, use_safetensors=True, local_files_only=True
        )
        if storage:
            self.model.enable_layerwise_casting(storage_dtype=getattr(torch, storage), compute_dtype=self._dtype)
        self.pipe = LTXConditionPipeline(
            scheduler=FlowMatchEulerDiscreteScheduler(),
            vae=None,
            text_encoder=None,
            tokenizer=None,
            transformer=self.model,
        )
        row = LtxWeights(endpoint_id="svc/text-to-video-13b-distilled", folder=weights / LTX, storage=storage, dtype=dtype,
            loras=LoRAFolders(folders=(weights / LORAS,)),
        )  # fmt: skip
        self.adapters = Adapters(row, self.pipe)

    def bits(self) -> bytes:
        """Every bit of what the transformer computes from fixed noise."""
        generator = torch.Generator().manual_seed(1)
        noise = torch.randn(1, 12, 16, generator=generator).to(self._dtype)
        words = torch.randn(1, 7, 32, generator=generator).to(self._dtype)
        time = torch.tensor([500.0]).to(self._dtype)
        with torch.inference_mode():
            result: Any = self.model(
                hidden_states=noise, encoder_hidden_states=words, timestep=time, num_frames=3, height=2, width=2,
                encoder_attention_mask=torch.ones(1, 7).to(self._dtype), return_dict=False,
            )[0]  # fmt: skip
        return result.float().numpy().tobytes()  # type: ignore[no-any-return]  # torch has no types here.
