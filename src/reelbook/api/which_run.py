"""Which rows, runs, files and inputs an argument names: a run, a row of a table, a request id, a path, a column with one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from ..current import session
from ..display.table_runs import read_runs
from ..errors import InvalidInput, ReelbookError
from ..media.local_file import LocalFile
from ..models.base import File, Input
from ..runs.run import Run
from ..storage.ledger import writer
from ..storage.library import Library
from ..storage.select_runs import find_table
from ..sweeps.table_files import find_column, find_paths

ONE = "takes one. Choose a row, as in table.loc[[7]] or table.iloc[0]"
MANY = "table.reel.sheet() draws all of them on one sheet, table.reel plays them side by side"


def find_library_of(table: pd.DataFrame) -> Library:
    """The library with the runs of a table: its source, one that contains its files, or the current one."""
    source = table.attrs.get("reelbook")
    folders = [source.get("library")] if isinstance(source, dict) else []
    folders += [str(Path(paths[0]).parent.parent) for paths in _find_paths(table) if paths]
    for folder in dict.fromkeys(folders):
        if folder and (Path(folder) / writer.NAME).is_file():
            with suppress(InvalidInput):
                library = session.library(folder)
                library.entries(table)
                return library
    return session.library()


def find_rows_in(table: pd.DataFrame, which: Any) -> pd.DataFrame:
    """The rows of a table, given by labels of its index, a mask, or as rows."""
    rows = find_table(which)
    if rows is not None:
        return rows
    if pd.api.types.is_bool_dtype(getattr(which, "dtype", object)):
        return table.loc[list(which)]
    is_list = isinstance(which, (Sequence, pd.Index, range)) and not isinstance(which, tuple)
    labels = list(which) if is_list else [which]
    missing = [label for label in labels if label not in table.index]
    if missing or not labels:
        own = ", ".join(map(repr, table.index[:3])) + (f" … {table.index[-1]!r}" if len(table) > 3 else "")
        raise ReelbookError(
            f"This table has no row {', '.join(map(repr, missing[:4]))}: its rows are {own or 'none'}, the labels of its index."
        )
    return table[table.index.isin(labels)]


def get_row_file(rows: pd.DataFrame, number: int = 0) -> LocalFile:
    """A file of a row: its video, or a picture by number."""
    paths = list(dict.fromkeys(path for listed in find_paths(rows) for path in listed))
    if not -len(paths) <= number < len(paths):
        status = find_column(rows, "status")
        why = f" It is {status.iloc[0]}." if status is not None and len(status) else ""
        raise ReelbookError(f"Row {rows.index[0]!r} has {len(paths)} files, so there is none of number {number}.{why}")
    (run,) = read_runs(rows.iloc[:1])
    return LocalFile(Path(paths[number]), File(url=""), run.facts(run.text("service")))


def find_run_or_file(given: Any, what: str) -> Any:
    """The run, file or path that an argument names; any other value unchanged. `what` is the called function, for messages."""
    if isinstance(given, (Run, LocalFile, Path)):
        return given
    if isinstance(given, str):
        return _find_by_text(given)
    if (rows := find_table(given)) is not None:
        return _find_by_rows(rows, given, what)
    # A number does not say of which table it is, which the library tells.
    return session.library().runs(given) if pd.api.types.is_integer(given) else given


def find_file(given: Any, what: str) -> Any:
    """The file that an argument names; for a run, its video or first picture."""
    named = find_run_or_file(given, what)
    if not isinstance(named, Run):
        return named
    if named.status != "completed" or not named.media:
        raise ReelbookError(f"This run is {named.status} and has no file here, so there is nothing to read.")
    return named.media[0]


def find_input(given: Any, what: str) -> Any:
    """The input of a run or of a row of a table; any other value unchanged."""
    if not isinstance(given, Run) and (isinstance(given, (str, type, Input)) or find_table(given) is None):
        return given
    run = find_run_or_file(given, what)
    if not isinstance(run, Run) or not isinstance(run.input, Input):
        raise ReelbookError(
            f"Nothing is known here of what was asked for this run, so {what} has no input to begin with. "
            "Give one, such as rb.TextToVideo(prompt=…)."
        )
    return run.input


def _find_by_text(text: str) -> Any:
    """The path, or the run with this request id if the text is not a path."""
    path = Path(text).expanduser()
    if path.suffix or path.exists() or len(path.parts) != 1:
        return path
    try:
        return session.library().run(text)
    except InvalidInput:
        raise ReelbookError(
            f"{text[:80]!r} is neither a file nor the request id of a run in {session.library().folder}. Pass a path, a request id, a run, "
            "or a row of a table, as in table.loc[[7]]."
        ) from None


def _find_by_rows(rows: pd.DataFrame, given: Any, what: str) -> Any:
    if len(rows) != 1:
        count = f"{len(rows):,} rows" if len(rows) else "no row"
        raise ReelbookError(f"This table has {count}, and {what} {ONE}; {MANY}.")
    rows = rows.convert_dtypes() if isinstance(given, Mapping) else rows
    try:
        return find_library_of(rows).run(rows)
    except InvalidInput:
        # A table whose runs are in no known library still has the paths of its files.
        if any(_find_paths(rows)):
            return get_row_file(rows)
        raise


def _find_paths(table: pd.DataFrame) -> list[list[str]]:
    """The files of each row; none where the table says nothing about files."""
    try:
        return list(find_paths(table))
    except ReelbookError:
        return []
