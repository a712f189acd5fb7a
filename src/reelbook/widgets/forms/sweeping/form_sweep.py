"""Sweeps of a form: plan every combination of some values, display the price, and run it within the agreed limit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ....display.update_clock import Bundle
from ....errors import ReelbookError
from ..base_widget import Handler
from ..fields.draft import Draft
from ..live_updates import LiveUpdates
from ..pictures.form_pictures import Pictures
from .form_jobs import StartedSweep, connect_client, draw_contact_sheet, progress_key, render_sweep_panel, sweep_json
from .form_planning import NONE_POSSIBLE, SweepPlanning
from .sweep_clips import CompletedRun, find_completed_runs

if TYPE_CHECKING:
    from ....media.local_file import LocalFile
    from ....session import Session
    from ....sweeps.execute.job import SweepJob
    from ..form import Form

MAX_SWEEPS = 30
STALE = "The plan has changed since it was shown, so nothing was started. Look at it again, then press Run."
TWICE = "This plan was started already: it is run once."
STARTED = "This plan is under way. Change a value to plan another one."

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
        self._entries: list[StartedSweep] = []
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
            "sweep": self._planning.on_axes, "sweep_run": self._run, "sweep_do": self._do, "sweep_show": self._show,
            "sweep_sheet": self._sheet, "sweep_code": self._code, "sweep_film": self._film,
        }  # fmt: skip

    @property
    def jobs(self) -> tuple[SweepJob, ...]:
        """The jobs started here, the newest last."""
        with self._condition:
            return tuple(entry.job for entry in self._entries if entry.job is not None)

    @property
    def entries(self) -> tuple[StartedSweep, ...]:
        """The sweeps started here, also those that failed at once, the newest last."""
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

    # Running.

    def _run(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Run the displayed plan, and no other: `{do: "sweep_run", plan, spend, price?}`."""
        form = self._form
        if form is None:
            return
        entry = self._add_entry(content)
        if isinstance(entry, str):
            form.send({"sweep_said": entry})
            return
        self._updates.start()
        form.in_background("sweep", lambda: self._start(entry, form.session))

    def _add_entry(self, content: Mapping[str, Any]) -> StartedSweep | str:
        """A new entry, or the reason why there is none."""
        from ....display.sweep_code import format_sweep_code
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
            self._count += 1
            text = format_sweep_code(preview.plan.base, preview.axes, preview.paid + spend, price)
            entry = StartedSweep(
                str(self._count), preview.plan, preview.number, spend, price, text, self._planning.service
            )
            self._entries.append(entry)
            self._displayed = entry.key
            self._publish()
            return entry

    def _start(self, entry: StartedSweep, session: Session) -> None:
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

    def _do(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Pause, resume or cancel a job, or also stop its running runs: `{do: "sweep_do", job, what}`."""
        form, entry, what = self._form, self._find_entry(content), str(content.get("what"))
        if form is None or entry is None or entry.job is None or what not in sweep_json(entry, -1, "form")["can"]:
            return
        job = entry.job
        actions: dict[str, Callable[[], object]] = {
            "pause": job.pause, "resume": job.resume, "cancel": job.cancel, "stop": lambda: job.cancel(running=True),
        }  # fmt: skip
        if what in ("cancel", "stop"):
            entry.final_actions.add(what)

        def work() -> None:
            actions[what]()
            self._updates.start()

        form.in_background("sweep-do", work)

    def _code(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Send Python code for the displayed plan: `{do: "sweep_code", plan, spend, price?}`."""
        from ....display.sweep_code import format_sweep_code
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
            text = "" if why else format_sweep_code(preview.plan.base, preview.axes, preview.paid + spend, price)
            form.send({"sweep_code": text, "why": why})

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
        form.in_background("sweep-panel", lambda: self._send_panel(entry, render_sweep_panel(entry)))

    def _film(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Send the completed runs of a sweep: `{do: "sweep_film", job}`."""
        form, entry = self._form, self._find_entry(content)
        job = None if entry is None else entry.job
        if form is None or entry is None or job is None or not job.is_done:
            return

        def read() -> None:
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

    def _find_entry(self, content: Mapping[str, Any]) -> StartedSweep | None:
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
        places = {id(entry): place - len(self._entries) for place, entry in enumerate(self._entries)}
        jobless = [entry for entry in self._entries if entry.job is None]
        jobs = [
            # Counted among those that have a job: `form.jobs` has no others.
            sweep_json(
                entry,
                places[id(entry)] + sum(places[id(one)] > places[id(entry)] for one in jobless),
                form.name_in_notebook,
            )
            for entry in self._entries[-MAX_SWEEPS:]
        ]
        plan = dict(preview.summary) if preview is not None else {}
        axes, why = [axis.as_json for axis in self._planning.axes], STARTED if is_started else self._planning.why
        try:
            form.sweeps = {
                "view": view, "n": number, "axes": axes, "plan": plan, "started": is_started, "why": why,
                "jobs": jobs[::-1], "shown": self._displayed,
            }  # fmt: skip
        # The page cannot be reached, or an observer of the sweeps fails: the sweeps go on.
        except Exception:
            log.debug("the sweeps of a form could not be published", exc_info=True)

    def _send_panel(self, entry: StartedSweep, html: str) -> None:
        form = self._form
        if form is not None:
            form.send({"sweep_panel": entry.key, "html": html})

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
