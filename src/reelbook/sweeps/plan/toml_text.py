"""Writing of TOML values, which the standard library can only read."""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from ...models.problems import format_literal
from ..sweep_errors import usage_error
from .axis_values import coerce_value

NONE_KEY = "nothing"
"""The key of the table that represents None."""
MAX_LINE_LENGTH = 100
"""Longer lists are wrapped."""


def format_toml(value: Any, place: str) -> str:
    """Format a value as TOML. None, which TOML lacks, is written as `{ nothing = true }`.

    >>> format_toml([1, 0.5, True, "a \\"boat\\"", None], "seed")
    '[1, 0.5, true, "a \\\\"boat\\\\"", { nothing = true }]'
    """
    value = coerce_value(value)
    if value is None:
        return "{ nothing = true }"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _format_text(value, place)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (numbers.Real, Decimal)):
        return _format_number(float(value))
    if isinstance(value, Mapping):
        inner = [f"{format_key(_escaped(str(name)))} = {format_toml(item, place)}" for name, item in value.items()]
        return f"{{ {', '.join(inner)} }}" if inner else "{}"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return _format_list([format_toml(item, place) for item in value])
    raise usage_error(
        f"`{place}` holds {format_literal(value)}, which cannot be written to a file; save it and give its address or path instead.",
        "not_writable",
        place,
    )


def format_key(name: Any) -> str:
    """Format a name as a TOML key, quoted if necessary.

    >>> format_key("seed"), format_key("images[0].frames")
    ('seed', '"images[0].frames"')
    """
    return str(name) if re.fullmatch(r"[A-Za-z0-9_-]+", str(name)) else _format_text(str(name), "a name")


def parse_value(data: Any) -> Any:
    """Convert a value read from TOML back to the original, with `{ nothing = true }` as None.

    >>> parse_value([{"nothing": True}, {"path": "watercolour"}])
    [None, {'path': 'watercolour'}]
    """
    if isinstance(data, list):
        return [parse_value(item) for item in data]
    if not isinstance(data, dict):
        return data
    if NONE_KEY in data:
        return None
    return {_unescaped(name): parse_value(item) for name, item in data.items()}


def _escaped(name: str) -> str:
    """The name, with another underscore if it could be read as the representation of None."""
    return f"{name}_" if name.rstrip("_") == NONE_KEY else name


def _unescaped(name: str) -> str:
    return name.removesuffix("_") if name.rstrip("_") == NONE_KEY else name


def _format_list(items: Sequence[str]) -> str:
    """Format a list on one line, or wrapped if that is too long."""
    line = f"[{', '.join(items)}]"
    if len(line) <= MAX_LINE_LENGTH or "\n" in line:
        return line
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(item) + 2 <= MAX_LINE_LENGTH:
            lines[-1] += f" {item},"
        else:
            lines.append(f"  {item},")
    return "\n".join(["[", *lines, "]"])


def _format_number(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _format_text(value: str, place: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise usage_error(
            f"`{place}` holds {format_literal(value)}, which is no text in UTF-8.", "not_writable", place
        ) from None
    # JSON's escapes are valid TOML, except for this character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
