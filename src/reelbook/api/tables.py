"""`rb.read` and `rb.strip`: stored tables, and the frames of a clip as a picture; and which run or file an argument names."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..current import session
from ..errors import InvalidInput, ReelbookError
from ..media.local_file import LocalFile
from ..models.base import File, Input, Output
from ..runs.run import Run, media_of
from ..storage.select_runs import find_table
from ..sweeps.table_files import find_paths
from .table_accessor import Reel

if TYPE_CHECKING:
    from datasets import Dataset
    from PIL.Image import Image


def read(path: str | Path | Dataset, *, folder: str | Path = "clips") -> pd.DataFrame:
    """Read a table of runs from a `.parquet` or `.csv` file, or from a dataset of Hugging Face's `datasets`, with its `.reel`.

    Files inside a dataset are written into the folder, each named by the hash of its content.

    Example::

        table = rb.sweep(boat, seed=[7, 8]).run(budget=106)
        table.to_parquet("boats.parquet")
        rb.read("boats.parquet").reel.cost()
    """
    if hasattr(path, "with_format"):
        from .hugging_face import from_dataset

        return from_dataset(path, Path(folder))
    from ..sweeps.table_files import read_table

    return read_table(path)


def strip(
    run_or_file: Run | LocalFile | str | Path | pd.DataFrame | pd.Series[Any], *, frames: int = 6, width: int = 1600
) -> Image:
    """Draw frames of a clip side by side, with times and a caption; for a run of pictures, all of them.

    Accepts a run, a file or its path, a row of any table of runs such as `table.loc[[7]]`, or a request id.

    Example::

        rb.strip(rb.run(boat)).save("strip.png")
    """
    from ..display.sheets import draw_strip

    return draw_strip(find_run_or_file(run_or_file, "rb.strip"), frames=frames, width=width)


# Arguments that name a run or a file: a table row, a request id, a path, a column with one file.

ONE = "takes one. Choose a row, as in table.loc[[7]] or table.iloc[0]"
MANY = "table.reel.sheet() draws all of them on one sheet, table.reel plays them side by side"


def find_run_or_file(given: Any, what: str) -> Any:
    """The run, file or path that an argument names; any other value unchanged. `what` is the called function, for messages."""
    if isinstance(given, (Run, LocalFile, Path)):
        return given
    if isinstance(given, str):
        return _find_by_text(given)
    if isinstance(given, File):
        raise ReelbookError(
            f"This is a file at the service, and {what} takes one that is here: run.video, or one of run.images."
        )
    if isinstance(given, Output):
        return find_run_or_file(list(media_of(given)), what)
    if (rows := find_table(given)) is not None:
        return _find_by_rows(rows, given, what)
    if isinstance(given, Integral) and not isinstance(given, bool):
        library = session.library()
        return library.run(*library.numbers(int(given)))
    if isinstance(given, (pd.Series, pd.Index, list, tuple)):
        return find_run_or_file(_single_value(list(given), what), what)
    return given


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
    if isinstance(given, Mapping):
        rows = rows.convert_dtypes()
    try:
        return Reel(rows).run(rows)
    except InvalidInput:
        # A table whose runs are in no known library still has the paths of its files.
        if any(path for found in _paths(rows) for path in found):
            return Reel(rows).file(rows)
        raise


def _paths(rows: pd.DataFrame) -> list[list[str]]:
    try:
        return list(find_paths(rows))
    except ReelbookError:
        return []


def _single_value(values: list[Any], what: str) -> Any:
    present = [value for value in values if not (pd.api.types.is_scalar(value) and pd.isna(value))]
    if len(present) != 1:
        count = f"These are {len(present):,} values" if present else "Nothing here has a file"
        raise ReelbookError(f"{count}, and {what} {ONE}; {MANY}.")
    return present[0]
