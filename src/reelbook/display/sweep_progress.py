"""Live progress of a sweep that a cell waits for, in a notebook cell or on one line of a terminal, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import original_links
from .run_progress import get_kernel_shell, updating_output
from .sweep_panel import HINT, format_panel, panel_bundle
from .terminal_line import is_terminal, updating_line

if TYPE_CHECKING:
    from ..sweeps.execute.job import SweepJob


@contextmanager
def watch_job(job: SweepJob, show_buttons: Callable[[SweepJob], None] = lambda job: None) -> Iterator[None]:
    """Display a sweep while the block runs; after an interrupt also its buttons, which need an idle kernel."""
    if get_kernel_shell() is not None:
        original_links.prepare_links()
        with updating_output(
            lambda: panel_bundle(job.progress, hint=HINT), lambda _: panel_bundle(job.progress)
        ) as show:
            try:
                yield
            except KeyboardInterrupt:
                # Paid runs continue, and the panel follows them after the cell has ended.
                job.stop_sending()
                job.on_change(lambda job: show(panel_bundle(job.progress)))
                if job.progress.queued:
                    show_buttons(job)
                raise
    elif is_terminal():
        with updating_line(lambda: format_panel(job.progress), lambda: format_panel(job.progress)):
            yield
    else:
        yield
