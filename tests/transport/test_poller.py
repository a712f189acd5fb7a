"""Following runs: few calls, ends noticed soon, and nothing a service does loses one.

It happens on a moved clock, against a pretended service, because nobody waits ten minutes for a test.
"""

from __future__ import annotations

import asyncio
import random
import selectors
import time
from collections.abc import Callable, Coroutine, Sequence
from itertools import pairwise
from statistics import median
from typing import Any, TypeVar

import pytest

from reelbook.errors import (
    Forbidden,
    LibraryError,
    NotFound,
    ReelbookError,
    Refused,
    ServiceBroken,
    ServiceError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from reelbook.models.queue_status import COMPLETED, IN_PROGRESS, QueueStatus
from reelbook.transport.poller import Poller
from tests.support import deep

T = TypeVar("T")
MODEL = "svc/pretended"
GONE = Unreachable("http://127.0.0.1:9", "the connection was refused")


class NoWaiting(selectors.DefaultSelector):
    """Where a loop would sleep, its clock is moved instead."""

    loop: MovedLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if not events:
            assert timeout is not None, "everybody waits, and nothing will ever happen"
            self.loop.now += timeout
        return events


class MovedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer."""

    def __init__(self) -> None:
        selector = NoWaiting()
        selector.loop, self.now = self, 0.0
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def moved(story: Coroutine[Any, Any, T]) -> T:
    """What this comes to, on a moved clock."""
    loop = MovedLoop()
    try:
        return loop.run_until_complete(story)
    finally:
        loop.close()


def clock() -> float:
    return asyncio.get_running_loop().time()


class Pretended:
    """A service that knows how long each run takes. `trouble` can make any call fail."""

    def __init__(self, trouble: Callable[[], Exception | None] = lambda: None) -> None:
        self.trouble = trouble
        self.ends: dict[str, float] = {}
        self.calls: list[tuple[str, float]] = []
        """Which run was asked about, and when."""
        self.under_way = self.most_under_way = 0

    async def status(self, endpoint_id: str, request_id: str) -> QueueStatus:
        self.calls.append((request_id, clock()))
        error, self.under_way = self.trouble(), self.under_way + 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(0.004)
        self.under_way -= 1
        if error is not None:
            raise error
        return QueueStatus(status=COMPLETED if clock() >= self.ends[request_id] else IN_PROGRESS, request_id=request_id)

    async def follow(self, poller: Poller, name: str = "a", seconds: float = 2.0, **options: Any) -> float:
        """Accept a run that takes so long, and follow it; when its end was noticed."""
        self.ends[name] = clock() + seconds
        await poller.follow(MODEL, name, lambda status: None, **options)
        return clock()


def followed(
    durations: Sequence[float], *, past: Sequence[float] = (), at_once: int = 64
) -> tuple[float, float, Pretended]:
    """Runs of these durations, four submissions at a time: the calls for each, with submission and result, and how many
    seconds after its end the median one was noticed."""
    service = Pretended()

    async def story() -> float:
        poller, late = Poller(service.status, past=lambda endpoint_id: past), []
        places, posts = asyncio.Semaphore(at_once), asyncio.Semaphore(4)

        async def one(number: int, seconds: float) -> None:
            async with places:
                async with posts:
                    await asyncio.sleep(0.01)
                late.append(await service.follow(poller, str(number), seconds) - service.ends[str(number)])

        await asyncio.gather(*(one(number, seconds) for number, seconds in enumerate(durations)))
        return median(late)

    late = moved(story())
    return len(service.calls) / len(durations) + 2, late, service


def broken(kind: type = ServiceBroken, **facts: Any) -> Any:
    return kind("no", status=500, facts=facts)


@pytest.fixture(autouse=True)
def _same_luck() -> None:
    """Following draws lots, so that runs do not all act alike; the tests draw the same ones each time."""
    random.seed(0)


# Few calls, and ends noticed soon.


@pytest.mark.parametrize(
    ("runs", "seed"), [(64, 0), (128, 1), *deep((64, 1), (64, 2), (64, 5), (128, 0), (128, 8), (128, 15))]
)
def test_runs_of_two_seconds_need_about_four_calls_each_and_are_noticed_at_once(runs: int, seed: int) -> None:
    """In one batch and in a steady stream, with nothing known before, from a service that shows the specification only."""
    random.seed(seed)

    calls, late, _ = followed([2.0] * runs)

    assert calls <= 4.6
    assert late <= 0.5


@pytest.mark.parametrize("before", [0.5, 10.0])
def test_what_the_library_knows_is_not_believed_for_long(before: float) -> None:
    """A model that has become quicker or slower since is found out by a few runs, and the others profit."""
    calls, late, _ = followed([2.0] * 64, past=[before] * 20, at_once=8)

    assert late <= 2
    assert calls <= 5.5


def test_a_library_that_cannot_be_read_does_not_end_a_run() -> None:
    """It is followed like that of a new model."""
    service = Pretended()

    def unreadable(_: str) -> list[float]:
        raise LibraryError("/x", "another process has kept it locked for 60 s")

    async def story() -> float:
        return await service.follow(Poller(service.status, past=unreadable))

    assert moved(story()) <= 2.5


@pytest.mark.parametrize(
    ("seconds", "most"), [(0.05, 3), (0.2, 5), (1.0, 15), (2.0, 22), (7.0, 35), (30.0, 50), (100.0, 64), (600.0, 100)]
)
def test_one_run_of_any_duration_is_noticed_within_a_tenth_of_it(seconds: float, most: int) -> None:
    """From quick jobs of the embedded service to ten minutes, with nothing known; never more than 15 s between looks."""
    calls, late, service = followed([seconds])

    assert late <= max(0.1, 0.1 * seconds) + 0.02
    assert calls <= most
    assert max(after - before for before, after in pairwise([0.0, *(at for _, at in service.calls)])) <= 15.1


@pytest.mark.parametrize("runs", [500, *deep((2_000,))])
def test_two_thousand_runs_keep_four_calls_under_way_and_none_is_forgotten(runs: int) -> None:
    """Every run is looked at once a minute at least, though runs are many and calls few."""
    calls, _, service = followed([random.uniform(60, 200) for _ in range(runs)], at_once=runs)

    looks: dict[str, list[float]] = {}
    for name, at in service.calls:
        looks.setdefault(name, []).append(at)
    assert len(looks) == runs
    assert max(after - before for ages in looks.values() for before, after in pairwise(ages)) <= 65
    assert service.most_under_way == 4
    assert calls <= 16


def test_a_run_that_is_looked_at_moves_every_second() -> None:
    """It is asked at least once a second in its first ten, and what is seen is told."""
    service, told = Pretended(), list[QueueStatus]()

    async def story() -> None:
        service.ends["a"] = 30.0
        poller = Poller(service.status, past=lambda endpoint_id: [30.0] * 5)
        await poller.follow(MODEL, "a", told.append, closely=True)

    moved(story())

    early = [0.0, *(at for _, at in service.calls if at < 10), 10.0]
    assert max(after - before for before, after in pairwise(early)) <= 1.0
    assert len(told) == len(service.calls)
    assert told[-1].finished


# Whatever the service does.


def test_an_unknown_status_counts_as_going() -> None:
    """WARMING_UP ends nothing."""

    async def status(endpoint_id: str, request_id: str) -> QueueStatus:
        return QueueStatus(status="WARMING_UP" if clock() < 1 else COMPLETED, request_id=request_id)

    told: list[str] = []
    moved(Poller(status).follow(MODEL, "a", lambda status: told.append(status.status)))

    assert told[-2:] == ["WARMING_UP", COMPLETED]


@pytest.mark.parametrize("error", [GONE, broken(), broken(TooManyRequests)])
def test_an_outage_of_five_minutes_ends_no_run_and_is_no_storm(error: Exception) -> None:
    """64 runs live through it, with one call in two seconds for all of them together."""
    service = Pretended(lambda: error if 1 < clock() < 301 else None)

    async def story() -> list[float]:
        poller = Poller(service.status)
        return await asyncio.gather(*(service.follow(poller, str(number)) for number in range(64)))

    assert max(moved(story())) <= 320
    assert len([at for _, at in service.calls if at <= 300]) <= 150


def test_an_outage_of_more_than_ten_minutes_is_told() -> None:
    """Each run fails with the service's own error, and not before."""
    service = Pretended(lambda: GONE)

    async def story() -> list[float]:
        poller = Poller(service.status)

        async def one(name: str) -> float:
            with pytest.raises(Unreachable):
                await service.follow(poller, name)
            return clock()

        return await asyncio.gather(*(one(str(number)) for number in range(20)))

    assert all(600 <= moment <= 640 for moment in moved(story()))


def test_a_service_that_names_a_time_gets_it() -> None:
    """After a 429 with Retry-After: 30, nobody asks for thirty seconds."""
    service = Pretended(lambda: broken(TooManyRequests, retry_after=30.0) if len(service.calls) == 1 else None)

    async def story() -> None:
        poller = Poller(service.status)
        await asyncio.gather(*(service.follow(poller, str(number)) for number in range(8)))

    moved(story())

    (_, first), (_, second), *_ = service.calls
    assert second - first >= 30


@pytest.mark.parametrize("kind", [Unauthorized, Forbidden])
def test_a_refused_key_is_told_at_once(kind: type[ReelbookError]) -> None:
    """Asking again would not make it right."""
    service = Pretended(lambda: broken(kind))

    with pytest.raises(kind):
        moved(service.follow(Poller(service.status)))

    assert len(service.calls) == 1


@pytest.mark.parametrize(("until", "most"), [(3.0, 8), (40.0, 60)])
def test_a_request_that_is_not_known_yet_is_asked_again(until: float, most: float) -> None:
    """404 may be a gateway's, and be over in a moment."""
    service = Pretended(lambda: broken(NotFound) if clock() < until else None)

    assert moved(service.follow(Poller(service.status))) <= most


@pytest.mark.parametrize("kind", [NotFound, Refused, Unauthorized, Forbidden])
@pytest.mark.parametrize(("limit", "least", "most"), [(60.0, 60, 90), (0.0, 0, 1)])
def test_a_run_that_is_refused_is_asked_about_for_as_long_as_it_is_worth(
    kind: type[ServiceError], limit: float, least: float, most: float
) -> None:
    """However old it is; one that had expired before is asked once. A page with 401 may be a gateway's as well."""
    service = Pretended(lambda: kind("A page", status=400, foreign=True))

    async def story() -> float:
        with pytest.raises(kind):
            await service.follow(Poller(service.status), submitted_at=time.time() - 1000, refused_seconds=limit)
        return clock()

    assert least <= moved(story()) < most
