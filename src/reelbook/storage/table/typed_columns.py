"""Build columns of arbitrary values, each of one type that pandas and Parquet can store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from types import NoneType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ...util.printable import replace_surrogates

DTYPES = {"integer": "Int64", "number": "float64", "boolean": "boolean", "string": "string"}
"""The type of an empty column of each JSON type."""
MAX_SIGNED, MAX_EXACT = 2**63, 2**53
_MIXED = "odd"


class ColumnBuilder:
    """Collects the values of a column in batches. A batch of equal values is stored as one value and a count.

    >>> pile = ColumnBuilder()
    >>> pile.add(["720p"] * 1000), pile.same(None, 2), pile.add(["480p", "720p"]), len(pile.values)
    (None, None, None, 4)
    >>> pile.series().value_counts().to_dict()
    {'720p': 1001, '480p': 1}
    """

    def __init__(self, *, after: int = 0) -> None:
        self.values: list[Any] = []
        self._counts: list[int] = []
        self.same(None, after)

    def add(self, values: Sequence[Any]) -> None:
        """Add a batch of values."""
        if values and _is_constant(values):
            self.same(values[0], len(values))
        else:
            self.values += values
            self._counts += [1] * len(values)

    def same(self, value: Any, count: int) -> None:
        """Add one value for `count` rows."""
        if count:
            self.values.append(value)
            self._counts.append(count)

    def mapped(self, change: Callable[[Any], Any]) -> ColumnBuilder:
        """A new builder with `change` applied to every value."""
        builder = ColumnBuilder()
        builder.values, builder._counts = [change(value) for value in self.values], self._counts
        return builder

    def series(self, made: Callable[[Sequence[Any]], pd.Series[Any]] | None = None) -> pd.Series[Any]:
        """All values as a Series."""
        short = (made or build_column)(self.values)
        if len(self.values) == sum(self._counts):
            return short
        places = np.repeat(np.arange(len(self.values)), self._counts)
        return pd.Series(short.array.take(places), copy=False)


def order_columns(names: Iterable[str], first: Iterable[str]) -> list[str]:
    """Sort column names: those in `first`, then the others.

    >>> order_columns(["prompt", "seed", "status"], ["status", "error", "seed"])
    ['status', 'seed', 'prompt']
    """
    known = dict.fromkeys(names)
    return list(dict.fromkeys([*(name for name in first if name in known), *known]))


def build_column(values: Sequence[Any], kind: str = "") -> pd.Series[Any]:
    """The values as a Series; None is missing. Values of mixed types become text, so that nothing is rounded or lost.

    `kind` is the declared JSON type, because values do not determine whether 1 is a float, or an empty column's type.

    >>> [str(build_column(values).dtype) for values in ([1, None], [True, False], [1, 0.5])]
    ['Int64', 'boolean', 'float64']
    >>> list(build_column([["a"], None])), list(build_column([7, "x", None]))
    ([['a'], None], ['7', 'x', <NA>])
    """
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return pd.Series([None] * len(values), dtype=DTYPES.get(kind, "object"))
    if kinds == {bool}:
        return pd.Series(values, dtype="boolean")
    if kinds <= {int, float}:
        return _number_column(values, kinds, kind)
    if kinds == {str}:
        return _text_column(values)
    if kinds <= {list, dict} and _shape_of_all(values) != _MIXED:
        return pd.Series(values, dtype=object)
    return _text_column([_text(value) for value in values])


def format_json(value: Any) -> str:
    """Format a value as JSON on one line.

    >>> format_json([{"path": "a", "scale": 0.5}])
    '[{"path": "a", "scale": 0.5}]'
    """
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_constant(values: Sequence[Any]) -> bool:
    first = values[0]
    if first != values[-1] or not (isinstance(first, (str, int, float, NoneType)) or first == []):
        return False
    # Also of equal type, because 1 == 1.0 == True.
    has_one_type = not isinstance(first, (int, float)) or set(map(type, values)) == {type(first)}
    return has_one_type and values.count(first) == len(values)


def _number_column(values: Sequence[Any], kinds: set[type], kind: str) -> pd.Series[Any]:
    if float not in kinds and kind != "number":
        return _integer_column(values)
    if int in kinds and any(type(value) is int and abs(value) > MAX_EXACT for value in values):
        return _text_column([_text(value) for value in values])
    return pd.Series(values, dtype="float64")


def _integer_column(values: Sequence[Any]) -> pd.Series[Any]:
    for kind, dtype in (("int64", pd.Int64Dtype()), ("uint64", pd.UInt64Dtype())):
        try:
            return _arrow_column(values, kind, dtype)
        except OverflowError:
            pass
    # A seed must stay exact to the last digit.
    return _text_column([_text(value) for value in values])


def _text_column(values: Sequence[str | None]) -> pd.Series[Any]:
    """A text column with `<NA>` for missing values, as in integer columns; pandas' default would be NaN."""
    try:
        return _arrow_column(values, "large_string", pd.StringDtype())
    except UnicodeEncodeError:
        # Lone surrogates are valid in Python's strings but not in UTF-8.
        return _text_column([value and replace_surrogates(value) for value in values])


def _arrow_column(values: Sequence[Any], kind: str, dtype: Any) -> pd.Series[Any]:
    """The values as a Series, converted by Arrow, which is three times as fast as pandas."""
    return pd.Series(dtype.__from_arrow__(pa.array(values, kind)), copy=False)


def _text(value: Any) -> str | None:
    return None if value is None else str(value) if isinstance(value, str) else format_json(value)


def _shape_of_all(values: Sequence[Any]) -> Any:
    """The common shape of all values; `_MIXED` if two are incompatible, which Parquet could not store."""
    shape: Any = None
    for value in values:
        if value is not None:
            shape = _merged(shape, _shape(value))
            if shape == _MIXED:
                return _MIXED
    return shape


def _shape(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return None if value is None else type(value).__name__
    if isinstance(value, int):
        # In a column with floats, a larger integer would be rounded.
        return "number" if abs(value) <= MAX_EXACT else "large" if -MAX_SIGNED <= value < MAX_SIGNED else _MIXED
    if isinstance(value, float):
        return "number"
    if isinstance(value, list):
        inner: Any = None
        for item in value:
            inner = _merged(inner, _shape(item))
        return _MIXED if inner == _MIXED else ("list", inner)
    if not value:
        return _MIXED  # Parquet cannot store a struct without fields.
    fields = {name: _shape(item) for name, item in value.items()}
    return _MIXED if _MIXED in fields.values() else fields


def _merged(one: Any, other: Any) -> Any:
    """The common shape of two; None, of a missing value, is compatible with every shape."""
    if one is None or other is None or one == other:
        return other if one is None else one
    if isinstance(one, dict) and isinstance(other, dict):
        both = {name: _merged(one.get(name), other.get(name)) for name in {**one, **other}}
        return _MIXED if _MIXED in both.values() else both
    if isinstance(one, tuple) and isinstance(other, tuple):
        inner = _merged(one[1], other[1])
        return _MIXED if inner == _MIXED else ("list", inner)
    return _MIXED
