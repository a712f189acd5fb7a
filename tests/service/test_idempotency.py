"""Idempotency keys: the same request twice is one run and one charge."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from reelbook.service.accounts import NewAccount
from tests.support import KEY, Serve

STITCH = "svc/frames-api/images-to-video"


def test_the_same_key_and_body_is_one_run_even_twenty_times_at_once(serve: Serve, dot: str) -> None:
    """All answers name the same request, and one reservation stands in the log."""
    served = serve()
    show = {"images": [dot], "fps": 8}

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: served.run(STITCH, show, **{"idempotency-key": "one"}).json(), range(20)))

    assert len({answer["requestId"] for answer in answers}) == 1
    assert [c["kind"] for c in served.charges()].count("reserve") == 1


def test_the_order_of_fields_does_not_make_another_body(serve: Serve, dot: str) -> None:
    """The same JSON in another order is the same body."""
    served = serve()

    first = served.run(STITCH, {"images": [dot], "fps": 8}, **{"idempotency-key": "one"})
    second = served.run(STITCH, {"fps": 8, "images": [dot]}, **{"idempotency-key": "one"})

    assert first.json()["requestId"] == second.json()["requestId"]


def test_the_same_key_with_another_body_is_refused(serve: Serve, dot: str) -> None:
    """422, with a sentence; nothing is charged for it."""
    served = serve()
    served.run(STITCH, {"images": [dot]}, **{"idempotency-key": "one"})

    refused = served.run(STITCH, {"images": [dot], "fps": 9}, **{"idempotency-key": "one"})

    assert refused.status_code == 422
    assert "Idempotency-Key" in refused.json()["detail"]
    assert [c["kind"] for c in served.charges()].count("reserve") == 1


def test_two_accounts_may_use_the_same_key(serve: Serve, dot: str) -> None:
    """Keys belong to accounts; nobody meets another's request through one."""
    served = serve(accounts=[NewAccount("a", "key-a"), NewAccount("b", "key-b")])

    first, second = (
        served.run(STITCH, {"images": [dot]}, key, **{"idempotency-key": "one"}) for key in ("key-a", "key-b")
    )

    assert first.json()["requestId"] != second.json()["requestId"]


def test_a_key_lives_for_24_hours_by_a_moved_clock(serve: Serve, dot: str) -> None:
    """Just before it is the same run, just after a new one. The clock is a fake: nobody waits a day."""
    now = [1_000_000.0]
    served = serve(clock=lambda: now[0])

    def submitted() -> str:
        return str(served.run(STITCH, {"images": [dot]}, **{"idempotency-key": "one"}).json()["requestId"])

    first = submitted()
    now[0] += 24 * 3600 - 1
    same = submitted()
    now[0] += 2
    other = submitted()

    assert same == first
    assert other != first


def test_a_refused_submission_does_not_use_the_key_up(serve: Serve, dot: str) -> None:
    """After a 402, the same key works once there is money."""
    served = serve(accounts=[NewAccount("poor", KEY, budget=10)])
    refused = served.run(STITCH, {"images": [dot]}, **{"idempotency-key": "one"})
    served.server.service.accounts.open([NewAccount("poor", KEY, budget=100)])

    accepted = served.run(STITCH, {"images": [dot]}, **{"idempotency-key": "one"})

    assert (refused.status_code, accepted.status_code) == (402, 200)
