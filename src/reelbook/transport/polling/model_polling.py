"""Polling state shared by the tracked runs of one model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .durations import DurationEstimate

if TYPE_CHECKING:
    from .tracked_run import TrackedRun

TRIAL_STEPS, FEW_ENDS = 4.0, 4
"""An estimate from earlier sessions only, or from so few ends, is verified on one run, polled every so many steps."""
LATER_SECONDS = 2.0
"""Runs submitted so much later than the oldest probe may get a probe of their own age."""


@dataclass(slots=True, eq=False)
class ModelPolling:
    """Polling state shared by the tracked runs of one model.

    A probe is a run of unknown duration that is polled often, so that its end shows how long the others will take.
    """

    durations: DurationEstimate
    """From submission to end."""
    work_durations: DurationEstimate = field(default_factory=DurationEstimate)
    """From leaving the queue to end, for runs that were seen in it."""
    runs: dict[TrackedRun, None] = field(default_factory=dict)
    unpredicted: dict[TrackedRun, None] = field(default_factory=dict)
    """The runs whose end cannot be estimated, the oldest first."""
    late_probe: TrackedRun | None = None
    """The first of those that were submitted much later than the oldest."""
    late_probe_count: int = 0
    total_runs: int = 0
    """How many runs were tracked so far."""
    seconds_per_place: float | None = None
    """How long it takes to move up one place in the queue."""

    def add(self, run: TrackedRun) -> None:
        """Start tracking a run."""
        self.runs[run] = None
        self.total_runs += 1

    def remove(self, run: TrackedRun) -> None:
        """Stop tracking a run."""
        self.runs.pop(run, None)
        self.release_probe(run)

    def release_probe(self, run: TrackedRun) -> None:
        """The run is no probe, because its end can be estimated, or because it cannot be polled often."""
        self.unpredicted.pop(run, None)
        if self.late_probe is run:
            self.late_probe = None

    def claim_probe(self, run: TrackedRun) -> bool:
        """Register a run of unknown duration; true if it is to be polled often on behalf of its model.

        The oldest is, and one more: the oldest is polled ever more rarely, so those that are submitted much later need
        a probe of their own age. At most one run in eight may be that, because it costs many polls.
        """
        self.unpredicted[run] = None
        oldest = next(iter(self.unpredicted))
        before = self.late_probe or oldest
        pause = LATER_SECONDS if self.late_probe is None else 5 * LATER_SECONDS
        if run.submitted_at - before.submitted_at >= pause and self.late_probe_count <= self.total_runs / 8:
            self.late_probe, self.late_probe_count = run, self.late_probe_count + 1
        return run is oldest or run is self.late_probe

    def record_queue_move(self, places: int, seconds: float) -> None:
        """A run moved up so many places in the queue in this time."""
        pace, share = seconds / places, min(places / 8, 0.5)
        before = self.seconds_per_place
        self.seconds_per_place = pace if before is None else (1 - share) * before + share * pace

    @property
    def trial_steps(self) -> float | None:
        """How many steps apart one run is polled to verify an uncertain estimate; None once it is certain enough."""
        if not self.durations.observed_ends:
            return TRIAL_STEPS
        return 1.0 if self.durations.observed_ends < FEW_ENDS and len(self.runs) >= 2 * FEW_ENDS else None

    def update_estimates(self, poll_price: float) -> bool:
        """Compute those estimates anew for which enough was observed; true if the poll ages changed."""
        outdated = [estimate for estimate in (self.durations, self.work_durations) if estimate.is_outdated]
        changed = [estimate.update(poll_price) for estimate in outdated]
        return any(changed)
