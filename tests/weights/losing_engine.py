"""The engine of real weights, except that a prompt can lose its device: a fake for what no CPU can do."""

from __future__ import annotations

from typing import Any

import torch

from reelbook_service.engines.protocol import EngineTask, Report
from reelbook_service.weights.pipelines import engine

LOSES = "the device is lost"
"""A prompt with these words raises what torch raises when a GPU stops to answer."""


class WeightsEngine(engine.WeightsEngine):
    """Runs every other prompt as the real one does."""

    def _run(self, job: EngineTask[Any], report: Report) -> dict[str, Any]:
        if LOSES in job.input.prompt:
            raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")
        return super()._run(job, report)
