"""`rb.compare`: runs, files or rows of a table side by side, frame by frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..display.compare.comparison import Comparison, Item, format_inputs
from ..display.report.layout import find_input_columns, format_table_value
from ..display.table_runs import read_runs
from ..errors import ReelbookError
from ..media.local_file import LocalFile
from ..models.base import File
from ..runs.run import Run
from ..storage.select_runs import find_table
from ..util.missing_values import is_missing
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
    return Comparison([item for given in files for item in _find_items(given)], by=by)


def _find_items(given: Any) -> list[Item]:
    rows = find_table(given)
    if rows is not None:
        return _read_rows(rows.convert_dtypes() if isinstance(given, Mapping) else rows)
    if isinstance(given, (list, tuple)):
        return [item for part in given for item in _find_items(part)]
    named = find_run_or_file(given, WHAT)
    if isinstance(named, Run):
        return _read_run(named)
    if isinstance(named, (str, Path)):
        named = LocalFile(Path(named).expanduser(), File(url=""))
    if isinstance(named, LocalFile):
        return [Item(named.path.name, named, _read_file_inputs(named))]
    raise ReelbookError(
        f"{WHAT} takes runs, files, paths and rows of a table, and not {type(named).__name__}. "
        "Pass a run, a path, or rows such as table.loc[[0, 1]]."
    )


def _read_run(run: Run) -> list[Item]:
    name = f"run {run.request_id[:8]}" if run.request_id else "run"
    inputs = _with_seed(format_inputs(run.input), getattr(run.output, "seed", None))
    if run.status != "completed" or not run.media:
        why = f": {run.failure}" if run.failure else ""
        return [Item(name, None, inputs, f"{name} is {run.status} and has no file here{why}")]
    return _list_files(name, run.media, inputs)


def _read_rows(rows: pd.DataFrame) -> list[Item]:
    names = find_input_columns(rows.loc[:, ~rows.columns.duplicated()])
    items = []
    for run in read_runs(rows):
        values = {name: run.values[name] for name in names if not is_missing(run.values[name])}
        texts = {name: format_table_value(value) for name, value in values.items()}
        inputs = _with_seed(format_inputs(run.typed or run.input_values or texts), run.seed)
        if run.files:
            items += _list_files(run.name, run.files, inputs)
        else:
            why = f" ({run.reason})" if run.reason else ""
            problem = f"{run.name} is {run.state or 'without a file'}{why}, so there is nothing to compare."
            items.append(Item(run.name, None, inputs, problem))
    return items


def _list_files(name: str, files: Sequence[LocalFile], inputs: Mapping[str, str]) -> list[Item]:
    if len(files) == 1:
        return [Item(name, files[0], inputs)]
    return [Item(f"{name}, file {place}", file, inputs) for place, file in enumerate(files, 1)]


def _read_file_inputs(file: LocalFile) -> dict[str, str]:
    try:
        known = file.provenance
    except (ReelbookError, OSError):
        return {}
    inputs = _with_seed(format_inputs(known.input or known.values), known.seed)
    return {**inputs, "model": known.model} if known.model else inputs


def _with_seed(inputs: dict[str, str], seed: object) -> dict[str, str]:
    """The inputs with the seed that was used."""
    return inputs if seed is None else {**inputs, "seed": str(seed)}
