"""The sweeps and races of a studio: their ended runs, read in the background, and their cost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...decide.race.sentences import RaceProgress
from ...storage.run_status import ENDED, RunStatus
from ...sweeps.table_files import find_paths
from .gallery_cards import LibraryRun

if TYPE_CHECKING:
    from ..forms.form import Form
    from ..forms.started import Started

MAX_ROWS = 120
"""Runs of one sweep in a gallery; its table has all of them."""


class SweepCost(NamedTuple):
    """The cost of a sweep since it was started here."""

    credits: int
    runs: int
    under_way: int


class StudioSweeps:
    """What the sweeps and races started by the forms of a studio have made, and what they cost."""

    def __init__(self, forms: Callable[[], Sequence[Form]]) -> None:
        self._forms = forms
        self._read: dict[Started, tuple[tuple[int, bool], list[LibraryRun]]] = {}
        """How many runs had ended when the table of each was last read, whether it was done, and its runs."""
        self._guard = threading.Lock()
        self._is_busy = False

    @property
    def started(self) -> list[tuple[Started, Form]]:
        """The sweeps and races under way or done, the oldest first, each with its form."""
        found = [(entry, form) for form in self._forms() for entry in form.sweep_entries if entry.running is not None]
        return sorted(found, key=lambda pair: pair[0].started_at)

    @property
    def is_over(self) -> bool:
        """Whether all have ended and their runs were read."""
        return all(entry in self._read and self._read[entry][0][1] for entry, _ in self.started)

    @property
    def key(self) -> tuple[Any, ...]:
        """A key that changes with the progress of the sweeps and the runs read."""
        return *(_find_stage(entry) for entry, _ in self.started), len(self.items())

    @property
    def cost(self) -> list[SweepCost]:
        """The cost of each since it was started here."""
        return [_find_cost(entry) for entry, _ in self.started]

    def items(self) -> list[tuple[float, LibraryRun]]:
        """The ended runs, each with the start of its sweep, the oldest first."""
        with self._guard:
            return [(entry.started_at, item) for entry, (_, items) in self._read.items() for item in items]

    def read(self, in_background: Callable[[str, Callable[[], None]], None], done: Callable[[], None]) -> None:
        """Read the tables of the sweeps that have progressed, in one background thread at a time."""
        started = self.started
        with self._guard:
            changed = [
                (number, entry, form)
                for number, (entry, form) in enumerate(started, 1)
                if self._read.get(entry, (None, None))[0] != _find_stage(entry)
            ]
            if self._is_busy or not changed:
                return
            self._is_busy = True

        def work() -> None:
            try:
                for number, entry, form in changed:
                    stage, items = _find_stage(entry), self._read.get(entry, (None, []))[1]
                    try:
                        items = _read_runs(entry, number, form.kind)
                    finally:
                        # Also after a failure: it is retried when the sweep has progressed.
                        with self._guard:
                            self._read[entry] = stage, items
            finally:
                self._is_busy = False
                done()

        in_background("sweeps", work)


def _find_stage(entry: Started) -> tuple[int, bool]:
    """How many runs have ended, and whether it is done; read in this order, so that a later end causes another read."""
    is_done = entry.is_over
    progress: Any = None if entry.running is None else entry.running.progress
    if isinstance(progress, RaceProgress):
        return progress.runs - (progress.round_runs - progress.round_done), is_done
    return (0 if progress is None else progress.finished), is_done


def _find_cost(entry: Started) -> SweepCost:
    """The cost since it was started here; a race without one has found its runs paid for earlier."""
    progress: Any = None if entry.running is None else entry.running.progress
    if isinstance(progress, RaceProgress):
        under_way = progress.round_runs - progress.round_done
        return SweepCost(progress.spent_now, progress.runs - under_way if progress.spent_now else 0, under_way)
    completed = progress.counts[RunStatus.COMPLETED] - progress.from_library
    return SweepCost(progress.spent_now, completed, progress.under_way)


def _read_runs(entry: Started, number: int, kind: type[Any]) -> list[LibraryRun]:
    frame = entry.table
    if frame is None:
        return []
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
