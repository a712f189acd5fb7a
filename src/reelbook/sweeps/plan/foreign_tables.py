"""Tables as others make them: DataFrames of pandas and Polars, Arrow tables, lists of dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from ...models.problems import format_literal
from ..sweep_errors import MAX_RUNS, too_many, usage_error


def is_table(value: Any) -> bool:
    """Whether something has rows with named columns: a DataFrame of pandas or Polars, an Arrow table, a list of dicts."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(row, Mapping) for row in value)
    return _names_in(value) is not None and _records_of(value) is not None


def read_records(table: Any) -> tuple[list[Any], list[Mapping[Any, Any]]]:
    """The names of the columns, and the rows as mappings."""
    if isinstance(table, Iterator):
        table = list(islice(table, MAX_RUNS + 1))
    if not is_table(table) and table != []:
        raise usage_error(f"{format_literal(table)} is no table; hand in a DataFrame or a list of dicts.", "no_table")
    count = len(table)
    if count > MAX_RUNS:
        raise too_many(count)
    if isinstance(table, list):
        return list(dict.fromkeys(name for row in table for name in row)), table
    found = _names_in(table)
    names = [] if found is None else list(found)
    if len(set(names)) < len(names):
        # Told by the caller; as a mapping, a row would have lost one of them already.
        return names, [dict.fromkeys(names)]
    records = _records_of(table)
    return names, [] if records is None else records()


def _names_in(table: Any) -> Iterable[Any] | None:
    """The names of a table's columns; None for what has none."""
    # Arrow's `columns` are the columns themselves.
    names: Iterable[Any] | None = getattr(table, "column_names" if hasattr(table, "to_pylist") else "columns", None)
    return names


def _records_of(table: Any) -> Callable[[], list[Mapping[Any, Any]]] | None:
    """What gives the rows of a table: Arrow's and Polars' way, or that of pandas; None for what is no table."""
    # Polars has a `to_dict`, too, which gives columns.
    for method in ("to_pylist", "to_dicts"):
        if hasattr(table, method):
            found: Callable[[], list[Mapping[Any, Any]]] = getattr(table, method)
            return found
    return (lambda: list(table.to_dict(orient="records"))) if hasattr(table, "to_dict") else None
