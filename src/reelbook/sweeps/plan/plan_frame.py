"""The DataFrame of a plan: one row per run, with stable columns and types."""

from __future__ import annotations

from collections.abc import Sequence, Set
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...models.base import Input
from ...storage.table import build_column
from .field_paths import Schema, get_fields, get_schema, parse_field_path
from .plan_rows import Known
from .values import coerce_value

if TYPE_CHECKING:
    from .plan import Plan

PLAN_COLUMNS = ("take", "credits", "credits_due", "problem")
"""Columns of a plan's table besides the inputs, in order."""
RUN_COLUMNS = (
    "status", "credits", "credits_source", "marks", "credits_estimated", "queued_s", "running_s", "error_type", "error", "request_id", "model", "take",
    "service",
)  # fmt: skip
"""Columns of a table of results besides inputs and outputs; these names are reserved in a plan's table, too."""
RESERVED_NAMES = frozenset(PLAN_COLUMNS) | frozenset(RUN_COLUMNS)


def make_plan_frame(plan: Plan, known: Known | None = None) -> pd.DataFrame:
    """One row per run: inputs under their names, labels, take, credits, credits due, and problem.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> from reelbook.sweeps.plan.sweep_call import sweep
    >>> frame = make_plan_frame(sweep(ImagesToVideo(images=["a.png"]), fps=[12, 24]))
    >>> list(frame.columns)
    ['images', 'fps', 'take', 'credits', 'credits_due', 'problem']
    """
    prices = [row.credits for row in plan]
    own = {
        "take": make_column([row.take for row in plan], {"type": "integer"}),
        "credits": make_column(prices, {"type": "integer"}),
        "credits_due": make_column(_due(plan, known, prices), {"type": "integer"}),
        "problem": make_column([row.problem for row in plan], {"type": "string"}),
    }
    return pd.DataFrame({**make_input_columns(plan), **own}, index=pd.RangeIndex(len(plan), name="run"))


def make_input_columns(plan: Plan) -> dict[str, Any]:
    """The columns of the inputs and labels."""
    model = type(plan.base)
    possible = [row.input for row in plan if row.input is not None]
    requests = possible if len(possible) == len(plan) else None
    columns_by_title = {}
    for name, title in get_columns(model, plan.columns).items():
        rule = None if name in plan.labels else get_schema(model, parse_field_path(model, name))
        columns_by_title[title] = make_column(_values(plan, requests, name), rule)
    return columns_by_title


def get_columns(model: type[Input], columns: Sequence[str] = ()) -> dict[str, str]:
    """The column title of each field of a model and each further column of a plan: its name, prefixed if reserved.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> get_columns(ImagesToVideo, ["images[0].frames", "take"])
    {'images': 'images', 'fps': 'fps', 'images[0].frames': 'images[0].frames', 'take': 'label_take'}
    """
    fields = get_fields(model)
    names = tuple(dict.fromkeys((*fields, *columns)))
    columns_by_title: dict[str, str] = {}
    for name in names:
        column, prefix = name, "input_" if name in fields else "label_"
        while column in RESERVED_NAMES or (column != name and column in names):
            column = prefix + column
        columns_by_title[name] = column
    return columns_by_title


def make_column(values: Sequence[Any], rule: Schema | None) -> Any:
    """One column with the dtype of the model's schema for it, or without a schema, of the type that all values have.

    Values of another type, which only impossible runs have, are missing; their problem names them.

    >>> make_column([49, None], {"type": "integer"}).dtype, make_column(["480p"], {"enum": ["480p", "720p"]}).categories.tolist()
    (Int64Dtype(), ['480p', '720p'])
    """
    # By the set of types only, which is much faster than checking each value.
    types = set(map(type, values)) - {type(None)}
    rule = _common_rule(types) if rule is None else rule
    kind = rule.get("type")
    if "enum" in rule and types <= {str, int, float}:
        choices = dict.fromkeys(value for value in (*rule["enum"], *values) if value is not None)
        return pd.Categorical(values, categories=list(choices))
    if kind == "string" and all(issubclass(one, str) for one in types):
        # A source picture is a subclass of text, its path or URL.
        return build_column(values, kind).array
    if kind == "number":
        return pd.array([float(value) if type(value) in (int, float) else np.nan for value in values], dtype="float64")
    if kind in ("integer", "boolean"):
        fit = int if kind == "integer" else bool
        known = values if types <= {fit} else [value if type(value) is fit else None for value in values]
        column = build_column(known, kind)
        # Integers beyond 64 bits stay integers, as objects.
        return column.array if column.dtype != "string" else pd.Series(known, dtype=object).array
    # Each object once, because a value that does not vary is the same object in every row.
    groupable = {key: _groupable(value) for key, value in {id(value): value for value in values}.items()}
    return pd.Series([groupable[id(value)] for value in values], dtype=object).array


def _values(plan: Plan, requests: Sequence[Input] | None, name: str) -> list[Any]:
    """The values of all rows under a name; `requests` is given if every row has an input."""
    field = type(plan.base).model_fields.get(name)
    if requests is not None and field is not None and field.alias is None:
        # Equivalent to the line below for attributes, and several times as fast.
        return list(map(attrgetter(name), requests))
    return [row[name] for row in plan]


def _due(plan: Plan, known: Known | None, prices: Sequence[int | None]) -> list[int | None]:
    """The credits due for each row: 0 if its result is in the library, or if it duplicates an earlier row."""
    due = {row.number for row in plan.distinct if known is None or not known(row)}
    return [price if row.number in due or row.input is None else 0 for row, price in zip(plan, prices, strict=True)]


def _common_rule(types: Set[type]) -> Schema:
    """The schema type that all these types match; empty if they are mixed."""
    kinds: dict[str, Set[type]] = {"boolean": {bool}, "integer": {int}, "number": {int, float}, "string": {str}}
    return next(({"type": kind} for kind, fits in kinds.items() if types and types <= fits), {})


def _groupable(value: Any) -> Any:
    """A plain value that can be written to files: objects as dicts, and lists as tuples, which `groupby` can hash."""
    value = coerce_value(value)
    return tuple(map(_groupable, value)) if isinstance(value, list) else value
