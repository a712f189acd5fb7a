"""A grid of clips in a notebook: posters as static output, clips and ticks over a connection to the kernel."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from IPython.display import display

from ..display.live import new_output
from ..display.report.clip_grid import MAX_CELLS, grid_bundle, make_clip_grid
from ..display.tables.table_html import format_table
from ..errors import ReelbookError
from ..sweeps.table_files import get_ticked, tick
from ..util.notebook import get_kernel_shell
from .link import TableLink, View, show_link
from .notebook import is_page_attached

if TYPE_CHECKING:
    import pandas as pd

    from ..sweeps.job import SweepJob

UPDATE_SECONDS = 0.5
"""Cells of a running sweep are replaced at most so often."""


class Grid:
    """Clips of a table, or of a sweep while it runs, on one clock: in a grid by their values, or one at a time."""

    def __init__(
        self, table: pd.DataFrame, *, view: str = "grid", parts: Mapping[str, str | None], job: SweepJob | None = None
    ) -> None:
        self._table, self._view, self._parts, self._job = table, view, dict(parts), job
        # Now, because a wrong name is an error of this call and not of its display.
        self._grid = make_clip_grid(table, key=secrets.token_urlsafe(16), view=view, parts=parts)
        self._link: TableLink | None = None
        self._output: Any = None
        self._states = _list_states(table)
        self._updated_at = 0.0

    @property
    def table(self) -> pd.DataFrame:
        """The table; of a running sweep as it was at the last update."""
        return self._table

    @property
    def selected(self) -> pd.DataFrame:
        """The ticked rows, in the order of the table."""
        return self._table.iloc[[place for place in get_ticked(self._table) if place < len(self._table)]]

    def __repr__(self) -> str:
        return f"<grid of {format_table(self._table)}>"

    def _ipython_display_(self) -> None:
        if get_kernel_shell() is None:
            display({"text/plain": repr(self)}, raw=True)  # type: ignore[no-untyped-call]
            return
        self._output = new_output(grid_bundle(self._grid))
        if len(self._table) and is_page_attached():
            show_link(self._connect())
        else:
            self._follow()

    def view(self) -> View:
        """What a cell shows of it, outside of IPython."""
        return View(grid_bundle(self._grid), self._connect)

    def _connect(self) -> TableLink:
        self._link = TableLink(self._grid.key, self._table, MAX_CELLS)
        self._follow()
        return self._link

    def _follow(self) -> None:
        # It may have ended since the grid was made, which is some time before its display.
        if self._job is not None and (not self._job.is_done or _list_states(self._job.frame) != self._states):
            self._job.on_change(self._update)

    def _update(self, job: SweepJob) -> None:
        """Replace the cells whose runs have another state; at the end the whole output, for the saved notebook."""
        now = time.monotonic()
        if not job.is_done and now - self._updated_at < UPDATE_SECONDS:
            return
        self._updated_at = now
        table = job.frame
        states = _list_states(table)
        changed = [row for row, state in enumerate(states[:MAX_CELLS]) if state != self._states[row]]
        if not changed and not job.is_done:
            return
        tick(table, get_ticked(self._table))
        self._table, self._states = table, states
        try:
            self._grid = make_clip_grid(table, key=self._grid.key, view=self._view, parts=self._parts)
        except ReelbookError:
            return  # A file that goes meanwhile; the next update says so.
        if self._link is not None:
            self._link.set_table(table)
            self._link.send({"cells": [self._grid.make_cell(row) for row in changed]})
        if job.is_done and self._output is not None:
            self._output.update(grid_bundle(self._grid), raw=True)


def _list_states(table: pd.DataFrame) -> list[str]:
    return [str(state) for state in table["status"]] if "status" in table.columns else [""] * len(table)
