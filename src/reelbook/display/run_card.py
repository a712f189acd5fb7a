"""A run as it is shown: under way as a line with a bar, finished as its files, failed as a card that says what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..errors import Problem, ReelbookError, RunCancelled, RunFailed
from ..models.base import Input
from ..models.images import pictures_of
from ..settings import options
from . import run_text
from .fact_table import SMALL, card, code_block, fact_table, heading, small, state_words
from .figure import GAP, ROW, common, figure, page
from .formatting import MARKS, cut, duration, format_credits, joined
from .input_code import run_code
from .run_text import Told, status_line
from .strip_html import strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..media.local_file import LocalFile
    from ..runs.run import Run

MAX_REASON, LONGEST_LINE, LONGEST_FAULT = 900, 110, 50
# What the service says goes on one line, however long it is, so that the cell keeps its height.
LOG_LINE = f"{SMALL};white-space:nowrap;overflow:hidden;text-overflow:ellipsis;min-height:1.5em"
PROGRESS = Markup(
    '<div>{}</div><progress max="1"{} aria-label="progress" style="display:block;width:100%;margin:6px 0 0"></progress>'
    '<div style="{}"><bdi>{}</bdi></div>'
)
PICTURES = ("image_load_error", "file_download_error")
PROMPTS = ("content_policy_violation",)


def run_figure(run: Run, *, many: bool = False) -> str:
    """A run in whatever state it is; `many` says that others are shown beside it."""
    if run.status in ("failed", "cancelled", "unfinished"):
        return failed_card(run)
    if run.status != "completed":
        return progress_card(run)
    known, width = run_text.of_run(run), options.max_width
    if len(run.media) == 1:
        return page(figure(run.media[0], known, width=width, many=many))
    return page(several(run.media, known, width=width))


def several(media: Sequence[LocalFile], known: Told, *, width: int) -> Markup:
    """Files of one run in rows, and what they have in common."""
    figures = [figure(file, known, width=width, many=True, is_alone=False) for file in media]
    return ROW.format(width, GAP, Markup("").join(figures)) + common(known, width=width)


def run_strip(run: Run) -> bytes | None:
    """The frames of a run's first file as one picture, for places that show no HTML."""
    if run.status != "completed" or not run.media:
        return None
    try:
        return strip(run.media[0])
    except ReelbookError:
        return None


def progress_card(run: Run) -> str:
    """Where a run stands: a line, a bar, and the last thing that the service said."""
    fraction, _ = run.progress
    last = cut(run.logs[-1], 400) if run.logs else ""
    value = Markup(' value="{:.3f}"').format(fraction) if fraction else ""
    words = state_words(run.status, status_line(run).partition(" ")[2])
    return card(PROGRESS.format(words, value, LOG_LINE, last), width=options.max_width)


def failed_card(run: Run) -> str:
    """A run without a result: why, which value was at fault, what it cost, and what to do next."""
    title = state_words(run.status, joined(run.status, kind_in_words(run)))
    advice, code = next_step(run)
    parts = [heading(title), fact_table(failure_facts(run)), small(advice)]
    return card(*parts, *([code_block(code)] if code else []), width=options.max_width)


def failed_line(run: Run) -> str:
    """The same on one line."""
    faults = [cut(f"{name} = {value}", LONGEST_FAULT) for name, value in blamed(run)[:1]]
    reason = run.failure.message if isinstance(run.failure, RunFailed) else str(run.failure)
    why = ": ".join(part for part in (f"{MARKS[run.status]} {run.status}", kind_in_words(run), reason) if part)
    return joined(cut(why, LONGEST_LINE), *faults, _cost(run))


def failure_facts(run: Run) -> list[tuple[str, str]]:
    """What there is to know about a failure."""
    reason = run.failure.message if isinstance(run.failure, RunFailed) else str(run.failure or "")
    facts = [("why", cut(reason, MAX_REASON)), *((f"input: {name}", value) for name, value in blamed(run))]
    facts += [("credits", _cost(run)), ("time", duration(run.timings["total"]))]
    facts += [("model", cut(run.endpoint_id, 200)), ("request", cut(run.request_id, 200))]
    facts += [("last words", cut(line, 300)) for line in run.logs[-1:]]
    return [(name, value) for name, value in facts if value]


def kind_in_words(run: Run) -> str:
    """The kind of a failure, such as `image load error`."""
    kind = getattr(run.failure, "error_type", None)
    return cut(str(kind).replace("_", " "), 60) if kind else ""


def blamed(run: Run) -> list[tuple[str, str]]:
    """The fields of the input that a failure is about, with their values: those it names, else those of its kind."""
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
    if not named and failure.error_type in PROMPTS:
        named = [name for name in ("prompt", "negative_prompt") if name in request.changed()]
    return [(name, run_text.text_of({**values, **pictures}[name])) for name in named[:3]]


def next_step(run: Run) -> tuple[str, str]:
    """What to do about a failure, in words and in code."""
    request = run.input if isinstance(run.input, Input) else None
    again = run_code(request) if request else ""
    if isinstance(run.failure, RunCancelled):
        return ("Run it again when you like:" if again else "Run it again when you like."), again
    if isinstance(run.failure, RunFailed):
        if faults := blamed(run):
            return f"Change `{faults[0][0]}` and run it again:", again
        return ("Run it again:" if again else "Run it again with an input of yours."), again
    # Whatever else went wrong, it was not the run, which is paid for.
    code = run_text.attach_code(run.request_id, run.endpoint_id)
    return ("Pick the run up again, at no cost:" if code else "Run the same again."), code


def _cost(run: Run) -> str:
    if run.credits == 0:
        return "not charged"
    return joined(format_credits(run.credits, run.credits_source), "" if run.credits is None else run.credits_source)
