"""`table.reel.report(…)`: writes a page about a table of runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup

from ...errors import ReelbookError
from ...sweeps.results.table_files import find_paths
from ..formatting import format_size, join_with_dots
from ..tables.table_columns import describe_makers
from .rating_section import parse_ratings
from .report_entries import Group, group_entries, with_unique_index
from .report_media import FolderMedia, InlineMedia, prepare_media
from .report_page import Report
from .report_views import check_views
from .shared_table import make_shareable
from .write_report import INDEX, find_folder_path, find_page_path, replacing_folder, write_page

if TYPE_CHECKING:
    import pandas as pd


LINK = Markup('<a href="{}" target="_blank" rel="noopener">{}</a>')


class LinkedPath(type(Path())):  # type: ignore[misc]  # The class of paths on this system, which mypy does not know.
    """A path that is displayed as a link, where the notebook's server can reach it."""

    def _repr_html_(self) -> str | None:
        """The link; None for a path outside of the notebook's folder, which no link of the page can reach."""
        try:
            place = self.absolute().relative_to(Path.cwd())
        except (ValueError, OSError):
            return None
        page = place / "index.html" if self.is_dir() else place
        return str(LINK.format(quote(f"./{page.as_posix()}"), str(self)))


def write_report(
    table: pd.DataFrame, path: str | Path, *, title: str | None = None, views: Any = (), folder: bool = False, ratings: Any = None,
    standings: Markup | None = None,
) -> Path:  # fmt: skip
    """Write the page as one file with previews, or with `folder` beside the original files; returns its path."""
    target = find_folder_path(path) if folder else find_page_path(path)
    given, table = table, with_unique_index(table)
    groups = _group_runs(table)
    service = _find_service(table)
    entries = [entry for group in groups for entry in group.entries]
    chosen = check_views(views, given, entries)
    files = [*entries, *chosen.others]
    report = partial(
        Report, make_shareable(table), groups, title=title, made_by=describe_makers(table), is_folder=folder, views=chosen,
        ratings=parse_ratings(ratings), standings=standings,
    )  # fmt: skip
    if not folder:
        media, set_text = prepare_media(files, InlineMedia())
        write_page(target, report(media).html)
    else:
        with replacing_folder(target) as part:
            media, set_text = prepare_media(files, FolderMedia(part, service))
            write_page(part / INDEX, report(media).html)
    set_text(join_with_dots(f"{target.name}/" if folder else target.name, format_size(_count_bytes(target))))
    return LinkedPath(target)


def _count_bytes(target: Path) -> int:
    files = [path for path in target.rglob("*") if path.is_file()] if target.is_dir() else [target]
    return sum(path.stat().st_size for path in files)


def _group_runs(table: pd.DataFrame) -> Sequence[Group]:
    """The runs by their models; raises a ReelbookError for a table without rows, or without files and states."""
    if table.empty:
        raise ReelbookError(
            "This table has no rows, so there is nothing to report. Filter it less, or run the sweep first."
        )
    groups = group_entries(make_shareable(table), list(find_paths(table)))
    entries = [entry for group in groups for entry in group.entries]
    # A table of failed runs can be reported, too.
    if not any(entry.files or entry.status for entry in entries):
        raise ReelbookError(
            "No row of this table has a file or a status, so there is nothing to report. Keep the columns output_video and status in it."
        )
    return groups


def _find_service(table: pd.DataFrame) -> str | None:
    attributes = table.attrs.get("reelbook")
    found = attributes.get("service") if isinstance(attributes, dict) else None
    return str(found) if found else None
