"""`table.reel.plot(…)`: the SVG in the colours of the page, a PNG for readers without it, data for the script; and files."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup
from PIL import Image

from ...errors import ReelbookError
from ...media.stills import fit_size
from ...util.printable import printable
from ...util.replace_file import replace_file
from ..embedding import data_uri
from ..formatting import shorten
from ..tables.table_columns import Column, find_columns, format_json, pack
from ..tables.table_html import PixelSize, Posters, find_files, format_column_captions, make_posters, pack_media
from ..theme import render, render_script, render_style
from .plot_drawing import Drawing, Points, check_matplotlib, draw_points, find_points, render_svg, write_figure

STYLES, SCRIPT = ("plot.css", "player.css"), "plot.js"
SIZE, SAVED_SIZE, SAVED_SCALE = (560, 340), (800, 480), 2
KINDS = ("svg", "png", "pdf")
STILL_SCALE, STILL_COLOURS = 1.5, 96
FEW, BOX, SMALL_BOX = 60, (160, 90), (96, 54)
"""Points of which each has a large poster, and the pixels that a poster may take."""
MAX_FACT_LENGTH = 80
SPREAD_NOTE = "Runs at the same place cover each other; the arrow keys reach each of them."


class Plot:
    """Two columns of a table as points, one for each run, coloured by a third."""

    def __init__(self, table: pd.DataFrame, x: Any, y: Any, color: Any = None) -> None:
        """Raise a ReelbookError for a column that the table lacks, and where matplotlib is missing."""
        self.points: Points = find_points(table, x, y, color)
        check_matplotlib()
        self.table = table

    def __repr__(self) -> str:
        return printable(self.points.summary)

    def save(self, path: str | Path) -> Path:
        """Write the plot on white as `.svg`, `.png` or `.pdf`; return the path."""
        file = Path(path).expanduser()
        kind = file.suffix.lower().removeprefix(".")
        if kind not in KINDS:
            raise ReelbookError(f"A plot is saved as .svg, .png or .pdf, not as {file.name!r}.")
        try:
            replace_file(file, write_figure(draw_points(self.points, SAVED_SIZE).figure, kind, scale=SAVED_SCALE))
        except OSError as error:
            raise ReelbookError(
                f"{file} could not be written ({error.strerror or error}). Choose a folder with write permission."
            ) from error
        return file


def plot_bundle(plot: Plot, *, key: str = "", group: str = "") -> dict[str, Any]:
    """The plot by MIME type: HTML, a PNG for readers that show no HTML, and a line of text."""
    points = plot.points
    if not len(points.rows):
        nothing = render("plot.html", summary=points.summary, still="", drawing="", notes=[], payload="{}")
        return {"text/plain": points.summary, "text/html": str(render_style(*STYLES) + nothing)}
    root, still = _render_root(plot, points.rows.tolist(), {"key": key, "group": group})
    html = render_style(*STYLES) + root + render_script(SCRIPT)
    return {"text/plain": points.summary, "text/html": str(html), "image/png": still}


def render_plot_markup(plot: Plot, *, key: str, rows: Sequence[int], sizes: Mapping[str, PixelSize]) -> Markup:
    """The plot alone, for a report with its style sheet and script, which has the posters and the files already.

    `rows` are the positions on the page of the table's rows, and `sizes` those of the files by their paths.
    """
    on_page = [rows[row] for row in plot.points.rows.tolist()]
    return _render_root(plot, on_page, {"key": key, "group": key, "isReport": True}, sizes)[0]


def render_plot(plot: Plot) -> str:
    """The plot as HTML, without a connection to a kernel."""
    return str(plot_bundle(plot)["text/html"])


def _render_root(
    plot: Plot,
    numbers: Sequence[int],
    facts: Mapping[str, Any],
    sizes: Mapping[str, PixelSize] | None = None,
) -> tuple[Markup, bytes]:
    """The plot with its drawing, in which each point has its number, and the data for the script by point; and a PNG."""
    points = plot.points
    drawing = draw_points(points, SIZE)
    series = [[numbers[point] for point in series.points] for series in points.series] or [list(numbers)]
    table = plot.table.iloc[points.rows]
    files, columns = find_files(table), find_columns(table)
    box = BOX if len(table) <= FEW else SMALL_BOX
    if sizes is None:
        still, posters = _draw_still(drawing), make_posters(files, box)
    else:
        shapes = {row: fit_size(sizes[found[0]], box) for row, found in enumerate(files) if found and found[0] in sizes}
        still, posters = b"", Posters(box, {}, shapes)
    captions = format_column_captions(columns, len(table))
    media, notes = pack_media(files, captions, posters, has_clips=sizes is not None)
    if posters.left_out:
        notes = [f"{posters.left_out:,} runs have no poster here, which would make the notebook too heavy.", *notes]
    if len({*drawing.places}) < len(drawing.places):
        notes = [SPREAD_NOTE, *notes]
    root = render(
        "plot.html",
        summary=points.summary,
        still=data_uri("image/png", still) if still else "",
        width=SIZE[0],
        drawing=render_svg(drawing, series, f"Plot: {points.summary}"),
        notes=notes,
        payload=format_json({
            **facts, "rows": list(numbers), "facts": _make_facts(columns, points), **media,
            "places": [[round(left, 1), round(top, 1)] for left, top in drawing.places],
        }),
    )  # fmt: skip
    return root, still


def _draw_still(drawing: Drawing) -> bytes:
    """A small PNG: with few colours, because the notebook holds it twice."""
    out = io.BytesIO()
    with Image.open(io.BytesIO(write_figure(drawing.figure, "png", scale=STILL_SCALE))) as picture:
        picture.convert("RGB").quantize(STILL_COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def _make_facts(columns: Sequence[Column], points: Points) -> list[dict[str, Any]]:
    """What a point says of its run: its label, the values of the plot, then what else distinguishes the runs."""
    facts = {column.name or "row": column.words for column in columns if column.is_index}
    for axis in (points.y, points.x, points.color):
        if axis is not None:
            facts[axis.name] = [axis.words[row] for row in points.rows]
    for column in columns:
        if (column.is_visible and not column.is_index and column.role != "state") or column.name == "prompt":
            facts.setdefault(column.name, column.words)
    return [
        {"name": name, "words": pack([word and shorten(word, MAX_FACT_LENGTH) for word in words])}
        for name, words in facts.items()
    ]
