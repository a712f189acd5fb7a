"""A table of runs with pictures in it: its first rows as plain markup, and all of them for the script that sorts and filters.

Of our own, because itables puts some 900 kB of script into each notebook and leaves "Loading…" where scripts may not run, and
quak is a widget over DuckDB that leaves nothing behind: here a reader without scripts still sees posters and figures.
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
    Clips,
    Files,
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

    from ...sweeps.results.accessor import Reel

STYLES, SCRIPT = ("table.css", "player.css"), "table.js"
"""What a page with tables needs, once: `style(*tables.STYLES)`, and `script(tables.SCRIPT)` after the last table."""

STATIC_ROWS = 24
"""Rows that stand there without a script."""

MAX_ROWS = 20_000
MAX_CELL_LENGTH, MAX_TITLE_LENGTH = 60, 600

# What matters for the layout stands in the markup itself: a saved notebook may lose its style sheets.
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


def table_bundle(table: pd.DataFrame, *, embed: str | None = None, key: str = "") -> dict[str, Any]:
    """The table as one output of a cell: a page, and a line of text."""
    shown = table.head(MAX_ROWS)
    all_places = find_columns(shown)
    whole = _markup(shown, all_places, len(table), embed or options.embed, key)
    html = Markup("").join([render_style(*STYLES), whole, render_script(SCRIPT)])
    return {"text/plain": _summary(all_places, len(shown), len(table)), "text/html": str(html)}


def format_table(table: pd.DataFrame) -> str:
    """How many runs, how they went and what they cost, on one line; all that a terminal shows."""
    shown = table.head(MAX_ROWS)
    return _summary(find_columns(shown), len(shown), len(table))


def format_reel(reel: Reel) -> str:
    """The same of `table.reel`."""
    return format_table(reel.table)


def render_table(table: pd.DataFrame, *, embed: str | None = None, key: str = "") -> str:
    """The table with its style sheet and its script. `key` is the word by which it asks its page for clips."""
    return str(table_bundle(table, embed=embed, key=key)["text/html"])


def render_table_markup(
    table: pd.DataFrame,
    *,
    embed: str = "poster",
    key: str = "",
    posters: Mapping[str, KnownPoster] | None = None,
    clips: Mapping[str, str] | None = None,
) -> Markup:
    """The table alone, for a page that has its style sheet and its script already.

    `posters` are pictures and `clips` addresses by the paths of files, for a page that has them already; without
    `posters` small ones are made, and without `clips` it depends on `embed` what is in the page.
    """
    shown = table.head(MAX_ROWS)
    return _markup(shown, find_columns(shown), len(table), embed, key, posters, clips)


def _markup(
    table: pd.DataFrame,
    all_places: Sequence[Column],
    whole: int,
    embed: str,
    key: str,
    posters: Mapping[str, KnownPoster] | None = None,
    clips: Mapping[str, str] | None = None,
) -> Markup:
    files, lines = find_files(table), format_column_captions(all_places, len(table))
    pictures = make_posters(files, single=STATIC_ROWS, known=posters)
    played = _clips(files, embed, clips)
    columns, left = pack_columns(all_places)
    payload = {
        "key": key, "rows": len(table), "columns": columns, "files": pack_files(files), "captions": pack(lines),
        "posters": _packed_posters(pictures, len(table)), "clips": played.played, "previews": played.previews,
    }  # fmt: skip
    told = [*_limits(whole, len(table), pictures, left), *played.notes]
    first = (
        [Markup('<span class="rb-first">{}</span>').format(f"The first {STATIC_ROWS} of {len(table):,} rows.")]
        if len(table) > STATIC_ROWS
        else []
    )
    return ROOT.format(
        _summary(all_places, len(table)),
        _static(all_places, pictures, lines, files),
        Markup(" ").join([*first, *told]),
        format_json(payload),
    )


def _clips(files: Files, embed: str, known: Mapping[str, str] | None) -> Clips:
    if known is not None:
        return Clips({str(row): [known.get(path, "") for path in found] for row, found in enumerate(files) if found})
    return make_clips(files, embed) if embed in ("preview", "full") else Clips()


def _static(all_places: Sequence[Column], pictures: Posters, lines: Sequence[str], files: Files) -> Markup:
    """The first rows with the columns that are shown at first."""
    shown = [place for place in all_places if place.is_shown]
    has_files = any(files)
    heads = [HEAD.format(_side(place), ISOLATED.format(place.cells.name)) for place in shown]
    rows = [
        Markup("<tr>{}</tr>").format(
            Markup("").join(
                [*([_picture(row, pictures, lines[row])] if has_files else []), *(_cell(place, row) for place in shown)]
            )
        )
        for row in range(min(STATIC_ROWS, len(files)))
    ]
    first = [HEAD.format("left", Markup('<span class="rb-hidden">poster</span>'))] if has_files else []
    return TABLE.format(Markup("").join([*first, *heads]), Markup("").join(rows))


def _picture(row: int, pictures: Posters, line: str) -> Markup:
    if row not in pictures.single:
        return NOTHING
    return PICTURE.format(pictures.single[row], *pictures.sizes[row], line, line)


def _cell(place: Column, row: int) -> Markup:
    words = place.cells.words[row]
    short = "–" if words is None else shorten(words, MAX_CELL_LENGTH)
    title = Markup("") if words is None or short == words else TITLE.format(words[:MAX_TITLE_LENGTH])
    return CELL.format(_side(place), title, ISOLATED.format(short))


def _side(place: Column) -> str:
    return "right" if place.cells.is_number else "left"


def _summary(all_places: Sequence[Column], count: int, whole: int = 0) -> str:
    """`240 runs · 236 completed · 4 failed · 12,720 credits`; of a very long table, that of its beginning."""
    roles = {place.role: place.cells for place in all_places if place.role}
    states = roles.get("state")
    counts: dict[str, int] = {}
    for word in states.words if states else []:
        if word is not None:
            counts[word.partition(" ")[2]] = counts.get(word.partition(" ")[2], 0) + 1
    noun = "run" if states else "row"
    return join_with_dots(
        f"{f'the first {count:,} of {whole:,}' if whole > count else f'{count:,}'} {noun}{'' if count == 1 else 's'}",
        *(f"{number:,} {shorten(word, 20)}" for word, number in list(counts.items())[:6]),
        *_money(roles, next((place.keys for place in all_places if place.role == "state"), None)),
    )


def _money(roles: Mapping[str, Cells], states: Sequence[str | None] | None) -> list[str]:
    """What was spent, and apart from it what is set aside for runs that nobody knows the end of; as `summed` in the page."""
    paid, sources = roles.get("credits"), roles.get("source")
    spent, aside, is_about = list[Number](), list[Number](), False
    for row, amount in enumerate(paid.order or [] if paid and paid.is_number else []):
        source = sources.words[row] if sources else None
        if amount is None:
            continue
        if source != "charged" and states is not None and states[row] in UNSETTLED:
            aside.append(amount)
        else:
            spent.append(amount)
            is_about = is_about or source == "estimated"
    return [
        f"{'≈ ' if is_about else ''}{sum(spent):,.0f} credits" if spent else "",
        f"{sum(aside):,.0f} credits set aside" if sum(aside) else "",
    ]


def _packed_posters(pictures: Posters, count: int) -> dict[str, Any]:
    sizes = [pictures.sizes.get(row) for row in range(count)]
    return {
        "box": pictures.box,
        "sheets": pictures.sheets,
        "at": pack([pictures.at.get(row) for row in range(count)]),
        # Those of the first rows are in the markup.
        "single": pack([pictures.single.get(row) if row >= STATIC_ROWS else None for row in range(count)]),
        "sizes": pack(sizes),
    }


def _limits(whole: int, count: int, pictures: Posters, left: Sequence[str]) -> list[str]:
    """What is not in the page, and why."""
    told = [f"These are the first {count:,} of {whole:,} rows."] if whole > count else []
    if pictures.left_out:
        told.append(f"{pictures.left_out:,} rows have no poster here, which would make the notebook too heavy.")
    if left:
        told.append(f"Too heavy to come along: {shorten(', '.join(left), 200)}.")
    return told
