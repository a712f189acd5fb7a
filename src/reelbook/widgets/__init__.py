"""Widgets, which need the kernel while displayed: buttons, forms and viewers, each module with its script beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..display.original_links import set_link_provider
from ..util import registry
from .notebook import is_voila

registry.register("reelbook.widgets.grid", "make_job_grid")
registry.register("reelbook.widgets.panel", "Panel", "show_buttons")
registry.register("reelbook.widgets.race_panel", "RacePanel")

RESULT_COLUMNS = frozenset({"status", "credits", "request_id", "input_json"})
"""Columns of every table of results; one without them was taken apart by its user."""


def register(shell: Any) -> None:
    """Register the displays with buttons in a notebook's shell; by name, so that modules are imported at first use."""
    if hasattr(shell, "kernel"):
        formatter = shell.display_formatter.ipython_display_formatter
        if is_voila():
            formatter.for_type_by_name("reelbook.runs.run", "Run", _show_run)
        formatter.for_type_by_name("reelbook.sweeps.job", "SweepJob", _show_job)
        formatter.for_type_by_name("reelbook.decide.race.race", "Race", _show_race)
        formatter.for_type_by_name("reelbook.api.table_accessor", "Reel", _show_table)
        for module in ("pandas", "pandas.core.frame"):  # By its version.
            formatter.for_type_by_name(module, "DataFrame", _show_results)
        formatter.for_type_by_name("reelbook.display.plots.plot_html", "Plot", _show_plot)
        formatter.for_type_by_name("reelbook.media.local_file", "Explorer", _show_explorer)
        formatter.for_type_by_name("reelbook.decide.ratings", "Ratings", _show_ratings)
        set_link_provider(_register_file)


def _show_run(run: Any) -> None:
    from .panel import show_run

    show_run(run)


def _show_job(job: Any) -> None:
    from .panel import show_job

    show_job(job)


def _show_race(race: Any) -> None:
    from .race_panel import show_race

    show_race(race)


def _show_explorer(explorer: Any) -> None:
    from .explorer_link import show_explorer

    show_explorer(explorer)


def _show_ratings(ratings: Any) -> None:
    from .judge import show_judge

    show_judge(ratings)


def _register_file(path: Path | None) -> str:
    from .link import register_file

    return register_file(path)


def _show_table(reel: Any) -> None:
    from .table_clips import show_table

    show_table(reel)


def _show_results(table: Any) -> None:
    """A table of runs with all its columns as `table.reel`; any other table, and a part of the columns, as ever."""
    if not set(table.columns) >= RESULT_COLUMNS or not isinstance(table.attrs.get("reelbook"), dict):
        raise NotImplementedError  # IPython goes on with its other formatters.
    _show_table(table.reel)


def _show_plot(plot: Any) -> None:
    from .table_clips import show_plot

    show_plot(plot)
