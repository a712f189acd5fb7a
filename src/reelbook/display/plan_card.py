"""A plan as a card: axes, price, duration, impossible rows, and the first rows."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..models.problems import format_literal
from ..sweeps.money_text import format_paid_price
from ..sweeps.plan_summary import format_values
from ..util.printable import format_count
from .formatting import format_credits, format_duration, join_with_dots, shorten
from .theme import render_style

if TYPE_CHECKING:
    from ..sweeps.plan import Plan
    from ..sweeps.plan_rows import Row
    from ..sweeps.plan_summary import PlanFacts

MAX_REASONS, FIRST_ROWS, MAX_VALUE_LENGTH = 4, 5, 40
SOFT = "color:var(--rb-soft,inherit);font-size:12px"
AXIS = Markup(
    '<tr style="background:transparent"><th scope="row" style="text-align:left;font-weight:600;padding:2px 16px 2px 0;vertical-align:top">{}</th>'
    '<td style="text-align:right;padding:2px 16px 2px 0;vertical-align:top">{}</td>'
    '<td style="text-align:left;padding:2px 0;overflow-wrap:anywhere"><bdi>{}</bdi></td></tr>'
)
TABLE = Markup('<table style="border-collapse:collapse;margin:8px 0"><tbody>{}</tbody></table>')
CELL = Markup('<{0} style="text-align:{1};padding:2px 16px 2px 0;border:0;font-weight:normal;{2}">{3}</{0}>')
CARD = Markup(
    '<div class="rb mathjax_ignore tex2jax_ignore" style="max-width:720px;margin:4px 0 8px;font-variant-numeric:tabular-nums">{}<div><b>{}</b>{}</div>{}{}{}</div>'
)


def plan_card(plan: Plan) -> str:
    """The card of a plan."""
    facts = plan.facts
    return str(
        CARD.format(render_style(), format_run_count(facts), "".join(f" · {part}" for part in format_price(facts)), _axes(facts), _notes(facts), _rows(plan))
    )  # fmt: skip


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


def _axes(facts: PlanFacts) -> Markup:
    rows = [AXIS.format(axis.name, f"{len(axis.values):,}", format_values(axis.values)) for axis in facts.axes]
    rows += [AXIS.format(name, "", format_literal(value, 400)) for name, value in facts.held.items()]
    return TABLE.format(Markup("").join(rows)) if rows else Markup("")


def _notes(facts: PlanFacts) -> Markup:
    notes = [
        f"✕ {found.count:,} impossible, the first is run {found.first}: {found.reason}"
        for found in facts.impossible[:MAX_REASONS]
    ]
    if len(facts.impossible) > MAX_REASONS:
        rest = sum(found.count for found in facts.impossible[MAX_REASONS:])
        notes.append(f"✕ {rest:,} more are impossible for other reasons; plan.frame has them in its column `problem`.")
    notes += [f"Note: {warning}" for warning in facts.warnings]
    return Markup("").join(
        Markup('<div style="{};overflow-wrap:anywhere">{}</div>').format(SOFT, note) for note in notes
    )


def _rows(plan: Plan) -> Markup:
    """The first rows, folded."""
    if not plan.columns or len(plan) < 2:
        return Markup("")
    names = [*plan.columns[:6], "credits"]
    sides = ["right" if _is_number(plan.rows[0], name) else "left" for name in names]
    head = Markup("").join(
        CELL.format("th", side, SOFT, shorten(name, MAX_VALUE_LENGTH)) for name, side in zip(names, sides, strict=True)
    )
    body = Markup("").join(_row(row, names, sides) for row in islice(plan.rows, FIRST_ROWS))
    more = f" · plan.frame has all {len(plan):,}" if len(plan) > FIRST_ROWS else ""
    return Markup(
        '<details style="margin:4px 0"><summary style="cursor:pointer;{}">First rows{}</summary><div style="overflow-x:auto">'
        '<table style="border-collapse:collapse;margin:4px 0"><thead><tr>{}{}</tr></thead><tbody>{}</tbody></table></div></details>'
    ).format(SOFT, more, CELL.format("th", "right", SOFT, "run"), head, body)


def _row(row: Row, names: list[str], sides: list[str]) -> Markup:
    cells = [CELL.format("td", "right", SOFT, row.number)]
    for name, side in zip(names, sides, strict=True):
        value: Any = row.credits if name == "credits" and name not in row.columns else row[name]
        if name == "credits" and row.input is None:
            value = "✕ impossible"
        cells.append(
            CELL.format(
                "td",
                side,
                "",
                Markup("<bdi>{}</bdi>").format("" if value is None else shorten(value, MAX_VALUE_LENGTH)),
            )
        )
    return Markup('<tr style="background:transparent">{}</tr>').format(Markup("").join(cells))


def _is_number(row: Row, name: str) -> bool:
    value = row.credits if name == "credits" and name not in row.columns else row[name]
    return isinstance(value, (int, float)) and not isinstance(value, bool)
