"""Sweeps and races of a form: plans what is typed, starts what was shown within the agreed amount, and draws what runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...current import session
from ...display.formatting import STATE_SIGNS, join_with_dots, shorten
from ...display.live import OutputKey
from ...display.run_card import run_figure
from ...display.theme import blocks, render_card
from ...errors import InvalidInput, ReelbookError
from ...sweeps.options import MAX_STORED
from ...sweeps.table_files import find_paths
from ...util import registry
from ..link import Handler, NewestOnly
from ..notebook import find_variable_name
from ..panel import format_progress, render_progress
from .axes import VariedField, find_base, format_too_many_runs, parse_axes, validate_axes
from .planning import EYE, PlanPreview, list_measures, make_preview, offer_sweep, parse_measure
from .runs import CANCEL, Action, check_service
from .words import format_problem

if TYPE_CHECKING:
    import pandas as pd

    from ...current import Session
    from ...decide.race.race import Race
    from ..judge import RaceJudging
    from .form import Form

PAUSE_SECONDS = 0.1
"""Delay after the last change before a plan is made, so that fast typing makes one plan and not ten."""
MAX_ERROR_LENGTH = 900
CHOOSE, CORRECT_VALUES, MAKING = "Choose a field and its values.", "Correct the values above first.", "Planning …"
STALE = "The plan has changed since it was shown, so nothing was started. Look at it again, then press Run."
TWICE = "This plan was started already: it is run once."
STARTED = "This plan is running. Change a value to plan another one."
ACTIONS: dict[str, list[Action]] = {
    "preparing": [CANCEL],
    "running": [("pause", "Pause", "Send nothing more for now; runs already sent continue"), CANCEL],
    "paused": [("resume", "Resume", "Go on sending"), CANCEL],
}
"""What can be done with a sweep in each state."""
BEST: Action = ("best", "Use these values", "Fill the form with the inputs of the best run")
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
    name: str
    """The expression for its table in a cell."""
    started_at: float = field(default_factory=time.time)
    running: Any = None
    """The `SweepJob` or the `Race`; None before it was started, and if it was not."""
    start_error: str = ""
    """Why there is none."""
    is_cancelled: bool = False
    """Whether somebody has pressed Cancel."""
    judging: RaceJudging | None = None
    """The panel in which a person judges a race."""
    details: ClassVar[dict[str, Any]] = {}

    @property
    def is_race(self) -> bool:
        """A race has something that it is judged by."""
        return bool(self.by)

    @property
    def kind(self) -> str:
        """Its name in a sentence."""
        return "race" if self.is_race else "sweep"

    @property
    def table(self) -> pd.DataFrame:
        """The table of its runs."""
        table: pd.DataFrame = self.running.table if self.is_race else self.running.frame
        return table

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return bool(self.start_error) or (self.running is not None and self.running.is_done)

    @property
    def error(self) -> str:
        """Why it was not started, or why a race has failed."""
        if self.start_error or not self.is_race or not self.is_over:
            return self.start_error
        try:
            self.running.wait(0)
        except Exception as error:
            return str(error) or type(error).__name__
        return ""

    @property
    def status(self) -> str:
        """Its state in a word or two."""
        if self.error:
            return "failed"
        if self.running is None:
            return "being prepared"
        progress = self.running.progress
        if self.is_over and self.is_race:
            return "decided" if progress.is_decided else "undecided"
        if self.is_over:
            # A job that ended before its runs is not completed, whatever the reason.
            return "stopped" if progress.reason else "completed"
        return "stopping" if self.is_race and self.is_cancelled else str(progress.state)

    @property
    def actions(self) -> list[Action]:
        """What can be done with it now."""
        if self.running is None or self.is_over:
            has_best = self.is_race and self.running is not None and self.running.best is not None
            return [BEST] if has_best else []
        state = "preparing" if self.is_race else str(self.running.progress.state)
        return [] if self.is_cancelled else ACTIONS.get(state, [])

    @property
    def progress_key(self) -> OutputKey:
        """A key that changes when its display would."""
        if self.running is None or self.is_over:
            return self.key, self.is_over, self.start_error
        progress = self.running.progress
        return self.key, self.line, self.is_cancelled, progress.spent, int(progress.elapsed)

    @property
    def picture(self) -> Path | None:
        """A file that it has made, once it is over."""
        if self.running is None or not self.is_over:
            return None
        return next((Path(paths[0]) for paths in find_paths(self.table) if paths), None)

    @property
    def line(self) -> str:
        """It on one line."""
        sign = (
            STATE_SIGNS.get(self.status)
            or STATE_SIGNS[WAYS.get(self.status, "completed" if self.is_over else "running")]
        )
        progress = "" if self.running is None else format_progress(self.running.progress)
        return shorten(join_with_dots(f"{sign} {self.kind} {self.status}", self.error or progress), 240)

    def render(self) -> str:
        """Its card as HTML: what `display` shows of the job, and of a race that is over the best clip."""
        if self.running is None or self.error:
            title = blocks.state("failed" if self.error else "waiting", f"{self.kind} {self.status}")
            return render_card(blocks.heading(title), blocks.small(shorten(self.error, MAX_ERROR_LENGTH)))
        html = render_progress(self.running.progress)
        if self.is_over:
            html += render_card(blocks.small(f"Their table, for a cell: {self.name}"))
        best = self.running.best_row if self.is_race and self.is_over else None
        return html if best is None else html + run_figure(session.library(best.attrs["reelbook"]["library"]).run(best))

    def act(self, what: str, form: Form, content: Mapping[str, Any]) -> dict[str, Any]:
        """Pause, resume or cancel it, or use its best values."""
        if what == "best":
            form.fill(self.running.best)
            return {"words": "The form has these values now."}
        self.is_cancelled = self.is_cancelled or what == "cancel"
        getattr(self.running, what)()
        return {}


class FormSweeps:
    """The plan below one form, and the sweeps and races that were started from it."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._lock = form.lock
        self._axes: list[VariedField] = []
        self._spend: int | None = None
        """The amount that was typed."""
        self._offer: dict[str, Any] = {}
        """What the page displays of the plan: what a press runs, for how much."""
        self._change: tuple[str, int] = ("", 0)
        """The view that sent the last change, and its number."""
        self.preview: PlanPreview | None = None
        """The plan that the page shows; None while there is none."""
        self._why = CHOOSE
        self._planned_for: tuple[Any, ...] = ()
        """The draft and the service for which the plan was requested."""
        self._number = 0
        """The number of the plan that was requested last."""
        self._planner = NewestOnly(self._plan, "reelbook-form-plan", pause=PAUSE_SECONDS)
        self.handlers: Mapping[str, Handler] = {
            "sweep": self._on_change,
            "sweep_run": self._run,
        }

    @property
    def entries(self) -> tuple[StartedJob, ...]:
        """The sweeps and races started here, also those that failed at once, the newest last."""
        return tuple(entry for entry in self._form.running.all if isinstance(entry, StartedJob))

    # Planning.

    def replan_if_changed(self) -> None:
        """Make another plan if the draft or the service has changed since the last."""
        if self._axes and self._source() != self._planned_for:
            self.replan()

    def replan(self) -> None:
        """Discard the current plan, and make another one soon of the same values."""
        with self._lock:
            self._number += 1
            self._planned_for, self.preview = self._source(), None
            self._why = MAKING if self._axes else CHOOSE
            self._publish()
            # Copies, because the current ones may be published meanwhile.
            axes = [VariedField(axis.name, axis.typed) for axis in self._axes]
            if axes:
                self._planner.put((self._number, axes))

    def _source(self) -> tuple[Any, ...]:
        return self._form.draft, self._form.session.service_name()

    def _on_change(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Handle what was typed: `{do: "sweep", view, n, axes: [{name, typed}], spend?}`."""
        view, number = content.get("view"), content.get("n")
        if not isinstance(view, str) or type(number) is not int:
            return
        axes = parse_axes(self._form, content.get("axes"))
        with self._lock:
            # Two threads can handle one page's messages; the later one counts, whichever is handled first.
            if axes is None or (view == self._change[0] and number <= self._change[1]):
                return
            self._change = view, number
            spend = content.get("spend")
            # A page may send anything.
            self._spend = spend if type(spend) is int and 0 <= spend <= MAX_STORED else None
            if [(axis.name, axis.typed) for axis in axes] == [(axis.name, axis.typed) for axis in self._axes]:
                self._publish()
                return
            self._axes = axes
            self.replan()

    def _plan(self, request: tuple[int, list[VariedField]]) -> None:
        number, axes = request
        preview, why = None, ""
        try:
            preview, why = self._make_plan(number, axes)
        # Any error: the page waits for an answer.
        except Exception as error:
            if not isinstance(error, ReelbookError):
                log.debug("a plan of a form could not be made", exc_info=True)
            why = str(error) or type(error).__name__
        self._answer(number, axes, preview, why)

    def _make_plan(self, number: int, axes: list[VariedField]) -> tuple[PlanPreview | None, str]:
        form = self._form
        validate_axes(form, axes)
        if any(axis.words for axis in axes):
            return None, CORRECT_VALUES
        if any(axis.is_empty for axis in axes):
            return None, CHOOSE
        if words := format_too_many_runs(axes):
            return None, words
        try:
            base = find_base(form, axes)
        except InvalidInput as error:
            return None, f"Correct the form first. {format_problem(error.problems[0], form.labels)}"
        self._answer(number, axes, None, MAKING)
        return make_preview(number, form.session, base, {axis.name: axis.values for axis in axes}), ""

    def _answer(self, number: int, axes: list[VariedField], preview: PlanPreview | None, why: str) -> None:
        with self._lock:
            # Outdated by a later edit.
            if number == self._number:
                self._axes, self.preview, self._why = axes, preview, why
                self._publish()

    def _publish(self) -> None:
        """Update the page; the lock is held."""
        preview = self.preview
        view, number = self._change
        sweeps: dict[str, Any] = {
            "view": view,
            "n": number,
            "axes": [axis.as_json for axis in self._axes],
            "why": self._why,
        }
        if preview is not None:
            self._offer = offer_sweep(preview, self._spend)
            if any(entry.preview is preview for entry in self.entries):
                self._offer |= {"ready": False, "why": STARTED}
            sweeps |= {"number": preview.number, "html": preview.html, **self._offer}
            if "best" in self._offer:
                sweeps["measures"] = list_measures(preview.plan.base)
        try:
            self._form.sweeps = sweeps
        # The page cannot be reached, or an observer of the sweeps fails: the sweeps go on.
        except Exception:
            log.debug("the sweeps of a form could not be published", exc_info=True)

    # Running.

    def _run(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Run the displayed plan, and no other, or find its best setting: `{do: "sweep_run", plan, spend, cost, by?}`."""
        with self._lock:
            entry = self._add_entry(content)
        if isinstance(entry, str):
            self._form.send({"sweep_said": entry})
            return
        service = self._planned_for[1]
        self._form.in_background("sweep", lambda: self._start(entry, service))

    def _add_entry(self, content: Mapping[str, Any]) -> StartedJob | str:
        """A new entry, or the reason why there is none."""
        form, number, preview = self._form, content.get("plan"), self.preview
        if any(entry.preview.number == number for entry in self.entries):
            return TWICE
        if form.session.service_name() != self._planned_for[1]:
            # The session is connected to another service now, whose price may differ.
            self.replan()
            return STALE
        why = self._refuse(content)
        if why or preview is None:
            return why
        by, spend = parse_measure(content.get("by", "")), preview.limit(self._offer["spend"])
        if by:
            spend = min(spend, preview.due)  # As the button says.
        started = sum(entry.running is not None and entry.is_race == bool(by) for entry in self.entries)
        table = f"races[{started}].table" if by else f"jobs[{started}].frame"
        name = find_variable_name(form) or "form"
        if form.studio:
            name = f"{find_variable_name(form.studio) or 'studio'}.forms[{form.studio.forms.index(form)}]"
        entry = StartedJob(f"s{len(self.entries) + 1}", preview, by, spend, f"{name}.{table}")
        form.running.add(entry)
        self._publish()
        return entry

    def _refuse(self, content: Mapping[str, Any]) -> str:
        """Why what was pressed cannot be had: only what the page displays is run."""
        offer, preview = self._offer, self.preview
        is_shown = all(content.get(name) == offer.get(name) for name in ("spend", "cost"))
        if preview is None or preview.number != content.get("plan") or not is_shown:
            return STALE
        if "by" in content and content["by"] not in [measure["value"] for measure in list_measures(preview.plan.base)]:
            return STALE
        return "" if offer["ready"] else str(offer["why"])

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
        with self._lock:
            self._publish()
        self._form.running.update()

    def _start_job(self, entry: StartedJob, session: Session) -> None:
        plan, client = entry.preview.plan, session.client()
        if not entry.is_race:
            entry.running = plan.start(spend=entry.spend, client=client)
            return
        by = registry.find("judge") if entry.by == EYE else entry.by
        start: Callable[..., Race] = registry.find("start_race")
        race = start(plan, client, by=by, budget=entry.spend, is_new=True)
        entry.running = race
        if entry.by == EYE:
            from ..judge import RaceJudging  # Here, because it brings pandas along.

            entry.judging = RaceJudging(
                lambda bundle: self._form.send({"judge": entry.key, "html": str(bundle["text/html"])})
            )
            race.on_change(entry.judging.follow)
