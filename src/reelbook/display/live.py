"""A run while it is under way: one line, updated in place, that becomes the result."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from .figure import run_figure, run_strip, status_line

if TYPE_CHECKING:
    from ..runs import Run

UPDATE_SECONDS = 0.25


@contextmanager
def watch(run: Run) -> Iterator[None]:
    """Show the run's progress while the block lasts: in a notebook in its cell, elsewhere nothing."""
    shell = kernel_shell()
    if shell is None:
        yield
        return
    from IPython.display import display

    bundle = {"text/plain": status_line(run), "text/html": _line(run)}
    handle: Any = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython is untyped here
    over = threading.Event()

    def keep_up() -> None:
        shown = ""
        while not over.wait(UPDATE_SECONDS):
            if (line := status_line(run)) != shown:
                shown = line
                handle.update({"text/plain": line, "text/html": _line(run)}, raw=True)

    # A thread of its own, not the run's: a slow page must not hold up the conversation with the service.
    ticker = threading.Thread(target=keep_up, name="reelbook-progress", daemon=True)
    ticker.start()
    try:
        yield
    finally:
        over.set()
        ticker.join()
        handle.update(final_bundle(run), raw=True)
        if run.status == "completed":
            run.shown_in = shell.execution_count


def final_bundle(run: Run) -> dict[str, Any]:
    """What stays in the cell."""
    bundle: dict[str, Any] = {"text/plain": repr(run), "text/html": run_figure(run)}
    picture = run_strip(run)
    return {**bundle, "image/jpeg": picture} if picture else bundle


def kernel_shell() -> Any:
    """The shell of a notebook kernel; None in scripts and terminals."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell if shell is not None and hasattr(shell, "kernel") else None


def _line(run: Run) -> str:
    fraction, _ = run.progress
    return str(
        Markup(
            '<div style="max-width:640px;font-variant-numeric:tabular-nums"><div>{}</div>'
            '<progress max="1" value="{}" style="width:100%"></progress></div>'
        ).format(status_line(run), f"{fraction:.3f}")
    )
