"""A plot drawn by matplotlib, in the colours of paper, or as an SVG in the colours of the page with the row of each point.

Not by plotly, bokeh or altair: their outputs hold a script of 1 to 5 MB, or load it from the network, and leave nothing
without scripts. matplotlib draws SVG and PNG without a page, and is where the notebooks of most people have it already.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from markupsafe import Markup

from ...errors import ReelbookError
from ..formatting import shorten
from .plot_points import CATEGORY, DATE, PlotAxis, Points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TYPE_SIZE = 12
SERIES_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a97e00", "#8a6fd1")
"""After Okabe and Ito, whose colours nearly everybody can tell apart; each stands out 3:1 on white and on dark pages."""
NO_COLOUR = "#808080"
"""Of points without a colour of their own."""
SHAPES = ("o", "s", "^", "D", "v", "P")
"""One for each colour, for those who see no colours."""
SCALE = "viridis"
MAX_EXACT_TICKS, MAX_LABEL_LENGTH, MAX_LABELS_DOWN, MAX_LABELS_ACROSS = 8, 18, 16, 12
"""Numbers of so few different values have their ticks at the values, as the axes of a sweep do."""
POINTS_ID = "rb-points"
FALLBACK_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Microsoft YaHei", "WenQuanYi Zen Hei", "Droid Sans Fallback", "Noto Sans Arabic",
    "Noto Naskh Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Segoe UI Emoji", "Arial Unicode MS",
)  # fmt: skip
"""For scripts that matplotlib's own font lacks, where this machine has them."""
PAGE = {"ink": "#010203", "soft": "#010204", "line": "#010205", "paper": "#010206", "accent": "#010207"}
"""Stand for the colours of the page, which matplotlib cannot name."""
PAGE_COLOURS = {
    PAGE["ink"]: "currentColor", PAGE["soft"]: "var(--rb-soft,currentColor)", PAGE["line"]: "var(--rb-line,currentColor)",
    PAGE["paper"]: "var(--rb-paper,none)", PAGE["accent"]: "var(--rb-accent,currentColor)",
}  # fmt: skip
NAMESPACE = b' xmlns="http://www.w3.org/2000/svg"'
_FONT = re.compile(r"font-family:[^;]*(;\s*|$)")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")


class Drawing(NamedTuple):
    """A figure, and where its points are."""

    figure: Figure
    places: list[tuple[float, float]]
    """Left and top of each point in the pixels of the figure."""
    has_all_labels: bool
    """Whether each category of both axes has its name beside it."""


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


def draw_points(points: Points, size: tuple[int, int], colours: Mapping[str, str]) -> Drawing:
    """The figure, with this width and height in pixels; to be called within `matplotlib_style`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] / 72, size[1] / 72), dpi=72, layout="constrained")
    axes: Any = figure.add_subplot()
    has_all = [_set_ticks(axes.xaxis, points.x, colours), _set_ticks(axes.yaxis, points.y, colours)]
    axes.grid(color=colours["line"], linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.patch.set_visible(False)
    x, y = points.x.values[points.rows], points.y.values[points.rows]
    _draw_markers(axes, points, x, y, colours)
    if points.scale is not None:
        bar = figure.colorbar(axes.collections[0], ax=axes, pad=0.02)
        _set_ticks(bar.ax.yaxis, points.scale, colours)
        bar.outline.set_visible(False)
        if bar.solids is not None:
            bar.solids.set_rasterized(True)  # Else 256 shapes.
    elif points.color is not None:
        figure.legend(
            title=points.color.name, loc="outside upper left", ncols=min(3, len(points.series)), frameon=False,
            labelcolor=colours["ink"], alignment="left", handletextpad=0.3, columnspacing=1,
        ).get_title().set_color(colours["soft"])  # fmt: skip
    figure.draw_without_rendering()
    # Else it would be another one when it is written, and the points elsewhere.
    figure.set_layout_engine("none")
    pixels = axes.transData.transform(np.column_stack([x, y]))
    return Drawing(figure, [(left, size[1] - up) for left, up in pixels.tolist()], all(has_all))


def write_figure(figure: Figure, kind: str, *, scale: float = 1, ground: str = "none") -> bytes:
    """The figure as `svg`, `png` or `pdf`; without a ground it is transparent."""
    out = io.BytesIO()
    # No date, so that the same plot has the same bytes.
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None} if kind == "svg" else None
    figure.savefig(out, format=kind, dpi=72 * scale, metadata=nothing, facecolor=ground, edgecolor="none")
    return out.getvalue()


def _set_ticks(ruler: Any, axis: PlotAxis, colours: Mapping[str, str]) -> bool:
    """Ticks and name of an axis of the figure; returns whether each category has its name beside it."""
    from matplotlib import dates

    ruler.axes.tick_params(colors=colours["line"], labelcolor=colours["ink"])
    is_across = ruler.axis_name == "x"
    if is_across:
        ruler.set_label_text(axis.name, color=colours["soft"])
    else:
        # Above it, because a name that stands on its side is hard to read.
        ruler.axes.set_title(axis.name, loc="left", fontsize=TYPE_SIZE, color=colours["soft"])
    if axis.kind == CATEGORY:
        step = -(-len(axis.labels) // (MAX_LABELS_ACROSS if is_across else MAX_LABELS_DOWN)) or 1
        labels = _shorten_apart(axis.labels)[::step]
        turn = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
        is_turned = is_across and sum(map(len, labels)) > 60
        ruler.set_ticks(range(0, len(axis.labels), step), labels, **(turn if is_turned else {}))
        # Half a place at either end.
        ruler.axes.set(**{f"{ruler.axis_name}lim": (-0.6, max(0, len(axis.labels) - 1) + 0.6)})
        return step == 1
    if axis.kind == DATE:
        locator: Any = dates.AutoDateLocator(minticks=2, maxticks=6)  # type: ignore[no-untyped-call]
        ruler.set_major_locator(locator)
        ruler.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    elif _has_exact_ticks(axis.distinct):
        ruler.set_ticks(axis.distinct, [f"{value:.6g}" for value in axis.distinct])
    else:
        ruler.get_major_locator().set_params(integer=all(value == int(value) for value in axis.distinct))
    return True


def _has_exact_ticks(values: Sequence[float]) -> bool:
    """Whether numbers are few, short and far enough from each other to have a tick each."""
    if not 0 < len(values) <= MAX_EXACT_TICKS or max(len(f"{value:.6g}") for value in values) > 5:
        return False
    return all(after - before >= (values[-1] - values[0]) / 12 for before, after in pairwise(values))


def _shorten_apart(texts: Sequence[str]) -> list[str]:
    """The texts cut: in the middle where their beginnings alone would not tell them apart."""
    cut = [shorten(text, MAX_LABEL_LENGTH) or '""' for text in texts]
    if len(set(cut)) == len(set(texts)):
        return cut
    half = MAX_LABEL_LENGTH // 2
    return [text if len(text) <= MAX_LABEL_LENGTH else f"{text[: half - 1]}…{text[-half:]}" for text in texts]


def _draw_markers(axes: Any, points: Points, x: Any, y: Any, colours: Mapping[str, str]) -> None:
    """The points of each series, or of all in the colours of a scale."""
    from matplotlib import colormaps

    if points.scale is not None:
        # The outline is of the colour of the text, because each end of the scale is faint on one kind of page.
        axes.scatter(
            x, y, c=points.scale.values[points.rows], s=40, cmap=colormaps[SCALE].with_extremes(bad=NO_COLOUR), plotnonfinite=True,
            edgecolors=colours["soft"], linewidths=0.6, zorder=3,
        ).set_gid(f"{POINTS_ID}-0")  # fmt: skip
        return
    labels = _shorten_apart([series.label for series in points.series])
    for place, (series, label) in enumerate(zip(points.series, labels, strict=True)):
        colour = NO_COLOUR if series.number is None else SERIES_COLOURS[series.number]
        axes.plot(
            x[series.points], y[series.points], color=colour if points.color else colours["accent"], linestyle="none", markersize=7,
            marker=SHAPES[series.number or 0], markeredgewidth=0, zorder=3, gid=f"{POINTS_ID}-{place}",
            # A label that begins with an underscore would be left out of the legend.
            label=f"\N{ZERO WIDTH SPACE}{label}" if label.startswith("_") else label,
        )  # fmt: skip


def render_svg(drawing: Drawing, rows: Sequence[Sequence[int]], label: str) -> Markup:
    """The drawing as an SVG element: themed, and without names that another plot on the page could have.

    `rows` are the rows of each series, in the order of its points.
    """
    content = write_figure(drawing.figure, "svg")
    mark = hashlib.sha1(content, usedforsecurity=False).hexdigest()[:8]
    # A page needs no namespaces.
    root = ElementTree.fromstring(content.replace(NAMESPACE, b"").replace(b"xlink:href", b"href"))
    for place, of_series in enumerate(rows):
        for shape, row in zip(root.iterfind(f".//g[@id='{POINTS_ID}-{place}']//use"), of_series, strict=False):
            shape.attrib["data-row"] = str(row)
    for element in root.iter():
        _simplify(element, mark)
    width, height = (float(value) for value in root.attrib["viewBox"].split()[2:])
    root.attrib.clear()
    root.attrib |= {
        "class": "rb-drawing", "viewBox": f"0 0 {width:g} {height:g}", "role": "img", "aria-label": label,
        "style": "stroke-linejoin:round;stroke-linecap:butt;overflow:visible",
    }  # fmt: skip
    for defs in root.findall("defs"):
        # Its style would be that of all drawings on the page.
        for style in defs.findall("style"):
            defs.remove(style)
    root.tail = None
    return Markup(re.sub(r">\s+<", "><", ElementTree.tostring(root, encoding="unicode")))


def _simplify(element: ElementTree.Element, mark: str) -> None:
    """Change the attributes of an element: short numbers, colours of the page, and names of this drawing alone."""
    if element.tag == "g" and (name := element.attrib.pop("id", "")).startswith(POINTS_ID):
        element.attrib["class"] = POINTS_ID
    for name, value in element.attrib.items():
        if name == "id" or (name == "href" and value.startswith("#")):
            value = f"{mark}-{value}" if name == "id" else f"#{mark}-{value[1:]}"
        elif not value.startswith("data:"):
            value = _NUMBER.sub(lambda digits: f"{float(digits[0]):.2f}".rstrip("0").rstrip("."), value)
            value = re.sub(r"\s+", " ", _FONT.sub("", value).replace("url(#", f"url(#{mark}-").replace("; ", ";"))
            for stand_in, colour in PAGE_COLOURS.items():
                value = value.replace(stand_in, colour)
        element.attrib[name] = value
