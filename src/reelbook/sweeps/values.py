"""What users hand in: values as plain Python, tables as records, paths of values in an input, and errors for what cannot be planned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import islice
from os import PathLike
from typing import Any

from pydantic import BaseModel

from ..errors import InvalidInput, Problem
from ..models.base import Input, Part
from ..models.images import NotAPicture, is_one_picture, parse_picture
from ..models.problems import format_literal, rule_at, rules_at, schema_of, unknown_field
from ..models.smart_resize import Size

MAX_RUNS = 1_000_000
"""The maximum number of runs of a plan: more is most likely a mistake, and would exhaust the memory."""

Schema = Mapping[str, Any]
FieldPath = tuple[str | int, ...]
"""The field of a value in an input, and the keys and indexes inside it."""


def usage_error(sentence: str, of: str = "sweep") -> InvalidInput:
    """The error for a sweep, or a race or judging, that cannot begin."""
    return InvalidInput(of, [Problem((), sentence, "usage")])


def check_count(runs: int) -> None:
    """Raise for more runs than a plan holds."""
    if runs > MAX_RUNS:
        raise usage_error(
            f"That makes more than {MAX_RUNS:,} runs, the most that a plan holds. "
            "Use fewer values, zip axes that belong together, or draw from them with sampled(n, …)."
        )


# Values and tables.


def coerce_axis_values(name: str, given: Any) -> tuple[Any, ...]:
    """The values of an axis, from a list, an array, a generator, or a single value."""
    is_single = isinstance(given, (str, bytes, bytearray, Mapping, BaseModel, PathLike)) or _is_picture(given)
    if is_single or not isinstance(given, Iterable) or getattr(given, "ndim", None) == 0:
        return (coerce_value(given),)
    values = tuple(coerce_value(value) for value in islice(given, MAX_RUNS + 1))
    check_count(len(values))
    if not values:
        raise usage_error(f"`{name}` has no values, so there is nothing to run; leave it out or give some.")
    return values


def coerce_value(value: Any) -> Any:
    """Convert numpy scalars, objects and pictures to plain Python values; any other value is unchanged."""
    if type(value) in (str, int, float, bool):
        return value
    if isinstance(value, Part):
        # Not as JSON, in which a picture in memory is reduced to its hash. A null that is no default says something.
        changed = value.changed()
        items = value._values().items()
        return {name: coerce_value(item) for name, item in items if item is not None or name in changed}
    if isinstance(value, Size):
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


def read_records(table: Any) -> list[Mapping[Any, Any]]:
    """The rows of a DataFrame or list of dicts as mappings."""
    is_frame = hasattr(table, "columns") and hasattr(table, "iloc")
    if is_frame and not table.columns.is_unique:
        raise usage_error(
            "This table has two columns of one name, and nobody can know which is meant; rename one of them."
        )
    records = table.to_dict(orient="records") if is_frame else table
    if not isinstance(records, list) or not all(isinstance(row, Mapping) for row in records):
        raise usage_error(
            f"A sweep cannot use {format_literal(table)}. By position it takes a DataFrame of pandas (of another kind, "
            "frame.to_pandas()), a list of dicts, zipped(…), sampled(…), a template, or a dict of axes; a single axis goes "
            "by its name: seed=range(4)."
        )
    check_count(len(records))
    return records


def _is_picture(value: Any) -> bool:
    """Whether a value is a picture not yet encoded; it is encoded once here, rather than for each run."""
    return is_one_picture(value) and not isinstance(value, str)


# Fields of an input, and values inside them.


def parse_field_path(model: type[Input], name: str) -> FieldPath:
    """Parse the path of a value in a model's input.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> parse_field_path(ImagesToVideo, "images[0].frames")
    ('images', 0, 'frames')
    """
    known = get_fields(model)
    if name in known:
        return (name,)
    root = name
    if re.fullmatch(r"[^.\[\]]+(\.[^.\[\]]+|\[[0-9]{1,6}\])+", name):
        root, *inner = re.findall(r"[^.\[\]]+|\[[0-9]+\]", name)
        if root in known:
            return (root, *(int(step[1:-1]) if step.startswith("[") else step for step in inner))
    if model.model_config.get("extra") == "allow":
        return (name,)
    raise InvalidInput(model.__name__, [unknown_field((root,), None, known)])


def get_fields(model: type[Input]) -> Mapping[str, Schema]:
    """The JSON schema of every field, by its name in the request."""
    fields: Mapping[str, Schema] = schema_of(model).get("properties", {})
    return fields


def get_schema(model: type[Input], path: FieldPath) -> Schema:
    """The JSON schema of the values at a path, ignoring null; empty if there is none."""
    return rule_at(schema_of(model), path)


def takes_lists_only(model: type[Input], path: FieldPath) -> bool:
    """Whether the value at a path is a list, or null."""
    rules = [rule for rule in rules_at(schema_of(model), path) if rule.keys().isdisjoint(("anyOf", "$ref"))]
    return {rule.get("type") for rule in rules} - {"null"} == {"array"}
