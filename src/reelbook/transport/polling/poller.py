"""Following many runs to their ends with as few calls as it takes."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from ...errors import NotFound, ReelbookError, Refused, Unreachable
from ...models.queue_status import STATUSES, QueueStatus
from ..paid_outcome import REFUSED_SECONDS
from .calls import Calls
from .durations import Durations, patience
from .model_polling import Kin
from .outage import Trouble, is_final, pause_after
from .poll_queue import Schedule
from .tracked_run import Followed

MAX_CALLS, MAX_STREAMS, MAX_IN_BATCH = 4, 2, 1_000
BATCH_SECONDS = 0.1
"""Batches are at least this far apart, so that each tells about many runs."""
BATCH_AHEAD_SECONDS = 3.0
"""A batch takes those along that would be due so soon, if that is soon for their age."""
BATCH_PRICE, FEW_PRICE = 0.2, 0.5
CALL_SECONDS = 65.0
"""A look that takes longer has failed; calls have a deadline of their own, this one is for those that forget it."""
SLOW_SECONDS, MAX_SUSPECT = 5.0, 2
"""Looks that take longer, and those at runs whose last look failed, are doubtful. While there are so many of them, no
failed run is asked again, so that they do not take all the room."""
MAX_REFUSALS = 3
"""So many refused batches in a row, and the service does not have them after all."""
OFFERS_AGAIN_SECONDS = 30.0

T = TypeVar("T")

log = logging.getLogger("reelbook")


class Watcher:
    """Follows any number of runs of one service, all on one event loop.

    `past` gives the known durations of a model's runs, in seconds from submission to end; it is asked once for each
    model, on the loop, so it has to be quick. `wall` is the clock that `since` is told by.
    """

    def __init__(
        self,
        calls: Calls,
        *,
        past: Callable[[str], Sequence[float]] = lambda endpoint_id: (),
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._calls, self._past, self._wall = calls, past, wall
        self._kins: dict[str, Kin] = {}
        self._runs: dict[Followed, None] = {}
        self._schedule = Schedule()
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._under_way = self._streams = 0
        self._doubtful: set[asyncio.Task[None]] = set()
        self._set_aside: list[Followed] = []
        self._offers: frozenset[str] = frozenset()
        self._asking_offers = asyncio.Lock()
        self._ask_offers_at = -math.inf
        self._next_batch, self._batch_refusals = -math.inf, 0
        self._trouble = Trouble()
        self._odd: set[str] = set()
        self._closed = False

    async def follow(
        self,
        endpoint_id: str,
        request_id: str,
        tell: Callable[[QueueStatus], None],
        *,
        since: float | None = None,
        closely: bool = False,
        refusals: float = REFUSED_SECONDS,
    ) -> QueueStatus:
        """The final status; every one that is seen on the way is told.

        `since` is when it was submitted, as `time.time()` tells it; a moment ago, unless told. `closely`: a person is
        looking, so it is streamed or asked by itself, with its log. `refusals`: how many seconds long a refusal is asked about again.
        Cancel the task that waits here to stop following; the run itself goes on.
        """
        began = asyncio.get_running_loop().time()
        age = 0.0 if since is None else max(self._wall() - since, 0.0)
        offers = await self._offered()
        if self._closed:
            raise ReelbookError("This client is closed. Open another one, and attach to the run there.")
        end: asyncio.Future[QueueStatus] = asyncio.get_running_loop().create_future()
        run = Followed(
            endpoint_id, request_id, tell, end, self._kin(endpoint_id), began - age, began, closely, refusals
        )
        self._runs[run] = None
        run.kin.enter(run)
        if closely and "status-stream" in offers and self._streams < MAX_STREAMS:
            self._streams += 1
            run.stream = self._spawn(self._stream(run))
        self._plan(run)
        self._go_on()
        try:
            return await end
        finally:
            self._leave(run)

    def look_soon(self, request_id: str) -> None:
        """Ask about a run at the next turn: something has been done about it."""
        for run in self._runs:
            if run.request_id == request_id:
                run.retry_at = asyncio.get_running_loop().time()
                self._plan(run)
        self._go_on()

    async def close(self) -> None:
        """End all following: those who wait are cancelled, the runs themselves go on at the service."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for run in self._runs:
            run.end.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _offered(self) -> frozenset[str]:
        """What the service offers beyond the specification."""
        async with self._asking_offers:
            now = asyncio.get_running_loop().time()
            if now >= self._ask_offers_at:
                try:
                    self._offers = (await self._calls.nature()).features
                except ReelbookError:
                    # Following does without, and asks again when the service may be back.
                    self._ask_offers_at = now + OFFERS_AGAIN_SECONDS
            return self._offers

    def _kin(self, endpoint_id: str) -> Kin:
        if endpoint_id not in self._kins:
            try:
                past = self._past(endpoint_id)
            except Exception:
                log.warning("The durations of earlier runs of %s could not be read.", endpoint_id, exc_info=True)
                past = ()
            self._kins[endpoint_id] = kin = Kin(Durations(past))
            kin.think(self._price)
        return self._kins[endpoint_id]

    def _leave(self, run: Followed) -> None:
        del self._runs[run]
        self._trouble.forget(run)
        run.due = math.inf
        self._schedule.tidy(len(self._runs))
        if run.stream is not None:
            run.stream.cancel()
        run.take_leave()
        self._replace_lookout(run.kin)

    def _replace_lookout(self, kin: Kin) -> None:
        """Somebody else may have to look out for the others now."""
        if kin.unknown:
            self._plan(next(iter(kin.unknown)))
            self._go_on()

    # When each run is asked.

    def _plan(self, run: Followed) -> None:
        """Put a run into the schedule for when an answer is worth most."""
        if not (run.gone or run.asking):
            self._schedule.put(run, run.plan(len(self._runs), shared=self._in_batches))

    def _think(self, kin: Kin) -> None:
        """Plan the kin anew where the news is worth it."""
        if kin.think(self._price):
            for run in kin.runs:
                self._plan(run)
            self._schedule.tidy(len(self._runs))

    @property
    def _price(self) -> float:
        """What a look costs, in calls, when it is weighed against noticing an end late; a few runs can have more."""
        return BATCH_PRICE if self._in_batches else min(max(len(self._runs) / 16, FEW_PRICE), 1.0)

    @property
    def _in_batches(self) -> bool:
        return len(self._runs) > 1 and "batch-status" in self._offers and self._batch_refusals < MAX_REFUSALS

    def _go_on(self) -> None:
        """Ask who is due, as far as there is room, and come back when the next one is."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        wake = self._trouble.held_until
        while not self._closed and self._under_way < MAX_CALLS and now >= self._trouble.held_until:
            run = self._next_due(now)
            if run is None:
                wake = self._schedule.next_moment()
                break
            if run.alone or run.closely or not self._in_batches:
                self._call([run], self._ask(run))
            elif now >= self._next_batch:
                self._next_batch = now + BATCH_SECONDS
                batch = [run, *self._company(now)]
                self._call(batch, self._ask_many(batch))
            else:
                self._schedule.put(run, now)
                wake = self._next_batch
                break
        if not self._closed and self._under_way < MAX_CALLS and now < wake < math.inf:
            self._timer = loop.call_at(wake, self._go_on)

    def _next_due(self, now: float) -> Followed | None:
        while (run := self._schedule.take(now)) is not None:
            if run.gone or run.asking:
                continue
            # Much may have been learnt, or many runs come, since it was planned.
            due = run.plan(len(self._runs), shared=self._in_batches)
            if due > now:
                self._schedule.put(run, due)
            elif self._has_room_for(run):
                return run
            else:
                self._set_aside.append(run)
        return None

    def _has_room_for(self, run: Followed) -> bool:
        """Those whose last look failed share few places; in an outage the others have no more than one either."""
        outage = self._trouble.widespread
        if run.failures:
            return len(self._doubtful) < (1 if outage else MAX_SUSPECT)
        return not outage or self._under_way == len(self._doubtful)

    def _company(self, now: float) -> list[Followed]:
        """Who else goes into a batch: those that are due, or will be soon."""
        batch: list[Followed] = []
        others: list[tuple[Followed, float]] = []
        while len(batch) < MAX_IN_BATCH - 1 and (due := self._schedule.next_moment()) <= now + BATCH_AHEAD_SECONDS:
            run = self._schedule.take(due)
            assert run is not None
            if run.gone or run.asking:
                continue
            if not (run.alone or run.failures or run.closely) and due <= now + 0.25 * patience(run.looked):
                batch.append(run)
            else:
                others.append((run, due))
        for run, due in others:
            self._schedule.put(run, due)
        return batch

    # Looks.

    def _call(self, runs: Sequence[Followed], work: Coroutine[Any, Any, None]) -> None:
        loop = asyncio.get_running_loop()
        for run in runs:
            run.asking, run.asked = True, loop.time()
        self._under_way += 1
        look = self._spawn(work)
        if any(run.failures for run in runs):
            self._doubtful.add(look)
        slow = loop.call_later(SLOW_SECONDS, self._doubt, look)

        def done(look: asyncio.Task[None]) -> None:
            slow.cancel()
            self._under_way -= 1
            self._doubtful.discard(look)
            for run in runs:
                run.asking = False
            for run in (*runs, *self._set_aside):
                self._plan(run)
            self._set_aside.clear()
            self._go_on()

        look.add_done_callback(done)

    def _doubt(self, look: asyncio.Task[None]) -> None:
        """A look takes so long that it may never end; others may go in its place."""
        self._doubtful.add(look)
        for run in self._set_aside:
            self._plan(run)
        self._set_aside.clear()
        self._go_on()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _ask(self, run: Followed) -> None:
        try:
            status = await self._answered(self._calls.status(run.endpoint_id, run.request_id))
        except Exception as error:
            self._failed([run], error)
        else:
            self._trouble.worked()
            if run.is_news(status) and run.stream is not None:
                # The stream should have told that: it is broken, whatever it seems.
                run.stream.cancel()
            self._seen(run, status)
            self._think(run.kin)

    async def _ask_many(self, runs: Sequence[Followed]) -> None:
        try:
            told = await self._answered(self._calls.statuses([run.request_id for run in runs]))
        except (NotFound, Refused):
            # One id can be the reason. Each by itself, they get on.
            self._batch_refusals += 1
            self._ask_alone(runs)
        except Exception as error:
            self._failed(runs, error)
            for run in runs:
                run.alone = run.failures > 1
        else:
            self._batch_refusals = 0
            self._trouble.worked()
            for run in runs:
                if run.request_id in told:
                    self._seen(run, told[run.request_id])
                else:
                    run.missed += 1
                    self._ask_alone([run])
            for kin in {run.kin: None for run in runs}:
                self._think(kin)

    def _ask_alone(self, runs: Sequence[Followed]) -> None:
        for run in runs:
            run.alone, run.retry_at = True, asyncio.get_running_loop().time()

    async def _stream(self, run: Followed) -> None:
        """Take in what the service tells by itself; when it stops telling, the run is asked like others."""
        try:
            events = self._calls.stream(run.endpoint_id, run.request_id)
            async for status in events:
                run.asked = asyncio.get_running_loop().time()
                run.is_news(status)
                self._seen(run, status)
                self._think(run.kin)
                self._plan(run)
                self._go_on()
        except Exception as error:
            if is_final(error, 0.0, math.inf) and not run.gone:
                run.end.set_exception(error)
        finally:
            self._streams -= 1
            run.stream, run.retry_at = None, asyncio.get_running_loop().time()
            self._plan(run)
            self._go_on()

    async def _answered(self, call: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(CALL_SECONDS):
                return await call
        except TimeoutError:
            raise Unreachable(str(getattr(self._calls, "base_url", "the service")), "no answer in time") from None

    def _seen(self, run: Followed, status: QueueStatus) -> None:
        if run.gone:
            return
        self._tell(run, status)
        if status.finished:
            run.end.set_result(status)
            run.take_end(status, asyncio.get_running_loop().time())
            return
        run.take_in(status, run.asked)
        if status.status not in STATUSES and status.status not in self._odd:
            self._odd.add(status.status)
            log.warning("The service told the unknown status %.100r; such a run counts as still going.", status.status)

    def _tell(self, run: Followed, status: QueueStatus) -> None:
        try:
            run.tell(status)
        except Exception:
            if not run.silent:
                run.silent = True
                log.warning("What was to be told of run %s failed.", run.request_id, exc_info=True)

    def _failed(self, runs: Sequence[Followed], error: Exception) -> None:
        now = asyncio.get_running_loop().time()
        self._trouble.failed(runs, error, now)
        for run in runs:
            run.failures += 1
            run.failing_since = run.asked if run.failing_since is None else run.failing_since
            run.retry_at = now + pause_after(run.failures, error)
            if not run.gone and is_final(error, now - run.failing_since, run.refusals):
                run.end.set_exception(error)
            run.kin.know(run)
        for kin in {run.kin: None for run in runs}:
            self._replace_lookout(kin)
        for run in self._runs:
            if not run.gone and self._trouble.outlasted(run, now):
                run.end.set_exception(error)
