"""Accounts and credits: keys as hashes, runs reserved, settled and refunded, and the same request twice paid once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reelbook.models.catalog import read_rates
from reelbook_service.accounts import NewAccount
from reelbook_service.limits import BadAccounts
from tests.support import KEY, STITCH, TEXT, Serve, Served, administer

LONG = {"prompt": "a lake", "num_frames": 1441, "resolution": "480p"}


def statement(served: Served, key: str | None = None) -> tuple[int, int, int]:
    told = served.get("/account", key).json()
    return told["credits_available"], told["credits_reserved"], told["credits_spent"]


def test_a_run_reserves_at_submission_and_settles_at_completion(shared: Served, dot: str) -> None:
    """The three sums of the account move with the run, and the charge log says the same."""
    served = shared.with_own_account()
    long = served.submitted(TEXT, LONG)

    assert statement(served) == (1_000_000 - 53, 53, 0)
    request_id = served.submitted(STITCH, {"images": [dot]})
    served.cancel(TEXT, long)
    served.finished(STITCH, request_id)
    served.finished(TEXT, long)

    assert statement(served) == (1_000_000 - 53, 0, 53)
    assert sorted((c["request_id"], c["kind"], c["credits"]) for c in served.charges()) == sorted(
        [(long, "reserve", 53), (long, "refund", 53), (request_id, "reserve", 53), (request_id, "settle", 53)]
    )
    assert all(set(c) == {"at", "request_id", "account", "credits", "kind"} for c in served.charges())


def test_prices_follow_a_table_of_rates(serve: Serve, dot: str, tmp_path: Path) -> None:
    """With per-unit rates the service reserves what its estimate says, rounded up to a whole credit."""
    table = tmp_path / "rates.toml"
    table.write_text(f'["{STITCH}"]\nunit = "second"\nrate = "26.6000001"\n', encoding="utf-8")
    served = serve(workers=1, rates=read_rates(table))
    show = {"images": [{"url": dot, "frames": 2}], "fps": 1}

    body = {"endpointId": STITCH, "input": show}
    told = served.http.post("/models/pricing/estimate", json=body, headers={"x-api-key": KEY}).json()
    answer = served.run(STITCH, show).json()

    assert told["credits"] == answer["credits"] == served.charges()[0]["credits"] == 54


# --- Keys ---


def test_keys_are_kept_as_hashes_only_and_tell_who_calls(serve: Serve) -> None:
    """The key itself stands nowhere in the folder, two accounts never share one, and another start keeps the spending."""
    served = serve(accounts=[NewAccount("a", "very-secret-key", budget=100)])
    accounts, data = served.server.service.accounts, served.server.service.settings.data
    served.submitted(TEXT, LONG, "very-secret-key")

    with pytest.raises(BadAccounts, match="same key"):
        accounts.open([NewAccount("b", "very-secret-key")])
    accounts.open([NewAccount("a", "another-secret-key", budget=200)])

    assert statement(served, "another-secret-key") == (47, 53, 0)
    assert served.get("/account", "very-secret-key").status_code == 401
    written = b"".join(path.read_bytes() for path in data.iterdir() if path.is_file())
    assert b"very-secret-key" not in written
    assert b"another-secret-key" not in written


# --- Idempotency ---


def test_the_same_key_and_body_is_one_run_even_twenty_times_at_once(shared: Served, dot: str) -> None:
    """All answers name the same request, and one reservation stands in the log."""
    served = shared.with_own_account()
    show = {"images": [dot], "fps": 8}

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: served.run(STITCH, show, **{"idempotency-key": "one"}).json(), range(20)))

    assert len({answer["requestId"] for answer in answers}) == 1
    assert served.moves().count("reserve") == 1


def test_a_key_stands_for_one_body_of_one_account(shared: Served, dot: str) -> None:
    """In any order of fields; another body is refused with a sentence and costs nothing, and other accounts have their own."""
    served, other = shared.with_own_account(), shared.with_own_account()
    key = {"idempotency-key": "one"}

    first = served.run(STITCH, {"images": [dot], "fps": 8}, **key).json()["requestId"]
    second = served.run(STITCH, {"fps": 8, "images": [dot]}, **key).json()["requestId"]
    refused = served.run(STITCH, {"images": [dot], "fps": 9}, **key)

    assert first == second
    assert (refused.status_code, "Idempotency-Key" in refused.json()["detail"]) == (422, True)
    assert served.moves().count("reserve") == 1
    assert other.run(STITCH, {"images": [dot], "fps": 8}, **key).json()["requestId"] != first


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
