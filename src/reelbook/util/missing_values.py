"""Empty cells of tables, without importing pandas."""

from __future__ import annotations

from numbers import Real
from typing import Any


def is_missing(value: Any) -> bool:
    """Whether a cell of a table is empty: None, NaN, or a missing value of pandas.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0.0), is_missing("")
    (True, True, False, False)
    """
    if isinstance(value, (float, str, int)):  # Most cells, for which the test of an abstract class would be slow.
        return bool(value != value)
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, Real) and bool(value != value))
    )
