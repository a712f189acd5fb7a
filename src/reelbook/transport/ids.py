"""Ids of requests and models as users pass them, checked before anything is sent."""

from __future__ import annotations

from typing import Any, Literal

from ..errors import ReelbookError

MAX_ID_LENGTH = 8_000
"""Longer ids cannot be requested: they would not fit into a URL."""
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
