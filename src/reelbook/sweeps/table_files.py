"""The files, ticked rows and facts of a table of runs, found by its columns."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ReelbookError

if TYPE_CHECKING:
    import pandas as pd

VIDEO, IMAGES = "output_video", "output_images"


def find_paths(table: pd.DataFrame) -> Iterator[list[str]]:
    """The files of each row, in the order of the output."""
    import numpy as np

    columns = [column for name in (VIDEO, IMAGES) if (column := find_column(table, name)) is not None]
    if not columns:
        raise ReelbookError(
            f"This table has neither {VIDEO} nor {IMAGES}, so it says nothing about files. Keep one of them in it."
        )
    for cells in zip(*columns, strict=True):
        # A video is one path, pictures are a list of them.
        lists = (cell if isinstance(cell, (list, tuple, np.ndarray)) else [cell] for cell in cells)
        yield [path for listed in lists for path in listed if isinstance(path, str) and path]


def get_ticked(table: pd.DataFrame) -> tuple[int, ...]:
    """The positions of the rows ticked in the displays of this table object."""
    ticked: tuple[int, ...] = vars(table).get("_reelbook_ticked", ())
    return ticked


def tick(table: pd.DataFrame, places: Sequence[int]) -> None:
    """Tick the rows at these positions, replacing earlier ones."""
    # An attribute of this object alone, not in `attrs`, which pandas copies to other tables.
    vars(table)["_reelbook_ticked"] = tuple(sorted(places))


def get_group(table: pd.DataFrame) -> str:
    """A random key for all displays of this table object, by which a page links them: a row ticked in one is in all."""
    group: str = vars(table).setdefault("_reelbook_group", secrets.token_urlsafe(9))
    return group


def find_column(table: pd.DataFrame, name: str) -> pd.Series[Any] | None:
    """A column of a table, the first if there are several of that name; None if there is none."""
    positions = [position for position, column in enumerate(table.columns) if column == name]
    return table.iloc[:, positions[0]] if positions else None


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a table of runs from a `.parquet` file."""
    import pandas as pd

    from ..storage.table import build_column

    try:
        table = pd.read_parquet(Path(path).expanduser())
    except (OSError, ValueError) as error:
        raise ReelbookError(
            f"{path} could not be read as a table of runs ({error}). Write one with table.to_parquet(…)."
        ) from error
    if IMAGES in table.columns:
        # A list is an array in Parquet.
        table[IMAGES] = build_column([None if value is None else list(value) for value in table[IMAGES]]).array
    return table
