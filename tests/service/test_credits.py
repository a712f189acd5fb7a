"""Credits: reserved, settled, refunded, and never more than there are."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from reelbook.models.pricing import Rates
from tests.support import KEY, Serve, Served

STITCH = "svc/frames-api/images-to-video"
TEXT = "svc/text-to-video-13b-distilled"


def statement(served: Served, key: str | None = None) -> tuple[int, int, int]:
    told = served.get("/account", key).json()
    return told["credits_available"], told["credits_reserved"], told["credits_spent"]


def test_a_run_reserves_at_submission_and_settles_at_completion(shared: Served, dot: str) -> None:
    """The three sums of the account move with the run, and the charge log says the same."""
    served = shared.with_own_account()
    long = served.submitted(TEXT, {"prompt": "a lake", "num_frames": 1441, "resolution": "480p"})

    assert statement(served) == (1_000_000 - 53, 53, 0)
    request_id = served.submitted(STITCH, {"images": [dot]})
    served.http.put(f"/{TEXT}/requests/{long}/cancel", headers={"x-api-key": served.key})
    served.finished(STITCH, request_id)
    served.finished(TEXT, long)

    assert statement(served) == (1_000_000 - 53, 0, 53)
    assert sorted((c["request_id"], c["kind"], c["credits"]) for c in served.charges()) == sorted(
        [(long, "reserve", 53), (long, "refund", 53), (request_id, "reserve", 53), (request_id, "settle", 53)]
    )
    assert all(set(c) == {"at", "request_id", "account", "credits", "kind"} for c in served.charges())


def test_a_failed_run_costs_nothing(shared: Served) -> None:
    """A picture that cannot be read is refunded in full."""
    served = shared.with_own_account()
    request_id = served.submitted(STITCH, {"images": ["data:image/png;base64,AAAA"]})

    served.finished(STITCH, request_id)

    assert served.result(STITCH, request_id).status_code == 422
    assert statement(served) == (1_000_000, 0, 0)
    assert [c["kind"] for c in served.charges()] == ["reserve", "refund"]


@pytest.mark.parametrize(("asked", "paid"), [(24, 6), pytest.param(200, 50, marks=pytest.mark.deep)])
def test_of_many_submissions_at_once_exactly_those_with_money_are_accepted(
    shared: Served, dot: str, asked: int, paid: int
) -> None:
    """Concurrency never overdraws: a quarter is accepted, the rest refused with 402, and the sums hold at every step."""
    served = shared.with_own_account(paid * 53 + 52)
    body = {"endpointId": STITCH, "input": {"images": [{"url": dot, "frames": 1}]}}

    def submit(_: int) -> httpx.Response:
        return served.http.post("/models/run", json=body, headers={"x-api-key": served.key}, timeout=60)

    with ThreadPoolExecutor(32) as pool:
        responses = list(pool.map(submit, range(asked)))
    accepted = [r.json()["requestId"] for r in responses if r.status_code == 200]
    for request_id in accepted:
        served.finished(STITCH, request_id)

    assert Counter(r.status_code for r in responses) == {200: paid, 402: asked - paid}
    refusal = next(r.json() for r in responses if r.status_code == 402)
    assert refusal["needed"] == 53
    assert 0 <= refusal["available"] < 53 * (paid + 1)
    assert statement(served) == (52, 0, paid * 53)
    kinds = Counter(c["kind"] for c in served.charges())
    assert kinds == {"reserve": paid, "settle": paid}
    assert Counter(c["request_id"] for c in served.charges() if c["kind"] == "settle") == Counter(accepted)


def test_prices_follow_a_table_of_rates(serve: Serve, dot: str, tmp_path: Path) -> None:
    """With per-unit rates the service reserves what its estimate says, rounded up to a whole credit."""
    table = tmp_path / "rates.toml"
    table.write_text(f'["{STITCH}"]\nunit = "second"\nrate = "26.6000001"\n', encoding="utf-8")
    served = serve(workers=1, rates=Rates.read(table))
    show = {"images": [{"url": dot, "frames": 2}], "fps": 1}

    body = {"endpointId": STITCH, "input": show}
    told = served.http.post("/models/pricing/estimate", json=body, headers={"x-api-key": KEY}).json()
    answer = served.run(STITCH, show).json()

    assert told["credits"] == answer["credits"] == served.charges()[0]["credits"] == 54


@pytest.mark.parametrize(
    ("endpoint_id", "input", "credits"),
    [
        (TEXT, {"prompt": "x"}, 53),
        (TEXT, {"prompt": "x", "enable_detail_pass": True}, 106),
        ("svc/video-gen/v2.1/master/image-to-video", {"prompt": "x", "image_url": "https://example.org/a.png"}, 53),
        ("svc/smart-resize", {"image_url": "https://example.org/a.png", "target_sizes": ["100x100"] * 3}, 11),
        (STITCH, {"images": ["https://example.org/a.png"]}, 53),
    ],
)
def test_the_spec_s_prices(shared: Served, endpoint_id: str, input: dict[str, object], credits: int) -> None:
    """53, 106 with the detail pass, 53, 11, 53."""
    told = shared.http.post(
        "/models/pricing/estimate", json={"endpointId": endpoint_id, "input": input}, headers={"x-api-key": KEY}
    )

    assert told.json()["credits"] == credits
