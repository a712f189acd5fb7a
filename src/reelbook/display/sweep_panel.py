"""A plan as a card, and its sweep as a panel: a bar, figures, the latest results, and failures by reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..media.posters import make_thumbnail
from ..sweeps.plan_summary import format_notes, format_price, format_run_count, format_spending, list_axes
from .embedding import data_uri
from .formatting import format_duration, format_late_note, join_with_dots, shorten
from .original_links import render_open_attributes, render_posters
from .report.layout import format_named_value
from .theme import render

if TYPE_CHECKING:
    from ..sweeps.plan import Plan, Row
    from ..sweeps.progress import Known, Progress

FIRST_ROWS, MAX_COLUMNS, MAX_VALUE_LENGTH = 5, 6, 40
Bundle = dict[str, Any]
POSTERS, POSTER_WIDTH, POSTER_HEIGHT, DENSITY = 6, 113, 64, 1.5
"""Posters displayed during a run, the size of a poster in pixels, and the pixels of its picture for each of them."""
MAX_POSTER_BYTES = 60_000
"""Maximum bytes of all posters of one panel in the notebook."""
MAX_TEXT_LENGTH = 300
STATES = {
    "completed": ("#1a7f37", "--rb-good"), "running": ("#0b62c4", "--rb-accent"), "waiting": ("#0b62c4", "--rb-accent"),
    "failed": ("#c1242c", "--rb-bad"), "unfinished": ("#9a6700", "--rb-warn"), "uncertain": ("#9a6700", "--rb-warn"),
    "cancelled": ("#57606a", "--rb-soft"), "impossible": ("#57606a", "--rb-soft"), "not started": ("transparent", "--rb-none"),
}  # fmt: skip
"""The states of runs in the order of the bar, with a colour for pages without ours, and the variable of the colour."""
HINT = "Interrupt the cell to stop sending. start(…) in place of run(…) does the same with buttons, and leaves the notebook free."


def plan_card(plan: Plan, known: Known | None = None) -> str:
    """The card of a plan; what the library knows is given for a reader who has no `plan` to look at."""
    is_in_code = known is None
    known = plan.known if known is None else known
    names = [*plan.columns[:MAX_COLUMNS], "credits"]
    rows = plan.rows[:FIRST_ROWS] if plan.columns and len(plan) > 1 else ()
    return str(
        render(
            "plan.html",
            runs=format_run_count(plan),
            price=format_price(plan, known),
            axes=list_axes(plan, 400),
            notes=format_notes(plan),
            names=["run", *(shorten(name, MAX_VALUE_LENGTH) for name in names)],
            rows=[[row.number, *(_get_cell(row, name) for name in names)] for row in rows],
            more=f" · plan.frame has all {len(plan):,}" if is_in_code and len(plan) > FIRST_ROWS else "",
        )
    )


def format_plan(plan: Plan) -> str:
    """Runs, model and price of a plan on one line."""
    return join_with_dots(format_run_count(plan), *format_price(plan, plan.known))


def _get_cell(row: Row, name: str) -> Any:
    """A number, else the text of a value."""
    if name == "credits" and row.input is None:
        return "✕ impossible"
    value = row.credits if name == "credits" and name not in row.given else row[name]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number else "" if value is None else shorten(value, MAX_VALUE_LENGTH)


def panel_bundle(progress: Progress, *, hint: str = "") -> Bundle:
    """The progress of a sweep as text and as a panel; the panel needs no script and stays in a saved notebook."""
    return {"text/plain": format_panel(progress), "text/html": render_panel(progress, hint=hint)}


def format_panel(progress: Progress) -> str:
    """The progress of a sweep on one line."""
    return join_with_dots(
        f"{progress.finished:,} of {progress.total:,}",
        progress.waits,
        *(words for _, words in _list_counts(progress)),
        *format_spending(progress),
        *_format_time(progress),
    )


def render_panel(progress: Progress, *, hint: str = "") -> str:
    """The panel: counts, credits, time, the latest results, and failures by reason."""
    return str(
        render(
            "sweep.html",
            progress=progress,
            facts=[*format_spending(progress), *_format_time(progress)],
            bar=STATES,
            legend=_list_counts(progress),
            film=_film(progress),
            late="" if progress.state == "done" else format_late_note("sweep", progress.state),
            hint=hint if progress.state in ("running", "preparing") else "",
        )
    )


def _list_counts(progress: Progress) -> list[tuple[str, str]]:
    """The state and words of each count."""
    found = [(name, f"{count:,} {name}") for name in STATES if (count := progress.counts.get(name))]
    if progress.from_library:
        found.insert(1, ("from library", f"{progress.from_library:,} of them from the library"))
    return found


def _film(progress: Progress) -> Markup:
    """Results as posters: the latest during the run, in reserved space for a stable layout, then all that fit."""
    is_moving = progress.state in ("preparing", "running", "stopping")
    # What is the same in all of them says nothing of any.
    names = dict.fromkeys(name for result in progress.results for name in result.values)
    varying = [name for name in names if len({repr(result.values.get(name)) for result in progress.results}) > 1]
    room, posters = MAX_POSTER_BYTES, []
    for result in progress.results[: POSTERS if is_moving else None]:
        size = round(DENSITY * POSTER_WIDTH), round(DENSITY * POSTER_HEIGHT)
        picture = make_thumbnail(result.path, *size, quality=55)
        room -= len(picture or b"")
        if picture is not None and room >= 0:
            values = {name: value for name, value in result.values.items() if not varying or name in varying}
            words = (format_named_value(name, value) for name, value in values.items() if value is not None)
            name = shorten(join_with_dots(*words) or f"run {result.number}", MAX_TEXT_LENGTH)
            opens = "" if is_moving else render_open_attributes(result.path)
            posters.append({"name": name, "address": data_uri("image/jpeg", picture), "opens": opens})
    if not posters and not is_moving:
        return Markup("")
    film = render(
        "film.html",
        posters=posters,
        width=POSTER_WIDTH,
        height=POSTER_HEIGHT,
        notes=_format_result_count(len(posters), progress.counts.get("completed", 0), is_moving),
    )
    # It is redrawn while the sweep runs, which would remove an open clip.
    return film if is_moving else render_posters(film)


def _format_result_count(displayed: int, total: int, is_moving: bool) -> list[str]:
    """How many of the results are displayed, and where the others are."""
    if is_moving:
        return [f"{displayed} of {total:,} results" if 0 < displayed < total else ""]
    return [
        f"{displayed} of {total:,} results" if displayed < total else "",
        "display their table to play, sort and compare all of them" if total > 1 else "",
    ]


def _format_time(progress: Progress) -> list[str]:
    """Elapsed time, state, speed, and remaining time."""
    found = [format_duration(progress.elapsed)]
    if progress.state in ("paused", "stopping", "preparing"):
        found.append(progress.state)
    if progress.per_minute and progress.state == "running":
        found.append(f"{progress.per_minute:.0f} a minute")
    if progress.seconds_left is not None and progress.state == "running":
        found.append(f"about {format_duration(progress.seconds_left)} left")
    return found
