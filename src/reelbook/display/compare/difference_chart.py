"""The differences of two clips over time as a chart, and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from ..fact_table import SMALL_STYLE
from .frame_differences import Differences

LINE_STYLE = "fill:none;stroke:var(--rb-accent,currentColor);stroke-width:1.5;vector-effect:non-scaling-stroke"
SOFT = "fill:var(--rb-soft,currentColor)"
TOP, HEIGHT, FOOT = 18, 40, 8
# Hidden where the style sheet is lost: a page that drops it drops the drawing as well, and would leave bare numbers.
CHART = Markup(
    '<div class="rb-compare-chart" data-rb-chart data-rb-ticks="{}" hidden style="display:none"><div class="rb-compare-plot">{}</div></div>'
)
# All text is in the drawing, because a host that drops drawings would leave it lying about. The line is as wide as its container,
# and of the same thickness throughout; 7 px from the edges, like the time line.
PANEL = Markup(
    '<svg class="rb-compare-panel" role="img" aria-label="{}" width="100%" height="{}" xmlns="http://www.w3.org/2000/svg" '
    'style="display:block;overflow:visible;font-size:12px;font-variant-numeric:tabular-nums"><title>{}</title>'
    '<text x="0" y="12" style="{}">{}</text><text data-rb-range="" x="100%" y="12" text-anchor="end" style="{}">{}</text>'
    '<svg y="{}" width="100%" height="{}" viewBox="0 0 {} 1" preserveAspectRatio="none" style="overflow:visible">'
    '<polyline data-rb-line="{}" points="{}" style="{}"/></svg></svg>'
)
SENTENCE = Markup('<p data-rb-differences style="{};margin:4px 0">{}</p>')
SSIM, MEAN = "ssim", "mean_absolute"
TITLES = {MEAN: "mean difference, of 255", SSIM: "SSIM, 1 is equal"}


def render_chart(differences: Differences, ticks: int) -> Markup:
    """The chart of two series over the frames of the clock; empty for less than two frames."""
    if ticks < 2 or len(differences.frames) < 2:
        return Markup("")
    panels = [
        _render_panel(name, differences.frames, values, ticks)
        for name, values in ((MEAN, differences.mean_absolute), (SSIM, differences.ssim))
        if not any(math.isnan(value) for value in values)
    ]
    return CHART.format(ticks, Markup("").join(panels))


def render_sentence(differences: Differences, names: tuple[str, str], note: str) -> Markup:
    """The differences in words; it stays where a chart cannot be displayed."""
    return SENTENCE.format(SMALL_STYLE, format_differences(differences, names, note))


def format_differences(differences: Differences, names: tuple[str, str], note: str = "") -> str:
    """The least and the greatest difference in words.

    >>> format_differences(Differences((0, 1), (1.0, 0.9), (0.0, 3.25)), ("A", "B"))
    'A and B: mean absolute difference 0.00 to 3.25 of 255, SSIM 0.900 to 1.000.'
    """
    if not differences.frames:
        return f"{names[0]} and {names[1]} have no frame at the same time."
    mean = _format_range(MEAN, differences.mean_absolute, " to ")
    parts = [f"mean absolute difference {mean} of 255"]
    if not any(math.isnan(value) for value in differences.ssim):
        parts.append(f"SSIM {_format_range(SSIM, differences.ssim, ' to ')}")
    return f"{names[0]} and {names[1]}: {', '.join(parts)}{f'; {note}' if note else ''}."


def _render_panel(name: str, frames: Sequence[int], values: Sequence[float], ticks: int) -> Markup:
    low, high = find_scale(name, values)
    points = " ".join(
        f"{frame},{1 - (value - low) / (high - low):.3f}" for frame, value in zip(frames, values, strict=True)
    )
    words = f"{TITLES[name]}: {_format_range(name, values, ' to ')} over {len(frames):,} frames"
    text = _format_range(name, values, " – ")
    return PANEL.format(
        words, TOP + HEIGHT + FOOT, words, SOFT, TITLES[name], SOFT, text, TOP, HEIGHT, ticks - 1, name, points, LINE_STYLE
    )  # fmt: skip


def find_scale(name: str, values: Sequence[float]) -> tuple[float, float]:
    """The values at the lower and the upper edge of a panel; the page uses the same."""
    if name == MEAN:
        return 0.0, max(*values, 1.0)
    return min(*values, 0.9), 1.0


def _format_range(name: str, values: Sequence[float], word: str) -> str:
    digits = 2 if name == MEAN else 3
    ends = [f"{value:.{digits}f}" for value in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else word.join(ends)
