"""The sweeps and races of a studio: the runs of those that are over, and their cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...decide.race.sentences import RaceProgress
from ...storage.run_status import RunStatus

if TYPE_CHECKING:
    from ..forms.form import Form
    from ..forms.run_cards import LibraryRun
    from ..forms.started import Started


class SweepCost(NamedTuple):
    """The cost of a sweep since it was started here."""

    credits: int
    runs: int
    under_way: int


def list_started(forms: Sequence[Form]) -> list[Started]:
    """The sweeps and races of these forms under way or done, the oldest first."""
    found = [entry for form in forms for entry in form.sweep_entries if entry.running is not None]
    return sorted(found, key=lambda entry: entry.started_at)


def list_results(started: Iterable[Started]) -> list[tuple[float, str, LibraryRun]]:
    """What those that are over have made: the start of each sweep, the key of a run in the studio, and the run."""
    return [
        (entry.started_at, f"s{number}-{run.key}", run)
        for number, entry in enumerate(started)
        for run in entry.list_results()[0]
    ]


def find_stage(entry: Started) -> tuple[int, bool]:
    """How many runs have ended, and whether it is done."""
    progress: Any = None if entry.running is None else entry.running.progress
    if isinstance(progress, RaceProgress):
        return progress.runs - (progress.round_runs - progress.round_done), entry.is_over
    return (0 if progress is None else progress.finished), entry.is_over


def find_cost(entry: Started) -> SweepCost:
    """The cost since it was started here; a race without one has found its runs paid for earlier."""
    progress: Any = None if entry.running is None else entry.running.progress
    if isinstance(progress, RaceProgress):
        under_way = progress.round_runs - progress.round_done
        return SweepCost(progress.spent_now, progress.runs - under_way if progress.spent_now else 0, under_way)
    completed = progress.counts[RunStatus.COMPLETED] - progress.from_library
    return SweepCost(progress.spent_now, completed, progress.under_way)
