"""The plan of a form's sweep: made in a thread of its own, and always of what was typed last."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....errors import InvalidInput, ReelbookError
from ..fields.draft import Draft
from ..page_messages import problem_told
from ..pictures.form_pictures import Pictures
from .form_axes import Axis, asked, base_of, filled, judge, too_large
from .plan_preview import Made, make

if TYPE_CHECKING:
    from ..form import Form

PAUSE_SECONDS = 0.1
"""So long nothing may change before a plan is made; a fast typist makes one plan and not ten."""
MAX_VIEWS = 100
CHOOSE, MEND, MAKING = "Choose a field and its values.", "Correct the values above first.", "The plan is being made …"
NONE_POSSIBLE = "No run of this plan is possible."

log = logging.getLogger("reelbook")


class Planning:
    """What varies in one form, and the plan of it. `publish` tells the page; it is called with both locks held.

    Locks are taken in one order: that of the form, then its own.
    """

    def __init__(self, form: Form, draft: Draft, pictures: Pictures, publish: Callable[[], None]) -> None:
        self._form: Form | None = form
        self._draft, self._pictures, self._publish = draft, pictures, publish
        self.axes: list[Axis] = []
        self.said: tuple[str, int] = ("", 0)
        """The view that spoke last, and the number of what it said."""
        self.made: Made | None = None
        self.why = CHOOSE
        """Why there is no plan."""
        self.bell = threading.Condition(threading.RLock())
        self._heard: dict[str, int] = {}
        self._seen: tuple[Any, ...] = ()
        """The draft and the service for which the plan was asked for."""
        self._stamp = self._number = 0
        self._asked_at = 0.0
        self._is_wanted = self._is_busy = False

    @property
    def service(self) -> str:
        """The service for which the plan was asked for."""
        return str(self._seen[1])

    def close(self) -> None:
        """Make nothing more."""
        with self.bell:
            self._form, self._is_wanted = None, False
            self.bell.notify_all()

    def follow(self) -> None:
        """The form has changed, perhaps: the plan that is shown holds no longer, and another one is made."""
        form = self._form
        if form is not None and self.axes and (dict(self._draft.values), form.shop.client_told()) != self._seen:
            self.ask()

    def plan_for(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """The page has other axes: `{do: "sweep", view, n, axes: [{name, typed}]}`."""
        form, view, number = self._form, content.get("view"), content.get("n")
        if form is None or not isinstance(view, str) or type(number) is not int:
            return
        axes = asked(form, content.get("axes"))
        with form.lock, self.bell:
            # Two threads can handle one page's messages; the later one counts, whichever comes first.
            if axes is None or number <= self._heard.get(view, -1):
                return
            self._heard[view] = number
            while len(self._heard) > MAX_VIEWS:
                del self._heard[next(iter(self._heard))]
            self.said, self.axes = (view, number), axes
            self.ask()

    def ask(self) -> None:
        """Make a plan soon; the one that is there cannot be run any more."""
        form = self._form
        if form is None:
            return
        with form.lock, self.bell:
            self._stamp += 1
            self._seen = dict(self._draft.values), form.shop.client_told()
            self.made, self._asked_at = None, time.monotonic()
            self._is_wanted = bool(self.axes)
            self.why = MAKING if self.axes else CHOOSE
            begins, self._is_busy = self._is_wanted and not self._is_busy, self._is_wanted or self._is_busy
            self._publish()
            self.bell.notify_all()
        if begins:
            form.in_background("plan", self._work)

    def _work(self) -> None:
        while (asked_for := self._next()) is not None:
            stamp, axes = asked_for
            made, why = None, ""
            try:
                made, why = self._planned(stamp, axes)
            # Also what is no error of ours: the page waits for an answer.
            except Exception as error:
                if not isinstance(error, ReelbookError):
                    log.debug("a plan of a form could not be made", exc_info=True)
                why = str(error) or type(error).__name__
            self._answer(stamp, axes, made, why)

    def _next(self) -> tuple[int, list[Axis]] | None:
        """What is to be planned once nobody types any more; None where there is nothing."""
        with self.bell:
            while self._is_wanted and (left := self._asked_at + PAUSE_SECONDS - time.monotonic()) > 0:
                self.bell.wait(left)
            if not self._is_wanted or self._form is None:
                self._is_busy = False
                return None
            self._is_wanted = False
            # Copies, because the page may be told of the ones that are there meanwhile.
            return self._stamp, [Axis(axis.name, axis.typed) for axis in self.axes]

    def _planned(self, stamp: int, axes: list[Axis]) -> tuple[Made | None, str]:
        form = self._form
        if form is None:
            return None, ""
        names = frozenset(axis.name for axis in axes)
        base = base_of(form, self._draft, names)
        scratch = Draft(form.kind, form.sheet, self._pictures)
        judge(form, axes, scratch, None if isinstance(base, InvalidInput) else base)
        if any(axis.words for axis in axes):
            return None, MEND
        if any(axis.is_empty for axis in axes):
            return None, CHOOSE
        if words := too_large(axes):
            return None, words
        if isinstance(base, InvalidInput):
            base = filled(form, self._draft, axes, base)
        if isinstance(base, InvalidInput):
            return None, f"Correct the form first. {problem_told(base.problems[0], form.labels)}"
        self._answer(stamp, axes, None, MAKING)
        with self.bell:
            self._number += 1
            number = self._number
        return make(number, form.shop, base, {axis.name: axis.values for axis in axes}, form.labels), ""

    def _answer(self, stamp: int, axes: list[Axis], made: Made | None, why: str) -> None:
        form = self._form
        if form is None:
            return
        with form.lock, self.bell:
            # What was typed meanwhile makes this one old before it is seen.
            if stamp != self._stamp:
                return
            self.axes, self.made = axes, made
            self.why = why if made is None or made.shown["possible"] else NONE_POSSIBLE
            self._publish()
