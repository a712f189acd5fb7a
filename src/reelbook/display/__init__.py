"""Pictures of values: pure functions from values to HTML, hung into IPython from here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

HTML = {
    ("reelbook.media.local", "LocalFile"): ("figure", "file_figure"),
    ("reelbook.models.base", "Input"): ("inputs", "input_card"),
    ("reelbook.models.base", "Output"): ("files", "output_card"),
    ("reelbook.models.files", "File"): ("files", "file_card"),
    ("reelbook.models.pricing", "Estimate"): ("prices", "estimate_table"),
    ("reelbook.clients", "Client"): ("clients", "client_card"),
    ("reelbook.models.listed", "Models"): ("models", "models_table"),
    ("reelbook.libraries.library", "Library"): ("libraries", "library_card"),
    ("reelbook.libraries.pruning", "Pruned"): ("libraries", "pruned_card"),
    ("reelbook.libraries.uncertain", "Uncertainties"): ("libraries", "uncertain_table"),
    ("reelbook.media.provenance", "Provenance"): ("provenance", "provenance_table"),
    ("reelbook.settings", "Options"): ("choices", "options_table"),
    ("reelbook.sweeps.costs", "Costs"): ("costs", "costs_html"),
    ("reelbook.sweeps.metrics_table", "Metrics"): ("metrics", "metrics_html"),
    ("reelbook.sweeps.plan", "Plan"): ("plans", "plan_card"),
}
"""Where a type is, by name, so that nothing is imported before it is shown; and what draws it."""
JPEG = {
    ("reelbook.media.local", "LocalFile"): ("strips", "strip"),
    ("reelbook.models.base", "Output"): ("files", "output_strip"),
}
LINES = {
    ("reelbook.media.local", "LocalFile"): ("told", "file_line"),
    ("reelbook.models.files", "File"): ("files", "file_line"),
    ("reelbook.sweeps.reel", "Reel"): ("tables", "reel_line"),
}
"""The same for pictures, and for the one line that is left where nothing else is shown."""


NOTEBOOK_LINES = {
    ("reelbook.media.local", "LocalFile"): ("told", "short_file_line"),
    ("reelbook.media.provenance", "Provenance"): ("provenance", "provenance_line"),
    ("reelbook.models.base", "Output"): ("files", "output_line"),
    ("reelbook.sweeps.plan", "Plan"): ("plans", "plan_line"),
}
"""Of what a terminal shows at length, because it has no other form there."""


def register(shell: Any) -> None:
    """Teach a shell to show our values."""
    formatter = shell.display_formatter
    html, jpeg, plain = (formatter.formatters[kind] for kind in ("text/html", "image/jpeg", "text/plain"))
    if hasattr(shell, "kernel"):  # In a terminal a run is its line of text, and an error has all its frames.
        # Not as HTML: a run that its cell has shown while it waited is not shown again as the cell's value.
        formatter.ipython_display_formatter.for_type_by_name("reelbook.runs", "Run", _late("live", "show"))
        _late("errors", "hang")(shell)
    html.for_type_by_name("reelbook.sweeps.job", "SweepJob", lambda job: _late("panels", "panel_html")(job.progress))
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
