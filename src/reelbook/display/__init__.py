"""Pictures of values: pure functions from values to HTML, hung into IPython from here."""

from __future__ import annotations

from typing import Any


def register(shell: Any) -> None:
    """Teach a shell to show our values. By name, so that nothing is imported before it is shown."""
    formatter = shell.display_formatter
    html, jpeg = formatter.formatters["text/html"], formatter.formatters["image/jpeg"]
    if hasattr(shell, "kernel"):  # In a terminal a run is its line of text.
        # Not as HTML: a run that its cell has shown while it waited is not shown again as the cell's value.
        formatter.ipython_display_formatter.for_type_by_name("reelbook.runs", "Run", _show_run)
    html.for_type_by_name("reelbook.media.local", "LocalFile", _file_html)
    jpeg.for_type_by_name("reelbook.media.local", "LocalFile", _file_jpeg)
    html.for_type_by_name("reelbook.models.pricing", "Estimate", _estimate_html)
    html.for_type_by_name("reelbook.clients", "Client", _client_html)
    html.for_type_by_name("reelbook.libraries.library", "Library", _library_html)
    html.for_type_by_name("reelbook.libraries.uncertain", "Uncertainties", _uncertain_html)
    html.for_type_by_name("reelbook.sweeps.plan", "Plan", _plan_html)
    html.for_type_by_name("reelbook.sweeps.job", "SweepJob", _job_html)
    html.for_type_by_name("reelbook.media.provenance", "Provenance", _provenance_html)


def _show_run(run: Any) -> None:
    from .live import show

    show(run)


def _file_html(file: Any) -> str:
    from .figure import file_figure, measures

    return file_figure(file, *measures(file))


def _file_jpeg(file: Any) -> bytes:
    from .figure import strip

    return strip(file)


def _client_html(client: Any) -> str:
    from .clients import client_card

    return client_card(client)


def _library_html(library: Any) -> str:
    from .libraries import library_card

    return library_card(library)


def _uncertain_html(uncertain: Any) -> str:
    from .libraries import uncertain_table

    return uncertain_table(uncertain)


def _plan_html(plan: Any) -> str:
    from .sweeps import plan_card

    return plan_card(plan)


def _job_html(job: Any) -> str:
    from .sweeps import panel_html

    return panel_html(job.progress)


def _provenance_html(provenance: Any) -> str:
    from .provenance import provenance_table

    return provenance_table(provenance)


def _estimate_html(estimate: Any) -> str:
    from .prices import estimate_table

    return estimate_table(estimate)
