"""What a plan says of itself before it runs, and sentences about what the runs of a sweep cost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ReelbookError
from ..models.problems import format_literal
from ..util.printable import format_count

if TYPE_CHECKING:
    from ..runs.submit import ClientContext
    from .plan import Plan, Row
    from .progress import Known, Progress

MAX_VALUES, MAX_REASONS = 6, 5
ESTIMATE_SECONDS = 10.0
"""How long the service is asked for prices, before the plan's are taken."""


def format_plan(plan: Plan, known: Known) -> str:
    """Format a plan as lines for a terminal; `known` is what the library knows of it."""
    lines = list_axes(plan)
    wide, many = (max((len(line[column]) for line in lines), default=0) for column in (0, 1))
    axes = [f"  {name:<{wide}}  {count:>{many}}  {values}" for name, count, values in lines]
    return "\n".join([f"{format_run_count(plan)}, {'; '.join(format_price(plan, known))}", *axes, *format_notes(plan)])


def list_axes(plan: Plan, max_chars: int = 60) -> list[tuple[str, str, str]]:
    """What varies, with the number of its values and the values; then what the base changes, with no number."""
    lines = [(name, f"{len(values):,}", format_values(values)) for name, values in plan.axes.items()]
    held = plan.base.changed().items()
    return lines + [(name, "", format_literal(value, max_chars)) for name, value in held if name not in plan.columns]


def format_values(values: Sequence[Any]) -> str:
    """Format the values of an axis on one line, with the middle of a long list omitted."""
    half = MAX_VALUES // 2
    is_long = len(values) > MAX_VALUES
    texts = [
        value if isinstance(value, str) and value.isprintable() and 0 < len(value) <= 12 else format_literal(value, 24)
        for value in ([*values[:half], *values[-half:]] if is_long else values)
    ]
    return f"{', '.join(texts[:half])} … {', '.join(texts[half:])}" if is_long else ", ".join(texts)


def format_run_count(plan: Plan) -> str:
    """How many runs of which model, and how many takes."""
    takes = 1 + max((row.take for row in plan), default=0)
    return f"{format_count(len(plan), 'run')} of {plan.base.endpoint_id}{f', {takes} takes' if takes > 1 else ''}"


def format_price(plan: Plan, known: Known) -> list[str]:
    """Price and credits due, as far as they are known."""
    due, price = plan.find_due(known), plan.credits
    if plan.distinct and not due:
        return [_format_all_paid(sum(known.values()))]
    if price is not None:
        parts = [f"{format_count(price, 'credit')} ({'exact' if has_exact_prices(plan) else 'assumed'})"]
    else:
        unpriced = sum(row.credits is None for row in plan.distinct)
        parts = [f"price unknown{f' of {unpriced:,} of them' if unpriced < len(plan.distinct) else ''}"]
    if stored := sum(row.key in known for row in plan):
        price_due = sum_or_none(row.credits for row in due)
        amount = "unknown" if price_due is None else f"{price_due:,}"
        parts.append(f"{stored:,} in the library already, {amount} credits due")
    return parts


def has_exact_prices(plan: Plan) -> bool:
    """Whether all prices were stated by the service."""
    return bool(plan.distinct) and all(row.estimate and row.estimate.source == "exact" for row in plan.distinct)


def format_notes(plan: Plan) -> list[str]:
    """What is impossible and why, and warnings about what is valid but probably unintended."""
    impossible: dict[str, list[int]] = {}
    for row in plan:
        if row.problem is not None:
            impossible.setdefault(row.problem, []).append(row.number)
    reasons = sorted(impossible.items(), key=lambda reason: -len(reason[1]))
    notes = [
        f"✕ {len(runs):,} impossible, the first is run {runs[0]}: {reason}" for reason, runs in reasons[:MAX_REASONS]
    ]
    if len(reasons) > MAX_REASONS:
        notes.append("✕ More are impossible for other reasons, which stand in the column `problem` of plan.frame.")
    return [*notes, *(f"Note: {warning}" for warning in _find_warnings(plan))]


def _find_warnings(plan: Plan) -> Iterator[str]:
    possible = [row for row in plan if row.input is not None]
    if again := len(possible) - len(plan.distinct):
        yield (
            f"{again:,} of {len(possible):,} runs {'asks' if again == 1 else 'ask'} for the same as another; "
            "equal runs are made and paid for once. For several clips of one input, use repeated(n)."
        )
    if seeded := sum(row.take > 0 and getattr(row.input, "seed", None) is not None for row in possible):
        yield (
            f"{seeded:,} repeats have the seed of the run they repeat, so they give the same clip and are paid again; "
            "leave the repeats out, or sweep the seed: seed=range(3)."
        )


# What runs cost.


def sum_or_none(prices: Iterable[int | None]) -> int | None:
    """The sum of prices; None if any is unknown."""
    known = list(prices)
    return None if None in known else sum(price for price in known if price is not None)


def format_spending(progress: Progress) -> list[str]:
    """Format what the runs of a sweep have cost, how much of it was paid now, and what is reserved."""
    before = progress.spent - progress.spent_now
    if before and not progress.spent_now and not progress.reserved:
        is_over = progress.finished == progress.total
        texts = [_format_all_paid(before) if is_over else f"{format_count(before, 'credit')} paid earlier, nothing now"]
    elif progress.spend is not None:
        texts = [f"{progress.spent_now:,} of {format_count(progress.spend, 'credit')} spent now"]
        texts += [f"{before:,} paid earlier"] if before else []
    else:
        # More than the budget is never paid now, but may have been paid before the budget was set.
        fits = progress.budget is not None and progress.spent <= progress.budget
        spent = f"{progress.spent:,} of {progress.budget:,} credits" if fits else format_count(progress.spent, "credit")
        texts = [f"{spent} spent{f', {before:,} of them earlier' if before else ''}"]
    if progress.reserved:
        texts.append(f"{progress.reserved:,} more {'may have been paid' if progress.state == 'done' else 'set aside'}")
    return texts


def _format_all_paid(amount: int) -> str:
    return f"{format_count(amount, 'credit')}, all paid earlier; nothing now"


async def find_prices(
    rows: Iterable[Row], context: ClientContext, own_price: int | None = None
) -> dict[Hashable, int | None]:
    """The price of each possible row by its key, as limits count it: the service's, else the plan's or the caller's own."""
    possible = {row.key: row for row in rows if row.input is not None}
    prices = {key: row.credits if own_price is None else own_price for key, row in possible.items()}
    with contextlib.suppress(ReelbookError, TimeoutError):
        async with asyncio.timeout(ESTIMATE_SECONDS):
            for key, row in possible.items():
                assert row.input is not None
                estimate = await context.estimate(row.input)
                stated = estimate.credits if estimate.source == "exact" else None
                prices[key] = estimate.counted if own_price is None else max(stated or 0, own_price)
    return prices
