"""The part of a report about judgements: the ranking of the clips with intervals, and what the judgements say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...decide.ratings import Ratings
from ...errors import ReelbookError
from ...storage.judgements import Kind
from ...util.missing_values import is_missing
from ..fact_table import render_small_print
from ..ratings_card import format_outcomes
from .layout import format_table_value

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS = 100
HEAD = Markup("<h3><bdi>{}</bdi></h3><p>{}</p>")
LINE = Markup("<p><bdi>{}</bdi></p>")
TABLE = Markup('<table class="rb-plan rb-ranking"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>')
CELL, TITLE = Markup('<td class="rb-number">{}</td>'), Markup('<th scope="col">{}</th>')
NAME = Markup('<th scope="row">{}</th><td><bdi>{}</bdi></td>')
SCALE = "A score that is 1.1 higher wins three times of four; in brackets the middle 90% of what the score may be."


def parse_ratings(given: Any) -> list[Ratings]:
    """The ratings that were passed for a report; a `ReelbookError` for anything else."""
    listed = [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
    for one in listed:
        if not isinstance(one, Ratings):
            raise ReelbookError(
                f"The ratings of a report are those of rb.judge(table), or a list of them, and not {type(one).__name__}."
            )
    return listed


def render_rating_section(listed: Sequence[Ratings]) -> Markup:
    """A part for each question; without names of people, because the page is made to be shared."""
    return Markup("").join(_render_ratings(one) for one in listed)


def _render_ratings(ratings: Ratings) -> Markup:
    table = ratings.table
    columns = ("rating", "stars", "keep") if ratings.kind == Kind.PAIRS else ("stars", "keep")
    present = [name for name in columns if name in table.columns and table[name].notna().any()]
    outcomes = _count_outcomes(ratings) if "rating" in present else {}
    parts = [HEAD.format(ratings.question, str(ratings.counts))]
    parts += [LINE.format(sentence) for sentence in ratings.verdict]
    if present:
        ranked = table.sort_values(present[0], ascending=False, kind="stable")
        ranked = ranked[ranked[present].notna().any(axis=1)]
        rows = Markup("").join(
            _render_row(ranked.iloc[place], present, ratings, outcomes) for place in range(min(len(ranked), MAX_ROWS))
        )
        titles = ["run", "settings", *({"rating": "score"}.get(name, name) for name in present)]
        parts.append(TABLE.format(Markup("").join(map(TITLE.format, titles)), rows))
        parts.append(render_small_print(SCALE) if "rating" in present else Markup(""))
    return Markup("").join(parts)


def _count_outcomes(ratings: Ratings) -> dict[int, str]:
    """The outcomes of each row's judgements, in words."""
    ranking = ratings.ranking()
    counts = zip(ranking.index, ranking["wins"], ranking["ties"], ranking["judgements"], strict=True)
    return {row: format_outcomes(wins, ties, judgements) for row, wins, ties, judgements in counts}


def _render_row(
    row: pd.Series[Any], columns: Sequence[str], ratings: Ratings, outcomes: Mapping[int, str]
) -> Markup:  # fmt: skip
    settings = ", ".join(f"{name} {format_table_value(row[name])}" for name in ratings.axes if name in row.index)
    return Markup("<tr>{}{}</tr>").format(
        NAME.format(row.name, settings), Markup("").join(map(CELL.format, _format_cells(row, columns, outcomes)))
    )


def _format_cells(row: pd.Series[Any], columns: Sequence[str], outcomes: Mapping[int, str]) -> Iterator[str]:
    for name in columns:
        value = row[name]
        if is_missing(value):
            yield ""
        elif name == "rating":
            counts = outcomes.get(int(str(row.name)), "")
            yield ", ".join(
                filter(None, [f"{value:.2f} ({row['rating_low']:.2f} to {row['rating_high']:.2f})", counts])
            )
        elif name == "stars":
            yield f"{value:.1f}"
        else:
            yield "keep" if value else "reject"
