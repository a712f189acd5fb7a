"""A plan as a card: axes, price, duration, impossible rows, and the first rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..models.problems import format_literal
from ..sweeps.money_text import format_paid_price
from ..sweeps.plan_summary import format_values
from ..util.printable import format_count
from .formatting import format_credits, format_duration, join_with_dots, shorten
from .theme import render

if TYPE_CHECKING:
    from ..sweeps.plan import Plan
    from ..sweeps.plan_rows import Row
    from ..sweeps.plan_summary import PlanFacts

MAX_REASONS, FIRST_ROWS, MAX_COLUMNS, MAX_VALUE_LENGTH = 4, 5, 6, 40


def plan_card(plan: Plan) -> str:
    """The card of a plan."""
    facts = plan.facts
    axes = [(axis.name, f"{len(axis.values):,}", format_values(axis.values)) for axis in facts.axes]
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
            sides=["right", *("right" if rows and _is_number(rows[0], name) else "left" for name in names)],
            rows=[[row.number, *(_format_cell(row, name) for name in names)] for row in rows],
            more=f" · plan.frame has all {len(plan):,}" if len(plan) > FIRST_ROWS else "",
        )
    )


def format_plan(plan: Plan) -> str:
    """A plan on one line."""
    return format_headline(plan.facts)


def format_headline(facts: PlanFacts) -> str:
    """Runs, model, price and duration of a plan on one line."""
    return join_with_dots(format_run_count(facts), *format_price(facts))


def format_run_count(facts: PlanFacts) -> str:
    """How many runs of which model, and how many takes."""
    takes = f", {facts.takes} takes" if facts.takes > 1 else ""
    return f"{format_count(facts.runs, 'run')} of {facts.model}{takes}"


def format_price(facts: PlanFacts) -> list[str]:
    """Price, credits due, and duration, as far as they are known."""
    if paid := format_paid_price(facts):
        return [paid]
    if facts.credits is None:
        parts = [f"price unknown{_format_unpriced(facts)}"]
    else:
        parts = [f"{format_credits(facts.credits)} ({'exact' if facts.is_exact else 'assumed'})"]
    if facts.in_library:
        due = "unknown" if facts.credits_due is None else f"{facts.credits_due:,}"
        parts.append(f"{facts.in_library:,} in the library already, {due} credits due")
    if facts.seconds is not None:
        parts.append(f"about {format_duration(facts.seconds)}")
    return parts


def _format_unpriced(facts: PlanFacts) -> str:
    """The note on how many runs have no price; empty where none has one."""
    if facts.unpriced == facts.possible:
        return ""
    noun = "run" if facts.unpriced == 1 else "runs"
    return f" ({facts.unpriced:,} {noun} without one, counting what is the same once)"


def _list_notes(facts: PlanFacts) -> list[str]:
    """What is impossible, and warnings."""
    notes = [
        f"✕ {group.count:,} impossible, the first is run {group.first}: {group.reason}"
        for group in facts.impossible[:MAX_REASONS]
    ]
    if rest := sum(group.count for group in facts.impossible[MAX_REASONS:]):
        notes.append(f"✕ {rest:,} more are impossible for other reasons; plan.frame has them in its column `problem`.")
    return [*notes, *(f"Note: {warning}" for warning in facts.warnings)]


def _get_value(row: Row, name: str) -> Any:
    return row.credits if name == "credits" and name not in row.columns else row[name]


def _format_cell(row: Row, name: str) -> str:
    if name == "credits" and row.input is None:
        return "✕ impossible"
    value = _get_value(row, name)
    return "" if value is None else shorten(value, MAX_VALUE_LENGTH)


def _is_number(row: Row, name: str) -> bool:
    value = _get_value(row, name)
    return isinstance(value, (int, float)) and not isinstance(value, bool)
