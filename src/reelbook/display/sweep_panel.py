"""A sweep while it runs and after: one bar, one line of figures, what just arrived, and what went wrong."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..media.posters import thumb
from ..sweeps.money_text import money_of
from .embedding import uri
from .fact_table import dotted, state_words
from .formatting import cut, duration, joined
from .poster_player import opens, posters
from .report.layout import worded
from .theme import style

if TYPE_CHECKING:
    from ..sweeps.execute.progress import Progress, Result

Bundle = dict[str, Any]
POSTERS, FEW, POSTER_WIDTH, POSTER_HEIGHT = 6, 8, 113, 64
"""How many posters are shown while it goes on, how many are as fine as screens are, and their size."""
FILM_HEIGHT = POSTER_HEIGHT + 18
"""Of a poster with one line below it."""
MAX_BYTES = 60_000
"""Of the posters that stay in the notebook."""
MAX_REASONS, LONGEST = 4, 300
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
"""The states of runs in the order of the bar: their word, and their colour, where the page has none and where it has."""
FILM = Markup(
    '<div style="display:flex;gap:4px 8px;flex-wrap:wrap;align-items:flex-start;margin:8px 0 4px;min-height:{}px">{}</div>'
)
POSTER = Markup(
    '<div style="max-width:{}px"><img alt="{}" title="{}" height="{}" style="display:block;height:{}px;width:auto;max-width:100%;'
    'object-fit:cover;border-radius:6px" src="{}"{}><div style="{};display:-webkit-box;-webkit-box-orient:vertical;'
    '-webkit-line-clamp:2;overflow:hidden">{}</div></div>'
)
FAINT = {"waiting": ".45", "impossible": ".45"}
HINT = (
    "Interrupt the cell to stop sending. job = plan.start(…) does the same with buttons, and leaves the notebook free."
)
AFTERWARDS = (
    "It was {state} at {at}. If the kernel has ended since, the sweep ended with it: run its cells again. What is paid for is "
    "fetched, and nothing is paid twice."
)
"""What a panel says that may stand in a saved notebook, where nothing moves any more."""


def panel_bundle(progress: Progress, *, hint: str = "") -> Bundle:
    """How a sweep stands, as words and as a panel; the panel needs no script and stays in a saved notebook."""
    return {"text/plain": panel_line(progress), "text/html": panel_html(progress, hint=hint)}


def panel_line(progress: Progress) -> str:
    """The same on one line."""
    return joined(
        f"{progress.finished:,} of {progress.total:,}",
        progress.waits,
        *_counts(progress),
        *money_of(progress),
        *_time(progress),
    )


def panel_html(progress: Progress, *, hint: str = "", has_film: bool = True) -> str:
    """Counts, money, time, the latest results, and failures by reason."""
    parts = [
        Markup("<div>{}</div>").format(
            dotted(
                [
                    Markup("<b>{}</b>").format(f"{progress.finished:,} of {progress.total:,}"),
                    *money_of(progress),
                    *_time(progress),
                ]
            )
        ),
        _waits(progress),
        _bar(progress),
        Markup('<div style="{}">{}</div>').format(SOFT, _legend(progress)),
        _reason(progress),
        _film(progress) if has_film else Markup(""),
        *(_failure(group.error_type, group.count, group.first, group.example) for group in progress.failures[:MAX_REASONS]),
    ]  # fmt: skip
    if progress.state != "done":
        parts.append(
            Markup('<div style="{};margin-top:4px">{}</div>').format(
                SOFT, AFTERWARDS.format(state=progress.state, at=_now())
            )
        )
    if hint and progress.state in ("running", "preparing"):
        parts.append(Markup('<div style="{};margin-top:4px">{}</div>').format(SOFT, hint))
    root = '<div class="rb mathjax_ignore tex2jax_ignore" style="max-width:720px;margin:4px 0 8px;font-variant-numeric:tabular-nums;overflow-wrap:anywhere">{}{}</div>'
    return str(Markup(root).format(style(), Markup("").join(parts)))


def _bar(progress: Progress) -> Markup:
    """One bar in the colours of the states; what is beside it in words says the same."""
    pieces = [
        # A page that trusts nobody drops what it does not know: of each pair it keeps the first.
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
    """Each state with its sign, its number and its word; a line may break between two of them only."""
    kept = Markup('<span style="white-space:nowrap;margin-right:12px">{}</span>')
    words = [
        state_words(status, f"{progress.counts[status]:,} {word}")
        for status, word, *_ in STATES
        if progress.counts.get(status)
    ]
    if progress.from_library:
        words.insert(1, state_words("from library", f"{progress.from_library:,} of them from the library"))
    # A space between them, for whoever copies the line or loses its styles.
    return Markup(" ").join(map(kept.format, words))


def _reason(progress: Progress) -> Markup:
    if not progress.reason:
        return Markup("")
    word = "Stopped" if progress.state == "done" else "Stopping"
    return Markup('<div style="margin-top:4px">{}: {}</div>').format(word, progress.reason)


def _film(progress: Progress) -> Markup:
    """Results as small pictures: the latest while it goes on, whose place is kept so that nothing jumps, then all that fit."""
    is_moving = progress.state in ("preparing", "running", "stopping")
    pictures = list[Markup]()
    # Many are not looked at so closely.
    room, scale = MAX_BYTES, 2.0 if len(progress.results) <= FEW else 1.2
    for result in progress.results[: POSTERS if is_moving else None]:
        picture = thumb(result.path, round(scale * POSTER_WIDTH), round(scale * POSTER_HEIGHT), quality=55)
        room -= len(picture or b"")
        if picture is not None and room >= 0:
            pictures.append(_poster(result, picture, is_moving))
    if not pictures and not is_moving:
        return Markup("")
    film = FILM.format(FILM_HEIGHT, Markup("").join(pictures)) + _how_many(
        len(pictures), progress.counts.get("completed", 0), is_moving
    )
    # It is drawn anew again and again while it goes on, which would take an open clip away.
    return film if is_moving else posters(film)


def _how_many(shown: int, made: int, is_moving: bool) -> Markup:
    """Of how many results these are, and where the others are."""
    if is_moving:
        words = [f"{shown} of {made:,} results" if 0 < shown < made else ""]
    else:
        words = [
            f"{shown} of {made:,} results" if shown < made else "",
            "table.reel plays, sorts and compares all of them" if made > 1 else "",
        ]
    return Markup('<div style="{}">{}</div>').format(SOFT, dotted(words)) if any(words) else Markup("")


def _poster(result: Result, picture: bytes, is_moving: bool) -> Markup:
    """A result with what it differs by under it."""
    values = (worded(name, value) for name, value in result.values.items() if value is not None)
    name = cut(joined(*values) or f"run {result.number}", LONGEST)
    return POSTER.format(
        POSTER_WIDTH, name, name, POSTER_HEIGHT, POSTER_HEIGHT, uri("image/jpeg", picture),
        Markup("") if is_moving else opens(result.path), SOFT, name,
    )  # fmt: skip


def _failure(name: str, count: int, first: int, example: str) -> Markup:
    return Markup('<div style="{}">{} · {} · run {}: <bdi>{}</bdi></div>').format(
        SOFT, state_words("failed", f"{count:,}"), name.replace("_", " "), first, cut(example, LONGEST)
    )


def _counts(progress: Progress) -> list[str]:
    found = [f"{progress.counts[status]:,} {word}" for status, word, *_ in STATES if progress.counts.get(status)]
    if progress.from_library:
        found.insert(1, f"{progress.from_library:,} of them from the library")
    return found


def _now() -> str:
    return time.strftime("%H:%M:%S")


def _waits(progress: Progress) -> Markup:
    """Why nothing seems to go on, where it waits for the service."""
    return Markup("<div>{}</div>").format(state_words("waiting", progress.waits)) if progress.waits else Markup("")


def _time(progress: Progress) -> list[str]:
    """How long it has taken, and takes."""
    found = [duration(progress.elapsed)]
    if progress.state in ("paused", "stopping", "preparing"):
        found.append(progress.state)
    if progress.per_minute and progress.state == "running":
        found.append(f"{progress.per_minute:.0f} a minute")
    if progress.seconds_left is not None and progress.state == "running":
        found.append(f"about {duration(progress.seconds_left)} left")
    return found
