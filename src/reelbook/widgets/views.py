"""What a cell shows of tables and plots, with the connection by which their clips come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..display.tables.table_html import MAX_ROWS, table_bundle
from ..sweeps.table_files import get_group
from .link import TableLink, View

if TYPE_CHECKING:
    import pandas as pd

    from ..display.plots.plot_html import Plot


def view_table(reel: Any, key: str) -> View:
    """A table with its pictures."""
    return _view(reel.table, key, table_bundle(reel.table, key=key, group=get_group(reel.table)))


def view_plot(plot: Plot, key: str) -> View:
    """A plot, whose selection ticks rows of its table."""
    from ..display.plots.plot_html import plot_bundle  # Here, because a table needs no matplotlib.

    return _view(plot.table, key, plot_bundle(plot, key=key, group=get_group(plot.table)))


def _view(table: pd.DataFrame, key: str, bundle: dict[str, Any]) -> View:
    return View(bundle, (lambda: TableLink(key, table, MAX_ROWS)) if len(table) else None)
