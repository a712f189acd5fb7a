"""Rich display of values: pure functions from values to HTML, registered with IPython here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..util import registry

registry.register("reelbook.display.live", "watch_job")
registry.register("reelbook.display.race_card", "write_race_report")
registry.register("reelbook.display.run_card", "watch")

HTML = {
    ("reelbook.media.local_file", "LocalFile"): ("figure", "file_figure"),
    ("reelbook.models.base", "Input"): ("cards", "input_card"),
    ("reelbook.models.base", "Output"): ("cards", "output_card"),
    ("reelbook.models.catalog", "Estimate"): ("cards", "estimate_table"),
    ("reelbook.client", "Client"): ("cards", "client_card"),
    ("reelbook.client", "Models"): ("cards", "models_table"),
    ("reelbook.storage.library", "Library"): ("cards", "library_card"),
    ("reelbook.storage.library", "Uncertainties"): ("cards", "uncertain_table"),
    ("reelbook.media.metadata.provenance", "Provenance"): ("cards", "provenance_table"),
    ("reelbook.sweeps.tables", "Costs"): ("cost_chart", "render_costs"),
    ("reelbook.sweeps.plan", "Plan"): ("sweep_panel", "plan_card"),
    ("reelbook.decide.ratings", "Ratings"): ("ratings_card", "ratings_card"),
    ("reelbook.decide.race.race", "Race"): ("race_card", "race_card"),
    ("reelbook.display.plots.plot_html", "Plot"): ("plots.plot_html", "render_plot"),
    ("reelbook.display.compare.comparison", "Comparison"): ("compare.comparison_html", "render_comparison"),
}
"""Module and name of a type, to module and name of the function that renders it; imported at the first display."""
JPEG = {
    ("reelbook.media.local_file", "LocalFile"): ("embedding", "strip_jpeg"),
    ("reelbook.models.base", "Output"): ("cards", "output_strip_jpeg"),
    ("reelbook.display.compare.comparison", "Comparison"): ("compare.comparison_html", "render_comparison_jpeg"),
}
"""The same for a JPEG."""
LINES = {
    ("reelbook.media.local_file", "LocalFile"): ("run_text", "format_file"),
    ("reelbook.models.base", "File"): ("cards", "format_file"),
    ("reelbook.api.table_accessor", "Reel"): ("tables.table_html", "format_reel"),
    ("reelbook.display.compare.comparison", "Comparison"): ("compare.comparison_html", "format_comparison"),
}
"""The same for one line of text, for frontends without HTML."""

NOTEBOOK_LINES = {
    ("reelbook.media.local_file", "LocalFile"): ("run_text", "format_file_briefly"),
    ("reelbook.media.metadata.provenance", "Provenance"): ("cards", "format_provenance"),
    ("reelbook.models.base", "Output"): ("cards", "format_output"),
    ("reelbook.sweeps.plan", "Plan"): ("sweep_panel", "format_plan"),
}
"""Lines that are shorter in a notebook than in a terminal, which has no other form of the value."""


def register(shell: Any) -> None:
    """Register the rich display of Reelbook's values with an IPython shell."""
    formatter = shell.display_formatter
    html, jpeg, plain = (formatter.formatters[kind] for kind in ("text/html", "image/jpeg", "text/plain"))
    if hasattr(shell, "kernel"):  # In a terminal a run is its line of text, and an error has all its frames.
        # Not as HTML: a run that its cell has shown while it waited is not shown again as the cell's value.
        formatter.ipython_display_formatter.for_type_by_name(
            "reelbook.runs.run", "Run", _load_later("run_card", "show")
        )
        _load_later("error_card", "install")(shell)
    html.for_type_by_name(
        "reelbook.sweeps.job", "SweepJob", lambda job: _load_later("sweep_panel", "render_panel")(job.progress)
    )
    for table, of_kind in ((HTML, html), (JPEG, jpeg)):
        for (module, name), (owner, render) in table.items():
            of_kind.for_type_by_name(module, name, _load_later(owner, render))
    for (module, name), (owner, render) in {**LINES, **(NOTEBOOK_LINES if hasattr(shell, "kernel") else {})}.items():
        plain.for_type_by_name(module, name, _make_printer(_load_later(owner, render)))


def _load_later(owner: str, name: str) -> Callable[[Any], Any]:
    """A function that imports its module of this package when it is first called."""

    def display_value(value: Any) -> Any:
        return getattr(import_module(f".{owner}", __name__), name)(value)

    return display_value


def _make_printer(format_line: Callable[[Any], str]) -> Callable[[Any, Any, bool], None]:
    """An IPython pretty printer: the line for a value by itself, its `repr` inside a container."""

    def print_line(value: Any, printer: Any, cycle: bool) -> None:
        printer.text(format_line(value) if len(printer.stack) < 2 else repr(value))

    return print_line
