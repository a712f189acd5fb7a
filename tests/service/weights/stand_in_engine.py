"""A stand-in for the engine of real weights, for tests of its lane without torch: slow, cancellable, and it can break."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from typing import Any

from reelbook_service.engines.protocol import EngineTask, OutputFile, Report
from reelbook_service.weights.config import BadWeights, LoRAError, LtxWeights


class WeightsEngine:
    """Behaves as its prompt says: `slow`, `deaf`, `lost`, `crash`, `too large`, or `held` as long as the file `hold-run` is there.

    `broken` in a folder's name fails to load.
    """

    name, version = "stand-in", "1"

    def __init__(self, rows: Mapping[str, LtxWeights], device: str) -> None:
        self._rows, self._device = rows, device
        self.loaded: tuple[str, ...] = ()

    def described(self, endpoint_id: str) -> str:
        """The name of the folder."""
        return f"stand-in {self._rows[endpoint_id].folder.name}"

    def load(self, endpoint_id: str, report: Report) -> None:
        """Take a moment for a folder that is not loaded, or as long as the file `hold` is in it."""
        folder = self._rows[endpoint_id].folder
        if str(folder) not in self.loaded:
            report.progress("loading the transformer", 0.5)
            while (folder / "hold").exists():
                report.progress("loading the transformer", 0.9)
                time.sleep(0.01)
            if "broken" in folder.name:
                raise BadWeights("vae lacks a tensor.")
            self.loaded = (str(folder),)
            report.log(f"Loaded {folder.name}")

    def __call__(self, job: EngineTask[Any], report: Report) -> dict[str, Any]:
        """Write a file that depends on input and seed alone."""
        prompt = job.input.prompt
        facts = {
            "pid": os.getpid(),
            "nice": os.nice(0),
            "environment": dict(os.environ),
        }
        report.log(json.dumps(facts))
        if getattr(job.input, "loras", ()):
            raise LoRAError("There is no LoRA of that name.")
        if "too large" in prompt:
            raise MemoryError("1280x720 with 121 frames needs more memory than the device has.")
        while "deaf" in prompt:
            time.sleep(0.01)
        for step in range(2_000 if "slow" in prompt else 2):
            report.progress("drawing", step / 2_000)
            time.sleep(0.01)
            if "lost" in prompt:
                os._exit(70)
            if "crash" in prompt:
                os._exit(1)
        while "held" in prompt and (self._rows[job.input.endpoint_id].folder / "hold-run").exists():
            report.progress("drawing", 0.5)
            time.sleep(0.01)
        path = job.folder / "clip.mp4"
        path.write_bytes(hashlib.sha256(f"{prompt}/{job.seed}".encode()).digest())
        facts = {"width": 64, "height": 64, "frames": 9, "frame_rate": 24.0}
        return {"seed": job.seed, "prompt": prompt, "video": OutputFile(path, "video/mp4", facts)}
