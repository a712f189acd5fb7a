"""A plan as a card: axes, price, duration, impossible rows, and the first rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..models.problems import format_literal
from ..sweeps.plan_summary import format_price, format_run_count, format_values
from .formatting import join_with_dots, shorten
from .theme import render

if TYPE_CHECKING:
    from ..sweeps.plan import Plan
    from ..sweeps.plan_rows import Row
    from ..sweeps.plan_summary import PlanFacts

MAX_REASONS, FIRST_ROWS, MAX_COLUMNS, MAX_VALUE_LENGTH = 4, 5, 6, 40


def plan_card(plan: Plan, facts: PlanFacts | None = None) -> str:
    """The card of a plan; with facts that are known already it is for a reader who has no `plan` to look at."""
    is_in_code, facts = facts is None, facts or plan.facts
    axes = [(name, f"{len(values):,}", format_values(values)) for name, values in facts.axes.items()]
    axes += [(name, "", format_literal(value, 400)) for name, value in facts.held.items()]
    names = [*plan.columns[:MAX_COLUMNS], "credits"]
    rows = plan.rows[:FIRST_ROWS] if plan.columns and len(plan) > 1 else ()
    return str(
        render(
            "plan.html",
            runs=format_run_count(facts),
            price=format_price(facts),
            axes=axes,
            notes=_list_notes(facts),
            names=["run", *(shorten(name, MAX_VALUE_LENGTH) for name in names)],
            rows=[[row.number, *(_get_cell(row, name) for name in names)] for row in rows],
            more=f" · plan.frame has all {len(plan):,}" if is_in_code and len(plan) > FIRST_ROWS else "",
        )
    )


def format_plan(plan: Plan) -> str:
    """A plan on one line."""
    return format_headline(plan.facts)


def format_headline(facts: PlanFacts) -> str:
    """Runs, model, price and duration of a plan on one line."""
    return join_with_dots(format_run_count(facts), *format_price(facts))


def _list_notes(facts: PlanFacts) -> list[str]:
    """What is impossible, and warnings."""
    notes = [
        f"✕ {group.count:,} impossible, the first is run {group.first}: {group.reason}"
        for group in facts.impossible[:MAX_REASONS]
    ]
    if rest := sum(group.count for group in facts.impossible[MAX_REASONS:]):
        notes.append(f"✕ {rest:,} more are impossible for other reasons; plan.frame has them in its column `problem`.")
    return [*notes, *(f"Note: {warning}" for warning in facts.warnings)]


def _get_cell(row: Row, name: str) -> Any:
    """A number, else the text of a value."""
    if name == "credits" and row.input is None:
        return "✕ impossible"
    value = row.credits if name == "credits" and name not in row.columns else row[name]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number else "" if value is None else shorten(value, MAX_VALUE_LENGTH)
