"""Runs of the engine on tiny weights, as a worker does them."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.text_to_video import TextToVideo
from reelbook_service.engines.protocol import Cancelled, EngineTask
from reelbook_service.weights.config import LoRAFolders, LtxWeights
from reelbook_service.weights.pipelines.engine import WeightsEngine
from tests.heard import Heard, Log, Progress
from tests.weights.tiny import LORAS, LTX, UPSAMPLER

TEXT, IMAGE = TextToVideo.endpoint_id, ImageToVideo.endpoint_id
PICTURE = "https://example.org/start.png"
CLOSE_DB = 45.0
"""The least PSNR between pictures that are the same but for the order of sums."""


class Small(TextToVideo):
    """The same input at sizes that a CPU makes in a moment."""

    @property
    def frame_size(self) -> tuple[int, int]:
        width, height = {"16:9": (96, 56), "9:16": (56, 96), "1:1": (64, 64)}[self.aspect_ratio]
        return (width, height) if self.resolution == "480p" else (width * 2, height * 2)


def small(**changes: Any) -> Small:
    """An input for a clip of 17 frames."""
    usual = {"prompt": "a paper boat on a rainy street", "num_frames": 17, "resolution": "480p"}
    return Small(**{**usual, **changes})


def ltx_row(weights: Path, endpoint: str = TEXT, **changes: Any) -> LtxWeights:
    """The tiny weights of LTX on the CPU."""
    row = LtxWeights(endpoint_id=endpoint, folder=weights / LTX, upsampler=weights / UPSAMPLER, devices=("cpu",), dtype="float32",
        loras=LoRAFolders(folders=(weights / LORAS,)),
    )  # fmt: skip
    return row.changed(**changes)


def picture(width: int = 96, height: int = 56) -> bytes:
    """A PNG of random pixels."""
    pixels = np.random.default_rng(3).integers(0, 255, (height, width, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def psnr(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    """The peak signal-to-noise ratio of two arrays of pictures in dB; infinite where they are equal."""
    error = np.square(one.astype(float) - other.astype(float)).mean()
    return float(10 * np.log10(255**2 / error)) if error else float("inf")


@dataclass
class Finished:
    """A finished run."""

    output: dict[str, Any]
    data: bytes
    news: list[Progress | Log]

    @property
    def log(self) -> str:
        """All log lines."""
        return "\n".join(item.message for item in self.news if isinstance(item, Log))

    @property
    def fractions(self) -> list[float]:
        """The reported progress."""
        return [item.fraction for item in self.news if isinstance(item, Progress)]

    def frames(self) -> list[np.ndarray[Any, Any]]:
        """The pictures of the clip."""
        with av.open(io.BytesIO(self.data), "r") as file:
            return [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]


def task(request: Any, folder: Path, seed: int = 7, source: bytes | None = None) -> EngineTask[Any]:
    """A task with the start picture, if the input has one."""
    return EngineTask(request, seed, folder, {PICTURE: source or picture()})


def run(engine: WeightsEngine, request: Any, seed: int = 7, source: bytes | None = None) -> Finished:
    """Run to the end."""
    with TemporaryDirectory() as folder:
        heard = Heard()
        output = engine(task(request, Path(folder), seed, source), heard)
        return Finished(output, (Path(folder) / "clip.mp4").read_bytes(), heard.news)


def cancel_at(engine: WeightsEngine, request: Any, is_there: Callable[[Progress], bool]) -> float:
    """Cancel at the first report of which this is true, and return the seconds until the engine has stopped."""
    with TemporaryDirectory() as folder:
        began: list[float] = []

        def starts_the_clock(item: Progress | Log) -> bool:
            if not began and isinstance(item, Progress) and is_there(item):
                began.append(time.monotonic())
            return bool(began)

        with pytest.raises(Cancelled):
            engine(task(request, Path(folder)), Heard(starts_the_clock))
        return time.monotonic() - began[0]


def model_of(engine: WeightsEngine) -> Any:
    """The model that is loaded."""
    return engine.model
