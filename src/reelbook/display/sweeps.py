"""A sweep while somebody waits for it: in a notebook in its cell, in a terminal on one line, elsewhere nothing."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .live import UPDATE_SECONDS, kernel_shell, updated
from .panels import HINT, panel_bundle, panel_line

if TYPE_CHECKING:
    from ..sweeps.job import SweepJob


@contextmanager
def watch_job(job: SweepJob) -> Iterator[None]:
    """Show a sweep while the block lasts."""
    if kernel_shell() is not None:
        with updated(lambda: panel_bundle(job.progress, hint=HINT), lambda _: panel_bundle(job.progress)) as show:
            try:
                yield
            except KeyboardInterrupt:
                # What is paid for goes on, and the panel with it, also after its cell has ended.
                job.on_change(lambda job: show(panel_bundle(job.progress)))
                raise
    elif sys.stderr is not None and sys.stderr.isatty():
        with _line(job):
            yield
    else:
        yield


@contextmanager
def _line(job: SweepJob) -> Iterator[None]:
    """One line of a terminal, written over and over, that stays when the sweep ends."""
    over = threading.Event()

    def write(end: str = "") -> None:
        sys.stderr.write(f"\r\x1b[K{panel_line(job.progress)[: shutil.get_terminal_size().columns - 1]}{end}")
        sys.stderr.flush()

    def keep_up() -> None:
        while not over.wait(UPDATE_SECONDS):
            write()

    ticker: Any = threading.Thread(target=keep_up, name="reelbook-progress", daemon=True)
    ticker.start()
    try:
        yield
    finally:
        over.set()
        ticker.join()
        write("\n")
