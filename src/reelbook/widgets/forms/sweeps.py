"""Sweeps and races of a form: plans what is typed, starts what was shown within the agreed amount, and draws what runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...decide.race.sentences import RaceProgress, RaceState
from ...display.formatting import STATE_SIGNS, join_with_dots, shorten
from ...display.input_code import format_race_code, format_sweep_code
from ...display.live import OutputKey
from ...display.race_card import format_race, render_race
from ...display.run_card import run_figure
from ...display.sweep_panel import format_panel, render_panel
from ...display.theme import blocks, render_card
from ...errors import InvalidInput, ReelbookError
from ...models.base import Input
from ...storage.run_status import RunStatus
from ...sweeps.table_files import find_paths
from ...util import registry
from ..link import Handler, NewestOnly
from .axes import VariedField, find_base, format_too_many_runs, parse_axes, validate_axes
from .draft import Draft
from .pictures import Pictures
from .planning import (
    EYE,
    PlanPreview,
    make_preview,
    offer_race,
    offer_sweep,
    parse_amount,
    parse_measure,
)
from .runs import CANCEL, Action, check_service
from .words import format_problem

if TYPE_CHECKING:
    import pandas as pd

    from ...current import Session
    from ...decide.race.race import Race
    from ...sweeps.job import SweepJob
    from ..judge import RaceJudging
    from .form import Form

PAUSE_SECONDS = 0.1
"""Delay after the last change before a plan is made, so that fast typing makes one plan and not ten."""
MAX_SHEET_RUNS, SHEET_WIDTH, MAX_ERROR_LENGTH = 24, 1280, 900
CHOOSE, CORRECT_VALUES, MAKING = "Choose a field and its values.", "Correct the values above first.", "Planning …"
STALE = "The plan has changed since it was shown, so nothing was started. Look at it again, then press Run."
TWICE = "This plan was started already: it is run once."
NO_MEASURE = "Choose what the runs are judged by."
STARTED = "This plan is running. Change a value to plan another one."
ACTIONS: dict[str, list[Action]] = {
    "preparing": [CANCEL],
    "running": [("pause", "Pause", "Send nothing more for now; runs already sent continue"), CANCEL],
    "paused": [("resume", "Resume", "Go on sending"), CANCEL],
}
"""What can be done with a sweep in each state; what was sent can also be stopped."""
STOP: Action = ("stop", "Stop what is running", "Send nothing more, and ask the service to cancel what it has")
SHEET: Action = ("sheet", "Contact sheet", "All results in one picture")
BEST: Action = ("best", "Use these values", "Fill the form with the inputs of the best run")
COPY: Action = ("copy", "Copy code", "Python code for the same")
WAYS = {"sending": "waiting", "preparing": "waiting", "paused": "waiting", "stopped": "cancelled"}
"""The state of a run whose sign a state of a sweep or a race has, where it is neither running nor completed."""

log = logging.getLogger("reelbook")


@dataclass(eq=False)
class StartedJob:
    """One press of Run or Start below a plan, and the sweep or race that it started."""

    key: str
    preview: PlanPreview
    by: Any
    """What the runs of a race are judged by, as `rb.race` takes it; empty for a sweep."""
    spend: int
    """The most credits that it may spend from now on."""
    price: int | None
    name: str
    """The expression for its table in a cell."""
    started_at: float = field(default_factory=time.time)
    job: SweepJob | None = None
    race: Race | None = None
    """A race has a job for each round only."""
    start_error: str = ""
    """Why there is no job."""
    final_actions: set[str] = field(default_factory=set)
    """Actions already taken that cannot be undone."""
    judging: RaceJudging | None = None
    """The panel in which a person judges a race."""
    details: ClassVar[dict[str, Any]] = {}

    @property
    def kind(self) -> str:
        """A race has something that it is judged by."""
        return "race" if self.by else "sweep"

    @property
    def running(self) -> SweepJob | Race | None:
        """The job or the race; None before it was started, and if it was not."""
        return self.job if self.race is None else self.race

    @property
    def table(self) -> pd.DataFrame:
        """The table of its runs."""
        assert self.running is not None
        return self.running.table if self.job is None else self.job.frame  # type: ignore[union-attr]

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
    def status(self) -> str:
        """Its state in a word or two."""
        if self.running is None:
            return "failed" if self.start_error else "being prepared"
        progress = self.running.progress
        if isinstance(progress, RaceProgress):
            if progress.state != RaceState.DONE:
                return "stopping" if self.final_actions else str(progress.state)
            return "failed" if self.error else "decided" if progress.is_decided else "undecided"
        # A job that ended before its runs is not completed, whatever the reason.
        if progress.state == "done":
            return "stopped" if progress.reason else "completed"
        return str(progress.state)

    @property
    def actions(self) -> list[Action]:
        """What can be done with it now."""
        if self.running is None or self.start_error:
            return [COPY]
        if self.is_over:
            has_sheet = self.job is not None and self.job.progress.counts[RunStatus.COMPLETED]
            return [*([SHEET] if has_sheet else []), *([BEST] if self.find_best() is not None else []), COPY]
        state = "preparing" if self.job is None else str(self.job.progress.state)
        found = [*ACTIONS.get(state, []), *([] if self.job is None or state == "preparing" else [STOP]), COPY]
        return [action for action in found if action[0] not in self.final_actions]

    @property
    def progress_key(self) -> OutputKey:
        """A key that changes when its display would."""
        if self.running is None or self.is_over:
            return self.key, self.is_over, self.start_error
        progress = self.running.progress
        return self.key, self.line, tuple(sorted(self.final_actions)), progress.spent, int(progress.elapsed)

    @property
    def picture(self) -> Path | None:
        """A file that it has made, once it is over; of a race that of the best setting."""
        if self.running is None or not self.is_over:
            return None
        best = self._find_best_row() if self.race is not None else None
        table = self.table if best is None else best
        return next((Path(paths[0]) for paths in find_paths(table) if paths), None)

    @property
    def line(self) -> str:
        """It on one line."""
        sign = (
            STATE_SIGNS.get(self.status)
            or STATE_SIGNS[WAYS.get(self.status, "completed" if self.is_over else "running")]
        )
        return shorten(join_with_dots(f"{sign} {self.kind} {self.status}", self.error or self._format_progress()), 240)

    def _format_progress(self) -> str:
        if self.running is None:
            return ""
        progress = self.running.progress
        return format_race(progress) if isinstance(progress, RaceProgress) else format_panel(progress)

    @property
    def code(self) -> str:
        """Python code for the same plan: run, or raced if it says by what."""
        return format_code(self.preview, self.by, self.spend, self.price)

    def render(self) -> str:
        """Its card as HTML: what `display` shows of the job, and of a race that is over the best clip."""
        if self.running is None or (error := self.error):
            words = self.start_error or error if self.running is not None or self.start_error else ""
            title = blocks.state("failed" if words else "waiting", f"{self.kind} {self.status}")
            return render_card(blocks.heading(title), blocks.small(shorten(words, MAX_ERROR_LENGTH)))
        progress = self.running.progress
        html = render_race(progress) if isinstance(progress, RaceProgress) else render_panel(progress)
        if not self.is_over:
            return html
        html += render_card(blocks.small(f"In code: {self.name}"))
        best = self._find_best_row() if self.race is not None else None
        return html if best is None else html + self._draw_best(best)

    def _draw_best(self, row: pd.DataFrame) -> str:
        from ...client import open_library  # Here, because it brings the client along.

        assert self.race is not None
        return run_figure(open_library(None, row.attrs["reelbook"]["library"]).run(row))

    def _find_best_row(self) -> pd.DataFrame | None:
        """The row of the best completed run of a race, as a table."""
        best, table = self.find_best(), self.table
        if best is None or "score" not in table.columns:
            return None
        leader = self.running.progress.contenders[0].number  # type: ignore[union-attr]
        mine = table[(table["setting"] == leader) & (table["status"] == RunStatus.COMPLETED)]
        return mine.sort_values("score", ascending=False, kind="stable").head(1) if len(mine) else None

    def find_best(self) -> Input | None:
        """The input of the best run of a race that is over; None if there is none."""
        if self.race is None or not self.race.is_done:
            return None
        best = self.race.best
        return best[0] if isinstance(best, tuple) else best

    def act(self, what: str, form: Form, content: Mapping[str, Any]) -> dict[str, Any]:
        """Pause, resume, cancel or stop it, draw its contact sheet, use its best values, or copy its code."""
        if what in ("cancel", "stop"):
            self.final_actions.add(what)
        if what == "stop" and self.job is not None:
            self.job.cancel(running=True)
        elif what in ("pause", "resume", "cancel"):
            getattr(self.running, what)()
        elif what == "copy":
            return {"copy": self.code}
        elif what == "sheet":
            from ...display.sheets import draw_sheet

            runs = self.table[(self.table["status"] == RunStatus.COMPLETED).to_numpy()].head(MAX_SHEET_RUNS)
            return {"sheet": draw_sheet(runs, width=SHEET_WIDTH)._repr_html_()}
        elif (best := self.find_best()) is not None:
            form.fill(best)
            return {"words": "The form has these values now."}
        return {}


def format_code(preview: PlanPreview, by: Any, spend: int, price: int | None) -> str:
    """Python code for a plan: run, or raced if it says by what. Its budget counts what was paid earlier, too."""
    paid = 0 if preview.known is None else sum(preview.known.costs.values())
    base, axes, budget = preview.plan.base, preview.axes, paid + spend
    if not by:
        return format_sweep_code(base, axes, budget, price)
    return format_race_code(base, axes, "rb.judge" if by == EYE else repr(by), budget, price)


class FormSweeps:
    """The plan below one form, and the sweeps and races that were started from it."""

    def __init__(self, form: Form, draft: Draft, pictures: Pictures) -> None:
        self._form = form
        self._draft, self._pictures, self._lock = draft, pictures, form.lock
        self._running = form.running
        self._axes: list[VariedField] = []
        self._typed: dict[str, Any] = {}
        """What was typed beside the axes: amounts, and what a race is judged by."""
        self._change: tuple[str, int] = ("", 0)
        """The view that sent the last change, and its number."""
        self._preview: PlanPreview | None = None
        self._why = CHOOSE
        self._planned_for: tuple[Any, ...] = ()
        """The draft and the service for which the plan was requested."""
        self._asked: tuple[Any, ...] = ()
        """What was asked about: a plan and an amount beyond the account."""
        self._stamp = self._number = 0
        self._planner = NewestOnly(self._plan, "reelbook-form-plan", pause=lambda: PAUSE_SECONDS)
        self.handlers: Mapping[str, Handler] = {
            "sweep": self._on_change,
            "sweep_run": self._run,
            "sweep_code": self._copy,
        }

    @property
    def jobs(self) -> tuple[SweepJob, ...]:
        """The jobs started here, the newest last."""
        return tuple(entry.job for entry in self.entries if entry.job is not None)

    @property
    def races(self) -> tuple[Race, ...]:
        """The races started here, the newest last."""
        return tuple(entry.race for entry in self.entries if entry.race is not None)

    @property
    def entries(self) -> tuple[StartedJob, ...]:
        """The sweeps and races started here, also those that failed at once, the newest last."""
        return tuple(entry for entry in self._running.all if isinstance(entry, StartedJob))

    @property
    def preview(self) -> PlanPreview | None:
        """The plan that the page shows; None while there is none."""
        return self._preview

    def close(self) -> None:
        """Stop planning; the jobs go on, and their results are in the library."""
        self._planner.close()

    # Planning.

    def replan_if_changed(self) -> None:
        """Make another plan if the draft or the service has changed since the last."""
        if self._axes and self._source() != self._planned_for:
            self.replan()

    def replan(self) -> None:
        """Discard the current plan, and make another one soon of the same values."""
        with self._lock:
            self._stamp += 1
            self._planned_for, self._preview = self._source(), None
            self._why = MAKING if self._axes else CHOOSE
            self._publish()
            # Copies, because the current ones may be published meanwhile.
            axes = [VariedField(axis.name, axis.typed) for axis in self._axes]
            if axes:
                self._planner.put((self._stamp, axes))

    def _source(self) -> tuple[Any, ...]:
        return dict(self._draft.values), self._form.session.service_name()

    def _on_change(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Handle what was typed: `{do: "sweep", view, n, axes: [{name, typed}], spend?, price?, by?, best?}`."""
        view, number = content.get("view"), content.get("n")
        if not isinstance(view, str) or type(number) is not int:
            return
        axes = parse_axes(self._form, content.get("axes"))
        with self._lock:
            # Two threads can handle one page's messages; the later one counts, whichever is handled first.
            if axes is None or (view == self._change[0] and number <= self._change[1]):
                return
            self._change = view, number
            self._typed = {name: parse_amount(content.get(name)) for name in ("spend", "price", "best")}
            self._typed["by"] = content.get("by")
            if [(axis.name, axis.typed) for axis in axes] == [(axis.name, axis.typed) for axis in self._axes]:
                self._publish()
                return
            self._axes = axes
            self.replan()

    def _plan(self, request: tuple[int, list[VariedField]]) -> None:
        stamp, axes = request
        preview, why = None, ""
        try:
            preview, why = self._make_plan(stamp, axes)
        # Any error: the page waits for an answer.
        except Exception as error:
            if not isinstance(error, ReelbookError):
                log.debug("a plan of a form could not be made", exc_info=True)
            why = str(error) or type(error).__name__
        self._answer(stamp, axes, preview, why)

    def _make_plan(self, stamp: int, axes: list[VariedField]) -> tuple[PlanPreview | None, str]:
        form = self._form
        validate_axes(form, axes, Draft(form.kind, form.sheet, self._pictures))
        if any(axis.words for axis in axes):
            return None, CORRECT_VALUES
        if any(axis.is_empty for axis in axes):
            return None, CHOOSE
        if words := format_too_many_runs(axes):
            return None, words
        try:
            base = find_base(form, self._draft, axes)
        except InvalidInput as error:
            return None, f"Correct the form first. {format_problem(error.problems[0], form.labels)}"
        self._answer(stamp, axes, None, MAKING)
        self._number += 1
        return make_preview(self._number, form.session, base, {axis.name: axis.values for axis in axes}), ""

    def _answer(self, stamp: int, axes: list[VariedField], preview: PlanPreview | None, why: str) -> None:
        with self._lock:
            # Outdated by a later edit.
            if stamp == self._stamp:
                self._axes, self._preview, self._why = axes, preview, why
                self._publish()

    def _publish(self) -> None:
        """Update the page; the lock is held."""
        preview = self._preview
        view, number = self._change
        sweeps: dict[str, Any] = {
            "view": view,
            "n": number,
            "axes": [axis.as_json for axis in self._axes],
            "why": self._why,
        }
        if preview is not None:
            offer = offer_sweep(preview, self._typed.get("spend"), self._typed.get("price"))
            best = offer_race(preview, self._typed.get("by"), self._typed.get("best"), self._typed.get("price"))
            if any(entry.preview is preview for entry in self.entries):
                offer, best = {**offer, "ready": False, "why": STARTED}, {}
            sweeps |= {
                "number": preview.number,
                "html": preview.html,
                "isUnpriced": preview.unpriced > 0,
                **offer,
                "best": best,
            }
        try:
            self._form.sweeps = {**sweeps, "typed": self._typed.get("spend")}
        # The page cannot be reached, or an observer of the sweeps fails: the sweeps go on.
        except Exception:
            log.debug("the sweeps of a form could not be published", exc_info=True)

    # Running.

    def _run(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Run the displayed plan, and no other, or race its settings: `{do: "sweep_run", plan, spend, cost?, price?, by?}`."""
        form = self._form
        with self._lock:
            entry = self._add_entry(form, content)
        if isinstance(entry, str):
            form.send({"sweep_said": entry})
            return
        service = self._planned_for[1]
        form.in_background("sweep", lambda: self._start(entry, service))

    def _add_entry(self, form: Form, content: Mapping[str, Any]) -> StartedJob | str:
        """A new entry, or the reason why there is none."""
        number, preview = content.get("plan"), self._preview
        if type(number) is int and any(entry.preview.number == number for entry in self.entries):
            return TWICE
        if preview is None or preview.number != number:
            return STALE
        if form.session.service_name() != self._planned_for[1]:
            # The session is connected to another service now, whose price may differ.
            self.replan()
            return STALE
        by, spend, price, why = self._read_press(preview, content)
        if why:
            return why
        asks = not by and form.sweeps.get("asks")
        if asks and self._asked != (number, spend):
            self._asked = number, spend
            return "Press again to run that."
        started = sum(entry.running is not None and bool(entry.by) == bool(by) for entry in self.entries)
        table = (
            f"{form.name_in_notebook}.races[{started}].table"
            if by
            else f"{form.name_in_notebook}.jobs[{started}].frame"
        )
        entry = StartedJob(f"s{len(self.entries) + 1}", preview, by, preview.limit(spend), price, table)
        self._running.add(entry)
        self._publish()
        return entry

    def _read_press(self, preview: PlanPreview, content: Mapping[str, Any]) -> tuple[Any, int, int | None, str]:
        """What a race is judged by, the amount, the price of one run, and what is wrong with them."""
        spend, price, by = parse_amount(content.get("spend")), parse_amount(content.get("price")), None
        if spend is None:
            return by, 0, price, "Set the most credits that this sweep may spend now."
        if "by" in content:
            by = parse_measure(content["by"], preview.plan.base) if preview.settings else None
            offer = offer_race(preview, content["by"], spend, price)
            return by, spend, price, NO_MEASURE if by is None else "" if offer["ready"] else offer["why"]
        offer = offer_sweep(preview, spend, price)
        if not offer["ready"]:
            return by, spend, price, offer["why"]
        return by, spend, price, STALE if content.get("cost", offer["cost"]) != offer["cost"] else ""

    def _start(self, entry: StartedJob, service: str) -> None:
        session = self._form.session
        try:
            check_service(service, session)
            self._start_job(entry, session)
        except Exception as error:
            if not isinstance(error, ReelbookError):
                log.debug("a sweep of a form could not be started", exc_info=True)
            words = str(error) or type(error).__name__
            entry.start_error = f"Nothing was started. {words.removeprefix('Nothing was sent. ')}"
        if entry.race is not None and entry.by == EYE:
            from ..judge import RaceJudging  # Here, because it brings pandas along.

            entry.judging = RaceJudging(
                lambda bundle: self._form.send({"judge": entry.key, "html": str(bundle["text/html"])})
            )
            entry.race.on_change(entry.judging.follow)
        with self._lock:
            self._publish()
        self._running.update()

    def _start_job(self, entry: StartedJob, session: Session) -> None:
        plan, client = entry.preview.plan, session.client()
        if not entry.by:
            entry.job = plan.start(spend=entry.spend, price=entry.price, client=client)
            return
        by = registry.find("judge") if entry.by == EYE else entry.by
        start: Callable[..., Race] = registry.find("start_race")
        entry.race = start(plan, client, by=by, budget=entry.spend, price=entry.price, is_new=True)

    def _copy(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Send Python code for the displayed plan: `{do: "sweep_code", plan, spend, price?, by?}`."""
        form, preview = self._form, self._preview
        if preview is None or preview.number != content.get("plan"):
            form.send({"sweep_code": "", "why": self._why or STALE})
            return
        by, spend, price, why = self._read_press(preview, content)

        def answer() -> None:
            self._pictures.store_all()
            form.send({"sweep_code": "" if why else format_code(preview, by, spend, price), "why": why, "by": bool(by)})

        form.in_background("sweep-code", answer)
