"""The plan of a form's sweep, made in a background thread from the latest values, and what its page displays of it."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ...display.formatting import format_credits, join_with_dots, shorten
from ...errors import InvalidInput, ReelbookError
from ...models.base import Input
from ...models.catalog import find_endpoint
from ...models.pricing import Estimate
from ...sweeps.money_text import count_affordable
from ...sweeps.options import RunOptions, make_options
from ...sweeps.plan_rows import order_rows
from ...sweeps.plan_summary import format_price
from ...sweeps.sweep_call import sweep
from ...util.printable import format_count
from .axes import VariedField, fill_base, find_base, format_too_many_runs, parse_axes, validate_axes
from .draft import Draft
from .pictures import Pictures
from .started import describe_race
from .words import format_problem, format_sentence

if TYPE_CHECKING:
    from ...current import Session
    from ...sweeps.plan import Plan
    from ...sweeps.plan_rows import Known, Row
    from ...sweeps.plan_summary import PlanFacts
    from .form import Form

PRICING_SECONDS = 5.0
"""After this, the catalog's prices are used, marked as estimates."""
MAX_REASONS, FIRST_ROWS, MAX_COLUMNS, MAX_CELL_LENGTH = 4, 8, 6, 60
MAX_NOTE_LENGTH = 600
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


@dataclass(frozen=True, slots=True, eq=False)
class PlanPreview:
    """A plan and the number by which the page refers to it."""

    number: int
    plan: Plan
    axes: Mapping[str, Sequence[Any]]
    paid: int
    """The price of the runs that the library has already."""
    summary: Mapping[str, Any]


def make_preview(
    number: int, session: Session, base: Input, axes: Mapping[str, Sequence[Any]], labels: Mapping[str, str]
) -> PlanPreview:
    """A plan and its summary, priced by the service if connected."""
    from ...sweeps.ledger_lookup import find_known  # Here, because it brings pandas along.

    plan = sweep(base, **axes)
    is_answered = False
    if session.current is not None:
        plan, is_answered = _price_by_service(plan, session)
    # Looked up once for the summary; the plan queries the library again when it is run.
    known = None if session.current is None else find_known(plan, session.current.context)
    facts = plan.summarise(known)
    due = [row for row in plan.distinct if known is None or not known(row)]
    known_due = sum(row.credits or 0 for row in due)
    summary = {
        "number": number,
        "line": join_with_dots(format_count(facts.runs, "run"), *format_price(facts)),
        "runs": facts.possible - (facts.in_library or 0),
        "possible": facts.possible,
        "due": known_due,
        "about": not facts.is_exact,
        "unpriced": sum(row.credits is None for row in due),
        "costs": _list_costs(plan, due),
        "balance": _read_balance(session) if is_answered else None,
        "impossible": _format_impossible(facts, labels),
        "notes": [shorten(format_sentence(note, labels), MAX_NOTE_LENGTH) for note in facts.warnings],
        "race": describe_race(plan, known),
        **_table_json(plan, known, labels),
    }
    return PlanPreview(number, plan, axes, (plan.credits or known_due) - known_due, summary)


def parse_limits(content: Mapping[str, Any], preview: PlanPreview) -> tuple[int, int | None, str]:
    """The spending limit, the price of one run, and the problem with them, if any."""
    try:
        options = make_options(spend=content.get("spend"), price=content.get("price"))
    except InvalidInput as error:
        return 0, None, format_sentence(error.problems[0].message, {})
    if options.spend is None:
        return 0, None, "Set the most credits that this sweep may spend now."
    if preview.summary["unpriced"] and options.price is None:
        return 0, None, "The price of these runs is unknown. Set the most that one run may cost."
    costs = [
        options.price or 0 if price is None else price
        for _, price, runs in preview.summary["costs"]
        for _ in range(runs)
    ]
    if costs and not count_affordable(costs, options.spend) and preview.summary["runs"] == preview.summary["possible"]:
        credits_text = f"With {format_credits(options.spend)} none of these runs can be paid for."
        return 0, None, f"{credits_text} All of them need {format_credits(sum(costs))}."
    return options.spend, options.price, ""


def _list_costs(plan: Plan, due: Sequence[Row]) -> list[tuple[int, int | None, int]]:
    """What the runs cost that the library lacks, in the order in which they are sent: rows for each run, its price, runs."""
    prices, row_counts = {row.key: row.credits for row in due}, Counter(row.key for row in plan)
    ordered = due if len(set(prices.values())) < 2 else order_rows(plan, RunOptions().order)
    costs = [(row_counts[key], prices[key]) for key in dict.fromkeys(row.key for row in ordered) if key in prices]
    return [(*cost, len(list(same))) for cost, same in groupby(costs)]


def _read_balance(session: Session) -> int | None:
    """The credits left on the account; None if the service does not say."""
    client = session.current
    try:
        credits_left = None if client is None else client.account().get("credits_available")
    except ReelbookError:
        return None
    return int(credits_left) if isinstance(credits_left, (int, float)) else None


def _price_by_service(plan: Plan, session: Session) -> tuple[Plan, bool]:
    """The plan with the prices of the service; unchanged, and false, if the service fails or is slow."""
    row = find_endpoint(plan.base.endpoint_id)
    ignored_fields = row.price_neutral if row else ()
    deadline, quotes = time.monotonic() + PRICING_SECONDS, dict[str, Estimate]()

    def price(request: Input) -> Estimate:
        wire = {name: value for name, value in request.wire().items() if name not in ignored_fields}
        key = json.dumps(wire, sort_keys=True, default=repr)
        if key not in quotes:
            if time.monotonic() > deadline:
                raise TimeoutError
            quotes[key] = session.estimate(request)
        return quotes[key]

    try:
        return plan.priced(price), True
    except (ReelbookError, TimeoutError):
        return plan, False


def _format_impossible(facts: PlanFacts, labels: Mapping[str, str]) -> list[str]:
    """The counts of runs that cannot run, with the reasons."""
    lines = [
        f"{found.count:,} cannot run: {shorten(format_sentence(found.reason, labels), MAX_NOTE_LENGTH)}"
        for found in facts.impossible[:MAX_REASONS]
    ]
    rest = sum(found.count for found in facts.impossible[MAX_REASONS:])
    return [*lines, f"{rest:,} more cannot run for other reasons."] if rest else lines


def _table_json(plan: Plan, known: Known | None, labels: Mapping[str, str]) -> dict[str, Any]:
    names = plan.columns[:MAX_COLUMNS]
    return {
        "head": list(names),
        "numbers": [_is_number(plan.rows[0][name]) for name in names],
        "rows": [
            {
                "cells": [shorten(_format_cell(row[name]), MAX_CELL_LENGTH) for name in names],
                **_credits_json(row, known, labels),
            }
            for row in plan.rows[:FIRST_ROWS]
        ],
        "more": max(len(plan) - FIRST_ROWS, 0),
    }


def _format_cell(value: Any) -> Any:
    return "" if value is None else {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _credits_json(row: Row, known: Known | None, labels: Mapping[str, str]) -> dict[str, str]:
    if row.input is None:
        return {"credits": "✕ cannot run", "why": shorten(format_sentence(row.problem or "", labels), MAX_NOTE_LENGTH)}
    if known is not None and known(row):
        return {"credits": "◉ in the library"}
    return {"credits": "unknown" if row.credits is None else f"{row.credits:,}"}
