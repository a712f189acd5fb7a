"""What sweeps say about money: the same sentences in panels, plans, terminals, forms and errors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import OverBudget, ReelbookError

if TYPE_CHECKING:
    from ..runs.submission import ClientContext
    from .execute.progress import Progress
    from .execute.run_options import Options
    from .plan.plan_rows import Row
    from .plan.plan_summary import Facts

ASK_SECONDS = 5.0


def credits_of(amount: int) -> str:
    """An amount of credits in words.

    >>> credits_of(1), credits_of(1272)
    ('1 credit', '1,272 credits')
    """
    return f"{amount:,} credit{'' if amount == 1 else 's'}"


def all_paid(amount: int) -> str:
    """What is said of runs that cost nothing more.

    >>> all_paid(636)
    '636 credits, all paid earlier; nothing now'
    """
    return f"{credits_of(amount)}, all paid earlier; nothing now"


def paid_price(facts: Facts) -> str | None:
    """The price of a plan of which nothing is due: what it did cost; None where something is."""
    is_paid = bool(facts.possible) and facts.in_library == facts.possible and not facts.credits_due
    amount = facts.credits if facts.paid is None else facts.paid
    return all_paid(amount) if is_paid and amount is not None else None


def money_of(progress: Progress) -> list[str]:
    """What the runs of a sweep have cost, how much of it now, and what is set aside."""
    before = progress.spent - progress.spent_now
    if not progress.spent_now and not progress.reserved and before:
        is_over = progress.finished == progress.total
        found = [all_paid(before) if is_over else f"{credits_of(before)} paid earlier, nothing now"]
    elif progress.spend is not None:
        found = [_spent_of(progress.spent_now, progress.spend, " now")]
        if progress.budget:
            found.append(f"{progress.spent:,} of the budget of {progress.budget:,} used")
        elif before:
            found.append(f"{before:,} paid earlier")
    else:
        # More than the budget is never paid now, but may have been paid before it was given.
        fits = progress.budget is not None and progress.spent <= progress.budget
        earlier = "all" if before == progress.spent else f"{before:,}"
        found = [
            _spent_of(progress.spent, progress.budget if fits else None)
            + (f", {earlier} of them earlier" if before else "")
        ]
    if progress.reserved:
        found.append(f"{progress.reserved:,} more {'may have been paid' if progress.state == 'done' else 'set aside'}")
    if progress.differs is not None:
        found.append(differing(*progress.differs))
    return found


def _spent_of(spent: int, limit: int | None, when: str = "") -> str:
    """What was spent, of how much.

    >>> _spent_of(53, 106), _spent_of(0, 0, " now"), _spent_of(53, None)
    ('53 of 106 credits spent', 'nothing may be spent now', '53 credits spent')
    """
    if limit == 0 and spent == 0:
        return f"nothing may be spent{when}"
    return f"{credits_of(spent) if limit is None else f'{spent:,} of {credits_of(limit)}'} spent{when}"


def differing(told: int, counted: int) -> str:
    """What is said where a service tells less than the known price of a run.

    >>> differing(0, 53)
    'the service says 0 for a run, the catalog 53: limits count 53 (price=0 takes its word)'
    """
    return f"the service says {told:,} for a run, the catalog {counted:,}: limits count {counted:,} (price={told} takes its word)"


def advised(
    error: OverBudget,
    options: Options,
    due: int | None,
    paid: int,
    whole: int | None,
    differs: tuple[int, int] | None = None,
) -> OverBudget:
    """The same refusal with what to type to finish the plan: `due` is the price of what is left, `paid` of what is not.

    `differs` is what the service says of a price, and what the limits count.
    """
    if due is None or error.price is None:
        return error
    total = paid + due
    budget = f"budget=plan.credits ({total:,})" if total == whole else f"budget={total}"
    if options.budget is not None and options.spend is not None:
        what = f"budget={total}, spend={due}"
    elif options.budget is not None:
        what = f"{budget}, or spend={due} for what is left"
    else:
        what = f"spend={due}"
    said = "" if differs is None else f" But {differing(*differs)}."
    return OverBudget(error.budget, error.committed, error.price, error.limit, f"To finish the plan: {what}.{said}")


async def price_of(rows: Sequence[Row], context: ClientContext, word: int | None) -> int | None:
    """What these runs count for together: as the service says, with a person's word, else as the plan says; None if unknown."""
    total = 0
    try:
        async with asyncio.timeout(ASK_SECONDS):
            for row in rows:
                estimate = None if row.input is None else await context.estimate(row.input)
                if estimate is None or (estimate.counted is None and word is None):
                    return None
                told = estimate.credits if estimate.source == "exact" else None
                total += max(told or 0, word) if word is not None else estimate.counted or 0
    except (ReelbookError, TimeoutError):
        prices = [row.credits if word is None else word for row in rows]
        return None if None in prices else sum(price for price in prices if price is not None)
    return total
