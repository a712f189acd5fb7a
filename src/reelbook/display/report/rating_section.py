"""The part of a report about judgements: the ranking of the clips with intervals, and what the judgements say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...decide.ratings import Ratings
from ...errors import ReelbookError
from ...storage.judgements import Kind
from ..fact_table import render_small_print
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
    parts = [HEAD.format(ratings.question, str(ratings.counts))]
    parts += [LINE.format(sentence) for sentence in ratings.verdict]
    if present:
        ranked = table.sort_values(present[0], ascending=False, kind="stable")
        ranked = ranked[ranked[present].notna().any(axis=1)]
        rows = Markup("").join(
            _render_row(ranked.iloc[place], present, ratings) for place in range(min(len(ranked), MAX_ROWS))
        )
        titles = ["run", "settings", *({"rating": "score"}.get(name, name) for name in present)]
        parts.append(TABLE.format(Markup("").join(map(TITLE.format, titles)), rows))
        parts.append(render_small_print(SCALE) if "rating" in present else Markup(""))
    return Markup("").join(parts)


def _render_row(row: pd.Series[Any], columns: Sequence[str], ratings: Ratings) -> Markup:
    settings = ", ".join(f"{name} {format_table_value(row[name])}" for name in ratings.axes if name in row.index)
    return Markup("<tr>{}{}</tr>").format(
        NAME.format(row.name, settings), Markup("").join(map(CELL.format, _format_cells(row, columns)))
    )


def _format_cells(row: pd.Series[Any], columns: Sequence[str]) -> Iterator[str]:
    for name in columns:
        value = row[name]
        if value != value or value is None or str(value) == "<NA>":
            yield ""
        elif name == "rating":
            counts = f"{row['wins']} of {row['judgements']} won"
            yield f"{value:.2f} ({row['rating_low']:.2f} to {row['rating_high']:.2f}), {counts}"
        elif name == "stars":
            yield f"{value:.1f}"
        else:
            yield "keep" if value else "reject"
