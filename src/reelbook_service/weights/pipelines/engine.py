"""The engine of real weights: loads models when they are needed, and runs one job at a time on one device."""

from __future__ import annotations

import gc
import importlib
import io
import os
import re
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from PIL import Image

from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.text_to_video import TextToVideo

from ...engines.canvas import frame_size
from ...engines.open_pictures import upright_size
from ...engines.protocol import EngineTask, Report
from ...prompt_check import ContentRefused
from ...worker import LOST_DEVICE
from ..config import BadWeights, LtxWeights, SafetyCheck, WanWeights
from ..folder import weights_identity
from .clip import sampled_frames
from .parts import PictureCheck

T = TypeVar("T")

_FAMILIES = {"ltx": (".ltx", "LtxModel"), "wan": (".wan", "WanModel")}
_CPU_OUT_OF_MEMORY = "can't allocate memory"
_TRIAL_PICTURE = "https://example.com/grey.png"


class WeightsEngine:
    """Runs the models of some rows. Models on the same folder share what is loaded."""

    name = "weights"
    version = "1"

    def __init__(self, rows: Mapping[str, LtxWeights | WanWeights], device: str, max_loaded: int = 1) -> None:
        self._rows = {endpoint: row.changed(devices=(device,)) for endpoint, row in rows.items()}
        self._device, self._max_loaded = device, max(1, max_loaded)
        self._kind = torch.device(device).type
        """Without its number: the process sees only this one, whatever its number is for others."""
        self._models: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._checks: dict[SafetyCheck, PictureCheck] = {}
        # Always the same thread, so that everything of the device is used from one.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="weights")
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
        return self._thread.submit(self._guarded, lambda: self._run(job, report), job).result()

    def load(self, endpoint_id: str, report: Report) -> None:
        """Load a model ahead of its first run."""
        self._thread.submit(self._guarded, lambda: self._model(endpoint_id, report)).result()

    def _run(self, job: EngineTask[Any], report: Report) -> dict[str, Any]:
        row = self._rows[job.input.endpoint_id]
        report.log(
            f"These are the weights {self.described(row.endpoint_id)} in {row.dtype} on {self._kind}, run on this "
            "machine. This is not the hosted model."
        )
        model = self._model(row.endpoint_id, report)
        model.row = row
        try:
            is_text = isinstance(job.input, TextToVideo)
            output: dict[str, Any] = (model.text_to_video if is_text else model.image_to_video)(job, report)
            self._check_pictures(row, job, report)
        finally:
            model.end_run()
        return output

    def _check_pictures(self, row: LtxWeights | WanWeights, job: EngineTask[Any], report: Report) -> None:
        if job.may_be_unchecked and not getattr(job.input, "enable_safety_checker", True):
            return
        if row.safety.folder is None:
            report.log("The safety check read the prompt only: no classifier of pictures is configured.")
            return
        check = self._picture_check(row, row.safety.folder)
        for path in job.folder.glob("*.mp4"):
            try:
                check.check(sampled_frames(path, report.check))
            except ContentRefused:
                path.unlink()
                raise

    def _picture_check(self, row: LtxWeights | WanWeights, folder: Path) -> Any:
        if row.safety not in self._checks:
            self._checks[row.safety] = PictureCheck(row.safety, folder, self._device)
        return self._checks[row.safety]

    def _model(self, endpoint_id: str, report: Report) -> Any:
        row = self._rows[endpoint_id]
        key = _key(row)
        if key not in self._models:
            while len(self._models) >= self._max_loaded:
                self._evict(next(iter(self._models)), report)
            began = time.perf_counter()
            report.progress("importing libraries", 0.0)
            module, name = _FAMILIES[row.family]
            kind = getattr(importlib.import_module(module, __package__), name)
            self._models[key] = kind(row, report)
            report.log(f"Loaded {row.folder.name} in {time.perf_counter() - began:.1f} s.")
        if row.safety.folder is not None:
            self._picture_check(row, row.safety.folder)  # A damaged one must not come to light after the first clip.
        self._models.move_to_end(key)
        return self._models[key]

    def _evict(self, key: tuple[Any, ...], report: Report) -> None:
        report.log(f"Unloaded {key[0].name}, to make place for another model.")
        self._models.pop(key).close()
        _free_memory()

    def _guarded(self, work: Callable[[], T], job: EngineTask[Any] | None = None) -> T:
        """The result of the work, with errors of the device as the errors of the protocol."""
        try:
            return work()
        except Exception as error:
            if isinstance(error, getattr(torch, "AcceleratorError", ())):
                sys.stderr.write(f"The device ({self._kind}) failed: {error}\n")
                sys.stderr.flush()
                os._exit(LOST_DEVICE)
            if not _is_out_of_memory(error):
                raise
        # Outside the except block: the traceback of the error holds the tensors that filled the memory.
        _free_memory()
        if job is None:
            facts = read_device(self._device)
            free = f"; without them {facts.free_gib:.1f} GiB are free" if facts.total_gib else ""
            raise BadWeights(
                f"The device ran out of memory while these weights were loaded{free}. "
                "`storage`, `text_encoder` and `downscale` in models.toml make them smaller: the guide to your own GPU has a table of cards."
            )
        raise MemoryError(f"The device ran out of memory at {_size_text(job)}. Make the clip smaller or shorter.")


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """A device as torch describes it; a CPU has no memory of its own."""

    name: str
    free_gib: float = 0.0
    total_gib: float = 0.0
    has_bfloat16: bool = True
    cuda: str = ""


def read_device(device: str) -> DeviceFacts:
    """The facts of a device; raises what torch raises where it is not there."""
    if device == "cpu":
        return DeviceFacts("cpu")
    free, total = torch.cuda.mem_get_info(device)
    properties = torch.cuda.get_device_properties(device)
    return DeviceFacts(properties.name, free / 2**30, total / 2**30, properties.major >= 8, str(torch.version.cuda))


def _key(row: LtxWeights | WanWeights) -> tuple[Any, ...]:
    """Rows with the same key share what is loaded."""
    return row.folder.resolve(), row.family, getattr(row, "upsampler", None), row.dtype, row.storage, row.text_encoder


def _is_out_of_memory(error: Exception) -> bool:
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and _CPU_OUT_OF_MEMORY in str(error)


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


@dataclass(frozen=True, slots=True)
class TrialClip:
    """What a short clip took."""

    load_seconds: float
    seconds: float
    step_seconds: float
    peak_gib: float


def make_trial_clip(row: LtxWeights | WanWeights, device: str, folder: Path) -> TrialClip:
    """Load the weights, make nine frames at 480p (or the shortest clip of a picture), and measure both."""
    engine = WeightsEngine({row.endpoint_id: row}, device)
    began = time.perf_counter()
    engine.load(row.endpoint_id, Report())
    loaded = time.perf_counter()
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats(device)
    stages: set[str] = set()
    engine(_trial_task(row, folder), Report(lambda message: stages.add(message.get("stage", ""))))
    steps = [stage for stage in stages if re.search(r"\b\d+ of \d+\b", stage)]
    seconds = time.perf_counter() - loaded
    peak = torch.cuda.max_memory_allocated(device) / 2**30 if device != "cpu" else 0.0
    return TrialClip(loaded - began, seconds, seconds / max(1, len(steps)), peak)


def _trial_task(row: LtxWeights | WanWeights, folder: Path) -> EngineTask[TextToVideo] | EngineTask[ImageToVideo]:
    if row.endpoint_id.endswith("image-to-video"):
        stored = io.BytesIO()
        Image.new("RGB", (640, 360), "grey").save(stored, "PNG")
        return EngineTask(
            ImageToVideo(prompt="slowly closer", image_url=_TRIAL_PICTURE),
            7,
            folder,
            {_TRIAL_PICTURE: stored.getvalue()},
        )
    clip = TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p", aspect_ratio="1:1", expand_prompt=False)
    return EngineTask(clip, 7, folder)
