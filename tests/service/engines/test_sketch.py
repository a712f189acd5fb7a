"""Clips that the sketch engine makes, as a player sees them."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import pytest

from reelbook.models.text_to_video import TextToVideo
from reelbook_service.engines import video_writer
from reelbook_service.engines.protocol import Cancelled, EngineTask, OutputFile
from reelbook_service.engines.sketch import stage
from reelbook_service.engines.sketch.engine import sketch
from tests.heard import Heard, Log, Progress
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


def finished(job: EngineTask[TextToVideo]) -> tuple[dict[str, Any], list[Progress | Log]]:
    """What the engine returned, and what it said on the way."""
    heard = Heard()
    return sketch(job, heard), heard.news


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
    output, _ = finished(job)

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
def test_a_run_says_what_it_is_and_names_every_stage(tmp_path: Path) -> None:
    """Nobody shall take a sketch for the hosted model's work; preparing, every frame and the encoding are reported in order."""
    _, (first, *news) = finished(a_job(tmp_path))

    assert isinstance(first, Log)
    assert "sketch engine" in first.message
    assert "not the hosted model" in first.message
    progress = [item for item in news if isinstance(item, Progress)]
    fractions = [item.fraction for item in progress]
    stages = list(dict.fromkeys(item.stage for item in progress))
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] < fractions[-1] <= 1
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
def test_a_cancelled_run_leaves_no_thread_behind(tmp_path: Path) -> None:
    """A run that is cancelled in the middle of the painting ends the painters too."""
    before, painters = set(threading.enumerate()), set[threading.Thread]()

    def is_far(item: Progress | Log) -> bool:
        painters.update(set(threading.enumerate()) - before)
        return isinstance(item, Progress) and item.stage == "painting 5 of 200"

    with pytest.raises(Cancelled):
        sketch(a_job(tmp_path, num_frames=200), Heard(is_far))

    assert painters
    # Those of other tests may have ended meanwhile.
    assert set(threading.enumerate()) <= before


_DIGEST = """
import hashlib, os, sys
from itertools import pairwise
from pathlib import Path
from reelbook.models.text_to_video import TextToVideo
from reelbook_service.engines.protocol import EngineTask, Report
from reelbook_service.engines.sketch.engine import sketch
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, set(list(os.sched_getaffinity(0))[: int(sys.argv[3])]))
task = EngineTask(TextToVideo.model_validate_json(sys.argv[2]), 7, Path(sys.argv[1]))
sketch(task, Report())
print(hashlib.sha256((task.folder / "clip.mp4").read_bytes()).hexdigest())
"""


@pytest.mark.usefixtures("coarse")
def test_the_same_run_gives_the_same_bytes_in_any_process_on_any_number_of_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process on a single core, and this one with one painter and with several, agree to the last bit."""
    asked = TextToVideo(prompt="two birds over a village at dawn, snow", **SMALL)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    script = f"from reelbook_service.engines.sketch import stage\nstage.PAINTED = {COARSE}\n{_DIGEST}"
    command = [sys.executable, "-c", script, str(elsewhere), asked.model_dump_json(), "1"]
    digests = {subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()}

    for painters in (2, 1):
        monkeypatch.setattr(video_writer, "AHEAD", painters)
        finished(EngineTask(asked, 7, tmp_path))
        digests.add(hashlib.sha256((tmp_path / "clip.mp4").read_bytes()).hexdigest())

    assert len(digests) == 1


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("seed", [-1, 10**300])
def test_any_whole_number_is_a_seed(tmp_path: Path, seed: int) -> None:
    """The spec sets no bounds for seeds."""
    output, _ = finished(a_job(tmp_path, seed=seed))

    assert output["seed"] == seed


@pytest.mark.deep
def test_a_minute_of_film_stays_within_its_memory(tmp_path: Path) -> None:
    """The longest clip is never held as a whole: at most 300 MB are resident."""
    script = _DIGEST + "sys.path.append(sys.argv[4])\nfrom tests.support import peak_mib\nprint(peak_mib())"
    asked = TextToVideo(prompt="a harbour at sunset with ships", num_frames=1441)
    command = [
        sys.executable,
        "-c",
        script,
        str(tmp_path),
        asked.model_dump_json(),
        "2",
        str(Path(__file__).parents[3]),
    ]

    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    assert int(told[1]) <= 300
