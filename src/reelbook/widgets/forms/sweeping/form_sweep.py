"""Sweeps of a form: plan every combination of some values, display the price, and run it within the agreed limit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ....display.update_clock import Bundle
from ....errors import ReelbookError
from ....util import registry
from ...race_judging import RaceJudging
from ..base_widget import Handler
from ..fields.draft import Draft
from ..live_updates import LiveUpdates
from ..pictures.form_pictures import Pictures
from .form_jobs import (
    Started,
    StartedSweep,
    connect_client,
    draw_contact_sheet,
    list_json,
    progress_key,
    render_sweep_panel,
    sweep_json,
)
from .form_planning import NONE_POSSIBLE, SweepPlanning
from .form_races import StartedRace, find_best_input, find_race_runs
from .race_measures import EYE, parse_measure
from .sweep_clips import CompletedRun, find_completed_runs

if TYPE_CHECKING:
    from ....current import Session
    from ....decide.race.race import Race
    from ....media.local_file import LocalFile
    from ....sweeps.execute.job import SweepJob
    from ..form import Form
    from .plan_preview import PlanPreview

MAX_SWEEPS = 30
STALE = "The plan has changed since it was shown, so nothing was started. Look at it again, then press Run."
TWICE = "This plan was started already: it is run once."
NO_MEASURE = "Choose what the runs are judged by."
STARTED = "This plan is running. Change a value to plan another one."

log = logging.getLogger("reelbook")


class FormSweeps:
    """The sweeps of one form: starts them, and publishes them and the plan to the page.

    Its lock is that of the planning; the lock of the form is taken before it.
    """

    def __init__(self, form: Form, draft: Draft, pictures: Pictures) -> None:
        self._form: Form | None = form
        self._pictures = pictures
        self._planning = SweepPlanning(form, draft, pictures, self._publish)
        self._condition = self._planning.condition
        self._count = 0
        self._entries: list[Started] = []
        self._completed: dict[str, CompletedRun] = {}
        self._displayed = ""
        self._updates = LiveUpdates(
            self,
            FormSweeps._update_page,
            FormSweeps._bundle,
            lambda sweeps: progress_key(sweeps.entries),
            lambda sweeps: all(entry.is_over for entry in sweeps.entries),
        )
        self.handlers: Mapping[str, Handler] = {
            "sweep": self._planning.on_axes, "sweep_limit": self._planning.on_limit, "sweep_run": self._run, "sweep_do": self._do, "sweep_show": self._show,
            "sweep_sheet": self._sheet, "sweep_code": self._code, "sweep_film": self._film,
            "sweep_use": self._use,
        }  # fmt: skip

    @property
    def jobs(self) -> tuple[SweepJob, ...]:
        """The jobs started here, the newest last."""
        with self._condition:
            return tuple(entry.job for entry in self._entries if entry.job is not None)

    @property
    def races(self) -> tuple[Race, ...]:
        """The races started here, the newest last."""
        with self._condition:
            return tuple(entry.race for entry in self._entries if isinstance(entry, StartedRace) and entry.race)

    @property
    def entries(self) -> tuple[Started, ...]:
        """The sweeps and races started here, also those that failed at once, the newest last."""
        with self._condition:
            return tuple(self._entries)

    def close(self) -> None:
        """Stop publishing; the jobs go on, and their results are in the library."""
        self._updates.close()
        with self._condition:
            self._form, self.handlers = None, {}
        self._planning.close()

    def replan_if_changed(self) -> None:
        """Make another plan if the draft or the service has changed since the last."""
        self._planning.replan_if_changed()

    def replan(self) -> None:
        """Make another plan of the same values."""
        if self._planning.axes:
            self._planning.request_plan()

    # Running.

    def _run(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Run the displayed plan, and no other, or race its settings: `{do: "sweep_run", plan, spend, price?, by?}`."""
        form = self._form
        if form is None:
            return
        entry = self._add_entry(content)
        if isinstance(entry, str):
            form.send({"sweep_said": entry})
            return
        self._updates.start()
        form.in_background("sweep", lambda: self._start(entry, form.session))

    def _add_entry(self, content: Mapping[str, Any]) -> Started | str:
        """A new entry, or the reason why there is none."""
        from .plan_preview import parse_limits

        form, number = self._form, content.get("plan")
        if form is None:
            return STALE
        with form.lock, self._condition:
            preview = self._planning.preview
            if type(number) is int and any(entry.number == number for entry in self._entries):
                return TWICE
            if preview is None or preview.number != number:
                return STALE
            if form.session.service_name() != self._planning.service:
                # The session is connected to another service now, whose price may differ.
                self._planning.request_plan()
                return STALE
            if not preview.summary["possible"]:
                return NONE_POSSIBLE
            spend, price, why = parse_limits(content, preview)
            if why:
                return why
            by = parse_measure(content["by"], preview.plan.base) if "by" in content else ""
            if by is None or ("by" in content and not preview.summary["race"]):
                return NO_MEASURE
            self._count += 1
            text, key, service = _format_code(preview, by, spend, price), str(self._count), self._planning.service
            entry: Started = (
                StartedRace(key, preview.plan, preview.number, by, spend, price, text, service)
                if by
                else StartedSweep(key, preview.plan, preview.number, spend, price, text, service)
            )
            self._entries.append(entry)
            self._displayed = entry.key
            self._publish()
            return entry

    def _start(self, entry: Started, session: Session) -> None:
        if isinstance(entry, StartedRace):
            self._start_race(entry, session)
            return
        try:
            client = connect_client(entry, session)
            job = entry.plan.start(spend=entry.spend, price=entry.price, client=client)
        except Exception as error:
            if not isinstance(error, ReelbookError):
                log.debug("a sweep of a form could not be started", exc_info=True)
            entry.error = f"Nothing was started. {error or type(error).__name__}"
        else:
            with self._condition:
                entry.job = job
        self._updates.start()

    def _start_race(self, entry: StartedRace, session: Session) -> None:
        try:
            client = connect_client(entry, session)
            by = None if entry.by == EYE else entry.by
            race = registry.find("start_race")(
                entry.plan, client, by=registry.find("judge") if by is None else by, budget=entry.spend, price=entry.price,
                is_new=True,
            )  # fmt: skip
        except Exception as error:
            if not isinstance(error, ReelbookError):
                log.debug("a race of a form could not be started", exc_info=True)
            entry.start_error = f"Nothing was started. {error or type(error).__name__}"
        else:
            with self._condition:
                entry.race = race
            if by is None:
                entry.judging = RaceJudging(lambda bundle: self._send_judge(entry, str(bundle["text/html"])))
                race.on_change(entry.judging.follow)
        self._updates.start()

    def _do(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Pause, resume or cancel a job, or also stop its running runs: `{do: "sweep_do", job, what}`."""
        form, entry, what = self._form, self._find_entry(content), str(content.get("what"))
        if form is None or entry is None or what not in sweep_json(entry, -1, "form")["can"]:
            return
        if isinstance(entry, StartedRace):
            self._cancel_race(entry)
            return
        job = entry.job
        if job is None:
            return
        actions: dict[str, Callable[[], object]] = {
            "pause": job.pause, "resume": job.resume, "cancel": job.cancel, "stop": lambda: job.cancel(running=True),
        }  # fmt: skip
        if what in ("cancel", "stop"):
            entry.final_actions.add(what)

        def work() -> None:
            actions[what]()
            self._updates.start()

        form.in_background("sweep-do", work)

    def _cancel_race(self, entry: StartedRace) -> None:
        form, race = self._form, entry.race
        if form is None or race is None:
            return
        entry.is_stopping = True

        def work() -> None:
            race.cancel()
            self._updates.start()

        form.in_background("sweep-do", work)

    def _use(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Fill the form with the best run of a race: `{do: "sweep_use", job}`."""
        form, entry = self._form, self._find_entry(content)
        if form is None or not isinstance(entry, StartedRace):
            return

        def fill() -> None:
            why = ""
            try:
                form.fill(find_best_input(entry))
            except ReelbookError as error:
                why = str(error)
            form.send({"sweep_used": entry.key, "why": why})

        form.in_background("sweep-use", fill)

    def _code(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Send Python code for the displayed plan: `{do: "sweep_code", plan, spend, price?, by?}`."""
        from .plan_preview import parse_limits

        form, preview = self._form, self._planning.preview
        if form is None:
            return
        if preview is None or preview.number != content.get("plan"):
            form.send({"sweep_code": "", "why": self._planning.why or STALE})
            return
        spend, price, why = parse_limits(content, preview)

        def answer() -> None:
            self._pictures.store_all()
            by = parse_measure(content["by"], preview.plan.base) if "by" in content else ""
            problem = why or (NO_MEASURE if by is None else "")
            text = "" if problem or by is None else _format_code(preview, by, spend, price)
            form.send({"sweep_code": text, "why": problem, "by": bool(by)})

        form.in_background("sweep-code", answer)

    # Display.

    def _show(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Send the panel of the sweep that the page displays now: `{do: "sweep_show", job}`."""
        form, entry = self._form, self._find_entry(content)
        if form is None or entry is None:
            return
        with form.lock, self._condition:
            self._displayed = entry.key
            self._publish()

        def draw() -> None:
            self._send_panel(entry, render_sweep_panel(entry))
            if isinstance(entry, StartedRace) and entry.judging is not None:
                entry.judging.redraw()

        form.in_background("sweep-panel", draw)

    def _film(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Send the completed runs of a sweep: `{do: "sweep_film", job}`."""
        form, entry = self._form, self._find_entry(content)
        job = None if entry is None else entry.job
        if form is None or entry is None or not entry.is_over:
            return

        def read() -> None:
            completed: list[CompletedRun] = []
            count = 0
            if isinstance(entry, StartedRace):
                completed, count = find_race_runs(entry)
            elif job is not None:
                completed, count = find_completed_runs(job, entry.key)
            with self._condition:
                self._completed |= {run.key: run for run in completed}
            form.send({"sweep_film": entry.key, "shots": [run.as_json for run in completed], "of": count})

        form.in_background("sweep-film", read)

    def files(self, key: str) -> tuple[LocalFile, ...]:
        """The files of a run of a sweep that was sent to the page."""
        with self._condition:
            run = self._completed.get(key)
        return () if run is None else run.files

    def _sheet(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Send the contact sheet: `{do: "sweep_sheet", job}`."""
        form, entry = self._form, self._find_entry(content)
        job = None if entry is None else entry.job
        if form is None or entry is None or job is None or not job.is_done:
            return

        def draw() -> None:
            try:
                pictures = draw_contact_sheet(job)
            except Exception as error:
                if not isinstance(error, ReelbookError):
                    log.debug("a contact sheet of a form could not be drawn", exc_info=True)
                form.send({"sweep_sheet": entry.key, "words": str(error) or type(error).__name__})
            else:
                form.send({"sweep_sheet": entry.key}, pictures)

        form.in_background("sweep-sheet", draw)

    def _find_entry(self, content: Mapping[str, Any]) -> Started | None:
        with self._condition:
            return next((entry for entry in self._entries if entry.key == content.get("job")), None)

    def _publish(self) -> None:
        """Update the page; both locks are held."""
        form = self._form
        if form is None:
            return
        view, number = self._planning.last_change
        preview = self._planning.preview
        is_started = preview is not None and any(entry.number == preview.number for entry in self._entries)
        jobs = list_json(self._entries, form.name_in_notebook, limit=MAX_SWEEPS)
        plan = dict(preview.summary) if preview is not None else {}
        axes, why = [axis.as_json for axis in self._planning.axes], STARTED if is_started else self._planning.why
        try:
            form.sweeps = {
                "view": view, "n": number, "axes": axes, "plan": plan, "started": is_started, "why": why,
                "jobs": jobs, "shown": self._displayed, "limit": self._planning.limit,
            }  # fmt: skip
        # The page cannot be reached, or an observer of the sweeps fails: the sweeps go on.
        except Exception:
            log.debug("the sweeps of a form could not be published", exc_info=True)

    def _send_panel(self, entry: Started, html: str) -> None:
        form = self._form
        if form is not None:
            form.send({"sweep_panel": entry.key, "html": html})

    def _send_judge(self, entry: StartedRace, html: str) -> None:
        form = self._form
        if form is not None:
            form.send({"sweep_judge": entry.key, "html": html})

    def _bundle(self) -> Bundle:
        with self._condition:
            entry = next((one for one in self._entries if one.key == self._displayed), None)
            over = [one for one in self._entries if one.is_over and not one.is_end_published]
        return {"entry": entry, "html": "" if entry is None else render_sweep_panel(entry), "over": over}

    def _update_page(self, bundle: Bundle) -> None:
        form = self._form
        if form is None:
            return
        with form.lock, self._condition:
            self._publish()
            for entry in bundle["over"]:
                entry.is_end_published = True
        if bundle["over"]:
            form.redraw_later()
            # The library has more now, so that the same plan costs less.
            self._planning.request_plan()
        if bundle["html"]:
            self._send_panel(bundle["entry"], bundle["html"])


def _format_code(preview: PlanPreview, by: Any, spend: int, price: int | None) -> str:
    """Python code for the displayed plan: run, or raced if it says by what."""
    from ....display.input_code import format_race_code, format_sweep_code

    base, axes, budget = preview.plan.base, preview.axes, preview.paid + spend
    return (
        format_race_code(base, axes, "rb.judge" if by == EYE else repr(by), budget, price)
        if by
        else format_sweep_code(base, axes, budget, price)
    )
