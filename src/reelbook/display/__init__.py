"""Pictures of values: pure functions from values to HTML, hung into IPython from here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

HTML = {
    ("reelbook.media.local_file", "LocalFile"): ("figure", "file_figure"),
    ("reelbook.models.base", "Input"): ("input_card", "input_card"),
    ("reelbook.models.base", "Output"): ("output_card", "output_card"),
    ("reelbook.models.service_file", "File"): ("output_card", "file_card"),
    ("reelbook.models.pricing", "Estimate"): ("price_table", "estimate_table"),
    ("reelbook.client", "Client"): ("client_card", "client_card"),
    ("reelbook.models.model_list", "Models"): ("models_table", "models_table"),
    ("reelbook.storage.library", "Library"): ("library_card", "library_card"),
    ("reelbook.storage.prune", "Pruned"): ("library_card", "pruned_card"),
    ("reelbook.storage.uncertain", "Uncertainties"): ("library_card", "uncertain_table"),
    ("reelbook.media.metadata.provenance", "Provenance"): ("provenance_table", "provenance_table"),
    ("reelbook.settings", "Options"): ("options_table", "options_table"),
    ("reelbook.sweeps.results.cost", "Costs"): ("cost_chart", "costs_html"),
    ("reelbook.sweeps.results.metrics_table", "Metrics"): ("metrics_list", "metrics_html"),
    ("reelbook.sweeps.plan.plan", "Plan"): ("plan_card", "plan_card"),
}
"""Where a type is, by name, so that nothing is imported before it is shown; and what draws it."""
JPEG = {
    ("reelbook.media.local_file", "LocalFile"): ("strip_html", "strip"),
    ("reelbook.models.base", "Output"): ("output_card", "output_strip"),
}
LINES = {
    ("reelbook.media.local_file", "LocalFile"): ("run_text", "file_line"),
    ("reelbook.models.service_file", "File"): ("output_card", "file_line"),
    ("reelbook.sweeps.results.accessor", "Reel"): ("tables.table_html", "reel_line"),
}
"""The same for pictures, and for the one line that is left where nothing else is shown."""


NOTEBOOK_LINES = {
    ("reelbook.media.local_file", "LocalFile"): ("run_text", "short_file_line"),
    ("reelbook.media.metadata.provenance", "Provenance"): ("provenance_table", "provenance_line"),
    ("reelbook.models.base", "Output"): ("output_card", "output_line"),
    ("reelbook.sweeps.plan.plan", "Plan"): ("plan_card", "plan_line"),
}
"""Of what a terminal shows at length, because it has no other form there."""


def register(shell: Any) -> None:
    """Teach a shell to show our values."""
    formatter = shell.display_formatter
    html, jpeg, plain = (formatter.formatters[kind] for kind in ("text/html", "image/jpeg", "text/plain"))
    if hasattr(shell, "kernel"):  # In a terminal a run is its line of text, and an error has all its frames.
        # Not as HTML: a run that its cell has shown while it waited is not shown again as the cell's value.
        formatter.ipython_display_formatter.for_type_by_name("reelbook.runs.run", "Run", _late("run_progress", "show"))
        _late("error_card", "hang")(shell)
    html.for_type_by_name(
        "reelbook.sweeps.execute.job", "SweepJob", lambda job: _late("sweep_panel", "panel_html")(job.progress)
    )
    for table, of_kind in ((HTML, html), (JPEG, jpeg)):
        for (module, name), (home, draw) in table.items():
            of_kind.for_type_by_name(module, name, _late(home, draw))
    for (module, name), (home, draw) in {**LINES, **(NOTEBOOK_LINES if hasattr(shell, "kernel") else {})}.items():
        plain.for_type_by_name(module, name, _line(_late(home, draw)))


def _late(home: str, name: str) -> Callable[[Any], Any]:
    """A function of one of our modules, which is imported when it is first called."""

    def draw(value: Any) -> Any:
        return getattr(import_module(f".{home}", __name__), name)(value)

    return draw


def _line(draw: Callable[[Any], str]) -> Callable[[Any, Any, bool], None]:
    """For a value by itself; inside a list it is its `repr`, as Python has it."""

    def write(value: Any, printer: Any, cycle: bool) -> None:
        printer.text(draw(value) if len(printer.stack) < 2 else repr(value))

    return write
