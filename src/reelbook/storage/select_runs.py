"""Select runs of a library by rows of a table, `Run` objects, request ids, or a function of a row.

A row is found by its request id and service, never by its position in a table: the rows of a sweep's table are counted
from 0, and run 7 of a library is another run than row 7 of a sweep.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
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
"""A selection of runs: a table or a row of one, a run, a job, request ids, a function of a row, a list of any of these,
or None for all."""

KEYED = ("request_id", INPUT_JSON, "created")
"""Columns that identify a row of a table; one of them is enough."""
_READ = (*KEYED, "service", "model", "take", "status", "output_video", "output_images")
_MAX_NAMED = 4
_ROWS = "the rows themselves: table.loc[[7, 11]] of your table, or library.frame.loc[[7, 11]] of the library"

ReadLedger = Callable[[Callable[[sqlite3.Connection], Any]], Any]
"""Runs a query on the ledger."""


class WantedRun(NamedTuple):
    """A run that the caller names, with the fields that identify it."""

    label: str
    """Its name in messages."""
    request_id: str | None = None
    service: str | None = None
    identity: str | None = None
    take: int | None = None
    number: int | None = None
    """Its number in the library, where the table is the library's, or its creation time confirms the number."""
    created: float | None = None
    is_unsent: bool = False
    """Whether its row states that it was never sent, so that the library need not have it."""


class Selection(NamedTuple):
    """The result of `select_runs`."""

    runs: list[int]
    """The numbers of the runs in the library, without duplicates, in the order given."""
    unsent: list[str]
    """Labels of rows that were never sent and are not in the library."""
    each: list[int | None]
    """The run of each row given; None for rows never sent."""


def select_runs(
    which: Which, read_ledger: ReadLedger, frame: Callable[[], pd.DataFrame], *, removes: bool = False
) -> Selection:
    """Find the selected runs; an error for those that are ambiguous or not in this library.

    `removes`: files will be removed, so not even the numbers of a library's table are accepted without its columns.
    """
    if callable(which) and not _is_keyed(which):
        answers = [(int(str(run)), which(row)) for run, row in frame().iterrows()]
        # A comparison with a missing value is neither true nor false.
        runs = [run for run, answer in answers if answer is not pd.NA and bool(answer)]
        return Selection(runs, [], list(runs))
    wanted = list(_iterate_wanted(which, removes=removes))
    found = read_ledger(partial(_find_runs, wanted=wanted)) if wanted else []
    _check(wanted, found)
    each = [runs[0][0] if runs else None for runs in found]
    unsent = [run.label for run, number in zip(wanted, each, strict=True) if number is None]
    return Selection([run for run in dict.fromkeys(each) if run is not None], unsent, each)


def usage_error(sentence: str) -> InvalidInput:
    """The error for an invalid selection of runs."""
    return InvalidInput("library", [Problem(("runs",), f"{sentence} Nothing was copied or removed.", "unknown")])


def find_table(which: Which) -> pd.DataFrame | None:
    """The table of a frame, `table.reel`, a job or a library, or a table of one row or dict; None for anything else."""
    if isinstance(which, pd.DataFrame):
        return which
    if isinstance(which, pd.Series):
        # A row has column names as labels; a column of request ids is treated as a list.
        if not set(_READ) & set(which.index):
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


def _is_keyed(value: Any) -> bool:
    return hasattr(type(value), "__reel_key__")


def _iterate_wanted(which: Which, *, removes: bool) -> Iterator[WantedRun]:
    if _is_keyed(which):
        service, request_id, name, take = which.__reel_key__()
        yield WantedRun(f"run {request_id or name}", request_id or None, service, name, take)
    elif (table := find_table(which)) is not None:
        yield from _from_table(table, removes=removes)
    elif isinstance(which, str):
        yield WantedRun(f"request {which[:80]!r}", which)
    elif isinstance(which, pd.Index) and which.name == INDEX_NAME and not removes:
        yield from (WantedRun(f"run {run}", number=int(run)) for run in which)
    elif pd.api.types.is_bool_dtype(getattr(which, "dtype", object)):
        raise usage_error("A column of yes and no does not say of which table it is. Pass the rows: table[mask].")
    elif isinstance(which, Iterable) and not isinstance(which, bytes):
        listed = list(which)
        if numbers := [item for item in listed if isinstance(item, Integral)]:
            raise usage_error(f"Numbers alone ({_list_few(numbers)}) do not say of which table they are. Pass {_ROWS}.")
        for item in listed:
            yield from _iterate_wanted(item, removes=removes)
    elif isinstance(which, Integral):
        yield from _iterate_wanted([which], removes=removes)
    else:
        raise usage_error(
            f"{which!r:.100} names no run. Pass {_ROWS}; or a run, a job, request ids, or a function of a row."
        )


def _from_table(table: pd.DataFrame, *, removes: bool) -> Iterator[WantedRun]:
    table = table.loc[:, ~table.columns.duplicated()]
    if not set(KEYED) & set(table.columns):
        if table.index.name == INDEX_NAME:
            yield from _iterate_wanted(table.index, removes=removes)
            return
        if len(table):
            raise usage_error(
                "This table has no column request_id, so its rows name no runs of a library. Keep request_id and service "
                "among its columns, as in table[['seed', 'request_id', 'service']]."
            )
    attrs = table.attrs.get("reelbook")
    service = attrs.get("service") if isinstance(attrs, dict) else None
    gaps = [None] * len(table)
    columns = [table[name].tolist() if name in table.columns else gaps for name in _READ]
    for label, *values in zip(table.index.tolist(), *columns, strict=True):
        yield _from_row(label, dict(zip(_READ, values, strict=True)), service)


def _from_row(label: Any, row: Mapping[str, Any], service: str | None) -> WantedRun:
    request_id, model, text = (_parse_text(row[name]) for name in ("request_id", "model", INPUT_JSON))
    name = make_identity(model, text) if request_id is None and model and text else None
    status, created = _parse_text(row["status"]), pd.to_datetime(row["created"], errors="coerce")
    has_files = any(_parse_text(row[column]) is not None for column in ("output_video", "output_images"))
    return WantedRun(
        f"row {label!r}" if request_id is None else f"row {label!r} (request {request_id[:80]})",
        request_id, _parse_text(row["service"]) or service, name, _parse_number(row["take"]) if name else None,
        None if pd.isna(created) else _parse_number(label), None if pd.isna(created) else created.timestamp(),
        is_unsent=request_id is None and status not in (None, RunStatus.COMPLETED) and not has_files,
    )  # fmt: skip


def _find_runs(db: sqlite3.Connection, *, wanted: Sequence[WantedRun]) -> list[list[tuple[int, str]]]:
    """The number and service of the runs that match each wanted one."""
    by_request = _get_rows_by(db, "request_id", [run.request_id for run in wanted])
    by_name = _get_rows_by(db, "identity", [run.identity for run in wanted])
    by_number = _get_rows_by(db, "id", [run.number for run in wanted])
    found = []
    for run in wanted:
        if run.request_id is not None:
            rows = by_request.get(to_storable(run.request_id), [])
        elif run.identity is not None:
            rows = [row for row in by_name.get(run.identity, []) if run.take in (None, row[2])]
        else:
            rows = by_number.get(run.number, [])
            rows = [row for row in rows if run.created is None or abs(run.created - row[3]) < 1e-4]
        service = to_storable(run.service)
        found.append([(row[0], row[1]) for row in rows if service is None or row[1] == service])
    return found


def _get_rows_by(
    db: sqlite3.Connection, column: str, values: Sequence[Any]
) -> dict[Any, list[tuple[int, str, int, float]]]:
    found: dict[Any, list[tuple[int, str, int, float]]] = {}
    query = f"SELECT {column}, id, service, take, created FROM runs WHERE {column} IN (SELECT value FROM json_each(?)) ORDER BY id"
    listed = list(dict.fromkeys(to_storable(value) for value in values if value is not None))
    for key, *row in db.execute(query, (json.dumps(listed),)):
        found.setdefault(key, []).append((row[0], row[1], row[2], row[3]))
    return found


def _check(wanted: Sequence[WantedRun], found: Sequence[Sequence[tuple[int, str]]]) -> None:
    """Raise for runs that are not in this library, or of which it is unknown which is meant."""
    missing = [run for run, runs in zip(wanted, found, strict=True) if not runs and not run.is_unsent]
    nameless = [run.label for run in missing if run.request_id is None and (run.number is None or run.created)]
    if nameless:
        raise usage_error(
            f"{_list_few(nameless)} has no request id, and is not found in this library by its input either. Keep request_id and "
            "service among the columns, or input_json, model and take."
        )
    if missing:
        raise usage_error(
            f"This library has no run for {_list_few([run.label for run in missing])}. The runs of another folder are in "
            "rb.library(folder); library.frame and library.find(prompt=…) list those that are here."
        )
    for run, runs in zip(wanted, found, strict=True):
        services = list(dict.fromkeys(service for _, service in runs))
        if len(services) > 1 or (run.request_id is None and len(runs) > 1):
            what = f"at several services: {_list_few(services)}" if len(services) > 1 else "in several takes"
            raise usage_error(
                f"{run.label[:1].upper()}{run.label[1:]} is in this library {what}. Say which by a row of library.frame, "
                "which has the columns service, take and request_id."
            )


def _list_few(words: Sequence[Any]) -> str:
    more = f" and {len(words) - _MAX_NAMED:,} more" if len(words) > _MAX_NAMED else ""
    return ", ".join(map(str, words[:_MAX_NAMED])) + more


def _parse_text(value: Any) -> str | None:
    """A cell as text, None if missing; an id of digits may have been read from a file as a number."""
    if isinstance(value, str):
        # Exported tables escape formulas with an apostrophe.
        return (value[1:] if re.match(r"'[=+\-@\t\r]", value) else value) or None
    if isinstance(value, (list, tuple, np.ndarray)):
        return "listed" if len(value) else None
    if is_missing(value):
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _parse_number(value: Any) -> int | None:
    """A take or a number of a run; None for anything that is none."""
    is_whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    return int(value) if is_whole and 0 <= value < 2**63 else None
