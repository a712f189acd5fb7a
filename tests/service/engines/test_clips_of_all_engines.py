"""What every engine does: the frames it promised at its rate, the same bytes each time, honest news, and an end when cancelled."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

from reelbook.models.base import Input
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.models.text_to_video import TextToVideo
from reelbook_service.engines import video_writer
from reelbook_service.engines.protocol import Cancelled, EngineTask, OutputFile, Report, engine_for
from reelbook_service.engines.sketch import stage
from tests.heard import Heard, Log
from tests.service.engines.moving import encoded, scenery
from tests.service.engines.playing import played, second_opinion
from tests.support import deep, png

SQUARE = {"resolution": "480p", "aspect_ratio": "1:1"}


def clip(folder: Path, request: Input) -> OutputFile:
    """The clip that a model's engine makes."""
    video = engine_for(request)(EngineTask(request, 7, folder, {"a": png(32, 16)}), Report())["video"]
    assert isinstance(video, OutputFile)
    return video


CLIPS: dict[str, tuple[Callable[..., Input], dict[str, Any], int, Fraction]] = {
    "the shortest sketch": (TextToVideo, {"prompt": "a boat", "num_frames": 9, **SQUARE}, 9, Fraction(24)),
    "the longest sketch": (TextToVideo, {"prompt": "a calm sea", "num_frames": 1441, **SQUARE}, 1441, Fraction(24)),
    "the slowest sketch": (TextToVideo, {"prompt": "a hill", "num_frames": 9, "frame_rate": 1, **SQUARE}, 9, Fraction(1)),
    "the fastest sketch": (TextToVideo, {"prompt": "a bird", "num_frames": 25, "frame_rate": 60, **SQUARE}, 25, Fraction(60)),
    "a move of five seconds": (ImageToVideo, {"prompt": "closer", "image_url": "a"}, 120, Fraction(24)),
    "a move of ten seconds": (ImageToVideo, {"prompt": "pan left", "image_url": "a", "duration": "10"}, 240, Fraction(24)),
    "a stitched film": (ImagesToVideo, {"images": [{"url": "a", "frames": 301}], "fps": 23.976}, 301, Fraction(24000, 1001)),
    "a film of television": (ImagesToVideo, {"images": [{"url": "a", "frames": 5}], "fps": 29.97}, 5, Fraction(30000, 1001)),
    "a film of another rate": (ImagesToVideo, {"images": [{"url": "a", "frames": 5}], "fps": 23.98}, 5, Fraction(1199, 50)),
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
    made = clip(tmp_path, request)
    path, playback = made.path, played(made.path)

    assert playback.messages == []
    assert (made.content_type, made.facts["frames"]) == ("video/mp4", frames)
    assert (made.facts["width"], made.facts["height"]) == playback.size
    assert len(playback.frames) == frames
    assert playback.rate == rate
    assert second_opinion(path) == (frames, "")
    with av.open(str(path)) as file:
        record = json.loads(file.metadata["comment"])
    assert (record["endpointId"], record["engine"]) == (request.endpoint_id, engine_for(request).name)
    assert record["input"].get("prompt") == fields.get("prompt")


@pytest.mark.parametrize(
    ("resolution", "aspect_ratio", "size"),
    [
        ("720p", "16:9", (1280, 720)),
        ("480p", "9:16", (480, 854)),
        *deep(("480p", "1:1", (480, 480)), ("720p", "9:16", (720, 1280)), ("720p", "1:1", (720, 720)), ("480p", "16:9", (854, 480))),
    ],
)  # fmt: skip
def test_a_sketch_has_the_size_asked_for(
    tmp_path: Path, resolution: str, aspect_ratio: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the pixel, whatever it shows."""
    monkeypatch.setattr(stage, "PAINTED", 120 * 120)
    request = TextToVideo.model_validate(
        {"prompt": "a boat", "num_frames": 9, "resolution": resolution, "aspect_ratio": aspect_ratio}
    )

    assert played(clip(tmp_path, request).path).size == size


SHOW = [{"url": address, "frames": frames} for address, frames in zip("abcab", (3, 1, 3, 2, 40), strict=True)]
RUNS: dict[str, tuple[Callable[..., Input], dict[str, Any], str]] = {
    "move": (ImageToVideo, {"prompt": "handheld orbit left, ripples, wind, snow, sunset", "image_url": "a"}, "not the hosted model"),
    "recompose": (SmartResize, {"image_url": "b", "target_sizes": ["90x160", "364x45"], "num_images_per_size": 2, "seed": 7}, "No language model"),
    "stitch": (ImagesToVideo, {"images": SHOW}, "stitch engine"),
    "sketch": (TextToVideo, {"prompt": "two birds over a village at dawn, snow, leaves", "num_frames": 9, **SQUARE}, "not the hosted model"),
}  # fmt: skip
"""A run of each engine, and what its log begins with."""


def run(name: str, folder: Path, report: Report) -> str:
    """The hash of all files of a run."""
    kind, fields, _ = RUNS[name]
    request, sizes = kind(**fields), ((48, 26), (160, 90), (96, 54))
    folder.mkdir(exist_ok=True)
    sources = {url: encoded(scenery(*size), "JPEG") for url, size in zip("abc", sizes, strict=True)}
    engine_for(request)(EngineTask(request, 7, folder, sources), report)
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.iterdir()))).hexdigest()


SCRIPT = """
import os, sys
from pathlib import Path
from reelbook_service.engines.protocol import Report
from tests.service.engines.test_clips_of_all_engines import RUNS, run
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
print(*(run(name, Path(sys.argv[1], name), Report()) for name in RUNS))
"""


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another process with one core, and here with one thread and with four."""
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    there = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])

    for threads in (1, 4):
        monkeypatch.setattr(video_writer, "AHEAD", threads)
        here = [run(name, tmp_path / f"{name}-{threads}", Report()) for name in RUNS]
        assert here == there.stdout.split()


@pytest.mark.parametrize("name", RUNS)
def test_news_say_who_works_and_never_go_back(tmp_path: Path, name: str) -> None:
    """First a line that says what this is, then steps from nothing to nearly all."""
    heard = Heard()

    run(name, tmp_path, heard)

    assert isinstance(heard.news[0], Log)
    assert RUNS[name][2] in heard.news[0].message
    fractions = [item.fraction for item in heard.progress_news]
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] < 0.1
    assert 0.8 < fractions[-1] <= 1


@pytest.mark.parametrize("steps", [1, 6, 14])
@pytest.mark.parametrize("name", RUNS)
def test_a_run_can_be_cancelled_at_every_step(tmp_path: Path, name: str, steps: int) -> None:
    """It ends at its next report, with all of its threads."""
    heard = Heard(lambda item: len(heard.news) == steps)

    with pytest.raises(Cancelled):
        run(name, tmp_path, heard)

    assert len(heard.news) == steps
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(name)]
