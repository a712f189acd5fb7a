"""Ids as people give them: copied from somewhere, and checked before anything is asked about them."""

from __future__ import annotations

from typing import Any, Literal

from ..errors import ReelbookError

_SHOWN = 100
"""How much of a wrong id is repeated."""

_SOURCES = {
    "request": "Give it as run.request_id or the account's history shows it.",
    "model": "Give it as rb.TextToVideo.endpoint_id or client.models() shows it.",
}
"""Where good ones are found."""


def checked_id(value: Any, what: Literal["request", "model"]) -> str:
    """The id of a request or a model without spaces around it, if it can be one.

    >>> checked_id(" r-7\\n", "request")
    'r-7'
    """
    if not isinstance(value, str):
        wrong = f"The id of a {what} is a text, and not {kind_of(value)}."
    elif not value.strip():
        wrong = f"The id of a {what} is missing: the text is empty."
    elif not value.strip().isprintable():
        wrong = f"{value[:_SHOWN]!r} is no id of a {what}: it has a letter that cannot be printed or sent."
    else:
        return value.strip()
    raise ReelbookError(f"{wrong} Nothing was asked or sent. {_SOURCES[what]}")


def kind_of(value: Any) -> str:
    """What something is, where it is not what was expected.

    >>> kind_of(5), kind_of(int)
    ('a value of the type int', 'the class int')
    """
    return f"the class {value.__name__}" if isinstance(value, type) else f"a value of the type {type(value).__name__}"
