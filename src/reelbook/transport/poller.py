"""Polls any number of runs until they end, with as few calls as the known durations of their models allow.

A run is polled when most of its model's latest runs had ended; one that takes longer, or whose model is new, after ever
longer pauses. The place in the queue and the progress that a service reports are only displayed.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from ..errors import ReelbookError, ServiceBroken, ServiceError, TooManyRequests, Unreachable
from ..models.queue_status import STATUSES, QueueStatus
from .answers import REFUSED_SECONDS, is_about_the_account
from .http import get_pause

MAX_CALLS = 4
"""How many calls are made at once."""
FIRST_SECONDS, PAUSE_SHARE, MAX_PAUSE_SECONDS = 0.1, 0.1, 15.0
"""Where no duration helps, a run is polled again after this many seconds, or this share of its age if that is more."""
EARLY_CHANCE = 1 / 12
"""This share of the runs is polled once before its expected end, which shows when a model has become quicker."""
CLOSE_PAUSE_SECONDS, CLOSE_SHARE = 0.8, 0.1
"""A run that a person is watching is polled this often, or after this share of its age if that is more."""
MAX_DURATIONS, MARGIN, QUICKER_SHARE = 20, 1.02, 0.8
"""How many durations count; how much later than them polls come; and which share of the shortest shows a quicker model."""
FIRST_FAILURE_SECONDS = 0.25
WIDESPREAD_FAILURES = 3
"""After so many failures in a row the service as a whole counts as failing, and all wait."""
GIVE_UP_SECONDS = 600.0
"""How long a run is polled though no poll succeeds."""

log = logging.getLogger("reelbook")


@dataclass(slots=True, eq=False)
class _Run:
    model: _Model
    request_id: str
    submitted_at: float
    tracked_since: float
    is_watched: bool
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when its next poll may be due at another time than was chosen."""
    is_due: bool = False
    """Whether it is polled at once, because something has been done about it."""
    age: float = 0.0
    """At its latest poll that found it unfinished."""
    failures: int = 0
    failing_since: float | None = None
    failure_pause_until: float = -math.inf
    is_early: bool = field(default_factory=lambda: random.random() < EARLY_CHANCE)


@dataclass(slots=True, eq=False)
class _Model:
    """The polled runs of one model, and the seconds that its latest ones took."""

    durations: deque[float]
    runs: dict[_Run, None] = field(default_factory=dict)

    def choose_age(self, run: _Run) -> float:
        """The age at which an unfinished run is polled next."""
        age = run.age
        later = sorted(seconds for seconds in self.durations if seconds * MARGIN > age + 1e-6)
        pause = max(FIRST_SECONDS, PAUSE_SHARE * age)
        if later:
            # When half of them will have ended, so that few polls come too early and few ends are noticed late.
            due = max(later[len(later) // 2] * MARGIN, age + 0.5 * pause)
            return due * random.uniform(0.4, 0.95) if run.is_early and not age else due
        # The runs of a new model find out together how long they take, each with its share of the polls.
        return age + pause * (1.0 if len(self.runs) == 1 else random.uniform(0.5, 1.5) * min(len(self.runs) / 3, 30.0))

    def record_end(self, after: float, by: float) -> None:
        """A run ended between these ages; the others are polled accordingly."""
        known = sorted(self.durations)
        if known and by < QUICKER_SHARE * known[0]:
            self.durations.clear()
        # Where the poll came long after the end, the run most likely took as long as one of the others.
        alike = [seconds for seconds in self.durations if after < seconds <= by]
        self.durations.append(alike[len(alike) // 2] if alike else (after + by) / 2)
        if not known or not known[0] <= by <= 1.1 * known[-1]:
            for run in self.runs:
                run.changed.set()


class Poller:
    """Polls any number of runs of one service, all on one event loop.

    `ask` returns the status of a request of a model. `past` returns the known durations of a model's runs, in seconds
    from submission to end; it is called once for each model, on the loop, so it has to be quick. `wall_clock` is the clock
    of `submitted_at`.
    """

    def __init__(
        self,
        ask: Callable[[str, str], Awaitable[QueueStatus]],
        *,
        past: Callable[[str], Sequence[float]] = lambda endpoint_id: (),
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._ask, self._past, self._wall_clock = ask, past, wall_clock
        self._models: dict[str, _Model] = {}
        self._slots = asyncio.Semaphore(MAX_CALLS)
        self._failures, self._failing_since, self._paused_until = 0, math.inf, -math.inf
        """The failures in a row of all polls, since when, and until when nobody polls because of them."""
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

        `submitted_at` is in the time of `time.time()`; None means just now. `closely`: a person is watching.
        `refused_seconds`: how long it is polled while every poll is refused. Cancelling this coroutine stops the
        polling; the run itself goes on.
        """
        if self._closed:
            raise ReelbookError("This client is closed. Open another one, and attach to the run there.")
        now = asyncio.get_running_loop().time()
        age = 0.0 if submitted_at is None else max(self._wall_clock() - submitted_at, 0.0)
        if endpoint_id not in self._models:
            self._models[endpoint_id] = _Model(deque(self._past(endpoint_id), MAX_DURATIONS))
        model = self._models[endpoint_id]
        run = _Run(model, request_id, now - age, now, closely)
        model.runs[run] = None
        try:
            while True:
                await self._wait_until_due(run)
                async with self._slots:
                    polled_at = asyncio.get_running_loop().time()
                    if polled_at < self._paused_until or self._closed:
                        continue  # The service was found to be failing while this poll waited for its turn.
                    try:
                        status = await self._ask(endpoint_id, request_id)
                    except Exception as error:
                        self._record_failure(run, error, polled_at, refused_seconds)
                        continue
                self._failures, self._failing_since, self._paused_until = 0, math.inf, -math.inf
                self._notify(on_status, status)
                if status.finished:
                    self._record_end(run, status)
                    return status
                run.age, run.failures, run.failing_since = max(polled_at - run.submitted_at, run.age), 0, None
        finally:
            del model.runs[run]

    def poll_soon(self, request_id: str) -> None:
        """Poll a run at once, because something has been done about it."""
        for model in self._models.values():
            for run in model.runs:
                if run.request_id == request_id:
                    run.is_due = True
                    run.changed.set()

    async def close(self) -> None:
        """Stop all polling: waiting callers are cancelled, the runs themselves go on at the service."""
        self._closed = True
        for model in self._models.values():
            for run in model.runs:
                run.changed.set()

    async def _wait_until_due(self, run: _Run) -> None:
        """Wait until it is time to poll a run."""
        clock, due = asyncio.get_running_loop().time, self._choose_time(run)
        while (pause := max(due, self._paused_until) - clock()) > 0 and not (self._closed or run.is_due):
            try:
                async with asyncio.timeout(pause):
                    await run.changed.wait()
            except TimeoutError:
                continue
            run.changed.clear()
            due = self._choose_time(run)
        run.is_due = False
        if self._closed:
            raise asyncio.CancelledError

    def _choose_time(self, run: _Run) -> float:
        """The time of a run's next poll."""
        if run.failures:
            return run.failure_pause_until
        longest = MAX_PAUSE_SECONDS
        if run.is_watched:
            longest = min(longest, max(self.close_pause[0], self.close_pause[1] * run.age))
        due = run.submitted_at + run.model.choose_age(run)
        return min(due, max(run.submitted_at + run.age, run.tracked_since) + longest)

    def _notify(self, on_status: Callable[[QueueStatus], None], status: QueueStatus) -> None:
        if status.status not in STATUSES and status.status not in self._unknown_statuses:
            self._unknown_statuses.add(status.status)
            log.warning(
                "The service reported the unknown status %.100r; such a run counts as still going.", status.status
            )
        try:
            on_status(status)
        except Exception:
            log.warning("The status of run %s could not be passed on.", status.request_id, exc_info=True)

    def _record_failure(self, run: _Run, error: Exception, polled_at: float, refused_seconds: float) -> None:
        """Choose when to poll again after a failure, or raise it."""
        now = asyncio.get_running_loop().time()
        run.failing_since = polled_at if run.failing_since is None else run.failing_since
        seconds = now - run.failing_since
        is_outage = isinstance(error, (Unreachable, ServiceBroken, TooManyRequests))
        if is_outage:
            self._failing_since = min(self._failing_since, polled_at)
            self._failures += 1
            seconds = max(seconds, now - max(self._failing_since, run.tracked_since))
        is_refused = isinstance(error, ServiceError) and not is_outage
        if is_about_the_account(error) or seconds >= (refused_seconds if is_refused else GIVE_UP_SECONDS):
            raise error
        pause = get_pause(run.failures, error, first=FIRST_FAILURE_SECONDS, most=MAX_PAUSE_SECONDS)
        run.failures, run.failure_pause_until = run.failures + 1, now + pause
        if self._failures >= WIDESPREAD_FAILURES or isinstance(error, TooManyRequests):
            pause = get_pause(self._failures - 1, error, first=FIRST_FAILURE_SECONDS, most=MAX_PAUSE_SECONDS)
            self._paused_until = max(self._paused_until, now + pause)

    def _record_end(self, run: _Run, status: QueueStatus) -> None:
        """Learn how long the runs of a model take; one that failed says nothing about the good ones."""
        by = asyncio.get_running_loop().time() - run.submitted_at
        # Of a run from long ago that has ended at some time since, nothing is learnt.
        is_known = run.age or run.tracked_since - run.submitted_at <= 0.5 * by
        if is_known and not getattr(status, "error", None):
            run.model.record_end(run.age, by)
