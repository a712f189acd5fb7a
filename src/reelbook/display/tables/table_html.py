"""A table of runs with posters: its first rows as HTML, and all rows as data for the script that sorts and filters.

Not with itables, which puts some 900 kB of script into each notebook and displays "Loading…" where scripts may not run, nor
with quak, a widget over DuckDB that saves no output: here a reader without scripts still sees posters and figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..formatting import join_with_dots, shorten
from ..theme import render, render_script, render_style
from .table_columns import UNSETTLED, Column, find_columns, format_json, pack_columns
from .table_media import Posters, find_files, format_column_captions, make_posters, pack_media

if TYPE_CHECKING:
    import pandas as pd

STYLES, SCRIPT = ("table.css", "player.css"), "table.js"
"""The assets of a page with tables, once: `render_style(*STYLES)`, and `render_script(SCRIPT)` after the last table."""

STATIC_ROWS = 24
"""Rows that are displayed without a script."""

MAX_ROWS = 20_000


def table_bundle(table: pd.DataFrame, *, key: str = "", group: str = "") -> dict[str, Any]:
    """The table as an output of a cell: HTML and a line of text, by MIME type; by `key` it requests clips of a kernel."""
    content = render_table_markup(table, key=key, group=group)
    html = Markup("").join([render_style(*STYLES), content, render_script(SCRIPT)])
    return {"text/plain": format_table(table), "text/html": str(html)}


def format_table(table: pd.DataFrame) -> str:
    """Number of runs, states and credits on one line, for terminals."""
    head = table.head(MAX_ROWS)
    return _format_summary(find_columns(head), len(head), len(table))


def format_reel(reel: Any) -> str:
    """`table.reel` on one line, as `format_table`."""
    return format_table(reel.table)


def render_table_markup(
    table: pd.DataFrame, *, key: str = "", group: str = "", clips: Mapping[str, str] | None = None
) -> Markup:
    """The table alone, for a page that has its style sheet and script already.

    `clips` are the addresses of files by their paths, for a page that has its clips already; else `rb.options.embed`
    decides which clips are embedded.
    """
    head = table.head(MAX_ROWS)
    columns, files = find_columns(head), find_files(head)
    pictures = make_posters(files)
    captions = format_column_captions(columns, len(head))
    packed, left = pack_columns(columns)
    media, notes = pack_media(files, captions, pictures, clips, first=STATIC_ROWS)
    payload = {"key": key, "group": group, "rows": len(head), "columns": packed, **media}
    return render(
        "table.html",
        summary=_format_summary(columns, len(head)),
        columns=[column for column in columns if column.is_visible],
        rows=len(head),
        shown=min(STATIC_ROWS, len(head)),
        has_files=any(files),
        posters=pictures,
        captions=captions,
        notes=[*_format_limits(len(table), len(head), pictures, left), *notes],
        payload=format_json(payload),
    )


def _format_summary(all_places: Sequence[Column], count: int, total: int = 0) -> str:
    """`240 runs · 236 completed · 4 failed · 12,720 credits`; of a very long table, for its first rows."""
    roles = {place.role: place for place in all_places if place.role}
    states = roles["state"].words if "state" in roles else []
    counts = Counter(word.partition(" ")[2] for word in states if word is not None)
    shown = f"the first {count:,} of {total:,}" if total > count else f"{count:,}"
    return join_with_dots(
        f"{shown} {'run' if 'state' in roles else 'row'}{'' if count == 1 else 's'}",
        *(f"{number:,} {shorten(word, 20)}" for word, number in list(counts.items())[:6]),
        *_format_totals(roles),
    )


def _format_totals(roles: Mapping[str, Column]) -> list[str]:
    """Credits spent, and credits reserved for runs of unknown outcome, computed as by `summed` in the script."""
    if "credits" not in roles or not roles["credits"].is_number:
        return []
    amounts = roles["credits"].order or []
    sources = roles["source"].words if "source" in roles else [None] * len(amounts)
    states = (roles["state"].keys if "state" in roles else None) or [None] * len(amounts)
    is_open = [source != "charged" and state in UNSETTLED for source, state in zip(sources, states, strict=True)]
    spent = [row for row, amount in enumerate(amounts) if amount is not None and not is_open[row]]
    reserved = sum(amount or 0 for row, amount in enumerate(amounts) if is_open[row])
    about = "≈ " if any(sources[row] == "estimated" for row in spent) else ""
    return [
        f"{about}{sum(amounts[row] or 0 for row in spent):,.0f} credits" if spent else "",
        f"{reserved:,.0f} credits set aside" if reserved else "",
    ]


def _format_limits(total: int, count: int, pictures: Posters, left: Sequence[str]) -> list[str]:
    """Notes on what is left out of the page, and why."""
    notes = [f"These are the first {count:,} of {total:,} rows."] if total > count else []
    if pictures.left_out:
        notes.append(f"{pictures.left_out:,} rows have no poster here, which would make the notebook too heavy.")
    if left:
        notes.append(f"Too heavy to come along: {shorten(', '.join(left), 200)}.")
    return notes
