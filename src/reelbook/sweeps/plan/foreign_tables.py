"""Reading of tables: pandas and Polars DataFrames, Arrow tables, lists of dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from ...models.problems import format_literal
from ..sweep_errors import MAX_RUNS, too_many, usage_error


def is_table(value: Any) -> bool:
    """Whether a value is a pandas or Polars DataFrame, an Arrow table, or a list of dicts."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(row, Mapping) for row in value)
    return _names_in(value) is not None and _records_of(value) is not None


def read_records(table: Any) -> tuple[list[Any], list[Mapping[Any, Any]]]:
    """The column names of a table and its rows as mappings."""
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
        # The caller reports the duplicates, of which a row as a mapping would contain only one.
        return names, [dict.fromkeys(names)]
    records = _records_of(table)
    return names, [] if records is None else records()


def _names_in(table: Any) -> Iterable[Any] | None:
    """The column names of a table; None for other values."""
    # Arrow's `columns` are the columns themselves, not their names.
    names: Iterable[Any] | None = getattr(table, "column_names" if hasattr(table, "to_pylist") else "columns", None)
    return names


def _records_of(table: Any) -> Callable[[], list[Mapping[Any, Any]]] | None:
    """The method that returns the rows of an Arrow, Polars or pandas table; None for other values."""
    # Polars also has a `to_dict`, which returns columns.
    for method in ("to_pylist", "to_dicts"):
        if hasattr(table, method):
            found: Callable[[], list[Mapping[Any, Any]]] = getattr(table, method)
            return found
    return (lambda: list(table.to_dict(orient="records"))) if hasattr(table, "to_dict") else None
