"""The sweeps and races of a studio: their ended runs, read in the background, and their cost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...decide.race.race import Race
from ...storage.run_status import ENDED, RunStatus
from ...sweeps.job import SweepJob
from ...sweeps.table_files import find_paths
from .gallery_cards import LibraryRun

if TYPE_CHECKING:
    from ..forms.form import Form

SweepOrRace = SweepJob | Race
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
        self._jobs: dict[SweepOrRace, tuple[int, float, type[Any]]] = {}
        """The number of each, when it was first seen, and its model."""
        self._stages_read: dict[SweepOrRace, tuple[int, bool]] = {}
        """How many runs had ended when each table was last read, and whether the sweep was done."""
        self._items: dict[SweepOrRace, list[LibraryRun]] = {}
        self._guard = threading.Lock()
        self._is_busy = False

    @property
    def jobs(self) -> tuple[SweepJob, ...]:
        """The sweeps, the oldest first."""
        return tuple(job for job in self._jobs if isinstance(job, SweepJob))

    @property
    def sources(self) -> tuple[SweepOrRace, ...]:
        """The sweeps and races, the oldest first."""
        return tuple(self._jobs)

    @property
    def is_over(self) -> bool:
        """Whether all have ended and their runs were read."""
        return all(self._stages_read.get(job, (0, False))[1] for job in self.sources)

    @property
    def key(self) -> tuple[int, ...]:
        """A key that changes with the progress of the sweeps and the runs read."""
        jobs = self.sources
        ends = sum(_count_ended(job) for job in jobs), sum(job.is_done for job in jobs)
        return len(jobs), *ends, len(self.items())

    @property
    def cost(self) -> list[SweepCost]:
        """The cost of each since it was started here."""
        found = []
        for job in self.sources:
            if isinstance(job, Race):
                found.append(_find_race_cost(job))
                continue
            progress = job.progress
            found.append(
                SweepCost(
                    progress.spent_now,
                    progress.counts[RunStatus.COMPLETED] - progress.from_library,
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
            jobs: tuple[SweepOrRace, ...] = (*form.jobs, *form.races)
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


def _count_ended(job: SweepOrRace) -> int:
    """How many runs have ended."""
    if isinstance(job, Race):
        progress = job.progress
        return progress.runs - (progress.round_runs - progress.round_done)
    return job.progress.finished


def _find_race_cost(race: Race) -> SweepCost:
    """The cost of a race since it was started here; without a cost its runs were paid for earlier."""
    progress = race.progress
    under_way = progress.round_runs - progress.round_done
    return SweepCost(progress.spent_now, progress.runs - under_way if progress.spent_now else 0, under_way)


def _read_stage(job: SweepOrRace) -> tuple[int, bool]:
    # Read in this order, so that a run that ends meanwhile causes another read.
    is_done = job.is_done
    return _count_ended(job), is_done


def _read_runs(job: SweepOrRace, number: int, kind: type[Any]) -> list[LibraryRun]:
    frame = job.table if isinstance(job, Race) else job.frame
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
