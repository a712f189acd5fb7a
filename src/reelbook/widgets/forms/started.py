"""A sweep or a race that a form has started: its state, card, panel and results; and what a race can be judged by."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...decide.race.sentences import RaceProgress, RaceState, format_chance
from ...display.formatting import STATE_SIGNS, join_with_dots, shorten
from ...display.race_card import format_race, render_race
from ...display.report.layout import format_named_value
from ...display.sweep_panel import format_panel, render_panel
from ...errors import ReelbookError
from ...media.bounded_open import is_video
from ...media.measuring.metrics import METRICS
from ...models.base import Input
from ...models.catalog import find_endpoint
from ...storage.run_status import RunStatus
from ...sweeps.table_files import find_paths
from ..notebook import is_jupyter_server
from .run_cards import LibraryRun, list_library_runs

if TYPE_CHECKING:
    import pandas as pd

    from ...decide.race.race import Race
    from ...sweeps.job import SweepJob
    from ...sweeps.plan import Plan
    from ...sweeps.plan_rows import Known, Row
    from ..race_panel import RaceJudging
    from .planning import PlanPreview

MAX_RUNS, MAX_LABEL_LENGTH, MAX_ERROR_LENGTH = 120, 80, 900
MAX_SHEET_RUNS, SHEET_WIDTH = 24, 1280
ACTIONS = {"preparing": ["cancel"], "running": ["pause", "cancel", "stop"], "paused": ["resume", "cancel", "stop"], "stopping": ["stop"]}  # fmt: skip
"""The possible actions in each state of a sweep."""
FINAL = ("cancel", "stop")
"""Actions that cannot be undone."""
STATE_WORDS = {"sending": "being prepared", "preparing": "being prepared", "done": "completed"}
"""The displayed name of a state of a sweep, where it differs."""
RUN_STATUS = {
    "sending": "waiting",
    "preparing": "waiting",
    "paused": "waiting",
    "stopping": "running",
    "stopped": "cancelled",
    "done": "completed",
    "decided": "completed",
    "undecided": "completed",
}
"""The state of a run whose sign a state of a sweep or a race has."""
MAX_SETTINGS = 500
"""The most settings of a race, as `plan.race` has it."""
OF_STILLS = frozenset({"sharpness", "brightness", "contrast", "colourfulness", "width", "height", "bytes"})
"""Metrics of pictures; the others need several frames."""
LEAST = "-"
"""The first character of the value of a measure of which less is better."""
EYE = "eye"
"""The value of the measure by which a person judges."""
WORDS = {
    "motion_smoothness_linear": "motion smoothness",
    "temporal_flickering": "steadiness",
    "loop_closure": "closed loop",
    "bytes": "file size",
    "frame_count": "number of frames",
}
"""The displayed names of metrics, where they differ."""


@dataclass(eq=False)
class Started:
    """One press of Run or Start, and the sweep or race that it started."""

    key: str
    preview: PlanPreview
    by: Any
    """What the runs of a race are judged by, as `plan.race` takes it; empty for a sweep."""
    spend: int
    """The most credits that it may spend from now on."""
    price: int | None
    code: str
    service: str
    """The service displayed when it was pressed."""
    started_at: float = field(default_factory=time.time)
    job: SweepJob | None = None
    race: Race | None = None
    """A race has a job for each round only."""
    start_error: str = ""
    """Why there is no job."""
    final_actions: set[str] = field(default_factory=set)
    """Actions already taken that cannot be undone."""
    is_end_published: bool = False
    """Whether its end was sent to the page."""
    judging: RaceJudging | None = None
    """The panel in which a person judges a race."""
    _results: tuple[list[LibraryRun], int] | None = None
    _final_card: dict[str, Any] | None = None
    """The card once it is over; it is made once, because the statistics of a race take a moment."""

    @property
    def running(self) -> SweepJob | Race | None:
        """The job or the race; None before it was started, and if it was not."""
        return self.job if self.race is None else self.race

    @property
    def table(self) -> pd.DataFrame | None:
        """The table of its runs; None before it was started."""
        if self.race is not None:
            return self.race.table
        return None if self.job is None else self.job.frame

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return bool(self.start_error) or (self.running is not None and self.running.is_done)

    @property
    def error(self) -> str:
        """Why there is no job, or why a race has failed."""
        if self.race is None or not self.race.is_done:
            return self.start_error
        try:
            self.race.wait(0)
        except Exception as error:
            return str(error) or type(error).__name__
        return ""

    @property
    def state(self) -> str:
        """Its state in one word."""
        if self.running is None:
            return "failed" if self.start_error else "sending"
        progress = self.running.progress
        if not isinstance(progress, RaceProgress):
            # A job that ended before its runs is not done, whatever the reason.
            is_short = progress.state == "done" and bool(progress.reason)
            return "stopped" if is_short else str(progress.state)
        if progress.state != RaceState.DONE:
            return "stopping" if self.final_actions else str(progress.state)
        return "failed" if self.error else "decided" if progress.is_decided else "undecided"

    @property
    def progress_key(self) -> tuple[Any, ...]:
        """A key that changes when its display would."""
        if self.running is None or self.is_over:
            return self.key, self.is_over, self.start_error
        progress = self.running.progress
        known = (
            self.key,
            str(progress.state),
            tuple(sorted(self.final_actions)),
            progress.spent,
            int(progress.elapsed),
        )
        if isinstance(progress, RaceProgress):
            return *known, progress.runs, progress.round_done, progress.judged, progress.awaited
        return *known, progress.finished, progress.reserved

    @property
    def can(self) -> list[str]:
        """What can be done with it now."""
        if self.running is None or self.is_over:
            return []
        actions = ["cancel"] if self.job is None else ACTIONS.get(str(self.job.progress.state), [])
        return [action for action in actions if action not in self.final_actions]

    def make_card(self, table: str) -> dict[str, Any]:
        """It as JSON for the page; `table` is the expression for its table in a cell."""
        # Read first: what is read of one that is over does not change any more.
        is_over = self.is_over
        card = self._final_card or self._make_card()
        if is_over:
            self._final_card = card
        return {**card, "table": table}

    def _make_card(self) -> dict[str, Any]:
        state, error = self.state, shorten(self.error, MAX_ERROR_LENGTH)
        card: dict[str, Any] = {
            "key": self.key,
            "kind": "race" if self.by else "sweep",
            "state": STATE_WORDS.get(state, state),
            "mark": STATE_SIGNS.get("failed" if error else RUN_STATUS.get(state, state), STATE_SIGNS["running"]),
            "over": self.is_over,
            "runs": len(self.preview.plan),
            "error": error,
            "code": self.code,
            "can": self.can,
            "line": "",
            "sheet": 0,
            "spoken": "",
        }
        if self.running is None:
            return card
        progress = self.running.progress
        if isinstance(progress, RaceProgress):
            best = "" if self.find_best() is None else _format_best(progress)
            outcome = progress.findings[0] if self.is_over and progress.findings else ""
            spoken = f"Race {state}, {progress.runs:,} of {progress.repeats:,} runs. {shorten(outcome, 300)}".strip()
            return {**card, "runs": progress.runs, "line": format_race(progress), "best": best, "spoken": spoken}
        spoken = f"Sweep {card['state']}, {progress.finished:,} of {progress.total:,} runs"
        if state == "stopped":
            spoken = f"{spoken}. {shorten(progress.reason or '', 300)}"
        completed = progress.counts[RunStatus.COMPLETED] if progress.state == "done" else 0
        return {**card, "line": format_panel(progress), "sheet": completed, "spoken": spoken}

    def render_panel(self) -> str:
        """The panel as HTML; empty without a job. Results are displayed by the page itself, once it is over."""
        if self.running is None:
            return ""
        progress = self.running.progress
        if isinstance(progress, RaceProgress):
            return render_race(progress)
        return render_panel(progress, has_film=not self.is_over)

    def draw_sheet(self) -> dict[str, Any]:
        """The contact sheet of the first completed runs as HTML, with their number and its caption."""
        from ...display.sheets import draw_sheet

        table = self.table
        if table is None:
            raise ReelbookError("This sweep was not started, so there is no contact sheet.")
        runs = table[(table["status"] == RunStatus.COMPLETED).to_numpy()].head(MAX_SHEET_RUNS)
        is_film = any(is_video(Path(paths[0])) for paths in find_paths(runs) if paths)
        words = "Time runs across, one row for each run." if is_film else ""
        return {"html": draw_sheet(runs, width=SHEET_WIDTH)._repr_html_(), "runs": len(runs), "words": words}

    def find_best(self) -> Input | None:
        """The input of the best run of a race that is over; None if there is none."""
        if self.race is None or not self.race.is_done:
            return None
        best = self.race.best
        return best[0] if isinstance(best, tuple) else best

    def list_results(self) -> tuple[list[LibraryRun], int]:
        """The first completed runs, those of a race from the best setting on, and the number of all, once it is over."""
        if self._results is None and self.is_over and (table := self.table) is not None:
            self._results = self._read_results(table.reset_index(drop=True))
        return self._results or ([], 0)

    def _read_results(self, table: pd.DataFrame) -> tuple[list[LibraryRun], int]:
        plan, race, kind = self.preview.plan, self.race, type(self.preview.plan.base)
        completed, names = table[(table["status"] == RunStatus.COMPLETED).to_numpy()], list(plan.columns)
        if race is not None:
            completed = _sort_by_merit(completed, race.progress)
            # What was decided first: the rest of a label is cut off.
            names.sort(key=lambda name: name not in race.progress.axes)
        listed = completed.head(MAX_RUNS)
        runs = list_library_runs(listed, f"sweep{self.key}-", lambda _: kind)
        for number, run in zip(listed.index.tolist(), runs, strict=True):
            cells: Mapping[str, Any] = plan.rows[number].values if race is None else listed.loc[number]
            run.label = _format_label(cells, names) or f"run {number}"
        return [run for run in runs if run.files], len(completed)


def list_cards(entries: Sequence[Started], form: str, *, limit: int) -> list[dict[str, Any]]:
    """The newest sweeps and races as JSON for the page, the newest first; `form` is the form's name in a cell."""
    cards, places = [], {"jobs": 0, "races": 0}
    for entry in reversed(entries[-limit:]):
        name, column = ("races", "table") if entry.by else ("jobs", "frame")
        # Counted among those that were started: `form.jobs` and `form.races` have no others.
        places[name] -= entry.running is not None
        cards.append(entry.make_card(f"{form}.{name}[{places[name] or -1}].{column}"))
    return cards


def _sort_by_merit(completed: pd.DataFrame, progress: RaceProgress) -> pd.DataFrame:
    """The runs of the leading setting first, and the better ones first."""
    if "score" not in completed.columns:
        return completed
    leader = progress.contenders[0].number if progress.contenders else -1
    ranks = completed.assign(_behind=completed["setting"] != leader)
    return ranks.sort_values(["_behind", "score"], ascending=[True, False], kind="stable").drop(columns="_behind")


def _format_label(values: Mapping[str, Any], names: Sequence[str]) -> str:
    words = join_with_dots(*(format_named_value(name, values[name]) for name in names if values.get(name) is not None))
    return shorten(words, MAX_LABEL_LENGTH)


def _format_best(progress: RaceProgress) -> str:
    leader = progress.contenders[0]
    chance = "" if leader.chance is None else f"chance to be the best {format_chance(leader.chance)}"
    return join_with_dots(*(format_named_value(name, value) for name, value in leader.values.items()), chance)


def find_best_input(entry: Started) -> Input:
    """The input of the best run of a race that is over; an error if there is none."""
    best = entry.find_best()
    if best is None:
        raise ReelbookError("No run of this race has a score, so there is no best setting.")
    return best


# What a form offers for a race of its plan.


def describe_race(plan: Plan, known: Known | None) -> dict[str, Any]:
    """What the page needs to offer a race of this plan; empty if there are too few settings, or too many."""
    from ...decide.race.settings import group_settings

    settings = group_settings(plan, ("seed", "prompt"), 0).settings
    if not 2 <= len(settings) <= MAX_SETTINGS:
        return {}

    def due(row: Row) -> int:
        return 0 if known is not None and known(row) else row.credits or 0

    firsts = sorted(due(setting.rows[0]) for setting in settings)
    return {
        "settings": len(settings),
        "repeats": max(len(setting.rows) for setting in settings),
        "least": sum(firsts[:2]),
        "fair": sum(due(row) for setting in settings for row in setting.rows[:2]),
        "measures": list_measures(plan.base),
    }


def list_measures(base: Input) -> list[dict[str, Any]]:
    """The measures of what a model returns; a metric whose direction is a matter of taste is listed twice.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> [measure["value"] for measure in list_measures(TextToVideo(prompt="a boat"))[:3]]
    ['sharpness', 'brightness', '-brightness']
    """
    endpoint = find_endpoint(base.endpoint_id)
    is_still = endpoint is not None and "video" not in endpoint.output.model_fields
    measures = []
    for name, metric in METRICS.items():
        if metric.compares or metric.minimum is None or (is_still and name not in OF_STILLS):
            continue
        words = WORDS.get(name, name.replace("_", " "))
        meaning = f"{metric.meaning[0].upper()}{metric.meaning[1:]}."
        if metric.better != "lower":
            measures.append({"value": name, "label": f"highest {words}", "meaning": meaning})
        if metric.better != "higher":
            measures.append({"value": f"{LEAST}{name}", "label": f"lowest {words}", "meaning": meaning})
    # A page of another kind finds no widget that is not in a cell, as the judge's.
    if is_jupyter_server():
        meaning = "After each round you say which of two clips is better."
        measures.append({"value": EYE, "label": "your eye, in blind pairs", "meaning": meaning})
    return measures


def parse_measure(value: Any, base: Input) -> str | Mapping[str, float] | None:
    """What `plan.race(by=…)` takes for a measure chosen on the page; None if the model has no such measure.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> boat = TextToVideo(prompt="a paper boat")
    >>> parse_measure("sharpness", boat), parse_measure("-brightness", boat), parse_measure("beauty", boat)
    ('sharpness', {'brightness': -1}, None)
    """
    if not isinstance(value, str) or all(measure["value"] != value for measure in list_measures(base)):
        return None
    return {value.removeprefix(LEAST): -1} if value.startswith(LEAST) else value
