"""One short clip with real weights, measured, for the check of an installation."""

from __future__ import annotations

import io
import re
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from PIL import Image

from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.text_to_video import TextToVideo

from ...engines.protocol import EngineTask, Progress
from ..config import LtxWeights, WanWeights
from .engine import WeightsEngine

PICTURE = "https://example.com/grey.png"
_STEP = re.compile(r"\b\d+ of \d+\b")


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
    for _ in engine.load(row.endpoint_id):
        pass
    loaded = time.perf_counter()
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats(device)
    steps = {
        update.stage
        for update in engine(_task(row, folder))
        if isinstance(update, Progress) and _STEP.search(update.stage)
    }
    seconds = time.perf_counter() - loaded
    peak = torch.cuda.max_memory_allocated(device) / 2**30 if device != "cpu" else 0.0
    return TrialClip(loaded - began, seconds, seconds / max(1, len(steps)), peak)


def _task(row: LtxWeights | WanWeights, folder: Path) -> EngineTask[TextToVideo] | EngineTask[ImageToVideo]:
    if row.endpoint_id.endswith("image-to-video"):
        stored = io.BytesIO()
        Image.new("RGB", (640, 360), "grey").save(stored, "PNG")
        return EngineTask(
            ImageToVideo(prompt="slowly closer", image_url=PICTURE), 7, folder, {PICTURE: stored.getvalue()}
        )
    clip = TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p", aspect_ratio="1:1", expand_prompt=False)
    return EngineTask(clip, 7, folder)
