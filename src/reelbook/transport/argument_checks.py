"""Arguments as users pass them, checked before anything is started or sent."""

from __future__ import annotations

from typing import Any, Literal

from ..errors import ReelbookError
from ..models.base import Input
from ..models.catalog import CATALOG
from .service_address import MAX_ID_LENGTH

_MAX_QUOTED = 100
"""How many characters of an invalid id an error message quotes."""

_SOURCES = {
    "request": "Give it as run.request_id or the account's history shows it.",
    "model": "Give it as rb.TextToVideo.endpoint_id or client.models() shows it.",
}
"""Where a valid id is found."""


def check_id(value: Any, what: Literal["request", "model"]) -> str:
    """The id of a request or a model without surrounding spaces; raises an error if it cannot be one.

    >>> check_id(" r-7\\n", "request")
    'r-7'
    """
    if not isinstance(value, str):
        wrong = f"The id of a {what} is a text, and not {format_type(value)}."
    elif not value.strip():
        wrong = f"The id of a {what} is missing: the text is empty."
    elif not value.strip().isprintable():
        wrong = f"{value[:_MAX_QUOTED]!r} is no id of a {what}: it has a letter that cannot be printed or sent."
    elif len(value.strip()) > MAX_ID_LENGTH:
        wrong = f"{value[:_MAX_QUOTED]!r} … is no id of a {what}: it has {len(value):,} letters, and at most {MAX_ID_LENGTH:,} fit into an address."
    else:
        return value.strip()
    raise ReelbookError(f"{wrong} Nothing was asked or sent. {_SOURCES[what]}")


def format_type(value: Any) -> str:
    """A value's type in words, for an error message about a value of the wrong type.

    >>> format_type(5), format_type(int)
    ('a value of the type int', 'the class int')
    """
    return f"the class {value.__name__}" if isinstance(value, type) else f"a value of the type {type(value).__name__}"


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
        raise ReelbookError(
            f"A run needs a typed input ({names}), not {format_type(request)}. Nothing was sent: give one, such as "
            "rb.TextToVideo(prompt=…). A plan is run by plan.run(budget=…), and plan.credits is its price."
        )
    return request
