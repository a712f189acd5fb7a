"""The plan of a form's sweep: made in a background thread, from the latest values."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import InvalidInput, ReelbookError
from .axes import VariedField, fill_base, find_base, format_too_many_runs, parse_axes, validate_axes
from .draft import Draft
from .pictures import Pictures
from .words import format_problem

if TYPE_CHECKING:
    from .form import Form
    from .plan_preview import PlanPreview

PAUSE_SECONDS = 0.1
"""Delay after the last change before a plan is made, so that fast typing makes one plan and not ten."""
MAX_VIEWS = 100
CHOOSE, CORRECT_VALUES, MAKING = (
    "Choose a field and its values.",
    "Correct the values above first.",
    "Planning …",
)
NONE_POSSIBLE = "No run of this plan is possible."

log = logging.getLogger("reelbook")


class SweepPlanning:
    """The axes of one form, and their plan. `publish` updates the page; it is called with both locks held.

    Locks are taken in one order: that of the form, then its own.
    """

    def __init__(self, form: Form, draft: Draft, pictures: Pictures, publish: Callable[[], None]) -> None:
        self._form: Form | None = form
        self._draft, self._pictures, self._publish = draft, pictures, publish
        self.axes: list[VariedField] = []
        self.last_change: tuple[str, int] = ("", 0)
        """The view that sent the last change, and its number."""
        self.preview: PlanPreview | None = None
        self.why = CHOOSE
        """Why there is no plan."""
        self.limit: int | None = None
        """The limit that somebody typed, for a page that comes back; the proposed one follows the plan."""
        self.condition = threading.Condition(threading.RLock())
        self._numbers: dict[str, int] = {}
        self._planned_for: tuple[Any, ...] = ()
        """The draft and the service for which the plan was requested."""
        self._stamp = self._number = 0
        self._requested_at = 0.0
        self._is_wanted = self._is_busy = False

    @property
    def service(self) -> str:
        """The service for which the plan was requested."""
        return str(self._planned_for[1])

    def close(self) -> None:
        """Stop making plans."""
        with self.condition:
            self._form, self._is_wanted = None, False
            self.condition.notify_all()

    def replan_if_changed(self) -> None:
        """Make another plan if the draft or the service has changed since the last."""
        form = self._form
        if (
            form is not None
            and self.axes
            and (dict(self._draft.values), form.session.service_name()) != self._planned_for
        ):
            self.request_plan()

    def on_axes(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Handle new axes: `{do: "sweep", view, n, axes: [{name, typed}]}`."""
        form, view, number = self._form, content.get("view"), content.get("n")
        if form is None or not isinstance(view, str) or type(number) is not int:
            return
        axes = parse_axes(form, content.get("axes"))
        with form.lock, self.condition:
            # Two threads can handle one page's messages; the later one counts, whichever is handled first.
            if axes is None or number <= self._numbers.get(view, -1):
                return
            self._numbers[view] = number
            while len(self._numbers) > MAX_VIEWS:
                del self._numbers[next(iter(self._numbers))]
            self.last_change, self.axes = (view, number), axes
            self.request_plan()

    def on_limit(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Keep a typed limit: `{do: "sweep_limit", limit}`."""
        form, limit = self._form, content.get("limit")
        if form is not None and (limit is None or (type(limit) is int and limit >= 0)):
            with form.lock, self.condition:
                self.limit = limit
                self._publish()

    def request_plan(self) -> None:
        """Discard the current plan, and make another one soon."""
        form = self._form
        if form is None:
            return
        with form.lock, self.condition:
            self._stamp += 1
            self._planned_for = dict(self._draft.values), form.session.service_name()
            self.preview, self._requested_at = None, time.monotonic()
            self._is_wanted = bool(self.axes)
            self.why = MAKING if self.axes else CHOOSE
            begins, self._is_busy = self._is_wanted and not self._is_busy, self._is_wanted or self._is_busy
            self._publish()
            self.condition.notify_all()
        if begins:
            form.in_background("plan", self._work)

    def _work(self) -> None:
        while (request := self._next_request()) is not None:
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

    def _next_request(self) -> tuple[int, list[VariedField]] | None:
        """The next plan to make, once typing has paused; None if there is none."""
        with self.condition:
            while self._is_wanted and (left := self._requested_at + PAUSE_SECONDS - time.monotonic()) > 0:
                self.condition.wait(left)
            if not self._is_wanted or self._form is None:
                self._is_busy = False
                return None
            self._is_wanted = False
            # Copies, because the current ones may be published meanwhile.
            return self._stamp, [VariedField(axis.name, axis.typed) for axis in self.axes]

    def _make_plan(self, stamp: int, axes: list[VariedField]) -> tuple[PlanPreview | None, str]:
        form = self._form
        if form is None:
            return None, ""
        names = frozenset(axis.name for axis in axes)
        base = find_base(form, self._draft, names)
        scratch = Draft(form.kind, form.sheet, self._pictures)
        validate_axes(form, axes, scratch, None if isinstance(base, InvalidInput) else base)
        if any(axis.words for axis in axes):
            return None, CORRECT_VALUES
        if any(axis.is_empty for axis in axes):
            return None, CHOOSE
        if words := format_too_many_runs(axes):
            return None, words
        if isinstance(base, InvalidInput):
            base = fill_base(form, self._draft, axes, base)
        if isinstance(base, InvalidInput):
            return None, f"Correct the form first. {format_problem(base.problems[0], form.labels)}"
        self._answer(stamp, axes, None, MAKING)
        with self.condition:
            self._number += 1
            number = self._number
        from .plan_preview import make_preview

        return make_preview(number, form.session, base, {axis.name: axis.values for axis in axes}, form.labels), ""

    def _answer(self, stamp: int, axes: list[VariedField], preview: PlanPreview | None, why: str) -> None:
        form = self._form
        if form is None:
            return
        with form.lock, self.condition:
            # Outdated by a later edit.
            if stamp != self._stamp:
                return
            self.axes, self.preview = axes, preview
            self.why = why if preview is None or preview.summary["possible"] else NONE_POSSIBLE
            self._publish()
