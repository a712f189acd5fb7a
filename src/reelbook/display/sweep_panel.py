"""The panel of a sweep: a bar, figures, the latest results, and failures by reason."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..media.posters import make_thumbnail
from ..sweeps.money_text import format_spending
from .embedding import data_uri
from .fact_table import render_dotted, render_state
from .formatting import format_duration, join_with_dots, shorten
from .poster_player import render_open_attributes, render_posters
from .report.layout import format_named_value
from .theme import render_style

if TYPE_CHECKING:
    from ..sweeps.progress import Progress, Result

Bundle = dict[str, Any]
POSTERS, FEW, POSTER_WIDTH, POSTER_HEIGHT = 6, 8, 113, 64
"""Posters displayed during a run, the most results drawn at double density, and the size of a poster in pixels."""
FILM_HEIGHT = POSTER_HEIGHT + 18
"""Pixels of a poster with one line below it."""
MAX_POSTER_BYTES = 60_000
"""Maximum bytes of all posters of one panel in the notebook."""
MAX_REASONS, MAX_TEXT_LENGTH = 4, 300
SOFT = "color:var(--rb-soft,inherit);font-size:12px"
STATES = (
    ("completed", "completed", "#1a7f37", "--rb-good"),
    ("running", "running", "#0b62c4", "--rb-accent"),
    ("waiting", "waiting", "#0b62c4", "--rb-accent"),
    ("failed", "failed", "#c1242c", "--rb-bad"),
    ("unfinished", "unfinished", "#9a6700", "--rb-warn"),
    ("uncertain", "uncertain", "#9a6700", "--rb-warn"),
    ("cancelled", "cancelled", "#57606a", "--rb-soft"),
    ("impossible", "impossible", "#57606a", "--rb-soft"),
    ("not started", "not started", "transparent", "--rb-none"),
)
"""The states of runs in the order of the bar: status, word, fallback colour, and the variable of the colour."""
FILM = Markup(
    '<div style="display:flex;gap:4px 8px;flex-wrap:wrap;align-items:flex-start;margin:8px 0 4px;min-height:{}px">{}</div>'
)
POSTER = Markup(
    '<div style="max-width:{}px"><img alt="{}" title="{}" height="{}" style="display:block;height:{}px;width:auto;max-width:100%;'
    'object-fit:cover;border-radius:6px" src="{}"{}><div style="{};display:-webkit-box;-webkit-box-orient:vertical;'
    '-webkit-line-clamp:2;overflow:hidden">{}</div></div>'
)
FAINT = {"waiting": ".45", "impossible": ".45"}
HINT = "Interrupt the cell to stop sending. start(…) in place of run(…) does the same with buttons, and leaves the notebook free."
AFTERWARDS = (
    "It was {state} at {at}. If the kernel has ended since, the sweep ended with it: run its cells again. What is paid for is "
    "fetched, and nothing is paid twice."
)
"""The note on an unfinished sweep, for readers of a saved notebook."""


def panel_bundle(progress: Progress, *, hint: str = "") -> Bundle:
    """The progress of a sweep as text and as a panel; the panel needs no script and stays in a saved notebook."""
    return {"text/plain": format_panel(progress), "text/html": render_panel(progress, hint=hint)}


def format_panel(progress: Progress) -> str:
    """The progress of a sweep on one line."""
    return join_with_dots(
        f"{progress.finished:,} of {progress.total:,}",
        progress.waits,
        *_format_counts(progress),
        *format_spending(progress),
        *_format_time(progress),
    )


def render_panel(progress: Progress, *, hint: str = "", has_film: bool = True) -> str:
    """The panel: counts, credits, time, the latest results, and failures by reason."""
    parts = [
        Markup("<div>{}</div>").format(
            render_dotted(
                [
                    Markup("<b>{}</b>").format(f"{progress.finished:,} of {progress.total:,}"),
                    *format_spending(progress),
                    *_format_time(progress),
                ]
            )
        ),
        _render_waiting(progress),
        _bar(progress),
        Markup('<div style="{}">{}</div>').format(SOFT, _legend(progress)),
        _reason(progress),
        _film(progress) if has_film else Markup(""),
        *(_failure(group.error_type, group.count, group.first, group.example) for group in progress.failures[:MAX_REASONS]),
    ]  # fmt: skip
    if progress.state != "done":
        parts.append(
            # Later than the next picture of a live panel, so that only a saved one says it.
            Markup('<div class="rb-late" style="{};margin-top:4px">{}</div>').format(
                SOFT, AFTERWARDS.format(state=progress.state, at=time.strftime("%H:%M:%S"))
            )
        )
    if hint and progress.state in ("running", "preparing"):
        parts.append(Markup('<div style="{};margin-top:4px">{}</div>').format(SOFT, hint))
    root = '<div class="rb mathjax_ignore tex2jax_ignore" style="max-width:720px;margin:4px 0 8px;font-variant-numeric:tabular-nums;overflow-wrap:anywhere">{}{}</div>'
    return str(Markup(root).format(render_style(), Markup("").join(parts)))


def _bar(progress: Progress) -> Markup:
    """One bar with a segment for each state; the legend has the same figures as text."""
    pieces = [
        # A sanitiser drops declarations that it does not know: of each pair the first remains.
        Markup(
            '<div style="flex-grow:{0};flex:{0} 0 0;height:8px;background:{1};background:var({2},{1});opacity:{3}"></div>'
        ).format(progress.counts[status], plain, colour, FAINT.get(status, "1"))
        for status, _, plain, colour in STATES
        if progress.counts.get(status)
    ]
    return Markup(
        '<div role="progressbar" aria-label="runs that have ended" aria-valuemin="0" aria-valuemax="{}" aria-valuenow="{}" '
        'style="display:flex;gap:1px;height:8px;margin:6px 0;border-radius:4px;overflow:hidden;'
        'border:1px solid var(--rb-line,#d0d7de)">{}</div>'
    ).format(progress.total, progress.finished, Markup("").join(pieces))


def _legend(progress: Progress) -> Markup:
    """Sign, number and word of each state; lines break between states only."""
    entry = Markup('<span style="white-space:nowrap;margin-right:12px">{}</span>')
    words = [
        render_state(status, f"{progress.counts[status]:,} {word}")
        for status, word, *_ in STATES
        if progress.counts.get(status)
    ]
    if progress.from_library:
        words.insert(1, render_state("from library", f"{progress.from_library:,} of them from the library"))
    # Spaces between them, for copied text and pages without the style sheet.
    return Markup(" ").join(map(entry.format, words))


def _reason(progress: Progress) -> Markup:
    if not progress.reason:
        return Markup("")
    word = "Stopped" if progress.state == "done" else "Stopping"
    return Markup('<div style="margin-top:4px">{}: {}</div>').format(word, progress.reason)


def _film(progress: Progress) -> Markup:
    """Results as posters: the latest during the run, in reserved space for a stable layout, then all that fit."""
    is_moving = progress.state in ("preparing", "running", "stopping")
    pictures = list[Markup]()
    # What is the same in all of them says nothing of any.
    names = dict.fromkeys(name for result in progress.results for name in result.values)
    varying = [name for name in names if len({repr(result.values.get(name)) for result in progress.results}) > 1]
    # Fewer pixels for each where there are many.
    room, scale = MAX_POSTER_BYTES, 2.0 if len(progress.results) <= FEW else 1.2
    for result in progress.results[: POSTERS if is_moving else None]:
        picture = make_thumbnail(result.path, round(scale * POSTER_WIDTH), round(scale * POSTER_HEIGHT), quality=55)
        room -= len(picture or b"")
        if picture is not None and room >= 0:
            pictures.append(_poster(result, picture, is_moving, varying))
    if not pictures and not is_moving:
        return Markup("")
    film = FILM.format(FILM_HEIGHT, Markup("").join(pictures)) + _render_result_count(
        len(pictures), progress.counts.get("completed", 0), is_moving
    )
    # It is redrawn while the sweep runs, which would remove an open clip.
    return film if is_moving else render_posters(film)


def _render_result_count(displayed: int, total: int, is_moving: bool) -> Markup:
    """The note on how many of the results are displayed, and where the others are."""
    if is_moving:
        words = [f"{displayed} of {total:,} results" if 0 < displayed < total else ""]
    else:
        words = [
            f"{displayed} of {total:,} results" if displayed < total else "",
            "display their table to play, sort and compare all of them" if total > 1 else "",
        ]
    return Markup('<div style="{}">{}</div>').format(SOFT, render_dotted(words)) if any(words) else Markup("")


def _poster(result: Result, picture: bytes, is_moving: bool, varying: Sequence[str]) -> Markup:
    """The poster of a result, captioned with the values that vary."""
    shown = {name: value for name, value in result.values.items() if not varying or name in varying}
    values = (format_named_value(name, value) for name, value in shown.items() if value is not None)
    name = shorten(join_with_dots(*values) or f"run {result.number}", MAX_TEXT_LENGTH)
    return POSTER.format(
        POSTER_WIDTH, name, name, POSTER_HEIGHT, POSTER_HEIGHT, data_uri("image/jpeg", picture),
        Markup("") if is_moving else render_open_attributes(result.path), SOFT, name,
    )  # fmt: skip


def _failure(name: str, count: int, first: int, example: str) -> Markup:
    return Markup('<div style="{}">{} · {} · run {}: <bdi>{}</bdi></div>').format(
        SOFT, render_state("failed", f"{count:,}"), name.replace("_", " "), first, shorten(example, MAX_TEXT_LENGTH)
    )


def _format_counts(progress: Progress) -> list[str]:
    found = [f"{progress.counts[status]:,} {word}" for status, word, *_ in STATES if progress.counts.get(status)]
    if progress.from_library:
        found.insert(1, f"{progress.from_library:,} of them from the library")
    return found


def _render_waiting(progress: Progress) -> Markup:
    """The reason for waiting; empty unless the service delays the sweep."""
    return Markup("<div>{}</div>").format(render_state("waiting", progress.waits)) if progress.waits else Markup("")


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
