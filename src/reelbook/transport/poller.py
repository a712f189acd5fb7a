"""Polls any number of runs until they end, with as few calls as the known durations of their models allow.

A run is polled when most of its model's latest runs had ended; one that takes longer, or whose model is new, after ever
longer pauses.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from ..errors import LibraryError, ServiceBroken, ServiceError, TooManyRequests, Unreachable
from ..models.queue_status import QueueStatus
from .answers import REFUSED_SECONDS, get_pause, is_about_the_account

MAX_CALLS = 4
"""How many calls are made at once."""
FIRST_SECONDS, PAUSE_SHARE, MAX_PAUSE_SECONDS = 0.1, 0.1, 15.0
"""Where no duration helps, a run is polled again after this many seconds, or this share of its age if that is more."""
WATCHED_SECONDS = 0.8
"""The longest pause in the first seconds of a run that is watched; later it is the share of its age, too."""
MAX_DURATIONS, MARGIN = 20, 1.02
"""How many durations count, and how much later than them polls come."""
LOOK_SECONDS = 0.25
"""How often a waiting run looks whether another time is better, because of another run of its model."""
FIRST_FAILURE_SECONDS, WIDESPREAD_FAILURES = 0.25, 3
"""The first pause after a failure, and after how many in a row the service as a whole counts as failing, and all wait."""
GIVE_UP_SECONDS = 600.0
"""How long a run is polled though no poll succeeds."""


@dataclass(slots=True)
class _Run:
    model: str
    request_id: str
    submitted_at: float
    tracked_since: float
    is_watched: bool
    age: float = 0.0
    """At its latest poll that found it unfinished."""
    failures: int = 0
    failing_since: float = math.inf
    paused_until: float = -math.inf


class Poller:
    """Polls any number of runs of one service, all on one event loop.

    `ask` returns the status of a request of a model. `past` returns the known durations of a model's runs, in seconds
    from submission to end; it is called once for each model, on the loop, so it has to be quick.
    """

    def __init__(
        self, ask: Callable[[str, str], Awaitable[QueueStatus]], past: Callable[[str], Sequence[float]] = lambda _: ()
    ) -> None:
        self._ask, self._past = ask, past
        self._durations: dict[str, deque[float]] = {}
        self._counts, self._surprises, self._due_now = Counter[str](), Counter[str](), set[str]()
        """How many runs of each model are polled, how many took another time than those before, and what is polled at once."""
        self._slots = asyncio.Semaphore(MAX_CALLS)
        self._failures, self._good_at, self._paused_until = 0, -math.inf, -math.inf
        """The failures in a row of all polls, when one last succeeded, and until when nobody polls."""

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
        clock = asyncio.get_running_loop().time
        age = 0.0 if submitted_at is None else max(time.time() - submitted_at, 0.0)
        if endpoint_id not in self._durations:
            self._durations[endpoint_id] = deque(maxlen=MAX_DURATIONS)
            # Without them, the run is followed like that of a new model.
            with contextlib.suppress(LibraryError):
                self._durations[endpoint_id].extend(self._past(endpoint_id))
        run = _Run(endpoint_id, request_id, clock() - age, clock(), closely)
        self._counts[endpoint_id] += 1
        try:
            while True:
                await self._wait_until_due(run)
                async with self._slots:
                    polled_at = clock()
                    if polled_at < self._paused_until:
                        continue  # The service was found to be failing while this poll waited for its turn.
                    try:
                        status = await self._ask(endpoint_id, request_id)
                    except (ServiceError, Unreachable) as error:
                        self._record_failure(run, error, polled_at, refused_seconds)
                        continue
                self._failures, self._good_at, self._paused_until = 0, clock(), -math.inf
                on_status(status)
                if status.finished:
                    # One that failed says nothing about the good ones, and neither does one from long ago.
                    if not getattr(status, "error", None) and (run.age or age <= clock() - run.tracked_since):
                        self._record_end(run, clock() - run.submitted_at)
                    return status
                run.age, run.failures, run.failing_since = max(polled_at - run.submitted_at, run.age), 0, math.inf
        finally:
            self._counts[endpoint_id] -= 1

    def poll_soon(self, request_id: str) -> None:
        """Poll a run at once, because something has been done about it."""
        self._due_now.add(request_id)

    async def _wait_until_due(self, run: _Run) -> None:
        """Wait until it is time to poll a run."""
        clock, due, surprises = asyncio.get_running_loop().time, self._choose_time(run), self._surprises[run.model]
        while (pause := max(due, self._paused_until) - clock()) > 0 and run.request_id not in self._due_now:
            await asyncio.sleep(min(pause, LOOK_SECONDS))
            if surprises != self._surprises[run.model]:
                due, surprises = self._choose_time(run), self._surprises[run.model]
        self._due_now.discard(run.request_id)

    def _choose_time(self, run: _Run) -> float:
        """The time of a run's next poll."""
        if run.failures:
            return run.paused_until
        pause = max(FIRST_SECONDS, PAUSE_SHARE * run.age)
        later = sorted(seconds for seconds in self._durations[run.model] if seconds * MARGIN > run.age + 1e-6)
        if later:
            # When half of them will have ended, so that few polls come too early and few ends are noticed late.
            due = max(later[len(later) // 2] * MARGIN, run.age + 0.5 * pause)
        else:
            # The runs of a new model find out together how long they take, each with its share of the polls.
            count = self._counts[run.model]
            due = run.age + pause * (1.0 if count == 1 else random.uniform(0.5, 1.5) * min(count / 3, 30.0))
        longest = max(WATCHED_SECONDS, PAUSE_SHARE * run.age) if run.is_watched else MAX_PAUSE_SECONDS
        latest = max(run.submitted_at + run.age, run.tracked_since) + min(longest, MAX_PAUSE_SECONDS)
        return min(run.submitted_at + due, latest)

    def _record_end(self, run: _Run, by: float) -> None:
        """Learn how long the runs of a model take: this one ended before the age `by`.

        The middle between two polls makes the next ones come earlier, until they find a run unfinished.
        """
        durations = self._durations[run.model]
        if not durations or not min(durations) <= by <= 1.1 * max(durations):
            self._surprises[run.model] += 1
        durations.append((run.age + by) / 2)

    def _record_failure(self, run: _Run, error: Exception, polled_at: float, refused_seconds: float) -> None:
        """Choose when to poll again after a failure, or raise it."""
        now = asyncio.get_running_loop().time()
        run.failing_since = min(run.failing_since, polled_at)
        seconds, limit = now - run.failing_since, refused_seconds
        if isinstance(error, (Unreachable, ServiceBroken, TooManyRequests)):
            # In an outage each run is polled rarely: it counts from the latest good poll of any run.
            self._failures += 1
            seconds, limit = max(seconds, now - max(self._good_at, run.tracked_since)), GIVE_UP_SECONDS
        if is_about_the_account(error) or seconds >= limit:
            raise error
        pause = get_pause(run.failures, error, first=FIRST_FAILURE_SECONDS, most=MAX_PAUSE_SECONDS)
        run.failures, run.paused_until = run.failures + 1, now + pause
        if self._failures >= WIDESPREAD_FAILURES or isinstance(error, TooManyRequests):
            pause = get_pause(self._failures - 1, error, first=FIRST_FAILURE_SECONDS, most=MAX_PAUSE_SECONDS)
            self._paused_until = max(self._paused_until, now + pause)
