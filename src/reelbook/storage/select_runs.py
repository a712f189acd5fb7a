"""Select runs of a library by rows of a table, `Run` objects, or request ids.

A row is found by its request id and service, never by its position in a table: the rows of a sweep's table are counted
from 0, and run 7 of a library is another run than row 7 of a sweep.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..errors import InvalidInput, Problem
from ..util.missing_values import is_missing
from .ledger.transitions import to_storable
from .run_identity import INPUT_JSON, make_identity
from .run_status import RunStatus
from .table import INDEX_NAME

Which = Any
"""A selection of runs: a table or a row of one, a run, a job, request ids, a list of any of these, or None for all."""

_READ = ("request_id", INPUT_JSON, "service", "model", "take", "status", "output_video", "output_images")
_MAX_NAMED = 4
_ROWS = "the rows themselves: table.loc[[7, 11]] of your table, or library.frame.loc[[7, 11]] of the library"

ReadLedger = Callable[[Callable[[sqlite3.Connection], Any]], Any]
"""Runs a query on the ledger."""


class _WantedRun(NamedTuple):
    """A run that the caller names."""

    label: str
    """Its name in messages."""
    columns: Mapping[str, Any]
    """The columns of the ledger that identify it, with their values."""
    is_unsent: bool = False
    """Whether its row states that it was never sent, so that the library need not have it."""


class Selection(NamedTuple):
    """The result of `select_runs`."""

    each: list[int | None]
    """The number in the library of the run of each row given; None for rows never sent."""
    unsent: list[str]
    """Labels of rows that were never sent and are not in the library."""

    @property
    def runs(self) -> list[int]:
        """The numbers without duplicates, in the order given."""
        return [run for run in dict.fromkeys(self.each) if run is not None]


def select_runs(which: Which, read_ledger: ReadLedger | None) -> Selection:
    """Find the selected runs; an error for those that are ambiguous or not in this library, which need not exist."""
    wanted = list(_iterate_wanted(which))
    found = read_ledger(lambda db: [_find_rows(db, run) for run in wanted]) if read_ledger else [[] for _ in wanted]
    _check(wanted, found)
    each = [rows[0][0] if rows else None for rows in found]
    return Selection(each, [run.label for run, number in zip(wanted, each, strict=True) if number is None])


def usage_error(sentence: str) -> InvalidInput:
    """The error for an invalid selection of runs."""
    return InvalidInput("library", [Problem(("runs",), f"{sentence} Nothing was copied or removed.", "unknown")])


def find_table(which: Which) -> pd.DataFrame | None:
    """The table of a frame, `table.reel`, a job or a library, or a table of one row or dict; None for anything else."""
    if isinstance(which, pd.DataFrame):
        return which
    if isinstance(which, pd.Series):
        # A row has column names as labels; a column of request ids is treated as a list.
        if not {*_READ, "created"} & set(which.index):
            return None
        table = pd.DataFrame([which.to_dict()], index=[which.name])
        table.attrs = dict(which.attrs)
        return table
    if isinstance(which, Mapping):
        return pd.DataFrame([dict(which)])
    if isinstance(which, tuple) and hasattr(which, "_asdict"):
        return pd.DataFrame([which._asdict()])
    for name in ("frame", "table"):
        value = getattr(which, name, None) if not isinstance(which, (str, bytes, type)) else None
        if isinstance(value, pd.DataFrame):
            return value
    return None


def _iterate_wanted(which: Which) -> Iterator[_WantedRun]:
    if hasattr(type(which), "__reel_key__"):
        service, request_id, identity, take = which.__reel_key__()
        columns = {"request_id": request_id} if request_id else {"identity": identity, "take": take}
        yield _WantedRun(f"run {request_id or identity}", {"service": service, **columns})
    elif (table := find_table(which)) is not None:
        yield from _iterate_table(table)
    elif isinstance(which, str):
        yield _WantedRun(f"request {which[:80]!r}", {"request_id": which})
    elif pd.api.types.is_bool_dtype(getattr(which, "dtype", object)):
        raise usage_error("A column of yes and no does not say of which table it is. Pass the rows: table[mask].")
    elif isinstance(which, Integral) or (isinstance(which, Iterable) and not isinstance(which, bytes)):
        listed = [which] if isinstance(which, Integral) else list(which)
        if numbers := [item for item in listed if isinstance(item, Integral)]:
            raise usage_error(f"Numbers alone ({_list_few(numbers)}) do not say of which table they are. Pass {_ROWS}.")
        for item in listed:
            yield from _iterate_wanted(item)
    else:
        raise usage_error(f"{which!r:.100} names no run. Pass {_ROWS}; or a run, a job, or request ids.")


def _iterate_table(table: pd.DataFrame) -> Iterator[_WantedRun]:
    table = table.loc[:, ~table.columns.duplicated()]
    is_numbered = table.index.name == INDEX_NAME
    if len(table) and not is_numbered and not {"request_id", INPUT_JSON} & set(table.columns):
        raise usage_error(
            "This table has no column request_id, so its rows name no runs of a library. Keep request_id and service "
            "among its columns, as in table[['seed', 'request_id', 'service']]."
        )
    attrs = table.attrs.get("reelbook")
    usual_service = attrs.get("service") if isinstance(attrs, dict) else None
    cells = [table[name].tolist() if name in table.columns else [None] * len(table) for name in _READ]
    for label, *values in zip(table.index.tolist(), *cells, strict=True):
        request_id, text, service, model, take, status, *files = map(_parse_cell, values)
        name, columns = f"row {label!r}", dict[str, Any]()
        if request_id is not None:
            name, columns = f"{name} (request {request_id[:80]})", {"request_id": request_id}
        elif model and text:
            columns = {"identity": make_identity(model, text), **({} if take is None else {"take": take})}
        elif is_numbered:
            columns = {"id": label}
        if service or usual_service:
            columns = {"service": service or usual_service, **columns}
        is_unsent = request_id is None and status not in (None, RunStatus.COMPLETED) and not any(files)
        yield _WantedRun(name, columns, is_unsent)


def _find_rows(db: sqlite3.Connection, run: _WantedRun) -> list[tuple[int, str]]:
    """The number and service of the runs that match."""
    if not run.columns.keys() - {"service"}:
        return []
    where = " AND ".join(f"{name} = ?" for name in run.columns)
    values = [to_storable(value) for value in run.columns.values()]
    return db.execute(f"SELECT id, service FROM runs WHERE {where} ORDER BY id", values).fetchall()


def _check(wanted: Sequence[_WantedRun], found: Sequence[Sequence[tuple[int, str]]]) -> None:
    """Raise for runs that are not in this library, or of which it is unknown which is meant."""
    missing = [run for run, rows in zip(wanted, found, strict=True) if not rows and not run.is_unsent]
    if nameless := [run.label for run in missing if not {"request_id", "id"} & run.columns.keys()]:
        raise usage_error(
            f"{_list_few(nameless)} has no request id, and is not found in this library by its input either. Keep request_id and "
            "service among the columns, or input_json, model and take."
        )
    if missing:
        raise usage_error(
            f"This library has no run for {_list_few([run.label for run in missing])}. The runs of another folder are in "
            "rb.library(folder); library.frame and library.find(prompt=…) list those that are here."
        )
    for run, rows in zip(wanted, found, strict=True):
        services = list(dict.fromkeys(service for _, service in rows))
        if len(services) > 1 or (len(rows) > 1 and "request_id" not in run.columns):
            what = f"at several services: {_list_few(services)}" if len(services) > 1 else "in several takes"
            raise usage_error(
                f"{run.label[:1].upper()}{run.label[1:]} is in this library {what}. Say which by a row of library.frame, "
                "which has the columns service, take and request_id."
            )


def _list_few(words: Sequence[Any]) -> str:
    more = f" and {len(words) - _MAX_NAMED:,} more" if len(words) > _MAX_NAMED else ""
    return ", ".join(map(str, words[:_MAX_NAMED])) + more


def _parse_cell(value: Any) -> str | None:
    """A cell as text, None if missing; an id of digits may have been read from a file as a number."""
    if isinstance(value, str):
        # Exported tables escape formulas with an apostrophe.
        return (value[1:] if re.match(r"'[=+\-@\t\r]", value) else value) or None
    if isinstance(value, (list, tuple, np.ndarray)):
        return "listed" if len(value) else None
    if is_missing(value):
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
