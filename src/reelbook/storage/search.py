"""Filter a table of runs by inputs, results, and times as people write them: "30d", "12h", "2026-03-01"."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from numbers import Number
from typing import Any

import pandas as pd

from ..errors import InvalidInput, Problem
from ..models.catalog import CATALOG
from ..util.missing_values import is_missing
from ..util.printable import suggest
from .run_status import LIBRARY_STATUSES
from .table import LAST_COLUMNS

_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|d|w)")
_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def filter_rows(frame: pd.DataFrame, fields: Mapping[str, Any]) -> pd.DataFrame:
    """The rows whose fields all match: text anywhere in the field, other values by equality, a list if any entry does.

    >>> runs = pd.DataFrame({"prompt": ["a paper boat", "a tram"], "seed": [7, 8]})
    >>> list(filter_rows(runs, {"prompt": "BOAT"}).index), list(filter_rows(runs, {"seed": range(8, 20)}).index)
    ([0], [1])
    """
    known = {
        *map(str, frame.columns),
        *LAST_COLUMNS,
        *(name for row in CATALOG for name in row.input.model_fields),
        "since",
    }
    for name, value in fields.items():
        # An empty result would suggest that there are no such runs.
        if name not in known:
            raise invalid_field(name, f"There is no column {name!r} in this library.{suggest(name, known)}")
        wanted = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
        if name == "since":
            frame = frame[frame["created"] >= parse_moment(value)]
            continue
        for word in wanted if name == "status" else ():
            if word not in LIBRARY_STATUSES and not is_missing(word):
                known_words = f"{suggest(str(word), LIBRARY_STATUSES)} It is {', '.join(LIBRARY_STATUSES)}."
                raise invalid_field(name, f"{word!r} is not a status.{known_words}")
        if name in frame.columns:
            # A list, because iterating over a Series converts each value separately.
            cells = frame[name].tolist()
            matches = [any(_matches(cell, each, is_whole=name == "status") for each in wanted) for cell in cells]
            frame = frame[pd.Series(matches, index=frame.index, dtype=bool)]
        elif value is not None:
            frame = frame[:0]  # A field of a model without runs in this library.
    return frame


def _matches(cell: Any, wanted: Any, *, is_whole: bool) -> bool:
    """Whether a cell has a value. `is_whole`: a text must be equal, not only contained."""
    if wanted is None or wanted is pd.NA:
        return is_missing(cell)
    if isinstance(wanted, type) and isinstance(endpoint_id := getattr(wanted, "endpoint_id", None), str):
        return bool(cell == endpoint_id)
    if isinstance(cell, (list, dict)):
        return any(
            _matches(item, wanted, is_whole=is_whole) for item in (cell.values() if isinstance(cell, dict) else cell)
        )
    if is_missing(cell):
        return False
    if isinstance(wanted, str):
        text, value = wanted.casefold(), str(cell).casefold()
        return text in value if isinstance(cell, str) and not is_whole else text == value
    # A text column of numbers has seeds of forty digits, or a duration of "5".
    return bool(cell == wanted or (isinstance(cell, str) and isinstance(wanted, Number) and cell == str(wanted)))


def parse_span(value: timedelta | float | str) -> timedelta:
    """Parse a duration; a number means days.

    >>> parse_span("30d") == parse_span(30) == timedelta(days=30), parse_span("12 h")
    (True, datetime.timedelta(seconds=43200))
    """
    if isinstance(value, timedelta):
        return value
    try:
        if isinstance(value, str) and (match := _SPAN.fullmatch(value.strip())):
            return timedelta(seconds=float(match[1]) * _UNITS[match[2]])
        if isinstance(value, (int, float)) and math.isfinite(value) and value >= 0:
            return timedelta(days=value)
    except OverflowError:
        pass
    raise invalid_field(
        "older_than", f'{value!r} is not a length of time. Write "30d", "12h" or "2w", or a number of days.'
    )


def parse_moment(value: Any) -> pd.Timestamp:
    """Parse a point in time: a date, a time, or a duration before now. Without a time zone it is local."""
    if isinstance(value, (timedelta, int, float)) or (isinstance(value, str) and _SPAN.fullmatch(value.strip())):
        return pd.Timestamp.now("UTC") - pd.Timedelta(parse_span(value))
    try:
        moment = pd.Timestamp(value).to_pydatetime() if isinstance(value, (str, date, datetime)) else None
        if isinstance(moment, datetime) and moment == moment:  # Not NaT.
            return pd.Timestamp(moment.astimezone()).tz_convert("UTC")
    except (ValueError, OverflowError, OSError):
        pass
    raise invalid_field(
        "since", f'{value!r} is not a point in time. Write "2026-03-01", a datetime, or "7d" for a week ago.'
    )


def invalid_field(name: str, sentence: str) -> InvalidInput:
    """The error about a field that a library is searched by."""
    return InvalidInput("library", [Problem((name,), sentence, "unknown")])
