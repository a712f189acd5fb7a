"""Displays of a table or a plot whose clips the kernel sends."""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from IPython.display import display

from ..display.tables.table_html import MAX_ROWS, table_bundle
from ..display.tables.table_media import find_files
from ..sweeps.table_files import get_group, get_ticked, tick
from .link import TableFileSender, keep_open
from .notebook import is_jupyter_server, is_page_attached

if TYPE_CHECKING:
    import pandas as pd

    from ..display.plots.plot_html import Plot


def show_table(reel: Any) -> None:
    """Display a table with its pictures as the value of a cell; its clips are sent by the kernel."""
    table = reel.table
    show_with_files(table, lambda key: table_bundle(table, key=key, group=get_group(table)))


def show_plot(plot: Plot) -> None:
    """Display a plot as the value of a cell; its clips are sent by the kernel, and its selection ticks rows of the table."""
    from ..display.plots.plot_html import plot_bundle

    table = plot.table
    show_with_files(table, lambda key: plot_bundle(plot, key=key, group=get_group(table)))


def show_with_files(table: pd.DataFrame, make_bundle: Callable[[str], dict[str, Any]]) -> None:
    """Display what shows the rows of a table, and connect it with the table's files and ticks by a random key."""
    key = secrets.token_urlsafe(16)
    display(make_bundle(key), raw=True)  # type: ignore[no-untyped-call]  # IPython is untyped here
    open_sender(key, find_files(table.head(MAX_ROWS)), table)


def open_sender(key: str, files: Sequence[Sequence[str]], table: pd.DataFrame) -> TableFileSender | None:
    """Connect a display of a table with the kernel, if the cell runs on a page; its ticks are those of the table."""
    if not len(table) or not is_page_attached():
        return None
    sender = make_sender(key, files, table)
    keep_open(sender)
    if not is_jupyter_server():
        sender.show()
    return sender


def make_sender(key: str, files: Sequence[Sequence[str]], table: pd.DataFrame) -> TableFileSender:
    """A sender of a table's files, which ticks its rows. The table is held weakly, because it may be large."""
    table_ref = weakref.ref(table)

    def select(rows: Sequence[int]) -> None:
        if (table := table_ref()) is not None:
            tick(table, rows)

    return TableFileSender(key, files, selected=get_ticked(table), select=select)
