"""Workers: processes that die alone, are replaced, and end with their service."""

from __future__ import annotations

import os
import signal
from typing import Any

from reelbook_service.queue import Request
from reelbook_service.workers import seed_of
from tests.support import TEXT, Serve, Served

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
