"""A sweep while somebody waits for it: in a notebook in its cell, in a terminal on one line, elsewhere nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import original_links
from .run_progress import kernel_shell, updated
from .sweep_panel import HINT, panel_bundle, panel_line
from .terminal_line import is_terminal, line

if TYPE_CHECKING:
    from ..sweeps.execute.job import SweepJob


@contextmanager
def watch_job(job: SweepJob, show_buttons: Callable[[SweepJob], None] = lambda job: None) -> Iterator[None]:
    """Show a sweep while the block lasts; after an interrupt with its buttons, for the kernel is free then."""
    if kernel_shell() is not None:
        original_links.ready()
        with updated(lambda: panel_bundle(job.progress, hint=HINT), lambda _: panel_bundle(job.progress)) as show:
            try:
                yield
            except KeyboardInterrupt:
                # What is paid for goes on, and the panel with it, also after its cell has ended.
                job.stop_sending()
                job.on_change(lambda job: show(panel_bundle(job.progress)))
                if job.progress.queued:
                    show_buttons(job)
                raise
    elif is_terminal():
        with line(lambda: panel_line(job.progress), lambda: panel_line(job.progress)):
            yield
    else:
        yield
