"""Live progress of a run: one output, updated in place, that becomes the result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from markupsafe import Markup

from ..settings import options
from ..storage.run_status import ENDED
from ..util.notebook import get_kernel_shell
from . import original_links
from .formatting import STATE_SIGNS, format_credits, join_with_dots
from .live import Bundle, LiveOutput, new_output, updater, updating_output
from .run_card import format_failure, progress_card, run_figure, run_strip_jpeg
from .run_text import format_attach_code, format_run, format_status
from .theme import blocks, render_card

if TYPE_CHECKING:
    from ..runs.run import Run

MAX_WITH_CLIPS = 4
"""With more runs in one cell than this, posters are embedded instead of clips."""
GOES_ON = "You stopped waiting; the run continues. To wait for it again, or to cancel it:"

_runs_by_cell: dict[int, int] = {}
"""Number of unfinished runs displayed by each cell."""


@contextmanager
def watch(run: Run) -> Iterator[None]:
    """Display a run's progress during the block, in a notebook cell or on one line of a terminal, and nowhere else."""
    with updating_output(
        lambda: progress_bundle(run),
        lambda is_interrupted: (interrupted_bundle if is_interrupted else final_bundle)(run),
        lambda: format_status(run),
        lambda: format_last_line(run),
    ):
        yield
    if run.status == "completed" and (shell := get_kernel_shell()) is not None:
        run.displayed_in = shell.execution_count


def show(run: Run) -> None:
    """Display a run as the value of a cell, unless this cell has displayed it already while it waited.

    The output of a run under way is updated, also after its cell has ended, and becomes its result.
    """
    shell = get_kernel_shell()
    if shell is not None and run.displayed_in == shell.execution_count:
        return
    if run.status in ENDED or shell is None:
        from IPython.display import display

        display(final_bundle(run), raw=True)  # type: ignore[no-untyped-call]  # IPython is untyped here
        return
    original_links.prepare_links()
    cell = shell.execution_count
    _runs_by_cell[cell] = _runs_by_cell.pop(cell, 0) + 1
    first = progress_bundle(run)
    handle = new_output(first)
    updater.add(
        LiveOutput(
            lambda bundle: handle.update(bundle, raw=True),
            lambda: live_bundle(run, many=_runs_by_cell.get(cell, 1) > MAX_WITH_CLIPS),
            is_over=lambda: run.status in ENDED,
            sent=first,
        )
    )


def live_bundle(run: Run, *, many: bool) -> Bundle:
    """The output of a run in its current state."""
    return final_bundle(run, many=many) if run.status in ENDED else progress_bundle(run)


def progress_bundle(run: Run) -> Bundle:
    """The progress of a run as text and as a card."""
    return {"text/plain": format_status(run), "text/html": progress_card(run)}


def interrupted_bundle(run: Run) -> Bundle:
    """The output after an interrupt, which ends the waiting and not the run: how to attach to the run."""
    if run.status in ENDED:
        return final_bundle(run)
    code = format_attach_code(run.request_id, run.endpoint_id)
    message = Markup("<div>{} · {}</div>").format(format_status(run), GOES_ON)
    html = render_card(message, blocks.code(code), width=options.max_width)
    return {"text/plain": f"{format_status(run)} · {GOES_ON} {code}", "text/html": html}


def final_bundle(run: Run, *, many: bool = False) -> Bundle:
    """The output of a finished run: line, figure or card, and a strip of frames."""
    line = format_run(run) if run.status == "completed" else format_failure(run)
    bundle: Bundle = {"text/plain": line, "text/html": run_figure(run, many=many)}
    picture = run_strip_jpeg(run)
    return {**bundle, "image/jpeg": picture} if picture else bundle


def format_last_line(run: Run) -> str:
    """The line that stays in a terminal; the reason of a failure is in its error."""
    if run.status == "completed":
        files = [str(file.path) for file in run.media[:1]]
        return join_with_dots(format_status(run), format_credits(run.credits, run.credits_source, run.status), *files)
    return f"{STATE_SIGNS[run.status]} {run.status}" if run.status in ENDED else ""
