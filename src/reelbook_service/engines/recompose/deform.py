"""Warping of a window to a size: calm strips absorb the change, the subject keeps its shape."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
from PIL import Image

from .aims import Aims
from .crop_window import CropWindow, PixelSize
from .importance import Analysis
from .leeway import Leeway, Numbers, leeway_across, leeway_down, strip_sizes

_N = TypeVar("_N", int, float)

LONGEST = 512
"""Maximum pixels of the result that are resampled at a time."""

ALIKE = 0.004
"""Strips whose scales differ by less are resampled together."""


@dataclass(frozen=True, slots=True)
class Strips:
    """One axis of the deformation: strip i maps source[i] … source[i + 1] to target[i] … target[i + 1]."""

    source: tuple[float, ...]
    target: tuple[int, ...]

    @property
    def length(self) -> int:
        """The size of the result in pixels."""
        return self.target[-1]

    @property
    def uniform(self) -> bool:
        """Whether there is only one strip, and so no warping."""
        return len(self.target) == 2

    @property
    def finest(self) -> float:
        """The smallest number of pixels of the picture per pixel of the result."""
        return min((end - start) / (last - first) for start, end, first, last in self._each())

    def reach(self, extent: int) -> tuple[int, int]:
        """The range of the picture's pixels that is read."""
        return _with_neighbours(self.source[0], self.source[-1], self.length, extent)

    def place(self, at: float) -> float:
        """The position of a point of the picture, in pixels of the result."""
        return float(np.interp(at, self.source, self.target))

    def growth(self, start: float, end: float) -> float:
        """The mean enlargement between two points of the picture, as far as they are visible."""
        start, end = max(start, self.source[0]), min(end, self.source[-1])
        if end - start < 1e-6:
            start, end = self.source[0], self.source[-1]
        return (self.place(end) - self.place(start)) / (end - start)

    def moved(self, by: float) -> Strips:
        return Strips(tuple(place + by for place in self.source), self.target)

    def divided(self, by: int) -> Strips:
        return Strips(tuple(place / by for place in self.source), self.target)

    def pieces(self) -> Iterator[tuple[float, float, int, int]]:
        """Yield the strips, long ones in parts, so that no intermediate copy is large."""
        for start, end, first, last in self._each():
            parts = math.ceil((last - first) / LONGEST)
            edges = [first + (last - first) * part // parts for part in range(parts + 1)]
            places = [start + (end - start) * (edge - first) / (last - first) for edge in edges]
            yield from zip(places, places[1:], edges, edges[1:], strict=False)

    def _each(self) -> Iterator[tuple[float, float, int, int]]:
        for (start, end), (first, last) in zip(pairwise(self.source), pairwise(self.target), strict=True):
            yield start, end, first, last


def strips_for(
    analysis: Analysis, window: CropWindow, source: PixelSize, inner: PixelSize, aims: Aims
) -> tuple[Strips, Strips]:
    """The layout of the window's columns and rows over the pixels of the inner picture."""
    rows, columns = analysis.importance.shape
    across = leeway_across(analysis, window.top, window.bottom)[window.left : window.right]
    down = leeway_down(analysis, window.left, window.right)[window.top : window.bottom]
    return (
        _strips(
            across, _places(window.left, window.right, columns, source[0]), window.scale, inner[0], analysis, 0, aims
        ),
        _strips(down, _places(window.top, window.bottom, rows, source[1]), window.scale, inner[1], analysis, 1, aims),
    )


def bent(picture: Image.Image, across: Strips, down: Strips) -> Image.Image:
    """The picture, resampled strip by strip."""
    picture, across, down = _reduced(picture, across, down)
    if across.uniform and down.uniform and picture.mode == "RGB":
        box = (across.source[0], down.source[0], across.source[-1], down.source[-1])
        return picture.resize((across.length, down.length), Image.Resampling.BICUBIC, box=box)
    span_across, span_down = across.reach(picture.width), down.reach(picture.height)
    # First the pass that leaves less for the other.
    if across.length * (span_down[1] - span_down[0]) < down.length * (span_across[1] - span_across[0]):
        return _resampled(_resampled(picture, across, 0, span_down), down.moved(-span_down[0]), 1)
    return _resampled(_resampled(picture, down, 1, span_across), across.moved(-span_across[0]), 0)


def _reduced(picture: Image.Image, across: Strips, down: Strips) -> tuple[Image.Image, Strips, Strips]:
    """The picture reduced by integer factors, which is fast, to no less than twice the necessary resolution."""
    x, y = max(1, int(across.finest / 2)), max(1, int(down.finest / 2))
    if x == y == 1:
        return picture, across, down
    left, right = across.reach(picture.width)
    top, bottom = down.reach(picture.height)
    small = picture.reduce((x, y), box=(left, top, right, bottom))
    return small, across.moved(-left).divided(x), down.moved(-top).divided(y)


def _resampled(picture: Image.Image, strips: Strips, axis: int, span: tuple[int, int] | None = None) -> Image.Image:
    """The picture resampled along one axis; `span` is the part of the other axis to keep."""
    extent, other = (picture.size[axis], picture.size[1 - axis])
    low, high = span or (0, other)
    result = Image.new(picture.mode, _oriented(axis, strips.length, high - low))
    for start, end, first, last in strips.pieces():
        near, far = _with_neighbours(start, end, last - first, extent)
        # A small copy: resize would otherwise filter along the other axis too, and copy all of an RGBA picture.
        part = picture.crop((*_oriented(axis, near, low), *_oriented(axis, far, high)))
        box = (*_oriented(axis, start - near, 0), *_oriented(axis, end - near, high - low))
        size = _oriented(axis, last - first, high - low)
        result.paste(part.resize(size, Image.Resampling.BICUBIC, box=box), _oriented(axis, first, 0))
    return result


def _oriented(axis: int, along: _N, beside: _N) -> tuple[_N, _N]:
    return (along, beside) if axis == 0 else (beside, along)


def _with_neighbours(start: float, end: float, pixels: int, extent: int) -> tuple[int, int]:
    """The range of pixels that the filter reads."""
    reach = math.ceil(2 * max(1.0, (end - start) / pixels)) + 1
    return max(0, math.floor(start) - reach), min(extent, math.ceil(end) + reach)


def _places(start: int, end: int, cells: int, pixels: int) -> Numbers:
    """The positions of the cells' borders in the picture."""
    return np.arange(start, end + 1, dtype=np.float64) * pixels / cells


def _strips(
    leeway: Leeway, places: Numbers, scale: float, pixels: int, analysis: Analysis, axis: int, aims: Aims
) -> Strips:
    """The strips between these positions of the picture, laid out over `pixels`."""
    if aims.rigid:
        sizes = np.ones(len(places) - 1)
    else:
        growth = pixels / float((places[-1] - places[0]) * scale)
        cells = analysis.importance.shape[1 - axis]
        centre = analysis.centre[axis] * cells - places[0] / (places[1] - places[0])
        leaning = leeway.leaning(float(centre), aims.goal(axis, analysis.centre), growth, aims.firmness(axis))
        sizes = strip_sizes(leaning, growth)
    targets = np.concatenate([[0.0], sizes.cumsum()]) * (pixels / float(sizes.sum()))
    return _merged(places, targets, pixels)


def _merged(sources: Numbers, targets: Numbers, pixels: int) -> Strips:
    """Strips with integer edges; adjacent ones of the same scale are merged."""
    edges = np.unique(np.clip(np.rint(targets), 0, pixels).astype(np.int64))
    places = np.interp(edges, targets, sources)
    scales = np.diff(places) / np.diff(edges)
    starts = [0]
    for at in range(1, len(scales)):
        if abs(np.log(scales[at] / scales[starts[-1]])) > ALIKE:
            starts.append(at)
    starts.append(len(scales))
    return Strips(tuple(places[starts].tolist()), tuple(edges[starts].tolist()))
