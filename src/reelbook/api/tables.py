"""The door to pictures of tables: what `table.reel` draws, and one clip over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..sweeps import looks

if TYPE_CHECKING:
    import pandas as pd
    from PIL.Image import Image

    from ..media.local_file import LocalFile
    from ..runs.run import Run
    from ..storage.library import Library


class _Looks:
    """What tables get from here."""

    def sheet(self, table: pd.DataFrame, *, frames: int, labels: str | Sequence[str] | None, width: int) -> Image:
        """A contact sheet."""
        from ..display.sheets import draw_sheet

        return draw_sheet(table, frames=frames, labels=labels, width=width)

    def gif(self, table: pd.DataFrame, path: str | Path, *, labels: str | Sequence[str] | None, width: int) -> Path:
        """The clips side by side as an animated picture."""
        from ..display.sheets import write_animation

        return write_animation(table, path, labels=labels, width=width)

    def report(self, table: pd.DataFrame, path: str | Path, *, title: str | None, folder: bool) -> Path:
        """A page with everything that there is to see and to know."""
        from ..display.report.make_report import write_report

        return write_report(table, path, title=title, folder=folder)

    def library(self, table: pd.DataFrame, paths: Sequence[str]) -> Library:
        """The one that the table was made with, that its files lie in, or that is open."""
        from .library import library
        from .stored_runs import find_library

        return find_library(table, library, paths)

    def measuring(self, files: int) -> AbstractContextManager[Callable[[int, int], object]]:
        """A bar in a notebook, a line in a terminal."""
        from ..display.measure_progress import watch_measuring

        return watch_measuring(files)


def read(path: str | Path) -> pd.DataFrame:
    """A table of runs from the `.parquet` or `.csv` that it was written to, with its `.reel`."""
    from ..sweeps.results.accessor import read_table

    return read_table(path)


def strip(
    run_or_file: Run | LocalFile | str | Path | pd.DataFrame | pd.Series[Any], *, frames: int = 6, width: int = 1600
) -> Image:
    """Some frames of a clip side by side with times and a caption, as a picture; of pictures all that a run made.

    Takes a run, a file or its path, a row of any table of runs such as `table.loc[[7]]`, or a request id.
    """
    from ..display.sheets import draw_strip
    from .run_arguments import find_run_or_file as found

    return draw_strip(found(run_or_file, "rb.strip"), frames=frames, width=width)


looks.hire(_Looks)
