"""One run that is followed, and when to ask it next."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...models.queue_status import IN_QUEUE, QueueStatus
from ..paid_outcome import REFUSED_SECONDS
from .durations import patience
from .model_polling import Kin

SOONEST, GROWTH = 0.1, 0.1
"""Where nothing is known, the next look comes after this many seconds, or this share of the age if that is more."""
FIRST_LOOK = 0.06
LONGEST_PAUSE, LONGEST_PAUSE_OF_MANY, MANY = 15.0, 60.0, 120
"""No run waits longer than this for a look; when more than so many are followed, up to a minute."""
CLOSE_PAUSE, CLOSE_SECONDS = 0.8, 10.0
"""A run that a person looks at is asked this often in its first seconds."""
FIRST_EVENT_SECONDS, SILENT_SECONDS = 2.0, 20.0
"""A stream that says nothing for so long, two heartbeats, is checked by a look."""
BREADTH_FROM = 0.4
BREADTH, MANY_SHARED = 1.8, 32
"""Where nothing is known, how many of the others are asked for each look at the oldest; in batches, more of them."""
PEEKS, PEEKS_WHEN_VAGUE, EARLY = 1 / 8, 1 / 2, (0.4, 0.95)
"""The share of runs that are asked once before their time, and when: so it shows when a model has become quicker."""


@dataclass(slots=True, eq=False)
class Followed:
    """A run on its way, as far as looks have shown it. All moments are the loop's clock."""

    endpoint_id: str
    request_id: str
    tell: Callable[[QueueStatus], None]
    end: asyncio.Future[QueueStatus]
    kin: Kin
    since: float
    """When it was submitted."""
    began: float
    """When following began."""
    closely: bool
    refusals: float = REFUSED_SECONDS
    """How many seconds long it is asked again while it is refused."""
    due: float = math.inf
    asking: bool = False
    stream: asyncio.Task[None] | None = None
    """What listens to the service's own telling, where it does."""
    told: tuple[Any, ...] | None = None
    """What the latest status said."""
    alone: bool = False
    """Whether it is asked by itself next, because a batch did not tell about it."""
    missed: int = 0
    """How many batches did not tell about it."""
    retry_at: float | None = None
    """When to ask it again, whatever is known of its kin."""
    looked: float = 0.0
    """The age at the last look that was answered; 0 before the first."""
    asked: float = -math.inf
    """When the last look began."""
    ends: float | None = None
    """When it ends, going by its own progress."""
    hinted: int = 0
    """How many times its progress or place told when it ends, and it had not ended."""
    queued: float | None = None
    """When it was last seen in the queue."""
    started: float | None = None
    """When it was first seen at work after that."""
    starts: float | None = None
    """When its work begins or began, as well as can be told; None if it was never seen in the queue."""
    worked: float = 0.0
    """For how long it has been at work for certain, at the last look."""
    place: tuple[int, float] | None = None
    """Its place in the queue, and when that was so."""
    progress: tuple[float, float] | None = None
    """The first progress that was seen, and when."""
    luck: float = field(default_factory=lambda: random.expovariate(1.0))
    peek: tuple[float, float] = field(default_factory=lambda: (random.random(), random.uniform(*EARLY)))
    failures: int = 0
    failing_since: float | None = None
    silent: bool = False
    """Whether `tell` has failed and that was said."""

    @property
    def gone(self) -> bool:
        """Whether nobody waits for its end any more."""
        return self.end.done()

    def is_news(self, status: QueueStatus) -> bool:
        """Whether this says something else than the status before it."""
        said = (status.status, status.queue_position, status.metrics)
        before, self.told = self.told, said
        return before != said

    def take_in(self, status: QueueStatus, asked: float) -> None:
        """Learn from a look at the run while it is going."""
        self.failures, self.failing_since, self.retry_at = 0, None, None
        # A run that batches keep leaving out is not put into one again.
        self.alone = self.missed > 1
        self._forget_going()
        self.looked = max(asked - self.since, self.looked, 1e-6)
        self.luck = random.expovariate(1.0)
        if status.status == IN_QUEUE:
            self._take_place(status.queue_position, asked)
        else:
            self._take_progress((status.metrics or {}).get("progress"), asked)
        self.worked = 0.0 if self.started is None else asked - self.started
        self._tell_going()

    def take_leave(self) -> None:
        """Leave the kin."""
        self._forget_going()
        self.kin.leave(self)

    def take_end(self, status: QueueStatus, now: float) -> None:
        """Tell the kin that it ended by now."""
        if getattr(status, "error", None):
            # A run that failed says nothing about how long the good ones take.
            return
        by, told = now - self.since, _told_seconds(status)
        if told is not None and self.looked <= told <= by:
            self.kin.durations.ended(told, told)
        elif self.looked or self.began - self.since <= 0.5 * by:
            # A run from long ago that has ended some time since teaches nothing.
            self.kin.durations.ended(self.looked, by)
        if self.queued is not None:
            self.kin.working.ended(self.worked, now - self.queued)

    def _tell_going(self) -> None:
        self.kin.durations.going(self.looked)
        if self.worked:
            self.kin.working.going(self.worked)

    def _forget_going(self) -> None:
        if self.looked:
            self.kin.durations.forget_going(self.looked)
        if self.worked:
            self.kin.working.forget_going(self.worked)

    def plan(self, many: int, *, shared: bool) -> float:
        """When to ask it next, among so many runs in all; whether the call is shared with others."""
        if self.retry_at is not None:
            self.kin.know(self)
            return self.retry_at
        if self.stream is not None:
            return max(self.asked + SILENT_SECONDS, self.began + FIRST_EVENT_SECONDS)
        longest = LONGEST_PAUSE if shared else min(max(many / MANY, 1.0) * LONGEST_PAUSE, LONGEST_PAUSE_OF_MANY)
        if self.closely:
            longest = min(longest, CLOSE_PAUSE if self.looked < CLOSE_SECONDS else max(CLOSE_PAUSE, 0.1 * self.looked))
        return min(self._expected(shared), max(self.asked, self.began) + longest)

    def _expected(self, shared: bool) -> float:
        due: float | None
        # Hints that do not come true are trusted less and less.
        least = self.since + self.looked + 0.5 * patience(self.looked) * 1.3 ** min(self.hinted, 4)
        if self.ends is not None:
            due = max(self.ends, least)
        elif self.starts is not None:
            age = self.kin.working.next_age(max(self.since + self.looked - self.starts, 0.0))
            due = None if age is None else max(self.starts + age, least)
        else:
            age = self.kin.durations.next_age(self.looked)
            due = None if age is None else self.since + age * self._earliness()
        if due is None:
            return self._groping(shared)
        self.kin.know(self)
        if next(iter(self.kin.runs)) is self and (steps := self.kin.doubt):
            # The first run finds out whether what is known holds.
            return min(due, self.since + later(self.looked, steps))
        return due

    def _earliness(self) -> float:
        """The share of its expected age at which it is asked first; some are asked early, to learn from it."""
        chance, early = self.peek
        often = PEEKS_WHEN_VAGUE if self.kin.durations.vague else PEEKS
        return early if chance < often and not self.looked else 1.0

    def _groping(self, shared: bool) -> float:
        """When to ask where nothing is known: the oldest of the kin is asked often, the others now and then."""
        claim_probe = self.kin.claim_probe(self)
        origin, age = (self.since, self.looked)
        if self.starts is not None and self.started is not None:
            origin, age = self.starts, origin + age - self.starts
        if claim_probe:
            due = origin + (later(age, 0.5 if shared else 1.0) if self.looked else FIRST_LOOK)
        else:
            steps = self.luck * len(self.kin.unknown) / BREADTH
            if shared:
                steps = min(steps, max(1.0, len(self.kin.unknown) / MANY_SHARED))
            due = origin + later(max(age, BREADTH_FROM), steps)
        return due if self.starts is None else max(due, self.starts)

    def _take_place(self, place: int | None, asked: float) -> None:
        """In the queue: its work begins when those ahead are through, as quickly as the queue moves."""
        self.progress = self.ends = self.started = None
        self.queued = self.starts = asked
        if place is None or place < 0:
            return
        if self.place is not None and self.place[0] > place and asked > self.place[1]:
            self.kin.moved_up(self.place[0] - place, asked - self.place[1])
        self.place = (place, asked)
        if self.kin.place_seconds is not None:
            self.starts = asked + place * self.kin.place_seconds
            self.hinted += 1

    def _take_progress(self, done: Any, asked: float) -> None:
        """At work: what is left takes as long as what is done took, in proportion."""
        self.ends = None
        if self.queued is not None and self.starts is not None and self.started is None:
            self.started, self.starts, self.hinted = asked, min(self.starts, asked), 0
        if isinstance(done, bool) or not isinstance(done, (int, float)) or not 0.03 <= done < 1:
            return
        if self.progress is None or done < self.progress[0]:
            # When it began is a guess, so the first figure only says when to look for the second.
            begun, self.progress = self.since if self.starts is None else self.starts, (float(done), asked)
            self.ends = asked + min((1 - done) / done, 1.0) * max(asked - begun, 0.0)
        elif done > self.progress[0] and asked > self.progress[1]:
            self.ends = asked + (1 - done) * (asked - self.progress[1]) / (done - self.progress[0])
        self.hinted += self.ends is not None


def _told_seconds(status: QueueStatus) -> float | None:
    """How long it took, where the service tells."""
    told = [(status.metrics or {}).get(name) for name in ("queue_time", "inference_time")]
    seconds = [
        value for value in told if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
    ]
    return sum(seconds) if len(seconds) == len(told) and sum(seconds) > 0 else None


def later(age: float, steps: float) -> float:
    """The age so many looks later, when looks come at first at an even pace and then ever more rarely.

    >>> round(later(0, 2), 3), round(later(10, 1), 3)
    (0.2, 11.052)
    """
    knee = SOONEST / GROWTH
    if age < knee:
        even = (knee - age) / SOONEST
        if steps <= even:
            return age + steps * SOONEST
        age, steps = knee, steps - even
    return age * math.exp(min(GROWTH * steps, 50.0))
