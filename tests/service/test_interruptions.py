"""Runs that are cancelled, whose worker dies, or whose service is killed: none is lost, and each is charged as it ended."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from reelbook_service.queue import Request
from reelbook_service.store import Store, open_transaction
from reelbook_service.workers import seed_of
from tests.support import KEY, STITCH, TEXT, Serve, Served, deep, read_charges

LONG = {"prompt": "a calm lake", "num_frames": 481, "resolution": "480p", "aspect_ratio": "1:1"}


def test_a_waiting_request_is_cancelled_at_once_and_refunded(serve: Serve, dot: str) -> None:
    """It leaves the queue, the ones behind it move up, and its credits come back."""
    served = serve(workers=1)
    running = served.submitted(TEXT, LONG)
    first, second = (served.submitted(STITCH, {"images": [dot]}) for _ in range(2))

    answer = served.cancel(STITCH, first)

    assert answer.json() == {"success": True, "status": "CANCELLED"}
    assert served.get(f"/{STITCH}/requests/{second}/status").json()["queue_position"] == 0
    assert served.moves(first) == ["reserve", "refund"]
    served.cancel(TEXT, running)


def test_a_running_request_stops_within_a_second_and_is_refunded(shared: Served) -> None:
    """The answer says that it was requested; the run ends cancelled, and its result is a 499."""
    served = shared.with_own_account()
    request_id = served.submitted(TEXT, LONG)
    served.until('"stage": "painting', TEXT, request_id)
    early = served.result(TEXT, request_id)

    began = time.monotonic()
    answer = served.cancel(TEXT, request_id)
    final = served.finished(TEXT, request_id)
    took = time.monotonic() - began

    assert answer.json() == {"success": True, "status": "CANCELLATION_REQUESTED"}
    assert final["error_type"] == "cancelled"
    late = served.result(TEXT, request_id)
    assert (early.status_code, early.json()["error_type"]) == (400, "not_ready")
    assert (late.status_code, late.json()["error_type"]) == (499, "cancelled")
    assert served.moves() == ["reserve", "refund"]
    assert served.get("/account").json()["credits_reserved"] == 0
    assert took < 3  # On a quiet machine a second at most.


def test_a_finished_request_cannot_be_cancelled_and_stays_paid(shared: Served, dot: str) -> None:
    """The second try says ALREADY_COMPLETED; nothing is refunded."""
    request_id = shared.submitted(STITCH, {"images": [dot]})
    shared.finished(STITCH, request_id)

    answer = shared.cancel(STITCH, request_id)

    assert answer.json() == {"success": False, "status": "ALREADY_COMPLETED"}
    assert shared.result(STITCH, request_id).status_code == 200
    assert shared.moves(request_id) == ["reserve", "settle"]


@pytest.mark.parametrize("count", [4, *deep((20,))])
def test_a_killed_service_finishes_queued_jobs_after_its_next_start_and_charges_each_once(
    tmp_path: Path, command: Callable[..., Any], serve: Serve, dot: str, count: int
) -> None:
    """SIGKILL with one job running and the others waiting; afterwards a result and a charge for each, no refund."""
    serving = command("--key", KEY)
    address = serving.until(r"Reelbook service at (\S+)")
    with httpx.Client(base_url=address, timeout=30, trust_env=False, headers={"x-api-key": KEY}) as http:

        def submitted(endpoint_id: str, input: object) -> str:
            return str(http.post("/models/run", json={"endpointId": endpoint_id, "input": input}).json()["requestId"])

        # The long one keeps the only worker busy, so that the others still wait when the service dies.
        jobs = [(TEXT, submitted(TEXT, {**LONG, "num_frames": 193}))]
        jobs += [(STITCH, submitted(STITCH, {"images": [dot], "fps": fps})) for fps in range(1, count)]
        waiting = http.get(f"/{STITCH}/requests/{jobs[-1][1]}/status").json()
        serving.ended_by(signal.SIGKILL)

    served = serve(data=tmp_path / "service", workers=1)
    finals = [served.finished(endpoint_id, request_id) for endpoint_id, request_id in jobs]
    outputs = [served.result(endpoint_id, request_id) for endpoint_id, request_id in jobs]

    assert waiting["queue_position"] == count - 2
    assert all("error" not in final for final in finals)
    assert all(output.status_code == 200 for output in outputs)
    kinds = Counter((c["request_id"], c["kind"]) for c in read_charges(tmp_path / "service"))
    assert kinds == Counter((request_id, kind) for _, request_id in jobs for kind in ("reserve", "settle"))


def test_a_request_that_was_being_cancelled_is_not_run_again(tmp_path: Path, serve: Serve) -> None:
    """The wish to cancel is as durable as the request: the next start refunds it instead of finishing it."""
    first = serve(data=tmp_path / "data", workers=1)
    request_id = first.submitted(TEXT, {"prompt": "a lake", "num_frames": 1441})
    first.server.stop()
    with open_transaction(tmp_path / "data") as db:
        db.execute("UPDATE requests SET cancelling = 1")

    final = serve(data=tmp_path / "data", workers=1).finished(TEXT, request_id)

    assert final["error_type"] == "cancelled"
    assert [c["kind"] for c in read_charges(tmp_path / "data")] == ["reserve", "refund"]


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


def test_a_caller_that_fails_undoes_only_its_own_work(tmp_path: Path) -> None:
    """Work of others in the same commit stays."""
    store = Store(tmp_path / "db")
    gate = threading.Event()
    store.submit(lambda db: gate.wait(5) and None)  # Keeps the thread busy, so that the next three share a commit.

    def insert(name: str, db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO service VALUES (?, '')", (name,))
        if name == "bad":
            raise ValueError("mine alone")

    first, second, third = (store.submit(partial(insert, name)) for name in ("a", "bad", "b"))
    gate.set()

    first.result(5)
    third.result(5)
    with pytest.raises(ValueError, match="mine alone"):
        second.result(5)
    names = store.submit(lambda db: [row["name"] for row in db.execute("SELECT name FROM service")]).result(5)
    store.close()
    assert names == ["a", "b"]
