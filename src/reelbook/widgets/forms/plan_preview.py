"""The plan of a form's sweep as its page displays it: runs, price, impossible runs and first rows."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ...display import plan_card
from ...display.formatting import format_credits, join_with_dots, shorten
from ...errors import InvalidInput, ReelbookError
from ...models.base import Input
from ...models.catalog import find_endpoint
from ...models.pricing import Estimate
from ...sweeps.ledger_lookup import find_known
from ...sweeps.money_text import count_affordable
from ...sweeps.options import RunOptions, make_options
from ...sweeps.plan_rows import order_rows
from ...sweeps.sweep_call import sweep
from ...util.printable import format_count
from .race_offer import describe_race
from .words import format_sentence

if TYPE_CHECKING:
    from ...current import Session
    from ...sweeps.plan import Plan
    from ...sweeps.plan_rows import Known, Row
    from ...sweeps.plan_summary import PlanFacts

PRICING_SECONDS = 5.0
"""After this, the catalog's prices are used, marked as estimates."""
MAX_REASONS, FIRST_ROWS, MAX_COLUMNS, MAX_CELL_LENGTH = 4, 8, 6, 60
MAX_NOTE_LENGTH = 600


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
    plan = sweep(base, **axes)
    is_answered = False
    if session.current is not None:
        plan, is_answered = _price_by_service(plan, session)
    # Looked up once for the summary; the plan queries the library again when it is run.
    known = None if session.current is None else find_known(plan, session.current.context)
    facts = plan.with_known(known).facts
    due = [row for row in plan.distinct if known is None or not known(row)]
    known_due = sum(row.credits or 0 for row in due)
    summary = {
        "number": number,
        "line": join_with_dots(format_count(facts.runs, "run"), *plan_card.format_price(facts)),
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
