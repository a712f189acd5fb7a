"""`table.reel.report(…)`: writes a page about a table of runs."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup

from ...decide.ratings import Ratings
from ...errors import ReelbookError
from ...sweeps.table_files import find_column
from ...util.replace_file import replace_file
from ..compare.comparison import Comparison
from ..live import Count, watch_count
from ..plots.plot_html import Plot
from ..table_runs import TableRun, group_runs, with_unique_index
from ..tables.table_columns import describe_makers
from ..tables.table_html import find_files
from .media import PROGRESS, embed_clip, prepare_media
from .report_page import ReportContent
from .shared_table import make_shareable

if TYPE_CHECKING:
    import pandas as pd


EMPTY: Mapping[str, str] = MappingProxyType({})
SUFFIXES = (".html", ".htm")
SEPARATORS = tuple(sign for sign in (os.sep, os.altsep) if sign)
WRONG_VIEW = (
    "The views of a report are plots and comparisons, and not {}. Pass them as they are displayed, "
    'as in views=[table.reel.plot("num_frames", "credits"), table.reel.compare(0, 1)].'
)
WRONG_RATINGS = "The ratings of a report are those of rb.judge(table), or a list of them, and not {}."
LINK = Markup('<a href="{}" target="_blank" rel="noopener">{}</a>')


class LinkedPath(type(Path())):  # type: ignore[misc]  # The class of paths on this system, which mypy does not know.
    """A path that is displayed as a link, where the notebook's server can reach it."""

    def _repr_html_(self) -> str | None:
        """The link; None for a path outside of the notebook's folder, which no link of the page can reach."""
        try:
            place = self.absolute().relative_to(Path.cwd())
        except (ValueError, OSError):
            return None
        return str(LINK.format(quote(f"./{place.as_posix()}"), str(self)))


def write_report(
    table: pd.DataFrame, path: str | Path, *, title: str | None = None, views: Any = (), ratings: Any = None,
    standings: Markup | None = None, exported: Mapping[str, str] = EMPTY,
) -> Path:  # fmt: skip
    """Write the page as one file with small copies of the clips; returns its path.

    `exported` names the requests of the files that lie beside the page; of those it shows the files themselves.
    """
    target = find_page_path(path)
    if table.empty:
        raise ReelbookError(
            "This table has no rows, so there is nothing to report. Filter it less, or run the sweep first."
        )
    counted = with_unique_index(table)
    shared = make_shareable(counted)
    groups = group_runs(shared)
    entries = [entry for group in groups for entry in group.entries]
    # A table of failed runs can be reported, too.
    if not any(entry.files or entry.status for entry in entries):
        raise ReelbookError(
            "No row of this table has a file or a status, so there is nothing to report. Keep the columns output_video and status in it."
        )
    chosen: list[Plot | Comparison] = _list_given(views, (Plot, Comparison), WRONG_VIEW)
    rows = [find_rows(view, table) if isinstance(view, Plot) else [] for view in chosen]
    for view in chosen:
        if isinstance(view, Comparison):
            _check_items(view, entries)
    rated: list[Ratings] = _list_given(() if ratings is None else ratings, Ratings, WRONG_RATINGS)
    with watch_count(Count(0, PROGRESS)) as progress:
        beside = _find_beside(entries, exported)
        media = prepare_media(
            entries, progress, lambda file: (beside[file.path], None) if file.path in beside else embed_clip(file)
        )
        page = ReportContent(
            shared, groups, media, title, describe_makers(counted), chosen, rows, rated, standings, beside
        )
        write_page(target, page.html)
    return LinkedPath(target)


def _find_beside(entries: Sequence[TableRun], exported: Mapping[str, str]) -> dict[Path, str]:
    """The address of each file that lies beside the page."""
    names = defaultdict[str, list[str]](list)
    for name, request in exported.items():
        names[request].append(quote(name))
    found = [zip(entry.files, names[entry.text("request_id") or ""], strict=False) for entry in entries]
    return {file.path: name for pairs in found for file, name in pairs}


# Its views.


def _list_given(given: Any, kinds: type | tuple[type, ...], wrong: str) -> list[Any]:
    """What was passed, one or several; raises a ReelbookError for anything of another kind."""
    listed = list(given) if isinstance(given, (list, tuple)) else [given]
    for one in listed:
        if not isinstance(one, kinds):
            raise ReelbookError(wrong.format(type(one).__name__))
    return listed


def find_rows(plot: Plot, table: pd.DataFrame) -> list[int]:
    """The position in the report of each row of a plot's table, which may be measured, filtered or sorted."""
    if plot.table is table:
        return list(range(len(table)))
    places = {key: place for place, key in enumerate(_make_keys(table))}
    found = [places.get(key) for key in _make_keys(plot.table)]
    known = [place for place in found if place is not None]
    if len(known) < len(found):
        raise ReelbookError(
            f"A plot in a report shows runs of its table, and {len(found) - len(known):,} of the {len(found):,} rows of this plot are "
            "not among them. Plot the table that is reported, or write the report of the one that was plotted: plot.table.reel.report(…)."
        )
    return known


def _make_keys(table: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """What identifies each row: its label, its request, and its files."""
    requests = find_column(table, "request_id")
    ids = [""] * len(table) if requests is None else map(str, requests)
    for label, request, files in zip(table.index, ids, find_files(table), strict=True):
        yield repr(label), request, tuple(files)


def _check_items(comparison: Comparison, entries: Sequence[TableRun]) -> None:
    """Raise a ReelbookError for a file that the table lacks."""
    known = {file.path for entry in entries for file in entry.files}
    for item in comparison.items:
        if item.file is not None and not item.problem and item.file.path not in known:
            raise ReelbookError(
                f"A comparison in a report shows files of its table, and {item.name} is not among them. "
                "Compare rows of the table that is reported, as in table.reel.compare(0, 1)."
            )


# On disk: written completely or not at all.


def find_page_path(path: str | Path) -> Path:
    """The path of a page of this name; raises a ReelbookError if it is a folder."""
    if not isinstance(path, (str, Path)) or not str(path) or "\0" in str(path):
        raise ReelbookError(f'A report goes to a path, for instance table.reel.report("boats.html"), not to {path!r}.')
    target = Path(path).expanduser()
    page = target if target.suffix.lower() in SUFFIXES else target.with_name(f"{target.name or 'report'}.html")
    if not target.name or str(path).endswith(SEPARATORS) or target.is_dir() or page.is_dir():
        raise ReelbookError(
            f"{path} is a folder, and a report is one file. Name the file, for instance {target / 'report.html'}, or pass folder=True."
        )
    return page


def write_page(target: Path, html: str) -> None:
    """Write the page completely, then move it to its name."""
    try:
        # A symbolic link is followed, as by any other write.
        real = Path(os.path.realpath(target))
        real.parent.mkdir(parents=True, exist_ok=True)
        replace_file(real, html.encode(errors="replace"))
    except OSError as error:
        raise ReelbookError(
            f"The report could not be written to {target} ({error.strerror or error}). "
            "Choose a folder with write permission and enough space, then try again."
        ) from error
