"""The table of available metrics, and measured ones as columns of a table of runs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import pandas as pd

from ...media.measuring.metrics import Metric
from ...storage.run_identity import INPUT_JSON

MEASURED = "measured"
NOTE = "reelbook_measured"
"""The key in a table's `attrs` that lists its measured columns."""


METRIC_FACTS = ("meaning", "definition", "unit", "range", "better")
"""The columns of the table of metrics."""


class Metrics(pd.DataFrame):
    """A DataFrame with one row per metric, displayed without truncation. Operations on it return a plain DataFrame."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame


def metrics_table(metrics: Mapping[str, Metric]) -> Metrics:
    """A table with the meaning, definition, unit, range and better direction of each metric."""
    rows = [[getattr(metric, name) for name in METRIC_FACTS] for metric in metrics.values()]
    return Metrics(rows, columns=list(METRIC_FACTS), index=pd.Index(metrics, name="metric"))


def add_metric_columns(table: pd.DataFrame, figures: Mapping[str, Any]) -> pd.DataFrame:
    """The table with a column for each of these metrics; earlier measurements are replaced.

    >>> table = pd.DataFrame({"width": ["narrow", "wide"]})
    >>> list(add_metric_columns(add_metric_columns(table, {"width": [64, 128]}), {"width": [64, 128]}).columns)
    ['width', 'measured_width']
    """
    before = list(table.attrs.get(NOTE, []))
    is_taken = any(name in table.columns and name not in before for name in figures)
    inputs = _input_fields(table) if is_taken else frozenset()

    def find_column(name: str, values: Any) -> str:
        if name not in table.columns or name in before:
            return name
        return name if name not in inputs and _is_same_metric(table[name], pd.Series(values)) else f"{MEASURED}_{name}"

    columns = {name: find_column(name, values) for name, values in figures.items()}
    result = table.assign(**{columns[name]: values for name, values in figures.items()})
    result.attrs[NOTE] = list(dict.fromkeys([*before, *(name for name, column in columns.items() if name == column)]))
    return result


def _input_fields(table: pd.DataFrame) -> frozenset[str]:
    """The fields of the inputs, whose columns are never treated as a metric's, even if equal."""
    if INPUT_JSON not in table.columns:
        return frozenset()
    names: set[str] = set()
    for text in table[INPUT_JSON].dropna().unique():
        try:
            names |= set(json.loads(text))
        except (TypeError, ValueError):
            continue
    return frozenset(names)


def _is_same_metric(old: pd.Series[Any], new: pd.Series[Any]) -> bool:
    """Whether all known values of a column equal the new ones: an earlier measurement whose `attrs` were lost.

    pandas drops `attrs` in a merge, and CSV files cannot store them.
    """
    is_known = list(old.notna())
    pairs = [(before, after) for before, after, known in zip(old, new, is_known, strict=True) if known]
    return bool(pairs) and all(_are_equal(before, after) for before, after in pairs)


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, Real) and isinstance(other, Real):
        # A text file may lose the last digit.
        return math.isclose(float(one), float(other), rel_tol=1e-12)
    return type(one) is type(other) and bool(one == other)
