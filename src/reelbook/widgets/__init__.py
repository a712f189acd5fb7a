"""Widgets, which need the kernel while displayed: buttons, forms and viewers, each module with its script beside it."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from ..display.original_links import set_link_provider
from ..util import registry
from .notebook import is_voila

registry.register("reelbook.widgets.grid", "Grid")
registry.register("reelbook.widgets.panel", "Panel")

RESULT_COLUMNS = frozenset({"status", "credits", "request_id", "input_json"})
"""Columns of every table of results; one without them was taken apart by its user."""


DISPLAYS = (
    ("reelbook.sweeps.job", "SweepJob", "panel", "show_job"),
    ("reelbook.decide.race.race", "Race", "panel", "show_job"),
    ("reelbook.decide.ratings", "Ratings", "judge", "show_judge"),
)
"""Module and name of a type, and which function of which module here displays it; imported at first use."""
VIEWS = (
    ("reelbook.api.table_accessor", "Reel", "link", "view_table"),
    ("reelbook.display.plots.plot_html", "Plot", "link", "view_plot"),
    ("reelbook.media.local_file", "Explorer", "explorer_link", "view_explorer"),
    ("reelbook.storage.library", "Library", "link", "view_library"),
)
"""The same for a function that makes the `View` of a value and a key, with which any notebook displays it."""


def register(shell: Any) -> None:
    """Register the displays with buttons in a notebook's shell."""
    if hasattr(shell, "kernel"):
        formatter = shell.display_formatter.ipython_display_formatter
        run = ("reelbook.runs.run", "Run", "panel", "show_run")
        for module, name, here, function in (*DISPLAYS, *([run] if is_voila() else [])):
            formatter.for_type_by_name(module, name, partial(_call, here, function))
        for module, name, here, function in VIEWS:
            formatter.for_type_by_name(module, name, partial(_show, here, function))
        for module in ("pandas", "pandas.core.frame"):  # By its version.
            formatter.for_type_by_name(module, "DataFrame", _show_results)
        set_link_provider(partial(_call, "link", "register_file"))


def _call(module: str, function: str, *values: Any) -> Any:
    return getattr(import_module(f".{module}", __name__), function)(*values)


def _show(module: str, function: str, value: Any) -> None:
    _call("link", "show_view", partial(_call, module, function), value)


def _show_results(table: Any) -> None:
    """A table of runs with all its columns as `table.reel`; any other table, and a part of the columns, as ever."""
    if not set(table.columns) >= RESULT_COLUMNS or not isinstance(table.attrs.get("reelbook"), dict):
        raise NotImplementedError  # IPython goes on with its other formatters.
    _show("link", "view_table", table.reel)
