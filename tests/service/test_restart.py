"""A service that is killed loses nothing: what it had accepted is finished by the next one, and charged once."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from reelbook_service.store import open_transaction
from tests.support import KEY, STITCH, TEXT, Serve, deep, read_charges

BUSY = {"prompt": "a calm sea", "resolution": "480p", "aspect_ratio": "1:1"}
"""What keeps a worker busy for a while, and has to be made anew by the next service."""


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
        jobs = [(TEXT, submitted(TEXT, {**BUSY, "num_frames": 193}))]
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
