"""Sweeps and races of a form: starts what was planned within the agreed limit, and keeps the page up to date."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...display.update_clock import Bundle
from ...errors import ReelbookError
from ...util import registry
from .base_widget import Handler, LiveUpdates
from .draft import Draft
from .pictures import Pictures
from .planning import NONE_POSSIBLE, PlanPreview, SweepPlanning, parse_limits
from .run_cards import LibraryRun
from .started import EYE, FINAL, Started, find_best_input, list_cards, parse_measure
from .words import format_service_changed

if TYPE_CHECKING:
    from ...client import Client
    from ...current import Session
    from ...decide.race.race import Race
    from ...sweeps.job import SweepJob
    from .form import Form

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
        self.planning = SweepPlanning(form, draft, pictures, self._publish)
        self._condition = self.planning.condition
        self._entries: list[Started] = []
        self._results: dict[str, LibraryRun] = {}
        self._displayed = ""
        self._updates = LiveUpdates(
            self,
            FormSweeps._update_page,
            FormSweeps._bundle,
            lambda sweeps: tuple(entry.progress_key for entry in sweeps.entries),
            lambda sweeps: all(entry.is_over for entry in sweeps.entries),
        )
        self.handlers: Mapping[str, Handler] = {
            "sweep": self.planning.on_axes,
            "sweep_limit": self.planning.on_limit,
            "sweep_run": self._run,
            "sweep_do": self._do,
            "sweep_show": self._for_entry(self._show),
            "sweep_code": self._code,
            "sweep_film": self._for_entry(self._film),
            "sweep_sheet": self._for_entry(self._sheet),
            "sweep_use": self._for_entry(self._use),
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
    def entries(self) -> tuple[Started, ...]:
        """The sweeps and races started here, also those that failed at once, the newest last."""
        with self._condition:
            return tuple(self._entries)

    def close(self) -> None:
        """Stop publishing; the jobs go on, and their results are in the library."""
        self._updates.close()
        with self._condition:
            self._form, self.handlers = None, {}
        self.planning.close()

    def replan(self) -> None:
        """Make another plan of the same values."""
        if self.planning.axes:
            self.planning.request_plan()

    # Running.

    def _run(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Run the displayed plan, and no other, or race its settings: `{do: "sweep_run", plan, spend, price?, by?}`."""
        form = self._form
        if form is None:
            return
        entry = self._add_entry(form, content)
        if isinstance(entry, str):
            form.send({"sweep_said": entry})
            return
        self._updates.start()
        form.in_background("sweep", lambda: self._start(entry, form.session))

    def _add_entry(self, form: Form, content: Mapping[str, Any]) -> Started | str:
        """A new entry, or the reason why there is none."""
        number = content.get("plan")
        with form.lock, self._condition:
            preview = self.planning.preview
            if type(number) is int and any(entry.preview.number == number for entry in self._entries):
                return TWICE
            if preview is None or preview.number != number:
                return STALE
            if form.session.service_name() != self.planning.service:
                # The session is connected to another service now, whose price may differ.
                self.planning.request_plan()
                return STALE
            if not preview.summary["possible"]:
                return NONE_POSSIBLE
            spend, price, why = parse_limits(content, preview)
            by = _parse_by(content, preview)
            if why or by is None:
                return why or NO_MEASURE
            key, code = str(len(self._entries) + 1), _format_code(preview, by, spend, price)
            entry = Started(key, preview, by, spend, price, code, self.planning.service)
            self._entries.append(entry)
            self._displayed = entry.key
            self._publish()
            return entry

    def _start(self, entry: Started, session: Session) -> None:
        plan, spend, price = entry.preview.plan, entry.spend, entry.price
        job: SweepJob | None = None
        race: Race | None = None
        try:
            client = connect_client(entry.service, session)
            if entry.by:
                by = registry.find("judge") if entry.by == EYE else entry.by
                race = registry.find("start_race")(plan, client, by=by, budget=spend, price=price, is_new=True)
            else:
                job = plan.start(spend=spend, price=price, client=client)
        except Exception as error:
            if not isinstance(error, ReelbookError):
                log.debug("a sweep of a form could not be started", exc_info=True)
            entry.start_error = f"Nothing was started. {error or type(error).__name__}"
        else:
            with self._condition:
                entry.job, entry.race = job, race
            if race is not None and entry.by == EYE:
                from ..race_panel import RaceJudging  # Here, because it brings pandas along.

                entry.judging = RaceJudging(lambda bundle: self._send_judge(entry, str(bundle["text/html"])))
                race.on_change(entry.judging.follow)
        self._updates.start()

    def _do(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Pause, resume or cancel a job, or also stop its running runs: `{do: "sweep_do", job, what}`."""
        form, entry, what = self._form, self._find_entry(content), str(content.get("what"))
        if form is None or entry is None or what not in entry.can:
            return
        if what in FINAL:
            entry.final_actions.add(what)

        def work() -> None:
            if what == "stop" and entry.job is not None:
                entry.job.cancel(running=True)
            else:
                getattr(entry.running, what)()
            self._updates.start()

        form.in_background("sweep-do", work)

    def _for_entry(self, answer: Callable[[Form, Started], None]) -> Handler:
        """A handler that answers about the sweep or race which a message names, `{do, job}`, in the background."""

        def handle(content: dict[str, Any], _: list[memoryview]) -> None:
            form, entry = self._form, self._find_entry(content)
            if form is not None and entry is not None:
                form.in_background(str(content["do"]), lambda: answer(form, entry))

        return handle

    def _use(self, form: Form, entry: Started) -> None:
        """Fill the form with the best run of a race."""
        why = ""
        try:
            form.fill(find_best_input(entry))
        except ReelbookError as error:
            why = str(error)
        form.send({"sweep_used": entry.key, "why": why})

    def _code(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Send Python code for the displayed plan: `{do: "sweep_code", plan, spend, price?, by?}`."""
        form, preview = self._form, self.planning.preview
        if form is None:
            return
        if preview is None or preview.number != content.get("plan"):
            form.send({"sweep_code": "", "why": self.planning.why or STALE})
            return
        spend, price, why = parse_limits(content, preview)

        def answer() -> None:
            self._pictures.store_all()
            by = _parse_by(content, preview)
            problem = why or (NO_MEASURE if by is None else "")
            text = "" if problem else _format_code(preview, by, spend, price)
            form.send({"sweep_code": text, "why": problem, "by": bool(by)})

        form.in_background("sweep-code", answer)

    # Display.

    def _show(self, form: Form, entry: Started) -> None:
        """Send the panel of the sweep that the page displays now."""
        with form.lock, self._condition:
            self._displayed = entry.key
            self._publish()
        self._send_panel(entry, entry.render_panel())
        if entry.judging is not None:
            entry.judging.redraw()

    def _film(self, form: Form, entry: Started) -> None:
        """Send the completed runs of a sweep that is over."""
        results, count = entry.list_results()
        with self._condition:
            self._results |= {result.key: result for result in results}
        if entry.is_over:
            shots = [{**result.card(), "label": result.label} for result in results]
            form.send({"sweep_film": entry.key, "shots": shots, "of": count})

    def _sheet(self, form: Form, entry: Started) -> None:
        """Send the contact sheet of a sweep that is over."""
        if entry.is_over:
            form.send({"sweep_sheet": entry.key, **entry.draw_sheet()})

    def find_result(self, key: Any) -> LibraryRun | None:
        """A run of a sweep that was sent to the page."""
        with self._condition:
            return self._results.get(key) if isinstance(key, str) else None

    def _find_entry(self, content: Mapping[str, Any]) -> Started | None:
        return next((entry for entry in self.entries if entry.key == content.get("job")), None)

    def _publish(self) -> None:
        """Update the page; both locks are held."""
        form, preview = self._form, self.planning.preview
        if form is None:
            return
        view, number = self.planning.last_change
        is_started = preview is not None and any(entry.preview is preview for entry in self._entries)
        try:
            form.sweeps = {
                "view": view,
                "n": number,
                "axes": [axis.as_json for axis in self.planning.axes],
                "plan": dict(preview.summary) if preview is not None else {},
                "started": is_started,
                "why": STARTED if is_started else self.planning.why,
                "jobs": list_cards(self._entries, form.name_in_notebook, limit=MAX_SWEEPS),
                "shown": self._displayed,
                "limit": self.planning.limit,
            }
        # The page cannot be reached, or an observer of the sweeps fails: the sweeps go on.
        except Exception:
            log.debug("the sweeps of a form could not be published", exc_info=True)

    def _send_panel(self, entry: Started, html: str) -> None:
        form = self._form
        if form is not None:
            form.send({"sweep_panel": entry.key, "html": html})

    def _send_judge(self, entry: Started, html: str) -> None:
        form = self._form
        if form is not None:
            form.send({"sweep_judge": entry.key, "html": html})

    def _bundle(self) -> Bundle:
        entries = self.entries
        entry = next((entry for entry in entries if entry.key == self._displayed), None)
        over = [entry for entry in entries if entry.is_over and not entry.is_end_published]
        return {"entry": entry, "html": "" if entry is None else entry.render_panel(), "over": over}

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
            self.planning.request_plan()
        if bundle["html"]:
            self._send_panel(bundle["entry"], bundle["html"])


def connect_client(service: str, session: Session) -> Client:
    """The client that runs a sweep; an error if it is not that of the service displayed when Run was pressed."""

    def check() -> None:
        now = session.service_name()
        if now != service:
            raise ReelbookError(format_service_changed(now or session.next_service_name()))

    # Before and after: another connection may be made in between, and without one it is made here.
    check()
    client = session.client()
    if not service and (note := session.format_other_service()):
        raise ReelbookError(f"{note} Press Run again for sketches.")
    if service:
        check()
    return client


def _parse_by(content: Mapping[str, Any], preview: PlanPreview) -> Any:
    """What a race is judged by; empty for a sweep, None if this plan cannot be raced by that."""
    if "by" not in content:
        return ""
    return parse_measure(content["by"], preview.plan.base) if preview.summary["race"] else None


def _format_code(preview: PlanPreview, by: Any, spend: int, price: int | None) -> str:
    """Python code for the displayed plan: run, or raced if it says by what."""
    from ...display.input_code import format_race_code, format_sweep_code

    base, axes, budget = preview.plan.base, preview.axes, preview.paid + spend
    if not by:
        return format_sweep_code(base, axes, budget, price)
    return format_race_code(base, axes, "rb.judge" if by == EYE else repr(by), budget, price)
