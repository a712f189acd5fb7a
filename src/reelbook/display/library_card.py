"""A library as a card, its uncertain runs, and the report of a prune."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from .embedding import data_uri
from .fact_table import SMALL_STYLE, render_card, render_dotted, render_small_print, render_state
from .formatting import format_credits, shorten
from .poster_player import render_open_attributes, render_posters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..storage.library import Library, Recent, Summary
    from ..storage.prune import Pruned, PrunedRun
    from ..storage.uncertain import Uncertain

POSTER_WIDTH, POSTER_HEIGHT = 96, 54
MAX_TEXT_LENGTH = 44
WIDTH = 640
HYPHEN = "\N{NON-BREAKING HYPHEN}"
MAX_REMOVED = 24
"""Rows of runs that would be removed."""

CELL = "text-align:left;padding:4px 12px 4px 0;vertical-align:middle;border:0"
NUMBER = "text-align:right;padding:4px 0;vertical-align:middle;white-space:nowrap;border:0"
"""Overrides the table style of the host: no lines, numbers on the right."""


def library_card(library: Library) -> str:
    """The card of a library: its runs, credits, size, folder, and last runs with posters."""
    return summary_card(library.summary())


def summary_card(summary: Summary) -> str:
    """The card of a library from its summary."""
    parts = [
        Markup("<div>{}</div>").format(_render_headline(summary)),
        render_small_print(f"Library in {_format_folder(summary.folder)}"),
    ]
    if summary.uncertain:
        parts.append(_render_warning(summary.uncertain))
    if summary.last:
        parts.append(render_posters(_recent_table(summary.last)))
    if summary.runs > len(summary.last) > 0:
        parts.append(
            render_small_print(
                f"The newest {len(summary.last)} of {summary.runs:,} runs. rb.library().frame.reel shows and plays all of them."
            )
        )
    return render_card(*parts, width=WIDTH)


def uncertain_table(entries: Sequence[Uncertain]) -> str:
    """The uncertain runs, with their possible cost and how to resolve them."""
    if not entries:
        return render_card(Markup("<div>No uncertain runs.</div>"))
    head = Markup(
        '<tr><th style="{}">run</th><th style="{}">asked</th><th style="{}">sent</th><th style="{}">at most</th></tr>'
    )
    rows = [_uncertain_row(entry) for entry in entries]
    advice = (
        "Look into the account’s history at the service. If it has the run: attach(request_id). "
        "If not: resubmit() sends it once more, write_off() gives it up."
    )
    table = Markup(
        '<table class="rb-facts rb-rows" style="border-collapse:collapse;table-layout:auto;width:100%"><thead>{}</thead><tbody>{}</tbody></table>'
    ).format(head.format(CELL, CELL, CELL, NUMBER), Markup("").join(rows))
    return render_card(table, render_small_print(advice), width=WIDTH)


def pruned_card(report: Pruned) -> str:
    """The report of `prune`: what was removed, and a table of the runs that would have to be paid again."""
    message = Markup("<div>{}</div>").format(report.words)
    if not report.going:
        return render_card(message, width=WIDTH)
    rows = Markup("").join(map(_going_row, report.going[:MAX_REMOVED]))
    more = len(report.going) - MAX_REMOVED
    table = Markup(
        '<table class="rb-facts rb-rows" style="border-collapse:collapse;table-layout:auto;width:100%;margin:8px 0 0" aria-label="{}"><tbody>{}</tbody></table>'
    ).format("removed" if report.done else "what would be removed", rows)
    return render_card(
        message, table, *([render_small_print(f"and {more:,} more, see .frame")] if more > 0 else []), width=WIDTH
    )


def _going_row(one: PrunedRun) -> Markup:
    files = "" if one.files == 1 else f"{one.files:,} files"
    model = shorten(one.model.rpartition("/")[2], MAX_TEXT_LENGTH)
    facts = render_dotted([f"run {one.run}", model, _format_day(one.finished).replace("-", HYPHEN), files])
    price = "credits unknown" if one.credits is None else format_credits(one.credits)
    return Markup(
        '<tr><td style="{};width:{}px">{}</td><td style="{}" title="{}"><bdi>{}</bdi><div style="{}">{}</div></td>'
        '<td style="{}">{}<br><span style="{}">{}</span></td></tr>'
    ).format(
        CELL, POSTER_WIDTH, _poster(one), CELL, shorten(one.what, 4_000), shorten(one.what, MAX_TEXT_LENGTH), SMALL_STYLE, facts, NUMBER,
        str(one.size), SMALL_STYLE, price,
    )  # fmt: skip


def _render_headline(summary: Summary) -> Markup:
    if not summary.runs:
        return Markup("<b>No runs yet.</b> What you run from here on is kept.")
    about = "" if summary.certain else "≈ "
    kinds = _render_unbroken(*(render_state(word, f"{count:,} {word}") for word, count in summary.by_status.items()))
    runs = Markup("<b>{:,} {}</b>").format(summary.runs, "run" if summary.runs == 1 else "runs")
    return render_dotted([runs, f"{about}{summary.credits:,} credits", f"{summary.size} on disk"]) + kinds


def _render_warning(count: int) -> Markup:
    runs = "1 run is" if count == 1 else f"{count:,} runs are"
    return Markup(
        '<div style="margin:6px 0 0"><b>? {} uncertain:</b> rb.library().uncertain says what to do.</div>'
    ).format(runs)


def _recent_table(last: Sequence[Recent]) -> Markup:
    with_posters = any(run.path is not None for run in last)
    rows = Markup("").join(_recent_row(run, with_posters) for run in last)
    return Markup(
        '<table class="rb-facts rb-rows" style="border-collapse:collapse;table-layout:auto;width:100%;margin:8px 0 0" aria-label="last runs"><tbody>{}</tbody></table>'
    ).format(rows)


def _recent_row(run: Recent, with_posters: bool) -> Markup:
    poster = (
        Markup('<td style="{};width:{}px">{}</td>').format(CELL, POSTER_WIDTH, _poster(run)) if with_posters else ""
    )
    cost = format_credits(run.credits, run.credits_source)
    # Non-breaking hyphens: in a narrow column a line may break before the time, and not within the date.
    day = _format_day(run.created).replace("-", HYPHEN)
    seed = "" if run.seed is None else shorten(f"seed {run.seed}", MAX_TEXT_LENGTH)
    facts = render_dotted([f"run {run.run}", seed, shorten(run.model.rpartition("/")[2], MAX_TEXT_LENGTH), day])
    return Markup(
        '<tr>{}<td style="{}" title="{}"><bdi>{}</bdi><div style="{}">{}</div></td>'
        '<td style="{}">{}<br><span style="{}">{}</span></td></tr>'
    ).format(
        poster, CELL, shorten(run.what, 4_000), shorten(run.what, MAX_TEXT_LENGTH), SMALL_STYLE, facts, NUMBER, render_state(run.status, shorten(run.status, 40)), SMALL_STYLE,
        cost,
    )  # fmt: skip


def _uncertain_row(entry: Uncertain) -> Markup:
    cost = "unknown" if entry.credits is None else f"{entry.credits:,} credits"
    return Markup(
        '<tr><td style="{}">{}</td><td style="{}" title="{}"><bdi>{}</bdi><br><span style="{}">{}</span></td>'
        '<td style="{}">{}</td><td style="{}">{}</td></tr>'
    ).format(
        CELL, f"? {entry.run}", CELL, shorten(entry.what, 4_000), shorten(entry.what, MAX_TEXT_LENGTH), SMALL_STYLE, shorten(entry.reason, 160), CELL,
        f"{entry.when:%Y-%m-%d %H:%M} UTC", NUMBER, cost,
    )  # fmt: skip


def _poster(run: Recent | PrunedRun) -> Markup:
    """The poster of the run's first file; an empty box where there is none, so that all rows have one height."""
    from ..media.posters import make_thumbnail

    # Twice the size on the page, for screens of high density.
    picture = None if run.path is None else make_thumbnail(run.path, 2 * POSTER_WIDTH, 2 * POSTER_HEIGHT)
    style = f"display:block;width:{POSTER_WIDTH}px;height:{POSTER_HEIGHT}px;border-radius:6px;object-fit:contain"
    if picture is None or run.path is None:
        return Markup('<div class="rb-poster" style="{}"></div>').format(style)
    return Markup('<img class="rb-poster" src="{}" width="{}" height="{}" alt="{}" style="{}"{}>').format(
        data_uri("image/jpeg", picture),
        POSTER_WIDTH,
        POSTER_HEIGHT,
        shorten(run.what, 200),
        style,
        render_open_attributes(run.path),
    )


def _format_folder(folder: Path) -> str:
    """The folder from that of the notebook, where it is in it."""
    try:
        return str(folder.absolute().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(folder)


def _render_unbroken(*facts: str) -> Markup:
    """Facts separated by commas, with line breaks between them only."""
    ends = [*[","] * (len(facts) - 1), ""]
    span = Markup('<span style="white-space:nowrap">{}{}</span>')
    return Markup(" ").join(span.format(fact, end) for fact, end in zip(facts, ends, strict=True))


def _format_day(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return "at an unknown time"
