"""What judgements say so far: the question, how many answered it, and the settings in order, with posters and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ..media.posters import get_posters
from ..util.printable import format_count
from .embedding import data_uri
from .fact_table import render_card, render_heading, render_small_print
from .formatting import shorten

WIDTH = 960
MAX_ROWS, MAX_POSTER_BYTES = 24, 400_000
LONGEST = 160
MAX_NAME_LENGTH = 120
CELL = "padding:6px 16px 6px 0;border:0;background:none;vertical-align:middle;text-align:{};white-space:{}"
LEFT, RIGHT, WRAPPED = (CELL.format(*style) for style in (("left", "nowrap"), ("right", "nowrap"), ("left", "normal")))
HEAD = Markup('<th scope="col" style="{};font-weight:normal;color:var(--rb-soft,inherit)">{}</th>')
ROW = Markup(
    '<tr style="background:none"><td style="{right}">{place}</td><td style="{left}">{poster}</td>'
    '<th scope="row" title="{title}" style="{wrapped};font-weight:{weight};overflow-wrap:anywhere;min-width:72px"><bdi>{name}</bdi></th>'
    '<td style="{left};width:40%;min-width:88px">{bar}</td><td style="{right}">{score}</td>{counts}</tr>'
)
COUNT = Markup('<td style="{}">{}</td>')
POSTER = Markup(
    '<img src="{}" alt="" width="64" style="display:block;width:64px;max-width:none;height:auto;max-height:64px;object-fit:contain;margin:0;border-radius:3px">'
)
# Borders, because forced colours leave no backgrounds.
BAR = Markup(
    '<div role="img" aria-label="{name}" title="{name}" style="display:flex;align-items:center;height:16px;min-width:80px;max-width:320px;overflow:hidden">'
    '<span style="flex:0 0 {before:.1f}%"></span><span style="flex:0 0 {down:.1f}%;border-top:4px solid {colour};opacity:.45"></span>'
    '<span style="flex:0 0 auto;border:5px solid {colour};border-radius:50%;margin:0 -5px;z-index:1"></span>'
    '<span style="flex:0 0 {up:.1f}%;border-top:4px solid {colour};opacity:.45"></span></div>'
)
COLOUR = "var(--rb-accent,currentColor)"
TABLE = Markup(
    '<div style="overflow-x:auto;margin:8px 0" role="region" tabindex="0" aria-label="Ranking">'
    '<table class="rb-facts" style="border-collapse:collapse;margin:0;width:100%"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
)


@dataclass(frozen=True, slots=True)
class RankedRow:
    """One place of a ranking."""

    name: str
    score: float
    low: float
    high: float
    counts: Sequence[str]
    """What stands in the columns after the score."""
    path: str = ""
    """The file of its poster."""


def render_ranking(
    question: str, summary: str, rows: Sequence[RankedRow], *, columns: Sequence[str] = (), notes: Sequence[str] = ()
) -> Markup:
    """The ranking with its intervals, best first; notes are sentences of advice.

    >>> page = render_ranking("Which?", "2 judgements", [RankedRow("<b>49</b>", 1.0, 0.5, 1.5, ["2"])], columns=["judgements"])
    >>> "&lt;b&gt;49" in page, "1.00, between 0.50 and 1.50" in page
    (True, True)
    """
    shown = rows[:MAX_ROWS]
    parts = [render_heading(Markup("<bdi>{}</bdi>").format(question)), Markup("<div>{}</div>").format(summary)]
    if shown:
        heads = [("right", ""), ("left", ""), ("left", "setting"), ("left", "score with its 90% interval"), ("right", "")]
        titles = [HEAD.format(CELL.format(side, "normal"), text) for side, text in heads]
        titles += [HEAD.format(RIGHT, text) for text in columns]
        parts.append(TABLE.format(Markup("").join(titles), _render_rows(shown)))
    if len(rows) > MAX_ROWS:
        parts.append(render_small_print(f"and {format_count(len(rows) - MAX_ROWS, 'setting')} more below these"))
    return Markup("").join([*parts, *map(render_small_print, notes)])


def ranking_card(content: Markup) -> str:
    """A ranking as an output of its own."""
    return render_card(content, width=WIDTH)


def _render_rows(rows: Sequence[RankedRow]) -> Markup:
    bottom = min(_finite(row.low, row.score) for row in rows)
    wide = max(_finite(row.high, row.score) for row in rows) - bottom or 1.0
    posters = _make_posters([row.path for row in rows])
    return Markup("").join(
        ROW.format(
            left=LEFT, right=RIGHT, wrapped=WRAPPED, place=place + 1, poster=posters[place],
            weight=600 if place == 0 else "normal", name=shorten(row.name, MAX_NAME_LENGTH), title=row.name,
            bar=_render_bar(row, bottom, wide), score=f"{row.score:.2f}",
            counts=Markup("").join(COUNT.format(RIGHT, text) for text in row.counts),
        )
        for place, row in enumerate(rows)
    )  # fmt: skip


def _render_bar(row: RankedRow, bottom: float, wide: float) -> Markup:
    low, high = _finite(row.low, row.score), _finite(row.high, row.score)
    share = 94 / wide  # Room for half of the point at both ends.
    return BAR.format(
        name=f"{row.score:.2f}, between {low:.2f} and {high:.2f}",
        before=3 + (low - bottom) * share,
        down=max(row.score - low, 0) * share,
        up=max(high - row.score, 0) * share,
        colour=COLOUR,
    )


def _finite(value: float, otherwise: float) -> float:
    return value if math.isfinite(value) else otherwise


def _make_posters(paths: Sequence[str]) -> list[Markup]:
    """The posters of these files, as long as there is room in a notebook."""
    found, left = [], MAX_POSTER_BYTES
    for content in get_posters([path for path in paths if path], longest=LONGEST):
        fits = content is not None and (left := left - len(content)) > 0
        found.append(POSTER.format(data_uri("image/jpeg", content)) if fits and content is not None else Markup(""))
    pictures = iter(found)
    return [next(pictures) if path else Markup("") for path in paths]
