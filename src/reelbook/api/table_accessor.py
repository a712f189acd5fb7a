"""The `.reel` accessor: files and costs of a table of runs, even after it was filtered, sorted or joined."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from ..display.live import watch_measuring
from ..errors import ReelbookError
from ..media.local_file import LocalFile
from ..media.measuring.measures import measure_files
from ..media.measuring.metrics import METRICS
from ..media.metadata.provenance import sidecar_path
from ..models.base import File
from ..storage.export import read_exported
from ..storage.library_folder import parse_folder
from ..storage.table import build_column
from ..sweeps.table_files import find_paths, get_ticked
from ..sweeps.tables import Costs, add_metric_columns, compute_costs
from ..util.printable import format_count
from .which_run import find_library_of, find_rows_in, get_row_file

if TYPE_CHECKING:
    from PIL.Image import Image

    from ..decide.ratings import Ratings
    from ..display.compare.comparison import Comparison
    from ..display.plots.plot_html import Plot
    from ..runs.run import Run
    from ..widgets.grid import Grid


@pd.api.extensions.register_dataframe_accessor("reel")
class Reel:
    """The files and costs of a table of runs, found by its columns, so the table may be transformed freely.

    Example::

        table = rb.sweep(boat, seed=[7, 8]).run(budget=106)
        table.reel.cost("seed")
        table.reel.report("boats.html")
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self._table = table

    def __repr__(self) -> str:
        return f"<reel of {format_count(len(self._table), 'run')}>"

    @property
    def table(self) -> pd.DataFrame:
        """The table itself."""
        return self._table

    @property
    def selected(self) -> pd.DataFrame:
        """The rows ticked in the display of `table.reel`, in the order of the table; empty if it was not displayed."""
        return self._table.iloc[[position for position in get_ticked(self._table) if position < len(self._table)]]

    def outputs(self) -> pd.DataFrame:
        """A table of the files: run, position among the run's files, path, kind and size in bytes."""
        index, rows = [], []
        for run, paths in zip(self._table.index, find_paths(self._table), strict=True):
            for number, path in enumerate(map(Path, paths)):
                kind = "video" if LocalFile(path, File(url="")).is_video else "image"
                index.append((run, number))
                rows.append((str(path), kind, path.stat().st_size if path.is_file() else None))
        places = pd.MultiIndex.from_tuples(index, names=["run", "file"])
        return pd.DataFrame(rows, index=places, columns=["path", "kind", "bytes"])

    def run(self, which: Any) -> Run:
        """The `Run` of a row, given by its label in the index of this table, such as 7, or as the row itself."""
        rows = self._rows(which)
        return cast("Run", find_library_of(rows).run(rows))

    @property
    def runs(self) -> list[Run]:
        """The `Run` of each row, in order, without rows that were never sent."""
        return find_library_of(self._table).runs(self._table) if len(self._table) else []

    def file(self, which: Any, number: int = 0) -> LocalFile:
        """A file of a row: its video, or a picture by number. It has `frames()`, `still(…)` and `save(…)`."""
        return get_row_file(self._rows(which), number)

    def still(
        self, which: Any, at: float = 0.5, *, frame: int | None = None, seconds: float | None = None
    ) -> Image:  # fmt: skip
        """One frame of a row's clip as a picture: by fraction of the duration, frame number, or seconds."""
        return self.file(which).still(at, frame=frame, seconds=seconds)

    def export(self, folder: str | Path, what: Any = None) -> Path:
        """Write a folder with the files of the rows under readable names, their provenance, and `runs.csv`.

        The numbers are those of this table. `what` selects rows by labels of this table, such as `[7, 11]`, a mask, or rows; all rows by default.
        """
        rows = self._table if what is None else self._rows(what)
        return find_library_of(rows).export(folder, rows)

    def cost(self, by: str | Sequence[str] | None = None) -> Costs:
        """Credits grouped by one or more columns, or for the entire table: a table, displayed with a chart.

        `credits` is what was charged or, if the service reported no charge, estimated; `estimated` is the price
        estimated before the runs, and `charged` the charge reported by the service. `seconds` are those of
        completed videos, from their columns `num_frames` and `frame_rate`.
        """
        return compute_costs(self._table, by)

    @property
    def metrics(self) -> pd.DataFrame:
        """The available metrics: meaning, unit, and which direction is better."""
        columns = {
            name: [getattr(metric, name) for metric in METRICS.values()] for name in ("meaning", "unit", "better")
        }
        return pd.DataFrame(columns, index=pd.Index(METRICS, name="metric"))

    def measure(
        self,
        metrics: Collection[str] | str | None = None,
        *,
        reference: Any = None,
        progress: bool = True,
    ) -> pd.DataFrame:
        """Measure the first file of each run, and return the table with a column per metric.

        `metrics` are names from `table.reel.metrics`, all by default. `reference` is a file, or the label or row of the
        run to compare the others with. Measurements of a library's files are kept in it. Beside an input of the same name the
        metric's column is `measured_…`; earlier measurements in the table are replaced.

        Progress is displayed after a second, unless `progress` is false.
        """
        firsts = [found[0] if found else None for found in find_paths(self._table)]
        against = reference if reference is None or isinstance(reference, (str, Path)) else self.file(reference).path
        existing = [path for path in firsts if path is not None]
        with watch_measuring(len(set(existing))) if progress else nullcontext() as report:
            figures = measure_files(existing, metrics, reference=against, progress=report)
        by_path = dict(zip(existing, figures, strict=True))
        names = list(dict.fromkeys(name for found in by_path.values() for name in found if name in METRICS))
        columns = {
            name: build_column([by_path[path].get(name) if path in by_path else None for path in firsts]).array
            for name in names
        }
        return add_metric_columns(self._table, columns)

    def grid(self, rows: str | None = None, cols: str | None = None, tabs: str | None = None) -> Grid:
        """The clips on one clock, arranged by their values: play, step and scrub all together, tick, enlarge.

        `rows`, `cols` and `tabs` name columns that vary; by default the layout is chosen. `grid.selected` are the ticked
        rows. A click enlarges a clip to its original file. In a saved notebook its posters remain.
        """
        return self._make_grid("grid", rows=rows, cols=cols, tabs=tabs)

    def explore(self) -> Grid:
        """One large clip at a time, with a control for every column that varies; changing it keeps the frame."""
        return self._make_grid("one")

    def _make_grid(self, view: str, **parts: str | None) -> Grid:
        from ..widgets.grid import Grid

        return Grid(self._table, view=view, parts=parts)

    def compare(self, *labels: Any, by: str = "time") -> Comparison:
        """Compare the files of some rows to the pixel, given by their labels in the index: `table.reel.compare(0, 1)`.

        Without labels, all rows. See `rb.compare`.
        """
        from .comparisons import compare

        return compare(pd.concat([self._rows(label) for label in labels]) if labels else self._table, by=by)

    def sheet(self, *, frames: int = 6, labels: str | Sequence[str] | None = None, width: int = 1600) -> Image:
        """Draw a contact sheet: the frames of each run over time, labelled with the values that distinguish it.

        `labels` names the columns for the labels; by default, those that vary. The result is a Pillow image.
        """
        from ..display.sheets import draw_sheet

        return draw_sheet(self._table, frames=frames, labels=labels, width=width)

    def gif(self, path: str | Path, *, labels: str | Sequence[str] | None = None, width: int = 960) -> Path:
        """Write all clips side by side as an animated `.gif`, for places without video; return its path."""
        from ..display.sheets import write_gif

        return write_gif(self._table, path, labels=labels, width=width)

    def plot(self, x: Any, y: Any, color: Any = None) -> Plot:
        """Plot two columns, one point for each run, coloured by a third; `plot.save("plot.svg")` writes it on white.

        Numbers have an axis, all other values a place each in the order of the table; rows without a value are left out, and counted. In a
        notebook a point shows the run's poster and plays it on a click, and selected points are the ticks of
        `table.reel`. Drawn by matplotlib: pip install 'reelbook[plots]'.
        """
        from ..display.plots.plot_html import Plot

        return Plot(self._table, x, y, color)

    def report(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        views: Sequence[Plot | Comparison] = (),
        ratings: Ratings | Sequence[Ratings] = (),
        folder: bool = False,
    ) -> Path:
        """Write a standalone HTML page to share: synchronised clips, table, costs, provenance; return its path.

        `views` are plots and comparisons to include, such as `[table.reel.plot("num_frames", "credits"),
        table.reel.compare(0, 1)]`. A plot shares its selection with the clips and the table, and a comparison plays the
        clips of the page. `ratings` are those of `rb.judge(table)`, whose ranking is then in it. The page is a single file
        with small copies of the clips; with `folder=True`, `path` is a folder to which `export` copies the clips
        themselves, and its `index.html` plays those.
        """
        from ..display.report.make_report import write_report

        exported: dict[str, str] = {}
        if folder:
            place = parse_folder(path, "be the folder of a report")
            path, exported = place / "index.html", self._export_report(place)
        return write_report(self._table, path, title=title, views=views, ratings=ratings, exported=exported)

    def _export_report(self, folder: Path) -> dict[str, str]:
        """Export the files for a report in this folder, in place of those of an earlier one; returns their requests."""
        has_page = (folder / "index.html").exists()
        earlier = read_exported(folder) if has_page else {}
        if has_page and not earlier:
            raise ReelbookError(
                f"{folder} has an index.html that is of no report, and would be lost. Choose another folder."
            )
        exported = read_exported(self.export(folder))
        for name in earlier.keys() - exported.keys():
            for file in (folder / name, sidecar_path(folder / name)):
                file.unlink(missing_ok=True)
        return exported

    def _rows(self, which: Any) -> pd.DataFrame:
        """The selected rows of this table, given by labels of its index, a mask, or as rows."""
        return find_rows_in(self._table, which)
