"""The value of `table.reel.plot(…)`: displayed at the end of a cell, and saved as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from ...errors import ReelbookError
from ...sweeps.results.table_files import get_ticked
from ...util.printable import printable
from ...util.replace_file import replace_file
from .plot_drawing import PAPER, check_matplotlib, draw_points, matplotlib_style, write_figure
from .plot_points import Points, find_points

KINDS = ("svg", "png", "pdf")
SAVED_SIZE, SAVED_SCALE = (800, 400), 2


class Plot:
    """Two columns of a table as points, one for each run, coloured by a third."""

    def __init__(self, table: pd.DataFrame, x: Any, y: Any, color: Any = None) -> None:
        """Raise a ReelbookError for a column that the table lacks, and where matplotlib is missing."""
        self.points: Points = find_points(table, x, y, color)
        check_matplotlib()
        self.table = table
        self.columns = (x, y, color)

    def __repr__(self) -> str:
        return printable(self.points.summary)

    @property
    def selected(self) -> pd.DataFrame:
        """The rows selected in this plot or in any other display of the table, as `table.reel.selected`."""
        return self.table.iloc[[position for position in get_ticked(self.table) if position < len(self.table)]]

    def save(self, path: str | Path) -> Path:
        """Write the plot on white as `.svg`, `.png` or `.pdf`; return the path."""
        file = Path(path).expanduser()
        kind = file.suffix.lower().removeprefix(".")
        if kind not in KINDS:
            raise ReelbookError(f"A plot is saved as .svg, .png or .pdf, not as {file.name!r}.")
        with matplotlib_style():
            drawing = draw_points(self.points, SAVED_SIZE, PAPER)
            scale = SAVED_SCALE if kind == "png" else 1
            content = write_figure(drawing.figure, kind, scale=scale, ground=PAPER.paper)
        try:
            replace_file(file, content)
        except OSError as error:
            raise ReelbookError(f"{file} could not be written ({error}).") from error
        return file
