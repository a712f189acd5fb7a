"""A run as HTML in any state, and its live output in a cell or a terminal, which becomes its result."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..errors import Problem, ReelbookError, RunCancelled, RunFailed, UncertainRun
from ..models.base import Input
from ..models.images import pictures_of
from ..settings import options
from ..storage.run_status import ENDED, WITHOUT_RESULT
from ..util.notebook import get_kernel_shell
from . import original_links, run_text
from .embedding import strip_jpeg
from .figure import figures, render_media
from .formatting import STATE_SIGNS, format_credits, format_duration, join_with_dots, shorten
from .input_code import format_run_code
from .live import Bundle, LiveOutput, new_output, updater, updating_output
from .run_text import format_attach_code, format_run, format_status
from .theme import blocks, render_card

if TYPE_CHECKING:
    from ..runs.run import Run

MAX_REASON_LENGTH, MAX_LINE_LENGTH, MAX_FAULT_LENGTH = 900, 110, 50
PICTURES = ("image_load_error", "file_download_error")
FIELDS = {"content_policy_violation": ("prompt", "negative_prompt"), "lora_load_error": ("loras",)}
"""The fields that an error of a type is about."""
MAX_WITH_CLIPS = 4
"""With more runs in one cell than this, posters are embedded instead of clips."""
GOES_ON = "You stopped waiting; the run continues. To wait for it again, or to cancel it:"

_runs_by_cell: dict[int, int] = {}
"""Number of unfinished runs displayed by each cell."""


def run_figure(run: Run, *, many: bool = False) -> str:
    """The HTML of a run in any state; `many`: it is displayed among others."""
    if run.status in WITHOUT_RESULT:
        return failed_card(run)
    if run.status != "completed":
        return progress_card(run)
    return render_media(run.media, run_text.describe_run(run), many=many)


def run_strip_jpeg(run: Run) -> bytes | None:
    """Frames of a run's first file as a JPEG, for frontends without HTML; None where there are none."""
    if run.status != "completed" or not run.media:
        return None
    try:
        return strip_jpeg(run.media[0])
    except ReelbookError:
        return None


def progress_card(run: Run) -> str:
    """The status of a run: a line, a bar, and the last log line."""
    last = shorten(run.logs[-1], 400) if run.logs else ""
    status = blocks.state(run.status, format_status(run).partition(" ")[2])
    return render_card(figures.progress(status, run.progress[0], last), width=options.max_width)


def failed_card(run: Run) -> str:
    """The card of a run without a result: reason, blamed fields, cost, and the next step."""
    title = blocks.state(run.status, join_with_dots(run.status, format_error_type(run)))
    advice, code = format_next_step(run)
    facts = blocks.facts(format_failure_facts(run))
    steps = [blocks.small(advice), *([blocks.code(code)] if code else [])]
    return render_card(blocks.heading(title), facts, *steps, width=options.max_width)


def format_failure(run: Run) -> str:
    """A run without a result on one line."""
    faults = [shorten(f"{name} = {value}", MAX_FAULT_LENGTH) for name, value in find_blamed_fields(run)[:1]]
    why = ": ".join(
        part for part in (f"{STATE_SIGNS[run.status]} {run.status}", format_error_type(run), format_reason(run)) if part
    )
    return join_with_dots(shorten(why, MAX_LINE_LENGTH), *faults, _format_cost(run))


def format_failure_facts(run: Run) -> list[tuple[str, str]]:
    """The facts of a failure, without those that are empty."""
    facts = [
        ("why", shorten(format_reason(run), MAX_REASON_LENGTH)),
        *((f"input: {name}", value) for name, value in find_blamed_fields(run)),
    ]
    facts += [("credits", _format_cost(run)), ("time", format_duration(run.timings["total"]))]
    facts += [
        ("made by", run.made_by),
        ("model", shorten(run.endpoint_id, 200)),
        ("request", shorten(run.request_id, 200)),
    ]
    facts += [("last words", shorten(line, 300)) for line in run.logs[-1:]]
    return [(name, value) for name, value in facts if value]


def format_reason(run: Run) -> str:
    """The service's message about a failed run, or why it has no result; empty where it has one."""
    return run.failure.message if isinstance(run.failure, RunFailed) else str(run.failure or "")


def format_error_type(run: Run) -> str:
    """The type of a failure as text, such as `image load error`; empty where there is none."""
    kind = getattr(run.failure, "error_type", None)
    return shorten(str(kind).replace("_", " "), 60) if kind else ""


def find_blamed_fields(run: Run) -> list[tuple[str, str]]:
    """The input fields that a failure is about, with their values: those it names, else those of its type."""
    request, failure = run.input, run.failure
    if not isinstance(request, Input) or not isinstance(failure, RunFailed):
        return []
    values: dict[str, Any] = {name: getattr(request, name) for name in type(request).model_fields}
    pictures: dict[str, Any] = {Problem(place, "", "").field: picture for place, picture in pictures_of(request)}
    message = failure.message[:4000]
    named = [name for name in {**pictures, **values} if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w\[])", message)]
    if not named and failure.error_type in PICTURES:
        meant = [name for name, picture in pictures.items() if str(picture) in message]
        named = meant or list(pictures)
    if not named:
        named = [name for name in FIELDS.get(failure.error_type or "", ()) if name in request.changed()]
    return [(name, run_text.format_value({**values, **pictures}[name])) for name in named[:3]]


def format_next_step(run: Run) -> tuple[str, str]:
    """The advice after a failure, and the code for it."""
    request = run.input if isinstance(run.input, Input) else None
    again = format_run_code(request) if request else ""
    if isinstance(run.failure, RunCancelled):
        return ("Run it again if you like:" if again else "Run it again if you like."), again
    if isinstance(run.failure, RunFailed):
        if faults := find_blamed_fields(run):
            return f"Change `{faults[0][0]}` and run it again:", again
        return ("Run it again:" if again else "Run it again with an input of your own."), again
    if isinstance(run.failure, UncertainRun):
        return "See what waits for your decision:", "rb.library().uncertain"
    # Anything else did not fail the run, which is paid for.
    code = run_text.format_attach_code(run.request_id, run.endpoint_id)
    return ("Follow the run again, at no cost:" if code else "Run the cell again."), code


def _format_cost(run: Run) -> str:
    if run.credits == 0:
        return "not charged"
    return join_with_dots(
        format_credits(run.credits, run.credits_source, run.status), "" if run.credits is None else run.credits_source
    )


# Live progress: one output, updated in place, that becomes the result.


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
