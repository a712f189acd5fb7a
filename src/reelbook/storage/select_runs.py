"""Choose runs of a library: by their fields, or as rows of a table, `Run` objects or request ids.

A row is found by its request id and service, never by its position in a table: the rows of a sweep's table are counted
from 0, and run 7 of a library is another run than row 7 of a sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ..errors import InvalidInput, Problem
from ..util.missing_values import is_missing
from ..util.printable import suggest
from .ledger.transitions import Entry
from .run_status import STATUSES, RunStatus
from .table import INDEX_NAME

Which = Any
"""A selection of runs: a table or a row of one, a run, a job, request ids, a list of any of these, or None for all."""


# By their fields.


def filter_rows(frame: pd.DataFrame, fields: Mapping[str, Any]) -> pd.DataFrame:
    """The rows whose fields all match: text anywhere in the field, other values by equality, a list if any entry does.

    >>> runs = pd.DataFrame({"prompt": ["a paper boat", "a tram"], "seed": [7, 8]})
    >>> list(filter_rows(runs, {"prompt": "BOAT"}).index), list(filter_rows(runs, {"seed": range(8, 20)}).index)
    ([0], [1])
    """
    names = [str(name) for name in frame.columns]
    for name, value in fields.items():
        # An empty result would suggest that there are no such runs.
        if name not in names:
            raise _invalid(name, f"There is no column {name!r} in this library.{suggest(name, names)}")
        wanted = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
        if name == "status" and (unknown := [word for word in wanted if word not in STATUSES]):
            raise _invalid(name, f"{unknown[0]!r} is not a status. It is {', '.join(STATUSES)}.")
        masks = [_match(frame[name], each) for each in wanted]
        frame = frame[pd.concat(masks, axis=1).any(axis=1) if masks else [False] * len(frame)]
    return frame


def _match(cells: pd.Series[Any], wanted: Any) -> pd.Series[Any]:
    """Which cells have a value; a text may be a part of theirs."""
    if wanted is None or wanted is pd.NA:
        return cells.isna()
    if isinstance(wanted, str):
        return cells.notna() & cells.astype(str).str.casefold().str.contains(wanted.casefold(), regex=False)
    # A column of text may have numbers, such as seeds of forty digits.
    return pd.Series(cells == wanted).fillna(False).astype(bool) | (cells.astype(str) == str(wanted))


def _invalid(name: str, sentence: str) -> InvalidInput:
    return InvalidInput("library", [Problem((name,), sentence, "unknown")])


# By what names them.


def select_runs(which: Which, find_entries: Callable[..., Sequence[Entry]]) -> list[Entry | None]:
    """Find the runs of the rows given, in their order; an error for those that are not in this library.

    A row that no service has accepted is None.
    """
    chosen: list[Entry | None] = []
    missing: list[str] = []
    for label, columns in _iterate_wanted(which):
        entries = find_entries(" AND ".join(f"{name} = ?" for name in columns) or "0", *columns.values())
        if columns and not entries:
            missing.append(label)
        chosen.append(entries[0] if entries else None)
    if missing:
        raise usage_error(
            f"This library has no run for {_list_few(missing)}. The runs of another folder are in rb.library(folder); "
            "library.frame and library.find(prompt=…) list those that are here."
        )
    return chosen


def usage_error(sentence: str) -> InvalidInput:
    """The error for an invalid selection of runs."""
    return _invalid("runs", f"{sentence} Nothing was copied or removed.")


def find_table(which: Which) -> pd.DataFrame | None:
    """The table of a frame, `table.reel`, a job or a library, or a table of one row or dict; None for anything else."""
    if isinstance(which, pd.DataFrame):
        return which
    if isinstance(which, pd.Series):
        # A row has column names as labels; a column of request ids is treated as a list.
        if not {"status", "model", "request_id"} & set(which.index):
            return None
        table = pd.DataFrame([which.to_dict()], index=[which.name])
        table.attrs = dict(which.attrs)
        return table
    if isinstance(which, Mapping):
        return pd.DataFrame([dict(which)])
    for name in ("frame", "table"):
        value = getattr(which, name, None) if not isinstance(which, (str, bytes, type)) else None
        if isinstance(value, pd.DataFrame):
            return value
    return None


def _iterate_wanted(which: Which) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The label of each run for messages, and the columns that identify it; none for a row that was never sent."""
    if isinstance(entry := getattr(which, "entry", None), Entry):
        columns = {"service": entry.service, "request_id": entry.request_id} if entry.request_id else {"id": entry.id}
        yield f"run {entry.request_id or entry.id}", columns
    elif (table := find_table(which)) is not None:
        yield from _iterate_table(table)
    elif isinstance(which, str):
        yield f"request {which[:80]!r}", {"request_id": which}
    elif isinstance(which, Iterable) and not isinstance(which, bytes):
        for item in which:
            yield from _iterate_wanted(item)
    else:
        raise usage_error(
            f"{which!r:.100} names no run: a number or a mask alone does not say of which table it is. Pass the rows "
            "themselves, table.loc[[7, 11]] or library.frame.loc[[7, 11]], a run, a job, or request ids."
        )


def _iterate_table(table: pd.DataFrame) -> Iterator[tuple[str, Mapping[str, Any]]]:
    names = ("request_id", "service", "status")
    cells = [table[name].tolist() if name in table.columns else [None] * len(table) for name in names]
    for label, *values in zip(table.index.tolist(), *cells, strict=True):
        request_id, service, status = (None if is_missing(value) else str(value) for value in values)
        name, columns = f"row {label!r}", dict[str, Any]()
        if request_id is not None:
            name, columns = f"{name} (request {request_id[:80]})", {"request_id": request_id}
        elif table.index.name == INDEX_NAME:
            columns = {"id": label}
        elif status in (None, RunStatus.COMPLETED):
            raise usage_error(
                f"R{name[1:]} has no request_id, by which its run could be found: keep the columns request_id and service."
            )
        if columns and service:
            columns["service"] = service
        yield name, columns


def _list_few(words: Sequence[Any]) -> str:
    more = f" and {len(words) - 4:,} more" if len(words) > 4 else ""
    return ", ".join(map(str, words[:4])) + more
