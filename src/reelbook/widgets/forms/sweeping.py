"""Sweeping in place: a form plans every combination of some values, shows its price, and runs it under a budget."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...display.ticker import Bundle, Card, Key, ticker
from ...errors import InvalidInput, ReelbookError
from .drafts import Draft
from .pictures import Pictures
from .sweeping_axes import Axis, asked, base_of, filled, judge, labels_of, too_large
from .sweeping_jobs import Started, client_of, key_of, paid_before, panel_of, sheet_of_job, told
from .sweeping_plans import Made, code, make, money
from .wording import problem_told

if TYPE_CHECKING:
    from ...sweeps.job import SweepJob
    from .form import Form
    from .shop import Shop

PAUSE_SECONDS = 0.1
"""So long nothing may change before a plan is made; a fast typist makes one plan and not ten."""
MOST_VIEWS, MOST_TOLD = 100, 30
STALE = "The plan has changed since it was shown, so nothing was started. Look at it again, then press Run."
TWICE = "This plan was started already: it is run once."
CHOOSE, MEND, MAKING = "Choose a field and its values.", "Mend the values above first.", "The plan is being made …"
STARTED = "This plan is under way. Change a value to plan another one."
NONE_POSSIBLE = "No run of this plan is possible."

Handle = Callable[[dict[str, Any], list[memoryview]], None]

log = logging.getLogger("reelbook")


class Sweeping:
    """The sweeps of one form. Plans are made in a thread of its own, and always of what was typed last.

    Locks are taken in one order: that of the form, then its own.
    """

    def __init__(self, form: Form, draft: Draft, pictures: Pictures) -> None:
        self._form: Form | None = form
        self._draft, self._pictures = draft, pictures
        self._axes: list[Axis] = []
        self._said: tuple[str, int] = ("", 0)
        self._heard: dict[str, int] = {}
        self._made: Made | None = None
        self._why = CHOOSE
        self._seen: tuple[Any, ...] = ()
        """The draft and the service for which the plan was asked for."""
        self._stamp = self._number = self._count = 0
        self._asked_at = 0.0
        self._is_wanted = self._is_busy = False
        self._bell = threading.Condition(threading.RLock())
        self._entries: list[Started] = []
        self._shown = ""
        self._card: Card | None = None
        self.handles: Mapping[str, Handle] = {
            "sweep": self._plan_for, "sweep_run": self._run, "sweep_do": self._do, "sweep_show": self._show,
            "sweep_sheet": self._sheet, "sweep_code": self._code,
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
        with self._bell:
            # The clock lets go of a card that is not ours any more: one that closes in an update would wait for its end.
            self._card, self._form = None, None
            self.handles, self._is_wanted = {}, False
            self._bell.notify_all()

    def follow(self) -> None:
        """The form has changed, perhaps: the plan that is shown holds no longer, and another one is made."""
        form = self._form
        if form is not None and self._axes and (dict(self._draft.values), form.shop.client_told()) != self._seen:
            self._ask()

    # Planning.

    def _plan_for(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """The page has other axes: `{do: "sweep", view, n, axes: [{name, typed}]}`."""
        form, view, number = self._form, content.get("view"), content.get("n")
        if form is None or not isinstance(view, str) or type(number) is not int:
            return
        axes = asked(form, content.get("axes"))
        with form.lock, self._bell:
            # Two threads can handle one page's messages; the later one counts, whichever comes first.
            if axes is None or number <= self._heard.get(view, -1):
                return
            self._heard[view] = number
            while len(self._heard) > MOST_VIEWS:
                del self._heard[next(iter(self._heard))]
            self._said, self._axes = (view, number), axes
            self._ask()

    def _ask(self) -> None:
        """Make a plan soon; the one that is there cannot be run any more."""
        form = self._form
        if form is None:
            return
        with form.lock, self._bell:
            self._stamp += 1
            self._seen = dict(self._draft.values), form.shop.client_told()
            self._made, self._asked_at = None, time.monotonic()
            self._is_wanted = bool(self._axes)
            self._why = MAKING if self._axes else CHOOSE
            begins, self._is_busy = self._is_wanted and not self._is_busy, self._is_wanted or self._is_busy
            self._publish()
            self._bell.notify_all()
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
        with self._bell:
            while self._is_wanted and (left := self._asked_at + PAUSE_SECONDS - time.monotonic()) > 0:
                self._bell.wait(left)
            if not self._is_wanted or self._form is None:
                self._is_busy = False
                return None
            self._is_wanted = False
            # Copies, because the page may be told of the ones that are there meanwhile.
            return self._stamp, [Axis(axis.name, axis.typed) for axis in self._axes]

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
            return None, f"Mend the form first: {problem_told(base.problems[0], labels_of(form))}"
        self._answer(stamp, axes, None, MAKING)
        with self._bell:
            self._number += 1
            number = self._number
        return make(number, form.shop, base, {axis.name: axis.values for axis in axes}, labels_of(form)), ""

    def _answer(self, stamp: int, axes: list[Axis], made: Made | None, why: str) -> None:
        form = self._form
        if form is None:
            return
        with form.lock, self._bell:
            # What was typed meanwhile makes this one old before it is seen.
            if stamp != self._stamp:
                return
            self._axes, self._made = axes, made
            self._why = why if made is None or made.shown["possible"] else NONE_POSSIBLE
            self._publish()

    # Running.

    def _run(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Run the plan that was shown, and no other: `{do: "sweep_run", plan, budget, price?}`."""
        form = self._form
        if form is None:
            return
        entry = self._begun(content)
        if isinstance(entry, str):
            form.send({"sweep_said": entry})
            return
        self._keep_up()
        form.in_background("sweep", lambda: self._start(entry, form.shop))

    def _begun(self, content: Mapping[str, Any]) -> Started | str:
        """A new entry; in words why there is none."""
        form, number = self._form, content.get("plan")
        if form is None:
            return STALE
        with form.lock, self._bell:
            made = self._made
            if type(number) is int and any(entry.number == number for entry in self._entries):
                return TWICE
            if made is None or made.number != number:
                return STALE
            if form.shop.client_told() != self._seen[1]:
                # Somebody has connected elsewhere meanwhile, where it may cost something else.
                self._ask()
                return STALE
            if not made.shown["possible"]:
                return NONE_POSSIBLE
            budget, price, why = money(content, made)
            if why:
                return why
            self._count += 1
            text = code(made.plan.base, made.axes, made.paid + budget, price)
            entry = Started(str(self._count), made.plan, made.number, budget, price, text, self._seen[1])
            self._entries.append(entry)
            self._shown = entry.key
            self._publish()
            return entry

    def _start(self, entry: Started, shop: Shop) -> None:
        try:
            client = client_of(entry, shop)
            # A budget counts what these runs have cost before, and the person was asked for what is paid now.
            before = paid_before(entry.plan, client.desk) if client is not None else 0
            job = entry.plan.start(budget=before + entry.budget, price=entry.price, client=client)
        except Exception as error:
            if not isinstance(error, ReelbookError):
                log.debug("a sweep of a form could not be started", exc_info=True)
            entry.error = f"Nothing was started. {error or type(error).__name__}"
        else:
            with self._bell:
                entry.paid_before, entry.job = before, job
        self._keep_up()

    def _do(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Pause, resume, cancel, or stop also what is running: `{do: "sweep_do", job, what}`."""
        form, entry, what = self._form, self._entry(content), str(content.get("what"))
        if form is None or entry is None or entry.job is None or what not in told(entry, -1)["can"]:
            return
        job = entry.job
        act: dict[str, Callable[[], None]] = {
            "pause": job.pause, "resume": job.resume, "cancel": job.cancel, "stop": lambda: job.cancel(running=True),
        }  # fmt: skip
        if what in ("cancel", "stop"):
            entry.did.add(what)

        def work() -> None:
            act[what]()
            self._keep_up()

        form.in_background("sweep-do", work)

    def _code(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Python for the plan that is shown: `{do: "sweep_code", plan, budget, price?}`."""
        form, made = self._form, self._made
        if form is None:
            return
        if made is None or made.number != content.get("plan"):
            form.send({"sweep_code": "", "why": self._why or STALE})
            return
        budget, price, why = money(content, made)

        def answer() -> None:
            self._pictures.keep_all()
            text = "" if why else code(made.plan.base, made.axes, made.paid + budget, price)
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

    def _sheet(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """The page wants the contact sheet: `{do: "sweep_sheet", job}`."""
        form, entry = self._form, self._entry(content)
        job = None if entry is None else entry.job
        if form is None or entry is None or job is None or not job.is_done:
            return

        def draw() -> None:
            try:
                picture = sheet_of_job(job)
            except Exception as error:
                if not isinstance(error, ReelbookError):
                    log.debug("a contact sheet of a form could not be drawn", exc_info=True)
                form.send({"sweep_sheet": entry.key, "words": str(error) or type(error).__name__})
            else:
                form.send({"sweep_sheet": entry.key}, [picture])

        form.in_background("sweep-sheet", draw)

    def _entry(self, content: Mapping[str, Any]) -> Started | None:
        with self._bell:
            return next((entry for entry in self._entries if entry.key == content.get("job")), None)

    def _publish(self) -> None:
        """Tell the page how things are; both locks are held."""
        form = self._form
        if form is None:
            return
        view, number = self._said
        is_started = self._made is not None and any(entry.number == self._made.number for entry in self._entries)
        places = {id(entry): place - len(self._entries) for place, entry in enumerate(self._entries)}
        without = [entry for entry in self._entries if entry.job is None]
        jobs = [
            # Counted among those that have a job: `form.jobs` has no others.
            told(entry, places[id(entry)] + sum(places[id(one)] > places[id(entry)] for one in without))
            for entry in self._entries[-MOST_TOLD:]
        ]
        plan = dict(self._made.shown) if self._made is not None else {}
        axes, why = [axis.shown for axis in self._axes], STARTED if is_started else self._why
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

    def _keep_up(self) -> None:
        """Tell the page how things are, and go on telling until nothing is under way."""
        with self._bell:
            if self._card is None and self._form is not None:
                self._card = _card(weakref.ref(self))
                ticker.add(self._card)

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
            self._ask()
        if bundle["html"]:
            self._send_panel(bundle["entry"], bundle["html"])

    def _leaves(self, card: Card) -> bool:
        """Whether this card has nothing more to tell; once it is so it stays so, and what comes next gets another one."""
        with self._bell:
            if self._card is card and all(entry.is_over for entry in self._entries):
                self._card = None
            return self._card is not card


def _card(here: weakref.ref[Sweeping]) -> Card:
    """Keeps the page up to date. The clock of all outputs holds it, so it holds nothing."""

    def tell(bundle: Bundle) -> None:
        try:
            if (sweeping := here()) is not None:
                sweeping._tell(bundle)
        # The clock would give up a card that fails once.
        except Exception:
            log.debug("a sweep of a form could not be told", exc_info=True)

    def bundle() -> Bundle:
        sweeping = here()
        return {"entry": None, "html": "", "over": []} if sweeping is None else sweeping._bundle()

    def key() -> Key:
        sweeping = here()
        return () if sweeping is None else key_of(sweeping._entries)

    def is_over() -> bool:
        sweeping = here()
        return sweeping is None or sweeping._leaves(card)

    card = Card(tell, bundle, key, is_over=is_over)
    return card
