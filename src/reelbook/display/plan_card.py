"""A plan as a card: axes, price, duration, impossible rows, and the first rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..sweeps.plan_summary import format_notes, format_price, format_run_count, list_axes
from .formatting import join_with_dots, shorten
from .theme import render

if TYPE_CHECKING:
    from ..sweeps.plan import Plan
    from ..sweeps.plan_rows import Known, Row

FIRST_ROWS, MAX_COLUMNS, MAX_VALUE_LENGTH = 5, 6, 40


def plan_card(plan: Plan, known: Known | None = None, *, is_in_code: bool = True) -> str:
    """The card of a plan; what the library knows is given for a reader who has no `plan` to look at."""
    known = plan.known if is_in_code else known
    names = [*plan.columns[:MAX_COLUMNS], "credits"]
    rows = plan.rows[:FIRST_ROWS] if plan.columns and len(plan) > 1 else ()
    return str(
        render(
            "plan.html",
            runs=format_run_count(plan),
            price=format_price(plan, known),
            axes=list_axes(plan, 400),
            notes=format_notes(plan),
            names=["run", *(shorten(name, MAX_VALUE_LENGTH) for name in names)],
            rows=[[row.number, *(_get_cell(row, name) for name in names)] for row in rows],
            more=f" · plan.frame has all {len(plan):,}" if is_in_code and len(plan) > FIRST_ROWS else "",
        )
    )


def format_plan(plan: Plan) -> str:
    """Runs, model, price and duration of a plan on one line."""
    return join_with_dots(format_run_count(plan), *format_price(plan, plan.known))


def _get_cell(row: Row, name: str) -> Any:
    """A number, else the text of a value."""
    if name == "credits" and row.input is None:
        return "✕ impossible"
    value = row.credits if name == "credits" and name not in row.given else row[name]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number else "" if value is None else shorten(value, MAX_VALUE_LENGTH)
