"""The part of a picture to show: a search over windows of all shapes and positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .aims import Aims
from .importance import Analysis, CellGrid
from .leeway import Leeway, Numbers, leeway_across, leeway_down

Indices = npt.NDArray[np.int64]
PixelSize = tuple[int, int]

SHAPES = 15
"""Number of lengths tried along each side."""

LEAST = 0.12
"""The shortest of them, as a share of the picture; a single cell is added for the most extreme targets."""

MAX_ADDED = 0.7
"""The share of a side that may be added background before it becomes expensive."""

AIR = 0.06
"""The preferred margin around a subject, as a share of the window."""


@dataclass(frozen=True, slots=True)
class CropWindow:
    """A part of the picture in cells of the analysis's grid, and how it fills the target."""

    left: int
    top: int
    right: int
    bottom: int
    scale: float
    """The size of the subject in the target, relative to the picture."""
    covers: tuple[float, float]
    """The shares of the target's width and height that it covers; the rest is added."""


class Search:
    """All windows of a picture, with the costs that do not depend on the target."""

    def __init__(self, analysis: Analysis, source: PixelSize, aims: Aims) -> None:
        rows, columns = analysis.importance.shape
        self.aims = aims
        self._xs = _spans(columns, source[0], leeway_across(analysis), aims.rigid)
        self._ys = _spans(rows, source[1], leeway_down(analysis), aims.rigid)
        self._content = _content_price(analysis, self._xs, self._ys, aims)
        self._content += _place_price(analysis, self._xs, self._ys, aims)
        importance = _edges(analysis.importance, self._xs, self._ys)
        busy = _edges(np.minimum(np.hypot(analysis.across, analysis.down) / 3, 2), self._xs, self._ys)
        self._content += 0.8 * _cut(importance, self._xs, self._ys)
        # Extending a side is bad where a subject touches it, and where it is busy. The calmer side is extended.
        self._beside, self._above = (
            6 * np.minimum(importance[a], importance[b]) + (busy[a] + busy[b]) / 2 for a, b in ((0, 1), (2, 3))
        )

    def best(self, target: PixelSize, taken: Sequence[CropWindow] = ()) -> CropWindow:
        """The window that loses, cuts, warps and adds least, unlike those already taken."""
        xs, ys = self._xs, self._ys
        fit = _fit(xs, ys, target)
        price = self._content + self._shape_price(fit)
        for window in taken:
            price += 1.5 * np.maximum(_likeness(window, xs, ys) - 0.75, 0)
        y, x = np.unravel_index(int(price.argmin()), price.shape)
        covered = float(1 - fit.added[y, x])
        covers = (covered, 1.0) if fit.wider[y, x] else (1.0, covered)
        left, top, right, bottom = (int(edge) for edge in (xs.start[x], ys.start[y], xs.end[x], ys.end[y]))
        return CropWindow(left, top, right, bottom, float(np.exp(fit.scale[y, x])), covers)

    def _shape_price(self, fit: _Fit) -> Numbers:
        """The cost of warping, extending and enlarging each window."""
        price = self.aims.bend * fit.bend * (0.35 + 0.65 * fit.load)
        side = np.where(fit.wider, self._beside, self._above)
        price += self.aims.invent * (0.7 + 0.6 * fit.added + side) * fit.added
        # With more, the result would hardly resemble the picture.
        price += 5 * np.maximum(fit.added - MAX_ADDED, 0)
        return np.asarray(price + 0.1 * np.maximum(fit.scale, 0))


@dataclass(frozen=True, slots=True)
class _Fit:
    """How each window fills a target."""

    wider: npt.NDArray[np.bool_]
    """Whether the target's aspect ratio is wider than the window's."""
    bend: Numbers
    """The stretching and squeezing of strips, as a logarithm."""
    load: Numbers
    """Its share of the strips' capacity, 0 to 1."""
    added: Numbers
    """The share of the target that is still missing."""
    scale: Numbers
    """The logarithm of the subject's size in the target, relative to the picture."""


def _fit(xs: _Spans, ys: _Spans, target: PixelSize) -> _Fit:
    wide, high = np.log(target[0] / xs.length)[None], np.log(target[1] / ys.length)[:, None]
    need = wide - high
    wider = need > 0
    capacity = np.where(wider, xs.grow[None] + ys.shrink[:, None], xs.shrink[None] + ys.grow[:, None])
    bend = np.minimum(np.abs(need), capacity)
    load = bend / np.maximum(capacity, 1e-6)
    # The subject has the scale of the side that is too long, where the strips beside it are squeezed.
    scale = np.where(wider, high + load * ys.shrink[:, None], wide + load * xs.shrink[None])
    return _Fit(wider, bend, load, 1 - np.exp(bend - np.abs(need)), scale)


@dataclass(frozen=True, slots=True)
class _Spans:
    """Many intervals along one side of the picture, as one array per property."""

    start: Indices
    end: Indices
    cells: int
    length: Numbers
    """In pixels of the picture."""
    shrink: Numbers
    """The logarithm of the maximum squeeze of each."""
    grow: Numbers
    """The logarithm of the maximum stretch of each."""


def _spans(cells: int, pixels: int, leeway: Leeway, rigid: bool) -> _Spans:
    lengths = sorted({max(1, round(cells * part)) for part in np.linspace(LEAST, 1, SHAPES)} | {1})
    pairs = [
        (start, start + length)
        for length in lengths
        for start in sorted({*range(0, cells - length + 1, 2 if length > 12 else 1), cells - length})
    ]
    start, end = np.array(pairs).T
    own = (end - start).astype(np.float64)
    if rigid:
        return _Spans(start, end, cells, own * pixels / cells, np.zeros_like(own), np.zeros_like(own))
    small, large = (np.concatenate([[0.0], sizes.cumsum(dtype=np.float64)]) for sizes in leeway.limits())
    shrink, grow = np.log(own / (small[end] - small[start])), np.log((large[end] - large[start]) / own)
    return _Spans(start, end, cells, own * pixels / cells, shrink, grow)


def _content_price(analysis: Analysis, xs: _Spans, ys: _Spans, aims: Aims) -> Numbers:
    """The cost of what is lost, cut, or left without margin."""
    sums = np.pad(analysis.importance, ((1, 0), (1, 0))).cumsum(0, dtype=np.float64).cumsum(1)
    rows = sums[ys.end] - sums[ys.start]
    price: Numbers = aims.lost * (1 - (rows[:, xs.end] - rows[:, xs.start]) / max(float(sums[-1, -1]), 1e-6))
    for box in analysis.boxes:
        across, down = _covered_share(box.left, box.right, xs), _covered_share(box.top, box.bottom, ys)
        price += aims.cut * box.weight * (1 - down[:, None] * across[None])
        price += 0.4 * box.weight * _tightness(box.left, box.right, xs)[None]
        price += 0.4 * box.weight * _tightness(box.top, box.bottom, ys)[:, None]
    area = (xs.end - xs.start)[None] * (ys.end - ys.start)[:, None] / (xs.cells * ys.cells)
    price += (4.0 if aims.whole else 0.14 - 0.6 * aims.closeness) * (1 - area)
    return price


def _covered_share(low: float, high: float, spans: _Spans) -> Numbers:
    """The share of an interval that each span covers."""
    inside = np.minimum(high * spans.cells, spans.end) - np.maximum(low * spans.cells, spans.start)
    return np.asarray(np.clip(inside / max((high - low) * spans.cells, 1e-6), 0, 1))


def _tightness(low: float, high: float, spans: _Spans) -> Numbers:
    """How small a margin each span leaves around an interval; the picture's own border needs none."""
    length = spans.end - spans.start
    before = np.where(spans.start > 0, low * spans.cells - spans.start, length)
    after = np.where(spans.end < spans.cells, spans.end - high * spans.cells, length)
    missing = [np.clip(1 - air / (AIR * length), 0, 1) for air in (before, after)]
    return np.asarray(missing[0] + missing[1])


def _edges(grid: CellGrid, xs: _Spans, ys: _Spans) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """The mean of the grid along the left, right, top and bottom edge of every window."""
    down = np.pad(grid, ((1, 0), (0, 0))).cumsum(0, dtype=np.float64)
    across = np.pad(grid, ((0, 0), (1, 0))).cumsum(1, dtype=np.float64)
    columns = (down[ys.end] - down[ys.start]) / (ys.end - ys.start)[:, None]
    rows = (across[:, xs.end] - across[:, xs.start]) / (xs.end - xs.start)[None]
    return columns[:, xs.start], columns[:, xs.end - 1], rows[ys.start], rows[ys.end - 1]


def _cut(importance: tuple[Numbers, Numbers, Numbers, Numbers], xs: _Spans, ys: _Spans) -> Numbers:
    """The importance along the window's edges; the picture's own border cuts nothing."""
    left, right, top, bottom = importance
    sides = (xs.start > 0)[None] * left + (xs.end < xs.cells)[None] * right
    return sides + (ys.start > 0)[:, None] * top + (ys.end < ys.cells)[:, None] * bottom


def _place_price(analysis: Analysis, xs: _Spans, ys: _Spans, aims: Aims) -> Numbers:
    """The cost of the subject's distance from its goal, and of missing sides that must remain."""
    across = _off_place(analysis, xs, 0, aims) + _missing(xs, "left", "right", aims)
    down = _off_place(analysis, ys, 1, aims) + _missing(ys, "top", "bottom", aims)
    return across[None] + down[:, None]


def _off_place(analysis: Analysis, spans: _Spans, axis: int, aims: Aims) -> Numbers:
    now = (analysis.centre[axis] * spans.cells - spans.start) / (spans.end - spans.start)
    price: Numbers = (0.3 if aims.place[axis] is None else 1.2) * np.abs(now - aims.goal(axis, analysis.centre))
    return price


def _missing(spans: _Spans, first: str, last: str, aims: Aims) -> Numbers:
    return 3.0 * ((spans.start > 0) & (first in aims.edges)) + 3.0 * ((spans.end < spans.cells) & (last in aims.edges))


def _likeness(window: CropWindow, xs: _Spans, ys: _Spans) -> Numbers:
    """The overlap of each window with the given one: 1 for the same."""
    across = np.clip(np.minimum(xs.end, window.right) - np.maximum(xs.start, window.left), 0, None)
    down = np.clip(np.minimum(ys.end, window.bottom) - np.maximum(ys.start, window.top), 0, None)
    both = down[:, None] * across[None]
    either = (xs.end - xs.start)[None] * (ys.end - ys.start)[:, None]
    either = either + (window.right - window.left) * (window.bottom - window.top) - both
    return np.asarray(both / either)
