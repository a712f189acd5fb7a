"""The files, ticked rows and facts of a table of runs, found by its columns."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ...errors import ReelbookError
from ...storage.table.library_table import INPUT_JSON, parse_texts
from ...storage.table.typed_columns import build_column

VIDEO, IMAGES = "output_video", "output_images"
FACTS = ("model", "request_id", "credits", "credits_source", "service", "seed")

_ticked: dict[int, tuple[weakref.ref[pd.DataFrame], tuple[int, ...]]] = {}
"""The ticked rows of each table. Not in `attrs`, which pandas copies to other tables."""


def find_paths(table: pd.DataFrame) -> Iterator[list[str]]:
    """The files of each row, in the order of the output."""
    empty: list[Any] = [None] * len(table)
    video_column, image_column = (find_column(table, name) for name in (VIDEO, IMAGES))
    if video_column is None and image_column is None:
        raise ReelbookError(
            f"This table has neither {VIDEO} nor {IMAGES}, so it says nothing about files. {_format_rename_hint(table)}"
        )
    videos, images = (empty if found is None else list(found) for found in (video_column, image_column))
    for video, pictures in zip(videos, images, strict=True):
        listed = [] if pictures is None or isinstance(pictures, (float, str)) or pictures is pd.NA else list(pictures)
        yield [path for path in (video, *listed) if isinstance(path, str) and path]


def get_ticked(table: pd.DataFrame) -> tuple[int, ...]:
    """The positions of the rows that were ticked where this very table is displayed."""
    known, places = _ticked.get(id(table), (None, ()))
    return places if known is not None and known() is table else ()


def tick(table: pd.DataFrame, places: Sequence[int]) -> None:
    """Tick the rows at these positions, in place of those before."""
    key = id(table)
    _ticked[key] = weakref.ref(table, lambda _: _ticked.pop(key, None)), tuple(sorted(places))


def format_summary(table: pd.DataFrame) -> str:
    """How many runs a table has, how they stand and what they cost, on one line; what its columns do not tell is left out.

    >>> format_summary(pd.DataFrame({"status": ["completed", "failed", "completed"], "credits": [53, None, 53]}))
    '3 runs: 2 completed, 1 failed; 106 credits'
    """
    states, costs = find_column(table, "status"), find_column(table, "credits")
    text = f"{len(table):,} run{'' if len(table) == 1 else 's'}"
    if states is not None:
        counts = states.astype(object).dropna().astype(str).value_counts(sort=False)
        text += f": {', '.join(f'{count:,} {state}' for state, count in counts.items())}" if len(counts) else ""
    known = pd.Series(dtype="float64") if costs is None else pd.to_numeric(costs, errors="coerce").dropna()
    return f"{text}; {int(known.sum()):,} credits" if len(known) else text


def find_column(table: pd.DataFrame, name: str) -> pd.Series[Any] | None:
    """A column of a table, the first where it has several of that name; nothing where it has none."""
    places = [place for place, one in enumerate(table.columns) if one == name]
    return table.iloc[:, places[0]] if places else None


def read_table(path: str | Path) -> pd.DataFrame:
    """A table of runs from the `.parquet` or `.csv` that it was written to."""
    if not isinstance(path, (str, Path)):
        raise ReelbookError(f"A table of runs is read from the path of a .parquet or .csv, not from {path!r}.")
    place = Path(path).expanduser()
    try:
        if place.suffix == ".parquet":
            table = pd.read_parquet(place)
        elif place.suffix == ".csv":
            table = pd.read_csv(place, index_col="run").convert_dtypes()
        else:
            raise ReelbookError(f"A table of runs is read from .parquet or .csv, not from {place.name!r}.")
    except (OSError, ValueError) as error:
        raise ReelbookError(
            f"{place} could not be read as a table of runs ({error}). Write one with table.to_parquet(…)."
        ) from error
    if IMAGES in table.columns:
        # A list is a text in a CSV file, and an array in a Parquet file.
        table[IMAGES] = build_column([_parse_list(value) for value in table[IMAGES]]).array
    return table


def _parse_list(value: Any) -> list[Any] | None:
    if isinstance(value, str):
        try:
            found = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return None
        return list(found) if isinstance(found, (list, tuple)) else None
    return None if value is None or value is pd.NA or isinstance(value, float) else list(value)


def get_row_facts(row: pd.Series[Any]) -> dict[str, Any]:
    """What a row tells of its run, for the copies of its files."""
    known = {name: _plain(row[name]) for name in FACTS if name in row.index and _is_known(row[name])}
    (inputs,) = parse_texts([row.get(INPUT_JSON)])
    return {**known, "input": inputs} if isinstance(inputs, dict) else known


def _plain(value: Any) -> Any:
    """A value of NumPy as one of Python."""
    return value.item() if hasattr(value, "item") else value


def _is_known(value: Any) -> bool:
    return not pd.api.types.is_scalar(value) or not pd.isna(value)


def _format_rename_hint(table: pd.DataFrame) -> str:
    """What to do about a table without files; a merge of two tables leaves them under other names."""
    near = [name for name in table.columns if str(name).startswith((f"{VIDEO}_", f"{IMAGES}_"))]
    near = [name for name in near if "_url" not in str(name)]
    if not near:
        return "Keep one of them in it."
    name = VIDEO if str(near[0]).startswith(VIDEO) else IMAGES
    return (
        f"It has {' and '.join(map(str, near))}: name the one that is meant, "
        f"as in table.rename(columns={{{str(near[0])!r}: {name!r}}})."
    )


def get_file_size(path: str) -> int | None:
    """The size of a file in bytes; None without such a file."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return None
