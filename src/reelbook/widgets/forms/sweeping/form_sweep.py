"""Sweeping in place: a form plans every combination of some values, shows its price, and runs it for no more than a person agrees to spend now."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ....display.update_clock import Bundle, Key
from ....errors import ReelbookError
from ..base_widget import Handle
from ..fields.draft import Draft
from ..live_updates import KeepingUp
from ..pictures.form_pictures import Pictures
from .form_jobs import Started, client_of, key_of, panel_of, sheet_of_job, told
from .form_planning import NONE_POSSIBLE, Planning
from .plan_preview import code, money
from .sweep_clips import Shot, shots_of

if TYPE_CHECKING:
    from ....media.local_file import LocalFile
    from ....sweeps.execute.job import SweepJob
    from ..form import Form
    from ..shop import Shop

MAX_TOLD = 30
STALE = "The plan has changed since it was shown, so nothing was started. Look at it again, then press Run."
TWICE = "This plan was started already: it is run once."
STARTED = "This plan is under way. Change a value to plan another one."

log = logging.getLogger("reelbook")


class Sweeping:
    """The sweeps of one form: what was started here, and what the page is told of it and of the plan.

    Its lock is that of the planning; that of the form is taken before it.
    """

    def __init__(self, form: Form, draft: Draft, pictures: Pictures) -> None:
        self._form: Form | None = form
        self._pictures = pictures
        self._planning = Planning(form, draft, pictures, self._publish)
        self._bell = self._planning.bell
        self._count = 0
        self._entries: list[Started] = []
        self._shots: dict[str, Shot] = {}
        self._shown = ""
        self._keeping = KeepingUp(self, Sweeping._tell, Sweeping._bundle, Sweeping._key, Sweeping._is_over)
        self.handles: Mapping[str, Handle] = {
            "sweep": self._planning.plan_for, "sweep_run": self._run, "sweep_do": self._do, "sweep_show": self._show,
            "sweep_sheet": self._sheet, "sweep_code": self._code, "sweep_film": self._film,
        }  # fmt: skip

    @property
    def jobs(self) -> tuple[SweepJob, ...]:
        """The jobs that were started here, the newest last."""
        with self._bell:
            return tuple(entry.job for entry in self._entries if entry.job is not None)

    @property
    def entries(self) -> tuple[Started, ...]:
        """The sweeps that were started here, also those that failed at once, the newest last."""
        with self._bell:
            return tuple(self._entries)

    def close(self) -> None:
        """Nothing of it stays behind; the jobs go on, and the library has what they make."""
        self._keeping.close()
        with self._bell:
            self._form, self.handles = None, {}
        self._planning.close()

    def follow(self) -> None:
        """The form has changed, perhaps: the plan that is shown holds no longer, and another one is made."""
        self._planning.follow()

    # Running.

    def _run(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Run the plan that was shown, and no other: `{do: "sweep_run", plan, spend, price?}`."""
        form = self._form
        if form is None:
            return
        entry = self._begun(content)
        if isinstance(entry, str):
            form.send({"sweep_said": entry})
            return
        self._keeping.ring()
        form.in_background("sweep", lambda: self._start(entry, form.shop))

    def _begun(self, content: Mapping[str, Any]) -> Started | str:
        """A new entry; in words why there is none."""
        form, number = self._form, content.get("plan")
        if form is None:
            return STALE
        with form.lock, self._bell:
            made = self._planning.made
            if type(number) is int and any(entry.number == number for entry in self._entries):
                return TWICE
            if made is None or made.number != number:
                return STALE
            if form.shop.client_told() != self._planning.service:
                # Somebody has connected elsewhere meanwhile, where it may cost something else.
                self._planning.ask()
                return STALE
            if not made.shown["possible"]:
                return NONE_POSSIBLE
            spend, price, why = money(content, made)
            if why:
                return why
            self._count += 1
            text = code(made.plan.base, made.axes, made.paid + spend, price)
            entry = Started(str(self._count), made.plan, made.number, spend, price, text, self._planning.service)
            self._entries.append(entry)
            self._shown = entry.key
            self._publish()
            return entry

    def _start(self, entry: Started, shop: Shop) -> None:
        try:
            client = client_of(entry, shop)
            job = entry.plan.start(spend=entry.spend, price=entry.price, client=client)
        except Exception as error:
            if not isinstance(error, ReelbookError):
                log.debug("a sweep of a form could not be started", exc_info=True)
            entry.error = f"Nothing was started. {error or type(error).__name__}"
        else:
            with self._bell:
                entry.job = job
        self._keeping.ring()

    def _do(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Pause, resume, cancel, or stop also what is running: `{do: "sweep_do", job, what}`."""
        form, entry, what = self._form, self._entry(content), str(content.get("what"))
        if form is None or entry is None or entry.job is None or what not in told(entry, -1, "form")["can"]:
            return
        job = entry.job
        act: dict[str, Callable[[], object]] = {
            "pause": job.pause, "resume": job.resume, "cancel": job.cancel, "stop": lambda: job.cancel(running=True),
        }  # fmt: skip
        if what in ("cancel", "stop"):
            entry.did.add(what)

        def work() -> None:
            act[what]()
            self._keeping.ring()

        form.in_background("sweep-do", work)

    def _code(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Python for the plan that is shown: `{do: "sweep_code", plan, spend, price?}`."""
        form, made = self._form, self._planning.made
        if form is None:
            return
        if made is None or made.number != content.get("plan"):
            form.send({"sweep_code": "", "why": self._planning.why or STALE})
            return
        spend, price, why = money(content, made)

        def answer() -> None:
            self._pictures.keep_all()
            text = "" if why else code(made.plan.base, made.axes, made.paid + spend, price)
            form.send({"sweep_code": text, "why": why})

        form.in_background("sweep-code", answer)

    # What the page sees.

    def _show(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """The page shows this sweep large, and wants its panel: `{do: "sweep_show", job}`."""
        form, entry = self._form, self._entry(content)
        if form is None or entry is None:
            return
        with form.lock, self._bell:
            self._shown = entry.key
            self._publish()
        form.in_background("sweep-panel", lambda: self._send_panel(entry, panel_of(entry)))

    def _film(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """The page wants what a sweep has made, run by run: `{do: "sweep_film", job}`."""
        form, entry = self._form, self._entry(content)
        job = None if entry is None else entry.job
        if form is None or entry is None or job is None or not job.is_done:
            return

        def look() -> None:
            shots, count = shots_of(job, entry.key)
            with self._bell:
                self._shots |= {shot.key: shot for shot in shots}
            form.send({"sweep_film": entry.key, "shots": [shot.shown for shot in shots], "of": count})

        form.in_background("sweep-film", look)

    def files(self, key: str) -> tuple[LocalFile, ...]:
        """The files of a run of a sweep that the page was told of."""
        with self._bell:
            shot = self._shots.get(key)
        return () if shot is None else shot.files

    def _sheet(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """The page wants the contact sheet: `{do: "sweep_sheet", job}`."""
        form, entry = self._form, self._entry(content)
        job = None if entry is None else entry.job
        if form is None or entry is None or job is None or not job.is_done:
            return

        def draw() -> None:
            try:
                pictures = sheet_of_job(job)
            except Exception as error:
                if not isinstance(error, ReelbookError):
                    log.debug("a contact sheet of a form could not be drawn", exc_info=True)
                form.send({"sweep_sheet": entry.key, "words": str(error) or type(error).__name__})
            else:
                form.send({"sweep_sheet": entry.key}, pictures)

        form.in_background("sweep-sheet", draw)

    def _entry(self, content: Mapping[str, Any]) -> Started | None:
        with self._bell:
            return next((entry for entry in self._entries if entry.key == content.get("job")), None)

    def _publish(self) -> None:
        """Tell the page how things are; both locks are held."""
        form = self._form
        if form is None:
            return
        view, number = self._planning.said
        made = self._planning.made
        is_started = made is not None and any(entry.number == made.number for entry in self._entries)
        places = {id(entry): place - len(self._entries) for place, entry in enumerate(self._entries)}
        without = [entry for entry in self._entries if entry.job is None]
        jobs = [
            # Counted among those that have a job: `form.jobs` has no others.
            told(
                entry,
                places[id(entry)] + sum(places[id(one)] > places[id(entry)] for one in without),
                form.name_in_notebook,
            )
            for entry in self._entries[-MAX_TOLD:]
        ]
        plan = dict(made.shown) if made is not None else {}
        axes, why = [axis.shown for axis in self._planning.axes], STARTED if is_started else self._planning.why
        try:
            form.sweeps = {
                "view": view, "n": number, "axes": axes, "plan": plan, "started": is_started, "why": why,
                "jobs": jobs[::-1], "shown": self._shown,
            }  # fmt: skip
        # A page that cannot be reached, or somebody who follows the sweeps and fails: what is under way goes on.
        except Exception:
            log.debug("the sweeps of a form could not be told", exc_info=True)

    def _send_panel(self, entry: Started, html: str) -> None:
        form = self._form
        if form is not None:
            form.send({"sweep_panel": entry.key, "html": html})

    def _bundle(self) -> Bundle:
        with self._bell:
            entry = next((one for one in self._entries if one.key == self._shown), None)
            over = [one for one in self._entries if one.is_over and not one.is_told]
        return {"entry": entry, "html": "" if entry is None else panel_of(entry), "over": over}

    def _tell(self, bundle: Bundle) -> None:
        form = self._form
        if form is None:
            return
        with form.lock, self._bell:
            self._publish()
            for entry in bundle["over"]:
                entry.is_told = True
        if bundle["over"]:
            form.draw_later()
            # The library has more now, so that the same plan costs less.
            self._planning.ask()
        if bundle["html"]:
            self._send_panel(bundle["entry"], bundle["html"])

    def _key(self) -> Key:
        return key_of(self.entries)

    def _is_over(self) -> bool:
        return all(entry.is_over for entry in self.entries)
