"""What every engine's clip must be: the frames it promised, at its rate, without a fault that any decoder sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

from reelbook.models.base import Input
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.text_to_video import TextToVideo
from reelbook_service.engines.protocol import EngineTask, OutputFile, Report, engine_for
from reelbook_service.engines.sketch import stage
from tests.service.engines.playing import played, second_opinion
from tests.support import png

SQUARE = {"resolution": "480p", "aspect_ratio": "1:1"}


def clip(folder: Path, request: Input) -> Path:
    """The clip that a model's engine makes."""
    video = engine_for(request)(EngineTask(request, 7, folder, {"a": png(32, 16)}), Report())["video"]
    assert isinstance(video, OutputFile)
    return video.path


CLIPS: dict[str, tuple[Callable[..., Input], dict[str, Any], int, Fraction]] = {
    "the shortest sketch": (TextToVideo, {"prompt": "a boat", "num_frames": 9, **SQUARE}, 9, Fraction(24)),
    "the longest sketch": (TextToVideo, {"prompt": "a calm sea", "num_frames": 1441, **SQUARE}, 1441, Fraction(24)),
    "the slowest sketch": (TextToVideo, {"prompt": "a hill", "num_frames": 9, "frame_rate": 1, **SQUARE}, 9, Fraction(1)),
    "the fastest sketch": (TextToVideo, {"prompt": "a bird", "num_frames": 25, "frame_rate": 60, **SQUARE}, 25, Fraction(60)),
    "a move of five seconds": (ImageToVideo, {"prompt": "closer", "image_url": "a"}, 120, Fraction(24)),
    "a move of ten seconds": (ImageToVideo, {"prompt": "pan left", "image_url": "a", "duration": "10"}, 240, Fraction(24)),
    "a stitched film": (ImagesToVideo, {"images": [{"url": "a", "frames": 301}], "fps": 23.976}, 301, Fraction(24000, 1001)),
    "the longest hold": (ImagesToVideo, {"images": [{"url": "a", "frames": 1441}], "fps": 23.976}, 1441, Fraction(24000, 1001)),
}  # fmt: skip
MORE = {"the longest sketch", "the longest hold", "a move of ten seconds", "the slowest sketch", "the fastest sketch"}
"""Long ones, and other rates of the same engine."""


@pytest.mark.parametrize(
    "name", [*sorted(CLIPS.keys() - MORE), *(pytest.param(name, marks=pytest.mark.deep) for name in sorted(MORE))]
)
def test_a_clip_has_exactly_its_frames_at_its_rate_and_two_decoders_agree(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted by a strict decode, and once more by Debian's ffmpeg, which says nothing; the file names engine and input."""
    kind, fields, frames, rate = CLIPS[name]
    monkeypatch.setattr(stage, "PAINTED", 120 * 120)  # What a sketch shows does not matter here.

    request = kind(**fields)
    path = clip(tmp_path, request)
    playback = played(path)

    assert playback.messages == []
    assert len(playback.frames) == frames
    assert playback.rate == rate
    assert second_opinion(path) == (frames, "")
    with av.open(str(path)) as file:
        record = json.loads(file.metadata["comment"])
    assert (record["endpointId"], record["engine"]) == (request.endpoint_id, engine_for(request).name)
    assert record["input"].get("prompt") == fields.get("prompt")
