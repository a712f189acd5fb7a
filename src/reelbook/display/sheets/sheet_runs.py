"""The runs of a sheet: their labels, what all have in common, and their decoded pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pandas as pd
from PIL import Image

from ...errors import ReelbookError
from ...media import stills
from ...storage.run_status import RunStatus
from ...util.missing_values import is_missing
from ...util.printable import format_count, suggest
from ..formatting import format_credits, join_with_dots
from ..report.layout import find_axes, format_named_value, format_table_value
from ..table_runs import TableRun, read_runs

UNREADABLE, VANISHED = "file cannot be read", "file is gone"


def read_labelled(table: pd.DataFrame, labels: str | Sequence[str] | None = None) -> list[TableRun]:
    """The runs of a table, labelled by the inputs that vary, or by the columns `labels`."""
    table = table.loc[:, ~table.columns.duplicated()]
    runs = read_runs(table)
    if labels is not None:
        names = [labels] if isinstance(labels, str) else list(labels)
        for name in names:
            if name not in table.columns:
                raise ReelbookError(f"This table has no column {name!r}.{suggest(name, table.columns)}")
        return [replace(run, label=tuple(format_named_value(name, run.values[name]) for name in names)) for run in runs]
    models = dict.fromkeys(run.model for run in runs)
    found = list(runs)
    for model in models:
        # Inputs of one model are no difference between the runs of another.
        places = [run.place for run in runs if run.model == model]
        axes = find_axes(table.iloc[places] if len(models) > 1 else table)
        first = (_shorten_model(model),) if len(models) > 1 and model else ()
        for place in places:
            values = runs[place].values
            parts = (join_with_dots(*(_format_part(name, values[name]) for name in axis.columns)) for axis in axes)
            found[place] = replace(runs[place], label=(*first, *filter(None, parts)))
    return found


def format_title(runs: Sequence[TableRun]) -> str:
    """The title of a sheet: the prompt if all runs have the same, else the models."""
    prompts = {" ".join((run.text("prompt") or "").split()) for run in runs}
    if len(prompts) == 1 and "" not in prompts:
        return prompts.pop()
    models = [*dict.fromkeys(_shorten_model(run.model) for run in runs if run.model)]
    return (join_with_dots(*models) if len(models) < 4 else f"{len(models)} models") or "runs"


def format_facts(table: pd.DataFrame) -> list[str]:
    """Number of runs, states other than completed, and credits, as texts."""
    values = {
        name: [value for value in _get_column(table, name) if not is_missing(value)]
        for name in ("status", "credits", "credits_source")
    }
    states = list(map(format_table_value, values["status"]))
    others = [state for state in dict.fromkeys(states) if state != RunStatus.COMPLETED]
    found = [format_count(len(table), "run"), *(f"{states.count(state):,} {state}" for state in others)]
    if values["credits"]:
        sources = set(map(format_table_value, values["credits_source"]))
        source = "charged" if sources == {"charged"} else "estimated"
        found.append(format_credits(sum(map(int, values["credits"])), source))
    return found


def _format_part(name: str, value: Any) -> str:
    """A value with its name; empty for one that is missing, an empty text or an empty list."""
    is_empty = is_missing(value) or format_table_value(value) in ("none", '""')
    return "" if is_empty else format_named_value(name, value)


def _shorten_model(model: str) -> str:
    return model.rstrip("/").rpartition("/")[2]


def _get_column(table: pd.DataFrame, name: str) -> list[Any]:
    if name not in table.columns:
        return []
    found: Any = table[name]
    # A table may have been joined so that it has a name twice.
    return list(found if isinstance(found, pd.Series) else found.iloc[:, 0])


@dataclass(frozen=True, slots=True)
class RunPictures:
    """The decoded pictures of a run, or why there are none."""

    pictures: list[Image.Image] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    """The original size of each picture."""
    film: stills.ClipFrames | None = None
    problem: str = ""


def read_all(runs: Sequence[TableRun], read_run: Callable[[TableRun], RunPictures]) -> list[RunPictures]:
    """The pictures of each run, read in threads by `read_run`; `problem` has the reason if a file cannot be read."""
    with ThreadPoolExecutor(max(1, min(len(runs), os.cpu_count() or 1, 8))) as threads:
        return list(threads.map(lambda run: read_safely(run, read_run), runs))


def read_safely(run: TableRun, read_run: Callable[[TableRun], RunPictures]) -> RunPictures:
    """The pictures of a run, or why its files cannot be read."""
    if not run.files:
        return RunPictures()
    try:
        return read_run(run)
    # Any failure of a decoder is due to the file.
    except (Exception, Image.DecompressionBombError):
        is_there = os.path.exists(run.files[0].path)  # noqa: PTH110  # Path.exists may raise.
        return RunPictures(problem=UNREADABLE if is_there else VANISHED)


def read_over_time(run: TableRun, count: int, box: stills.PixelSize) -> RunPictures:
    """`count` frames of a clip from first to last, or the pictures of a run."""
    if not run.is_film:
        return read_side_by_side(run, count, box)
    film = stills.read_spread(run.files[0].path, count, box)
    return RunPictures(film.frames, [film.size] * len(film.frames), film)


def read_side_by_side(run: TableRun, count: int, box: stills.PixelSize) -> RunPictures:
    """The first `count` pictures of a run; of a clip, its middle frame."""
    chosen = run.files[:count]
    pictures = [
        stills.read_spread(file.path, 1, box).frames[0] if file.is_video else stills.read_picture(file.path, box)
        for file in chosen
    ]
    return RunPictures(pictures, [stills.get_size(file.path) for file in chosen])


def read_at_times(run: TableRun, seconds: Sequence[float], box: stills.PixelSize) -> RunPictures:
    """The frames of a clip at these times, after its end the last one; of a run without a clip, its first picture."""
    if not run.is_film:
        return read_side_by_side(run, 1, box)

    def choose(count: int, rate: Fraction) -> list[int]:
        # A time such as 7/24 is slightly less as a float.
        return [min(int(second * rate + 1e-6), count - 1) for second in seconds]

    film = stills.read_frames(run.files[0].path, choose, box)
    return RunPictures(film.frames, [film.size], film)
