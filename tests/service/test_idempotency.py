"""Idempotency keys: the same request twice is one run and one charge."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from reelbook_service.accounts import NewAccount
from tests.support import Serve, Served, administer

STITCH = "svc/frames-api/images-to-video"


def test_the_same_key_and_body_is_one_run_even_twenty_times_at_once(shared: Served, dot: str) -> None:
    """All answers name the same request, and one reservation stands in the log."""
    served = shared.with_own_account()
    show = {"images": [dot], "fps": 8}

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: served.run(STITCH, show, **{"idempotency-key": "one"}).json(), range(20)))

    assert len({answer["requestId"] for answer in answers}) == 1
    assert [c["kind"] for c in served.charges()].count("reserve") == 1


def test_the_order_of_fields_does_not_make_another_body(shared: Served, dot: str) -> None:
    """The same JSON in another order is the same body."""
    served = shared.with_own_account()

    first = served.run(STITCH, {"images": [dot], "fps": 8}, **{"idempotency-key": "one"})
    second = served.run(STITCH, {"fps": 8, "images": [dot]}, **{"idempotency-key": "one"})

    assert first.json()["requestId"] == second.json()["requestId"]


def test_the_same_key_with_another_body_is_refused(shared: Served, dot: str) -> None:
    """422, with a sentence; nothing is charged for it."""
    served = shared.with_own_account()
    served.run(STITCH, {"images": [dot]}, **{"idempotency-key": "one"})

    refused = served.run(STITCH, {"images": [dot], "fps": 9}, **{"idempotency-key": "one"})

    assert refused.status_code == 422
    assert "Idempotency-Key" in refused.json()["detail"]
    assert [c["kind"] for c in served.charges()].count("reserve") == 1


def test_two_accounts_may_use_the_same_key(shared: Served, dot: str) -> None:
    """Keys belong to accounts; nobody meets another's request through one."""
    one, other = shared.with_own_account(), shared.with_own_account()

    first, second = (served.run(STITCH, {"images": [dot]}, **{"idempotency-key": "one"}) for served in (one, other))

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


def test_a_refused_submission_does_not_use_the_key_up(shared: Served, dot: str) -> None:
    """After a 402, the same key works once there is money."""
    accounts = shared.server.service.accounts
    accounts.open([NewAccount("poor", "key-of-poor", budget=10)])
    refused = shared.run(STITCH, {"images": [dot]}, "key-of-poor", **{"idempotency-key": "one"})
    administer(shared.server.service.settings.data, "topup", names=["poor"], credits=90)

    accepted = shared.run(STITCH, {"images": [dot]}, "key-of-poor", **{"idempotency-key": "one"})

    assert (refused.status_code, accepted.status_code) == (402, 200)
