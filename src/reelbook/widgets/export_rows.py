"""Export the rows chosen on a page into a folder that is not there yet."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ReelbookError

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "picked"


def export_rows(table: pd.DataFrame, rows: pd.DataFrame | Iterable[int], folder: str | Path = FOLDER) -> Path:
    """Write the files of these rows, with their tables, into a new folder; returns its path.

    `rows` are rows of the table, or their positions in it. If the folder is there and holds anything, a number is added
    to its name, so that nothing is written over or mixed.
    """
    import pandas as pd

    chosen: Any = rows if isinstance(rows, pd.DataFrame) else table.iloc[sorted(set(rows))]
    if not len(chosen):
        raise ReelbookError("No row is chosen, so there is nothing to export. Choose some, and export again.")
    return Path(table.reel.export(_find_free_folder(Path(folder).expanduser()), chosen))


def _find_free_folder(folder: Path) -> Path:
    """The folder, or the first with a number after its name that is not there or empty."""
    number, found = 1, folder
    while _is_taken(found):
        number += 1
        found = folder.with_name(f"{folder.name}-{number}")
    return found


def _is_taken(folder: Path) -> bool:
    try:
        return folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    except OSError:
        return True
