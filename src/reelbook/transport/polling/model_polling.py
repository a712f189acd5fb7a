"""The followed runs of one model, and what they teach about each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .durations import Durations

if TYPE_CHECKING:
    from .tracked_run import Followed

DOUBTING_STEPS, FEW_ENDS = 4.0, 4
"""What is known from earlier days only, or from so few ends, is tried out on one run."""
LATER_SECONDS = 2.0
"""Runs that come so much later than others are another company."""


@dataclass(slots=True, eq=False)
class Kin:
    """The followed runs of one model, and what they teach about each other."""

    durations: Durations
    """From submission to end."""
    working: Durations = field(default_factory=Durations)
    """From leaving the queue to end, for runs that were seen in it."""
    runs: dict[Followed, None] = field(default_factory=dict)
    unknown: dict[Followed, None] = field(default_factory=dict)
    """Those of which nobody knows when they end, the oldest first."""
    newcomer: Followed | None = None
    """The first of those that came much later than the oldest."""
    newcomers: int = 0
    followed: int = 0
    """How many runs were followed so far."""
    place_seconds: float | None = None
    """How long it takes to move up one place in the queue."""

    def enter(self, run: Followed) -> None:
        """One run more."""
        self.runs[run] = None
        self.followed += 1

    def leave(self, run: Followed) -> None:
        """One run less."""
        self.runs.pop(run, None)
        self.know(run)

    def know(self, run: Followed) -> None:
        """Something is known of when this run ends, or it cannot look out for others."""
        self.unknown.pop(run, None)
        if self.newcomer is run:
            self.newcomer = None

    def claim_probe(self, run: Followed) -> bool:
        """Whether this run, of which nothing is known, is asked often for the sake of all: the oldest is, and one more.

        The oldest is asked ever more rarely, so those that come much later need one of their own age. One in several
        may be that, because it costs many looks.
        """
        self.unknown[run] = None
        oldest = next(iter(self.unknown))
        before = self.newcomer or oldest
        pause = LATER_SECONDS if self.newcomer is None else 5 * LATER_SECONDS
        if run.since - before.since >= pause and self.newcomers <= self.followed / 8:
            self.newcomer, self.newcomers = run, self.newcomers + 1
        return run is oldest or run is self.newcomer

    def moved_up(self, places: int, seconds: float) -> None:
        """A run moved up so many places in this time."""
        pace, share = seconds / places, min(places / 8, 0.5)
        self.place_seconds = pace if self.place_seconds is None else (1 - share) * self.place_seconds + share * pace

    @property
    def doubt(self) -> float | None:
        """How many steps apart one run is asked while little is known for certain; None when enough is."""
        if not self.durations.seen:
            return DOUBTING_STEPS
        return 1.0 if self.durations.seen < FEW_ENDS and len(self.runs) >= 2 * FEW_ENDS else None

    def think(self, price: float) -> bool:
        """Draw conclusions where the news is worth it; says whether they are new."""
        known = [durations for durations in (self.durations, self.working) if durations.worth_thinking]
        changed = [durations.think(price) for durations in known]
        return any(changed)
