"""The columns of any DataFrame as texts to read and numbers to sort by."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from ...util.missing_values import is_missing
from ...util.printable import replace_surrogates
from ..formatting import format_time

MAX_TEXT = 2_000
"""Characters of a cell; longer text is cut."""

DIGITS, LARGEST_PLAIN, SMALLEST_PLAIN = 6, 1e15, 1e-4
MAX_EXACT, LARGEST = 2**53, 1.7976931348623157e308
"""The largest integer that is exact in JavaScript, beyond which the sort key is rounded, and its largest number."""

Number = int | float


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the text of each cell, None where it is missing, and its place in the table."""

    name: str
    words: list[str | None]
    order: list[Number | None] | None = None
    """Sort keys, where those are not the texts."""
    is_number: bool = False
    is_visible: bool = False
    is_index: bool = False
    role: str = ""
    """`state`, `credits` or `source`, which the summary uses; else empty."""
    keys: list[str | None] | None = None
    """The states as in the table, which a filter may name as well."""

    @property
    def side(self) -> str:
        """Where its cells are aligned."""
        return "right" if self.is_number else "left"


def make_column(name: Any, values: pd.Series[Any]) -> Column:
    """A column with any name and any values."""
    items = values.tolist()
    missing = [is_missing(value) for value in items]
    words = [None if gone else format_cell(value) for value, gone in zip(items, missing, strict=True)]
    order, is_number = _find_order(values, items, missing)
    if is_number and any(isinstance(value, (float, np.floating)) for value in items):
        words = _align(words, items)
    return Column(format_column_name(name), words, order, is_number)


def format_column_name(label: Any) -> str:
    """The name of a column as text, with all levels of a MultiIndex."""
    if isinstance(label, tuple):
        return " / ".join(words for part in label if (words := format_cell(part)))
    return format_cell(label)


def format_cell(value: Any) -> str:
    """A value as text: floats to six digits, moments of UTC in local time, other values by `str`, shortened to `MAX_TEXT`.

    >>> [format_cell(value) for value in (0.1 + 0.2, 1272.0, 1e-7, [0.5, "a"], None)]
    ['0.3', '1272', '1e-07', "[0.5, 'a']", 'None']
    """
    if isinstance(value, str):
        return _limit_text(value)
    if isinstance(value, (float, np.floating)):
        return format_number(float(value))
    if isinstance(value, datetime) and value.tzinfo is not None and not value.utcoffset():
        return format_time(value)
    return _limit_text(str(value))


def format_number(value: float) -> str:
    """A number to six digits, with all digits before the point.

    >>> format_number(1234567.891), format_number(0.000123456789), format_number(-2.50), format_number(float("inf"))
    ('1234568', '0.000123457', '-2.5', 'inf')
    """
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    if not SMALLEST_PLAIN <= abs(value) < LARGEST_PLAIN:
        return f"{value:.{DIGITS}g}"
    decimals = max(0, DIGITS - 1 - math.floor(math.log10(abs(value))))
    plain = f"{value:.{decimals}f}"
    return plain.rstrip("0").rstrip(".") if decimals else plain


def _align(words: list[str | None], values: Sequence[Any]) -> list[str | None]:
    """Numbers with the same count of decimals, unless small ones would lose significant digits.

    >>> _align(["675.59", "668.408", None, "6"], [675.59, 668.408, None, 6.0])
    ['675.590', '668.408', None, '6.000']
    >>> _align(["0.000123457", "1234.5"], [0.000123457, 1234.5])
    ['0.000123457', '1234.5']
    """
    sizes = [abs(float(value)) for value, word in zip(values, words, strict=True) if word is not None and value]
    if not sizes or not all(SMALLEST_PLAIN <= size < LARGEST_PLAIN for size in sizes):
        return words
    max_decimals = max(0, DIGITS - 1 - math.floor(math.log10(max(sizes))))
    decimals = min(max_decimals, max(len(word.partition(".")[2]) for word in words if word is not None))
    if min(sizes) < 10 ** (2 - decimals) and decimals == max_decimals:
        return words
    return [None if word is None else f"{float(value):.{decimals}f}" for word, value in zip(words, values, strict=True)]


def _find_order(
    values: pd.Series[Any], items: list[Any], missing: Sequence[bool]
) -> tuple[list[Number | None] | None, bool]:
    """The sort keys, None for the texts, and whether they are numbers to a reader, too."""
    kinds = {type(value) for value, gone in zip(items, missing, strict=True) if not gone}
    is_number = False
    make_key: Callable[[Any], Number] | None = None
    if isinstance(values.dtype, pd.CategoricalDtype) and values.dtype.ordered:
        items, make_key = values.cat.codes.tolist(), int
    elif kinds and (kinds == {pd.Timestamp} or kinds == {pd.Timedelta}):
        make_key = _count_milliseconds
    elif kinds and kinds <= {bool, np.bool_}:
        make_key = int
    elif kinds and all(issubclass(kind, (int, float, np.integer, np.floating)) and kind is not bool for kind in kinds):
        is_number, make_key = True, _make_sort_number
    if make_key is None:
        return None, False
    return [None if gone else make_key(value) for value, gone in zip(items, missing, strict=True)], is_number


def _count_milliseconds(value: Any) -> float:
    """`value` is in nanoseconds for moments and durations; JavaScript counts in milliseconds."""
    return float(value.value / 1e6)


def _make_sort_number(value: Any) -> Number:
    """A number for JavaScript: exact where possible, and finite, as JSON requires."""
    if isinstance(value, (int, np.integer)) and abs(int(value)) <= MAX_EXACT:
        return int(value)
    real = float(value)
    if math.isinf(real):
        return math.copysign(LARGEST, real)
    return int(real) if real.is_integer() and abs(real) <= MAX_EXACT else float(f"{real:.12g}")


def _limit_text(text: str) -> str:
    """A text that can be encoded, of at most `MAX_TEXT` characters."""
    return replace_surrogates(text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text):,} characters)")
