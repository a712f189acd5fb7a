"""Pictures of values: pure functions from values to HTML, hung into IPython from here."""

from __future__ import annotations

from typing import Any


def register(shell: Any) -> None:
    """Teach a shell to show our values. By name, so that nothing is imported before it is shown."""
    html = shell.display_formatter.formatters["text/html"]
    jpeg = shell.display_formatter.formatters["image/jpeg"]
    html.for_type_by_name("reelbook.runs", "Run", _run_html)
    jpeg.for_type_by_name("reelbook.runs", "Run", _run_jpeg)
    html.for_type_by_name("reelbook.media.local", "LocalFile", _file_html)
    jpeg.for_type_by_name("reelbook.media.local", "LocalFile", _file_jpeg)
    html.for_type_by_name("reelbook.models.pricing", "Estimate", _estimate_html)


def _run_html(run: Any) -> str | None:
    from .figure import run_figure

    return run_figure(run)


def _run_jpeg(run: Any) -> bytes | None:
    from .figure import run_strip

    return run_strip(run)


def _file_html(file: Any) -> str:
    from .figure import file_figure

    return file_figure(file, str(file.probe))


def _file_jpeg(file: Any) -> bytes:
    from .figure import strip

    return strip(file)


def _estimate_html(estimate: Any) -> str:
    from .figure import estimate_table

    return estimate_table(estimate)
