"""TOML as text: Python's own library reads it and does not write it."""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from ...models.problems import shown
from ..sweep_errors import usage_error
from .axis_values import plain

NOTHING = "nothing"
"""The key of the table that stands for None."""
WIDE = 100
"""How long a line may become before a list is broken up."""


def literal(value: Any, place: str) -> str:
    """A value as TOML. None, which TOML lacks, is written `{ nothing = true }`.

    >>> literal([1, 0.5, True, "a \\"boat\\"", None], "seed")
    '[1, 0.5, true, "a \\\\"boat\\\\"", { nothing = true }]'
    """
    value = plain(value)
    if value is None:
        return "{ nothing = true }"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value, place)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (numbers.Real, Decimal)):
        return _number(float(value))
    if isinstance(value, Mapping):
        inner = [f"{key(_escaped(str(name)))} = {literal(item, place)}" for name, item in value.items()]
        return f"{{ {', '.join(inner)} }}" if inner else "{}"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return _list([literal(item, place) for item in value])
    raise usage_error(
        f"`{place}` holds {shown(value)}, which cannot be written to a file; save it and give its address or path instead.",
        "not_writable",
        place,
    )


def key(name: Any) -> str:
    """A name as a TOML key, in quotes where it needs them.

    >>> key("seed"), key("images[0].frames")
    ('seed', '"images[0].frames"')
    """
    return str(name) if re.fullmatch(r"[A-Za-z0-9_-]+", str(name)) else _text(str(name), "a name")


def value_of(read: Any) -> Any:
    """What a value read from TOML stands for.

    >>> value_of([{"nothing": True}, {"path": "watercolour"}])
    [None, {'path': 'watercolour'}]
    """
    if isinstance(read, list):
        return [value_of(item) for item in read]
    if not isinstance(read, dict):
        return read
    if NOTHING in read:
        return None
    return {_unescaped(name): value_of(item) for name, item in read.items()}


def _escaped(name: str) -> str:
    """A name that would be read as the mark for None gets an underscore more."""
    return f"{name}_" if name.rstrip("_") == NOTHING else name


def _unescaped(name: str) -> str:
    return name.removesuffix("_") if name.rstrip("_") == NOTHING else name


def _list(items: Sequence[str]) -> str:
    """A list on one line, or on several where that is too long, each as full as it may be."""
    line = f"[{', '.join(items)}]"
    if len(line) <= WIDE or "\n" in line:
        return line
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(item) + 2 <= WIDE:
            lines[-1] += f" {item},"
        else:
            lines.append(f"  {item},")
    return "\n".join(["[", *lines, "]"])


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _text(value: str, place: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise usage_error(
            f"`{place}` holds {shown(value)}, which is no text in UTF-8.", "not_writable", place
        ) from None
    # JSON's escapes are TOML's, but for this one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
