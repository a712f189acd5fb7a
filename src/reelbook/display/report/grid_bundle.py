"""A grid of the clips of a table in a notebook: posters to read without scripts, and players on one clock with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...errors import ReelbookError
from ...media.frame_index import FrameIndex, read_frame_index
from ...media.local_file import LocalFile
from ...settings import options
from ...sweeps.table_files import find_paths, get_group
from ..embedding import MAX_FULL_BYTES, data_uri
from ..formatting import join_with_dots
from ..tables import table_html
from ..tables.table_html import format_table, render_table_markup
from ..theme import render_script, render_style
from .clip_grid import SCRIPT, STYLES, ClipGrid
from .report_entries import ModelRuns, ReportRun, group_entries, with_unique_index
from .report_media import MAX_CLIP_BYTES, MAX_CLIP_SIDE, prepare_media

if TYPE_CHECKING:
    import pandas as pd

MAX_CELLS = 200
"""Runs in one grid; a page with more posters is heavy, and no one compares so many clips."""
POSTER_SIDES = ((12, 320), (24, 256), (64, 192), (MAX_CELLS, 128))
"""The longest side of a poster in a grid of at most so many files, so that a saved notebook stays below a megabyte."""
TABLE = Markup('<details class="rb-grid-table"><summary>Table</summary>{}</details>')
EMPTY = "This table has no rows, so there is nothing to look at. Filter it less, or run the sweep first."


@dataclass
class NotebookMedia:
    """Posters in the notebook; clips come from the kernel, unless `rb.options.embed` asks for copies in the notebook."""

    longest: int
    embed: str
    room: int = MAX_FULL_BYTES

    def add_clip(self, file: LocalFile, entry: ReportRun) -> tuple[str, FrameIndex | None] | None:
        """No address, or that of a preview as a `data:` URI while there is room."""
        from ...media.previews import get_preview

        small = (
            get_preview(file.path, longest=MAX_CLIP_SIDE, max_bytes=MAX_CLIP_BYTES) if self.embed != "poster" else None
        )
        if small is None or len(small) > self.room:
            return "", None
        self.room -= len(small)
        return data_uri("video/mp4", small), read_frame_index(small)

    def add_picture(self, file: LocalFile, entry: ReportRun, content: bytes) -> str:
        """The picture as a `data:` URI."""
        return data_uri("image/jpeg", content)

    def add_original(self, file: LocalFile, entry: ReportRun) -> str:
        """Empty, because a notebook has no folder of its own."""
        return ""


def make_clip_grid(
    table: pd.DataFrame, *, key: str = "", view: str = "grid", parts: Mapping[str, str | None] | None = None
) -> ClipGrid:
    """The grid of a table; `parts` are the columns for `rows`, `cols` and `tabs`."""
    if table.empty:
        raise ReelbookError(EMPTY)
    head = with_unique_index(table).head(MAX_CELLS)
    groups = _group_runs(head, {name: column for name, column in (parts or {}).items() if column})
    entries = [entry for group in groups for entry in group.entries]
    files = sum(len(entry.files) for entry in entries)
    longest = next(side for most, side in POSTER_SIDES if files <= most or most == MAX_CELLS)
    media, _ = prepare_media(entries, NotebookMedia(longest, options.embed))
    notes = f"These are the first {MAX_CELLS:,} of {len(table):,} runs." if len(table) > MAX_CELLS else ""
    axes = " × ".join(axis.name for group in groups[:1] for axis in group.axes)
    summary = join_with_dots(format_table(head), axes)
    picks = get_group(table)
    rows = TABLE.format(render_table_markup(head, key=key, group=picks))
    return ClipGrid(groups, media, key, view, has_recipes=False, summary=summary, table=rows, notes=notes, picks=picks)


def grid_bundle(grid: ClipGrid) -> dict[str, Any]:
    """The grid as an output of a cell: HTML and a line of text, by MIME type."""
    style, script = render_style(*STYLES, *table_html.STYLES), render_script(SCRIPT)
    html = Markup("").join([style, grid.markup, script])
    return {"text/plain": f"{grid.summary} · clips on one clock in a notebook", "text/html": str(html)}


def _group_runs(table: pd.DataFrame, parts: Mapping[str, str]) -> Sequence[ModelRuns]:
    groups = group_entries(table, list(find_paths(table)))
    for group in groups:
        group.parts.update(parts)
        # Now and not in a thread: a column that does not vary is an error of the call.
        assert group.layout is not None
    return groups
