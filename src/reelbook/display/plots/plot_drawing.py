"""A plot drawn by matplotlib, in the colours of the page or of paper.

Not by plotly, bokeh or altair: their outputs hold a script of 1 to 5 MB, or load it from the network, and leave nothing
without scripts. matplotlib draws SVG and PNG without a page, and is where the notebooks of most people have it already.
"""

from __future__ import annotations

import importlib
import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import ReelbookError
from .plot_axes import NUMBER, Axis
from .plot_points import Points
from .plot_ticks import Ticks, make_ticks, measure_text, shorten_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Positions = np.ndarray[Any, np.dtype[np.float64]]

TYPE_SIZE, LINE = 12, 17
TURN, TURNED_WIDTH, TURNED_HEIGHT = 35, 0.82, 0.57
"""The degrees by which labels are turned that have no room beside each other, and what remains of their length."""
MAX_MARKERS = 2_000
"""Points that are drawn one by one; more are one picture, because a page with so many shapes is slow."""

SERIES_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a97e00", "#8a6fd1")
"""After Okabe and Ito, whose colours nearly everybody can tell apart; each stands out 3:1 on white and on dark pages."""

NO_COLOUR = "#808080"
"""Of points without a colour of their own."""

SHAPES = ("o", "s", "^", "D", "v", "P")
"""One for each colour, for those who see no colours."""

END_ROOM = 48
"""Pixels between the ends of a scale and the next tick."""
RASTER_SCALE = 1.5
SCALE = "viridis"
SEED_RADIUS, MAX_RADIUS = 5.5, 24
"""Pixels between points of the same place, and how far the last of them may be from it."""

POINTS_ID = "rb-points"
FALLBACK_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Microsoft YaHei", "WenQuanYi Zen Hei", "Droid Sans Fallback", "Noto Sans Arabic",
    "Noto Naskh Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Segoe UI Emoji", "Arial Unicode MS",
)  # fmt: skip
"""For scripts that matplotlib's own font lacks, where this machine has them."""


class Palette(NamedTuple):
    """The colours of text, secondary text, lines, ground, and points without colours."""

    ink: str
    soft: str
    line: str
    paper: str
    accent: str


PAPER = Palette("#1f2328", "#57606a", "#d0d7de", "#ffffff", "#0b62c4")
"""The light colours of `tokens.css`."""


class Drawing(NamedTuple):
    """A figure, and where its points are."""

    figure: Figure
    box: tuple[float, float, float, float]
    """The axes in the pixels of the figure: left, top, width, height."""
    x: Ticks
    y: Ticks


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

    ours = {
        "font.size": TYPE_SIZE, "font.family": ["sans-serif", *_find_fonts()], "svg.fonttype": "none", "svg.hashsalt": "reelbook",
        "text.parse_math": False, "axes.unicode_minus": True, "figure.dpi": 72, "savefig.dpi": 72,
    }  # fmt: skip
    with matplotlib.style.context(["default", ours]), warnings.catch_warnings():
        # A letter that no font has is a box in a PNG, and itself in an SVG.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def draw_points(points: Points, size: tuple[int, int], colours: Palette) -> Drawing:
    """The figure, as wide as `size` and as high as its key and labels need; to be called within `matplotlib_style`.

    `size` is the width of the figure and the height of the axes, in pixels.
    """
    from matplotlib.figure import Figure

    width, axes_height = size
    is_narrow = width < 500
    up = make_ticks(points.y, room=axes_height, is_across=False, max_length=12 if is_narrow else 20, size=TYPE_SIZE)
    left = max([20.0, *(measure_text(label, TYPE_SIZE) for label in up.labels)]) + 14
    across = make_ticks(
        points.x, room=width - left - 16, is_across=True, max_length=12 if is_narrow else 16, size=TYPE_SIZE
    )
    lengths = [measure_text(label, TYPE_SIZE) for label in across.labels]
    is_turned = sum(length + 10 for length in lengths) > width - left - 16
    if is_turned:
        # Labels that lean to the left begin within the figure.
        left = max(left, lengths[0] * TURNED_WIDTH - (width - left) / (2 * len(lengths)))
    room = width - left - 16
    key = _plan_key(points, width)
    top = key.height + LINE + 8
    bottom = LINE + 14 + (max(lengths) * TURNED_HEIGHT + 6 if is_turned else LINE)
    height = top + axes_height + bottom
    box = (left, top, room, float(axes_height))
    figure = Figure(figsize=(width / 72, height / 72), dpi=72)
    _draw_key(figure, points, key, (width, height), colours)
    axes = figure.add_axes((left / width, bottom / height, room / width, axes_height / height))
    _draw_axes(axes, across, up, colours, is_turned=is_turned)
    figure.text(4 / width, 1 - (top - 8) / height, up.name, color=colours.soft, va="bottom", ha="left")
    figure.text((left + room) / width, 6 / height, across.name, color=colours.soft, va="bottom", ha="right")
    _draw_markers(axes, points, colours)
    return Drawing(figure, box, across, up)


def write_figure(figure: Figure, kind: str, *, scale: float = 1, ground: str | None = None) -> bytes:
    """The figure as `svg`, `png` or `pdf`; without a ground it is transparent."""
    out = io.BytesIO()
    # No date, so that the same plot has the same bytes.
    # Only of what is a picture within it.
    scale = RASTER_SCALE if kind == "svg" else scale
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None} if kind == "svg" else None
    figure.savefig(out, format=kind, dpi=72 * scale, metadata=nothing, facecolor=ground or "none", edgecolor="none")
    return out.getvalue()


def _draw_axes(axes: Axes, across: Ticks, up: Ticks, colours: Palette, *, is_turned: bool) -> None:
    axes.set_xlim(across.low, across.high)
    axes.set_ylim(up.low, up.high)
    turn: dict[str, Any] = {"rotation": TURN, "ha": "right", "rotation_mode": "anchor"} if is_turned else {}
    axes.set_xticks(across.at, across.labels, **turn)
    axes.set_yticks(up.at, up.labels)
    axes.tick_params(colors=colours.soft, labelcolor=colours.ink, length=3, width=1, color=colours.line)
    axes.grid(visible=True, color=colours.line, linewidth=1)
    axes.set_axisbelow(True)
    axes.patch.set_alpha(0)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(colours.line)


def _draw_markers(axes: Axes, points: Points, colours: Palette) -> None:
    """Each series as a collection with an id, whose shapes are in the order of its points."""
    x, y = points.x.values[points.rows], points.y.values[points.rows]
    is_picture = len(x) > MAX_MARKERS
    if not is_picture:
        x, y = _spread(x, y, axes)
    area = 10 if is_picture else 52 if len(x) <= 100 else 38 if len(x) <= 400 else 22
    common: dict[str, Any] = {"s": area, "clip_on": False, "zorder": 3, "rasterized": is_picture}
    edge = {"edgecolors": "none"} if is_picture else {"edgecolors": colours.paper, "linewidths": 0.8}
    for place, series in enumerate(points.series):
        shape = "o" if series.number is None else SHAPES[series.number]
        fill = _get_colour(points, series.number, colours, is_picture=is_picture)
        found = axes.scatter(x[series.points], y[series.points], color=fill, marker=shape, **common, **edge)
        found.set_gid(f"{POINTS_ID}-{place}")
    if points.has_scale and points.color is not None:
        from matplotlib import colormaps

        shades = points.color.values[points.rows]
        # The outline is of the colour of the text, because each end of the scale is faint on one kind of page.
        edge = {"edgecolors": "none"} if is_picture else {"edgecolors": colours.soft, "linewidths": 0.6}
        low, high = points.color.distinct[0], points.color.distinct[-1]
        scale = colormaps[SCALE].with_extremes(bad=NO_COLOUR)
        found = axes.scatter(x, y, c=shades, cmap=scale, vmin=low, vmax=high, plotnonfinite=True, **common, **edge)
        found.set_gid(f"{POINTS_ID}-0")


def _spread(x: Positions, y: Positions, axes: Axes) -> tuple[Positions, Positions]:
    """The positions with points of the same place around it, like the seeds of a sunflower, so that all can be seen."""
    places = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)[1].ravel()
    counts = np.bincount(places)
    if not len(places) or counts.max() < 2:
        return x, y
    rank = np.zeros(len(x))
    order = np.argsort(places, kind="stable")
    rank[order] = np.arange(len(x)) - np.repeat(np.cumsum(counts) - counts, counts)
    most = counts[places]
    radius = np.where(
        most > 1, np.minimum(SEED_RADIUS, MAX_RADIUS / np.sqrt(most)) * np.sqrt(rank + 0.5 * (most > 1)), 0
    )
    turn = rank * np.pi * (3 - np.sqrt(5))
    box = axes.get_window_extent()
    (low_x, high_x), (low_y, high_y) = axes.get_xlim(), axes.get_ylim()
    return (
        x + radius * np.cos(turn) * (high_x - low_x) / box.width,
        y + radius * np.sin(turn) * (high_y - low_y) / box.height,
    )


def _get_colour(points: Points, number: int | None, colours: Palette, *, is_picture: bool = False) -> str:
    if points.color is None:
        # A picture cannot follow the theme of the page.
        return SERIES_COLOURS[0] if is_picture else colours.accent
    return NO_COLOUR if number is None else SERIES_COLOURS[number]


class _Key(NamedTuple):
    """The legend or the scale at the top: its height in pixels, and the labels of a legend in columns."""

    height: float
    labels: Sequence[str] = ()
    columns: int = 1


def _plan_key(points: Points, width: int) -> _Key:
    if points.color is None or not len(points.rows):
        return _Key(0)
    if points.has_scale:
        return _Key(2 * LINE + 18)
    labels = shorten_apart([series.label for series in points.series], 28 if width < 500 else 36)
    columns = int((width - 8) / (max(measure_text(label, TYPE_SIZE) for label in labels) + 30))
    columns = max(1, min(columns, len(labels)))
    return _Key(LINE + -(-len(labels) // columns) * LINE + 4, labels, columns)


def _draw_key(figure: Figure, points: Points, key: _Key, size: tuple[int, float], colours: Palette) -> None:
    if points.color is None or not key.height:
        return
    if points.has_scale:
        _draw_scale(figure, points.color, size, colours)
        return
    from matplotlib.lines import Line2D

    width, height = size
    figure.text(4 / width, 1 - 2 / height, points.color.name, color=colours.soft, va="top", ha="left")
    handles = [
        Line2D(
            [], [], linestyle="none", marker="o" if series.number is None else SHAPES[series.number], markersize=7,
            markeredgewidth=0, color=_get_colour(points, series.number, colours),
        )
        for series in points.series
    ]  # fmt: skip
    figure.legend(
        _by_line(handles, key.columns), _by_line(key.labels, key.columns), loc="upper left", bbox_to_anchor=(0, 1 - LINE / height),
        ncols=key.columns, frameon=False, borderpad=0.1, borderaxespad=0.2, handletextpad=0.3, columnspacing=1, handlelength=1.2,
        labelspacing=0.35, labelcolor=colours.ink, fontsize=TYPE_SIZE,
    )  # fmt: skip


def _draw_scale(figure: Figure, color: Axis, size: tuple[int, float], colours: Palette) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    width, height = size
    low, high = color.distinct[0], color.distinct[-1]
    long = min(260, width - 64)
    ticks = make_ticks(color, room=long, is_across=True, max_length=20, size=TYPE_SIZE)
    figure.text(4 / width, 1 - 2 / height, ticks.name, color=colours.soft, va="top", ha="left")
    axes = figure.add_axes((32 / width, 1 - (LINE + 12) / height, long / width, 8 / height))
    bar = figure.colorbar(ScalarMappable(Normalize(low, high), SCALE), cax=axes, orientation="horizontal")
    inside = [(at, label) for at, label in zip(ticks.at, ticks.labels, strict=True) if low <= at <= high]
    if color.kind == NUMBER:
        # Both ends, and between them what has room.
        spare = (high - low) * END_ROOM / long
        ends = [(low, f"{low:.3g}"), (high, f"{high:.3g}")]
        inside = [ends[0], *((at, label) for at, label in inside if low + spare < at < high - spare), ends[1]]
    bar.set_ticks([at for at, _ in inside], labels=[label for _, label in inside])
    axes.tick_params(labelcolor=colours.ink, color=colours.line, length=3, width=1)
    bar.outline.set_visible(False)
    if bar.solids is not None:
        bar.solids.set_rasterized(True)  # Else 256 shapes.


def _by_line(items: Sequence[Any], columns: int) -> list[Any]:
    """The items in the order in which matplotlib fills columns, so that they read line by line.

    >>> _by_line([1, 2, 3, 4, 5], 2)
    [1, 3, 5, 2, 4]
    """
    return [item for column in range(columns) for item in items[column::columns]]


def _find_fonts() -> list[str]:
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    return [name for name in FALLBACK_FONTS if name in known]
