"""The part of a report about judgements: the ranking of the clips with intervals, and what the judgements say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
SCALE = "A score that is 1.1 higher wins three times out of four; in brackets the range that contains the score with 90% certainty."


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
    parts = [HEAD.format(ratings.question, str(ratings.counts)), *map(LINE.format, ratings.verdict)]
    if ratings.kind == Kind.PAIRS and len(ranking := ratings.ranking()):
        table = table.loc[ranking.index]
        parts += [_render_table(table, {"score": list(_format_scores(ranking)), **_format_single(table)}, ratings)]
        parts += [render_small_print(SCALE)]
    elif single := _format_single(table):
        best = "stars" if "stars" in single else "keep"
        table = table.sort_values(best, ascending=False, kind="stable")
        parts += [_render_table(table[table[best].notna()], _format_single(table[table[best].notna()]), ratings)]
    return Markup("").join(parts)


def _render_table(table: pd.DataFrame, cells: dict[str, list[str]], ratings: Ratings) -> Markup:
    """The first rows of a table, each with its settings and these cells."""
    rows = []
    for place in range(min(len(table), MAX_ROWS)):
        row = table.iloc[place]
        settings = ", ".join(f"{name} {format_table_value(row[name])}" for name in ratings.axes if name in row.index)
        values = Markup("").join(CELL.format(column[place]) for column in cells.values())
        rows.append(Markup("<tr>{}{}</tr>").format(NAME.format(row.name, settings), values))
    return TABLE.format(Markup("").join(map(TITLE.format, ("run", "settings", *cells))), Markup("").join(rows))


def _format_scores(ranking: pd.DataFrame) -> Iterator[str]:
    columns = ("score", "low", "high", "wins", "ties", "judgements", "bad")
    for score, low, high, *counts in zip(*(ranking[name] for name in columns), strict=True):
        yield f"{score:.2f} ({low:.2f} to {high:.2f}), {format_outcomes(*counts)}"


def _format_single(table: pd.DataFrame) -> dict[str, list[str]]:
    """The columns of stars and of what to keep, as far as there are some."""
    words: dict[str, Callable[[Any], str]] = {
        "stars": lambda value: f"{value:.1f}",
        "keep": lambda value: "keep" if value else "reject",
    }
    return {
        name: ["" if is_missing(value) else form(value) for value in table[name]]
        for name, form in words.items()
        if name in table.columns and table[name].notna().any()
    }
