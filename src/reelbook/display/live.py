"""A run while it is under way: one line, updated in place, that becomes the result."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from .figure import CAPTION, run_figure, run_strip, status_line

if TYPE_CHECKING:
    from ..runs import Run

Bundle = dict[str, Any]
"""One output, by MIME type."""

UPDATE_SECONDS = 0.25
# What the service says goes on one line, however long it is, so that the cell keeps its height.
LOG_LINE = f"{CAPTION};white-space:nowrap;overflow:hidden;text-overflow:ellipsis;min-height:1.5em"


@contextmanager
def watch(run: Run) -> Iterator[None]:
    """Show the run's progress while the block lasts: in a notebook in its cell, elsewhere nothing."""
    shell = kernel_shell()
    if shell is None:
        yield
        return
    with updated(lambda: progress_bundle(run), lambda stopped: (interrupted_bundle if stopped else final_bundle)(run)):
        yield
    if run.status == "completed":
        run.shown_in = shell.execution_count


@contextmanager
def updated(now: Callable[[], Bundle], left: Callable[[bool], Bundle]) -> Iterator[None]:
    """An output of the cell that keeps up with `now` while the block lasts; `left` is what stays, told whether it was interrupted."""
    from IPython.display import display

    first = now()
    handle: Any = display(first, raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython is untyped here
    over = threading.Event()

    def keep_up() -> None:
        shown = first
        while not over.wait(UPDATE_SECONDS):
            if (bundle := now()) != shown:
                shown = bundle
                handle.update(bundle, raw=True)

    # A thread of its own, not the runs': a slow page must not hold up the conversation with the service.
    ticker = threading.Thread(target=keep_up, name="reelbook-progress", daemon=True)
    ticker.start()
    stopped = False
    try:
        yield
    except KeyboardInterrupt:
        stopped = True
        raise
    finally:
        over.set()
        ticker.join()
        handle.update(left(stopped), raw=True)


def show(run: Run) -> None:
    """Show a run as the value of a cell; nothing where this very cell has shown it already, while it waited."""
    shell = kernel_shell()
    if shell is not None and run.shown_in == shell.execution_count:
        return
    from IPython.display import display

    display(final_bundle(run), raw=True)  # type: ignore[no-untyped-call]  # IPython is untyped here


def progress_bundle(run: Run) -> dict[str, str]:
    """Where the run stands: a line, a bar, and the last thing that the service said."""
    line, (fraction, _) = status_line(run), run.progress
    last = run.logs[-1] if run.logs else ""
    html = Markup(
        '<div style="max-width:640px;font-variant-numeric:tabular-nums"><div>{}</div>'
        '<progress max="1"{} aria-label="progress" style="display:block;width:100%;margin:6px 0 0"></progress>'
        '<div style="{}">{}</div></div>'
    ).format(line, Markup(' value="{:.3f}"').format(fraction) if fraction else "", LOG_LINE, last)
    return {"text/plain": line, "text/html": str(html)}


def interrupted_bundle(run: Run) -> dict[str, Any]:
    """What stays in the cell after an interrupt: it ended the waiting, not the run, which is paid for."""
    if run.status in ("completed", "failed", "cancelled"):
        return final_bundle(run)
    again = f'rb.attach("{run.request_id}", model="{run.endpoint_id}")'
    words = "You stopped waiting; the run goes on. Pick it up again, to wait for it or to cancel it:"
    html = Markup('<p style="margin:4px 0">{} · {}<br><code>{}</code></p>').format(status_line(run), words, again)
    return {"text/plain": f"{status_line(run)} · {words} {again}", "text/html": str(html)}


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
