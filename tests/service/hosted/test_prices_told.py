"""What the paid service says of prices never lifts the ceiling of a class: the catalog's price is the least that counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.faults.standin import Told
from tests.service.hosted.conftest import Open, Paid
from tests.support import TEXT, Served, deep

PRICE, BUDGET = 53, 200


def spend_all(served: Served, runs: int) -> int:
    """Ask for more runs than the budget pays, one after the other; returns how many were accepted."""
    accepted = 0
    for seed in range(runs):
        answer = served.run(TEXT, {"prompt": "a paper boat", "num_frames": 9, "seed": seed})
        if answer.status_code == 200:
            accepted += 1
            served.finished(TEXT, answer.json()["requestId"])
    return accepted


TOLD: tuple[Any, ...] = (0, -53, float("nan"), "free")
MORE: tuple[Any, ...] = (1, 52.5, float("inf"), [0], {})
STORIES = [Told(), Told(0, 0, 0), Told(53, 53, 0), Told(0, 0, 53), Told(53, ..., -53)]


def stories(values: Sequence[Any], first: Sequence[Told] = ()) -> list[list[Told]]:
    """Each value in each of the three places; those with the same estimate together, because it is asked for once."""
    by_estimate: dict[str, list[Told]] = {}
    for story in (*first, *(Told(**{name: value}) for name in ("estimate", "answer", "finished") for value in values)):
        by_estimate.setdefault(repr(story.estimate), []).append(story)
    return list(by_estimate.values())


@pytest.mark.parametrize("group", [*stories(TOLD, STORIES), *deep(*((group,) for group in stories(MORE)))])
def test_a_price_that_is_told_never_lifts_the_ceiling(paid: Paid, group: list[Told]) -> None:
    """Every run costs 53 at the service, whatever it says: 200 credits pay three."""
    service, served = paid(told=group[0], estimates=group[0].estimate is not ...)

    for number, story in enumerate(group, 1):
        service.told, mine = story, served.with_own_account(BUDGET)

        assert spend_all(mine, 6) == 3, story

        account = mine.get("/account").json()
        assert (account["credits_spent"], account["credits_available"]) == (159, 41), story
        assert len(service.charges) * PRICE == number * 159, story


@pytest.mark.parametrize(
    "story",
    [
        Told(finished=106),
        Told(answer=106),
        Told(53, 20, 106),
        *deep((Told(53, ..., 106),), (Told(53, 106, 106),)),
    ],
)
def test_a_price_that_has_risen_counts_from_the_next_run_on(paid: Paid, gateway: Open, story: Told) -> None:
    """One run is dearer than what was reserved for it; after that its price is reserved, also after a restart."""
    service, served = paid(told=story, estimates=story.estimate is not ..., settings={"budget": 600})

    assert spend_all(served, 3) == 3
    assert served.get("/account").json()["credits_spent"] == 53 + 2 * 106
    served.server.stop()

    again = gateway(service.base_url, budget=600)
    assert spend_all(again, 10) == 3
    # All that was charged there, but for the difference of the first run, was taken here: never more than the budget.
    assert len(service.charges) * 106 <= 600 + 53


def test_a_run_that_waits_is_not_sent_at_a_price_that_has_risen(paid: Paid) -> None:
    """Accepted at 53, with the others; by its turn the price is 106, and nobody has agreed to that."""
    service, served = paid(told=Told(finished=106), settings={"budget": 600, "at_once": 1})

    service.seconds = 60.0
    ids = [served.submitted(TEXT, {"prompt": "a", "num_frames": 9, "seed": seed}) for seed in range(5)]
    service.seconds = 0.0
    finals = [served.finished(TEXT, request_id) for request_id in ids]

    assert len(service.charges) == 1
    assert all("costs 106 credits by now" in final["error"] for final in finals[1:])
    assert served.get("/account").json()["credits_spent"] == 53
