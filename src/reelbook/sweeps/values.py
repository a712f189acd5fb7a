"""What users hand in: values of an axis as plain Python, tables as records, and the errors for what cannot be planned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from itertools import islice
from os import PathLike
from typing import Any

from pydantic import BaseModel

from ..errors import InvalidInput, Problem
from ..models.base import Part
from ..models.images import is_picture, parse_picture
from ..models.picture_encoding import NotAPicture, is_one_array
from ..models.problems import format_literal
from ..models.smart_resize import Size

MAX_ROW_WIDTH = 4
"""Two-dimensional arrays up to this width are rows of numbers, such as sizes; wider ones are greyscale pictures."""
MAX_RUNS = 1_000_000
"""The maximum number of runs of a plan: more is most likely a mistake, and would exhaust the memory."""


def usage_error(sentence: str, of: str = "sweep") -> InvalidInput:
    """The error for a sweep, or a race or judging, that cannot begin.

    >>> str(usage_error("`seed` has no values."))
    'sweep: `seed` has no values.'
    """
    return InvalidInput(of, [Problem((), sentence, "usage")])


def too_many(runs: int | None = None) -> InvalidInput:
    """The error for a plan with more than `MAX_RUNS` runs."""
    count = f"{runs:,} runs" if runs is not None else f"more than {MAX_RUNS:,} values"
    return usage_error(
        f"That makes {count}; a plan holds {MAX_RUNS:,} at most. "
        "Use fewer values, zip axes that belong together, or draw from them with sampled(n, …)."
    )


def coerce_axis_values(name: str, given: Any) -> tuple[Any, ...]:
    """The values of an axis, from a list, an array, a generator, or a single value.

    >>> coerce_axis_values("seed", range(3)), coerce_axis_values("prompt", "a paper boat")
    ((0, 1, 2), ('a paper boat',))
    """
    if isinstance(given, Set):
        raise usage_error(f"`{name}` has a set, which has no order; give a list.")
    if is_table(given) and not isinstance(given, list):
        raise usage_error(
            f"`{name}` has a whole table; give one of its columns, or pass the table itself: sweep(base, table)."
        )
    if _is_single_value(given):
        return (coerce_value(given),)
    values = tuple(coerce_value(value) for value in islice(given, MAX_RUNS + 1))
    if len(values) > MAX_RUNS:
        raise too_many()
    if not values:
        raise usage_error(f"`{name}` has no values, so there is nothing to run; leave it out or give some.")
    return values


def coerce_value(value: Any) -> Any:
    """Convert numpy scalars, objects and pictures to plain Python values; any other value is unchanged.

    >>> import numpy
    >>> coerce_value(numpy.int64(7)), coerce_value((Size(300, 600), numpy.float32(0.5)))
    (7, ['300x600', 0.5])
    """
    if type(value) in (str, int, float, bool):
        return value
    if isinstance(value, Part):
        # Not as JSON, in which a picture in memory is reduced to its hash.
        return coerce_value(value.model_dump(exclude_none=True))
    if isinstance(value, Size):  # Before pictures, because it has `read`, like an open file.
        return str(value)
    if _is_picture(value):
        with suppress(NotAPicture):  # It is reported by each run that has it, like any other invalid value.
            return parse_picture(value)
        return value
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "as_py"):  # A value of an Arrow column.
        return value.as_py()
    if isinstance(value, Mapping):
        return {key: coerce_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [coerce_value(item) for item in value]
    return value


def is_table(value: Any) -> bool:
    """Whether a value is a pandas or Polars DataFrame, an Arrow table, or a list of dicts."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(row, Mapping) for row in value)
    return hasattr(value, "columns") and (hasattr(value, "iloc") or hasattr(value, "to_pandas"))


def read_records(table: Any) -> tuple[list[Any], list[Mapping[Any, Any]]]:
    """The column names of a table and its rows as mappings."""
    if isinstance(table, Iterator):
        table = list(islice(table, MAX_RUNS + 1))
    if not is_table(table) and table != []:
        raise usage_error(f"{format_literal(table)} is not a table; pass a DataFrame or a list of dicts.")
    if len(table) > MAX_RUNS:
        raise too_many(len(table))
    if isinstance(table, list):
        return list(dict.fromkeys(name for row in table for name in row)), table
    if not hasattr(table, "iloc"):
        table = table.to_pandas()  # Of Polars or Arrow; an empty cell is left out, whatever stands for it.
    names = list(table.columns)
    if len(set(names)) < len(names):
        # The caller reports the duplicates, of which a row as a mapping would contain only one.
        return names, [dict.fromkeys(names)]
    return names, list(table.to_dict(orient="records"))


def _is_single_value(given: Any) -> bool:
    """Whether this is a single value, such as a text, and not an iterable of values."""
    if isinstance(given, (str, bytes, bytearray, Mapping, BaseModel, PathLike)) or _is_picture(given):
        return True
    try:
        iter(given)
    except TypeError:
        return True
    return False


def _is_picture(value: Any) -> bool:
    """Whether a value is a picture not yet encoded; it is encoded once here, rather than for each run."""
    if hasattr(value, "__array__") and hasattr(value, "shape"):
        return is_one_array(value) and (len(value.shape) == 3 or value.shape[1] > MAX_ROW_WIDTH)
    return is_picture(value) and not isinstance(value, str)
