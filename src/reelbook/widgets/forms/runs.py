"""The runs of a form: starts, updates, cancels and displays them."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...display.update_clock import Bundle, OutputKey
from ...errors import ReelbookError
from ...models.catalog import is_reusable
from ..link import file_senders, parse_want, send_file
from .base_widget import Handler, LiveUpdates
from .run_cards import PressedRun, ShownRun, find_newest_entries, is_same_request
from .words import format_service_changed

if TYPE_CHECKING:
    from ...media.local_file import LocalFile
    from ...models.base import Input
    from ...runs.run import Run
    from .form import Form

MAX_ENTRIES = 50
"""Runs on the page; the library has all of them."""
DOUBLE_SECONDS = 0.7
"""Two presses for the same inputs within this time are one double press; so are those of a held key."""
RECENT_SECONDS = 2.0
"""A press for the same inputs so soon after the end of a run may have been meant for that run."""
TWICE = "Pressed twice: it runs once."
SAME = "This run is already in progress. The same inputs and seed give the same result, so nothing more is sent."
GOING = "A run is in progress. Press again to start another."
ENDED = "This run has just ended. Press again to start another."

log = logging.getLogger("reelbook")


class FormRuns:
    """The runs of one form. Slow work is done in background threads; the page is updated at most four times a second."""

    def __init__(self, form: Form) -> None:
        self._form: Form | None = form
        self._entries: list[PressedRun] = []
        self._count = self._ends = 0
        self._presses = Presses()
        self._guard = threading.RLock()
        self._updates = LiveUpdates(
            self,
            FormRuns._publish,
            FormRuns._bundle,
            FormRuns._key,
            lambda runs: all(entry.is_over for entry in runs.entries),
        )
        form_ref = weakref.ref(form)
        self.handlers: Mapping[str, Handler] = {
            "run": self._run,
            "cancel": self._cancel,
            "use": self._use,
            "facts": self._facts,
            "clock": self._clock,
            "want": lambda content, _: answer_want(form_ref, content, self.files),
        }

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs started here, the newest last."""
        with self._guard:
            return tuple(entry.run for entry in self._entries if entry.run is not None)

    @property
    def entries(self) -> tuple[PressedRun, ...]:
        """Every press of Run with its outcome, the newest last."""
        with self._guard:
            return tuple(self._entries)

    def files(self, key: str) -> tuple[LocalFile, ...]:
        """The files of a run of this form or its sweeps."""
        run = self._find_run({"run": key})
        return () if run is None else run.files

    def close(self) -> None:
        """Stop publishing; the runs go on, and are stored in the library."""
        self._updates.close()
        with self._guard:
            self._form, self.handlers = None, {}

    # Messages from the page.

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
        if isinstance(entry, RefusedPress):
            form.send(entry.message)
            return
        self._updates.start()
        # The service displayed when Run was pressed.
        expected_service = content.get("client")
        form.in_background("run", lambda: self._start(entry, expected_service))

    def _add_entry(self, value: Input, again: Any, change: int | None) -> PressedRun | RefusedPress:
        """A new entry, or the refusal of this press."""
        with self._guard:
            refusal = self._presses.check(value, self._entries, again)
            if refusal is not None:
                return refusal
            self._count += 1
            entry = PressedRun(str(self._count), value, change=change)
            self._entries.append(entry)
            return entry

    def _start(self, entry: PressedRun, expected_service: str | None) -> None:
        # Without the form: a submission can take minutes, and must not keep a closed form alive.
        if (form := self._form) is None:
            return
        session, start_run = form.session, form.start_run
        del form
        try:
            now = session.service_name()
            if expected_service is not None and now != expected_service and not session.is_embedded:
                raise ReelbookError(f"Nothing was sent. {format_service_changed(now or session.next_service_name())}")
            if expected_service == "" and session.client() and (note := session.format_other_service()):
                raise ReelbookError(f"Nothing was sent. {note} Press Run again for a sketch.")
            run = start_run(entry.value)
        # Any error: every press must get a response.
        except Exception as error:
            if not isinstance(error, ReelbookError):
                log.debug("a run could not be started", exc_info=True)
            entry.error = error.with_traceback(None)
        else:
            self._attach_run(entry, run)
        self._updates.start()

    def _attach_run(self, entry: PressedRun, run: Run) -> None:
        with self._guard:
            entry.run = run
            # Repeated requests for the same run are one entry, the newest.
            same = [other for other in self._entries if other is not entry and is_same_request(other.run, run)]
            entry.paid_run = next((other.paid_run or other.run for other in same), None)
            self._entries = [other for other in self._entries if other not in same]

    def _cancel(self, content: dict[str, Any], _: list[memoryview]) -> None:
        entry, form = self._find_entry(content), self._form
        if form is None or entry is None or not entry.can_cancel:
            return
        entry.is_cancelling, entry.cancel_message = True, ""
        self._updates.start()

        def cancel() -> None:
            entry.cancel()
            self._updates.start()

        form.in_background("cancel", cancel)

    def _use(self, content: dict[str, Any], _: list[memoryview]) -> None:
        run, form = self._find_run(content), self._form
        if form is not None and run is not None:
            form.fill(run.value)

    def _facts(self, content: dict[str, Any], _: list[memoryview]) -> None:
        run, form = self._find_run(content), self._form
        if form is not None and run is not None:
            form.in_background("facts", lambda: form.send({"facts": run.key, **run.details()}))

    def _clock(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Send the time of this machine: the page displays how long a run has taken, and its clock may differ."""
        if self._form is not None:
            self._form.send({"clock": time.time()})

    def _find_entry(self, content: dict[str, Any]) -> PressedRun | None:
        """The entry that a message names; None if there is none."""
        key = content.get("run")
        with self._guard:
            return next((entry for entry in self._entries if entry.key == key), None)

    def _find_run(self, content: dict[str, Any]) -> ShownRun | None:
        """The same, or a run of a sweep."""
        form = self._form
        return self._find_entry(content) or (None if form is None else form.find_sweep_run(content.get("run")))

    # Display.

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
            # The library has more, and the account less.
            form.replan()

    def _bundle(self) -> Bundle:
        with self._guard:
            entries = find_newest_entries(self._entries, MAX_ENTRIES)
            older = len(self._entries) - len(entries)
        for entry in entries:
            entry.note_end()
        runs = [entry.card() for entry in entries]
        if older:
            runs[-1] = {**runs[-1], "older": older}
        return {"records": runs}

    def _key(self) -> OutputKey:
        """A key that changes when the display would; of three parts, however many runs there are."""
        with self._guard:
            keys = [entry.progress_key for entry in self._entries]
        states, fractions, lines = zip(*keys, strict=True) if keys else ((), (), ())
        return states, sum(fractions) / max(len(keys), 1), sum(lines)


def answer_want(
    widget_ref: weakref.ref[Any], content: dict[str, Any], files: Callable[[str], Sequence[LocalFile]]
) -> None:
    """Send a file of a run, a part of it or its poster, in the background: `{do: "want", want: [run, file, longest?]}`."""
    want = parse_want(content, str)
    if want is None or want[1] < 0:
        return

    def send(message: dict[str, Any], parts: list[bytes] | None) -> None:
        if (widget := widget_ref()) is not None:
            widget.send(message, parts)

    def work() -> None:
        found = files(want[0])
        path = found[want[1]].path if want[1] < len(found) else None
        send_file(send, want, path, name=f"The file {path}", unknown="There is no such file in this form.")

    file_senders.submit(work)


@dataclass(frozen=True, slots=True)
class RefusedPress:
    """The reason why a press starts no run."""

    text: str
    again: int | None = None
    """The number that a press sends to start another run all the same; None if that is not offered."""

    @property
    def message(self) -> dict[str, Any]:
        """The refusal as a message to the page."""
        return {"said": self.text} if self.again is None else {"said": self.text, "again": self.again}


class Presses:
    """The presses of Run in all views of one form. Not thread-safe: callers hold the lock of the entries."""

    def __init__(self) -> None:
        self._pressed_at = float("-inf")
        self._offers = 0
        self._offered: tuple[int, Input] | None = None

    def check(self, value: Input, entries: Iterable[PressedRun], again: Any) -> RefusedPress | None:
        """Record a press; return its refusal, None if it starts a run. `again` is the number of an accepted offer."""
        now = time.monotonic()
        since, self._pressed_at = now - self._pressed_at, now
        same = [entry for entry in entries if entry.value == value]
        if any(entry.is_sending for entry in same) or (same and since < DOUBLE_SECONDS):
            return RefusedPress(TWICE)
        going = [entry for entry in same if not entry.is_over]
        if going and is_reusable(value):
            return RefusedPress(SAME)
        # An ended run with a seed is found in the library, at no cost.
        is_recent = not is_reusable(value) and any(_is_recently_completed(entry, now) for entry in same)
        if (going or is_recent) and (type(again) is not int or self._offered != (again, value)):
            self._offers += 1
            self._offered = self._offers, value
            return RefusedPress(GOING if going else ENDED, self._offers)
        # An offer is accepted once, by the first view.
        self._offered = None
        return None


def _is_recently_completed(entry: PressedRun, now: float) -> bool:
    entry.note_end()
    # A failed or cancelled run may be repeated at once.
    return entry.is_completed and entry.ended_at is not None and now - entry.ended_at < RECENT_SECONDS
