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
from .ledger.known_services import has_sweeps
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
_UNTOUCHED = "Nothing was copied or removed."

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
    """Its number in the library."""
    created: float | None = None
    """Its creation time, which confirms its number."""
    is_number_alone: bool = False
    """Whether only the number is given, and known to be the library's."""
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

    `removes`: files will be removed, so numbers alone are never accepted.
    """
    if callable(which) and not _is_keyed(which):
        return _select_by_predicate(which, frame())
    wanted = list(_iterate_wanted(which, read_ledger, removes=removes))
    found = read_ledger(partial(_find_runs, wanted=wanted)) if wanted else []
    _check_found(wanted, found)
    _check_unambiguous(wanted, found)
    each = [next(iter(runs), (None, ""))[0] for runs in found]
    return Selection(
        list(dict.fromkeys(run for runs in found for run, _ in runs)),
        [one.label for one, runs in zip(wanted, found, strict=True) if not runs],
        each,
    )


def usage_error(sentence: str) -> InvalidInput:
    """The error for an invalid selection of runs."""
    return InvalidInput("library", [Problem(("runs",), f"{sentence} {_UNTOUCHED}", "unknown")])


def find_table(which: Which) -> pd.DataFrame | None:
    """The table of a frame, `table.reel`, a job or a library, or a table of one row or dict; None for anything else."""
    if isinstance(which, pd.DataFrame):
        return which
    if isinstance(which, pd.Series):
        # A row has column names as labels; a column of request ids is treated as a list.
        return _as_table(which) if set(_READ) & set(which.index) else None
    if isinstance(which, Mapping):
        return pd.DataFrame([dict(which)])
    if isinstance(which, tuple) and hasattr(which, "_asdict"):
        return pd.DataFrame([which._asdict()])
    for name in ("frame", "table"):
        value = getattr(which, name, None) if not isinstance(which, (str, bytes, type)) else None
        if isinstance(value, pd.DataFrame):
            return value
    return None


def _as_table(row: pd.Series[Any]) -> pd.DataFrame:
    table = pd.DataFrame([row.to_dict()], index=[row.name])
    table.attrs = dict(row.attrs)
    return table


def _select_by_predicate(predicate: Callable[[Any], Any], frame: pd.DataFrame) -> Selection:
    results = [(run, predicate(row)) for run, row in frame.iterrows()]
    # A comparison with a missing value is neither true nor false.
    runs: list[int] = [int(str(run)) for run, result in results if result is not pd.NA and bool(result)]
    return Selection(runs, [], list(runs))


def _is_keyed(value: Any) -> bool:
    return hasattr(type(value), "__reel_key__")


def _iterate_wanted(which: Which, read_ledger: ReadLedger, *, removes: bool) -> Iterator[WantedRun]:
    if _is_keyed(which):
        service, request_id, name, take = which.__reel_key__()
        yield WantedRun(f"run {request_id or name}", request_id or None, service, name, take)
    elif (table := find_table(which)) is not None:
        yield from _from_table(table, read_ledger, removes=removes)
    elif isinstance(which, str):
        yield WantedRun(f"request {which[:80]!r}", which)
    elif isinstance(which, pd.Index):
        yield from _from_index(which, read_ledger, removes=removes)
    elif _is_mask(which):
        raise usage_error("A column of yes and no does not say of which table it is. Pass the rows: table[mask].")
    elif _is_number(which):
        yield from _from_numbers([which], read_ledger, removes=removes)
    elif isinstance(which, Iterable) and not isinstance(which, (bytes, pd.DataFrame)):
        listed = list(which)
        # Checked together, so that one message names them all.
        yield from _from_numbers(filter(_is_number, listed), read_ledger, removes=removes)
        for item in listed:
            if not _is_number(item):
                yield from _iterate_wanted(item, read_ledger, removes=removes)
    else:
        raise usage_error(
            f"{which!r:.100} names no run. Pass {_ROWS}; or a run, a job, request ids, or a function of a row."
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_mask(value: Any) -> bool:
    kind = getattr(value, "dtype", None)
    return kind is not None and pd.api.types.is_bool_dtype(kind)


def _from_table(table: pd.DataFrame, read_ledger: ReadLedger, *, removes: bool) -> Iterator[WantedRun]:
    table = table.loc[:, ~table.columns.duplicated()]
    if not set(KEYED) & set(table.columns):
        if table.index.name == INDEX_NAME:
            yield from _from_index(table.index, read_ledger, removes=removes)
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
    status = _parse_text(row["status"])
    has_files = any(_parse_text(row[column]) is not None for column in ("output_video", "output_images"))
    return WantedRun(
        f"row {label!r}" if request_id is None else f"row {label!r} (request {request_id[:80]})",
        request_id, _parse_text(row["service"]) or service, name, _parse_number(row["take"]) if name else None,
        _parse_number(label), _parse_seconds(row["created"]),
        is_unsent=request_id is None and status not in (None, RunStatus.COMPLETED) and not has_files,
    )  # fmt: skip


def _from_index(index: pd.Index[Any], read_ledger: ReadLedger, *, removes: bool) -> Iterator[WantedRun]:
    if not len(index):
        return
    if pd.api.types.is_string_dtype(index.dtype) and not isinstance(index, pd.MultiIndex):
        yield from (WantedRun(f"request {text[:80]!r}", text) for text in index.astype(str))
    elif index.name == INDEX_NAME and not removes:
        yield from (WantedRun(f"run {run}", number=int(run), is_number_alone=True) for run in index)
    else:
        numbers = [label for label in index.tolist() if isinstance(label, Integral)]
        yield from _from_numbers(numbers, read_ledger, removes=removes, is_foreign=True)


def _from_numbers(
    numbers: Iterable[Any], read_ledger: ReadLedger, *, removes: bool, is_foreign: bool = False
) -> Iterator[WantedRun]:  # fmt: skip
    """Runs named by numbers alone: accepted only if the library has no sweeps, and never for removals."""
    listed = list(numbers)
    if not listed:
        return
    if removes or is_foreign or read_ledger(has_sweeps):
        why = (
            "and what is not meant would be deleted"
            if removes
            else "and the rows of a sweep's table are counted from 0, the runs of a library from 1"
        )
        named = ", ".join(map(str, listed[:_MAX_NAMED])) + (", …" if len(listed) > _MAX_NAMED else "")
        raise usage_error(f"Numbers alone ({named}) do not say of which table they are, {why}. Pass {_ROWS}.")
    yield from (WantedRun(f"run {run}", number=int(run), is_number_alone=True) for run in listed)


def _find_runs(db: sqlite3.Connection, *, wanted: Sequence[WantedRun]) -> list[list[tuple[int, str]]]:
    """The number and service of the runs that match each wanted one."""
    by_request = _get_rows_by(db, "request_id", [one.request_id for one in wanted if one.request_id is not None])
    by_name = _get_rows_by(db, "identity", [one.identity for one in wanted if one.identity is not None])
    by_number = _get_rows_by(
        db, "id", [one.number for one in wanted if one.request_id is None and one.identity is None]
    )
    found = []
    for one in wanted:
        if one.request_id is not None:
            rows = by_request.get(to_storable(one.request_id), [])
        elif one.identity is not None:
            rows = [row for row in by_name.get(one.identity, []) if one.take in (None, row[2])]
        else:
            rows = [row for row in by_number.get(one.number, []) if _agrees(one, row[3])]
        service = to_storable(one.service)
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


def _agrees(one: WantedRun, created: float) -> bool:
    """Whether a number is this library's: known to be, or confirmed by the creation time."""
    return one.is_number_alone or (one.created is not None and abs(one.created - created) < 1e-4)


def _check_found(wanted: Sequence[WantedRun], found: Sequence[Sequence[Any]]) -> None:
    lost = [one for one, runs in zip(wanted, found, strict=True) if not runs and not one.is_unsent]
    if not lost:
        return
    named = _join_limited([one.label for one in lost])
    if all(one.request_id is None and one.identity is None and one.number is None for one in lost):
        raise usage_error(f"Nothing in these rows names a run: {named}. Keep request_id and service among the columns.")
    without = [one for one in lost if one.request_id is None and not one.is_number_alone]
    if without:
        raise usage_error(
            f"{_join_limited([one.label for one in without])} has no request id, and is not found in this library by its input "
            "either. Leave it out, or keep input_json, model and take among the columns."
        )
    raise usage_error(
        f"This library has no run for {named}. The runs of another folder are in rb.library(folder); "
        "library.frame and library.find(prompt=…) list those that are here."
    )


def _check_unambiguous(wanted: Sequence[WantedRun], found: Sequence[Sequence[tuple[int, str]]]) -> None:
    for one, runs in zip(wanted, found, strict=True):
        services = list(dict.fromkeys(service for _, service in runs))
        is_one_of_several = one.identity is not None and one.request_id is None and len(runs) > 1
        if len(services) > 1 or is_one_of_several:
            what = f"at several services: {_join_limited(services)}" if len(services) > 1 else "in several takes"
            raise usage_error(
                f"{one.label[:1].upper()}{one.label[1:]} is in this library {what}. Say which by a row of library.frame, "
                "which has the columns service, take and request_id."
            )


def _join_limited(words: Sequence[str]) -> str:
    more = f" and {len(words) - _MAX_NAMED:,} more" if len(words) > _MAX_NAMED else ""
    return ", ".join(words[:_MAX_NAMED]) + more


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
    if isinstance(value, bool) or not isinstance(value, (Integral, float)) or value is pd.NA or value != value:
        return None
    return int(value) if int(value) == value and 0 <= int(value) < 2**63 else None


def _parse_seconds(value: Any) -> float | None:
    try:
        return None if pd.isna(moment := pd.Timestamp(value)) else float(moment.timestamp())
    except (ValueError, TypeError, OverflowError):
        return None
