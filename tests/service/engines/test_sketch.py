"""Clips that the sketch engine makes, as a player sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import pytest

from reelbook.models.text_to_video import TextToVideo
from reelbook_service.engines.protocol import EngineTask, OutputFile, Report
from reelbook_service.engines.sketch import stage
from reelbook_service.engines.sketch.engine import sketch
from tests.support import deep

SMALL: dict[str, Any] = {"resolution": "480p", "aspect_ratio": "1:1", "num_frames": 9}
COARSE = 120 * 120


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames are painted with few pixels, for tests of all but the picture."""
    monkeypatch.setattr(stage, "PAINTED", COARSE)


def a_job(folder: Path, prompt: str = "a red boat on a lake", seed: int = 7, **fields: Any) -> EngineTask[TextToVideo]:
    folder.mkdir(parents=True, exist_ok=True)
    return EngineTask(TextToVideo(prompt=prompt, **{**SMALL, **fields}), seed, folder)


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize(
    ("resolution", "aspect_ratio", "size"),
    [
        ("720p", "16:9", (1280, 720)),
        ("480p", "9:16", (480, 854)),
        *deep(("480p", "1:1", (480, 480)), ("720p", "9:16", (720, 1280)), ("720p", "1:1", (720, 720)), ("480p", "16:9", (854, 480))),
    ],
)  # fmt: skip
def test_output_and_file_have_the_size_count_and_rate_asked_for(
    tmp_path: Path, resolution: str, aspect_ratio: str, size: tuple[int, int]
) -> None:
    """The output has what the model's output promises, and its facts are those of the file."""
    job = a_job(tmp_path, resolution=resolution, aspect_ratio=aspect_ratio, num_frames=10, frame_rate=17)
    output = sketch(job, Report())

    clip = output["video"]
    assert (output["seed"], output["prompt"]) == (7, "a red boat on a lake")
    assert isinstance(clip, OutputFile)
    assert (clip.path, clip.content_type) == (tmp_path / "clip.mp4", "video/mp4")
    assert clip.facts == {"width": size[0], "height": size[1], "frames": 10, "frame_rate": 17}
    with av.open(str(clip.path)) as film:
        stream = film.streams.video[0]
        assert (stream.width, stream.height) == size
        assert stream.average_rate == 17
        assert sum(1 for _ in film.decode(video=0)) == 10
