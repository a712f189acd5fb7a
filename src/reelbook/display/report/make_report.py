"""`table.reel.report(…)`: a page of its own about a table of runs, to be sent to a colleague."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ReelbookError
from ..formatting import joined, size
from ..page_link import LinkedPath
from .report_entries import Group, groups_of, numbered
from .report_media import Beside, Inside, shown
from .report_page import Report
from .shared_table import sendable
from .write_report import INDEX, appearing, folder_at, page_at, write_page

if TYPE_CHECKING:
    import pandas as pd


def report(table: pd.DataFrame, path: str | Path, *, title: str | None = None, folder: bool = False) -> Path:
    """The page, in one file with small copies of the clips; with `folder`, beside the whole clips. Says where it is."""
    target = folder_at(path) if folder else page_at(path)
    table = numbered(table)
    groups = _checked(table)
    service = _service(table)
    entries = [entry for group in groups for entry in group.entries]
    told = sendable(table)
    if not folder:
        media, say = shown(entries, Inside())
        write_page(target, Report(told, groups, media, title, service, is_folder=False).html)
    else:
        with appearing(target) as part:
            media, say = shown(entries, Beside(part, service))
            write_page(part / INDEX, Report(told, groups, media, title, service, is_folder=True).html)
    say(joined(f"{target.name}/" if folder else target.name, size(_bytes(target))))
    return LinkedPath(target)


def _bytes(target: Path) -> int:
    files = [path for path in target.rglob("*") if path.is_file()] if target.is_dir() else [target]
    return sum(path.stat().st_size for path in files)


def _checked(table: pd.DataFrame) -> Sequence[Group]:
    """The runs by their models; refused where there is nothing to tell."""
    if table.empty:
        raise ReelbookError(
            "This table has no rows, so there is nothing to report. Filter it less, or run the sweep first."
        )
    groups = groups_of(sendable(table), list(table.reel.paths()))
    entries = [entry for group in groups for entry in group.entries]
    # What only failed is worth a report, too.
    if not any(entry.files or entry.status for entry in entries):
        raise ReelbookError(
            "No row of this table has a file or a status, so there is nothing to report. Keep the columns output_video and status in it."
        )
    return groups


def _service(table: pd.DataFrame) -> str | None:
    told = table.attrs.get("reelbook")
    found = told.get("service") if isinstance(told, dict) else None
    return str(found) if found else None
