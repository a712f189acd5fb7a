"""A table of runs with posters: its first rows as HTML, and all rows as data for the script that sorts and filters.

Not with itables, which puts some 900 kB of script into each notebook and displays "Loading…" where scripts may not run, nor
with quak, a widget over DuckDB that saves no output: here a reader without scripts still sees posters and figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...settings import options
from ..formatting import join_with_dots, shorten
from ..theme import render_script, render_style
from .table_cells import Cells, Number
from .table_columns import UNSETTLED, Column, find_columns, format_json, pack, pack_columns
from .table_media import (
    EmbeddedClips,
    FileLists,
    KnownPoster,
    Posters,
    find_files,
    format_column_captions,
    make_clips,
    make_posters,
    pack_files,
)

if TYPE_CHECKING:
    import pandas as pd

    from ...api.table_accessor import Reel

STYLES, SCRIPT = ("table.css", "player.css"), "table.js"
"""The assets of a page with tables, once: `render_style(*STYLES)`, and `render_script(SCRIPT)` after the last table."""

STATIC_ROWS = 24
"""Rows that are displayed without a script."""

MAX_ROWS = 20_000
MAX_CELL_LENGTH, MAX_TITLE_LENGTH = 60, 600

# The styles that the layout needs are inline, because a saved notebook may lose its style sheets.
ROOT = Markup(
    '<div class="rb rb-table mathjax_ignore tex2jax_ignore" data-rb-table data-lm-suppress-shortcuts="true"><p class="rb-summary" style="margin:0 0 4px">{}</p>'
    '<div class="rb-box" tabindex="0" role="region" aria-label="Table, scrolls" style="overflow:auto;max-height:520px">{}</div><p class="rb-notes" style="margin:4px 0 0;font-size:12px">{}</p>'
    '<script type="application/json">{}</script></div>'
)
TABLE = Markup(
    '<table class="rb-grid" style="border-collapse:collapse"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>'
)
HEAD, CELL = Markup('<th scope="col" style="text-align:{}">{}</th>'), Markup('<td style="text-align:{}"{}>{}</td>')
TITLE, ISOLATED = Markup(' title="{}"'), Markup("<bdi>{}</bdi>")
PICTURE = Markup(
    '<td><img src="{}" width="{}" height="{}" alt="{}" title="{}" style="display:block;max-width:none;object-fit:contain"></td>'
)
NOTHING = Markup("<td></td>")


def table_bundle(table: pd.DataFrame, *, embed: str | None = None, key: str = "", group: str = "") -> dict[str, Any]:
    """The table as an output of a cell: HTML and a line of text, by MIME type."""
    head = table.head(MAX_ROWS)
    all_places = find_columns(head)
    content = _render_root(head, all_places, len(table), embed or options.embed, key, group)
    html = Markup("").join([render_style(*STYLES), content, render_script(SCRIPT)])
    return {"text/plain": _format_summary(all_places, len(head), len(table)), "text/html": str(html)}


def format_table(table: pd.DataFrame) -> str:
    """Number of runs, states and credits on one line, for terminals."""
    head = table.head(MAX_ROWS)
    return _format_summary(find_columns(head), len(head), len(table))


def format_reel(reel: Reel) -> str:
    """`table.reel` on one line, as `format_table`."""
    return format_table(reel.table)


def render_table(table: pd.DataFrame, *, embed: str | None = None, key: str = "") -> str:
    """The table as HTML with style sheet and script; `key` is the key by which it requests clips."""
    return str(table_bundle(table, embed=embed, key=key)["text/html"])


def render_table_markup(
    table: pd.DataFrame,
    *,
    embed: str = "poster",
    key: str = "",
    group: str = "",
    posters: Mapping[str, KnownPoster] | None = None,
    clips: Mapping[str, str] | None = None,
) -> Markup:
    """The table alone, for a page that has its style sheet and script already.

    `posters` and `clips` are pictures and addresses by the paths of files, for a page that has them already; without
    `posters` small ones are made, and without `clips` `embed` decides which clips are embedded.
    """
    head = table.head(MAX_ROWS)
    return _render_root(head, find_columns(head), len(table), embed, key, group, posters=posters, clips=clips)


def _render_root(
    table: pd.DataFrame,
    all_places: Sequence[Column],
    total: int,
    embed: str,
    key: str,
    group: str = "",
    *,
    posters: Mapping[str, KnownPoster] | None = None,
    clips: Mapping[str, str] | None = None,
) -> Markup:
    files, lines = find_files(table), format_column_captions(all_places, len(table))
    pictures = make_posters(files, single=STATIC_ROWS, known=posters)
    played = _choose_clips(files, embed, clips)
    columns, left = pack_columns(all_places)
    payload = {
        "key": key, "group": group, "rows": len(table), "columns": columns, "files": pack_files(files), "captions": pack(lines),
        "posters": pack_posters(pictures, len(table), first=STATIC_ROWS), "clips": played.played, "previews": played.previews,
    }  # fmt: skip
    notes = [*_format_limits(total, len(table), pictures, left), *played.notes]
    first = (
        [Markup('<span class="rb-first">{}</span>').format(f"The first {STATIC_ROWS} of {len(table):,} rows.")]
        if len(table) > STATIC_ROWS
        else []
    )
    return ROOT.format(
        _format_summary(all_places, len(table)),
        _render_static_rows(all_places, pictures, lines, files),
        Markup(" ").join([*first, *notes]),
        format_json(payload),
    )


def _choose_clips(files: FileLists, embed: str, known: Mapping[str, str] | None) -> EmbeddedClips:
    if known is not None:
        return EmbeddedClips(
            {str(row): [known.get(path, "") for path in found] for row, found in enumerate(files) if found}
        )
    return make_clips(files, embed) if embed in ("preview", "full") else EmbeddedClips()


def _render_static_rows(
    all_places: Sequence[Column], pictures: Posters, lines: Sequence[str], files: FileLists
) -> Markup:
    """The first rows with the columns that are visible at first."""
    visible = [place for place in all_places if place.is_visible]
    has_files = any(files)
    heads = [HEAD.format(_get_side(place), ISOLATED.format(place.cells.name)) for place in visible]
    rows = [
        Markup("<tr>{}</tr>").format(
            Markup("").join(
                [
                    *([_render_picture(row, pictures, lines[row])] if has_files else []),
                    *(_render_cell(place, row) for place in visible),
                ]
            )
        )
        for row in range(min(STATIC_ROWS, len(files)))
    ]
    first = [HEAD.format("left", Markup('<span class="rb-hidden">poster</span>'))] if has_files else []
    return TABLE.format(Markup("").join([*first, *heads]), Markup("").join(rows))


def _render_picture(row: int, pictures: Posters, line: str) -> Markup:
    if row not in pictures.single:
        return NOTHING
    return PICTURE.format(pictures.single[row], *pictures.sizes[row], line, line)


def _render_cell(place: Column, row: int) -> Markup:
    words = place.cells.words[row]
    short = "–" if words is None else shorten(words, MAX_CELL_LENGTH)
    title = Markup("") if words is None or short == words else TITLE.format(words[:MAX_TITLE_LENGTH])
    return CELL.format(_get_side(place), title, ISOLATED.format(short))


def _get_side(place: Column) -> str:
    return "right" if place.cells.is_number else "left"


def _format_summary(all_places: Sequence[Column], count: int, total: int = 0) -> str:
    """`240 runs · 236 completed · 4 failed · 12,720 credits`; of a very long table, for its first rows."""
    roles = {place.role: place.cells for place in all_places if place.role}
    states = roles.get("state")
    counts: dict[str, int] = {}
    for word in states.words if states else []:
        if word is not None:
            counts[word.partition(" ")[2]] = counts.get(word.partition(" ")[2], 0) + 1
    noun = "run" if states else "row"
    return join_with_dots(
        f"{f'the first {count:,} of {total:,}' if total > count else f'{count:,}'} {noun}{'' if count == 1 else 's'}",
        *(f"{number:,} {shorten(word, 20)}" for word, number in list(counts.items())[:6]),
        *_format_totals(roles, next((place.keys for place in all_places if place.role == "state"), None)),
    )


def _format_totals(roles: Mapping[str, Cells], states: Sequence[str | None] | None) -> list[str]:
    """Credits spent, and credits reserved for runs of unknown outcome, computed as by `summed` in the script."""
    paid, sources = roles.get("credits"), roles.get("source")
    spent, reserved, is_estimated = list[Number](), list[Number](), False
    for row, amount in enumerate(paid.order or [] if paid and paid.is_number else []):
        source = sources.words[row] if sources else None
        if amount is None:
            continue
        if source != "charged" and states is not None and states[row] in UNSETTLED:
            reserved.append(amount)
        else:
            spent.append(amount)
            is_estimated = is_estimated or source == "estimated"
    return [
        f"{'≈ ' if is_estimated else ''}{sum(spent):,.0f} credits" if spent else "",
        f"{sum(reserved):,.0f} credits set aside" if sum(reserved) else "",
    ]


def pack_posters(pictures: Posters, count: int, first: int = 0) -> dict[str, Any]:
    """The posters of so many rows as JSON values, without those of the `first` rows, which are in the HTML."""
    sizes = [pictures.sizes.get(row) for row in range(count)]
    return {
        "box": pictures.box,
        "sheets": pictures.sheets,
        "at": pack([pictures.at.get(row) for row in range(count)]),
        "single": pack([pictures.single.get(row) if row >= first else None for row in range(count)]),
        "sizes": pack(sizes),
    }


def _format_limits(total: int, count: int, pictures: Posters, left: Sequence[str]) -> list[str]:
    """Notes on what is left out of the page, and why."""
    notes = [f"These are the first {count:,} of {total:,} rows."] if total > count else []
    if pictures.left_out:
        notes.append(f"{pictures.left_out:,} rows have no poster here, which would make the notebook too heavy.")
    if left:
        notes.append(f"Too heavy to come along: {shorten(', '.join(left), 200)}.")
    return notes
