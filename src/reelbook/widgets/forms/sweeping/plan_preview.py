"""The plan of a form's sweep as its page displays it: runs, price, impossible runs and first rows."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ....display import plan_card
from ....display.formatting import format_credits, join_with_dots, shorten
from ....errors import InvalidInput, ReelbookError
from ....models.base import Input
from ....models.catalog import find_endpoint
from ....models.pricing import Estimate
from ....sweeps.execute.run_options import make_options
from ....sweeps.plan.sweep_call import sweep
from ....util.printable import format_count
from ..page_messages import format_sentence
from .form_races import find_race_facts

if TYPE_CHECKING:
    from ....session import Session
    from ....sweeps.plan.plan import Plan
    from ....sweeps.plan.plan_rows import Known, Row
    from ....sweeps.plan.plan_summary import PlanFacts

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
    plan = replace(sweep(base, **axes), session=session)
    if session.current is not None:
        plan = _price_by_service(plan, session)
    # Looked up once for the summary; the plan queries the library again when it is run.
    known = session.find_known(plan)
    facts = plan.with_known(known).facts
    due = [row for row in plan.distinct if known is None or not known(row)]
    known_due = sum(row.credits or 0 for row in due)
    source = "exact" if facts.is_exact else "assumed"
    summary = {
        "number": number,
        "line": join_with_dots(format_count(facts.runs, "run"), *plan_card.format_price(facts)),
        "runs": facts.possible - (facts.in_library or 0),
        "possible": facts.possible,
        "due": known_due,
        "told": format_credits(known_due, source),
        "about": source != "exact",
        "unpriced": sum(row.credits is None for row in due),
        "impossible": _format_impossible(facts, labels),
        "notes": [shorten(format_sentence(note, labels), MAX_NOTE_LENGTH) for note in facts.warnings],
        "race": find_race_facts(plan, known),
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
    if not options.spend and preview.summary["runs"] == preview.summary["possible"]:
        return (
            0,
            None,
            f"With 0 credits none of these runs can be paid for. All of them need {format_credits(preview.summary['due'])}.",
        )
    return options.spend, options.price, ""


def _price_by_service(plan: Plan, session: Session) -> Plan:
    """The plan with the prices of the service; unchanged if the service fails or is slow."""
    row = find_endpoint(plan.base)
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
        return plan.priced(price)
    except (ReelbookError, TimeoutError):
        return plan


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
