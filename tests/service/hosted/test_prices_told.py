"""What the paid service says of prices never lifts the ceiling of a class: the catalog's price is the least that counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.faults.standin import StandIn
from tests.service.hosted.conftest import Open
from tests.support import Served, deep
from tests.transport.variants import Received, Reply

TEXT = "svc/text-to-video-13b-distilled"
PRICE, BUDGET = 53, 200


@dataclass(frozen=True)
class Story:
    """What the paid service says: in an estimate, in the answer to a run, and in the status of a finished one."""

    estimate: Any = None
    answer: Any = None
    finished: Any = None


class Teller(StandIn):
    """A stand-in that says these prices."""

    def __init__(self, story: Story, **more: Any) -> None:
        super().__init__(estimates=story.estimate is not None, **more)
        self.story = story
        self.ends_nothing = False
        """Whether runs stay in progress for now."""

    def _answer(self, at: str, name: str, received: Received) -> Reply:
        reply = super()._answer(at, name, received)
        if at == "estimate":
            return Reply(200, _body({"credits": self.story.estimate}))
        if at == "run" and self.story.answer is not None:
            return Reply(200, _body({**reply.body, "credits": self.story.answer}))
        if at == "status" and self.ends_nothing:
            return Reply(200, _body({**reply.body, "status": "IN_PROGRESS"}))
        if at == "status" and self.story.finished is not None and reply.body["status"] == "COMPLETED":
            return Reply(200, _body({**reply.body, "metrics": {"credits": self.story.finished}}))
        return reply


def _body(value: Any) -> bytes:
    return json.dumps(value).encode()  # Also NaN, which is no JSON, as some services write it.


@pytest.fixture
def tell() -> Iterator[Callable[[Story], Teller]]:
    with ExitStack() as stack:
        yield lambda story: stack.enter_context(Teller(story))


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
STORIES = [Story(), Story(0, 0, 0), Story(53, 53, 0), Story(0, 0, 53), Story(53, None, -53)]


def stories(values: Sequence[Any], first: Sequence[Story] = ()) -> list[list[Story]]:
    """Each value in each of the three places; those with the same estimate together, because it is asked for once."""
    by_estimate: dict[str, list[Story]] = {}
    for story in (*first, *(Story(**{name: value}) for name in ("estimate", "answer", "finished") for value in values)):
        by_estimate.setdefault(repr(story.estimate), []).append(story)
    return list(by_estimate.values())


@pytest.mark.parametrize("group", [*stories(TOLD, STORIES), *deep(*((group,) for group in stories(MORE)))])
def test_a_price_that_is_told_never_lifts_the_ceiling(
    tell: Callable[[Story], Teller], gateway: Open, group: list[Story]
) -> None:
    """Every run costs 53 at the service, whatever it says: 200 credits pay three."""
    service = tell(group[0])
    served = gateway(service.base_url)

    for number, story in enumerate(group, 1):
        service.story, mine = story, served.with_own_account(BUDGET)

        assert spend_all(mine, 6) == 3, story

        account = mine.get("/account").json()
        assert (account["credits_spent"], account["credits_available"]) == (159, 41), story
        assert len(service.charges) * PRICE == number * 159, story


@pytest.mark.parametrize(
    "story",
    [
        Story(None, None, 106),
        Story(None, 106, None),
        Story(53, 20, 106),
        *deep((Story(53, None, 106),), (Story(53, 106, 106),)),
    ],
)
def test_a_price_that_has_risen_counts_from_the_next_run_on(
    tell: Callable[[Story], Teller], gateway: Open, story: Story, tmp_path: Path
) -> None:
    """One run is dearer than what was reserved for it; after that its price is reserved, also after a restart."""
    service = tell(story)
    served = gateway(service.base_url, budget=600)

    assert spend_all(served, 3) == 3
    assert served.get("/account").json()["credits_spent"] == 53 + 2 * 106
    served.server.stop()

    again = gateway(service.base_url, budget=600)
    assert spend_all(again, 10) == 3
    # All that was charged there, but for the difference of the first run, was taken here: never more than the budget.
    assert len(service.charges) * 106 <= 600 + 53


def test_a_run_that_waits_is_not_sent_at_a_price_that_has_risen(tell: Callable[[Story], Teller], gateway: Open) -> None:
    """Accepted at 53, with the others; by its turn the price is 106, and nobody has agreed to that."""
    service = tell(Story(None, None, 106))
    served = gateway(service.base_url, budget=600, at_once=1)

    service.ends_nothing = True
    ids = [served.submitted(TEXT, {"prompt": "a", "num_frames": 9, "seed": seed}) for seed in range(5)]
    service.ends_nothing = False
    finals = [served.finished(TEXT, request_id) for request_id in ids]

    assert len(service.charges) == 1
    assert all("costs 106 credits by now" in final["error"] for final in finals[1:])
    assert served.get("/account").json()["credits_spent"] == 53
