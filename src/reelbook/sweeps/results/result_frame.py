"""The results of a sweep as a plain, tidy table: what varies and what came of it first, then all that was asked and is known."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

from ...models.catalog import CATALOG
from ...models.service_file import File
from ...storage.ledger import transitions
from ...storage.table.library_table import INPUT_JSON, Films, Spread, marks_in
from ...storage.table.output_columns import answers
from ...storage.table.typed_columns import Pile, column, ordered
from ...storage.verify import paths_of
from ..execute.ledger_lookup import Key, Seen, seen_by, seen_by_id
from ..execute.progress import FAILED, IMPOSSIBLE, STATUSES, Standing, Tally, shortened
from ..plan.field_paths import Schema
from ..plan.plan_frame import asked_by, column_of, columns_for
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


def table_of(plan: Plan, tally: Tally, context: ClientContext, service: str, *, take: int = 0) -> pd.DataFrame:
    """One row for each run of the plan, as it stands now; its number is the index."""
    standings = [tally.by_row.get(row.number) or _unknown(row) for row in plan]
    ledger_rows = _ledger_rows(standings, context, service)
    frame = framed(plan, standings, ledger_rows, paths_of(context.shelf), take=take, service=service)
    frame.attrs["reelbook"] = {
        "model": plan.base.endpoint_id, "service": service, "axes": list(plan.columns), "labels": sorted(plan.labels),
        "library": str(context.ledger.folder),
    }  # fmt: skip
    return frame


def framed(
    plan: Plan,
    standings: Sequence[Standing],
    seen: Sequence[Seen | None],
    paths: Mapping[str, str],
    *,
    take: int = 0,
    service: str | None = None,
) -> pd.DataFrame:
    """The table from what is known of each row: how it stands, and its row in the ledger. `paths` says where files are."""
    import pandas as pd

    from . import accessor  # noqa: F401  # Hangs `table.reel` into pandas, now that there is a table.

    outputs = _outputs(plan.base.endpoint_id, seen, paths)
    asked = {f"input_{name}" if name in outputs else name: _kept(values) for name, values in asked_by(plan).items()}
    costs = list(map(_credits, standings, seen))
    run = {
        "status": pd.Categorical([one.status for one in standings], categories=list(STATUSES)),
        "credits": column_of([cost for cost, _ in costs], _WHOLE),
        "credits_source": pd.Categorical([source for _, source in costs], categories=list(SOURCES)),
        "marks": column_of([one and marks_in(one.media) for one in seen], _TEXT),
        "credits_estimated": column_of([_price(one) for one in seen], _WHOLE),
        "queued_s": column_of([one and one.queued_s for one in seen], _REAL),
        "running_s": column_of([one and one.running_s for one in seen], _REAL),
        "error_type": column_of([one.error_type for one in standings], _TEXT),
        "error": column_of(list(map(_error, standings, seen)), _TEXT),
        "request_id": column_of([one and one.request_id for one in seen], _TEXT),
        "model": pd.Categorical([plan.base.endpoint_id] * len(plan), categories=[plan.base.endpoint_id]),
        "take": column_of([row.take + take for row in plan], _WHOLE),
        "service": column_of([service] * len(plan), _TEXT),
        INPUT_JSON: column_of([one.name and one.name.input for one in standings], _TEXT),
    }
    index = pd.RangeIndex(len(plan), name="run")
    columns = {**asked, **outputs, **run}
    varies = [columns_for(type(plan.base), plan.columns)[name] for name in plan.columns]
    names = ordered(columns, [*(f"input_{name}" if name in outputs else name for name in varies), *FIRST])
    return pd.DataFrame({name: columns[name] for name in names}, index=index, copy=False)


def _ledger_rows(standings: Sequence[Standing], context: ClientContext, service: str) -> list[Seen | None]:
    """What the ledger has of each run; by its number where a picture has changed since the sweep began, and so its name."""
    seen: dict[Key, Seen] = seen_by(
        context.ledger, service, [one.name.key for one in standings if one.name is not None]
    )
    strayed = [one.id for one in standings if one.id is not None and one.name is not None and one.name.key not in seen]
    by_id = seen_by_id(context.ledger, strayed)
    return [None if one.name is None else seen.get(one.name.key) or by_id.get(one.id or 0) for one in standings]


def _unknown(row: Row) -> Standing:
    """A row of a sweep that has not looked into the library yet."""
    return Standing(row, None) if row.input else Standing(row, None, status=IMPOSSIBLE, error_type="impossible", error=row.problem)  # fmt: skip


def _was_sent(seen: Seen | None) -> TypeGuard[Seen]:
    """Whether a run was asked of the service, be it that nobody knows what came of it."""
    return seen is not None and (seen.state != transitions.PLANNED or bool(seen.cost))


def _price(seen: Seen | None) -> int | None:
    """The price that was told before a run, for one try of it; nothing for one that was never sent."""
    return seen.price if _was_sent(seen) else None


def _credits(one: Standing, seen: Seen | None) -> tuple[int | None, str | None]:
    """What a run has cost as far as is known, and who says so; nothing for one that was never sent."""
    if not _was_sent(seen):
        return None, None
    if seen.unpriced:
        return None, None
    if seen.charged is not None:
        return seen.charged + seen.spent, "charged"
    if seen.state in (transitions.PLANNED, transitions.REJECTED):
        return seen.spent, "estimated"
    return (None, None) if seen.price is None else (seen.price + seen.spent, "estimated")


def _error(one: Standing, seen: Seen | None) -> str | None:
    """What went wrong, its reason first: of a run that failed at the service what that says; a picture as text is cut."""
    is_told = seen is not None and one.status == FAILED and seen.state == transitions.FAILED and seen.error
    error = seen.error if seen is not None and is_told else one.error
    return error and shortened(error)


def _outputs(endpoint_id: str, seen: Sequence[Seen | None], paths: Mapping[str, str]) -> dict[str, Any]:
    """The columns of what came back; those that the model always gives are there, also while they are empty."""
    told, films = Spread(), Films(paths)
    told.add([one and one.output for one in seen])
    films.add([one and one.media for one in seen])
    expected = _expected(endpoint_id)
    found = {**answers(told.piles), **films.piles}
    empty = Pile(after=len(seen))
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
        return pd.Series(column_of(values, rule), copy=False)
    return column(values)


def _kept(values: Any) -> Any:
    """A column of the plan, as a file can keep it: a whole number beyond all columns of such is exact as a text."""
    is_huge = str(values.dtype) == "object" and set(map(type, values)) - {type(None)} == {int}
    return column(list(values)).array if is_huge else values


def _expected(endpoint_id: str) -> dict[str, Schema]:
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
