"""The initial state of a plan's runs, from the library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...errors import InvalidInput
from ...storage.run_status import RunStatus
from ..plan.plan_rows import Row
from .ledger_lookup import LedgerRow, RunKey, RunName
from .progress import Standing, format_error, get_error_type


def make_standings(
    rows: Iterable[Row],
    names: Mapping[int, RunName | InvalidInput],
    stored: Mapping[RunKey, LedgerRow],
    files: Mapping[str, str],
) -> list[tuple[Standing, list[int]]]:
    """The distinct runs of the rows with their state in the library, each with the numbers of its rows."""
    runs: dict[object, tuple[Standing, list[int]]] = {}
    for row in rows:
        name = names.get(row.number)
        key = name.key if isinstance(name, RunName) else row.number
        if key not in runs:
            runs[key] = _standing(row, name), []
            if isinstance(name, RunName):
                runs[key][0].update_from(stored.get(name.key), files)
        runs[key][1].append(row.number)
    return list(runs.values())


def is_due(standing: Standing) -> bool:
    """Whether a run is to be sent or followed; an uncertain run must be resolved by the user."""
    return standing.name is not None and standing.status not in (RunStatus.UNCERTAIN, RunStatus.COMPLETED)


def _standing(row: Row, name: RunName | InvalidInput | None) -> Standing:
    if name is None:
        return Standing(row, None, status=RunStatus.IMPOSSIBLE, error_type="impossible", error=row.problem)
    if isinstance(name, InvalidInput):
        return Standing(row, None, status=RunStatus.FAILED, error_type=get_error_type(name), error=format_error(name))
    return Standing(row, name)
