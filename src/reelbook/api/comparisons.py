"""`rb.compare`: runs, files or rows of a table side by side, frame by frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..display.compare.comparison import Comparison, list_items
from ..display.table_runs import TableRun, read_run, read_runs
from ..errors import ReelbookError
from ..media.local_file import LocalFile
from ..models.base import File
from ..runs.run import Run
from ..storage.select_runs import find_table
from .which_run import find_run_or_file

if TYPE_CHECKING:
    import pandas as pd

WHAT = "rb.compare"


def compare(
    *files: Run | LocalFile | str | Path | pd.DataFrame | pd.Series[Any] | Sequence[Any], by: str = "time"
) -> Comparison:
    """Compare clips or pictures to the pixel: wipe, onion skin, difference, flicker, side by side, on one clock.

    Accepts runs, files or their paths, request ids, and rows of any table of runs such as `table.loc[[0, 1]]`; a run
    with several pictures gives all of them. In a notebook it displays as a viewer; `.differences` is a DataFrame with the
    structural similarity and the mean absolute difference of each frame. `by` says how clips of different frame rates
    are aligned: by `"time"`, or by the number of the `"frame"`.

    Example::

        table = rb.sweep(boat, seed=[7, 8]).run(budget=106)
        rb.compare(table).differences.head()
    """
    return Comparison(list_items([run for given in files for run in _find_runs(given)]), by=by)


def _find_runs(given: Any) -> list[TableRun]:
    rows = find_table(given)
    if rows is not None:
        return read_runs(rows.convert_dtypes() if isinstance(given, Mapping) else rows)
    if isinstance(given, (list, tuple)):
        return [run for part in given for run in _find_runs(part)]
    named = find_run_or_file(given, WHAT)
    if isinstance(named, Run):
        return [read_run(named)]
    if isinstance(named, (str, Path)):
        named = LocalFile(Path(named).expanduser(), File(url=""))
    if isinstance(named, LocalFile):
        return [TableRun(0, named.path.name, "", {}, (named,))]
    raise ReelbookError(
        f"{WHAT} takes runs, files, paths and rows of a table, and not {type(named).__name__}. "
        "Pass a run, a path, or rows such as table.loc[[0, 1]]."
    )
