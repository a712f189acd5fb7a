"""Tables of runs: of a plan, of its results, what varies and the main results first; and measured metrics as columns."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeGuard

import pandas as pd

from ..media.measuring.metrics import Metric
from ..models.base import File, Input
from ..models.catalog import find_endpoint
from ..storage.ledger.transitions import Entry, State
from ..storage.run_identity import INPUT_JSON
from ..storage.run_status import SWEEP_STATUSES
from ..storage.table import READ_COLUMNS, assemble_table, build_column, make_run_columns
from ..storage.tidy import get_paths
from ..util.background_loop import background
from .plan_rows import Known
from .progress import CALL_SECONDS, Standing, find_rows, load_standings, name_rows
from .values import Schema, coerce_value, get_fields, get_schema, parse_field_path

if TYPE_CHECKING:
    from ..runs.submit import ClientContext
    from .plan import Plan

PLAN_COLUMNS = ("take", "credits", "credits_due", "problem")
"""Columns of a plan's table besides the inputs, in order."""
RUN_COLUMNS = (
    "status", "credits", "credits_source", "marks", "credits_estimated", "queued_s", "running_s", "error_type", "error", "request_id", "model", "take",
    "service",
)  # fmt: skip
"""Columns of a table of results besides inputs and outputs; these names are reserved in a plan's table, too."""
METRIC_FACTS = ("meaning", "definition", "unit", "range", "better")
"""The columns of the table of metrics."""
MEASURED = "measured"
RESERVED_NAMES = frozenset(PLAN_COLUMNS) | frozenset(RUN_COLUMNS)
FIRST = ("status", "credits", "output_video", "output_images", "output_seed", "seed", "prompt")
"""Columns that follow those that vary, because pandas displays only the first and last ten columns of a table."""
SOURCES = ("charged", "estimated")
KINDS = {
    "credits": "integer",
    "credits_estimated": "integer",
    "credits_due": "integer",
    "take": "integer",
    "queued_s": "number",
    "running_s": "number",
}
"""Columns of a table that are not texts."""
TYPES: Mapping[str, frozenset[type]] = {
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
}
"""The Python types of the values of each JSON type."""
_TEXT = {"type": "string"}


def make_plan_frame(plan: Plan, known: Known | None = None) -> pd.DataFrame:
    """One row per run: inputs under their names, labels, take, credits, credits due, and problem.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> from reelbook.sweeps.plan import sweep
    >>> frame = make_plan_frame(sweep(ImagesToVideo(images=["a.png"]), fps=[12, 24]))
    >>> list(frame.columns)
    ['images', 'fps', 'take', 'credits', 'credits_due', 'problem']
    """
    due = {row.number for row in plan.find_due(known)}
    prices = [row.credits for row in plan]
    columns: dict[str, Any] = {
        **make_input_columns(plan),
        "take": [row.take for row in plan],
        "credits": prices,
        # Nothing for a row whose result is in the library, or that asks for the same as an earlier one.
        "credits_due": [
            price if row.number in due or row.input is None else 0 for row, price in zip(plan, prices, strict=True)
        ],
        "problem": [row.problem for row in plan],
    }
    return pd.DataFrame(_type_lists(columns), index=pd.RangeIndex(len(plan), name="run"))


def _type_lists(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a table, of which those that are lists are given the type of their name."""
    return {
        name: build_column(values, KINDS.get(name, "string")).array if isinstance(values, list) else values
        for name, values in columns.items()
    }


def make_input_columns(plan: Plan) -> dict[str, Any]:
    """The columns of the inputs and labels."""
    model = type(plan.base)
    possible = [row.input for row in plan if row.input is not None]
    requests = possible if len(possible) == len(plan) else None
    columns_by_title = {}
    for name, title in get_columns(model, plan.columns).items():
        rule = {} if name in plan.labels else get_schema(model, parse_field_path(model, name))
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


def make_column(values: Sequence[Any], rule: Schema) -> Any:
    """One column with the dtype of the model's schema for it, or without a schema, of the type that all values have.

    Values of another type, which only impossible runs have, are missing; their problem names them.

    >>> make_column([49, None], {"type": "integer"}).dtype, make_column(["480p"], {"enum": ["480p", "720p"]}).categories.tolist()
    (Int64Dtype(), ['480p', '720p'])
    """
    # By the set of types only, which is much faster than checking each value.
    types, kind = set(map(type, values)) - {type(None)}, rule.get("type", "")
    if "enum" in rule and types <= {str, int, float}:
        choices = dict.fromkeys(value for value in (*rule["enum"], *values) if value is not None)
        return pd.Categorical(values, categories=list(choices))
    if fits := TYPES.get(kind) or next((fits for fits in TYPES.values() if not kind and types and types <= fits), None):
        known = values if types <= fits else [value if type(value) in fits else None for value in values]
        column = build_column(known, kind)
        # Integers beyond 64 bits stay integers, as objects.
        return column.array if column.dtype != "string" else pd.Series(known, dtype=object).array
    # A source picture is a subclass of text, its path or URL.
    if (types or kind) and all(issubclass(each, str) for each in types):
        return build_column(values, kind).array
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


def _groupable(value: Any) -> Any:
    """A plain value that can be written to files: objects as dicts, and lists as tuples, which `groupby` can hash."""
    value = coerce_value(value)
    return tuple(map(_groupable, value)) if isinstance(value, list) else value


def make_result_table(
    plan: Plan, runs: Iterable[Standing], context: ClientContext, service: str, *, take: int = 0
) -> pd.DataFrame:
    """A table with one row per row of the plan, indexed by number, from how its runs stand."""
    by_number = {number: standing for standing in runs for number in standing.numbers}
    standings = [by_number[row.number] for row in plan]
    keys = [None if standing.name is None else standing.name.key for standing in standings]
    stored = find_rows(context.ledger, service, filter(None, keys))
    ledger_rows = [None if key is None else stored.get(key) for key in keys]
    frame = build_frame(plan, standings, ledger_rows, get_paths(context.shelf), take=take, service=service)
    frame.attrs["reelbook"] = {
        "model": plan.base.endpoint_id, "service": service, "axes": list(plan.columns), "labels": sorted(plan.labels),
        "library": str(context.ledger.folder),
    }  # fmt: skip
    return frame


def make_stored_table(plan: Plan, context: ClientContext) -> pd.DataFrame:
    """The table of a plan with the results that the library has; nothing is sent."""
    service, names = background.wait(name_rows(plan, context), CALL_SECONDS)
    return make_result_table(plan, load_standings(plan, names, context, service), context, service)


def build_frame(
    plan: Plan, standings: Sequence[Standing], rows: Sequence[Entry | None], paths: Mapping[str, str],
    *, take: int = 0, service: str | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Build the table from the state and ledger row of each row; `paths` maps hashes to files."""
    read = attrgetter(*READ_COLUMNS)
    stored = make_run_columns([None if row is None else read(row) for row in rows], paths)
    outputs = _output_columns(plan.base.endpoint_id, stored, len(rows))
    inputs = {
        f"input_{name}" if name in outputs else name: _storable(values)
        for name, values in make_input_columns(plan).items()
    }
    # Nothing is known of the cost of a run that was never sent.
    costs = [row.credits if _was_requested(row) else None for row in rows]
    sources = [row and row.credits_source if cost is not None else None for row, cost in zip(rows, costs, strict=True)]
    run = {
        "status": pd.Categorical([str(standing.status) for standing in standings], categories=list(SWEEP_STATUSES)),
        "credits": costs,
        "credits_source": pd.Categorical(sources, categories=list(SOURCES)),
        "marks": stored["marks"],
        "credits_estimated": [row.price if _was_requested(row) else None for row in rows],
        "queued_s": stored["queued_s"],
        "running_s": stored["running_s"],
        "error_type": [standing.error_type for standing in standings],
        "error": [standing.error for standing in standings],
        "request_id": stored["request_id"],
        "model": pd.Categorical([plan.base.endpoint_id] * len(plan), categories=[plan.base.endpoint_id]),
        "take": [row.take + take for row in plan],
        "service": [service] * len(plan),
        INPUT_JSON: [standing.name and standing.name.input for standing in standings],
    }
    columns_by_name = get_columns(type(plan.base), plan.columns)
    varies = [f"input_{name}" if name in outputs else name for name in map(columns_by_name.__getitem__, plan.columns)]
    index = pd.RangeIndex(len(plan), name="run")
    return assemble_table({**inputs, **outputs, **_type_lists(run)}, [*varies, *FIRST], index)


def _was_requested(row: Entry | None) -> TypeGuard[Entry]:
    """Whether a run was sent to the service, even if its outcome is uncertain."""
    return row is not None and (row.state != State.PLANNED or bool(row.counted))


def _output_columns(endpoint_id: str, stored: Mapping[str, Any], count: int) -> dict[str, Any]:
    """The output columns; those that the model always returns are included even while empty."""
    found = {name: column for name, column in stored.items() if name.startswith("output_") and column.notna().any()}
    expected = {
        name: build_column([None] * count, rule.get("type", ""))
        for name, rule in _expected_columns(endpoint_id).items()
    }
    return {name: column.array for name, column in {**expected, **found}.items()}


def _storable(values: Any) -> Any:
    """A column of the plan in a type that files can store: integers beyond 64 bits become text."""
    is_beyond_64_bits = str(values.dtype) == "object" and set(map(type, values)) - {type(None)} == {int}
    return build_column(list(values)).array if is_beyond_64_bits else values


@cache
def _expected_columns(endpoint_id: str) -> Mapping[str, Schema]:
    """The output columns of a model of the catalog, with their schemas."""
    row = find_endpoint(endpoint_id)
    if row is None:
        return {}
    columns: dict[str, Schema] = {}
    rules = row.output.model_json_schema(mode="serialization").get("properties", {})
    for name, field in row.output.model_fields.items():
        inner = typing.get_args(field.annotation) or (field.annotation,)
        if _is_file(field.annotation):
            columns |= {"output_video": _TEXT, f"output_{name}_url": _TEXT}
        elif any(map(_is_file, inner)):
            columns |= {"output_images": {}, f"output_{name}_url": {}}
        else:
            columns[f"output_{name}"] = rules.get(name, {})
    return columns


def _is_file(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, File)


class Metrics(pd.DataFrame):
    """A DataFrame with one row per metric, displayed without truncation. Operations on it return a plain DataFrame."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame


def metrics_table(metrics: Mapping[str, Metric]) -> Metrics:
    """A table with the meaning, definition, unit, range and better direction of each metric."""
    columns = {name: [getattr(metric, name) for metric in metrics.values()] for name in METRIC_FACTS}
    return Metrics(columns, index=pd.Index(metrics, name="metric"))


def add_metric_columns(table: pd.DataFrame, figures: Mapping[str, Any]) -> pd.DataFrame:
    """The table with a column for each of these metrics; an input, or a text where numbers are measured, keeps its name.

    >>> table = pd.DataFrame({"width": ["narrow", "wide"]})
    >>> list(add_metric_columns(add_metric_columns(table, {"width": [64, 128]}), {"width": [64, 128]}).columns)
    ['width', 'measured_width']
    """
    inputs: set[str] = set()
    if INPUT_JSON in table.columns and figures.keys() & set(table.columns):
        inputs = {name for text in table[INPUT_JSON].dropna().unique() for name in json.loads(text)}

    def is_metric(name: str) -> bool:
        kinds = [pd.api.types.is_numeric_dtype(values) for values in (table[name], pd.Series(figures[name]))]
        return name not in inputs and kinds[0] == kinds[1]

    names = {name: name if name not in table.columns or is_metric(name) else f"{MEASURED}_{name}" for name in figures}
    return table.assign(**{names[name]: values for name, values in figures.items()})
