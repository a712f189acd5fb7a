"""The results of a sweep as a tidy table: varied columns and main results first, then all other inputs and facts."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard

from ...models.base import File
from ...models.catalog import find_endpoint
from ...storage.ledger.transitions import State, get_credits_source
from ...storage.run_identity import INPUT_JSON
from ...storage.run_status import SWEEP_STATUSES, RunStatus
from ...storage.table import assemble_table, build_column, find_marks, read_outputs
from ...storage.tidy import get_paths
from ...util.background_loop import background
from ..execute.ledger_lookup import CALL_SECONDS, LedgerRow, RunKey, RunName, find_rows, find_rows_by_id, name_rows
from ..execute.progress import Standing, cut_data_uris, make_standing, make_standings
from ..plan.field_paths import Schema
from ..plan.plan_frame import get_columns, make_input_columns

if TYPE_CHECKING:
    import pandas as pd

    from ...runs.submission import ClientContext
    from ..plan.plan import Plan

FIRST = ("status", "credits", "output_video", "output_images", "output_seed", "seed", "prompt")
"""Columns that follow those that vary, because pandas displays only the first and last ten columns of a table."""
SOURCES = ("charged", "estimated")
_TEXT = {"type": "string"}


def make_result_table(
    plan: Plan, runs: Iterable[Standing], context: ClientContext, service: str, *, take: int = 0
) -> pd.DataFrame:
    """A table with one row per row of the plan, indexed by number, from how its runs stand."""
    by_number = {number: standing for standing in runs for number in standing.numbers}
    standings = [by_number.get(row.number) or make_standing(row) for row in plan]
    ledger_rows = _ledger_rows(standings, context, service)
    frame = build_frame(plan, standings, ledger_rows, get_paths(context.shelf), take=take, service=service)
    frame.attrs["reelbook"] = {
        "model": plan.base.endpoint_id, "service": service, "axes": list(plan.columns), "labels": sorted(plan.labels),
        "library": str(context.ledger.folder),
    }  # fmt: skip
    return frame


def make_stored_table(plan: Plan, context: ClientContext) -> pd.DataFrame:
    """The table of a plan with the results that the library has; nothing is sent."""
    service, names = background.wait(name_rows(plan, context), CALL_SECONDS)
    stored = find_rows(context.ledger, service, [name.key for name in names.values() if isinstance(name, RunName)])
    return make_result_table(plan, make_standings(plan, names, stored, get_paths(context.shelf)), context, service)


def build_frame(
    plan: Plan,
    standings: Sequence[Standing],
    rows: Sequence[LedgerRow | None],
    paths: Mapping[str, str],
    *,
    take: int = 0,
    service: str | None = None,
) -> pd.DataFrame:
    """Build the table from the state and ledger row of each row; `paths` maps hashes to files."""
    import pandas as pd

    outputs = _output_columns(plan.base.endpoint_id, rows, paths)
    inputs = {
        f"input_{name}" if name in outputs else name: _storable(values)
        for name, values in make_input_columns(plan).items()
    }
    costs = list(map(_credits, rows))
    run = {
        "status": pd.Categorical([str(standing.status) for standing in standings], categories=list(SWEEP_STATUSES)),
        "credits": build_column([cost for cost, _ in costs], "integer").array,
        "credits_source": pd.Categorical([source for _, source in costs], categories=list(SOURCES)),
        "marks": build_column([row and find_marks(row.media) for row in rows], "string").array,
        "credits_estimated": build_column(
            [row.price if _was_requested(row) else None for row in rows], "integer"
        ).array,
        "queued_s": build_column([row and row.queued_s for row in rows], "number").array,
        "running_s": build_column([row and row.running_s for row in rows], "number").array,
        "error_type": build_column([standing.error_type for standing in standings], "string").array,
        "error": build_column(list(map(_error, standings, rows)), "string").array,
        "request_id": build_column([row and row.request_id for row in rows], "string").array,
        "model": pd.Categorical([plan.base.endpoint_id] * len(plan), categories=[plan.base.endpoint_id]),
        "take": build_column([row.take + take for row in plan], "integer").array,
        "service": build_column([service] * len(plan), "string").array,
        INPUT_JSON: build_column([standing.name and standing.name.input for standing in standings], "string").array,
    }
    index = pd.RangeIndex(len(plan), name="run")
    columns = {**inputs, **outputs, **run}
    varies = [get_columns(type(plan.base), plan.columns)[name] for name in plan.columns]
    first = [*(f"input_{name}" if name in outputs else name for name in varies), *FIRST]
    return assemble_table(columns, first, index)


def _ledger_rows(standings: Sequence[Standing], context: ClientContext, service: str) -> list[LedgerRow | None]:
    """The ledger row of each run, looked up by id if its name changed with a picture file during the sweep."""
    rows: dict[RunKey, LedgerRow] = find_rows(
        context.ledger, service, [standing.name.key for standing in standings if standing.name is not None]
    )
    renamed = [row.id for row in standings if row.id is not None and row.name is not None and row.name.key not in rows]
    by_id = find_rows_by_id(context.ledger, renamed)
    return [
        None if standing.name is None else rows.get(standing.name.key) or by_id.get(standing.id or 0)
        for standing in standings
    ]


def _was_requested(row: LedgerRow | None) -> TypeGuard[LedgerRow]:
    """Whether a run was sent to the service, even if its outcome is uncertain."""
    return row is not None and (row.state != State.PLANNED or bool(row.counted))


def _credits(row: LedgerRow | None) -> tuple[int | None, str | None]:
    """The known cost of a run and its source; None for a run that was never sent."""
    cost = row.credits if _was_requested(row) else None
    return cost, None if row is None or cost is None else get_credits_source(row.charged)


def _error(standing: Standing, row: LedgerRow | None) -> str | None:
    """The error of a run: the service's message if it failed there, with data URIs truncated."""
    is_reported = row is not None and standing.status == RunStatus.FAILED and row.state == State.FAILED and row.error
    error = row.error if row is not None and is_reported else standing.error
    return error and cut_data_uris(error)


def _output_columns(endpoint_id: str, rows: Sequence[LedgerRow | None], paths: Mapping[str, str]) -> dict[str, Any]:
    """The output columns; those that the model always returns are included even while empty."""
    found = read_outputs([row and row.output for row in rows], [row and row.media for row in rows], paths)
    expected = _expected_columns(endpoint_id)
    names = [
        *expected,
        *(name for name, values in found.items() if name not in expected and any(value is not None for value in values)),
    ]  # fmt: skip
    # A service's output need not match its schema.
    kinds = {name: rule.get("type", "") for name, rule in expected.items()}
    return {name: build_column(found.get(name) or [None] * len(rows), kinds.get(name, "")).array for name in names}


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
