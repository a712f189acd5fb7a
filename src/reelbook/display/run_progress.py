"""A run while it is under way: one output, updated in place, that becomes the result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..settings import options
from . import original_links
from .fact_table import card, code_block
from .formatting import MARKS, format_credits, joined
from .run_card import failed_line, progress_card, run_figure, run_strip
from .run_text import attach_code, run_line, status_line
from .terminal_line import is_terminal, line
from .update_clock import UPDATE_SECONDS, Bundle, Card, Key, ticker

if TYPE_CHECKING:
    from ..runs.run import Run

__all__ = ["UPDATE_SECONDS", "Bundle", "kernel_shell", "show", "updated", "watch"]

FEW = 4
"""So many runs of one cell bring their clips along; where there are more, each brings pictures."""
OVER = ("completed", "failed", "cancelled", "unfinished")
GOES_ON = "You stopped waiting; the run goes on. Pick it up again, to wait for it or to cancel it:"

_shown: dict[int, int] = {}
"""How many runs each of the last cells has shown while they were under way."""


@contextmanager
def watch(run: Run) -> Iterator[None]:
    """Show the run's progress while the block lasts: in a notebook in its cell, in a terminal on one line, elsewhere nothing."""
    shell = kernel_shell()
    if shell is None:
        if not is_terminal():
            yield
            return
        with line(lambda: status_line(run), lambda: last_line(run)):
            yield
        return
    original_links.ready()
    with updated(lambda: progress_bundle(run), lambda stopped: (interrupted_bundle if stopped else final_bundle)(run)):
        yield
    if run.status == "completed":
        run.shown_in = shell.execution_count


@contextmanager
def updated(now: Callable[[], Bundle], left: Callable[[bool], Bundle]) -> Iterator[Callable[[Bundle], object]]:
    """An output of the cell that keeps up with `now` while the block lasts; `left` is what stays, told whether it was interrupted.

    Gives what shows something else in its place, also after the block.
    """
    first = now()
    handle = new_output(first)
    output = Card(
        lambda bundle: handle.update(bundle, raw=True), now, lambda: tuple(now().items()), shown=tuple(first.items())
    )
    ticker.add(output)
    stopped = False
    try:
        yield lambda bundle: handle.update(bundle, raw=True)
    except KeyboardInterrupt:
        stopped = True
        raise
    finally:
        ticker.remove(output)
        handle.update(left(stopped), raw=True)


def show(run: Run) -> None:
    """Show a run as the value of a cell; nothing where this very cell has shown it already, while it waited.

    One that is under way is shown as it goes, also after its cell has ended, and becomes its result.
    """
    shell = kernel_shell()
    if shell is not None and run.shown_in == shell.execution_count:
        return
    if run.status in OVER or shell is None:
        from IPython.display import display

        display(final_bundle(run), raw=True)  # type: ignore[no-untyped-call]  # IPython is untyped here
        return
    original_links.ready()
    cell = shell.execution_count
    _shown[cell] = _shown.pop(cell, 0) + 1
    while len(_shown) > 100:
        del _shown[next(iter(_shown))]
    key = progress_key(run)
    handle = new_output(progress_bundle(run))
    ticker.add(
        Card(
            lambda bundle: handle.update(bundle, raw=True),
            lambda: live_bundle(run, many=_shown.get(cell, 1) > FEW),
            lambda: progress_key(run),
            is_over=lambda: run.status in OVER,
            shown=key,
        )
    )


def progress_key(run: Run) -> Key:
    """What the progress of a run shows, in short. Time alone is worth little: it passes for all runs alike."""
    fraction, stage = run.progress
    return run.status, stage, fraction, len(run.logs), min(int(run.timings["total"]), 10**6) / 10


def live_bundle(run: Run, *, many: bool) -> Bundle:
    """A run as it is now."""
    return final_bundle(run, many=many) if run.status in OVER else progress_bundle(run)


def progress_bundle(run: Run) -> Bundle:
    """Where the run stands, in words and as a card."""
    return {"text/plain": status_line(run), "text/html": progress_card(run)}


def interrupted_bundle(run: Run) -> Bundle:
    """What stays in the cell after an interrupt: it ended the waiting, not the run, which is paid for."""
    if run.status in OVER:
        return final_bundle(run)
    again = attach_code(run.request_id, run.endpoint_id)
    words = Markup("<div>{} · {}</div>").format(status_line(run), GOES_ON)
    html = card(words, code_block(again), width=options.max_width)
    return {"text/plain": f"{status_line(run)} · {GOES_ON} {again}", "text/html": html}


def final_bundle(run: Run, *, many: bool = False) -> Bundle:
    """What stays in the cell."""
    line = run_line(run) if run.status == "completed" else failed_line(run)
    bundle: Bundle = {"text/plain": line, "text/html": run_figure(run, many=many)}
    picture = run_strip(run)
    return {**bundle, "image/jpeg": picture} if picture else bundle


def last_line(run: Run) -> str:
    """What stays in a terminal; why a run failed is told by its error."""
    if run.status == "completed":
        files = [str(file.path) for file in run.media[:1]]
        return joined(status_line(run), format_credits(run.credits, run.credits_source), *files)
    return f"{MARKS[run.status]} {run.status}" if run.status in OVER else ""


def kernel_shell() -> Any:
    """The shell of a notebook kernel; None in scripts and terminals."""
    # Another thread may be half way through that import.
    asked = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = asked() if asked else None
    return shell if shell is not None and hasattr(shell, "kernel") else None


def new_output(bundle: Bundle) -> Any:
    """A new output of the cell, to be updated."""
    from IPython.display import display

    return display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython is untyped here
