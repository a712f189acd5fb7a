"""The results of a sweep as a plain, tidy table: what varies and what came of it first, then all that was asked and is known."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

from ...models.catalog import CATALOG
from ...models.service_file import File
from ...storage.ledger.transitions import State
from ...storage.table.library_table import INPUT_JSON, FileColumns, ObjectColumns, find_marks
from ...storage.table.output_columns import build_output_columns
from ...storage.table.typed_columns import ColumnBuilder, build_column, order_columns
from ...storage.verify import get_paths
from ..execute.ledger_lookup import LedgerRow, RunKey, find_rows, find_rows_by_id
from ..execute.progress import STATUSES, Standing, SweepStatus, Tally, cut_data_uris
from ..plan.field_paths import Schema
from ..plan.plan_frame import get_columns, make_column, make_input_columns
from ..plan.plan_rows import Row

if TYPE_CHECKING:
    import pandas as pd

    from ...runs.submission import ClientContext
    from ..plan.plan import Plan

FIRST = ("status", "credits", "output_video", "output_images", "output_seed", "seed", "prompt")
"""After what varies, because a bare table shows no more than ten columns from its left and ten from its right."""
SOURCES = ("charged", "estimated")
_SCALARS: Mapping[str, set[type]] = {"integer": {int}, "number": {int, float}, "boolean": {bool}, "string": {str}}
_WHOLE, _REAL, _TEXT = {"type": "integer"}, {"type": "number"}, {"type": "string"}


def make_result_table(plan: Plan, tally: Tally, context: ClientContext, service: str, *, take: int = 0) -> pd.DataFrame:
    """One row for each run of the plan, as it stands now; its number is the index."""
    standings = [tally.by_row.get(row.number) or _standing_of_row(row) for row in plan]
    ledger_rows = _ledger_rows(standings, context, service)
    frame = build_frame(plan, standings, ledger_rows, get_paths(context.shelf), take=take, service=service)
    frame.attrs["reelbook"] = {
        "model": plan.base.endpoint_id, "service": service, "axes": list(plan.columns), "labels": sorted(plan.labels),
        "library": str(context.ledger.folder),
    }  # fmt: skip
    return frame


def build_frame(
    plan: Plan,
    standings: Sequence[Standing],
    rows: Sequence[LedgerRow | None],
    paths: Mapping[str, str],
    *,
    take: int = 0,
    service: str | None = None,
) -> pd.DataFrame:
    """The table from what is known of each row: how it stands, and its row in the ledger. `paths` says where files are."""
    import pandas as pd

    outputs = _output_columns(plan.base.endpoint_id, rows, paths)
    inputs = {
        f"input_{name}" if name in outputs else name: _storable(values)
        for name, values in make_input_columns(plan).items()
    }
    costs = list(map(_credits, standings, rows))
    run = {
        "status": pd.Categorical([str(one.status) for one in standings], categories=list(STATUSES)),
        "credits": make_column([cost for cost, _ in costs], _WHOLE),
        "credits_source": pd.Categorical([source for _, source in costs], categories=list(SOURCES)),
        "marks": make_column([one and find_marks(one.media) for one in rows], _TEXT),
        "credits_estimated": make_column([_price(one) for one in rows], _WHOLE),
        "queued_s": make_column([one and one.queued_s for one in rows], _REAL),
        "running_s": make_column([one and one.running_s for one in rows], _REAL),
        "error_type": make_column([one.error_type for one in standings], _TEXT),
        "error": make_column(list(map(_error, standings, rows)), _TEXT),
        "request_id": make_column([one and one.request_id for one in rows], _TEXT),
        "model": pd.Categorical([plan.base.endpoint_id] * len(plan), categories=[plan.base.endpoint_id]),
        "take": make_column([row.take + take for row in plan], _WHOLE),
        "service": make_column([service] * len(plan), _TEXT),
        INPUT_JSON: make_column([one.name and one.name.input for one in standings], _TEXT),
    }
    index = pd.RangeIndex(len(plan), name="run")
    columns = {**inputs, **outputs, **run}
    varies = [get_columns(type(plan.base), plan.columns)[name] for name in plan.columns]
    names = order_columns(columns, [*(f"input_{name}" if name in outputs else name for name in varies), *FIRST])
    return pd.DataFrame({name: columns[name] for name in names}, index=index, copy=False)


def _ledger_rows(standings: Sequence[Standing], context: ClientContext, service: str) -> list[LedgerRow | None]:
    """What the ledger has of each run; by its number where a picture has changed since the sweep began, and so its name."""
    rows: dict[RunKey, LedgerRow] = find_rows(
        context.ledger, service, [one.name.key for one in standings if one.name is not None]
    )
    renamed = [one.id for one in standings if one.id is not None and one.name is not None and one.name.key not in rows]
    by_id = find_rows_by_id(context.ledger, renamed)
    return [None if one.name is None else rows.get(one.name.key) or by_id.get(one.id or 0) for one in standings]


def _standing_of_row(row: Row) -> Standing:
    """A row of a sweep that has not looked into the library yet."""
    return Standing(row, None) if row.input else Standing(row, None, status=SweepStatus.IMPOSSIBLE, error_type="impossible", error=row.problem)  # fmt: skip


def _was_requested(row: LedgerRow | None) -> TypeGuard[LedgerRow]:
    """Whether a run was asked of the service, be it that nobody knows what came of it."""
    return row is not None and (row.state != State.PLANNED or bool(row.cost))


def _price(row: LedgerRow | None) -> int | None:
    """The price of one attempt, as estimated before it; None for a run that was never sent."""
    return row.price if _was_requested(row) else None


def _credits(one: Standing, row: LedgerRow | None) -> tuple[int | None, str | None]:
    """What a run has cost as far as is known, and who says so; nothing for one that was never sent."""
    if not _was_requested(row):
        return None, None
    if row.unpriced:
        return None, None
    if row.charged is not None:
        return row.charged + row.spent, "charged"
    if row.state in (State.PLANNED, State.REJECTED):
        return row.spent, "estimated"
    return (None, None) if row.price is None else (row.price + row.spent, "estimated")


def _error(one: Standing, row: LedgerRow | None) -> str | None:
    """What went wrong, its reason first: of a run that failed at the service what that says; a picture as text is cut."""
    is_reported = row is not None and one.status == SweepStatus.FAILED and row.state == State.FAILED and row.error
    error = row.error if row is not None and is_reported else one.error
    return error and cut_data_uris(error)


def _output_columns(endpoint_id: str, rows: Sequence[LedgerRow | None], paths: Mapping[str, str]) -> dict[str, Any]:
    """The columns of what came back; those that the model always gives are there, also while they are empty."""
    returned, media_columns = ObjectColumns(), FileColumns(paths)
    returned.add([one and one.output for one in rows])
    media_columns.add([one and one.media for one in rows])
    expected = _expected_columns(endpoint_id)
    found = {**build_output_columns(returned.piles), **media_columns.piles}
    empty = ColumnBuilder(after=len(rows))
    names = [
        *expected,
        *(name for name, pile in found.items() if name not in expected and any(value is not None for value in pile.values)),
    ]  # fmt: skip
    return {name: found.get(name, empty).series(partial(_column, rule=expected.get(name))).array for name in names}


def _column(values: Sequence[Any], rule: Schema | None) -> pd.Series[Any]:
    import pandas as pd

    if rule is None and set(map(type, values)) <= {str, type(None)}:
        rule = _TEXT
    kind = None if rule is None else rule.get("type")
    # What a service answers need not be what it has promised.
    fits = _SCALARS.get(str(kind))
    if fits is not None and set(map(type, values)) - {type(None)} <= fits:
        return pd.Series(make_column(values, rule), copy=False)
    return build_column(values)


def _storable(values: Any) -> Any:
    """A column of the plan, as a file can keep it: a whole number beyond all columns of such is exact as a text."""
    is_huge = str(values.dtype) == "object" and set(map(type, values)) - {type(None)} == {int}
    return build_column(list(values)).array if is_huge else values


def _expected_columns(endpoint_id: str) -> dict[str, Schema]:
    """The columns that a model of the catalog fills, with what their values are."""
    row = next((row for row in CATALOG if row.id == endpoint_id), None)
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
