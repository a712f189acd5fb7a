"""How the runs of a plan stand before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...errors import InvalidInput
from ..plan.plan_rows import Row
from .ledger_lookup import Key, Name, Seen
from .progress import COMPLETED, FAILED, IMPOSSIBLE, UNCERTAIN, Standing, kind, told


def standings(
    rows: Iterable[Row],
    names: Mapping[int, Name | InvalidInput],
    seen: Mapping[Key, Seen],
    here: Mapping[str, str],
) -> list[tuple[Standing, list[int]]]:
    """Each run once, as the library has it, with the numbers of the rows that ask for it."""
    runs: dict[object, tuple[Standing, list[int]]] = {}
    for row in rows:
        name = names.get(row.number)
        key = name.key if isinstance(name, Name) else row.number
        if key not in runs:
            runs[key] = _standing(row, name), []
            if isinstance(name, Name):
                runs[key][0].as_seen(seen.get(name.key), here)
        runs[key][1].append(row.number)
    return list(runs.values())


def is_due(one: Standing) -> bool:
    """Whether there is something to do about a run: an uncertain one is a person's to settle."""
    return one.name is not None and one.status not in (UNCERTAIN, COMPLETED)


def _standing(row: Row, name: Name | InvalidInput | None) -> Standing:
    if name is None:
        return Standing(row, None, status=IMPOSSIBLE, error_type="impossible", error=row.problem)
    if isinstance(name, InvalidInput):
        return Standing(row, None, status=FAILED, error_type=kind(name), error=told(name))
    return Standing(row, name)
