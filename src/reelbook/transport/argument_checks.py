"""Checks of the arguments of a run, before anything is started or sent."""

from __future__ import annotations

from typing import Any

from ..errors import ReelbookError
from ..models.base import Input
from ..models.catalog import CATALOG
from .ids import format_type


def check_take(take: Any, fresh: bool) -> int | None:
    """The number of the requested take, validated; None for any."""
    if take is None:
        return None
    if fresh:
        raise ReelbookError(
            "`fresh` opens a new take and `take` names one, so only one of them can be given. Nothing was sent."
        )
    try:
        number = take.__index__()
    except AttributeError:
        number = -1
    if isinstance(take, bool) or not 0 <= number < 2**31:
        raise ReelbookError(f"`take` is the number of a repetition, 0 or more, and not {take!r}. Nothing was sent.")
    return int(number)


def check_input(request: Input) -> Input:
    """The request, if it is a typed input; otherwise raises an error that says what to pass instead."""
    if not isinstance(request, Input):
        names = ", ".join(row.input.__name__ for row in CATALOG)
        if hasattr(type(request), "credits_due"):
            raise ReelbookError(
                "This is a plan of many runs and no input. Nothing was sent: plan.credits is its price, plan.run(budget=…) runs it."
            )
        if hasattr(type(request), "__reel_key__"):
            raise ReelbookError(
                "This is a run that was made already. Nothing was sent: rb.run(run.input) gives its result again, "
                "rb.run(run.input.revised(seed=8)) makes another, and rb.form(run) opens its inputs."
            )
        if hasattr(type(request), "iloc"):
            raise ReelbookError(
                "This is a table or a row of one, and no input. Nothing was sent: table.reel.run(7).input is what was asked for "
                "row 7, and rb.form(table.loc[[7]]) opens it."
            )
        raise ReelbookError(
            f"A run needs a typed input ({names}), not {format_type(request)}. Nothing was sent: give one, such as rb.TextToVideo(prompt=…)."
        )
    return request
