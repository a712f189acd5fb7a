"""Following runs: few calls, ends noticed soon, and nothing a service does loses one.

It happens on a moved clock, against a pretended service, because nobody waits ten minutes for a test.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from itertools import pairwise
from typing import Any

import pytest

from reelbook.errors import (
    Forbidden,
    NotFound,
    ReelbookError,
    Refused,
    ServiceBroken,
    ServiceError,
    TooManyRequests,
    Unauthorized,
)
from reelbook.errors import Unreachable as NobodyThere
from reelbook.models.queue_status import QueueStatus
from reelbook.transport.poller import Poller
from tests.support import deep
from tests.transport.pretend import MODEL, Pretended, clock, followed, moved

GONE = NobodyThere("http://127.0.0.1:9", "the connection was refused")


def nothing(status: QueueStatus) -> None:
    """What to tell, for those who do not listen."""


def broken(kind: type = ServiceBroken, **facts: Any) -> Any:
    return kind("no", status=500, facts=facts)


@pytest.fixture(autouse=True)
def _same_luck() -> None:
    """Following draws lots, so that runs do not all act alike; the tests draw the same ones each time."""
    random.seed(0)


# Few calls, and ends noticed soon.


@pytest.mark.parametrize(
    ("runs", "seed"), [(64, 0), (128, 1), *deep((64, 1), (64, 2), (64, 3), (128, 0), (128, 2), (128, 3))]
)
def test_runs_of_two_seconds_need_about_four_calls_each_and_are_noticed_at_once(runs: int, seed: int) -> None:
    """In one batch and in a steady stream, with nothing known before, from a service that shows the specification only."""
    random.seed(seed)

    went = moved(followed(Pretended(), [2.0] * runs))

    assert went.calls_each <= 4.6
    assert went.median_late <= 0.2


@pytest.mark.parametrize("before", [0.5, 10.0])
def test_what_the_library_knows_is_not_believed_for_long(before: float) -> None:
    """A model that has become quicker or slower since is found out by a few runs, and the others profit."""
    random.seed(0)

    went = moved(followed(Pretended(), [2.0] * 64, past=[before] * 20))

    assert went.median_late <= 5
    assert went.calls_each <= 5.5


@pytest.mark.parametrize(
    ("seconds", "most"), [(0.05, 3), (0.2, 5), (1.0, 15), (2.0, 22), (7.0, 35), (30.0, 50), (100.0, 64), (600.0, 100)]
)
def test_one_run_of_any_duration_is_noticed_within_a_tenth_of_it(seconds: float, most: int) -> None:
    """From quick jobs of the embedded service to ten minutes, with nothing known; never more than 15 s between looks."""
    service = Pretended()

    went = moved(followed(service, [seconds]))

    looks = service.jobs["0"].looks
    assert went.late[0] <= max(0.1, 0.1 * seconds) + 0.02
    assert went.calls_each <= most
    assert max(after - before for before, after in pairwise([0.0, *looks])) <= 15.1


@pytest.mark.parametrize("runs", [500, *deep((2_000,))])
def test_two_thousand_runs_keep_four_calls_under_way_and_none_is_forgotten(runs: int) -> None:
    """Every run is looked at once a minute at least, though runs are many and calls few."""
    random.seed(0)
    service = Pretended()

    went = moved(followed(service, [random.uniform(60, 200) for _ in range(runs)], at_once=runs))

    gaps = [
        after - before
        for job in service.jobs.values()
        for before, after in zip([0.0, *job.looks], job.looks, strict=False)
    ]
    assert len(went.late) == runs
    assert service.most_under_way == 4
    assert max(gaps) <= 65
    assert went.calls_each <= 14


# Somebody is looking.


def test_a_run_that_is_looked_at_moves_every_second() -> None:
    """Without a stream, it is asked at least once a second in its first ten, and what is seen is told."""
    service = Pretended()
    told: list[QueueStatus] = []

    async def story() -> None:
        service.take("a", 30.0)
        poller = Poller(service.status, past=lambda endpoint_id: [30.0] * 5)
        await poller.follow(MODEL, "a", told.append, closely=True)

    moved(story())

    early = [0.0, *(age for age in service.jobs["a"].looks if age < 10), 10.0]
    assert max(after - before for before, after in pairwise(early)) <= 1.0
    assert len(told) == len(service.jobs["a"].looks)
    assert told[-1].finished


# Whatever the service does.


def test_an_unknown_status_counts_as_going_and_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """WARMING_UP ends nothing; it is logged the first time, not for every look and every run."""
    service = Pretended()
    service.said = lambda request_id: "WARMING_UP" if clock() < 1 else None

    async def story() -> None:
        poller = Poller(service.status)
        for name in "ab":
            service.take(name, 2.0)
        await asyncio.gather(*(poller.follow(MODEL, name, nothing) for name in "ab"))

    with caplog.at_level(logging.WARNING, "reelbook"):
        moved(story())

    assert [record.getMessage() for record in caplog.records if "WARMING_UP" in record.getMessage()] == [
        "The service reported the unknown status 'WARMING_UP'; such a run counts as still going."
    ]


@pytest.mark.parametrize("error", [GONE, broken(), broken(TooManyRequests)])
def test_an_outage_of_five_minutes_ends_no_run_and_is_no_storm(error: Exception) -> None:
    """64 runs live through it, with one call in two seconds for all of them together."""
    service = Pretended()
    service.trouble = lambda request_id: error if 1 < clock() < 301 else None

    async def story() -> tuple[int, float]:
        poller = Poller(service.status)
        for number in range(64):
            service.take(str(number), 2.0)
        following = asyncio.gather(*(poller.follow(MODEL, str(number), nothing) for number in range(64)))
        await asyncio.sleep(300)
        during = service.calls
        await following
        return during, clock()

    during, ended = moved(story())

    assert during <= 150
    assert ended <= 320


def test_an_outage_of_more_than_ten_minutes_is_told() -> None:
    """Each run fails with the service's own error, and not before."""
    service = Pretended()
    service.trouble = lambda request_id: GONE

    async def story() -> list[float]:
        poller, ends = Poller(service.status), []

        async def one(name: str) -> None:
            service.take(name, 2.0)
            try:
                await poller.follow(MODEL, name, nothing)
            except NobodyThere:
                ends.append(clock())

        await asyncio.gather(*(one(str(number)) for number in range(20)))
        return ends

    ends = moved(story())

    assert len(ends) == 20
    assert all(600 <= moment <= 640 for moment in ends)


def test_a_service_that_names_a_time_gets_it() -> None:
    """After a 429 with Retry-After: 30, nobody asks for thirty seconds."""
    service = Pretended()
    calls: list[float] = []

    def trouble(request_id: str) -> Exception | None:
        calls.append(clock())
        return broken(TooManyRequests, retry_after="30") if len(calls) == 1 else None

    service.trouble = trouble
    moved(followed(service, [2.0] * 8))

    assert calls[1] - calls[0] >= 30


@pytest.mark.parametrize("kind", [Unauthorized, Forbidden])
def test_a_refused_key_is_told_at_once(kind: type[ReelbookError]) -> None:
    """Asking again would not make it right."""
    service = Pretended()
    service.trouble = lambda request_id: broken(kind)

    async def story() -> float:
        service.take("a", 2.0)
        with pytest.raises(kind):
            await Poller(service.status).follow(MODEL, "a", nothing)
        return clock()

    assert moved(story()) < 1


def test_a_request_that_is_not_known_yet_is_asked_again_and_a_lost_one_is_told() -> None:
    """404 may be a gateway's, and be over in a moment; after a minute of it the last one is told."""
    service = Pretended()

    async def story(until: float) -> float:
        service.trouble = lambda request_id: broken(NotFound) if clock() < until else None
        service.take("a", 2.0)
        await Poller(service.status).follow(MODEL, "a", nothing)
        return clock()

    assert moved(story(3.0)) <= 8
    assert moved(story(40.0)) <= 60
    with pytest.raises(NotFound):
        moved(story(1000.0))


@pytest.mark.parametrize("kind", [NotFound, Refused, Unauthorized, Forbidden])
@pytest.mark.parametrize(("limit", "least", "most"), [(60.0, 60, 90), (0.0, 0, 1)])
def test_a_run_that_is_refused_is_asked_about_for_as_long_as_it_is_worth(
    kind: type[ServiceError], limit: float, least: float, most: float
) -> None:
    """However old it is; one that had expired before is asked once. A page with 401 may be a gateway's as well."""
    service = Pretended()
    service.trouble = lambda request_id: kind("A page", status=400, foreign=True)

    async def story() -> float:
        service.take("a", 2.0)
        with pytest.raises(kind):
            await Poller(service.status).follow(
                MODEL, "a", nothing, submitted_at=time.time() - 1000, refused_seconds=limit
            )
        return clock()

    assert least <= moved(story()) < most


# Coming and going.


def test_closing_ends_all_following() -> None:
    """Those who wait are cancelled, nothing is asked afterwards, and new ones are told that it is closed."""
    service = Pretended()

    async def story() -> None:
        poller = Poller(service.status)
        for name in "ab":
            service.take(name, 20.0)
        tasks = [asyncio.create_task(poller.follow(MODEL, name, nothing)) for name in "ab"]
        await asyncio.sleep(1)
        await poller.close()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        calls = service.calls
        await asyncio.sleep(100)

        assert [type(end) for end in ends] == [asyncio.CancelledError] * 2
        assert service.calls == calls
        with pytest.raises(ReelbookError, match="closed"):
            await poller.follow(MODEL, "a", nothing)

    moved(story())
