"""Runs of a plan picked out, put in order and asked: what the methods of a plan have in common."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...errors import Problem
from ...models.base import Input
from ...models.problems import format_literal, unknown_field
from ..sweep_errors import NoSuchRun, usage_error
from .field_paths import get_fields
from .plan_rows import Row


def select_rows(rows: Sequence[Row], places: list[Any]) -> list[Row]:
    """The runs that a list of numbers or a mask names."""
    if places and all(isinstance(place, bool) for place in places):
        if len(places) != len(rows):
            raise usage_error(f"The mask has {len(places):,} values and the plan {len(rows):,} runs.", "mask")
        return [row for row, is_in in zip(rows, places, strict=True) if is_in]
    return [get_row(rows, place) for place in places]


def get_row(rows: Sequence[Row], place: Any) -> Row:
    """One run by its number."""
    try:
        return rows[operator.index(place)]
    except TypeError:
        raise usage_error("A plan takes a number, a slice, a list of numbers or a mask in brackets.", "index") from None
    except IndexError:
        sentence = f"The plan has {len(rows):,} runs, numbered from 0; there is no run {place}."
        raise NoSuchRun("sweep", [Problem((), sentence, "index")]) from None


def sort_rows(rows: list[Row], name: str, *, descending: bool) -> list[Row]:
    """The runs sorted by what they have there; those that have nothing last."""
    values = [(_value_to_sort(row, name), row) for row in rows]
    some = [pair for pair in values if pair[0] is not None]
    none = [row for value, row in values if value is None]
    try:
        # Python's sort keeps the order of equals, also from the other end.
        ordered = sorted(some, key=operator.itemgetter(0), reverse=descending)
    except TypeError:
        raise usage_error(f"The values of `{name}` have no order, so nothing can be sorted by them.", "sort") from None
    return [*(row for _, row in ordered), *none]


def is_field(base: Input, name: str) -> bool:
    """Whether a name means something that is sent, and not only a column."""
    # Not by place_of alone: an open model would take any name for a field.
    return name in get_fields(type(base)) or "[" in name or "." in name


def call_on_row(what: str, function: Callable[[Row], Any], row: Row, *, otherwise: Any) -> Any:
    """What a caller's function says of a row; of an impossible row it may have nothing to say."""
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
    """The values in their order, each once; also those that cannot be keys of a dict.

    >>> drop_duplicates([(1,), (True,), (1,), [1], [1], 1, True])
    ((1,), (True,), [1], 1, True)
    """
    found: dict[Any, Any] = {}
    for value in values:
        # Python takes 1 and true for the same, also deep in a value; how they are written tells them apart.
        inside = repr(value) if isinstance(value, tuple) else ""
        try:
            found.setdefault((type(value), value, inside), value)
        except TypeError:
            found.setdefault(repr(value), value)
    return tuple(found.values())


def check_price(price: Any) -> int | None:
    """What a caller says that a run costs."""
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
    """What these runs cost together; None where the price of one is unknown."""
    prices = [row.credits for row in rows]
    known = [price for price in prices if price is not None]
    return sum(known) if len(known) == len(prices) else None
