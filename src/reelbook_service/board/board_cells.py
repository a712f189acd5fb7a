"""The cells of the board: what changes on it while it is open, each as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from markupsafe import Markup

from reelbook.models.queue_status import IN_PROGRESS
from reelbook.util.printable import format_count, format_line

from ..class_report import ClassRow, LastResult
from ..queued_request import Request

Cells = dict[str, Markup]

MAX_QUEUED = 12
"""How many runs the queue lists; the others are counted."""
MAX_NAMES = 5
"""How many students are named beside each kind of error."""


def render_cells(row: ClassRow, prompt: str) -> Cells:
    """The cells of one student, by name."""
    return {
        "credits": _credits(row),
        "runs": _runs(row),
        "failures": _failures(row.errors),
        "result": _result(row.last_result, prompt),
        "state": _state(row),
    }


def render_summary(rows: Sequence[ClassRow]) -> Markup:
    """The line of totals."""
    active, paused = sum(row.running + row.queued for row in rows), sum(row.paused for row in rows)
    parts = [
        format_count(len(rows), "student"),
        f"{sum(row.spent for row in rows):,} of {format_count(sum(row.budget for row in rows), 'credit')} spent",
        f"{sum(row.completed for row in rows):,} done",
        f"{active:,} queued or running",
        *([f"{paused:,} paused"] if paused else []),
    ]
    return Markup(" ").join(Markup("<span>{}</span>").format(part) for part in parts)


def render_queue(requests: Iterable[Request]) -> Markup:
    """The runs in progress, then those that wait, in the order of the queue."""
    runs = sorted(requests, key=_waits)
    if not runs:
        return Markup("<p class=soft>No run is queued or running.</p>")
    items = Markup("").join(_queued(request) for request in runs[:MAX_QUEUED])
    rest = len(runs) - MAX_QUEUED
    more = Markup("<li class=soft>and {} more</li>").format(f"{rest:,}") if rest > 0 else ""
    return Markup("<ul>{}{}</ul>").format(items, more)


def render_errors(rows: Sequence[ClassRow]) -> Markup:
    """How often each kind of error happened, and to whom."""
    by_kind: dict[str, list[tuple[int, str]]] = {}
    for row in rows:
        for kind, count in row.errors.items():
            by_kind.setdefault(kind, []).append((count, row.name))
    if not by_kind:
        return Markup("<p class=soft>No run has failed.</p>")
    order = sorted(by_kind, key=lambda kind: (-sum(count for count, _ in by_kind[kind]), kind))
    return Markup("<ul>{}</ul>").format(Markup("").join(_error(kind, by_kind[kind]) for kind in order))


def _error(kind: str, students: list[tuple[int, str]]) -> Markup:
    most = sorted(students, key=lambda pair: (-pair[0], pair[1]))
    names = ", ".join(format_line(name) for _, name in most[:MAX_NAMES])
    rest = f" and {len(most) - MAX_NAMES} more" if len(most) > MAX_NAMES else ""
    return Markup("<li><b class=bad>✕ {}</b> {} <span class=soft>{}{}</span></li>").format(
        f"{sum(count for count, _ in students):,}", format_kind(kind), names, rest
    )


def format_kind(error_type: str) -> str:
    """An error type in words.

    >>> format_kind("content_policy_violation")
    'content policy violation'
    """
    return error_type.replace("_", " ")


def _waits(request: Request) -> bool:
    return request.status != IN_PROGRESS or request.waits_elsewhere


def _queued(request: Request) -> Markup:
    state = "◔ waiting" if _waits(request) else f"◑ {request.progress:.0%}"
    return Markup('<li title="{model}"><b>{state}</b> {name} <span class=soft>{model}</span></li>').format(
        state=state, name=format_line(request.account), model=request.endpoint_id
    )


def _credits(row: ClassRow) -> Markup:
    """What was spent and reserved of the budget, as figures and as a bar."""
    share, held = (min(100.0, 100 * part / row.budget) if row.budget else 0.0 for part in (row.spent, row.reserved))
    held = min(held, 100 - share)
    bar = Markup(
        "<svg class=bar aria-hidden=true width=100% height=6><rect class=ground width=100% height=6 />"
        "<rect class=spent width='{}%' height=6 /><rect class=reserved x='{}%' width='{}%' height=6 /></svg>"
    ).format(f"{share:.1f}", f"{share:.1f}", f"{held:.1f}")
    notes = [
        f"{row.reserved:,} reserved" if row.reserved else "",
        f"filled again {_moment(row.refilled_next)}" if row.refilled_next is not None else "",
        "used up" if row.left <= 0 else "",
    ]
    said = " · ".join(note for note in notes if note)
    more = Markup("<small>{}</small>").format(said) if said else ""
    return Markup("<span class=figure><b>{}</b> of {}</span>{}{}").format(
        f"{row.spent:,}", f"{row.budget:,}", bar, more
    )


def _runs(row: ClassRow) -> Markup:
    counts = (("◑", row.running, "running"), ("◔", row.queued, "waiting"), ("●", row.completed, "done"))
    parts = [
        Markup('<span title="{word}">{sign} {count}<span class=hidden> {word}</span></span>').format(
            sign=sign, count=f"{count:,}", word=word
        )
        for sign, count, word in counts
        if count or word == "done"
    ]
    return Markup(" ").join(parts)


def _failures(errors: Mapping[str, int]) -> Markup:
    return Markup(" ").join(
        Markup("<span class=failure><b class=bad>✕ {}</b> {}</span>").format(f"{count:,}", format_kind(kind))
        for kind, count in errors.items()
    )


def _result(result: LastResult | None, prompt: str) -> Markup:
    """The latest result: its picture, which loads when it is seen, and its prompt; both lead to a page of its own."""
    if result is None:
        return Markup("<span class=soft>none yet</span>")
    caption = Markup("<span class=caption>{}</span><small>{}</small>").format(
        prompt or result.endpoint_id, _moment(result.finished)
    )
    if result.token is None:
        return Markup("<span class=poster></span><span>{}<small>its file is gone</small></span>").format(caption)
    address, kind = f"class/media/{result.request_id}", result.content_type or ""
    if kind.startswith("image/"):
        box = Markup('<img src="{}" alt="" width=96 height=54 loading=lazy decoding=async>').format(address)
    elif kind.startswith("video/"):
        # A browser decodes its first frame, not this process: media of a service elsewhere comes from strangers.
        box = Markup(
            '<video src="{}#t=0.1" width=96 height=54 preload=none muted playsinline tabindex=-1></video>'
        ).format(address)
    else:
        box = Markup("")
    return Markup('<a href="{}" target=_blank title="{}"><span class=poster>{}</span><span>{}</span></a>').format(
        f"class/results/{result.request_id}", prompt or result.endpoint_id, box, caption
    )


def _state(row: ClassRow) -> Markup:
    """Whether the account may start runs, and the button that changes it."""
    action, word = ("resume", "Resume") if row.paused else ("pause", "Pause")
    note = "paused" if row.paused else "" if row.is_open else "outside its time"
    button = Markup('<button name=one value="{}:{}">{}<span class=hidden> {}</span></button>').format(
        action, row.name, word, format_line(row.name)
    )
    return Markup("{}{}").format(Markup("<b class=warn>{}</b> ").format(note) if note else "", button)


def _moment(seconds: float) -> Markup:
    """A moment of the service's own clock: the time today, else the date as well."""
    moment = datetime.fromtimestamp(seconds)
    is_today = moment.date() == datetime.now().date()
    text = moment.strftime("%H:%M" if is_today else "%a %d %b %H:%M")
    return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(timespec="minutes"), text)
