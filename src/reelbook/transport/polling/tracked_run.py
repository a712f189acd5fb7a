"""One tracked run: what its polls have shown, and when to poll it next."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...models.queue_status import IN_QUEUE, QueueStatus
from ..paid_outcome import REFUSED_SECONDS
from .durations import tolerable_delay
from .model_polling import ModelPolling

FIRST_INTERVAL_SECONDS, INTERVAL_GROWTH = 0.1, 0.1
"""Where no duration is known, the next poll comes after this many seconds, or this share of the age if that is more."""
FIRST_POLL_SECONDS = 0.06
MAX_PAUSE_SECONDS, MAX_PAUSE_OF_MANY_SECONDS, MANY_RUNS = 15.0, 60.0, 120
"""The longest time between two polls of a run; with more than so many runs it grows, up to a minute."""
CLOSE_PAUSE_SECONDS, CLOSE_SECONDS = 0.8, 10.0
"""A run that a person is watching is polled this often in its first seconds."""
FIRST_EVENT_SECONDS, SILENT_SECONDS = 2.0, 20.0
"""A stream that sends nothing for so long, two heartbeats, is checked by a poll."""
MIN_SPREAD_AGE = 0.4
SPREAD, MANY_SHARED = 1.8, 32
"""Where no duration is known, how many of the other runs are polled for each poll of the probe; in batches, more."""
EARLY_SHARE, EARLY_SHARE_WHEN_VAGUE, EARLY_AGES = 1 / 8, 1 / 2, (0.4, 0.95)
"""The share of runs polled once before their expected end, and how early: this shows when a model has become quicker."""


@dataclass(slots=True, eq=False)
class TrackedRun:
    """A run that is polled until it ends, and what its polls have shown. All times are those of the event loop."""

    endpoint_id: str
    request_id: str
    on_status: Callable[[QueueStatus], None]
    final: asyncio.Future[QueueStatus]
    model: ModelPolling
    submitted_at: float
    tracked_since: float
    closely: bool
    """Whether a person is watching it."""
    refused_seconds: float = REFUSED_SECONDS
    """How many seconds long it is polled while every poll is refused."""
    due_at: float = math.inf
    is_polling: bool = False
    stream: asyncio.Task[None] | None = None
    """The task that reads the service's stream of its status, where there is one."""
    reported: tuple[Any, ...] | None = None
    """What the latest status reported."""
    alone: bool = False
    """Whether its next poll is a call of its own, because a batch did not report it."""
    missed_batches: int = 0
    """How many batches did not report it."""
    retry_at: float | None = None
    """When to poll it next, whatever is known of its model."""
    polled_age: float = 0.0
    """Its age at the last poll that was answered; 0 before the first."""
    polled_at: float = -math.inf
    """When the last poll was sent."""
    predicted_end: float | None = None
    """When it ends, according to its own progress."""
    hints: int = 0
    """How many times its progress or queue place has predicted its end without the run having ended."""
    queued_at: float | None = None
    """When it was last seen in the queue."""
    started_at: float | None = None
    """When it was first seen in progress after that."""
    predicted_start: float | None = None
    """When it starts or started, as exactly as is known; None if it was never seen in the queue."""
    worked_seconds: float = 0.0
    """For how long it has been in progress at least, at the last poll."""
    queue_place: tuple[int, float] | None = None
    """Its place in the queue, and when that was so."""
    first_progress: tuple[float, float] | None = None
    """The first progress that was reported, and when."""
    random_steps: float = field(default_factory=lambda: random.expovariate(1.0))
    early_poll: tuple[float, float] = field(default_factory=lambda: (random.random(), random.uniform(*EARLY_AGES)))
    """A random number that decides whether it is polled early, and the share of its expected age at which."""
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
        reported = (status.status, status.queue_position, status.metrics)
        before, self.reported = self.reported, reported
        return before != reported

    def record_poll(self, status: QueueStatus, polled_at: float) -> None:
        """Learn from a poll that found the run unfinished."""
        self.failures, self.failing_since, self.retry_at = 0, None, None
        # A run that batches keep leaving out is not put into one again.
        self.alone = self.missed_batches > 1
        self._withdraw_unfinished()
        self.polled_age = max(polled_at - self.submitted_at, self.polled_age, 1e-6)
        self.random_steps = random.expovariate(1.0)
        if status.status == IN_QUEUE:
            self._record_queue_place(status.queue_position, polled_at)
        else:
            self._record_progress((status.metrics or {}).get("progress"), polled_at)
        self.worked_seconds = 0.0 if self.started_at is None else polled_at - self.started_at
        self._record_unfinished()

    def leave_model(self) -> None:
        """Remove the run from the state of its model."""
        self._withdraw_unfinished()
        self.model.remove(self)

    def record_end(self, status: QueueStatus, now: float) -> None:
        """Add its duration to those of its model: it ended by now."""
        if getattr(status, "error", None):
            # A run that failed says nothing about how long the good ones take.
            return
        by, reported = now - self.submitted_at, _reported_seconds(status)
        if reported is not None and self.polled_age <= reported <= by:
            self.model.durations.record_end(reported, reported)
        elif self.polled_age or self.tracked_since - self.submitted_at <= 0.5 * by:
            # Of a run from long ago that has ended at some time since, nothing is learnt.
            self.model.durations.record_end(self.polled_age, by)
        if self.queued_at is not None:
            self.model.work_durations.record_end(self.worked_seconds, now - self.queued_at)

    def _record_unfinished(self) -> None:
        self.model.durations.record_unfinished(self.polled_age)
        if self.worked_seconds:
            self.model.work_durations.record_unfinished(self.worked_seconds)

    def _withdraw_unfinished(self) -> None:
        if self.polled_age:
            self.model.durations.withdraw_unfinished(self.polled_age)
        if self.worked_seconds:
            self.model.work_durations.withdraw_unfinished(self.worked_seconds)

    def choose_poll_time(self, run_count: int, *, shared: bool) -> float:
        """When to poll it next, among so many runs in all; `shared`: one call polls several of them.

        The run becomes a probe of its model, or ceases to be one.
        """
        if self.retry_at is not None:
            self.model.release_probe(self)
            return self.retry_at
        if self.stream is not None:
            return max(self.polled_at + SILENT_SECONDS, self.tracked_since + FIRST_EVENT_SECONDS)
        max_pause = (
            MAX_PAUSE_SECONDS
            if shared
            else min(max(run_count / MANY_RUNS, 1.0) * MAX_PAUSE_SECONDS, MAX_PAUSE_OF_MANY_SECONDS)
        )
        if self.closely:
            is_young = self.polled_age < CLOSE_SECONDS
            close_pause = CLOSE_PAUSE_SECONDS if is_young else max(CLOSE_PAUSE_SECONDS, 0.1 * self.polled_age)
            max_pause = min(max_pause, close_pause)
        return min(self._best_poll_time(shared), max(self.polled_at, self.tracked_since) + max_pause)

    def _best_poll_time(self, shared: bool) -> float:
        """When a poll is worth most, by the run's own progress or the durations of its model."""
        due: float | None
        # Hints that do not come true are trusted less and less.
        wait = 0.5 * tolerable_delay(self.polled_age) * 1.3 ** min(self.hints, 4)
        earliest = self.submitted_at + self.polled_age + wait
        if self.predicted_end is not None:
            due = max(self.predicted_end, earliest)
        elif self.predicted_start is not None:
            worked = max(self.submitted_at + self.polled_age - self.predicted_start, 0.0)
            age = self.model.work_durations.next_poll_age(worked)
            due = None if age is None else max(self.predicted_start + age, earliest)
        else:
            age = self.model.durations.next_poll_age(self.polled_age)
            due = None if age is None else self.submitted_at + age * self._early_factor()
        if due is None:
            return self._unpredicted_poll_time(shared)
        self.model.release_probe(self)
        if next(iter(self.model.runs)) is self and (steps := self.model.trial_steps):
            # The first run verifies the estimate.
            return min(due, self.submitted_at + age_after_steps(self.polled_age, steps))
        return due

    def _early_factor(self) -> float:
        """The share of its expected age at which it is polled first; some are polled early, to learn from it."""
        chance, early = self.early_poll
        share = EARLY_SHARE_WHEN_VAGUE if self.model.durations.is_vague else EARLY_SHARE
        return early if chance < share and not self.polled_age else 1.0

    def _unpredicted_poll_time(self, shared: bool) -> float:
        """When to poll where no duration is known: the model's probes are polled often, the others now and then."""
        is_probe = self.model.claim_probe(self)
        origin, age = (self.submitted_at, self.polled_age)
        if self.predicted_start is not None and self.started_at is not None:
            origin, age = self.predicted_start, origin + age - self.predicted_start
        if is_probe:
            due = origin + (age_after_steps(age, 0.5 if shared else 1.0) if self.polled_age else FIRST_POLL_SECONDS)
        else:
            steps = self.random_steps * len(self.model.unpredicted) / SPREAD
            if shared:
                steps = min(steps, max(1.0, len(self.model.unpredicted) / MANY_SHARED))
            due = origin + age_after_steps(max(age, MIN_SPREAD_AGE), steps)
        return due if self.predicted_start is None else max(due, self.predicted_start)

    def _record_queue_place(self, place: int | None, polled_at: float) -> None:
        """In the queue: it starts once the runs ahead of it are finished, at the pace at which the queue moves."""
        self.first_progress = self.predicted_end = self.started_at = None
        self.queued_at = self.predicted_start = polled_at
        if place is None or place < 0:
            return
        if self.queue_place is not None and self.queue_place[0] > place and polled_at > self.queue_place[1]:
            self.model.record_queue_move(self.queue_place[0] - place, polled_at - self.queue_place[1])
        self.queue_place = (place, polled_at)
        if self.model.seconds_per_place is not None:
            self.predicted_start = polled_at + place * self.model.seconds_per_place
            self.hints += 1

    def _record_progress(self, progress: Any, polled_at: float) -> None:
        """In progress: the rest takes as long as what is done took, in proportion."""
        self.predicted_end = None
        if self.queued_at is not None and self.predicted_start is not None and self.started_at is None:
            self.started_at, self.predicted_start, self.hints = polled_at, min(self.predicted_start, polled_at), 0
        if isinstance(progress, bool) or not isinstance(progress, (int, float)) or not 0.03 <= progress < 1:
            return
        if self.first_progress is None or progress < self.first_progress[0]:
            # When it started is a guess, so the first figure only says when to poll for the second.
            start = self.submitted_at if self.predicted_start is None else self.predicted_start
            self.first_progress = (float(progress), polled_at)
            self.predicted_end = polled_at + min((1 - progress) / progress, 1.0) * max(polled_at - start, 0.0)
        elif progress > self.first_progress[0] and polled_at > self.first_progress[1]:
            first, first_at = self.first_progress
            self.predicted_end = polled_at + (1 - progress) * (polled_at - first_at) / (progress - first)
        self.hints += self.predicted_end is not None


def _reported_seconds(status: QueueStatus) -> float | None:
    """How long the run took, where the service reports it."""
    reported = [(status.metrics or {}).get(name) for name in ("queue_time", "inference_time")]
    seconds = [
        value for value in reported if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
    ]
    return sum(seconds) if len(seconds) == len(reported) and sum(seconds) > 0 else None


def age_after_steps(age: float, steps: float) -> float:
    """The age after so many polls, which come at first at an even pace and then ever more rarely.

    >>> round(age_after_steps(0, 2), 3), round(age_after_steps(10, 1), 3)
    (0.2, 11.052)
    """
    knee = FIRST_INTERVAL_SECONDS / INTERVAL_GROWTH
    if age < knee:
        even = (knee - age) / FIRST_INTERVAL_SECONDS
        if steps <= even:
            return age + steps * FIRST_INTERVAL_SECONDS
        age, steps = knee, steps - even
    return age * math.exp(min(INTERVAL_GROWTH * steps, 50.0))
