"""Prices of runs, and texts about the cost of sweeps, shared by panels, plans, terminals, forms and errors."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from ..errors import ReelbookError
from ..util.printable import format_count

if TYPE_CHECKING:
    from ..runs.submit import ClientContext
    from .plan_rows import Row
    from .progress import Progress

ESTIMATE_SECONDS = 10.0
"""How long the service is asked for prices, before the plan's are taken."""


def format_all_paid(amount: int) -> str:
    """Format the cost of runs that are fully paid.

    >>> format_all_paid(636)
    '636 credits, all paid earlier; nothing now'
    """
    return f"{format_count(amount, 'credit')}, all paid earlier; nothing now"


def format_spending(progress: Progress) -> list[str]:
    """Format what the runs of a sweep have cost, how much of it was paid now, and what is reserved."""
    before = progress.spent - progress.spent_now
    if not progress.spent_now and not progress.reserved and before:
        is_over = progress.finished == progress.total
        texts = [format_all_paid(before) if is_over else f"{format_count(before, 'credit')} paid earlier, nothing now"]
    elif progress.spend is not None:
        texts = [_format_spent(progress.spent_now, progress.spend, " now")]
        if progress.budget:
            texts.append(f"{progress.spent:,} of the budget of {progress.budget:,} used")
        elif before:
            texts.append(f"{before:,} paid earlier")
    else:
        # More than the budget is never paid now, but may have been paid before the budget was set.
        fits = progress.budget is not None and progress.spent <= progress.budget
        earlier = "all" if before == progress.spent else f"{before:,}"
        texts = [
            _format_spent(progress.spent, progress.budget if fits else None)
            + (f", {earlier} of them earlier" if before else "")
        ]
    if progress.reserved:
        texts.append(f"{progress.reserved:,} more {'may have been paid' if progress.state == 'done' else 'set aside'}")
    return texts


def _format_spent(spent: int, limit: int | None, when: str = "") -> str:
    """Format the credits spent, and the limit if there is one.

    >>> _format_spent(53, 106), _format_spent(0, 0, " now"), _format_spent(53, None)
    ('53 of 106 credits spent', 'nothing may be spent now', '53 credits spent')
    """
    if limit == 0 and spent == 0:
        return f"nothing may be spent{when}"
    amount = format_count(spent if limit is None else limit, "credit")
    return f"{amount if limit is None else f'{spent:,} of {amount}'} spent{when}"


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


def sum_or_none(prices: Iterable[int | None]) -> int | None:
    """The sum of prices; None if any is unknown.

    >>> sum_or_none([53, 106]), sum_or_none([53, None])
    (159, None)
    """
    known = list(prices)
    return None if None in known else sum(price for price in known if price is not None)
