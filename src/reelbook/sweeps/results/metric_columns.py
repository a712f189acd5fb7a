"""Figures beside what a table has already: each in a column of its own name, unless that is taken."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import pandas as pd

from ...storage.table.library_table import INPUT_JSON

MEASURED = "measured"
NOTE = "reelbook_measured"
"""Where a table notes in its `attrs` which of its columns were measured."""


def add_metric_columns(table: pd.DataFrame, figures: Mapping[str, Any]) -> pd.DataFrame:
    """The table with a column for each of these figures; those from an earlier time are replaced.

    >>> table = pd.DataFrame({"width": ["narrow", "wide"]})
    >>> list(add_metric_columns(add_metric_columns(table, {"width": [64, 128]}), {"width": [64, 128]}).columns)
    ['width', 'measured_width']
    """
    before = list(table.attrs.get(NOTE, []))
    input_fields = (
        _input_fields(table) if any(name in table.columns and name not in before for name in figures) else frozenset()
    )
    places = {
        name: name
        if name not in table.columns
        or name in before
        or (name not in input_fields and _is_the_same(table[name], pd.Series(values)))
        else f"{MEASURED}_{name}"
        for name, values in figures.items()
    }
    found = table.assign(**{places[name]: values for name, values in figures.items()})
    own = [name for name, place in places.items() if name == place]
    found.attrs[NOTE] = list(dict.fromkeys([*before, *own]))
    return found


def _input_fields(table: pd.DataFrame) -> frozenset[str]:
    """The fields of the inputs, whose columns are never a figure's, however much they are alike."""
    if INPUT_JSON not in table.columns:
        return frozenset()
    names: set[str] = set()
    for text in table[INPUT_JSON].dropna().unique():
        try:
            names |= set(json.loads(text))
        except (TypeError, ValueError):
            continue
    return frozenset(names)


def _is_the_same(there: pd.Series[Any], new: pd.Series[Any]) -> bool:
    """Whether a column has nothing that the new one does not say: it was measured before, and the table's notes were lost.

    pandas drops them in a merge, and a CSV file has no place for them.
    """
    is_known = list(there.notna())
    pairs = [(one, other) for one, other, known in zip(there, new, is_known, strict=True) if known]
    return bool(pairs) and all(_are_equal(one, other) for one, other in pairs)


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, Real) and isinstance(other, Real):
        # A text file may cost the last digit.
        return math.isclose(float(one), float(other), rel_tol=1e-12)
    return type(one) is type(other) and bool(one == other)
