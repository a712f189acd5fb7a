"""The engine of real weights: loads models when they are needed, and runs one job at a time on one device."""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from PIL import Image

from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.text_to_video import TextToVideo

from ...engines.open_pictures import frame_size, upright_size
from ...engines.protocol import EngineTask, Report
from ...worker import LOST_DEVICE
from ..config import TEXT_TO_VIDEO, BadWeights, Weights
from ..folder import weights_identity

T = TypeVar("T")

_TRIAL_PICTURE = "https://example.com/grey.png"


class WeightsEngine:
    """Runs the models of some rows. Models on the same folder share what is loaded."""

    name = "weights"
    version = "1"

    def __init__(self, rows: Mapping[str, Weights], device: str, max_loaded: int = 1) -> None:
        self._rows = {endpoint: row.changed(devices=(device,)) for endpoint, row in rows.items()}
        self._device, self._max_loaded = device, max(1, max_loaded)
        self._kind = torch.device(device).type
        """Without its number: the process sees only this one, whatever its number is for others."""
        self._models: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        torch.backends.cudnn.deterministic = True

    @property
    def loaded(self) -> tuple[str, ...]:
        """The folders that are loaded, the one used last at the end."""
        return tuple(str(key[0]) for key in self._models)

    def described(self, endpoint_id: str) -> str:
        """The family and exact weights of a model: `ltx <folder>@<hash>`."""
        row = self._rows[endpoint_id]
        model = self._models.get(_key(row))
        # Of what is loaded, and not of files that may have been replaced since.
        version = f"{row.folder.name}@{weights_identity(row)}" if model is None else model.version
        return f"{row.family} {version}"

    def __call__(self, job: EngineTask[Any], report: Report) -> dict[str, Any]:
        """Make a clip."""
        return self._guarded(lambda: self._run(job, report), job)

    def load(self, endpoint_id: str, report: Report) -> None:
        """Load a model ahead of its first run."""
        self._guarded(lambda: self._model(endpoint_id, report))

    def _run(self, job: EngineTask[Any], report: Report) -> dict[str, Any]:
        row = self._rows[job.input.endpoint_id]
        report.log(
            f"These are the weights {self.described(row.endpoint_id)} in {row.dtype} on {self._kind}, run on this "
            "machine. This is not the hosted model."
        )
        model = self._model(row.endpoint_id, report)
        make = model.text_to_video if isinstance(job.input, TextToVideo) else model.image_to_video
        model.row, model.report = row, report
        try:
            return make(job, report)  # type: ignore[no-any-return]  # Either family.
        finally:
            model.report = None

    def _model(self, endpoint_id: str, report: Report) -> Any:
        row = self._rows[endpoint_id]
        key = _key(row)
        if key not in self._models:
            while len(self._models) >= self._max_loaded:
                self._evict(report)
            began = time.perf_counter()
            report.progress("importing libraries", 0.0)
            module = importlib.import_module(f".{row.family}", __package__)
            self._models[key] = getattr(module, f"{row.family.title()}Model")(row, report)
            report.log(f"Loaded {row.folder.name} in {time.perf_counter() - began:.1f} s.")
        self._models.move_to_end(key)
        return self._models[key]

    def _evict(self, report: Report) -> None:
        key = next(iter(self._models))
        report.log(f"Unloaded {key[0].name}, to make place for another model.")
        del self._models[key]
        _free_memory()

    def _guarded(self, work: Callable[[], T], job: EngineTask[Any] | None = None) -> T:
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
        if job is None:
            raise BadWeights(
                "The device ran out of memory while these weights were loaded. `storage`, `text_encoder` and `downscale` in models.toml make them smaller: the guide to your own GPU has a table of cards."
            )
        raise MemoryError(f"The device ran out of memory at {_size_text(job)}. Make the clip smaller or shorter.")


def describe_device(device: str) -> tuple[bool, str]:
    """Whether a device computes with bfloat16, and what it is; raises what torch raises where it is not there."""
    free, total = (size / 2**30 for size in torch.cuda.mem_get_info(device))
    card = torch.cuda.get_device_properties(device)
    return card.major >= 8, f"{card.name}, {free:.1f} of {total:.1f} GiB free, CUDA {torch.version.cuda}"


def _key(row: Weights) -> tuple[Any, ...]:
    """Rows with the same key share what is loaded."""
    folders = row.folder.resolve(), getattr(row, "upsampler", None), row.safety
    return *folders, row.family, row.dtype, row.storage, row.text_encoder


def _size_text(job: EngineTask[Any]) -> str:
    if isinstance(job.input, TextToVideo):
        (width, height), frames = job.input.frame_size, job.input.num_frames
    else:
        source = job.input.image_url
        width, height = frame_size(*upright_size(source, job.sources[source]))
        frames = 24 * int(job.input.duration)
    return f"{width}×{height} with {frames} frames"


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
