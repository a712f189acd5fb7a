"""Workers: processes that die alone, are replaced, and end with their service."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from reelbook_service.queue import Request
from reelbook_service.workers import seed_of
from tests.support import STITCH, TEXT, Serve, Served

LONG = {"prompt": "a calm lake", "num_frames": 481, "resolution": "480p", "aspect_ratio": "1:1"}


def painting(served: Served, request_id: str, *, after: int = 0) -> int:
    """The pid of the worker, once it is well into the run; another one than `after`."""
    workers = served.server.service.workers

    def is_another(status: dict[str, Any]) -> bool:
        return "painting" in status["metrics"].get("stage", "") and workers.pids.get(request_id, 0) not in (0, after)

    served.status_once(is_another, TEXT, request_id)
    return workers.pids[request_id]


def test_a_worker_that_dies_is_replaced_and_its_run_starts_again_for_free(serve: Serve) -> None:
    """SIGKILL once: the run goes back into the queue, says so in its log, finishes, and is charged once.

    It keeps the seed that was drawn for it from the request's id, so that a second attempt makes the same clip.
    """
    served = serve(workers=1)
    request_id = served.submitted(TEXT, {**LONG, "num_frames": 97})

    os.kill(painting(served, request_id), signal.SIGKILL)
    final = served.finished(TEXT, request_id)
    seed = served.result(TEXT, request_id).json()["seed"]

    assert "error" not in final
    assert any("worker died" in entry["message"] for entry in final["logs"]["entries"])
    assert served.moves() == ["reserve", "settle"]
    assert seed == seed_of(Request(1, request_id, "default", TEXT, 53, 0.0), {})


def test_runs_one_after_another_take_one_worker(serve: Serve) -> None:
    """Starting a worker takes longer than a short run, so that a second one is started for runs at the same time only."""
    served = serve(workers=2)
    pids = set()
    for _ in range(2):
        request_id = served.submitted(TEXT, {**LONG, "num_frames": 49})
        pids.add(painting(served, request_id))
        served.finished(TEXT, request_id)
    both = [served.submitted(TEXT, LONG) for _ in range(2)]
    pids_of_both = {painting(served, request_id) for request_id in both}

    assert len(pids) == 1
    assert len(pids_of_both) == 2
    assert pids < pids_of_both


def test_a_module_in_the_current_folder_does_not_get_into_a_worker(
    serve: Serve, dot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook's folder may hold its own queue.py or random.py; workers do not import it."""
    for name in ("queue", "random", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a stranger')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    served = serve()

    assert served.done(STITCH, {"images": [dot]})["video"]["url"]
