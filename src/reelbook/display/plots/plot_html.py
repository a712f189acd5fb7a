"""`table.reel.plot(…)`: the SVG in the colours of the page, a PNG for readers without it, data for the script; and files."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from PIL import Image

from ...errors import ReelbookError
from ...settings import options
from ...sweeps.table_files import get_ticked
from ...util.printable import printable
from ...util.replace_file import replace_file
from ..embedding import data_uri
from ..formatting import shorten
from ..tables.table_cells import format_column_name
from ..tables.table_columns import Column, find_columns, format_json, pack
from ..tables.table_media import (
    KnownPoster,
    find_files,
    format_column_captions,
    make_posters,
    pack_media,
)
from ..theme import render, render_script, render_style
from .plot_drawing import (
    MAX_MARKERS,
    PAGE,
    PAPER,
    check_matplotlib,
    draw_points,
    matplotlib_style,
    render_svg,
    write_figure,
)
from .plot_points import MAX_ROWS, Points, find_points

RowNumbers = np.ndarray[Any, np.dtype[np.intp]]

STYLES, SCRIPT = ("plot.css", "player.css"), "plot.js"
SIZE, SAVED_SIZE, SAVED_SCALE = (560, 340), (800, 480), 2
KINDS = ("svg", "png", "pdf")
STILL_SCALE, STILL_COLOURS = 1.5, 96

POSTER_BOXES = ((60, (160, 90)), (240, (128, 72)), (MAX_MARKERS, (96, 54)))
"""The pixels that a poster may take, by the largest number of points in the plot."""
MAX_FACT_LENGTH = 80

PICTURE_NOTE = "More than {:,} points are drawn as one picture; the pointer still finds each of them."
LABELS_NOTE = "There is no room at the axes for every value; each point shows its own."
SPREAD_NOTE = "Runs at the same place cover each other; the arrow keys reach each of them."


class Plot:
    """Two columns of a table as points, one for each run, coloured by a third."""

    def __init__(self, table: pd.DataFrame, x: Any, y: Any, color: Any = None) -> None:
        """Raise a ReelbookError for a column that the table lacks, and where matplotlib is missing."""
        self.points: Points = find_points(table, x, y, color)
        check_matplotlib()
        self.table = table
        self.columns = (x, y, color)

    def __repr__(self) -> str:
        return printable(self.points.summary)

    @property
    def selected(self) -> pd.DataFrame:
        """The rows selected in this plot or in any other display of the table, as `table.reel.selected`."""
        return self.table.iloc[[position for position in get_ticked(self.table) if position < len(self.table)]]

    def save(self, path: str | Path) -> Path:
        """Write the plot on white as `.svg`, `.png` or `.pdf`; return the path."""
        file = Path(path).expanduser()
        kind = file.suffix.lower().removeprefix(".")
        if kind not in KINDS:
            raise ReelbookError(f"A plot is saved as .svg, .png or .pdf, not as {file.name!r}.")
        with matplotlib_style():
            drawing = draw_points(self.points, SAVED_SIZE, PAPER)
            scale = SAVED_SCALE if kind == "png" else 1
            content = write_figure(drawing.figure, kind, scale=scale, ground=PAPER.paper)
        try:
            replace_file(file, content)
        except OSError as error:
            raise ReelbookError(f"{file} could not be written ({error}).") from error
        return file


def plot_bundle(plot: Plot, *, key: str = "", group: str = "", embed: str | None = None) -> dict[str, Any]:
    """The plot by MIME type: HTML, a PNG for readers that show no HTML, and a line of text."""
    points = plot.points
    if not len(points.rows):
        html = render_style(*STYLES) + _render_root(points, points.rows, {}, [])
        return {"text/plain": points.summary, "text/html": str(html)}
    still = _draw_still(points)
    payload, notes = _make_payload(plot.table.head(MAX_ROWS), points, key, group, embed or options.embed)
    root = _render_root(points, points.rows, payload, notes, still)
    html = render_style(*STYLES) + root + render_script(SCRIPT)
    return {"text/plain": points.summary, "text/html": str(html), "image/png": still}


def render_plot_markup(plot: Plot, *, key: str, rows: Sequence[int], posters: Mapping[str, KnownPoster]) -> Markup:
    """The plot alone, for a report with its style sheet and script, which has the posters and the files already.

    `rows` are the positions on the page of the table's rows, and `posters` the sizes of posters by the paths of files.
    """
    points = plot.points
    numbers = np.array(rows, dtype=np.intp)[points.rows]
    payload, notes = _make_payload(plot.table.head(MAX_ROWS), points, key, key, "poster", posters)
    # Without a picture for hosts that drop drawings: a report is displayed as it is.
    return _render_root(points, numbers, {**payload, "rows": numbers.tolist(), "isReport": True}, notes)


def render_plot(plot: Plot) -> str:
    """The plot as HTML, without a connection to a kernel."""
    return str(plot_bundle(plot)["text/html"])


def _render_root(
    points: Points, numbers: RowNumbers, payload: Mapping[str, Any], notes: Sequence[str], still: bytes = b""
) -> Markup:
    """The plot with its drawing, in which each point has its number, and the data for the script."""
    address = data_uri("image/png", still) if still else ""
    if not len(points.rows):
        return render("plot.html", summary=points.summary, still="", drawing="", notes=[], payload="{}")
    with matplotlib_style():
        drawing = draw_points(points, SIZE, PAGE)
        rows = [numbers[series.points].tolist() for series in points.series] or [numbers.tolist()]
        svg = render_svg(drawing, rows, f"Plot: {points.summary}")
    places = [[round(left, 1), round(top, 1)] for left, top in drawing.places]
    return render(
        "plot.html",
        summary=points.summary,
        still=address,
        width=SIZE[0],
        drawing=svg,
        notes=[*_format_notes(points, has_all_labels=drawing.has_all_labels), *notes],
        payload=format_json({**payload, "places": places}),
    )


def _draw_still(points: Points) -> bytes:
    """The plot as a PNG on white, with few colours, because the notebook holds it twice."""
    with matplotlib_style():
        png = write_figure(draw_points(points, SIZE, PAPER).figure, "png", scale=STILL_SCALE, ground=PAPER.paper)
    out = io.BytesIO()
    with Image.open(io.BytesIO(png)) as picture:
        picture.convert("RGB").quantize(STILL_COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def _make_payload(
    table: pd.DataFrame,
    points: Points,
    key: str,
    group: str,
    embed: str,
    known: Mapping[str, KnownPoster] | None = None,
) -> tuple[dict[str, Any], Sequence[str]]:
    """What the script reads, by point in the order of the table; and notes on what of the media is left out."""
    rows = points.rows.tolist()
    listed = find_files(table)
    files = [listed[row] for row in rows]
    places = find_columns(table.iloc[rows])
    box = next((box for count, box in POSTER_BOXES if len(rows) <= count), None) if options.poster is None else None
    pictures = make_posters(files, known=known, box=box)
    if pictures.left_out and box is not None:
        # Better small than none.
        pictures = make_posters(files)
    has_words = len(rows) <= MAX_MARKERS
    captions = format_column_captions(places, len(rows)) if has_words else [""] * len(rows)
    media, notes = pack_media(files, captions, pictures, embed)
    if left := pictures.left_out:
        notes = [f"{left:,} runs have no poster here, which would make the notebook too heavy.", *notes]
    facts = _make_facts(places if has_words else [], points)
    return {"key": key, "group": group, "rows": rows, "facts": facts, **media}, notes


def _make_facts(places: list[Column], points: Points) -> list[dict[str, Any]]:
    """What a point says of its run: the values of the plot, then what else distinguishes the runs."""
    drawn = [points.y, points.x, *([points.color] if points.color is not None else [])]
    found = {axis.name: [axis.words[row] for row in points.rows] for axis in drawn}
    index = {place.cells.name or "row": place.cells.words for place in places if place.is_index}
    rest = {
        place.cells.name: place.cells.words
        for place in places
        if place.is_visible and not place.is_index and place.role not in ("credits", "state")
    }
    named = {**index, **found, **{name: words for name, words in rest.items() if name not in found}}
    return [
        {"name": format_column_name(name), "words": pack([word and shorten(word, MAX_FACT_LENGTH) for word in words])}
        for name, words in named.items()
    ]


def _format_notes(points: Points, *, has_all_labels: bool) -> list[str]:
    notes = [] if has_all_labels else [LABELS_NOTE]
    if len(points.rows) > MAX_MARKERS:
        return [PICTURE_NOTE.format(MAX_MARKERS), *notes]
    places = set(zip(points.x.values[points.rows], points.y.values[points.rows], strict=True))
    return [*([SPREAD_NOTE] if len(places) < len(points.rows) else []), *notes]
