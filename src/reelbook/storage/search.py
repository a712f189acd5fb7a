"""Filter a table of runs by inputs, results, and times as people write them: "30d", "12h", "2026-03-01"."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    # An iterator can be consumed only once.
    fields = {name: tuple(wanted) if isinstance(wanted, Iterator) else wanted for name, wanted in fields.items()}
    _check(frame, fields)
    mask = pd.Series(True, index=frame.index)
    for name, wanted in fields.items():
        if name == "since":
            mask &= frame["created"] >= parse_moment(wanted)
        elif name in frame.columns:
            matches = _matcher(wanted, exact=name == "status")
            # Lists, because iterating over a Series converts each value separately.
            cells = zip(mask.tolist(), frame[name].tolist(), strict=True)
            mask = pd.Series([so_far and matches(value) for so_far, value in cells], index=frame.index, dtype=bool)
        else:
            mask &= wanted is None  # A field of a model without runs in this library.
    return frame[mask]


def _check(frame: pd.DataFrame, fields: Mapping[str, Any]) -> None:
    """Reject a column or a status that no run can have: an empty result would suggest that there are no such runs."""
    inputs = {name for row in CATALOG for name in row.input.model_fields}
    known = {*map(str, frame.columns), *LAST_COLUMNS, *inputs, "since"}
    for name, wanted in fields.items():
        if name not in known:
            raise invalid_field(name, f"There is no column {name!r} in this library.{suggest(name, known)}")
        if name == "status":
            listed = [wanted] if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)
            for word in listed:
                if word not in LIBRARY_STATUSES and not is_missing(word):
                    raise invalid_field(
                        name,
                        f"{word!r} is not a status.{suggest(str(word), LIBRARY_STATUSES)} It is {', '.join(LIBRARY_STATUSES)}.",
                    )


def _matcher(wanted: Any, *, exact: bool = False) -> Callable[[Any], bool]:
    """A predicate for cells. `exact`: a text must be equal, not only contained."""
    if wanted is None or wanted is pd.NA:
        return is_missing
    if _is_model(wanted):
        wanted, exact = wanted.endpoint_id, True
    if isinstance(wanted, str):
        text = wanted.casefold()
        return lambda value: _contains(value, text, exact)
    if isinstance(wanted, Iterable) and not isinstance(wanted, (Mapping, bytes)):
        matchers = [_matcher(item, exact=exact) for item in wanted]
        return lambda value: any(matches(value) for matches in matchers)
    return lambda value: not is_missing(value) and _equals(value, wanted)


def _is_model(value: Any) -> bool:
    return isinstance(value, type) and isinstance(getattr(value, "endpoint_id", None), str)


def _contains(value: Any, text: str, exact: bool) -> bool:
    if isinstance(value, str):
        return value.casefold() == text if exact else text in value.casefold()
    if isinstance(value, Mapping):
        return any(_contains(item, text, exact) for item in value.values())
    if isinstance(value, Iterable):
        return any(_contains(item, text, exact) for item in value)
    return not is_missing(value) and str(value).casefold() == text


def _equals(value: Any, wanted: Any) -> bool:
    if isinstance(value, str):
        # A text column of numbers, such as a seed of forty digits or a duration of "5".
        return isinstance(wanted, Number) and value == str(wanted)
    return bool(value == wanted) if not isinstance(value, (list, dict)) else wanted in value


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
