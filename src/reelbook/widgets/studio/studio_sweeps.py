"""The sweeps of a studio: their ended runs, read in the background, and their cost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...sweeps.execute.sweep_status import WITHOUT_RESULT, SweepStatus
from ...sweeps.results.table_files import find_paths
from .gallery_cards import LibraryRun

if TYPE_CHECKING:
    from ...sweeps.execute.job import SweepJob
    from ..forms.form import Form

ENDED = (SweepStatus.COMPLETED, *WITHOUT_RESULT)
"""States of runs with something to display."""
MAX_ROWS = 120
"""Runs of one sweep in a gallery; its table has all of them."""


class SweepCost(NamedTuple):
    """The cost of a sweep since it was started here."""

    credits: int
    runs: int
    under_way: int


class StudioSweeps:
    """The sweeps started by the forms of a studio."""

    def __init__(self) -> None:
        self._jobs: dict[SweepJob, tuple[int, float, type[Any]]] = {}
        """The number of each, when it was first seen, and its model."""
        self._stages_read: dict[SweepJob, tuple[int, bool]] = {}
        """How many runs had ended when each table was last read, and whether the sweep was done."""
        self._items: dict[SweepJob, list[LibraryRun]] = {}
        self._guard = threading.Lock()
        self._is_busy = False

    @property
    def jobs(self) -> tuple[SweepJob, ...]:
        """The sweeps, the oldest first."""
        return tuple(self._jobs)

    @property
    def is_over(self) -> bool:
        """Whether all have ended and their runs were read."""
        return all(self._stages_read.get(job, (0, False))[1] for job in self.jobs)

    @property
    def key(self) -> tuple[int, ...]:
        """A key that changes with the progress of the sweeps and the runs read."""
        jobs = self.jobs
        ends = sum(job.progress.finished for job in jobs), sum(job.is_done for job in jobs)
        return len(jobs), *ends, len(self.items())

    @property
    def cost(self) -> list[SweepCost]:
        """The cost of each since it was started here."""
        found = []
        for job in self.jobs:
            progress = job.progress
            found.append(
                SweepCost(
                    progress.spent_now,
                    progress.counts[SweepStatus.COMPLETED] - progress.from_library,
                    progress.under_way,
                )
            )
        return found

    def items(self) -> list[tuple[float, LibraryRun]]:
        """The ended runs, each with the start of its sweep, the oldest first."""
        with self._guard:
            return [(self._jobs[job][1], item) for job, items in self._items.items() for item in items]

    def update(self, forms: Sequence[Form]) -> None:
        """Add the sweeps that these forms have started since."""
        for form in forms:
            jobs = form.jobs
            with self._guard:
                new = [job for job in jobs if job not in self._jobs]
                first = len(self._jobs) + 1
                # A new dictionary: another thread may be iterating over the old one.
                added = {job: (first + place, time.time(), form.kind) for place, job in enumerate(new)}
                self._jobs = {**self._jobs, **added}

    def read(self, in_background: Callable[[str, Callable[[], None]], None], done: Callable[[], None]) -> None:
        """Read the tables of the sweeps that have progressed, in one background thread at a time."""
        with self._guard:
            changed = [job for job in self._jobs if self._stages_read.get(job) != _read_stage(job)]
            if self._is_busy or not changed:
                return
            self._is_busy = True

        def work() -> None:
            try:
                for job in changed:
                    stage = _read_stage(job)
                    number, _, kind = self._jobs[job]
                    try:
                        items = _read_runs(job, number, kind)
                    finally:
                        # Also after a failure: it is retried when the sweep has progressed.
                        self._stages_read[job] = stage
                    with self._guard:
                        self._items[job] = items
            finally:
                self._is_busy = False
                done()

        in_background("sweeps", work)


def _read_stage(job: SweepJob) -> tuple[int, bool]:
    # Read in this order, so that a run that ends meanwhile causes another read.
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
        for row, cells, paths in zip(ended.index, rows, find_paths(ended), strict=True)
    ]
