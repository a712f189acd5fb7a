"""Running in place: a form starts its runs, keeps up with them, cancels them, and shows what came of them."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ....display.update_clock import Bundle, Key
from ....errors import ReelbookError
from ..base_widget import Handler
from ..live_updates import LiveUpdates
from ..shop import EMBEDDED, elsewhere
from .run_clips import RunFileSender
from .run_history import Entry, details, entry_json, is_same_request, newest_entries
from .run_presses import Presses, Refusal

if TYPE_CHECKING:
    from ....media.local_file import LocalFile
    from ....models.base import Input
    from ....runs.run import Run
    from ..form import Form

MAX_ENTRIES = 50
"""Runs that stay on the page; all of them are in the library."""
MAX_LINES, MAX_LINE_LENGTH = 2_000, 1_000
CANCEL_REQUESTED, NOT_CANCELLED = "The service was asked to stop it.", "The service did not cancel it: it goes on."
TOO_LATE = "It had ended before it could be cancelled."

log = logging.getLogger("reelbook")


class FormRuns:
    """The runs of one form. Whatever takes time happens in threads of its own; the page hears four times a second at most."""

    def __init__(self, form: Form) -> None:
        self._form: Form | None = form
        self._entries: list[Entry] = []
        self._count = self._ends = 0
        self._presses = Presses()
        self._guard = threading.RLock()
        self._updates = LiveUpdates(self, FormRuns._publish, FormRuns._bundle, FormRuns._key, FormRuns._is_over)
        self._clips = RunFileSender(form, _files_of(self, form))
        self.handlers: Mapping[str, Handler] = {
            "run": self._run,
            "cancel": self._cancel,
            "log": self._log,
            "use": self._use,
            "facts": self._facts,
            "clock": self._clock,
            "poster": self._clips.queue_poster,
            "bring": self._clips.queue_clip,
        }

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that were started here, the newest last."""
        with self._guard:
            return tuple(entry.run for entry in self._entries if entry.run is not None)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every click on Run and what became of it, the newest last."""
        with self._guard:
            return tuple(self._entries)

    def close(self) -> None:
        """Nothing of it stays behind; the runs go on, and the library has them."""
        self._updates.close()
        with self._guard:
            self._form, self.handlers = None, {}
        self._clips.close()

    # What the page asks for.

    def _run(self, content: dict[str, Any], _: list[memoryview]) -> None:
        form = self._form
        if form is None:
            return
        try:
            value = form.value
        except ReelbookError as error:
            form.send({"said": str(error)})
            return
        change = content.get("change")
        entry = self._add_entry(value, content.get("again"), change if type(change) is int else None)
        if isinstance(entry, Refusal):
            form.send(entry.message)
            return
        self._updates.start()
        # Where it was to run when Run was pressed, as the form says it.
        seen = content.get("client")
        form.in_background("run", lambda: self._start(entry, seen))

    def _add_entry(self, value: Input, again: Any, change: int | None) -> Entry | Refusal:
        """A new entry; else why this press starts nothing."""
        with self._guard:
            refusal = self._presses.check(value, self._entries, again)
            if refusal is not None:
                return refusal
            self._count += 1
            entry = Entry(str(self._count), value, change=change)
            self._entries.append(entry)
            return entry

    def _start(self, entry: Entry, seen: str | None) -> None:
        # The shop alone: a submission can take minutes, and a form that is closed meanwhile must not stay for it.
        shop = None if self._form is None else self._form.shop
        if shop is None:
            return
        try:
            if seen is not None and (now := shop.client_told()) not in (seen, EMBEDDED):
                raise ReelbookError(f"Nothing was sent. {elsewhere(now or shop.service_to_come())}")
            run = shop.start(entry.value)
        # Also what is no error of ours: a click that is followed by nothing would be worse than any words.
        except Exception as error:
            if not isinstance(error, ReelbookError):
                log.debug("a run could not be started", exc_info=True)
            entry.error = error.with_traceback(None)
        else:
            self._attach_run(entry, run)
        self._updates.start()

    def _attach_run(self, entry: Entry, run: Run) -> None:
        with self._guard:
            entry.run = run
            # What was asked for again and is the same run stands once, in its new place.
            self._entries = [one for one in self._entries if one is entry or not is_same_request(one.run, run)]

    def _cancel(self, content: dict[str, Any], _: list[memoryview]) -> None:
        entry, form = self._find_entry(content), self._form
        if form is None or entry is None or entry.run is None or entry.is_over or entry.is_cancelling:
            return
        run, entry.is_cancelling, entry.cancel_message = entry.run, True, ""
        self._updates.start()

        def cancel() -> None:
            try:
                is_accepted = run.cancel()
                message = CANCEL_REQUESTED if is_accepted else TOO_LATE if entry.is_over else NOT_CANCELLED
            except Exception as error:
                is_accepted, message = False, str(error)
            entry.cancel_message, entry.is_cancelling = message, is_accepted
            self._updates.start()

        form.in_background("cancel", cancel)

    def _log(self, content: dict[str, Any], _: list[memoryview]) -> None:
        entry, form = self._find_entry(content), self._form
        if form is None or entry is None:
            return
        lines = entry.run.logs if entry.run is not None else []
        first = content.get("from")
        start = max(first if type(first) is int and first >= 0 else 0, len(lines) - MAX_LINES)
        cut = [line[:MAX_LINE_LENGTH] for line in lines[start:]]
        form.send({"log": entry.key, "from": start, "of": len(lines), "lines": cut})

    def _use(self, content: dict[str, Any], _: list[memoryview]) -> None:
        entry, form = self._find_entry(content), self._form
        if form is not None and entry is not None:
            form.fill(entry.value)

    def _facts(self, content: dict[str, Any], _: list[memoryview]) -> None:
        entry, form = self._find_entry(content), self._form
        if form is not None and entry is not None:
            form.in_background("facts", lambda: form.send({"facts": entry.key, **details(entry)}))

    def _clock(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """What time it is here: the page shows how long a run has taken, and its clock may be another one."""
        if self._form is not None:
            self._form.send({"clock": time.time()})

    def _find_entry(self, content: dict[str, Any]) -> Entry | None:
        """The entry that a message is about; None where there is none."""
        key = content.get("run")
        with self._guard:
            return next((entry for entry in self._entries if entry.key == key), None)

    # What the page is told.

    def _publish(self, bundle: Bundle) -> None:
        form = self._form
        if form is None:
            return
        with form.lock:
            form.records = bundle["records"]
        ends = sum(entry.is_over for entry in self.entries)
        if ends != self._ends:
            self._ends = ends
            form.redraw_later()

    def _bundle(self) -> Bundle:
        with self._guard:
            entries = newest_entries(self._entries, MAX_ENTRIES)
            older = len(self._entries) - len(entries)
        for entry in entries:
            entry.note_end()
        runs = [entry_json(entry) for entry in entries]
        if older:
            runs[-1] = {**runs[-1], "older": older}
        return {"records": runs}

    def _key(self) -> Key:
        """Three parts, however many runs there are: a form of many must not take the turns of the others."""
        with self._guard:
            news = [entry.progress_key for entry in self._entries]
        states, fractions, lines = zip(*news, strict=True) if news else ((), (), ())
        return states, sum(fractions) / max(len(news), 1), sum(lines)

    def _is_over(self) -> bool:
        return all(entry.is_over for entry in self.entries)


def _files_of(running: FormRuns, form: Form) -> Callable[[str], tuple[LocalFile, ...]]:
    """The files of a run of this form or of its sweeps by its key, asked for by name and not held."""
    here, there = weakref.ref(running), weakref.ref(form)

    def files(key: str) -> tuple[LocalFile, ...]:
        running = here()
        entry = None if running is None else running._find_entry({"run": key})
        if entry is not None:
            return entry.files
        form = there()
        return () if form is None else form.sweep_files(key)

    return files
