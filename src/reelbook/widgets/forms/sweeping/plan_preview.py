"""A plan as the page of a form gets it: runs, price, what cannot run and why, its first rows; and its code."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from ....display import plan_card
from ....display.formatting import cut, format_credits, joined
from ....display.input_code import code_of
from ....errors import InvalidInput, ReelbookError
from ....models.base import Input
from ....models.catalog import endpoint_for
from ....models.images import Image
from ....models.pricing import Estimate
from ....models.smart_resize import Size
from ....sweeps.execute.run_options import options
from ..page_messages import plainly

if TYPE_CHECKING:
    from ....sweeps.plan.plan import Plan
    from ....sweeps.plan.plan_rows import Known, Row
    from ....sweeps.plan.plan_summary import Facts
    from ..shop import Shop

ASK_SECONDS = 5.0
"""So long the service is asked for prices; then those of the catalog stand, marked as such."""
MAX_REASONS, FIRST_ROWS, MAX_COLUMNS, LONGEST = 4, 8, 6, 60
LONGEST_NOTE, LONGEST_CODE = 600, 200_000
TOO_LONG = (
    "# Too long to be shown. The plan itself is `jobs[-1].plan` of this form, and can be run again with its run()."
)


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A plan with the number by which the page asks for it."""

    number: int
    plan: Plan
    axes: Mapping[str, Sequence[Any]]
    paid: int
    """What the price of the whole exceeds that of what is due: what the library has already."""
    shown: Mapping[str, Any]


def make(number: int, shop: Shop, base: Input, axes: Mapping[str, Sequence[Any]], labels: Mapping[str, str]) -> Made:
    """A plan, priced by the service where somebody is connected, and what there is to say about it."""
    plan = shop.plan(base, axes)
    if shop.is_connected():
        plan = _priced(plan, shop)
    # Asked once for all that is told of it; the plan that is run looks again by itself.
    known = None if plan.house is None else plan.house.known(plan)
    facts = plan.knowing(known).facts
    due = [row for row in plan.distinct if known is None or not known(row)]
    known_due = sum(row.credits or 0 for row in due)
    source = "exact" if facts.is_exact else "assumed"
    shown = {
        "number": number,
        "line": joined(f"{facts.runs:,} run{'' if facts.runs == 1 else 's'}", *plan_card.price(facts)),
        "runs": facts.possible - (facts.in_library or 0),
        "possible": facts.possible,
        "due": known_due,
        "told": format_credits(known_due, source),
        "about": source != "exact",
        "unpriced": sum(row.credits is None for row in due),
        "impossible": _impossible(facts, labels),
        "notes": [cut(plainly(note, labels), LONGEST_NOTE) for note in facts.warnings],
        **_table(plan, known, labels),
    }
    return Made(number, plan, axes, (plan.credits or known_due) - known_due, shown)


def money(content: Mapping[str, Any], made: Made) -> tuple[int, int | None, str]:
    """The most that may be spent now and the price of one run, as the page has them; else what is wrong with them."""
    try:
        chosen = options(spend=content.get("spend"), price=content.get("price"))
    except InvalidInput as error:
        return 0, None, plainly(error.problems[0].message, {})
    if chosen.spend is None:
        return 0, None, "Set the most credits that this sweep may spend now."
    if made.shown["unpriced"] and chosen.price is None:
        return 0, None, "The price of these runs is unknown. Set the most that one run may cost."
    if not chosen.spend and made.shown["runs"] == made.shown["possible"]:
        return (
            0,
            None,
            f"With 0 credits none of these runs can be paid for. All of them need {format_credits(made.shown['due'])}.",
        )
    return chosen.spend, chosen.price, ""


def code(base: Input, axes: Mapping[str, Sequence[Any]], budget: int, price: int | None = None) -> str:
    """Python that plans and runs the same. It has a budget: a cell that is run twice pays once.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> print(code(TextToVideo(prompt="a boat"), {"seed": [0, 1, 2, 3]}, 212))
    table = rb.sweep(
        rb.TextToVideo(prompt='a boat'),
        seed=range(0, 4),
    ).run(budget=212)
    """
    values = {name: _listed(one) for name, one in axes.items()}
    if all(name.isascii() and name.isidentifier() and not iskeyword(name) for name in values):
        lines = [f"{name}={text}" for name, text in values.items()]
    else:
        lines = [f"{{{', '.join(f'{name!r}: {text}' for name, text in values.items())}}}"]
    first = code_of(base).replace("\n", "\n    ")
    body = "".join(f"    {line},\n" for line in (first, *lines))
    per_run = "" if price is None else f", price={price}"
    text = f"table = rb.sweep(\n{body}).run(budget={budget}{per_run})"
    return text if len(text) <= LONGEST_CODE else TOO_LONG


def _priced(plan: Plan, shop: Shop) -> Plan:
    """The plan with the prices of the service; as it was where that is silent or slow."""
    row = endpoint_for(plan.base)
    priceless = row.priceless if row else ()
    until, asked = time.monotonic() + ASK_SECONDS, dict[str, Estimate]()

    def price(request: Input) -> Estimate:
        wire = {name: value for name, value in request.wire().items() if name not in priceless}
        shape = json.dumps(wire, sort_keys=True, default=repr)
        if shape not in asked:
            if time.monotonic() > until:
                raise TimeoutError
            asked[shape] = shop.estimate(request)
        return asked[shape]

    try:
        return plan.priced(price)
    except (ReelbookError, TimeoutError):
        return plan


def _impossible(facts: Facts, labels: Mapping[str, str]) -> list[str]:
    """How many runs cannot run, and why."""
    told = [
        f"{found.count:,} cannot run: {cut(plainly(found.reason, labels), LONGEST_NOTE)}"
        for found in facts.impossible[:MAX_REASONS]
    ]
    rest = sum(found.count for found in facts.impossible[MAX_REASONS:])
    return [*told, f"{rest:,} more cannot run for other reasons."] if rest else told


def _table(plan: Plan, known: Known | None, labels: Mapping[str, str]) -> dict[str, Any]:
    names = plan.columns[:MAX_COLUMNS]
    return {
        "head": list(names),
        "numbers": [_is_number(plan.rows[0][name]) for name in names],
        "rows": [
            {"cells": [cut(_cell(row[name]), LONGEST) for name in names], **_credits(row, known, labels)}
            for row in plan.rows[:FIRST_ROWS]
        ],
        "more": max(len(plan) - FIRST_ROWS, 0),
    }


def _cell(value: Any) -> Any:
    return "" if value is None else {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _credits(row: Row, known: Known | None, labels: Mapping[str, str]) -> dict[str, str]:
    if row.input is None:
        return {"credits": "✕ cannot run", "why": cut(plainly(row.problem or "", labels), LONGEST_NOTE)}
    if known is not None and known(row):
        return {"credits": "◉ in the library"}
    return {"credits": "unknown" if row.credits is None else f"{row.credits:,}"}


def _listed(values: Sequence[Any]) -> str:
    ints = [value for value in values if type(value) is int]
    if len(ints) == len(values) > 3 and ints == list(range(ints[0], ints[0] + len(ints))):
        return f"range({ints[0]}, {ints[-1] + 1})"
    return f"[{', '.join(map(_written, values))}]"


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name!r}: {_written(item)}' for name, item in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_written, value))}]"
    is_held = isinstance(value, Size) or (isinstance(value, Image) and value.sha256 is not None)
    return f"rb.{value!r}" if is_held else repr(value)
