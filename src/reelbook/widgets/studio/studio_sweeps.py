"""The sweeps of a studio: what they have made so far, read in the background, and what they have cost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...sweeps.execute.progress import CANCELLED, COMPLETED, FAILED, UNCERTAIN, UNFINISHED
from ...sweeps.results.accessor import Reel
from .gallery_cards import LibraryRun

if TYPE_CHECKING:
    from ...sweeps.execute.job import SweepJob
    from ..forms.form import Form

ENDED = (COMPLETED, FAILED, CANCELLED, UNFINISHED, UNCERTAIN)
"""How a run stands of which there is something to see or to say."""
MAX_ROWS = 120
"""Runs of one sweep that a gallery shows; all of them are in its table."""


class SweepCost(NamedTuple):
    """What a sweep has cost since it was started here."""

    credits: int
    runs: int
    under_way: int


class StudioSweeps:
    """The sweeps that the forms of a studio have started."""

    def __init__(self) -> None:
        self._jobs: dict[SweepJob, tuple[int, float, type[Any]]] = {}
        """Of each its number, when it was first seen, and its model."""
        self._stages_read: dict[SweepJob, tuple[int, bool]] = {}
        """How many runs had ended when a table was read last, and whether that was the end."""
        self._items: dict[SweepJob, list[LibraryRun]] = {}
        self._guard = threading.Lock()
        self._is_busy = False

    @property
    def jobs(self) -> tuple[SweepJob, ...]:
        """The sweeps, the oldest first."""
        return tuple(self._jobs)

    @property
    def is_over(self) -> bool:
        """Whether all have ended, and what they made is known here."""
        return all(self._stages_read.get(job, (0, False))[1] for job in self.jobs)

    @property
    def key(self) -> tuple[int, ...]:
        """How far all of them are, and how much of it is known here, in short."""
        jobs = self.jobs
        ends = sum(job.progress.finished for job in jobs), sum(job.is_done for job in jobs)
        return len(jobs), *ends, len(self.items())

    @property
    def cost(self) -> list[SweepCost]:
        """What each has cost since it was started here."""
        found = []
        for job in self.jobs:
            progress = job.progress
            found.append(
                SweepCost(progress.spent_now, progress.counts[COMPLETED] - progress.from_library, progress.under_way)
            )
        return found

    def items(self) -> list[tuple[float, LibraryRun]]:
        """What the sweeps have made, each run with the time of its sweep, the oldest first."""
        with self._guard:
            return [(self._jobs[job][1], item) for job, items in self._items.items() for item in items]

    def update(self, forms: Sequence[Form]) -> None:
        """See which sweeps there are."""
        for form in forms:
            jobs = form.jobs
            with self._guard:
                new = [job for job in jobs if job not in self._jobs]
                first = len(self._jobs) + 1
                # In place of the ones before, through which somebody may be going at this moment.
                seen = {job: (first + place, time.time(), form.kind) for place, job in enumerate(new)}
                self._jobs = {**self._jobs, **seen}

    def read(self, in_background: Callable[[str, Callable[[], None]], None], done: Callable[[], None]) -> None:
        """Read the tables of those that have gone on, one after the other and never twice at a time."""
        with self._guard:
            wanted = [job for job in self._jobs if self._stages_read.get(job) != _read_stage(job)]
            if self._is_busy or not wanted:
                return
            self._is_busy = True

        def work() -> None:
            try:
                for job in wanted:
                    stage = _read_stage(job)
                    number, _, kind = self._jobs[job]
                    try:
                        items = _read_runs(job, number, kind)
                    finally:
                        # Also where it failed: it is tried again when there is something new.
                        self._stages_read[job] = stage
                    with self._guard:
                        self._items[job] = items
            finally:
                self._is_busy = False
                done()

        in_background("sweeps", work)


def _read_stage(job: SweepJob) -> tuple[int, bool]:
    # Asked in this order: what ends meanwhile is read once more.
    is_done = job.is_done
    return job.progress.finished, is_done


def _read_runs(job: SweepJob, number: int, kind: type[Any]) -> list[LibraryRun]:
    frame = job.frame
    ended = frame[frame["status"].isin(ENDED)].tail(MAX_ROWS)
    rows: list[dict[Any, Any]] = ended.to_dict("records")
    return [
        LibraryRun(
            f"s{number}-{row}",
            {str(name): value for name, value in cells.items()},
            [Path(path) for path in paths],
            kind,
        )
        for row, cells, paths in zip(ended.index, rows, Reel(ended).paths(), strict=True)
    ]
