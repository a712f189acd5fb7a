"""The engine of real weights: loads models when they are needed, and runs one job at a time on one device."""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.text_to_video import TextToVideo

from ...engines.protocol import EngineTask, Report
from ...worker import LOST_DEVICE
from ..config import TEXT_TO_VIDEO, BadWeights, Weights
from ..folder import weights_identity

_TRIAL_PICTURE = "https://example.com/grey.png"


class WeightsEngine:
    """Runs the models of some rows. Models on the same folder share what is loaded."""

    name = "weights"
    version = "1"

    def __init__(self, rows: Mapping[str, Weights], device: str) -> None:
        self._rows = {endpoint: row.changed(devices=(device,)) for endpoint, row in rows.items()}
        self._kind = torch.device(device).type
        """Without its number: the process sees only this one, whatever its number is for others."""
        self.model: Any = None
        """What is loaded, with its `row`; another one takes its place."""
        torch.backends.cudnn.deterministic = True

    def described(self, endpoint_id: str) -> str:
        """The family and exact weights of a model: `ltx <folder>@<hash>`."""
        row = self._rows[endpoint_id]
        if self._is_loaded(row):  # Of what is loaded, and not of files that may have been replaced since.
            return f"{row.family} {self.model.version}"
        return f"{row.family} {row.folder.name}@{weights_identity(row)}"

    def __call__(self, job: EngineTask[Any], report: Report) -> dict[str, Any]:
        """Make a clip."""
        output: dict[str, Any] = self._guarded(lambda: self._run(job, report))
        return output

    def load(self, endpoint_id: str, report: Report) -> None:
        """Load a model ahead of its first run."""
        self._guarded(lambda: self._model(endpoint_id, report), is_loading=True)

    def _run(self, job: EngineTask[Any], report: Report) -> dict[str, Any]:
        row = self._rows[job.input.endpoint_id]
        report.log(
            f"These are the weights {self.described(row.endpoint_id)} in {row.dtype} on {self._kind}, run on this "
            "machine. This is not the hosted model."
        )
        model = self._model(row.endpoint_id, report)
        make = model.text_to_video if isinstance(job.input, TextToVideo) else model.image_to_video
        model.row, model.report = row, report
        return make(job)  # type: ignore[no-any-return]  # Either family.

    def _model(self, endpoint_id: str, report: Report) -> Any:
        row = self._rows[endpoint_id]
        if not self._is_loaded(row):
            if self.model is not None:
                report.log(f"Unloaded {self.model.row.folder.name}, to make place for another model.")
                self.model = None
                _free_memory()
            began = time.perf_counter()
            report.progress("importing libraries", 0.0)
            module = importlib.import_module(f".{row.family}", __package__)
            self.model = getattr(module, f"{row.family.title()}Model")(row, report)
            report.log(f"Loaded {row.folder.name} in {time.perf_counter() - began:.1f} s.")
        return self.model

    def _is_loaded(self, row: Weights) -> bool:
        return self.model is not None and _key(self.model.row) == _key(row)

    def _guarded(self, work: Callable[[], Any], *, is_loading: bool = False) -> Any:
        """The result of the work, with errors of the device as the errors of the protocol."""
        try:
            return work()
        except torch.AcceleratorError as error:
            sys.stderr.write(f"The device ({self._kind}) failed: {error}\n")
            sys.stderr.flush()
            os._exit(LOST_DEVICE)
        except (MemoryError, torch.OutOfMemoryError):
            pass
        # Outside the except block: the traceback of the error holds the tensors that filled the memory.
        _free_memory()
        if is_loading:
            raise BadWeights(
                "The device ran out of memory while these weights were loaded. `storage`, `text_encoder` and `downscale` in models.toml make them smaller: the guide to your own GPU has a table of cards."
            )
        raise MemoryError("The device ran out of memory. Make the clip smaller or shorter.")


def describe_device(device: str) -> tuple[bool, str]:
    """Whether a device computes with bfloat16, and what it is; raises what torch raises where it is not there."""
    free, total = (size / 2**30 for size in torch.cuda.mem_get_info(device))
    card = torch.cuda.get_device_properties(device)
    return card.major >= 8, f"{card.name}, {free:.1f} of {total:.1f} GiB free, CUDA {torch.version.cuda}"


def _key(row: Weights) -> tuple[Any, ...]:
    """Rows with the same key share what is loaded."""
    folders = row.folder.resolve(), getattr(row, "upsampler", None), row.safety
    return *folders, row.family, row.dtype, row.storage, row.text_encoder


def _free_memory() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def make_trial_clip(row: Weights, device: str, folder: Path) -> str:
    """Load the weights and make nine frames at 480p, or the shortest clip of a picture; what both took, in words."""
    engine = WeightsEngine({row.endpoint_id: row}, device)
    began = time.perf_counter()
    engine.load(row.endpoint_id, Report())
    loaded = time.perf_counter()
    if row.endpoint_id == TEXT_TO_VIDEO:
        what, usual = "nine frames at 480p", {"num_frames": 9, "resolution": "480p", "aspect_ratio": "1:1"}
        request: Any = TextToVideo.model_validate({"prompt": "a paper boat", **usual})
    else:
        what, request = "five seconds", ImageToVideo(prompt="slowly closer", image_url=_TRIAL_PICTURE)
    stored = io.BytesIO()
    Image.new("RGB", (640, 360), "grey").save(stored, "PNG")
    engine(EngineTask(request, 7, folder, {_TRIAL_PICTURE: stored.getvalue()}), Report())
    peak = f", at most {torch.cuda.max_memory_allocated(device) / 2**30:.1f} GiB" if device != "cpu" else ""
    return f"{what} in {time.perf_counter() - loaded:.1f} s after {loaded - began:.1f} s of loading{peak}"
