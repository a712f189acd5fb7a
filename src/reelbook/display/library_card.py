"""A library as a card: what is in it, what it cost, how large it is, and its last runs with small pictures."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from markupsafe import Markup

from .embedding import uri
from .fact_table import SMALL, card, dotted, small, state_words
from .formatting import cut, format_credits
from .poster_player import opens, posters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..storage.library import Library, Recent, Summary
    from ..storage.prune import Going, Pruned
    from ..storage.uncertain import Uncertain

POSTER_WIDTH, POSTER_HEIGHT = 96, 54
LONGEST_WORDS = 44
WIDTH = 640
HYPHEN = "\N{NON-BREAKING HYPHEN}"
MAX_GOING = 24
"""Rows of what would be removed."""

CELL = "text-align:left;padding:4px 12px 4px 0;vertical-align:middle;border:0"
NUMBER = "text-align:right;padding:4px 0;vertical-align:middle;white-space:nowrap;border:0"
"""The host draws its tables in its own way; ours has no lines, and numbers on the right."""


def library_card(library: Library) -> str:
    """The card of a library."""
    return summary_card(library.summary())


def summary_card(summary: Summary) -> str:
    """The same from its numbers."""
    parts = [Markup("<div>{}</div>").format(_headline(summary)), _where(summary)]
    if summary.uncertain:
        parts.append(_warning(summary.uncertain))
    if summary.last:
        parts.append(posters(_recent_table(summary.last)))
    if summary.runs > len(summary.last) > 0:
        parts.append(
            small(
                f"The newest {len(summary.last)} of {summary.runs:,} runs. rb.library().frame.reel shows and plays all of them."
            )
        )
    return card(*parts, width=WIDTH)


def uncertain_table(entries: Sequence[Uncertain]) -> str:
    """Runs whose answer was lost, with what they may have cost and what to do about them."""
    if not entries:
        return card(Markup("<div>No uncertain runs.</div>"))
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
    return card(table, small(advice), width=WIDTH)


def pruned_card(report: Pruned) -> str:
    """What was removed, and a table of what can only be had again for money, with what it has cost."""
    said = Markup("<div>{}</div>").format(report.words)
    if not report.going:
        return card(said, width=WIDTH)
    rows = Markup("").join(map(_going_row, report.going[:MAX_GOING]))
    more = len(report.going) - MAX_GOING
    table = Markup(
        '<table class="rb-facts rb-rows" style="border-collapse:collapse;table-layout:auto;width:100%;margin:8px 0 0" aria-label="{}"><tbody>{}</tbody></table>'
    ).format("removed" if report.done else "what would be removed", rows)
    return card(said, table, *([small(f"and {more:,} more, see .frame")] if more > 0 else []), width=WIDTH)


def _going_row(one: Going) -> Markup:
    files = "" if one.files == 1 else f"{one.files:,} files"
    model = cut(one.model.rpartition("/")[2], LONGEST_WORDS)
    facts = dotted([f"run {one.run}", model, _day(one.finished).replace("-", HYPHEN), files])
    price = "credits unknown" if one.credits is None else format_credits(one.credits)
    return Markup(
        '<tr><td style="{};width:{}px">{}</td><td style="{}" title="{}"><bdi>{}</bdi><div style="{}">{}</div></td>'
        '<td style="{}">{}<br><span style="{}">{}</span></td></tr>'
    ).format(
        CELL, POSTER_WIDTH, _poster(one), CELL, cut(one.what, 4_000), cut(one.what, LONGEST_WORDS), SMALL, facts, NUMBER,
        str(one.size), SMALL, price,
    )  # fmt: skip


def _headline(summary: Summary) -> Markup:
    if not summary.runs:
        return Markup("<b>No runs yet.</b> What you run from here on is kept.")
    about = "" if summary.certain else "≈ "
    kinds = _whole(*(state_words(word, f"{count:,} {word}") for word, count in summary.by_status.items()))
    runs = Markup("<b>{:,} {}</b>").format(summary.runs, "run" if summary.runs == 1 else "runs")
    return dotted([runs, f"{about}{summary.credits:,} credits", f"{summary.size} on disk"]) + kinds


def _where(summary: Summary) -> Markup:
    return small(f"Library in {summary.folder}")


def _warning(count: int) -> Markup:
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
    # Hyphens that do not break: in a narrow column the time may go to the next line, and the day stays whole.
    day = _day(run.created).replace("-", HYPHEN)
    seed = "" if run.seed is None else cut(f"seed {run.seed}", LONGEST_WORDS)
    facts = dotted([f"run {run.run}", seed, cut(run.model.rpartition("/")[2], LONGEST_WORDS), day])
    return Markup(
        '<tr>{}<td style="{}" title="{}"><bdi>{}</bdi><div style="{}">{}</div></td>'
        '<td style="{}">{}<br><span style="{}">{}</span></td></tr>'
    ).format(
        poster, CELL, cut(run.what, 4_000), cut(run.what, LONGEST_WORDS), SMALL, facts, NUMBER, state_words(run.status, cut(run.status, 40)), SMALL,
        cost,
    )  # fmt: skip


def _uncertain_row(entry: Uncertain) -> Markup:
    cost = "unknown" if entry.credits is None else f"{entry.credits:,} credits"
    return Markup(
        '<tr><td style="{}">{}</td><td style="{}" title="{}"><bdi>{}</bdi><br><span style="{}">{}</span></td>'
        '<td style="{}">{}</td><td style="{}">{}</td></tr>'
    ).format(
        CELL, f"? {entry.run}", CELL, cut(entry.what, 4_000), cut(entry.what, LONGEST_WORDS), SMALL, cut(entry.reason, 160), CELL,
        f"{entry.when:%Y-%m-%d %H:%M} UTC", NUMBER, cost,
    )  # fmt: skip


def _poster(run: Recent | Going) -> Markup:
    """A small picture of the run's first file; a plain box where there is none, so that all rows are alike."""
    from ..media.posters import thumb

    # Twice the size on the page, for screens that are fine enough to show it.
    picture = None if run.path is None else thumb(run.path, 2 * POSTER_WIDTH, 2 * POSTER_HEIGHT)
    style = f"display:block;width:{POSTER_WIDTH}px;height:{POSTER_HEIGHT}px;border-radius:6px;object-fit:contain"
    if picture is None or run.path is None:
        return Markup('<div class="rb-poster" style="{}"></div>').format(style)
    return Markup('<img class="rb-poster" src="{}" width="{}" height="{}" alt="{}" style="{}"{}>').format(
        uri("image/jpeg", picture), POSTER_WIDTH, POSTER_HEIGHT, cut(run.what, 200), style, opens(run.path)
    )


def _whole(*facts: str) -> Markup:
    """Facts in a row, which breaks between them and not within one."""
    ends = [*[","] * (len(facts) - 1), ""]
    kept = Markup('<span style="white-space:nowrap">{}{}</span>')
    return Markup(" ").join(kept.format(fact, end) for fact, end in zip(facts, ends, strict=True))


def _day(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return "at an unknown time"
