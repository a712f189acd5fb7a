"""What judgements say so far: the question, how many answered it, and the settings in order, with posters and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..util.printable import format_count
from .formatting import join_with_dots
from .theme import blocks, render, render_card

if TYPE_CHECKING:
    from ..decide.ratings import Counts, Ratings

WIDTH = 960
MAX_ROWS, POSTER_BOX = 24, (64, 64)
COLUMNS = {
    "pairs": ("clip", "score", "judged"),
    "stars": ("clip", "stars", "raters"),
    "keep": ("clip", "keep", "raters"),
}
"""The heads of the columns, by the kind of question."""
MEANINGS = {
    "pairs": "Each point is a clip's score: one that is 1.1 higher is preferred three times out of four. The line is where the score lies "
    "with 90% certainty: where lines overlap, the order may be by chance. Clips with equal settings are taken to resemble each "
    "other, so that one that nobody has seen has a score, too.",
    "stars": "Each point is the mean of the raters' stars, and the line goes from the fewest to the most.",
    "keep": "Each point is the share of raters who keep the clip.",
}


@dataclass(frozen=True, slots=True)
class RankedRow:
    """One place of a ranking."""

    name: str
    score: float
    low: float
    high: float
    count: str
    """What stands after the score."""
    path: str = ""
    """The file of its poster."""


def render_ranking(rows: Sequence[RankedRow], *, columns: tuple[str, str, str] = COLUMNS["pairs"]) -> Markup:
    """The ranking as a table, best first, with posters and intervals.

    >>> page = render_ranking([RankedRow("<b>49</b>", 1.0, 0.5, 1.5, "2 of 3")])
    >>> "&lt;b&gt;49" in page, "1.00, between 0.50 and 1.50" in page
    (True, True)
    """
    if not rows:
        return Markup("")
    from .tables.table_html import make_posters  # Here, because it brings pandas along.

    shown = rows[:MAX_ROWS]
    ends = [(_finite(row.low, row.score), _finite(row.high, row.score)) for row in shown]
    bottom = min(low for low, _ in ends)
    spread = max(high for _, high in ends) - bottom
    share = 94 / (spread or 1.0)  # Room for half of the point at both ends.
    posters = make_posters([[row.path] if row.path else [] for row in shown], POSTER_BOX)
    drawn = [
        {
            "row": row, "poster": posters.addresses.get(place), "size": posters.sizes.get(place), "before": 3 + (low - bottom) * share,
            "down": max(row.score - low, 0) * share, "up": max(high - row.score, 0) * share,
            "score": format_score(row.score, spread), "low": format_score(low, spread), "high": format_score(high, spread),
        }
        for place, (row, (low, high)) in enumerate(zip(shown, ends, strict=True))
    ]  # fmt: skip
    left_out = len(rows) - MAX_ROWS
    more = f"and {left_out:,} more" if left_out > 0 else ""
    return render("ratings.html", rows=drawn, columns=columns, more=more)


def format_score(value: float, spread: float) -> str:
    """A score with as many digits as tell scores apart that lie within a spread.

    >>> format_score(1234.5, 600), format_score(0.98765, 0.2), format_score(-1.5, 4), format_score(2.0, 0)
    ('1,234', '0.988', '−1.50', '2')
    """
    places = 0 if spread <= 0 else min(max(2 - math.floor(math.log10(spread)), 0), 8)
    text = f"{abs(value):,.{places}f}"
    return f"−{text}" if value < 0 and float(text.replace(",", "")) else text


def _finite(value: float, otherwise: float) -> float:
    return value if math.isfinite(value) else otherwise


def render_ratings(ratings: Ratings, notes: Sequence[str] | None = None) -> Markup:
    """How much was judged, the notes or all advice, and the clips in the order of the judgements, best first."""
    rows, kind = _list_ranked(ratings), str(ratings.kind)
    lines = [
        Markup("<div>{}</div>").format(text)
        for text in (str(ratings.counts), *(ratings.advice if notes is None else notes))
    ]
    meaning = [blocks.small(blocks.details("How this is computed", Markup(MEANINGS[kind])))] if rows else []
    return Markup("").join([*lines, render_ranking(rows, columns=COLUMNS[kind]), *meaning])


def ratings_card(ratings: Ratings) -> str:
    """The same under its question, as an output of its own."""
    return render_card(
        blocks.heading(Markup("<bdi>{}</bdi>").format(ratings.question)), render_ratings(ratings), width=WIDTH
    )


def format_outcomes(wins: int, ties: int, judgements: int, bad: int) -> str:
    """How the judgements of one clip ended; with `judgements` all of them, also those of which both were bad.

    >>> format_outcomes(2, 0, 3, 0), format_outcomes(2, 1, 5, 1), format_outcomes(0, 1, 1, 0), format_outcomes(0, 0, 0, 0)
    ('2 of 3 won', '2 of 5 won, 1 tie, 1 both bad', '1 tie', 'not seen yet')
    """
    won = f"{wins:,} of {judgements:,} won" if judgements > ties + bad else ""
    rest = (format_count(ties, "tie") if ties else "", f"{bad:,} both bad" if bad else "")
    return ", ".join(filter(None, [won, *rest])) or "not seen yet"


def format_progress(counts: Counts, remaining: str) -> str:
    """The line below the clips while somebody judges; it names no clip and no setting."""
    others = f"{counts.judged:,} by {format_count(counts.raters, 'rater')}" if counts.judged > counts.mine else ""
    return join_with_dots(f"{counts.mine:,} judged here", others, remaining)


def _list_ranked(ratings: Ratings) -> list[RankedRow]:
    """The clips in order: by their score; else by the mean of their stars, or the share of those who keep them."""
    from .table_runs import group_runs  # Here, because it brings pandas along.

    table = ratings.source
    runs = {table.index[run.place]: run for group in group_runs(table) for run in group.entries}

    def make_row(row: Any, score: float, low: float, high: float, count: str) -> RankedRow:
        run = runs[row]
        path = str(run.files[0].path) if run.files else ""
        return RankedRow(join_with_dots(f"row {row}", *run.label), score, low, high, count, path)

    if ratings.kind == "pairs":
        columns = ["score", "low", "high", "wins", "ties", "judgements", "bad"]
        ranked = ratings.ranking()[columns].itertuples(name=None)
        return [make_row(row, score, low, high, format_outcomes(*counts)) for row, score, low, high, *counts in ranked]
    frame = ratings.frame
    frame = frame[(frame["kind"] == str(ratings.kind)) & ~frame["answer"].isin(["none", "skip"])]
    values = {"keep": 1.0, "reject": 0.0, **{str(stars): float(stars) for stars in range(1, 6)}}
    latest = frame.groupby(["left", "rater"], observed=True)["answer"].last().map(values)
    scores = latest.groupby(level="left", observed=True).agg(["mean", "min", "max", "count"])
    ranked = scores.sort_values("mean", ascending=False, kind="stable").itertuples(name=None)
    return [make_row(int(str(row)), mean, low, high, f"{count:,}") for row, mean, low, high, count in ranked]
