"""One tracked run: what its polls have shown, and when to poll it next."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...models.queue_status import IN_QUEUE, QueueStatus
from ..definite_refusal import REFUSED_SECONDS
from .durations import Durations, tolerable_delay

FIRST_POLL_SECONDS = 0.06
FIRST_INTERVAL_SECONDS, INTERVAL_SHARE = 0.1, 0.105
"""A scout is polled again after this many seconds, or this share of its age if that is more."""
LATER_SECONDS = 2.0
"""A run that is submitted later than the last scout by so many seconds, and by half of what that was, is a scout too."""
SPREAD = 0.9
"""How many of the other runs of unknown duration are polled for each poll of the scout."""
EARLY_CHANCE, EARLY_SHARES = 1 / 32, (0.4, 0.95)
"""The share of runs polled once before their expected end, and how early: this shows when a model has become quicker."""
QUEUE_DECAY = 0.95
"""What an observed move in the queue still weighs after the next one."""
TRIAL_STEPS = 4.0
"""Durations of earlier sessions are verified by the first run: it is polled at every so many steps of a scout."""
POLL_PRICE = 0.4
"""What a poll costs, in calls, for `Durations.next_poll_age`: less than 1, because ends should be noticed soon."""
MIN_GAP = 1.25
"""Polls of a run at the ends of others are so many tolerable delays apart, because many ends come in when few are known."""
MAX_PAUSE_SECONDS, MAX_PAUSE_OF_MANY_SECONDS, MANY_RUNS = 15.0, 60.0, 120
"""The longest time between two polls of a run; with more than so many runs it grows, up to a minute."""
CLOSE_PAUSE_SECONDS, CLOSE_SHARE = 0.8, 0.1
"""A run that a person is watching is polled this often, or after this share of its age if that is more."""
FIRST_EVENT_SECONDS, SILENT_SECONDS = 2.0, 20.0
"""A stream that sends nothing for so long, two heartbeats, is checked by a poll."""


@dataclass(slots=True, eq=False)
class ModelRuns:
    """The tracked runs of one model, and how long its runs take."""

    durations: Durations
    """From submission to end."""
    work_durations: Durations = field(default_factory=Durations)
    """From leaving the queue to end, for runs that were seen in it."""
    runs: dict[TrackedRun, None] = field(default_factory=dict)
    unpredicted: dict[TrackedRun, None] = field(default_factory=dict)
    """The runs that take longer than all others did, the oldest first."""
    unfinished_age: float = 0.0
    """The age at the latest poll that found one of its runs unfinished, of those that were never seen in the queue."""
    late_scouts: dict[TrackedRun, None] = field(default_factory=dict)
    """Those of them that were submitted much later than the oldest, and are polled often as well."""
    is_outdated: bool = False
    """Whether the durations have changed since its runs were scheduled."""
    queue_places: float = 0.0
    queue_seconds: float = 0.0
    """By how many places runs have moved up in the queue lately, and in how many seconds."""

    def claim_scout(self, run: TrackedRun) -> bool:
        """Register a run of unknown duration; true if it is a scout, which is polled often on behalf of all."""
        self.unpredicted[run] = None
        oldest = next(iter(self.unpredicted))
        latest = next(reversed(self.late_scouts), oldest)
        later_by = run.submitted_at - latest.submitted_at
        # The oldest is polled ever more rarely, so some that are submitted much later are scouts, too.
        if later_by >= LATER_SECONDS + 0.5 * (run.submitted_at - oldest.submitted_at):
            self.late_scouts[run] = None
        return run is oldest or run in self.late_scouts

    def release_scout(self, run: TrackedRun) -> None:
        """The duration of this run is known, or it cannot be polled often."""
        self.unpredicted.pop(run, None)
        self.late_scouts.pop(run, None)

    def record_queue_move(self, places: int, seconds: float) -> None:
        """A run moved up so many places in the queue in this time."""
        self.queue_places = QUEUE_DECAY * self.queue_places + places
        self.queue_seconds = QUEUE_DECAY * self.queue_seconds + seconds


@dataclass(slots=True, eq=False)
class TrackedRun:
    """A run that is polled until it ends, and what its polls have shown. All times are those of the event loop."""

    endpoint_id: str
    request_id: str
    on_status: Callable[[QueueStatus], None]
    final: asyncio.Future[QueueStatus]
    model: ModelRuns
    submitted_at: float
    tracked_since: float
    closely: bool
    """Whether a person is watching it."""
    refused_seconds: float = REFUSED_SECONDS
    """How many seconds long it is polled while every poll is refused."""
    timer: asyncio.TimerHandle | None = None
    """Runs until it is due."""
    is_polling: bool = False
    stream: asyncio.Task[None] | None = None
    """The task that reads the service's stream of its status, where there is one."""
    reported: tuple[Any, ...] | None = None
    """What the latest status reported."""
    alone: bool = False
    """Whether its next poll is a call of its own, because a batch failed or did not report it."""
    retry_at: float | None = None
    """When to poll it next, whatever is known of its model."""
    polled_age: float = 0.0
    """Its age at the last poll that was answered; 0 before the first."""
    polled_at: float = -math.inf
    """When the last poll was sent."""
    predicted_end: float | None = None
    """When it ends, according to its own progress."""
    queued_at: float | None = None
    """When it was last seen in the queue."""
    started_at: float | None = None
    """When it was first seen in progress after that."""
    predicted_start: float | None = None
    """When it starts or started, as exactly as is known; None if it was never seen in the queue."""
    queue_place: tuple[int, float] | None = None
    """Its place in the queue, and when that was so."""
    first_progress: tuple[float, float] | None = None
    """The first progress that was reported, and when."""
    random_steps: float = field(default_factory=lambda: random.expovariate(1.0))
    close_pause: tuple[float, float] = (CLOSE_PAUSE_SECONDS, CLOSE_SHARE)
    """The longest time between two polls while it is watched: seconds, or a share of its age if that is more."""
    early_share: float = field(
        default_factory=lambda: random.uniform(*EARLY_SHARES) if random.random() < EARLY_CHANCE else 1.0
    )
    """The share of its expected duration at which it is polled first."""
    failures: int = 0
    failing_since: float | None = None
    callback_failed: bool = False
    """Whether `on_status` has failed and that was logged."""

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for its end any more."""
        return self.final.done()

    def set_reported(self, status: QueueStatus) -> bool:
        """Remember what this status reports; true if that differs from the status before it."""
        before, self.reported = self.reported, (status.status, status.queue_position, status.metrics)
        return before != self.reported

    def record_poll(self, status: QueueStatus, polled_at: float) -> None:
        """Learn from a poll that found the run unfinished."""
        self.alone, self.failures, self.failing_since, self.retry_at = False, 0, None, None
        self.polled_age = max(polled_at - self.submitted_at, self.polled_age, 1e-6)
        self.random_steps = random.expovariate(1.0)
        if status.status == IN_QUEUE:
            self._record_queue_place(status.queue_position, polled_at)
        else:
            self._record_progress((status.metrics or {}).get("progress"), polled_at)
            if self.queued_at is None:
                self.model.unfinished_age = self.polled_age

    def record_end(self, status: QueueStatus, now: float) -> bool:
        """Add its duration to those of its model: it ended by now. True if that is unlike the durations known before."""
        if getattr(status, "error", None):
            # A run that failed says nothing about how long the good ones take.
            return False
        is_unlike, by, reported = False, now - self.submitted_at, _reported_seconds(status)
        if reported is not None and self.polled_age <= reported <= by:
            is_unlike = self.model.durations.record_end(reported, reported)
        elif self.polled_age or self.tracked_since - self.submitted_at <= 0.5 * by:
            # Of a run from long ago that has ended at some time since, nothing is learnt.
            # Runs of one model are alike: it was still unfinished when the last of the others was.
            after = self.model.unfinished_age
            is_unlike = self.model.durations.record_end(max(self.polled_age, after if after < by else 0.0), by)
        if self.queued_at is not None:
            after = 0.0 if self.started_at is None else self.submitted_at + self.polled_age - self.started_at
            is_unlike |= self.model.work_durations.record_end(after, now - self.queued_at)
        return is_unlike

    def choose_poll_time(self, run_count: int, *, shared: bool) -> float:
        """When to poll it next, among so many runs in all; `shared`: one call polls several of them.

        The run becomes the scout of its model, or ceases to be it.
        """
        if self.retry_at is not None:
            self.model.release_scout(self)
            return self.retry_at
        if self.stream is not None:
            return max(self.polled_at + SILENT_SECONDS, self.tracked_since + FIRST_EVENT_SECONDS)
        crowding = 1.0 if shared else max(run_count / MANY_RUNS, 1.0)
        max_pause = min(crowding * MAX_PAUSE_SECONDS, MAX_PAUSE_OF_MANY_SECONDS)
        if self.closely:
            seconds, share = self.close_pause
            max_pause = min(max_pause, max(seconds, share * self.polled_age))
        return min(
            self._best_poll_time(shared, crowding * POLL_PRICE), max(self.polled_at, self.tracked_since) + max_pause
        )

    def _best_poll_time(self, shared: bool, price: float) -> float:
        """When a poll is worth most, by the run's own progress or by the durations of its model."""
        due = self.predicted_end
        if due is None:
            due = self._expected_end(shared, price)
        if due is None:
            due = self.submitted_at + self._unpredicted_age(shared)
        else:
            self.model.release_scout(self)
        # Predictions can be wrong; no run is polled all the time because of one.
        return max(due, self.submitted_at + self.polled_age + price * tolerable_delay(self.polled_age))

    def _expected_end(self, shared: bool, price: float) -> float | None:
        """When it ends, by the durations of its model; None if it takes longer than all others did."""
        start, durations = self.submitted_at, self.model.durations
        if self.predicted_start is not None:
            start, durations = self.predicted_start, self.model.work_durations
        age = max(self.submitted_at + self.polled_age - start, 0.0)
        expected = durations.next_poll_age(age, price)
        if expected is None:
            return None
        if not self.polled_age:
            expected *= self.early_share
        elif not shared and self.predicted_start is None:
            expected = max(expected, age + MIN_GAP * tolerable_delay(age))
        if not durations.is_verified and next(iter(self.model.runs)) is self:
            expected = min(expected, _scout_age(age, TRIAL_STEPS))
        return start + expected

    def _unpredicted_age(self, shared: bool) -> float:
        """The age at which to poll it where no duration is known: the scout often, the others now and then."""
        if self.model.claim_scout(self) or shared:
            waited = 0.0 if self.predicted_start is None else max(self.predicted_start - self.submitted_at, 0.0)
            age = max(self.polled_age - waited, 0.0)
            return waited + _scout_age(age, 0.5 if shared else 1.0) if self.polled_age else FIRST_POLL_SECONDS
        return _scout_age(max(self.polled_age, 0.4), self.random_steps * len(self.model.unpredicted) / SPREAD)

    def _record_queue_place(self, place: int | None, polled_at: float) -> None:
        """In the queue: it starts once the runs ahead of it are finished, at the pace at which the queue moves."""
        self.first_progress = self.predicted_end = self.started_at = None
        self.queued_at = self.predicted_start = polled_at
        if place is None or place < 0:
            return
        if self.queue_place is not None and self.queue_place[0] > place:
            self.model.record_queue_move(self.queue_place[0] - place, polled_at - self.queue_place[1])
        self.queue_place = (place, polled_at)
        if self.model.queue_places:
            self.predicted_start = polled_at + place * self.model.queue_seconds / self.model.queue_places

    def _record_progress(self, progress: Any, polled_at: float) -> None:
        """In progress: the rest takes as long as what is done took, in proportion."""
        self.predicted_end = None
        if self.predicted_start is not None and self.started_at is None:
            self.started_at, self.predicted_start = polled_at, min(self.predicted_start, polled_at)
        if isinstance(progress, bool) or not isinstance(progress, (int, float)) or not 0.03 <= progress < 1:
            return
        start = self.submitted_at if self.predicted_start is None else self.predicted_start
        # At most as long again: when it started is a guess, and a slow step says little about the steps to come.
        longest = max(polled_at - start, 0.0)
        if self.first_progress is None or progress < self.first_progress[0]:
            self.first_progress = (float(progress), polled_at)
            self.predicted_end = polled_at + min((1 - progress) / progress, 1.0) * longest
        elif progress > self.first_progress[0] and polled_at > self.first_progress[1]:
            first, first_at = self.first_progress
            rest = (1 - progress) * (polled_at - first_at) / (progress - first)
            self.predicted_end = polled_at + min(rest, longest)


def _reported_seconds(status: QueueStatus) -> float | None:
    """How long the run took, where the service reports it."""
    reported = [(status.metrics or {}).get(name) for name in ("queue_time", "inference_time")]
    seconds = [
        value for value in reported if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
    ]
    return sum(seconds) if len(seconds) == len(reported) and sum(seconds) > 0 else None


def _scout_age(age: float, steps: float = 1.0) -> float:
    """The next age at which to poll a scout, or after so many of its steps."""
    return age + steps * max(FIRST_INTERVAL_SECONDS, INTERVAL_SHARE * age)
