"""The options of `plan.run` and `plan.start`, and their validation."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...models.problems import format_literal
from ..sweep_errors import usage_error
from .order import ORDERS

ON_ERROR = ("continue", "stop")
MAX_AT_ONCE = 256
MAX_STORED = 10**15
"""Bound for amounts, because the library stores 64-bit integers and sums of them."""
HOSTED_AT_ONCE, EMBEDDED_AT_ONCE = 8, 64

_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(s|sec|second|m|min|minute|h|hour)\s*\Z")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Options:
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
    notify: Callable[[Any], Any] | None = None
    """Called with the job at its end."""


def make_options(
    *,
    budget: Any = None,
    spend: Any = None,
    concurrency: Any = None,
    rate: Any = None,
    take: Any = 0,
    on_error: str = "continue",
    price: Any = None,
    order: str = "coverage",
    notify: Callable[[Any], Any] | None = None,
) -> Options:
    """Validate the options.

    >>> make_options(budget=1300, rate="30/min").rate
    0.5
    """
    if notify is not None and not callable(notify):
        raise usage_error(f"`notify` is called with the job at the end, so it has to be a function, not {format_literal(notify)}.", "notify")  # fmt: skip
    return Options(
        budget=None if budget is None else _whole_number("budget", budget, 0),
        spend=None if spend is None else _whole_number("spend", spend, 0),
        concurrency=None if concurrency is None else _whole_number("concurrency", concurrency, 1, MAX_AT_ONCE),
        rate=None if rate is None else parse_rate(rate),
        take=_whole_number("take", take, 0),
        on_error=_choice("on_error", on_error, ON_ERROR),
        price=None if price is None else _whole_number("price", price, 0),
        order=_choice("order", order, ORDERS),
        notify=notify,
    )


def parse_rate(rate: Any) -> float:
    """A rate such as `"10/s"`, `"100/min"` or `30` in runs per second.

    >>> parse_rate("10/s"), parse_rate("90/h"), parse_rate(2)
    (10.0, 0.025, 2.0)
    """
    if isinstance(rate, str) and (found := _RATE.match(rate)):
        per_second = float(found[1]) / _SECONDS[found[2][0]]
    elif isinstance(rate, (int, float)) and not isinstance(rate, bool):
        per_second = float(rate) if rate <= MAX_STORED else math.inf
    else:
        per_second = 0.0
    if not 0 < per_second < float("inf"):
        raise usage_error(f'`rate` is {format_literal(rate)}; write it as "10/s", "100/min" or "30/h".', "rate")
    return per_second


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
