"""`rb.read` and `rb.strip`, and the renderer of `table.reel`."""

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


class _TableRenderer:
    """Draws sheets, animations and reports for `table.reel`."""

    def sheet(self, table: pd.DataFrame, *, frames: int, labels: str | Sequence[str] | None, width: int) -> Image:
        """A contact sheet of the table."""
        from ..display.sheets import draw_sheet

        return draw_sheet(table, frames=frames, labels=labels, width=width)

    def gif(self, table: pd.DataFrame, path: str | Path, *, labels: str | Sequence[str] | None, width: int) -> Path:
        """Write the clips side by side as an animated picture; returns its path."""
        from ..display.sheets import write_animation

        return write_animation(table, path, labels=labels, width=width)

    def report(self, table: pd.DataFrame, path: str | Path, *, title: str | None, folder: bool) -> Path:
        """Write a report of the table; returns its path."""
        from ..display.report.make_report import write_report

        return write_report(table, path, title=title, folder=folder)

    def library(self, table: pd.DataFrame, paths: Sequence[str]) -> Library:
        """The library with the runs of the table, as `find_library` finds it."""
        from .library import library
        from .stored_runs import find_library

        return find_library(table, library, paths)

    def measuring(self, files: int) -> AbstractContextManager[Callable[[int, int], object]]:
        """Progress of measuring while the block lasts: a bar in a notebook, a line in a terminal."""
        from ..display.measure_progress import watch_measuring

        return watch_measuring(files)


def read(path: str | Path) -> pd.DataFrame:
    """A table of runs from a `.parquet` or `.csv` file, with its `.reel`."""
    from ..sweeps.results.accessor import read_table

    return read_table(path)


def strip(
    run_or_file: Run | LocalFile | str | Path | pd.DataFrame | pd.Series[Any], *, frames: int = 6, width: int = 1600
) -> Image:
    """Frames of a clip side by side with times and a caption, as a picture; of pictures, all of a run.

    Takes a run, a file or its path, a row of any table of runs such as `table.loc[[7]]`, or a request id.
    """
    from ..display.sheets import draw_strip
    from .run_arguments import find_run_or_file as found

    return draw_strip(found(run_or_file, "rb.strip"), frames=frames, width=width)


looks.set_renderer(_TableRenderer)
