"""The options of `plan.race`, and their validation."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from ...models.problems import format_literal
from ...sweeps.execute.run_options import Options, make_options
from .race_errors import race_error

QUESTION = "Which is better?"


@dataclass(frozen=True, slots=True)
class RaceOptions:
    """Validated options of a race."""

    by: Any
    budget: int | float | None
    """Credits as an integer, or a share of the price of the whole plan as a float up to 1."""
    spend: int | None
    """The most credits that the race may spend from now on, in place of a budget."""
    keep: int
    over: Sequence[str]
    seed: int
    sure: float
    draft: Mapping[str, Any] | bool
    retry_failed: bool
    question: str
    rater: str | None
    execution: Options
    """The options of each round's execution, without a budget."""
    judge: Callable[..., Any] | None
    """Opens the ratings of a table, where a person judges."""


def make_race_options(
    *,
    by: Any,
    budget: Any,
    keep: Any,
    over: Any,
    seed: Any,
    sure: Any,
    concurrency: Any,
    price: Any,
    draft: Any,
    retry_failed: Any,
    question: Any,
    rater: Any,
    spend: Any = None,
    judge: Callable[..., Any] | None = None,
) -> RaceOptions:
    """Validate the options; raises an error that says what each may be."""
    if draft is not None and not isinstance(draft, (bool, Mapping)):
        raise race_error(
            f"`draft` is {format_literal(draft)}; it takes the values that make a run cheaper, such as "
            "{'enable_detail_pass': False}, or True for those of the model.",
            "draft",
        )
    if not isinstance(question, str) or not question.strip():
        raise race_error(f"`question` is {format_literal(question)}; it is the text that a judge answers.", "question")
    return RaceOptions(
        by=by,
        budget=_parse_budget(budget),
        spend=None if spend is None else _parse_whole("spend", spend, 0),
        keep=_parse_whole("keep", keep, 1),
        over=over,
        seed=_parse_whole("seed", seed, 0),
        sure=_parse_sure(sure),
        draft=draft or False,
        retry_failed=bool(retry_failed),
        question=question,
        rater=rater,
        execution=make_options(concurrency=concurrency, price=price),
        judge=judge,
    )


def _parse_budget(value: Any) -> int | float | None:
    """Credits as an integer, a share as a float; a float beyond 1 without a fraction is credits, too."""
    if value is None:
        return None
    if not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(float(value)):
        try:
            number = operator.index(value)  # type: ignore[arg-type]  # A real number that is none raises.
        except TypeError:
            share = float(value)
            if 0 < share <= 1:
                return share
            number = int(share) if share.is_integer() else -1
        if number >= 0:
            return number
    raise race_error(
        f"`budget` is {format_literal(value)}; give credits as a whole number, or a share of the price of the whole plan "
        "as a fraction from 0 to 1: budget=0.4 is 40%, budget=1.0 all of it.",
        "budget",
    )


def _parse_whole(name: str, value: Any, minimum: int) -> int:
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if number < minimum:
        raise race_error(f"`{name}` is {format_literal(value)}; give a whole number of at least {minimum}.", name)
    return number


def _parse_sure(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.5 <= float(value) < 1:
        raise race_error(
            f"`sure` is {format_literal(value)}; give the chance from 0.5 to below 1 at which the race stops, such as 0.95.",
            "sure",
        )
    return float(value)
