"""What users hand in: values as plain Python, tables as records, paths of values in an input, and errors for what cannot be planned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from os import PathLike
from typing import Any, NamedTuple

from pydantic import BaseModel

from ..errors import InvalidInput, Problem
from ..models.base import Input, Part
from ..models.images import NotAPicture, is_one_array, is_picture, parse_picture
from ..models.json_schema import rule_at
from ..models.problems import format_literal, unknown_field
from ..models.smart_resize import Size

MAX_ROW_WIDTH = 4
"""Two-dimensional arrays up to this width are rows of numbers, such as sizes; wider ones are greyscale pictures."""
MAX_RUNS = 1_000_000
"""The maximum number of runs of a plan: more is most likely a mistake, and would exhaust the memory."""

Schema = Mapping[str, Any]


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


# Values and tables.


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
    if isinstance(value, Mapping):
        return {key: coerce_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [coerce_value(item) for item in value]
    return value


def is_table(value: Any) -> bool:
    """Whether a value is a DataFrame, of pandas or convertible to one, or a list of dicts."""
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
    table = table if hasattr(table, "iloc") else table.to_pandas()
    names = list(table.columns)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise usage_error(f"The table has two columns `{twice}`; leave one of them out.")
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


# Fields of an input, and values inside them.


class FieldPath(NamedTuple):
    """The path of a value in an input."""

    name: str
    """The path as text."""
    steps: tuple[str | int, ...]
    """The field, and the keys and indexes inside it."""


class MissingPath(LookupError):
    """An input without a value to set at this path."""


def parse_field_path(model: type[Input], name: str) -> FieldPath:
    """Parse the path of a value in a model's input.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> parse_field_path(ImagesToVideo, "images[0].frames")
    FieldPath(name='images[0].frames', steps=('images', 0, 'frames'))
    """
    known = get_fields(model)
    alias = model.model_fields[name].alias if name in model.model_fields else None
    if name in known or alias in known:
        # A described field whose name is taken by a method goes by the name of its attribute, too.
        field = name if name in known else str(alias)
        return FieldPath(field, (field,))
    root = name
    if re.fullmatch(r"[^.\[\]]+(\.[^.\[\]]+|\[[0-9]{1,6}\])+", name):
        root, *inner = re.findall(r"[^.\[\]]+|\[[0-9]+\]", name)
        if root in known:
            return FieldPath(name, (root, *(int(step[1:-1]) if step.startswith("[") else step for step in inner)))
    if model.model_config.get("extra") == "allow":
        return FieldPath(name, (name,))
    raise InvalidInput(model.__name__, [unknown_field((root,), None, known)])


def get_fields(model: type[Input]) -> Mapping[str, Schema]:
    """The JSON schema of every field, by its name in the request."""
    fields: Mapping[str, Schema] = _schema(model).get("properties", {})
    return fields


def get_schema(model: type[Input], path: FieldPath) -> Schema:
    """The JSON schema of the values at a path, ignoring null; empty if there is none.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> get_schema(TextToVideo, parse_field_path(TextToVideo, "loras[0].scale"))["maximum"]
    4
    """
    return rule_at(_schema(model), path.steps)


def get_value(value: Any, steps: Sequence[str | int]) -> Any:
    """The item of a plain value at the end of a path; None if the path does not exist."""
    try:
        for step in steps:
            value = value[step]
        return value
    except (LookupError, TypeError):
        return None


def set_value(data: dict[str, Any], path: FieldPath, value: Any) -> None:
    """Set a value in plain data, in which all but the last step of the path must exist.

    >>> request = {"images": [{"url": "a.png", "frames": 24}]}
    >>> set_value(request, FieldPath("images[0].frames", ("images", 0, "frames")), 12)
    >>> request
    {'images': [{'url': 'a.png', 'frames': 12}]}
    """
    container: Any = data
    try:
        for step in path.steps[:-1]:
            container = container[step]
        container[path.steps[-1]] = value
    except (LookupError, TypeError):
        raise MissingPath(f"`{path.name}` is not there: `{path.steps[0]}` of this run has no such entry.") from None


@lru_cache(maxsize=256)
def _schema(model: type[Input]) -> Schema:
    return model.model_json_schema()
