"""What was started from a form, runs and sweeps alike: one list of entries, each drawn as `display` draws it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ...display.figure import figures
from ...display.formatting import STATE_SIGNS, format_credits, format_duration, join_with_dots, shorten
from ...display.live import UPDATE_SECONDS, OutputKey
from ...display.original_links import linked_by
from ...display.run_card import format_failure, run_figure
from ...display.run_text import describe_run, get_prompt
from ...display.theme import blocks, render_card
from ...errors import (
    InvalidInput,
    LibraryError,
    OverBudget,
    ReelbookError,
    ServiceError,
    UncertainRun,
    UnknownModel,
    Unreachable,
)
from ...models.base import Input
from ...models.catalog import is_reusable
from ...models.images import Image as SourcePicture
from ...settings import options
from ...storage.run_status import ENDED, RunStatus
from ..link import Handler, NewestOnly
from .schema import get_sheet
from .words import format_problem, format_sentence, format_service_changed, get_labels

if TYPE_CHECKING:
    from ...current import Session
    from ...runs.run import Run
    from .form import Form
    from .sweeps import StartedJob

MAX_ENTRIES = 20
"""The newest entries, which are on the page; the library has all runs."""
MAX_REASON_LENGTH = 900
DOUBLE_SECONDS = 0.7
"""Two presses for the same inputs within this time are one double press; so are those of a held key."""
RECENT_SECONDS = 2.0
"""A press for the same inputs so soon after the end of a run may have been meant for that run."""
MOVED = "The price has moved ({price} now), so nothing was sent yet. Press Run to continue."
TWICE = "Pressed twice: it runs once."
SAME = "This run is already in progress. The same inputs and seed give the same result, so nothing more is sent."
GOING = "A run is in progress. Press again to start another."
ENDED_NOW = "This run has just ended. Press again to start another."
USED = "The form has the inputs of this run now."
SENDING = "being sent to the service"
CANCEL_REQUESTED, NOT_CANCELLED = "The service was asked to stop it.", "The service did not cancel it, so it continues."
TOO_LATE = "It had ended before it could be cancelled."
UNREADABLE = "This cannot be shown here. It is in rb.library()."
STATUS_WORDS = {"IN_QUEUE": "waiting", "IN_PROGRESS": "running"}
UNSENT = (InvalidInput, LibraryError, OverBudget, UnknownModel, Unreachable)
"""Errors raised before anything is sent."""

log = logging.getLogger("reelbook")

Action = tuple[str, str, str]
"""What can be done with an entry: its name in messages, the label of its button, and its tooltip."""
CANCEL: Action = ("cancel", "Cancel", "Ask the service to stop it")
USE: Action = ("use", "Use these inputs", "Put the inputs of this run into the form")
USE_IN: Action = ("use_in", "Use in …", "The frame that is displayed becomes the picture of a model")


@dataclass(eq=False)
class PressedRun:
    """One press of Run, and its outcome."""

    key: str
    value: Input
    change: int
    """The number of the form's last change when Run was pressed."""
    run: Run | None = None
    error: Exception | None = None
    """Why there is no run."""
    message: str = ""
    """What came of cancelling it."""
    ended_at: float | None = None
    """When its end was first noticed, by the monotonic clock."""
    started_at: float = field(default_factory=time.time)
    """When Run was pressed, by the clock of this machine."""
    kind: ClassVar[str] = "run"
    judging: ClassVar[Any] = None

    @property
    def is_completed(self) -> bool:
        """Whether it has its result."""
        return self.run is not None and self.run.status == "completed"

    @property
    def is_sending(self) -> bool:
        """Whether it is being sent, and the service has not answered yet."""
        return self.run is None and self.error is None

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.error is not None or (self.run is not None and self.run.status in ENDED)

    @property
    def status(self) -> str:
        """Its state in a word or two."""
        if self.run is None:
            uncertain = isinstance(self.error, UncertainRun)
            return "uncertain" if uncertain else "failed" if self.error else "waiting"
        if self.run.from_library and self.is_completed:
            return "from library"
        return STATUS_WORDS.get(self.run.status, self.run.status)

    @property
    def actions(self) -> list[Action]:
        """What can be done with it now."""
        can_cancel = self.run is not None and not self.is_over and self.message != CANCEL_REQUESTED
        return [*([CANCEL] if can_cancel else []), USE, *([USE_IN] if self.is_completed else [])]

    @property
    def progress_key(self) -> OutputKey:
        """A key that changes when its display would: state, progress, lines of the log, and seconds."""
        state = self.key, self.status, self.message
        if self.run is None or self.is_over:
            return state
        return (*state, *self.run.progress, len(self.run.logs), int(time.time() - self.started_at))

    @property
    def picture(self) -> Path | None:
        """The first file, once there is one."""
        media = self.run.media if self.run is not None and self.is_completed else ()
        return media[0].path if media else None

    @property
    def line(self) -> str:
        """It on one line: sign, state, prompt, and what it cost or why it failed."""
        words = f"{STATE_SIGNS.get(self.status, STATE_SIGNS['running'])} {self.status}"
        if self.error is not None:
            return join_with_dots(words, shorten(get_prompt(self.value), 60), format_unsent(self.error, self.value)[1])
        if self.run is None or not self.is_over:
            return join_with_dots(words, shorten(get_prompt(self.value), 60))
        if not self.is_completed:
            return format_failure(self.run)
        known = describe_run(self.run)
        return join_with_dots(words, shorten(known.prompt, 60), known.seed, known.credits, known.made_by)

    def render(self) -> str:
        """Its card as HTML: what `display` shows of the run."""
        if self.error is not None:
            title, words = format_unsent(self.error, self.value)
            status = blocks.state(self.status, join_with_dots(self.status, title))
            return render_card(blocks.heading(status), blocks.small(words), width=options.max_width)
        if self.run is None:
            words = f"{STATE_SIGNS['IN_QUEUE']} {SENDING}"
            return render_card(figures.progress(words, 0, ""), width=options.max_width)
        return run_figure(self.run)

    @property
    def details(self) -> dict[str, Any]:
        """What the page needs of a run in particular: also what the button says meanwhile."""
        told: dict[str, Any] = {"button": "", "change": self.change}
        if self.message and self.status != "cancelled":
            told["said"] = shorten(self.message, MAX_REASON_LENGTH)
        if self.is_sending:
            return {**told, "button": "Sending …", "isSending": True}
        if self.run is not None and not self.is_over:
            fraction, stage = self.run.progress
            is_running = self.status == "running"
            share = f"{fraction:.0%}" if fraction and is_running else stage if stage.endswith("in the queue") else ""
            seconds = format_duration(int(time.time() - self.started_at))
            button = join_with_dots("Running" if is_running else "Waiting", share.partition(" in")[0], seconds)
            told |= {"fraction": round(fraction, 3), "button": button}
        return told

    def note_end(self) -> None:
        """Record when it ended, once it has."""
        if self.ended_at is None and self.is_over:
            self.ended_at = time.monotonic()

    def act(self, what: str, form: Form, content: Mapping[str, Any]) -> dict[str, Any]:
        """Cancel it and wait for the answer, use a picture of it, or fill the form with its inputs."""
        if what == "cancel" and self.run is not None:
            try:
                self.message = CANCEL_REQUESTED if self.run.cancel() else TOO_LATE if self.is_over else NOT_CANCELLED
            except Exception as error:
                self.message = str(error)
            return {}
        if what == "use_in" and self.run is not None:
            return use_frame(form, self.run, content)
        form.fill(self.value)
        return {"words": USED}


def format_unsent(error: Exception, value: Input) -> tuple[str, str]:
    """What became of a press without a run, and why."""
    labels = get_labels(get_sheet(type(value)))
    words = format_sentence(str(error), labels) or f"Something unexpected happened ({type(error).__name__})."
    if isinstance(error, InvalidInput):
        words = " ".join(format_problem(problem, labels) for problem in error.problems)
    title = "not accepted" if isinstance(error, ServiceError) else "not sent" if isinstance(error, UNSENT) else ""
    if isinstance(error, UncertainRun):
        title = join_with_dots("may have been paid", format_credits(error.credits, "estimated", RunStatus.UNCERTAIN))
        if "rb.library().uncertain" not in words:
            words = f"{words} See rb.library().uncertain."
    return title, words[: 2 * MAX_REASON_LENGTH]


Entry: TypeAlias = "PressedRun | StartedJob"
"""What was started from a form."""


class FormRuns:
    """What was started from one form. Slow work is done in background threads; the page is updated four times a second."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._entries: list[Entry] = []
        self._ends = self._offers = 0
        self._pressed_at = float("-inf")
        self._offered: tuple[int, Input] | None = None
        """The number of the newest offer to run the same once more, and its inputs."""
        self._sent: dict[str, OutputKey] = {}
        """The state of each entry whose card was sent."""
        self._updates = NewestOnly(self._publish, "reelbook-form-runs", pause=UPDATE_SECONDS)
        self.handlers: Mapping[str, Handler] = {"run": self._run, "show": self._show, "act": self._act}

    @property
    def all(self) -> tuple[Entry, ...]:
        """Every run, sweep and race that was started here, the newest last."""
        # Without a lock: the clock asks for it under its own, and entries are only ever added.
        return tuple(self._entries)

    @property
    def entries(self) -> tuple[PressedRun, ...]:
        """Every press of Run with its outcome, the newest last."""
        return tuple(entry for entry in self.all if isinstance(entry, PressedRun))

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs started here, the newest last."""
        return tuple(entry.run for entry in self.entries if entry.run is not None)

    def add(self, entry: Entry) -> None:
        """Add what was started, and keep the page up to date about it until it is over."""
        self._entries.append(entry)
        self.update()

    def update(self) -> None:
        """Update the page soon, and go on until all entries are over."""
        self._updates.put(True)

    # Messages from the page.

    def _run(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Run what the page displays, at the price that it displays: `{do: "run", view, n, draft, credits, client, again?}`."""
        form = self._form
        shown = form.state["client"]
        checked, state = form.take(content)
        price, service = state["price"], form.session.service_name()
        value, why = (None, str(checked)) if isinstance(checked, InvalidInput) else (checked, "")
        if content.get("credits", price["credits"]) != price["credits"]:
            why = MOVED.format(price=price["told"])
        elif service != content.get("client", shown) and not form.session.is_embedded:
            # The session is connected to another service now.
            form.refresh()
            why = format_service_changed(service or form.session.next_service_name())
        elif state["view"] == content.get("view") and state["n"] != content.get("n"):
            # Two threads can handle one page's messages.
            why = "The form has changed since Run was pressed, so nothing was sent. Press Run again."
        if value is None or why:
            form.send({"said": why})
            return
        with form.lock:
            refusal = self._refuse(value, content.get("again"))
            if refusal is not None:
                form.send(refusal)
                return
            entry = PressedRun(str(len(self.entries) + 1), value, change=state["change"])
            self.add(entry)
        form.in_background("run", lambda: self._start(entry, service))

    def _refuse(self, value: Input, again: Any) -> dict[str, Any] | None:
        """Why a press starts no run, as a message; None if it starts one. `again` is the number of an accepted offer."""
        now = time.monotonic()
        since, self._pressed_at = now - self._pressed_at, now
        same = [entry for entry in self.entries if entry.value == value]
        if any(entry.is_sending for entry in same) or (same and since < DOUBLE_SECONDS):
            return {"said": TWICE}
        going = [entry for entry in same if not entry.is_over]
        if going and is_reusable(value):
            return {"said": SAME}
        # An ended run with a seed is found in the library, at no cost.
        is_recent = not is_reusable(value) and any(_is_recently_completed(entry, now) for entry in same)
        if (going or is_recent) and (type(again) is not int or self._offered != (again, value)):
            self._offers += 1
            self._offered = self._offers, value
            return {"said": GOING if going else ENDED_NOW, "again": self._offers}
        # An offer is accepted once, by the first view.
        self._offered = None
        return None

    def _start(self, entry: PressedRun, service: str) -> None:
        try:
            check_service(service, self._form.session)
            run = self._form.start_run(entry.value)
        # Any error: every press must get a response.
        except Exception as error:
            if not isinstance(error, ReelbookError):
                log.debug("a run could not be started", exc_info=True)
            entry.error = error.with_traceback(None)
        else:
            entry.run = run
        self.update()

    def _show(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Send the card of an entry that the page does not have: `{do: "show", run}`."""
        form, entry = self._form, self._find(content)
        if entry is None:
            return

        def show() -> None:
            send_card(form, entry)
            if entry.judging is not None:
                entry.judging.redraw()

        form.in_background("show", show)

    def _act(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Do what a button of an entry says: `{do: "act", run, what}`, or use a frame: `{…, what: "use_in", model, frame}`."""
        form, entry, what = self._form, self._find(content), content.get("what")
        if entry is None:
            return
        with form.lock:
            if all(what != name for name, _, _ in entry.actions):
                return
            if isinstance(entry, PressedRun) and what == "cancel":
                entry.message = CANCEL_REQUESTED

        def work() -> None:
            try:
                answer = entry.act(str(what), form, content)
            except ReelbookError as error:
                answer = {"words": str(error)}
            form.send({"acted": entry.key, **answer})
            self.update()

        form.in_background("act", work)

    def _find(self, content: Mapping[str, Any]) -> Entry | None:
        """The entry that a message names; None if there is none."""
        return next((entry for entry in self.all if entry.key == content.get("run")), None)

    # Display.

    def _publish(self, _: Any) -> None:
        """Send the page what has changed, and come back while something goes on."""
        form, entries = self._form, self.all
        if form.is_closed:
            return
        for pressed in self.entries:
            pressed.note_end()
        ends = sum(entry.is_over for entry in entries)
        if ends < len(entries):
            self.update()
        shown = entries[: -MAX_ENTRIES - 1 : -1]
        keys = {entry.key: entry.progress_key for entry in shown}
        news = [entry for entry in shown if self._sent.get(entry.key) != keys[entry.key]]
        if not news:
            return
        self._sent |= keys
        # Cards first: a page that hears of an entry has its card already.
        for entry in news:
            send_card(form, entry)
        with form.lock:
            form.records = [describe_entry(form, entry) for entry in shown]
        if ends != self._ends:
            self._ends = ends
            form.redraw_later()
            # The library has more, and the account less.
            form.replan()


def check_service(service: str, session: Session) -> None:
    """Raise if the session is connected to another service than the displayed one."""
    now = session.service_name()
    if now != service and not session.is_embedded:
        raise ReelbookError(f"Nothing was sent. {format_service_changed(now or session.next_service_name())}")


def describe_entry(form: Form, entry: Entry) -> dict[str, Any]:
    """An entry as the page needs it, with its picture, and the models that can take a frame of it."""
    record = {
        "key": entry.key,
        "kind": entry.kind,
        "status": entry.status,
        "mark": entry.line[:1],
        "isOver": entry.is_over,
        "line": shorten(entry.line, 240),
        "actions": [list(action) for action in entry.actions],
        **entry.details,
    }
    if (picture := entry.picture) is not None:
        record["file"] = form.register(picture)
    if USE_IN in entry.actions:
        record["uses"] = list_uses(form)
    return record


def send_card(form: Form, entry: Entry) -> None:
    """Send the card of an entry to the page, whose figures fetch their files from this form."""
    with linked_by(form.link_file):
        form.send({"card": entry.key, "html": draw_or_say(entry.render)})


def draw_or_say(draw: Callable[[], str]) -> str:
    """What this draws, or a sentence where it cannot be drawn."""
    try:
        return draw()
    # The texts come from services and files, and one broken run must not hide the others.
    except Exception:
        log.debug("a run could not be displayed", exc_info=True)
        return render_card(blocks.small(UNREADABLE))


# A picture, or the frame of a clip that is displayed, as the picture of a model.


def find_picture_field(kind: type[Input]) -> str:
    """The field that takes one picture; empty where a model has none."""
    return next((node["name"] for node in get_sheet(kind)["fields"] if node["kind"] == "image"), "")


def list_uses(form: Form) -> list[list[str]]:
    """The models that can take a picture of a run: those of the studio, else that of the form."""
    kinds = [form.kind] if form.studio is None else form.studio.kinds
    return [[kind.endpoint_id, get_sheet(kind)["title"]] for kind in kinds if find_picture_field(kind)]


def use_frame(form: Form, run: Run, content: Mapping[str, Any]) -> dict[str, Any]:
    """Fill the picture of a model with a file of a run, or the frame of it that is displayed: `{model, frame, file}`."""
    model, frame, number = content.get("model"), content.get("frame"), content.get("file")
    target = form if form.studio is None or model == form.kind.endpoint_id else form.studio.choose(str(model))
    file = run.media[number if type(number) is int and 0 <= number < len(run.media) else 0]
    picture = file.still(frame=frame if type(frame) is int else 0) if file.is_video else file
    target.edit(find_picture_field(target.kind), SourcePicture.of(picture))
    where = f"frame {frame}" if file.is_video else "this picture"
    return {"words": f"{get_sheet(target.kind)['title']} has {where} now."}


def _is_recently_completed(entry: PressedRun, now: float) -> bool:
    entry.note_end()
    # A failed or cancelled run may be repeated at once.
    return entry.is_completed and entry.ended_at is not None and now - entry.ended_at < RECENT_SECONDS
