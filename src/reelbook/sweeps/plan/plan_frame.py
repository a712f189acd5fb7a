"""The DataFrame of a plan: one row per run, with stable columns and types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ...models.base import Input
from .axis_values import coerce_value
from .field_paths import Schema, get_fields, get_schema, parse_field_path
from .plan_rows import Known

if TYPE_CHECKING:
    import pandas as pd

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
    import pandas as pd

    own = {
        "take": make_column([row.take for row in plan], {"type": "integer"}),
        "credits": make_column([row.credits for row in plan], {"type": "integer"}),
        "credits_due": make_column(_due(plan, known), {"type": "integer"}),
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

    >>> make_column([49, None], {"type": "integer"}).dtype, make_column(["480p"], {"enum": ["480p", "720p"]}).categories.tolist()
    (Int64Dtype(), ['480p', '720p'])
    """
    import pandas as pd

    # By the set of types only, which is much faster than checking each value.
    types = set(map(type, values)) - {type(None)}
    rule = _common_rule(types) if rule is None else rule
    kind = "choice" if "enum" in rule and types <= {str, int, float} else rule.get("type")
    if kind == "choice":
        choices = dict.fromkeys(choice for choice in rule["enum"] if choice is not None)
        return pd.Categorical(values, categories=[*choices, *_unlisted_values(values, choices)])
    if kind == "integer" and not (types == {int} and _is_large(values)):
        return pd.array(_only_of_type(int, values, types), dtype="Int64")
    if kind == "integer" and all(value is None or 0 <= value < 2**64 for value in values):
        # Like the column in the table of results.
        return pd.array(values, dtype="UInt64")
    if kind == "number":
        return pd.array([_as_float(value) for value in values], dtype="float64")
    if kind == "boolean":
        return pd.array(_only_of_type(bool, values, types), dtype="boolean")
    if kind == "string" and all(issubclass(one, str) for one in types):
        # A source picture is a subclass of text, its path or URL.
        texts = values if types <= {str} else [None if value is None else str(value) for value in values]
        try:
            return pd.array(list(texts), dtype="string")
        except UnicodeEncodeError:
            # Lone surrogates are valid in Python's strings but not in UTF-8.
            encodable = [None if text is None else str(text).encode("utf-8", "replace").decode() for text in texts]
            return pd.array(encodable, dtype="string")
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


def _due(plan: Plan, known: Known | None) -> list[int | None]:
    """The credits due for each row: 0 if its result is in the library, or if it duplicates an earlier row."""
    first = {row.number for row in plan.distinct}
    return [
        0 if row.input is not None and (row.number not in first or (known is not None and known(row))) else row.credits
        for row in plan
    ]


def _common_rule(types: Set[type]) -> Schema:
    """The schema type that all these types match; empty if they are mixed."""
    kinds: dict[str, Set[type]] = {"boolean": {bool}, "integer": {int}, "number": {int, float}, "string": {str}}
    return next(({"type": kind} for kind, fits in kinds.items() if types and types <= fits), {})


def _only_of_type(kind: type, values: Sequence[Any], types: Set[type]) -> list[Any]:
    """The values, with None for those of another type, which only impossible runs have; their problem names them."""
    return list(values) if types <= {kind} else [value if type(value) is kind else None for value in values]


def _unlisted_values(values: Sequence[Any], choices: Iterable[Any]) -> list[Any]:
    """The values outside the choices, which only impossible runs have."""
    return [value for value in dict.fromkeys(values) if value is not None and value not in choices]


def _is_large(values: Sequence[Any]) -> bool:
    """Whether an integer exceeds the range of int64."""
    given = [value for value in values if value is not None]
    return bool(min(given) < -(2**63) or max(given) >= 2**63)


def _as_float(value: Any) -> float:
    return float(value) if type(value) in (int, float) else float("nan")


def _groupable(value: Any) -> Any:
    """A plain value that can be written to files: objects as dicts, and lists as tuples, which `groupby` can hash."""
    value = coerce_value(value)
    return tuple(map(_groupable, value)) if isinstance(value, list) else value
