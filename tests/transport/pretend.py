"""A pretended service on a pretended clock: minutes of following pass in milliseconds, and every look is counted."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, TypeVar

from reelbook.models.queue_status import COMPLETED, IN_PROGRESS, QueueStatus
from reelbook.transport.poller import Poller

T = TypeVar("T")
MODEL = "svc/pretended"


class _NoWaiting(selectors.DefaultSelector):
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
        selector = _NoWaiting()
        selector.loop = self
        self.now = 0.0
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


@dataclass
class Job:
    """One run, as the service knows it."""

    submitted: float
    ends: float
    looks: list[float] = field(default_factory=list)
    """The ages at which it was asked by itself."""


class Pretended:
    """A service that knows how long each run takes. `trouble` can make any look fail, or last."""

    def __init__(self, *, delay: float = 0.004) -> None:
        self.delay = delay
        self.jobs: dict[str, Job] = {}
        self.calls = self.under_way = self.most_under_way = 0
        self.trouble: Callable[[str], BaseException | float | None] = lambda request_id: None
        self.said: Callable[[str], str | None] = lambda request_id: None
        """Another status than the honest one."""

    def take(self, request_id: str, seconds: float) -> None:
        """Accept a run that will take so long."""
        self.jobs[request_id] = Job(clock(), clock() + seconds)

    async def status(self, endpoint_id: str, request_id: str, *, is_repeated: bool = True) -> QueueStatus:
        self.jobs[request_id].looks.append(clock() - self.jobs[request_id].submitted)
        await self._call(self.trouble(request_id))
        return self._told(request_id)

    async def _call(self, trouble: BaseException | float | None) -> None:
        self.calls += 1
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(trouble if isinstance(trouble, float) else self.delay)
        finally:
            self.under_way -= 1
        if isinstance(trouble, BaseException):
            raise trouble

    def _told(self, request_id: str) -> QueueStatus:
        job, now = self.jobs[request_id], clock()
        other = self.said(request_id)
        return QueueStatus(status=other or (COMPLETED if now >= job.ends else IN_PROGRESS), request_id=request_id)


@dataclass
class Followed:
    """How following went."""

    calls_each: float
    """Submission and result included, as far as they were needed."""
    late: list[float]
    """How many seconds after its end each run was noticed."""
    took: list[float]

    @property
    def median_late(self) -> float:
        return median(self.late)


async def followed(
    service: Pretended, durations: Sequence[float], *, at_once: int = 64, past: Sequence[float] = ()
) -> Followed:
    """Submit and follow runs of these durations, so many at once, four submissions at a time."""
    poller = Poller(service.status, past=lambda endpoint_id: past)
    places, posts = asyncio.Semaphore(at_once), asyncio.Semaphore(4)
    late: dict[int, float] = {}

    async def one(number: int, seconds: float) -> None:
        async with places:
            async with posts:
                await asyncio.sleep(0.01)
                service.take(str(number), seconds)
            final = await poller.follow(MODEL, str(number), lambda status: None)
            assert final.finished
            late[number] = clock() - service.jobs[str(number)].ends

    await asyncio.gather(*(one(number, seconds) for number, seconds in enumerate(durations)))
    await poller.close()
    calls = service.calls + 2 * len(durations)
    return Followed(calls / len(durations), list(late.values()), list(durations))
