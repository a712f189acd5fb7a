"""What judgements say so far: the question, how many answered it, and the settings in order, with posters and intervals."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
from markupsafe import Markup
from PIL import Image

from ..decide.judged_clips import find_axes
from ..media.posters import get_posters
from ..util.missing_values import is_missing
from ..util.printable import format_count
from .embedding import data_uri
from .fact_table import render_card, render_heading, render_small_print
from .formatting import join_with_dots, shorten
from .tables.table_cells import format_cell
from .tables.table_media import find_files

if TYPE_CHECKING:
    from ..decide.ratings import Counts, Ratings

WIDTH = 960
MAX_ROWS, MAX_POSTER_BYTES = 24, 400_000
LONGEST, POSTER_SIDE = 160, 64
MAX_NAME_LENGTH = 120
CELL = "padding:6px 12px 6px 0;border:0;background:none;vertical-align:middle;text-align:{};white-space:{}"
LEFT, RIGHT, WRAPPED = (CELL.format(*style) for style in (("left", "nowrap"), ("right", "nowrap"), ("left", "normal")))
HEAD = Markup('<th scope="col" style="{};font-weight:normal;color:var(--rb-soft,inherit)">{}</th>')
# In a narrow cell the bar is below the name.
ROW = Markup(
    '<tr style="background:none"><td style="{right}">{place}</td><td style="{left}">{poster}</td>'
    '<th scope="row" title="{title}" style="{wrapped};width:100%;font-weight:{weight}"><div style="display:flex;flex-wrap:wrap;align-items:center;gap:2px 16px">'
    '<bdi style="flex:1 1 176px;min-width:0;overflow-wrap:anywhere">{name}</bdi>{bar}</div></th><td style="{right}">{score}<br><small>{interval}</small></td>'
    '<td style="{right};padding-right:0">{count}</td></tr>'
)
# Its size in attributes, which stay where styles do not.
POSTER = Markup(
    '<img src="{}" alt="" width="{}" height="{}" style="display:block;max-width:none;margin:0;border-radius:3px">'
)
# Borders, because forced colours leave no backgrounds.
BAR = Markup(
    '<div role="img" aria-label="{name}" title="{name}" style="flex:1 1 120px;min-width:0;display:flex;align-items:center;height:16px;overflow:hidden">'
    '<span style="flex:0 0 {before:.1f}%"></span><span style="flex:0 0 {down:.1f}%;border-top:4px solid {colour};opacity:.45"></span>'
    '<span style="flex:0 0 auto;border:5px solid {colour};border-radius:50%;margin:0 -5px;z-index:1"></span>'
    '<span style="flex:0 0 {up:.1f}%;border-top:4px solid {colour};opacity:.45"></span></div>'
)
COLOUR = "var(--rb-accent,currentColor)"
TABLE = Markup(
    '<div style="overflow-x:auto;margin:8px 0" role="region" tabindex="0" aria-label="Ranking">'
    '<table class="rb-facts" style="table-layout:auto;border-collapse:collapse;margin:0;width:100%;font-size:13px;line-height:1.4"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
)
COLUMNS = {
    "pairs": ("score", "judged"),
    "stars": ("stars", "raters"),
    "keep": ("keep", "raters"),
}
"""The heads of the last two columns, by the kind of question."""
METHOD = Markup("<details><summary>How this is computed</summary>{}</details>")
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


def render_ranking(rows: Sequence[RankedRow], *, columns: tuple[str, str] = COLUMNS["pairs"]) -> Markup:
    """The ranking as a table, best first, with posters and intervals.

    >>> page = render_ranking([RankedRow("<b>49</b>", 1.0, 0.5, 1.5, "2 of 3")])
    >>> "&lt;b&gt;49" in page, "1.00, between 0.50 and 1.50" in page
    (True, True)
    """
    if not rows:
        return Markup("")
    heads = [(LEFT, ""), (LEFT, ""), (LEFT, "clip"), (RIGHT, columns[0]), (f"{RIGHT};padding-right:0", columns[1])]
    table = TABLE.format(Markup("").join(map(HEAD.format, *zip(*heads, strict=True))), _render_rows(rows[:MAX_ROWS]))
    left_out = len(rows) - MAX_ROWS
    return table + (render_small_print(f"and {format_count(left_out, 'clip')} more") if left_out > 0 else Markup(""))


def _render_rows(rows: Sequence[RankedRow]) -> Markup:
    bottom = min(_finite(row.low, row.score) for row in rows)
    wide = max(_finite(row.high, row.score) for row in rows) - bottom or 1.0
    posters = _make_posters([row.path for row in rows])
    return Markup("").join(
        ROW.format(
            left=LEFT, right=RIGHT, wrapped=WRAPPED, place=place + 1, poster=posters[place],
            weight=600 if place == 0 else "normal", name=shorten(row.name, MAX_NAME_LENGTH), title=row.name,
            bar=_render_bar(row, bottom, wide), score=_format_score(row.score), count=row.count, interval=_format_interval(row),
        )
        for place, row in enumerate(rows)
    )  # fmt: skip


def _render_bar(row: RankedRow, bottom: float, wide: float) -> Markup:
    low, high = _finite(row.low, row.score), _finite(row.high, row.score)
    share = 94 / wide  # Room for half of the point at both ends.
    return BAR.format(
        name=f"{_format_score(row.score)}, between {_format_score(low)} and {_format_score(high)}",
        before=3 + (low - bottom) * share,
        down=max(row.score - low, 0) * share,
        up=max(high - row.score, 0) * share,
        colour=COLOUR,
    )


def _format_interval(row: RankedRow) -> str:
    low, high = _finite(row.low, row.score), _finite(row.high, row.score)
    return "" if low == high else f"{_format_score(low)} to {_format_score(high)}"


def _format_score(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _finite(value: float, otherwise: float) -> float:
    return value if math.isfinite(value) else otherwise


def _make_posters(paths: Sequence[str]) -> list[Markup]:
    """The posters of these files, as long as there is room in a notebook."""
    found, left = [], MAX_POSTER_BYTES
    for content in get_posters([path for path in paths if path], longest=LONGEST):
        fits = content is not None and (left := left - len(content)) > 0
        found.append(_render_poster(content) if fits and content is not None else Markup(""))
    pictures = iter(found)
    return [next(pictures) if path else Markup("") for path in paths]


def _render_poster(content: bytes) -> Markup:
    with Image.open(io.BytesIO(content)) as picture:
        width, height = picture.size
    scale = POSTER_SIDE / max(width, height)
    return POSTER.format(data_uri("image/jpeg", content), max(round(width * scale), 1), max(round(height * scale), 1))


def render_ratings(ratings: Ratings) -> Markup:
    """How much was judged, the clips in the order of the judgements, best first, and the advice of the ratings."""
    rows, notes = _list_ranked(ratings), ratings.advice
    kind = str(ratings.kind)
    meaning = [render_small_print(METHOD.format(MEANINGS[kind]))] if rows else []
    said = [Markup("<div>{}</div>").format(text) for text in (str(ratings.counts), *notes)]
    return Markup("").join([*said, render_ranking(rows, columns=COLUMNS[kind]), *meaning])


def ratings_card(ratings: Ratings) -> str:
    """The same under its question, as an output of its own."""
    return render_card(
        render_heading(Markup("<bdi>{}</bdi>").format(ratings.question)), render_ratings(ratings), width=WIDTH
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
    table = ratings.source
    paths = dict(zip(table.index.tolist(), find_files(table), strict=True))
    names = _name_rows(table)
    if ratings.kind == "pairs":
        ranking = ratings.ranking()
        found = [
            (row, (score, low, high), format_outcomes(*counts))
            for row, score, low, high, *counts in zip(
                ranking.index,
                *(ranking[name] for name in ("score", "low", "high", "wins", "ties", "judgements", "bad")),
                strict=True,
            )
        ]
    else:
        found = _list_single(ratings)
    return [RankedRow(names[row], *bounds, count, next(iter(paths[row]), "")) for row, bounds, count in found]


def _list_single(ratings: Ratings) -> list[tuple[int, tuple[float, float, float], str]]:
    """The mean of the stars of each row, or the share of those who keep it, from the least to the most."""
    frame = ratings.frame
    frame = frame[(frame["kind"] == str(ratings.kind)) & ~frame["answer"].isin(["none", "skip"])]
    values = (
        {"keep": 1.0, "reject": 0.0} if ratings.kind == "keep" else {str(stars): float(stars) for stars in range(1, 6)}
    )
    latest = frame.groupby(["left", "rater"], observed=True)["answer"].last().map(values)
    found = [
        (int(str(row)), (float(one.mean()), float(one.min()), float(one.max())), f"{len(one):,}")
        for row, one in latest.groupby(level="left", observed=True)
    ]
    return sorted(found, key=lambda one: -one[1][0])


def _name_rows(table: pd.DataFrame) -> dict[int, str]:
    """What distinguishes each row: its settings, then what repeats them."""
    columns = [name for name in (*find_axes(table), "seed", "take", "prompt") if name in table.columns]
    varying = [name for name in dict.fromkeys(columns) if table[name].astype(str).nunique() > 1]
    return {
        int(row): join_with_dots(
            f"row {row}", *map(_format_setting, varying, (table[name].loc[row] for name in varying))
        )
        for row in table.index
    }


def _format_setting(name: str, value: object) -> str:
    return "" if is_missing(value) else f"{name} {format_cell(value)}"
