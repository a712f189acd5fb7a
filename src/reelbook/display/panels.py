"""A sweep while it runs and after: one bar, one line of figures, what just arrived, and what went wrong."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..media.posters import thumb
from ..sweeps.money import money_of
from .reports.axes import worded
from .theme import style
from .words import MARKS, cut, duration, joined

if TYPE_CHECKING:
    from ..media.local import LocalFile
    from ..sweeps.tally import Progress

Bundle = dict[str, Any]
POSTERS, POSTER_WIDTH, POSTER_HEIGHT = 6, 113, 64
FILM_HEIGHT = POSTER_HEIGHT + 18
"""Of a poster with one line below it."""
MOST_REASONS, LONGEST = 4, 300
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
FAINT = {"waiting": ".45", "impossible": ".45"}
HINT = (
    "Interrupt the cell to stop sending. job = plan.start(…) does the same with buttons, and leaves the notebook free."
)


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
        Markup("<div><b>{}</b>{}</div>").format(
            f"{progress.finished:,} of {progress.total:,}",
            "".join(f" · {part}" for part in (*money_of(progress), *_time(progress, at=_now()))),
        ),
        _waits(progress),
        _bar(progress),
        Markup('<div style="{}">{}</div>').format(SOFT, _legend(progress)),
        _reason(progress),
        _film(progress) if has_film else Markup(""),
        *(_failure(group.error_type, group.count, group.first, group.example) for group in progress.failures[:MOST_REASONS]),
    ]  # fmt: skip
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
    kept = Markup('<span style="white-space:nowrap;margin-right:12px">{} {}</span>')
    words = [
        (MARKS[status], f"{progress.counts[status]:,} {word}") for status, word, *_ in STATES if progress.counts.get(status)
    ]  # fmt: skip
    if progress.from_library:
        words.insert(1, (MARKS["from library"], f"{progress.from_library:,} of them from the library"))
    return Markup("").join(kept.format(mark, word) for mark, word in words)


def _reason(progress: Progress) -> Markup:
    if not progress.reason:
        return Markup("")
    word = "Stopped" if progress.state == "done" else "Stopping"
    return Markup('<div style="margin-top:4px">{}: {}</div>').format(word, progress.reason)


def _film(progress: Progress) -> Markup:
    """The latest results as small pictures; their place is kept while some may still come, so that nothing jumps."""
    pictures = [found for one in progress.latest[:POSTERS] if (found := _poster(*one))]
    if not pictures and progress.state == "done":
        return Markup("")
    made = progress.counts.get("completed", 0)
    rest = Markup('<div style="{}">{}</div>').format(SOFT, f"the latest {len(pictures)} of {made:,}")
    return Markup(
        '<div style="display:flex;gap:4px 8px;flex-wrap:wrap;margin:8px 0 4px;min-height:{}px">{}</div>{}'
    ).format(FILM_HEIGHT, Markup("").join(pictures), rest if 0 < len(pictures) < made else "")


def _poster(number: int, file: LocalFile, values: Mapping[str, Any]) -> Markup:
    """A result with what it differs by under it."""
    picture = thumb(file.path, 2 * POSTER_WIDTH, 2 * POSTER_HEIGHT)
    if picture is None:
        return Markup("")
    name = cut(
        joined(*(worded(name, value) for name, value in values.items() if value is not None)) or f"run {number}",
        LONGEST,
    )
    return Markup(
        '<div style="max-width:{}px"><img alt="{}" title="{}" height="{}" style="display:block;height:{}px;width:auto;'
        'max-width:100%;object-fit:cover;border-radius:6px" src="data:image/jpeg;base64,{}"><div style="{};white-space:nowrap;overflow:hidden;'
        'text-overflow:ellipsis">{}</div></div>'
    ).format(POSTER_WIDTH, name, name, POSTER_HEIGHT, POSTER_HEIGHT, base64.b64encode(picture).decode(), SOFT, name)


def _failure(name: str, count: int, first: int, example: str) -> Markup:
    return Markup('<div style="{}">✕ {} · {} · run {}: <bdi>{}</bdi></div>').format(
        SOFT, f"{count:,}", name.replace("_", " "), first, cut(example, LONGEST)
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
    return Markup("<div>{} {}</div>").format(MARKS["waiting"], progress.waits) if progress.waits else Markup("")


def _time(progress: Progress, *, at: str = "") -> list[str]:
    """How long it has taken, and takes; `at` is the time of day, for what stays in a notebook whose kernel may have ended."""
    found = [duration(progress.elapsed)]
    if at and progress.state != "done":
        found.append(f"{progress.state} at {at}")
    elif progress.state in ("paused", "stopping", "preparing"):
        found.append(progress.state)
    if progress.per_minute and progress.state == "running":
        found.append(f"{progress.per_minute:.0f} a minute")
    if progress.seconds_left is not None and progress.state == "running":
        found.append(f"about {duration(progress.seconds_left)} left{' then' if at else ''}")
    return found
