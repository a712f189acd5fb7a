"""Selection and sorting of the rows of a plan, and calls of users' functions on them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...errors import Problem
from ...models.base import Input
from ...models.problems import format_literal, unknown_field
from ..sweep_errors import NoSuchRow, usage_error
from .field_paths import get_fields
from .plan_rows import Row


def select_rows(rows: Sequence[Row], indexes: list[Any]) -> list[Row]:
    """The rows selected by a list of numbers or a mask."""
    if indexes and all(isinstance(index, bool) for index in indexes):
        if len(indexes) != len(rows):
            raise usage_error(f"The mask has {len(indexes):,} values and the plan {len(rows):,} runs.", "mask")
        return [row for row, is_in in zip(rows, indexes, strict=True) if is_in]
    return [get_row(rows, index) for index in indexes]


def get_row(rows: Sequence[Row], index: Any) -> Row:
    """One row by its number."""
    try:
        return rows[operator.index(index)]
    except TypeError:
        raise usage_error("A plan takes a number, a slice, a list of numbers or a mask in brackets.", "index") from None
    except IndexError:
        sentence = f"The plan has {len(rows):,} runs, numbered from 0; there is no run {index}."
        raise NoSuchRow("sweep", [Problem((), sentence, "index")]) from None


def sort_rows(rows: list[Row], name: str, *, descending: bool) -> list[Row]:
    """Sort rows by a column; rows without a value are last."""
    values = [(_value_to_sort(row, name), row) for row in rows]
    present = [pair for pair in values if pair[0] is not None]
    missing = [row for value, row in values if value is None]
    try:
        # The sort is stable, also in reverse.
        ordered = sorted(present, key=operator.itemgetter(0), reverse=descending)
    except TypeError:
        raise usage_error(f"The values of `{name}` have no order, so nothing can be sorted by them.", "sort") from None
    return [*(row for _, row in ordered), *missing]


def is_field(base: Input, name: str) -> bool:
    """Whether a name is a field or a path in one, which is sent, rather than a label."""
    # Not by `parse_field_path`, because a model with extra fields accepts any name.
    return name in get_fields(type(base)) or "[" in name or "." in name


def call_on_row(what: str, function: Callable[[Row], Any], row: Row, *, otherwise: Any) -> Any:
    """Call a user's function on a row; `otherwise` is returned if it fails on an impossible row."""
    try:
        return function(row)
    except AttributeError:
        raise
    except Exception as error:
        if row.input is None:
            return otherwise
        values = ", ".join(f"{name}={format_literal(value, 30)}" for name, value in row.values.items())
        raise usage_error(
            f"`{what}` failed at run {row.number} ({values}): {type(error).__name__}: {error}", what
        ) from error


def _value_to_sort(row: Row, name: str) -> Any:
    if name in ("credits", "take", "number", "problem") and name not in row.columns:
        return getattr(row, name)
    try:
        return row[name]
    except KeyError:
        raise usage_error(
            unknown_field((name,), None, [*row.columns, "credits", "take"]).message, "sort", name
        ) from None


def drop_duplicates(values: Iterable[Any]) -> tuple[Any, ...]:
    """The distinct values in order, including unhashable ones.

    >>> drop_duplicates([(1,), (True,), (1,), [1], [1], 1, True])
    ((1,), (True,), [1], 1, True)
    """
    found: dict[Any, Any] = {}
    for value in values:
        # `1 == True` in Python, also in nested values, which `repr` distinguishes.
        inside = repr(value) if isinstance(value, tuple) else ""
        try:
            found.setdefault((type(value), value, inside), value)
        except TypeError:
            found.setdefault(repr(value), value)
    return tuple(found.values())


def check_price(price: Any) -> int | None:
    """Validate the price of a run returned by a user's function."""
    if price is None:
        return None
    try:
        checked = -1 if isinstance(price, bool) else operator.index(price)
    except TypeError:
        checked = -1
    if checked < 0:
        raise usage_error(
            f"A price is a whole number of credits, or None where nobody knows it, not {format_literal(price)}.",
            "price",
        )
    return checked


def sum_credits(rows: Iterable[Row]) -> int | None:
    """The total price of rows; None if any price is unknown."""
    prices = [row.credits for row in rows]
    known = [price for price in prices if price is not None]
    return sum(known) if len(known) == len(prices) else None
