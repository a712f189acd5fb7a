"""Polls any number of runs until they end, with as few calls as possible."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from itertools import islice
from typing import Any, TypeVar

from ...errors import NotFound, ReelbookError, Refused, Unreachable
from ...models.queue_status import STATUSES, QueueStatus
from ..definite_refusal import REFUSED_SECONDS
from .durations import Durations, tolerable_delay
from .outage import Outage, is_final, pause_after
from .status_source import StatusCalls
from .tracked_run import CLOSE_PAUSE_SECONDS, CLOSE_SHARE, ModelRuns, TrackedRun

MAX_CALLS, MAX_RETRIES, MAX_STREAMS, MAX_IN_BATCH = 4, 2, 2, 1_000
"""How many calls are made at once, and how many of them for runs whose last poll failed: a call can hang."""
BATCH_SECONDS = 0.1
"""Batches are at least this far apart, so that each reports many runs."""
CALL_SECONDS = 65.0
"""A poll that takes longer has failed; calls have their own deadlines, this one is for those without."""
RESCHEDULE_SECONDS = 0.0005
"""The runs of a model are scheduled anew at most so often, for each of them."""
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
        self._models: dict[str, ModelRuns] = {}
        self._runs: dict[TrackedRun, None] = {}
        self._due: dict[TrackedRun, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._first_calls = self._retries = self._streams = 0
        self._features: frozenset[str] = frozenset()
        self._features_lock = asyncio.Lock()
        self._ask_features_at = -math.inf
        self._next_batch_at, self._batch_refusals = -math.inf, 0
        self._outage = Outage()
        self._unknown_statuses: set[str] = set()
        self._closed = False
        self.close_pause = (CLOSE_PAUSE_SECONDS, CLOSE_SHARE)
        """The longest time between two polls of a run that is watched: seconds, or a share of its age if that is more."""

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
        run = TrackedRun(
            endpoint_id, request_id, on_status, final, model, began - age, began, closely, refused_seconds,
            close_pause=self.close_pause,
        )  # fmt: skip
        self._runs[run] = None
        run.model.runs[run] = None
        if closely and "status-stream" in features and self._streams < MAX_STREAMS:
            self._streams += 1
            run.stream = self._spawn(self._stream(run))
        self._reschedule(run)
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

    def _get_model(self, endpoint_id: str) -> ModelRuns:
        if endpoint_id not in self._models:
            try:
                past = self._past(endpoint_id)
            except Exception:
                log.warning("The durations of earlier runs of %s could not be read.", endpoint_id, exc_info=True)
                past = ()
            self._models[endpoint_id] = ModelRuns(Durations(past))
        return self._models[endpoint_id]

    def _leave(self, run: TrackedRun) -> None:
        del self._runs[run]
        self._unschedule(run)
        if run.stream is not None:
            run.stream.cancel()
        del run.model.runs[run]
        run.model.release_scout(run)
        if run.model.unpredicted:
            # It may be the scout now.
            self._reschedule(next(iter(run.model.unpredicted)))

    # When each run is polled.

    def _reschedule(self, run: TrackedRun) -> None:
        """Schedule a run for when a poll is worth most."""
        self._unschedule(run)
        if not (run.is_over or run.is_polling):
            due_at = run.choose_poll_time(len(self._runs), shared=self._in_batches)
            run.timer = asyncio.get_running_loop().call_at(due_at, self._add_due, run)

    def _reschedule_all(self, model: ModelRuns) -> None:
        """Reschedule the runs of a model, because its durations have changed."""
        model.is_outdated = False
        for run in model.runs:
            self._reschedule(run)

    def _unschedule(self, run: TrackedRun) -> None:
        self._due.pop(run, None)
        if run.timer is not None:
            run.timer.cancel()
            run.timer = None

    def _add_due(self, run: TrackedRun) -> None:
        """Poll a run as soon as a call is free, if it is still due: more may be known than when it was scheduled."""
        if run.choose_poll_time(len(self._runs), shared=self._in_batches) > asyncio.get_running_loop().time():
            self._reschedule(run)
        else:
            self._due[run] = None
            self._send_due()

    @property
    def _in_batches(self) -> bool:
        return len(self._runs) > 1 and "batch-status" in self._features and self._batch_refusals < MAX_REFUSALS

    def _send_due(self) -> None:
        """Poll the runs that are due, up to `MAX_CALLS` at once."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        while not self._closed and (run := next(filter(self._has_room_for, self._due), None)) is not None:
            is_batch = self._in_batches and not (run.alone or run.closely)
            earliest = max(self._outage.paused_until, self._next_batch_at if is_batch else now)
            if now < earliest:
                if self._timer is not None:
                    self._timer.cancel()
                self._timer = loop.call_at(earliest, self._send_due)
                return
            if is_batch:
                self._next_batch_at = now + BATCH_SECONDS
                batch = [run, *self._rest_of_batch(run, now)]
                self._start_call(batch, self._poll_batch(batch))
            else:
                self._start_call([run], self._poll(run))

    def _has_room_for(self, run: TrackedRun) -> bool:
        """Whether a call is free for this run."""
        calls, limit = (self._retries, MAX_RETRIES) if run.failures else (self._first_calls, MAX_CALLS)
        return self._first_calls + self._retries < MAX_CALLS and calls < (1 if self._outage.is_widespread else limit)

    def _rest_of_batch(self, first: TrackedRun, now: float) -> list[TrackedRun]:
        """The other runs of a batch: those that are due, or will be soon for their age."""
        others = (
            run
            for run in self._runs
            if run.timer is not None and run.timer.when() <= now + 0.25 * tolerable_delay(run.polled_age)
            if not (run is first or run.alone or run.failures or run.closely)
        )
        return list(islice(others, MAX_IN_BATCH - 1))

    # Polls.

    def _start_call(self, runs: Sequence[TrackedRun], work: Coroutine[Any, Any, None]) -> None:
        for run in runs:
            self._unschedule(run)
            run.is_polling, run.polled_at = True, asyncio.get_running_loop().time()
        is_retry = any(run.failures for run in runs)
        self._retries += is_retry
        self._first_calls += not is_retry

        def done(poll: asyncio.Task[None]) -> None:
            self._retries -= is_retry
            self._first_calls -= not is_retry
            for run in runs:
                run.is_polling = False
                self._reschedule(run)
            self._send_due()

        self._spawn(work).add_done_callback(done)

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
                    self._retry_alone([run])

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
                self._reschedule(run)
        except Exception as error:
            if is_final(error, 0.0, math.inf) and not run.is_over:
                run.final.set_exception(error)
        finally:
            self._streams -= 1
            run.stream, run.retry_at = None, asyncio.get_running_loop().time()
            self._reschedule(run)

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
            loop, model = asyncio.get_running_loop(), run.model
            if run.record_end(status, loop.time()) and not model.is_outdated:
                # Not at once: where many runs end, that would take most of the time.
                model.is_outdated = True
                loop.call_later(RESCHEDULE_SECONDS * len(model.runs), self._reschedule_all, model)
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
        self._outage.record_failure(error, runs[0].polled_at, now)
        for run in runs:
            run.failures += 1
            run.failing_since = run.polled_at if run.failing_since is None else run.failing_since
            run.retry_at = now + pause_after(run.failures, error)
            if not run.is_over and is_final(error, now - run.failing_since, run.refused_seconds):
                run.final.set_exception(error)
        for run in self._runs:
            if not run.is_over and self._outage.is_too_long_for(run, now):
                run.final.set_exception(error)
