"""Cancelling: in the queue, at work, too late, and what was never there."""

from __future__ import annotations

import time

from tests.support import STITCH, TEXT, Serve, Served

LONG = {"prompt": "a calm lake", "num_frames": 481, "resolution": "480p", "aspect_ratio": "1:1"}


def cancel(served: Served, endpoint_id: str, request_id: str) -> tuple[int, object]:
    response = served.cancel(endpoint_id, request_id)
    return response.status_code, response.json()


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
