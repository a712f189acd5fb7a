"""The clips of a report or a notebook, arranged by their values: a grid on one clock, or one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...errors import ReelbookError
from ...media.local_file import LocalFile
from ...settings import options
from ...sweeps.table_files import get_group
from ...util.printable import format_count
from ..embedding import MAX_FULL_BYTES
from ..formatting import STATE_SIGNS, join_with_dots, shorten
from ..live import Count, watch_count
from ..table_runs import ModelRuns, group_runs, with_unique_index
from ..tables import table_html
from ..tables.table_columns import format_json
from ..tables.table_html import format_table, render_table_markup
from ..theme import Macros, render_script, render_style
from .media import AddClip, AddedClip, PageMedia, PlayedClip, clips, embed_clip, prepare_media
from .shared_table import make_shareable

if TYPE_CHECKING:
    import pandas as pd

STYLES, SCRIPT = ("clock.css", "clip_grid.css"), "grid.js"
"""The assets of a page with clips, once: `render_style(*STYLES)`, and `render_script(SCRIPT)` after the last grid."""
MAX_REASON_LENGTH = 160
MAX_CELLS = 200
"""Runs in one grid of a notebook; a page with more posters is heavy, and nobody compares more clips."""
POSTER_SIDES = ((12, 320), (24, 256), (64, 192), (MAX_CELLS, 128))
"""The longest side of a poster by the number of files in the grid, so that a saved notebook stays below a megabyte."""
grids = Macros("grid.html")
TABLE = Markup('<details class="rb-grid-table"><summary>Table</summary>{}</details>')
EMPTY = "This table has no rows, so there is nothing to look at. Filter it less, or run the sweep first."


@dataclass(frozen=True)
class ClipGrid:
    """All clips and pictures of a table of runs."""

    groups: Sequence[ModelRuns]
    media: Mapping[Path, PageMedia]
    key: str = ""
    """The key with which the page requests files of a kernel; empty in a page without one."""
    view: str = "grid"
    """What is displayed first: the `grid`, or `one` clip at a time."""
    has_recipes: bool = True
    """Whether the page has the recipe of each run, to which its caption leads."""
    summary: str = ""
    table: str = ""
    """A table of the same rows, below the clips."""
    notes: str = ""
    picks: str = ""
    """The key of the ticks, which all displays of a table share."""

    @property
    def markup(self) -> Markup:
        """The clips with their controls; empty where there is nothing to look at in a report."""
        if self.has_recipes and not any(one.poster or one.clip for one in self.media.values()):
            return Markup("")
        body = Markup("").join(grids.group(self._arrange(group), self.has_recipes) for group in self.groups)
        if played := self.clips:
            body = clips.clock(f"{format_count(len(played), 'clip')} on one clock", body)
        return grids.viewer(self, body)

    @property
    def payload(self) -> Markup:
        """The data for the script."""
        return format_json({"key": self.key, "group": self.picks, "groups": list(map(self._pack_group, self.groups))})

    def make_cell(self, row: int) -> dict[str, Any]:
        """One row as it is in the markup and in its data, for a page that replaces it."""
        group, entry = next((group, one) for group in self.groups for one in group.entries if one.place == row)
        number = group.entries.index(entry)
        html = grids.figures(self._describe(group, number), not group.layout.is_grid, self.has_recipes)
        return {"row": row, "html": str(html), "run": self._pack_group(group)["runs"][number]}

    @property
    def clips(self) -> list[PlayedClip]:
        """Every clip that plays."""
        found = [self.media[file.path].clip for group in self.groups for entry in group.entries for file in entry.files]
        return [clip for clip in found if clip is not None]

    def _pack_group(self, group: ModelRuns) -> dict[str, Any]:
        """What the page needs to know of a model's runs: their axes, and the place on each, label and price of each run."""
        return {
            "model": group.model,
            "axes": [{"name": axis.name, "bare": axis.bare} for axis in group.axes],
            "runs": [
                {
                    "row": entry.place, "codes": [axis.codes[number] for axis in group.axes], "name": entry.name,
                    "label": join_with_dots(*entry.label), "price": entry.price, "state": entry.status,
                }
                for number, entry in enumerate(group.entries)
            ],
        }  # fmt: skip

    def _arrange(self, group: ModelRuns) -> dict[str, Any]:
        """The runs of a model by the axes that are neither rows nor columns, in each part as a grid or in a row."""
        parts: dict[tuple[int, ...], list[int]] = {}
        for number in range(len(group.entries)):
            parts.setdefault(tuple(axis.codes[number] for axis in group.layout.facets), []).append(number)
        head = (group.model or "another model") if len(self.groups) > 1 else ""
        return {"head": head, "parts": [self._arrange_part(group, *part) for part in sorted(parts.items())]}

    def _arrange_part(self, group: ModelRuns, codes: tuple[int, ...], numbers: Sequence[int]) -> dict[str, Any]:
        layout = group.layout
        title = join_with_dots(*(axis.values[code] for axis, code in zip(layout.facets, codes, strict=True)))
        if layout.rows is None or layout.across is None:
            return {"title": title, "lines": [], "runs": [self._describe(group, number) for number in numbers]}
        rows, across = layout.rows, layout.across
        columns = sorted({across.codes[number] for number in numbers})
        cells: dict[tuple[int, int], list[dict[str, Any]]] = {}
        for number in numbers:
            cells.setdefault((rows.codes[number], across.codes[number]), []).append(self._describe(group, number))
        return {
            "title": title,
            "name": f"{rows.name} and {across.name}",
            "heads": [across.values[column] for column in columns],
            "lines": [
                (rows.values[row], [cells.get((row, column), []) for column in columns])
                for row in sorted({row for row, _ in cells})
            ],
        }

    def _describe(self, group: ModelRuns, number: int) -> dict[str, Any]:
        """A run for the template, and its files, or a box in their place."""
        entry = group.entries[number]
        files = [self.media[file.path] for file in entry.files]
        if not files:
            words = (
                f"{STATE_SIGNS.get(entry.status, '')} {entry.status}".strip(),
                shorten(entry.error, MAX_REASON_LENGTH),
            )
            files = [PageMedia(note=join_with_dots(*words))]
        return {"run": entry, "files": files}


# In a notebook: posters to read without scripts, and players with them.


def _make_adding() -> AddClip:
    """A function that adds clips: those of the kernel, unless `rb.options.embed` asks for copies while there is room."""
    room = MAX_FULL_BYTES

    def add_clip(file: LocalFile) -> AddedClip:
        nonlocal room
        added = None if options.embed == "poster" else embed_clip(file)
        if added is None or len(added[0]) > room:
            return "", None
        room -= len(added[0])
        return added

    return add_clip


def make_clip_grid(
    table: pd.DataFrame, *, key: str = "", view: str = "grid", parts: Mapping[str, str | None] | None = None
) -> ClipGrid:
    """The grid of a table; `parts` are the columns for `rows`, `cols` and `tabs`."""
    if table.empty:
        raise ReelbookError(EMPTY)
    head = make_shareable(with_unique_index(table).head(MAX_CELLS))
    groups = group_runs(head)
    for group in groups:
        group.parts.update({name: column for name, column in (parts or {}).items() if column})
        # Now and not in a thread: a column that does not vary is an error of the call.
        assert group.layout is not None
    entries = [entry for group in groups for entry in group.entries]
    files = sum(len(entry.files) for entry in entries)
    longest = next(side for most, side in POSTER_SIDES if files <= most or most == MAX_CELLS)
    with watch_count(Count(0, "files made ready for the grid")) as count:
        media = prepare_media(entries, count, _make_adding(), longest)
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
