"""Polls any number of runs until they end, with as few calls as possible."""

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
from .calls import StatusCalls
from .durations import DurationEstimate, tolerable_delay
from .model_polling import ModelPolling
from .outage import Outage, is_final, pause_after
from .poll_queue import PollQueue
from .tracked_run import TrackedRun

MAX_CALLS, MAX_STREAMS, MAX_IN_BATCH = 4, 2, 1_000
BATCH_SECONDS = 0.1
"""Batches are at least this far apart, so that each reports many runs."""
BATCH_AHEAD_SECONDS = 3.0
"""A batch includes the runs that would be due so soon, if that is soon for their age."""
BATCH_PRICE, FEW_RUNS_PRICE = 0.2, 0.5
CALL_SECONDS = 65.0
"""A poll that takes longer has failed; calls have their own deadlines, this one is for those without."""
SLOW_SECONDS, MAX_SUSPECT = 5.0, 2
"""A poll that is slow, or retries a failed one, is suspect; no retries while this many are in flight."""
MAX_REFUSALS = 3
"""After so many refused batches in a row, runs are polled one by one: the service has no batches after all."""
ASK_FEATURES_AGAIN_SECONDS = 30.0

T = TypeVar("T")

log = logging.getLogger("reelbook")


class Poller:
    """Polls any number of runs of one service, all on one event loop.

    `past` returns the known durations of a model's runs, in seconds from submission to end; it is called once for each
    model, on the loop, so it has to be quick. `wall_clock` is the clock of `submitted_at`.
    """

    def __init__(
        self,
        calls: StatusCalls,
        *,
        past: Callable[[str], Sequence[float]] = lambda endpoint_id: (),
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._calls, self._past, self._wall_clock = calls, past, wall_clock
        self._models: dict[str, ModelPolling] = {}
        self._runs: dict[TrackedRun, None] = {}
        self._queue = PollQueue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._in_flight = self._streams = 0
        self._suspect: set[asyncio.Task[None]] = set()
        self._deferred: list[TrackedRun] = []
        self._features: frozenset[str] = frozenset()
        self._features_lock = asyncio.Lock()
        self._ask_features_at = -math.inf
        self._next_batch_at, self._batch_refusals = -math.inf, 0
        self._outage = Outage()
        self._unknown_statuses: set[str] = set()
        self._closed = False

    async def follow(
        self,
        endpoint_id: str,
        request_id: str,
        on_status: Callable[[QueueStatus], None],
        *,
        submitted_at: float | None = None,
        closely: bool = False,
        refused_seconds: float = REFUSED_SECONDS,
    ) -> QueueStatus:
        """Poll a run until it ends and return its final status; `on_status` is called with every status.

        `submitted_at` is in the time of `time.time()`; None means just now. `closely`: a person is watching, so the run
        is streamed or polled by itself, with its log. `refused_seconds`: how long it is polled while every poll is
        refused. Cancelling this coroutine stops the polling; the run itself goes on.
        """
        began = asyncio.get_running_loop().time()
        age = 0.0 if submitted_at is None else max(self._wall_clock() - submitted_at, 0.0)
        features = await self._get_features()
        if self._closed:
            raise ReelbookError("This client is closed. Open another one, and attach to the run there.")
        final: asyncio.Future[QueueStatus] = asyncio.get_running_loop().create_future()
        model = self._get_model(endpoint_id)
        run = TrackedRun(endpoint_id, request_id, on_status, final, model, began - age, began, closely, refused_seconds)
        self._runs[run] = None
        run.model.add(run)
        if closely and "status-stream" in features and self._streams < MAX_STREAMS:
            self._streams += 1
            run.stream = self._spawn(self._stream(run))
        self._reschedule(run)
        self._send_due()
        try:
            return await final
        finally:
            self._leave(run)

    def poll_soon(self, request_id: str) -> None:
        """Poll a run at once, because something has been done about it."""
        for run in self._runs:
            if run.request_id == request_id:
                run.retry_at = asyncio.get_running_loop().time()
                self._reschedule(run)
        self._send_due()

    async def close(self) -> None:
        """Stop all polling: waiting callers are cancelled, the runs themselves go on at the service."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for run in self._runs:
            run.final.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _get_features(self) -> frozenset[str]:
        """The features that the service offers beyond the specification."""
        async with self._features_lock:
            now = asyncio.get_running_loop().time()
            if now >= self._ask_features_at:
                try:
                    self._features = (await self._calls.service_info()).features
                except ReelbookError:
                    # Polling works without them; they are asked for again when the service may be back.
                    self._ask_features_at = now + ASK_FEATURES_AGAIN_SECONDS
            return self._features

    def _get_model(self, endpoint_id: str) -> ModelPolling:
        if endpoint_id not in self._models:
            try:
                past = self._past(endpoint_id)
            except Exception:
                log.warning("The durations of earlier runs of %s could not be read.", endpoint_id, exc_info=True)
                past = ()
            self._models[endpoint_id] = model = ModelPolling(DurationEstimate(past))
            model.update_estimates(self._poll_price)
        return self._models[endpoint_id]

    def _leave(self, run: TrackedRun) -> None:
        del self._runs[run]
        self._outage.discard(run)
        run.due_at = math.inf
        self._queue.compact(len(self._runs))
        if run.stream is not None:
            run.stream.cancel()
        run.leave_model()
        self._replace_probe(run.model)

    def _replace_probe(self, model: ModelPolling) -> None:
        """Reschedule the oldest run of unknown duration, which may be a probe now."""
        if model.unpredicted:
            self._reschedule(next(iter(model.unpredicted)))
            self._send_due()

    # When each run is polled.

    def _reschedule(self, run: TrackedRun) -> None:
        """Schedule a run for when a poll is worth most."""
        if not (run.is_over or run.is_polling):
            self._queue.schedule(run, run.choose_poll_time(len(self._runs), shared=self._in_batches))

    def _update_estimates(self, model: ModelPolling) -> None:
        """Update the estimates of a model, and reschedule its runs if its poll ages changed."""
        if model.update_estimates(self._poll_price):
            for run in model.runs:
                self._reschedule(run)
            self._queue.compact(len(self._runs))

    @property
    def _poll_price(self) -> float:
        """What a poll costs, in calls, compared with noticing an end late; lower for few runs, so that they get more polls."""
        return BATCH_PRICE if self._in_batches else min(max(len(self._runs) / 16, FEW_RUNS_PRICE), 1.0)

    @property
    def _in_batches(self) -> bool:
        return len(self._runs) > 1 and "batch-status" in self._features and self._batch_refusals < MAX_REFUSALS

    def _send_due(self) -> None:
        """Poll the runs that are due, up to `MAX_CALLS` at once, and set the timer for the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        wake = self._outage.paused_until
        while not self._closed and self._in_flight < MAX_CALLS and now >= self._outage.paused_until:
            run = self._next_due(now)
            if run is None:
                wake = self._queue.next_due_at()
                break
            if run.alone or run.closely or not self._in_batches:
                self._start_call([run], self._poll(run))
            elif now >= self._next_batch_at:
                self._next_batch_at = now + BATCH_SECONDS
                batch = [run, *self._rest_of_batch(now)]
                self._start_call(batch, self._poll_batch(batch))
            else:
                self._queue.schedule(run, now)
                wake = self._next_batch_at
                break
        if not self._closed and self._in_flight < MAX_CALLS and now < wake < math.inf:
            self._timer = loop.call_at(wake, self._send_due)

    def _next_due(self, now: float) -> TrackedRun | None:
        while (run := self._queue.pop_due(now)) is not None:
            if run.is_over or run.is_polling:
                continue
            # The estimate or the number of runs may have changed since it was scheduled.
            due = run.choose_poll_time(len(self._runs), shared=self._in_batches)
            if due > now:
                self._queue.schedule(run, due)
            elif self._has_room_for(run):
                return run
            else:
                self._deferred.append(run)
        return None

    def _has_room_for(self, run: TrackedRun) -> bool:
        """Whether a call is free for this run: few for those whose last poll failed, one for the others in an outage."""
        outage = self._outage.is_widespread
        if run.failures:
            return len(self._suspect) < (1 if outage else MAX_SUSPECT)
        return not outage or self._in_flight == len(self._suspect)

    def _rest_of_batch(self, now: float) -> list[TrackedRun]:
        """The other runs of a batch: those that are due, or will be soon."""
        batch: list[TrackedRun] = []
        others: list[tuple[TrackedRun, float]] = []
        while len(batch) < MAX_IN_BATCH - 1 and (due := self._queue.next_due_at()) <= now + BATCH_AHEAD_SECONDS:
            run = self._queue.pop_due(due)
            assert run is not None
            if run.is_over or run.is_polling:
                continue
            if not (run.alone or run.failures or run.closely) and due <= now + 0.25 * tolerable_delay(run.polled_age):
                batch.append(run)
            else:
                others.append((run, due))
        for run, due in others:
            self._queue.schedule(run, due)
        return batch

    # Polls.

    def _start_call(self, runs: Sequence[TrackedRun], work: Coroutine[Any, Any, None]) -> None:
        loop = asyncio.get_running_loop()
        for run in runs:
            run.is_polling, run.polled_at = True, loop.time()
        self._in_flight += 1
        poll = self._spawn(work)
        if any(run.failures for run in runs):
            self._suspect.add(poll)
        slow = loop.call_later(SLOW_SECONDS, self._mark_suspect, poll)

        def done(poll: asyncio.Task[None]) -> None:
            slow.cancel()
            self._in_flight -= 1
            self._suspect.discard(poll)
            for run in runs:
                run.is_polling = False
            for run in (*runs, *self._deferred):
                self._reschedule(run)
            self._deferred.clear()
            self._send_due()

        poll.add_done_callback(done)

    def _mark_suspect(self, poll: asyncio.Task[None]) -> None:
        """Count a slow poll as suspect, because it may never end, and reschedule the runs that were deferred."""
        self._suspect.add(poll)
        for run in self._deferred:
            self._reschedule(run)
        self._deferred.clear()
        self._send_due()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _poll(self, run: TrackedRun) -> None:
        try:
            status = await self._with_deadline(self._calls.status(run.endpoint_id, run.request_id))
        except Exception as error:
            self._record_failure([run], error)
        else:
            self._outage.record_success()
            if run.set_reported(status) and run.stream is not None:
                # The stream should have sent that: it is broken, though it is open.
                run.stream.cancel()
            self._record_status(run, status)
            self._update_estimates(run.model)

    async def _poll_batch(self, runs: Sequence[TrackedRun]) -> None:
        try:
            answers = await self._with_deadline(self._calls.statuses([run.request_id for run in runs]))
        except (NotFound, Refused):
            # One id can be the reason: polled one by one, the others succeed.
            self._batch_refusals += 1
            self._retry_alone(runs)
        except Exception as error:
            self._record_failure(runs, error)
            for run in runs:
                run.alone = run.failures > 1
        else:
            self._batch_refusals = 0
            self._outage.record_success()
            for run in runs:
                if run.request_id in answers:
                    self._record_status(run, answers[run.request_id])
                else:
                    run.missed_batches += 1
                    self._retry_alone([run])
            for model in {run.model: None for run in runs}:
                self._update_estimates(model)

    def _retry_alone(self, runs: Sequence[TrackedRun]) -> None:
        for run in runs:
            run.alone, run.retry_at = True, asyncio.get_running_loop().time()

    async def _stream(self, run: TrackedRun) -> None:
        """Read the service's stream of a run's status; when it ends, the run is polled like others."""
        try:
            events = self._calls.stream(run.endpoint_id, run.request_id)
            async for status in events:
                run.polled_at = asyncio.get_running_loop().time()
                run.set_reported(status)
                self._record_status(run, status)
                self._update_estimates(run.model)
                self._reschedule(run)
                self._send_due()
        except Exception as error:
            if is_final(error, 0.0, math.inf) and not run.is_over:
                run.final.set_exception(error)
        finally:
            self._streams -= 1
            run.stream, run.retry_at = None, asyncio.get_running_loop().time()
            self._reschedule(run)
            self._send_due()

    async def _with_deadline(self, call: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(CALL_SECONDS):
                return await call
        except TimeoutError:
            raise Unreachable(str(getattr(self._calls, "base_url", "the service")), "no answer in time") from None

    def _record_status(self, run: TrackedRun, status: QueueStatus) -> None:
        if run.is_over:
            return
        self._notify(run, status)
        if status.finished:
            run.final.set_result(status)
            run.record_end(status, asyncio.get_running_loop().time())
            return
        run.record_poll(status, run.polled_at)
        if status.status not in STATUSES and status.status not in self._unknown_statuses:
            self._unknown_statuses.add(status.status)
            log.warning("The service told the unknown status %.100r; such a run counts as still going.", status.status)

    def _notify(self, run: TrackedRun, status: QueueStatus) -> None:
        try:
            run.on_status(status)
        except Exception:
            if not run.callback_failed:
                run.callback_failed = True
                log.warning("What was to be told of run %s failed.", run.request_id, exc_info=True)

    def _record_failure(self, runs: Sequence[TrackedRun], error: Exception) -> None:
        now = asyncio.get_running_loop().time()
        self._outage.record_failure(runs, error, now)
        for run in runs:
            run.failures += 1
            run.failing_since = run.polled_at if run.failing_since is None else run.failing_since
            run.retry_at = now + pause_after(run.failures, error)
            if not run.is_over and is_final(error, now - run.failing_since, run.refused_seconds):
                run.final.set_exception(error)
            run.model.release_probe(run)
        for model in {run.model: None for run in runs}:
            self._replace_probe(model)
        for run in self._runs:
            if not run.is_over and self._outage.is_too_long_for(run, now):
                run.final.set_exception(error)
