"""The options of `plan.run` and `plan.start`, and their validation."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ...models.problems import format_literal
from ..sweep_errors import usage_error
from .order import ORDERS
from .rate_limit import parse_rate

ON_ERROR = ("continue", "stop")
MAX_AT_ONCE = 256
MAX_STORED = 10**15
"""Bound for amounts, because the library stores 64-bit integers and sums of them."""
HOSTED_AT_ONCE, EMBEDDED_AT_ONCE = 8, 64


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Validated options for the execution of a plan."""

    budget: int | None = None
    """Limit on the total cost of the runs, including what was paid earlier."""
    spend: int | None = None
    """Limit on what this call pays."""
    concurrency: int | None = None
    """Maximum number of concurrent runs; None to choose it by the service."""
    rate: float | None = None
    """Maximum number of runs sent per second."""
    take: int = 0
    """Added to the take of each run, to repeat all of them."""
    on_error: str = "continue"
    price: int | None = None
    """Maximum price of a run whose price is unknown."""
    order: str = "coverage"
    scope: str | None = None
    """The budget's name in the ledger, of which these runs are a part; None for one of this plan's runs alone."""
    notify: Callable[[Any], Any] | None = None
    """Called with the job at its end."""


def make_options(**values: Any) -> RunOptions:
    """Validate the options, which are those of `RunOptions`.

    >>> make_options(budget=1300, rate="30/min").rate
    0.5
    """
    given = RunOptions(**values)
    if given.notify is not None and not callable(given.notify):
        raise usage_error(f"`notify` is called with the job at the end, so it has to be a function, not {format_literal(given.notify)}.", "notify")  # fmt: skip
    return replace(
        given,
        budget=None if given.budget is None else _whole_number("budget", given.budget, 0),
        spend=None if given.spend is None else _whole_number("spend", given.spend, 0),
        concurrency=None
        if given.concurrency is None
        else _whole_number("concurrency", given.concurrency, 1, MAX_AT_ONCE),
        rate=None if given.rate is None else parse_rate(given.rate),
        take=_whole_number("take", given.take, 0),
        on_error=_choice("on_error", given.on_error, ON_ERROR),
        price=None if given.price is None else _whole_number("price", given.price, 0),
        order=_choice("order", given.order, ORDERS),
    )


def _whole_number(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    try:
        # Accepts 1300.0, a likely result of a computation, but no fraction or boolean.
        number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except (TypeError, ValueError):
        number = None
    top = MAX_STORED if maximum is None else maximum
    if number is None or isinstance(value, bool) or not minimum <= number <= top:
        bounds = (
            f"of at least {minimum}"
            if maximum is None and (number is None or number < minimum)
            else f"from {minimum} to {top:,}"
        )
        raise usage_error(f"`{name}` is {format_literal(value)}; give a whole number {bounds}.", name)
    return number


def _choice(name: str, value: Any, known: tuple[str, ...]) -> str:
    if value not in known:
        raise usage_error(f"`{name}` is {format_literal(value)}; it can be {' or '.join(map(repr, known))}.", name)
    return str(value)
