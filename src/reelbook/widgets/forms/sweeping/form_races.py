"""The races started by a form: their settings before the start, their state, and their runs for the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....decide.race.sentences import RaceProgress, RaceState
from ....display.formatting import STATE_SIGNS, join_with_dots, shorten
from ....display.race_card import format_race, render_race
from ....display.report.layout import format_named_value
from ....errors import ReelbookError
from ....media.local_file import LocalFile
from ....models.base import File
from ....storage.run_status import RunStatus
from ....sweeps.results.table_files import find_paths
from .race_measures import list_measures
from .sweep_clips import MAX_LABEL_LENGTH, MAX_RUNS, CompletedRun

if TYPE_CHECKING:
    from ....decide.race.race import Race
    from ....models.base import Input
    from ....sweeps.plan.plan import Plan
    from ....sweeps.plan.plan_rows import Known, Row
    from ...race_judging import RaceJudging

MAX_SETTINGS = 500
"""The most settings of a race, as `plan.race` has it."""
MAX_ERROR_LENGTH = 900


@dataclass(eq=False)
class StartedRace:
    """One press of Start, and the race that it started."""

    key: str
    plan: Plan
    number: int
    """The number of the displayed plan."""
    by: Any
    """What runs are judged by, as `plan.race` takes it."""
    spend: int
    """The most credits that it may spend from now on."""
    price: int | None
    code: str
    service: str
    """The service displayed when Start was pressed."""
    race: Race | None = None
    start_error: str = ""
    """Why there is no race."""
    is_stopping: bool = False
    is_end_published: bool = False
    """Whether its end was sent to the page."""
    judging: RaceJudging | None = None
    """The panel in which a person judges."""
    job: None = None
    """A race has a job for each round only."""
    _last: RaceProgress | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return bool(self.start_error) or (self.race is not None and self.race.is_done)

    @property
    def error(self) -> str:
        """Why there is no race, or why it has failed."""
        if self.race is None or not self.race.is_done:
            return self.start_error
        try:
            self.race.wait(0)
        except Exception as error:
            return str(error) or type(error).__name__
        return ""

    @property
    def progress(self) -> RaceProgress | None:
        """A snapshot of the race; the last one of a race that is over."""
        if self.race is None or self._last is not None:
            return self._last
        # Read first: what is read of a race that is over does not change any more.
        is_done = self.race.is_done
        progress = self.race.progress
        self._last = progress if is_done else None
        return progress

    @property
    def state(self) -> str:
        """Its state in one word."""
        progress = self.progress
        if progress is None:
            return "failed" if self.start_error else "being prepared"
        if progress.state != RaceState.DONE:
            return "stopping" if self.is_stopping else str(progress.state)
        return "failed" if self.error else "decided" if progress.is_decided else "undecided"

    @property
    def progress_key(self) -> tuple[Any, ...]:
        """A key that changes when its display would."""
        progress = self.progress
        if progress is None:
            return (self.key, self.state)
        counts = progress.runs, progress.round_done, progress.judged, progress.awaited, progress.spent
        return self.key, self.state, *counts, 0 if self.is_over else int(progress.elapsed)


def find_race_facts(plan: Plan, known: Known | None) -> dict[str, Any]:
    """What the page needs to offer a race of this plan; empty if there are too few settings, or too many."""
    from ....decide.race.settings import group_settings

    settings = group_settings(plan, ("seed", "prompt"), 0).settings
    if not 2 <= len(settings) <= MAX_SETTINGS:
        return {}

    def due(row: Row) -> int:
        return 0 if known is not None and known(row) else row.credits or 0

    firsts = sorted(due(one.rows[0]) for one in settings)
    return {
        "settings": len(settings),
        "repeats": max(len(one.rows) for one in settings),
        "least": sum(firsts[:2]),
        "fair": sum(due(row) for one in settings for row in one.rows[:2]),
        "measures": [one.as_json for one in list_measures(plan.base)],
    }


def race_json(entry: StartedRace, place: int, form: str) -> dict[str, Any]:
    """A race as JSON for the page; `place` is -1 for the newest, `form` the expression for the form in a cell."""
    progress, state, error = entry.progress, entry.state, shorten(entry.error, MAX_ERROR_LENGTH)
    mark = "running" if not entry.is_over else "failed" if error else "completed"
    best = _find_best(entry)
    return {
        "key": entry.key,
        "kind": "race",
        "state": state,
        "mark": STATE_SIGNS[mark],
        "over": entry.is_over,
        "runs": len(entry.plan) if progress is None else progress.runs,
        "error": error,
        "code": entry.code,
        "table": f"{form}.races[{place}].table",
        "can": ["cancel"] if entry.race is not None and not entry.is_over and not entry.is_stopping else [],
        "line": "" if progress is None else format_race(progress),
        "sheet": 0,
        "best": "" if best is None or progress is None else _format_best(progress),
        "spoken": "" if progress is None else _format_announcement(entry, progress),
    }


def render_race_panel(entry: StartedRace) -> str:
    """The panel as HTML; empty without a race."""
    progress = entry.progress
    return "" if progress is None else render_race(progress)


def find_best_input(entry: StartedRace) -> Input:
    """The input of the best run of a race that is over; an error if there is none."""
    best = _find_best(entry)
    if best is None:
        raise ReelbookError("No run of this race has a score, so there is no best setting.")
    return best


def find_race_runs(entry: StartedRace) -> tuple[list[CompletedRun], int]:
    """The first completed runs of a race, the best one first, and the number of all."""
    race, progress = entry.race, entry.progress
    if race is None or progress is None:
        return [], 0
    table = race.table
    made = table[(table["status"] == RunStatus.COMPLETED).to_numpy()].reset_index(drop=True)
    best, leader = _find_best(entry), progress.contenders[0].number if progress.contenders else -1
    # What was decided first: the rest of a label is cut off.
    columns = sorted(
        (name for name in race.plan.columns if name in made.columns), key=lambda name: name not in progress.axes
    )
    scores = made["score"].astype("Float64").fillna(float("-inf")).tolist() if "score" in made.columns else [0.0] * len(made)  # fmt: skip

    def rank(number: int) -> tuple[Any, ...]:
        cells = made.iloc[number]
        is_best = best is not None and all(getattr(best, name, cells[name]) == cells[name] for name in columns)
        return not is_best, cells["setting"] != leader, -scores[number], number

    order = sorted(range(len(made)), key=rank)[:MAX_RUNS]
    ordered = made.iloc[order]
    found = []
    for place, (number, paths) in enumerate(zip(order, find_paths(ordered), strict=True)):
        if not paths:
            continue
        values = [format_named_value(name, ordered.iloc[place][name]) for name in columns]
        words = join_with_dots(_name_place(progress) if best is not None and not place else "", *values)
        files = tuple(LocalFile(Path(path), File(url="")) for path in paths)
        found.append(CompletedRun(f"race{entry.key}-{number}", shorten(words, MAX_LABEL_LENGTH), files))
    return found, len(made)


def _find_best(entry: StartedRace) -> Input | None:
    if entry.race is None or not entry.race.is_done:
        return None
    best = entry.race.best
    return best[0] if isinstance(best, tuple) else best


def _name_place(progress: RaceProgress) -> str:
    return "best" if progress.is_decided else "in front"


def _format_best(progress: RaceProgress) -> str:
    from ....decide.race.sentences import format_chance

    leader = progress.contenders[0]
    values: Mapping[str, Any] = leader.values
    chance = "" if leader.chance is None else f"chance to be the best {format_chance(leader.chance)}"
    return join_with_dots(*(format_named_value(name, value) for name, value in values.items()), chance)


def _format_announcement(entry: StartedRace, progress: RaceProgress) -> str:
    """The text that screen readers announce when its state changes."""
    first = progress.findings[0] if entry.is_over and progress.findings else ""
    return f"Race {entry.state}, {progress.runs:,} of {progress.repeats:,} runs. {shorten(first, 300)}".strip()
