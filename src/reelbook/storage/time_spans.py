"""Ages and points in time as people write them: "30d", "12h", "2026-03-01"."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta
from typing import Any

import pandas as pd

from ..errors import InvalidInput, Problem

_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|d|w)")
_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


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
