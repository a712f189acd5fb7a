"""A plot drawn by matplotlib, in the colours of paper, or as an SVG in the colours of the page with the row of each point.

Not by plotly, bokeh or altair: their outputs hold a script of 1 to 5 MB, or load it from the network, and leave nothing
without scripts. matplotlib draws SVG and PNG without a page, and is where the notebooks of most people have it already.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from markupsafe import Markup

from ...errors import ReelbookError
from ...media.measuring.metrics import METRICS
from ...util.printable import format_count, format_line, suggest
from ..formatting import join_with_dots, shorten
from ..report.shared_table import is_address_column, share_values
from ..tables.table_columns import format_column_name, make_column
from ..theme import read_colours

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_NAME_LENGTH, MAX_SERIES, MAX_ROWS = 60, 6, 2_000
"""Letters of a name, colours that everybody can tell apart, and points of a plot; more would make its page slow."""
MAX_NUMBER = 1e300
"""Beyond it the margins of an axis would overflow."""

Places = np.ndarray[Any, np.dtype[np.intp]]
TYPE_SIZE = 12
SERIES_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a97e00", "#8a6fd1")
"""After Okabe and Ito, whose colours nearly everybody can tell apart; each stands out 3:1 on white and on dark pages."""
NO_COLOUR = "#808080"
"""Of points without a colour of their own."""
SHAPES = ("o", "s", "^", "D", "v", "P")
"""One for each colour, for those who see no colours."""
SCALE = "viridis"
MAX_LABEL_LENGTH, MAX_LABELS_DOWN, MAX_LABELS_ACROSS = 18, 16, 12
MAX_EXACT = 8
"""Numbers of so few values have their ticks at the values."""
POINTS_ID = "rb-points"
FALLBACK_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Microsoft YaHei", "WenQuanYi Zen Hei", "Droid Sans Fallback", "Noto Sans Arabic",
    "Noto Naskh Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Segoe UI Emoji", "Arial Unicode MS",
)  # fmt: skip
"""For scripts that matplotlib's own font lacks, where this machine has them."""
PAGE_COLOURS = {
    "ink": "currentColor", "soft": "var(--rb-soft,currentColor)", "line": "var(--rb-line,currentColor)", "accent": "var(--rb-accent,currentColor)",
}  # fmt: skip
"""What stands in an SVG of a page in place of the colours of paper."""
NAMESPACE = b' xmlns="http://www.w3.org/2000/svg"'


@dataclass(frozen=True, slots=True)
class PlotAxis:
    """A column as positions: numbers, or places in the order of its categories; NaN where missing."""

    name: str
    values: np.ndarray[Any, np.dtype[np.float64]]
    words: list[str | None]
    """The text of each row."""
    labels: tuple[str, ...] = ()
    """The categories in their order; none for numbers."""

    @property
    def distinct(self) -> list[float]:
        """The values that occur, ascending."""
        return sorted({float(value) for value in self.values if not math.isnan(value)})


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one colour and shape."""

    label: str
    points: Places
    """Places in the list of points."""
    number: int | None
    """The number of its colour; None for those that have none of their own."""


@dataclass(frozen=True, slots=True)
class Points:
    """The points of a plot, in the order of the table."""

    x: PlotAxis
    y: PlotAxis
    color: PlotAxis | None
    rows: Places
    """The position in the table of each point."""
    total: int
    """Rows of the table."""
    series: tuple[Series, ...]
    """Empty where the colours are those of a scale."""

    @property
    def scale(self) -> PlotAxis | None:
        """The numbers that have the colours of a scale."""
        return None if self.series else self.color

    @property
    def summary(self) -> str:
        """What is drawn, on one line, and the rows that have no point."""
        by = f", coloured by {self.color.name}" if self.color is not None else ""
        gone = {axis.name: int(np.isnan(axis.values).sum()) for axis in (self.x, self.y)}
        notes = [f"{count:,} left out without {name}" for name, count in gone.items() if count]
        if self.scale is not None and (grey := int(np.isnan(self.scale.values[self.rows]).sum())):
            notes.append(f"{grey:,} grey without {self.scale.name}")
        if self.total > MAX_ROWS:
            notes.append(f"only the first {MAX_ROWS:,} of {self.total:,} rows")
        return join_with_dots(f"{self.y.name} by {self.x.name}{by}", format_count(len(self.rows), "run"), *notes)


def find_points(table: pd.DataFrame, x: Any, y: Any, color: Any = None) -> Points:
    """The points of these columns; raises a ReelbookError for a column that the table lacks."""
    head = table.head(MAX_ROWS)
    across, up = find_axis(head, x), find_axis(head, y)
    shade = None if color is None else find_axis(head, color)
    rows = np.flatnonzero(~(np.isnan(across.values) | np.isnan(up.values)))
    return Points(across, up, shade, rows, len(table), _find_series(shade, rows))


def find_axis(table: pd.DataFrame, wanted: Any) -> PlotAxis:
    """The column of this name, or the level of the index; raises a ReelbookError with the nearest name."""
    names = [format_column_name(label) for label in table.columns]
    # Of two columns with one name the first. Addresses give access to files, so no page has them.
    columns = {name: place for place, name in reversed(list(enumerate(names))) if not is_address_column(name)}
    levels = {format_column_name(name): level for level, name in enumerate(table.index.names) if name is not None}
    name = format_column_name(wanted)
    if name in columns:
        return make_axis(name, share_values(name, table.iloc[:, columns[name]], has_files=False))
    if name in levels:
        level = table.index.get_level_values(levels[name])
        return make_axis(name, pd.Series(level.array, dtype=level.dtype))
    hint = f" It is a metric: table.reel.measure([{name!r}]) gives a table that has it." if name in METRICS else ""
    raise ReelbookError(f"This table has no column {wanted!r}.{hint or suggest(name, [*columns, *levels])}")


def make_axis(name: str, values: pd.Series[Any]) -> PlotAxis:
    """The positions of any values, by what most readers take them for."""
    cells = make_column(name, values)
    name = shorten(format_line(cells.name), MAX_NAME_LENGTH)
    items = [None if word is None else item for item, word in zip(values.tolist(), cells.words, strict=True)]
    present = [item for item in items if item is not None]
    if present and cells.is_number:
        return PlotAxis(name, np.array([_to_finite(item) for item in items]), cells.words)
    keys: dict[str, Any] = {}
    for place, word in enumerate(cells.words):
        if word is not None:
            keys.setdefault(word, cells.order[place] if cells.order else place)
    labels = sorted(keys, key=keys.__getitem__)
    places = {label: float(place) for place, label in enumerate(labels)}
    positions = [math.nan if word is None else places[word] for word in cells.words]
    return PlotAxis(name, np.array(positions, float), cells.words, tuple(map(format_line, labels)))


def _to_finite(item: Any) -> float:
    """A number; NaN for one that is missing or has no place on an axis."""
    value = math.nan if item is None else float(item)
    return value if abs(value) < MAX_NUMBER else math.nan


def _find_series(color: PlotAxis | None, rows: Places) -> tuple[Series, ...]:
    """A series for each of the most frequent values, one for the other values, and one for none."""
    if color is None:
        return (Series("", np.arange(len(rows)), 0),)
    values = color.values[rows]
    counts = Counter(float(value) for value in values if not np.isnan(value))
    # Numbers that take many values are a scale.
    if len(counts) > MAX_SERIES and not color.labels:
        return ()
    chosen = sorted(value for value, _ in counts.most_common(MAX_SERIES))
    found = []
    for number, value in enumerate(chosen):
        points = np.flatnonzero(values == value)
        words = color.labels[int(value)] if color.labels else color.words[rows[points[0]]]
        found.append(Series(words or '""', points, number))
    if len(others := np.flatnonzero(~(np.isin(values, chosen) | np.isnan(values)))):
        found.append(Series(f"{len(counts) - len(chosen):,} others", others, None))
    if len(missing := np.flatnonzero(np.isnan(values))):
        found.append(Series(f"no {color.name}", missing, None))
    return tuple(found)


# The drawing.


class Drawing(NamedTuple):
    """A figure in the colours of paper, and where its points are."""

    figure: Figure
    places: list[tuple[float, float]]
    """Left and top of each point in the pixels of the figure."""


def check_matplotlib() -> None:
    """Raise a ReelbookError with the command that installs matplotlib where it is missing."""
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        raise ReelbookError(
            "Plots are drawn by matplotlib, which is not installed here: pip install 'reelbook[plots]', then try again. "
            "table.reel.cost() draws the credits without it."
        ) from None


@contextmanager
def matplotlib_style() -> Iterator[None]:
    """Draw in our style, whatever style the notebook has chosen for its own figures."""
    import matplotlib.style
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    ours = {
        "font.size": TYPE_SIZE, "font.family": ["sans-serif", *(name for name in FALLBACK_FONTS if name in known)],
        "svg.fonttype": "none", "svg.hashsalt": "reelbook", "text.parse_math": False, "figure.dpi": 72, "savefig.dpi": 72,
    }  # fmt: skip
    with matplotlib.style.context(["default", ours]), warnings.catch_warnings():
        # A letter that no font has is a box in a PNG, and itself in an SVG; labels may be too long for any layout.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font|constrained_layout not applied")
        yield


@matplotlib_style()
def draw_points(points: Points, size: tuple[int, int]) -> Drawing:
    """The figure, with this width and height in pixels."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    colours = read_colours(is_dark=False)
    figure = Figure(figsize=(size[0] / 72, size[1] / 72), dpi=72, layout="constrained")
    axes: Any = figure.add_subplot()
    axes.tick_params(colors=colours["line"], labelcolor=colours["ink"])
    axes.set_xlabel(points.x.name, color=colours["soft"])
    # Above it, because a name that stands on its side is hard to read.
    axes.set_title(points.y.name, loc="left", fontsize=TYPE_SIZE, color=colours["soft"])
    _set_ticks(axes.xaxis, points.x, MAX_LABELS_ACROSS)
    _set_ticks(axes.yaxis, points.y, MAX_LABELS_DOWN)
    axes.grid(color=colours["line"], linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.patch.set_visible(False)
    x, y = points.x.values[points.rows], points.y.values[points.rows]
    if points.scale is not None:
        # The outline is of the colour of the text, because each end of the scale is faint on one kind of page.
        marks = axes.scatter(
            x, y, c=points.scale.values[points.rows], s=40, cmap=colormaps[SCALE].with_extremes(bad=NO_COLOUR), plotnonfinite=True,
            edgecolors=colours["soft"], linewidths=0.6, zorder=3, gid=f"{POINTS_ID}-0",
        )  # fmt: skip
        bar = figure.colorbar(marks, ax=axes, pad=0.02)
        bar.ax.tick_params(colors=colours["line"], labelcolor=colours["ink"])
        bar.ax.set_title(points.scale.name, loc="right", fontsize=TYPE_SIZE, color=colours["soft"])
        _set_ticks(bar.ax.yaxis, points.scale, MAX_LABELS_DOWN)
        bar.outline.set_visible(False)
        if bar.solids is not None:
            bar.solids.set_rasterized(True)  # Else 256 shapes.
    for place, series in enumerate(points.series):
        colour = NO_COLOUR if series.number is None else SERIES_COLOURS[series.number]
        axes.plot(
            x[series.points], y[series.points], color=colour if points.color else colours["accent"], linestyle="none", markersize=7,
            marker=SHAPES[series.number or 0], markeredgewidth=0, zorder=3, gid=f"{POINTS_ID}-{place}",
            # A label that begins with an underscore would be left out of the legend.
            label=f"\N{ZERO WIDTH SPACE}{_cut(series.label)}",
        )  # fmt: skip
    if points.series and points.color is not None:
        figure.legend(
            title=points.color.name, loc="outside upper left", ncols=min(3, len(points.series)), frameon=False,
            labelcolor=colours["ink"], alignment="left", handletextpad=0.3, columnspacing=1,
        ).get_title().set_color(colours["soft"])  # fmt: skip
    figure.draw_without_rendering()
    # Else it would be another one when it is written, and the points elsewhere.
    figure.set_layout_engine("none")
    pixels = axes.transData.transform(np.column_stack([x, y]))
    return Drawing(figure, [(left, size[1] - up) for left, up in pixels.tolist()])


@matplotlib_style()
def write_figure(figure: Figure, kind: str, *, scale: float = 1, is_transparent: bool = False) -> bytes:
    """The figure as `svg`, `png` or `pdf`, on paper unless it is transparent."""
    out = io.BytesIO()
    # No date, so that the same plot has the same bytes.
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None} if kind == "svg" else None
    ground = "none" if is_transparent else read_colours(is_dark=False)["paper"]
    figure.savefig(out, format=kind, dpi=72 * scale, metadata=nothing, facecolor=ground, edgecolor="none")
    return out.getvalue()


def _set_ticks(ruler: Any, axis: PlotAxis, most: int) -> None:
    """The ticks of an axis of the figure; of many categories only every second, third … has its name beside it."""
    if axis.labels:
        step = -(-len(axis.labels) // most) or 1
        labels = [_cut(label) for label in axis.labels[::step]]
        is_turned = ruler.axis_name == "x" and sum(map(len, labels)) > 60
        turn = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if is_turned else {}
        ruler.set_ticks(range(0, len(axis.labels), step), labels, **turn)
        # Half a place at either end.
        ruler.axes.set(**{f"{ruler.axis_name}lim": (-0.6, max(0, len(axis.labels) - 1) + 0.6)})
    elif 1 < len(values := axis.distinct) <= MAX_EXACT and min(np.diff(values)) >= (values[-1] - values[0]) / 12:
        ruler.set_ticks(values, [f"{value:.6g}" for value in values])  # As the axes of a sweep are.
    else:
        ruler.get_major_locator().set_params(integer=all(value == int(value) for value in axis.distinct))


def _cut(text: str) -> str:
    """A label, cut in the middle, because the prompts of a sweep often begin alike."""
    half = MAX_LABEL_LENGTH // 2
    return (text if len(text) <= MAX_LABEL_LENGTH else f"{text[: half - 1]}…{text[-half:]}") or '""'


def render_svg(drawing: Drawing, rows: Sequence[Sequence[int]], label: str) -> Markup:
    """The drawing as an SVG element: themed, and without names that another plot on the page could have.

    `rows` are the rows of each series, in the order of its points.
    """
    content = write_figure(drawing.figure, "svg", is_transparent=True)
    mark = hashlib.sha1(content, usedforsecurity=False).hexdigest()[:8]
    # A page needs no namespaces.
    root = ElementTree.fromstring(content.replace(NAMESPACE, b"").replace(b"xlink:href", b"href"))
    for place, of_series in enumerate(rows):
        for group in root.iterfind(f".//g[@id='{POINTS_ID}-{place}']"):
            group.attrib = {"class": POINTS_ID}
            for shape, row in zip(group.iter("use"), of_series, strict=False):
                shape.attrib["data-row"] = str(row)
    for defs in root.findall("defs"):
        # Its style would be that of all drawings on the page.
        for style in defs.findall("style"):
            defs.remove(style)
    box = root.attrib["viewBox"]
    root.attrib = {
        "class": "rb-drawing", "viewBox": box, "role": "img", "aria-label": label,
        "style": "stroke-linejoin:round;stroke-linecap:butt;overflow:visible",
    }  # fmt: skip
    for element in list(root.iter())[1:]:
        element.attrib = {name: _adapt(name, value, mark) for name, value in element.attrib.items()}
    return Markup(re.sub(r">\s+<", "><", ElementTree.tostring(root, encoding="unicode").strip()))


def _adapt(name: str, value: str, mark: str) -> str:
    """An attribute with names of this drawing alone, short numbers, and the font and colours of the page."""
    if name == "id":
        return f"{mark}-{value}"
    if value.startswith("data:"):
        return value
    value = re.sub(r"(^|url\()#(?![0-9a-f]{6}$)", rf"\1#{mark}-", value)
    value = re.sub(r"\s+", " ", re.sub(r"(\.\d\d)\d+", r"\1", re.sub(r"font-family:[^;]*(;\s*|$)", "", value)))
    colours = read_colours(is_dark=False)
    for colour, of_page in PAGE_COLOURS.items():
        value = value.replace(colours[colour], of_page)
    return value
