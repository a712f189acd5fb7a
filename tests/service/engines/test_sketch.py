"""Clips that the sketch engine makes, as a player sees them."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import pytest

from reelbook.models.text_to_video import TextToVideo
from reelbook_service.engines.protocol import EngineTask, OutputFile, Report
from reelbook_service.engines.sketch import stage
from reelbook_service.engines.sketch.engine import sketch
from tests.heard import Heard
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


@pytest.mark.usefixtures("coarse")
def test_a_run_names_every_stage(tmp_path: Path) -> None:
    """Preparing, every frame and the encoding are reported in order."""
    heard = Heard()

    sketch(a_job(tmp_path), heard)

    stages = list(dict.fromkeys(item.stage for item in heard.progress_news))
    assert stages[0] == "preparing sky"
    assert [stage for stage in stages if stage.startswith("painting")] == [f"painting {n} of 9" for n in range(1, 10)]
    assert stages[-1] == "encoding"


def test_it_reports_often_enough_to_be_cancelled(tmp_path: Path) -> None:
    """No step between two reports takes a quarter of a second of this process's own time."""
    times = [time.thread_time()]
    job = a_job(tmp_path, "a village by a forest lake with mountains in the fog")

    sketch(job, Heard(lambda item: times.append(time.thread_time())))

    assert max(after - before for before, after in pairwise(times)) < 0.25


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("seed", [-1, 10**300])
def test_any_whole_number_is_a_seed(tmp_path: Path, seed: int) -> None:
    """The spec sets no bounds for seeds."""
    assert sketch(a_job(tmp_path, seed=seed), Report())["seed"] == seed


_LONGEST = """
import sys
from pathlib import Path
from reelbook.models.text_to_video import TextToVideo
from reelbook_service.engines.protocol import EngineTask, Report
from reelbook_service.engines.sketch.engine import sketch
from tests.support import peak_mib
request = TextToVideo(prompt="a harbour at sunset with ships", num_frames=1441)
sketch(EngineTask(request, 7, Path(sys.argv[1])), Report())
print(peak_mib())
"""


@pytest.mark.deep
def test_a_minute_of_film_stays_within_its_memory(tmp_path: Path) -> None:
    """The longest clip is never held as a whole: at most 300 MB are resident."""
    command = [sys.executable, "-c", _LONGEST, str(tmp_path)]

    printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[3]).stdout

    assert int(printed) <= 300
