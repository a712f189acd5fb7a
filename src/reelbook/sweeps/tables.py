"""Tables of runs: of a plan, of its results, what varies and the main results first; measured metrics as columns; and costs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..errors import ReelbookError
from ..media.local_file import LocalFile
from ..models.base import File
from ..models.catalog import find_endpoint
from ..storage.ledger.transitions import Entry, State
from ..storage.run_identity import INPUT_JSON
from ..storage.run_status import STATUSES, RunStatus
from ..storage.table import LAST_COLUMNS, READ_COLUMNS, assemble_table, build_column, format_json, make_run_columns
from ..util.background_loop import background
from ..util.printable import suggest
from .progress import CALL_SECONDS, Known, Standing, find_rows, load_standings, name_rows
from .table_files import IMAGES, VIDEO
from .values import Schema, coerce_value, get_fields, get_schema, parse_field_path

if TYPE_CHECKING:
    from ..runs.submit import ClientContext
    from .plan import Plan

RUN_COLUMNS = (*(name for name in LAST_COLUMNS if name not in ("created", "finished")), "credits_estimated")
"""Columns of a table of results besides inputs and outputs."""
RESERVED_NAMES = frozenset({*RUN_COLUMNS, "credits_due", "problem", "run"})
"""Names that a table of a plan or of its results needs itself; `run` is that of the index."""
FIRST = ("status", "credits", VIDEO, IMAGES, "output_seed", "seed", "prompt")
"""Columns that follow those that vary, because pandas displays only the first and last ten columns of a table."""
TYPES: dict[str, set[type]] = {"integer": {int}, "number": {int, float}, "boolean": {bool}}
"""The Python types of the values of each JSON type."""


def make_plan_frame(plan: Plan, known: Known) -> pd.DataFrame:
    """One row per run: inputs under their names, labels, take, credits, credits due, and problem."""
    # Nothing is due for a row whose result is in the library, or that asks for the same as an earlier one.
    due = {row.number for row in plan.find_due(known)}
    facts: dict[str, list[int | None]] = {
        "take": [row.take for row in plan],
        "credits": [row.credits for row in plan],
        "credits_due": [row.credits if row.number in due or row.input is None else 0 for row in plan],
    }
    columns = make_input_columns(plan, get_titles(plan))
    columns |= {name: build_column(each, "integer").array for name, each in facts.items()}
    columns["problem"] = build_column([row.problem for row in plan], "string").array
    return pd.DataFrame(columns, index=pd.RangeIndex(len(plan), name="run"))


def make_input_columns(plan: Plan, titles: Mapping[str, str]) -> dict[str, Any]:
    """The columns of the inputs and labels, under their titles."""
    model, requests = type(plan.base), [row.input for row in plan]
    is_possible = all(request is not None for request in requests)
    columns: dict[str, Any] = {}
    for name, title in titles.items():
        rule = {} if name in plan.labels else get_schema(model, parse_field_path(model, name))
        field = model.model_fields.get(name)
        if field is not None and field.alias is None and is_possible:
            values = [getattr(request, name) for request in requests]  # As `row[name]`, and several times as fast.
        else:
            values = [row[name] for row in plan]
        columns[title] = make_column(values, rule)
    return columns


def get_titles(plan: Plan, taken: Collection[str] = ()) -> dict[str, str]:
    """The title of the column of each field and each further column of a plan: its name, with a prefix where that is taken."""
    fields = get_fields(type(plan.base))
    names = tuple(dict.fromkeys((*fields, *plan.columns)))
    titles: dict[str, str] = {}
    for name in names:
        title, prefix = name, "input_" if name in fields else "label_"
        while title in RESERVED_NAMES or title in taken or (title != name and title in names):
            title = prefix + title
        titles[name] = title
    return titles


def make_column(values: Sequence[Any], rule: Schema) -> Any:
    """One column with the dtype of the model's schema for it, or without a schema, of the type that all values have.

    Values of another type, which only impossible runs have, are missing; their problem names them.
    """
    # By the set of types only, which is much faster than checking each value.
    types, kind = set(map(type, values)) - {type(None)}, rule.get("type", "")
    choices = [value for value in rule.get("enum", ()) if value is not None]
    # Files hold categories of one type only.
    if choices and any(types | set(map(type, choices)) <= kinds for kinds in ({str}, {int, float})):
        return pd.Categorical(values, categories=list(dict.fromkeys(v for v in (*choices, *values) if v is not None)))
    if kind in TYPES and not types <= TYPES[kind]:
        values = [value if type(value) in TYPES[kind] else None for value in values]
    # A source picture is a subclass of text, its path or URL.
    elif not all(issubclass(each, (bool, int, float, str)) for each in types):
        # Each object once, because a value that does not vary is the same object in every row.
        groupable = {key: _groupable(value) for key, value in {id(value): value for value in values}.items()}
        values = [groupable[id(value)] for value in values]
    return build_column(values, kind).array


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
    stored = find_rows(context.ledger, service, {number: standing.name for number, standing in by_number.items()})
    entries = [stored.get(row.number) for row in plan]
    frame = build_frame(plan, standings, entries, context.shelf.paths(), take=take, service=service)
    frame.attrs["reelbook"]["library"] = str(context.ledger.folder)
    return frame


def make_stored_table(plan: Plan, context: ClientContext) -> pd.DataFrame:
    """The table of a plan with the results that the library has; nothing is sent."""
    service, names = background.wait(name_rows(plan, context), CALL_SECONDS)
    return make_result_table(plan, load_standings(plan, names, context, service), context, service)


def build_frame(
    plan: Plan, standings: Sequence[Standing], entries: Sequence[Entry | None], paths: Mapping[str, str],
    *, take: int = 0, service: str | None = None,
) -> pd.DataFrame:  # fmt: skip
    """The columns of the plan, joined to those of its runs in the library; `paths` maps hashes to files."""
    # Nothing is known of the cost of a run that was never sent.
    sent = [entry if entry and (entry.state != State.PLANNED or entry.counted) else None for entry in entries]
    read, model, size = attrgetter(*READ_COLUMNS), plan.base.endpoint_id, len(plan)
    runs = {
        **make_run_columns([None if entry is None else read(entry) for entry in sent], paths),
        "status": pd.Categorical([str(standing.status) for standing in standings], list(STATUSES)),
        "error_type": build_column([standing.error_type for standing in standings], "string"),
        "error": build_column([standing.error for standing in standings], "string"),
        "model": pd.Categorical([model] * size),
        "take": build_column([row.take + take for row in plan], "integer"),
        "service": build_column([service] * size, "string"),
        "credits_estimated": build_column([entry and entry.price for entry in sent], "integer"),
        INPUT_JSON: build_column([standing.name and standing.name.input for standing in standings], "string"),
    }
    # Of the files those that there are; while there are none, those that the model returns.
    empty = {name for name in (VIDEO, IMAGES) if runs[name].isna().all()}
    if endpoint := find_endpoint(model):
        empty -= {VIDEO if "video" in endpoint.output.model_fields else IMAGES}
    elif len(empty) == 2:
        empty = set()
    unused = {"created", "finished", *empty}
    runs = {name: getattr(runs[name], "array", runs[name]) for name in runs if name not in unused}
    titles = get_titles(plan, runs)
    varies = [titles[name] for name in plan.columns]
    columns = {**make_input_columns(plan, titles), **runs}
    frame = assemble_table(columns, [*varies, *FIRST], pd.RangeIndex(size, name="run"))
    frame.attrs["reelbook"] = {"model": model, "service": service, "axes": varies}
    return frame


def add_metric_columns(table: pd.DataFrame, figures: Mapping[str, Any]) -> pd.DataFrame:
    """The table with a column for each of these metrics, in place of earlier ones; inputs and facts of runs keep their names."""
    taken = set(RESERVED_NAMES)
    if INPUT_JSON in table.columns and figures.keys() & set(table.columns):
        taken |= {name for text in table[INPUT_JSON].dropna().unique() for name in json.loads(text)}
    return table.assign(**{f"measured_{name}" if name in taken else name: figures[name] for name in figures})


# Costs.


UNCHARGED = (RunStatus.IMPOSSIBLE, RunStatus.NOT_STARTED, RunStatus.WAITING, RunStatus.FAILED, RunStatus.CANCELLED)
"""Statuses of runs that cost nothing unless their row has an amount: never sent, or failed and not charged."""
COST_COLUMNS = (
    "runs", "completed", "credits", "estimated", "charged", "seconds", "credits_per_success", "credits_per_second",
)  # fmt: skip


class Costs(pd.DataFrame):
    """Credits grouped by columns: a DataFrame, displayed with a chart in a notebook. Operations on it return a plain DataFrame."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame


def compute_costs(table: pd.DataFrame, by: str | Sequence[str] | None = None) -> Costs:
    """Compute the costs of a table of runs, grouped by one or more columns, or in total.

    Sums skip unknown values, and are unknown if all values are. A ratio counts only the runs for which both numerator
    and denominator are known, so that a run without a price does not make the others seem cheap.
    """
    names = list(dict.fromkeys([by] if isinstance(by, str) else by or []))
    for name in ("status", "credits", *names):
        if name not in table.columns:
            raise ReelbookError(f"This table has no column {name!r}.{suggest(name, table.columns)}")
    table = table.reset_index(drop=True)
    status = table["status"].astype(object)
    is_completed, is_free = status.eq(RunStatus.COMPLETED), status.isin(UNCHARGED)
    unknown = pd.Series(pd.NA, index=table.index, dtype="Int64")
    counted, estimated = (
        table[name].astype("Int64").mask(lambda amounts: amounts.isna() & is_free, 0) if name in table else unknown
        for name in ("credits", "credits_estimated")
    )
    charged = counted.where(table["credits_source"].eq("charged"), 0) if "credits_source" in table else unknown
    seconds = pd.Series(pd.NA, index=table.index, dtype="Float64")
    if {"num_frames", "frame_rate"} <= {*table.columns}:
        frames, rates = (pd.to_numeric(table[name], errors="coerce") for name in ("num_frames", "frame_rate"))
        seconds = (frames / rates).where(rates.gt(0) & is_completed).astype("Float64")
    if VIDEO in table.columns:
        seconds = seconds.fillna(table[VIDEO].where(seconds.isna() & is_completed).map(_read_seconds).astype("Float64"))
    is_known = counted.notna() & (seconds.notna() | ~is_completed)
    facts = pd.DataFrame({
        "runs": 1, "completed": is_completed.astype("Int64"), "credits": counted, "estimated": estimated,
        "charged": charged, "seconds": seconds, "_successes": (is_completed & counted.notna()).astype("Int64"),
        "_credits": counted.where(is_known), "_seconds": seconds.where(is_known),
    })  # fmt: skip
    keys: list[Any] = [_make_key(table[name]) for name in names] or [pd.Series("all", index=table.index, name="")]
    # Numbers and categories are sorted; texts remain in the order of the sweep.
    has_texts = any(pd.api.types.is_object_dtype(key.dtype) or isinstance(key.dtype, pd.StringDtype) for key in keys)
    costs = facts.groupby(keys, observed=True, dropna=False, sort=not has_texts).sum(min_count=1)
    costs["credits_per_success"] = (costs["credits"] / costs["_successes"].replace(0, pd.NA)).round(3)
    costs["credits_per_second"] = (costs["_credits"] / costs["_seconds"].replace(0, pd.NA)).round(3)
    # Without completed videos the sum is 0; the order of floating-point summation does not change a rounded one.
    costs["seconds"] = costs["seconds"].fillna(0.0).round(6)
    return Costs(costs[list(COST_COLUMNS)])


@lru_cache(maxsize=20_000)
def _read_seconds(path: Any) -> float | None:
    """The duration of a clip whose row does not tell it; None if it cannot be read."""
    try:
        return LocalFile(Path(path), File(url="")).probe.seconds if isinstance(path, str) else None
    except ReelbookError:
        return None


def _make_key(values: pd.Series[Any]) -> pd.Series[Any]:
    """A column to group by: lists and dicts as JSON, because nothing can be grouped by those."""
    if values.dtype != object:
        return values
    return values.map(lambda value: format_json(value) if isinstance(value, (list, dict)) else value)
