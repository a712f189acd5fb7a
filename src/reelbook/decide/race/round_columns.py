"""The columns that a race adds to its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...storage.table.typed_columns import build_column
from ...sweeps.results.metric_columns import add_metric_columns

if TYPE_CHECKING:
    import pandas as pd

PREFIX = "race_"


def add_race_columns(
    table: pd.DataFrame, columns: Mapping[str, Sequence[Any]], metrics: Mapping[str, Sequence[Any]]
) -> pd.DataFrame:
    """The table with measured metrics, then the race's own columns; a name that is taken gets the prefix `race_`."""
    measured = {name: build_column(list(values)).array for name, values in metrics.items()}
    result = add_metric_columns(table, measured) if measured else table
    named = {PREFIX + name if name in table.columns else name: values for name, values in columns.items()}
    made = result.assign(**{name: build_column(list(values)).array for name, values in named.items()})
    made.attrs = result.attrs
    return made
