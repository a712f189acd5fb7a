"""The view of a picture that suits a size best: a search over all views of that shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..saliency import Map, Saliency

Numbers = npt.NDArray[np.float64]
Place = tuple[float | None, float | None]

CLOSEST = 0.12
"""The smallest view, as a share of the largest that lies inside the picture."""

SCALES, PLACES = 20, 41
"""Number of scales tried on either side of that view, and of positions along each side."""

MAX_ADDED = 0.7
"""The share that may be added background before it becomes expensive."""

AIR = 0.06
"""The preferred margin around a subject, as a share of the view."""


@dataclass(frozen=True, slots=True)
class Aims:
    """Costs and preferences of a view; the defaults suit most pictures."""

    lost: float = 1.2
    """The cost of importance outside the view."""
    cut: float = 1.6
    """The cost of cutting a subject."""
    invent: float = 1.0
    """The cost of adding background."""
    closeness: float = 0.0
    """Above 0 prefers a closer view, below 0 a wider one."""
    place: Place = (None, None)
    """The target position of the subject's centre, as shares of the result; None derives it from the picture."""
    edges: frozenset[str] = frozenset()
    """The sides of the picture that must remain: left, right, top, bottom."""
    whole: bool = False
    """Whether the complete picture must remain."""


@dataclass(frozen=True, slots=True)
class View:
    """A rectangle that has the shape of the target, in shares of the picture's sides; it may reach beyond it."""

    left: float
    top: float
    width: float
    height: float

    @property
    def visible(self) -> tuple[float, float]:
        """The visible shares of the picture's width and height."""
        return float(_inside(self.left, self.width)), float(_inside(self.top, self.height))

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The visible part of the picture: left, top, right and bottom."""
        left, top = max(0.0, self.left), max(0.0, self.top)
        return left, top, left + self.visible[0], top + self.visible[1]

    @property
    def added(self) -> float:
        """The share of the view that lies beyond the picture."""
        across, down = self.visible
        return 1 - across * down / (self.width * self.height)


def views_of(
    saliency: Saliency, source: tuple[int, int], target: tuple[int, int], aims: Aims, count: int, seed: int
) -> Iterator[View]:
    """Yield several different views: the best one first, then closer, and to either side of the middle.

    The seed varies costs and positions slightly; the same seed gives the same views for every size of one shape.
    """
    generator = np.random.default_rng([seed, 0])
    first, second = (int(shift) for shift in generator.permutation([-1, 1]))
    taken: list[View] = []
    for number in range(count):
        lost, invent = np.exp(generator.normal(0, 0.06, 2))
        shake = generator.uniform(-0.02, 0.02, 2)
        wanted = replace(aims, lost=aims.lost * lost, invent=aims.invent * invent)
        if number > 0:
            # Other views cut a subject or add background more easily, so these cost more.
            closeness, shift = ((0.25, 0), (0.06, first), (0.06, second))[number - 1]
            place = _aside(aims.place, shift, (first - second) / 2, target[0] / target[1])
            wanted = replace(
                wanted,
                cut=2.5 * aims.cut,
                invent=1.2 * wanted.invent,
                closeness=aims.closeness + closeness,
                place=place,
            )
        taken.append(_best(saliency, source, target, wanted, taken, shake))
        yield taken[-1]


def _aside(place: Place, shift: int, spare: float, shape: float) -> Place:
    """The place moved to one side, unless a wish specifies it."""
    across, down = place
    if shape > 3 and across is None:
        # A banner cannot zoom in much: its subject is moved farther outwards instead.
        return 0.5 + 0.18 * shift + (0 if shift else 0.36 * spare), down
    if shape < 0.7 and down is None:
        return across, (0.5 + 0.12 * shift if shift else None)
    if across is None and shift:
        return 0.5 + 0.16 * shift, down
    return place


def _best(
    saliency: Saliency,
    source: tuple[int, int],
    target: tuple[int, int],
    aims: Aims,
    taken: Sequence[View],
    shake: Numbers,
) -> View:
    """The view that loses, cuts and adds least, unlike those already taken."""
    shape = target[0] / target[1] * source[1] / source[0]
    # From the closest view to the largest inside the picture, and on to the smallest around it.
    scales = np.geomspace(CLOSEST, 1, SCALES)
    if max(shape, 1 / shape) > 1.001:
        scales = np.concatenate([scales, np.geomspace(1, max(shape, 1 / shape), SCALES + 1)[1:]])
    width = (min(1.0, shape) * scales)[:, None, None]
    height = width / shape
    places = np.linspace(0, 1, PLACES)
    # At 0 the view begins where the picture does, at 1 both end together, whichever of them is longer.
    left, top = (1 - width) * places[None, None], (1 - height) * places[None, :, None]
    price = _content_price(saliency, aims, left, top, width, height)
    price = price + _border_price(saliency, aims, left, top, width, height)
    price = price + 0.1 * np.maximum(np.log(target[0] / (width * source[0])), 0)
    for view in taken:
        across = _overlap(left, width, view.left, view.width)
        both = across * _overlap(top, height, view.top, view.height)
        price = price + 1.5 * np.maximum(both / (width * height + view.width * view.height - both) - 0.75, 0)
    scale, y, x = np.unravel_index(int(price.argmin()), price.shape)
    wide, high = float(width[scale, 0, 0]), float(height[scale, 0, 0])
    free = not (aims.whole or aims.edges)
    along, down = (min(max(places[at] + free * by, 0.0), 1.0) for at, by in zip((x, y), shake, strict=True))
    return View((1 - wide) * along, (1 - high) * down, wide, high)


def _content_price(
    saliency: Saliency, aims: Aims, left: Numbers, top: Numbers, width: Numbers, height: Numbers
) -> Numbers:
    """The cost of what is lost, cut, left without margin, or not in its place."""
    rows, columns = saliency.importance.shape
    first, last = (np.rint(np.clip(edge, 0, 1) * columns).astype(int) for edge in (left, left + width))
    upper, lower = (np.rint(np.clip(edge, 0, 1) * rows).astype(int) for edge in (top, top + height))
    sums = np.pad(saliency.importance, ((1, 0), (1, 0))).cumsum(0, dtype=np.float64).cumsum(1)
    inside = sums[lower, last] - sums[upper, last] - sums[lower, first] + sums[upper, first]
    price: Numbers = aims.lost * (1 - inside / max(float(sums[-1, -1]), 1e-6))
    for box in saliency.boxes:
        across = _overlap(left, width, box.left, box.right - box.left) / (box.right - box.left)
        down = _overlap(top, height, box.top, box.bottom - box.top) / (box.bottom - box.top)
        tight = _tightness(left, width, box.left, box.right) + _tightness(top, height, box.top, box.bottom)
        price = price + box.weight * (aims.cut * (1 - across * down) + 0.4 * tight)
    area = _inside(left, width) * _inside(top, height)
    price = price + (4.0 if aims.whole else 0.14 - 2.0 * aims.closeness) * (1 - area)
    for axis, (start, length) in enumerate(((left, width), (top, height))):
        goal = aims.place[axis]
        now = (saliency.centre[axis] - start) / length
        # Half way between the middle and its position in the picture.
        usual = (saliency.centre[axis] + 0.5) / 2
        price = price + (0.3 * np.abs(now - usual) if goal is None else 6.0 * np.abs(now - goal))
    # The importance of the cells along each edge that cuts through the picture.
    for inner, lines, before, after, cells in (
        (left > 0, first, upper, lower, sums),
        (left + width < 1, last - 1, upper, lower, sums),
        (top > 0, upper, first, last, sums.T),
        (top + height < 1, lower - 1, first, last, sums.T),
    ):
        at = np.clip(lines, 0, cells.shape[1] - 2)
        line = cells[after, at + 1] - cells[before, at + 1] - cells[after, at] + cells[before, at]
        price = price + 0.8 * inner * line / np.maximum(after - before, 1)
    return price


def _border_price(
    saliency: Saliency, aims: Aims, left: Numbers, top: Numbers, width: Numbers, height: Numbers
) -> Numbers:
    """The cost of extending the picture, and of missing sides that must remain."""
    added = 1 - _inside(left, width) * _inside(top, height) / (width * height)
    # Extending a side is bad where a subject touches it, and where it is busy.
    importance, busy = _borders(saliency.importance), _borders(np.minimum(saliency.busy / 3, 2))
    beside, above = (
        6 * min(importance[one], importance[other]) + (busy[one] + busy[other]) / 2
        for one, other in (("left", "right"), ("top", "bottom"))
    )
    price: Numbers = aims.invent * (0.7 + 0.6 * added + np.where(width > 1, beside, above)) * added
    # A narrow margin is not worth the seam.
    price = price + 0.1 * (added > 1e-6) + 5 * np.maximum(added - MAX_ADDED, 0)
    touched = _touched(saliency)
    for side, gap in {
        "left": left / width,
        "right": (1 - left - width) / width,
        "top": top / height,
        "bottom": (1 - top - height) / height,
    }.items():
        if side in touched:
            price = price + 3.0 * np.maximum(-gap, 0)
        if side in aims.edges:
            price = price + 3.0 * (gap > 1e-9)
    return price


def _borders(cells: Map) -> dict[str, float]:
    """The mean along each border of a map."""
    lines = {"left": cells[:, 0], "right": cells[:, -1], "top": cells[0], "bottom": cells[-1]}
    return {side: float(line.mean()) for side, line in lines.items()}


def _touched(saliency: Saliency) -> set[str]:
    """The sides at which the picture's own border cuts a subject; not those of an axis where both do."""
    boxes = [box for box in saliency.boxes if box.weight > 0.3]
    # A box has a margin of one cell, so that one just next to the edge does not touch it.
    cell_x, cell_y = (0.5 / cells for cells in saliency.importance.shape[::-1])
    sides = {
        "left": any(box.left < cell_x for box in boxes),
        "right": any(box.right > 1 - cell_x for box in boxes),
        "top": any(box.top < cell_y for box in boxes),
        "bottom": any(box.bottom > 1 - cell_y for box in boxes),
    }
    opposite = {"left": "right", "right": "left", "top": "bottom", "bottom": "top"}
    return {side for side, is_cut in sides.items() if is_cut and not sides[opposite[side]]}


def _inside(start: Numbers | float, length: Numbers | float) -> Numbers:
    """The length of an interval within the picture."""
    return np.asarray(np.minimum(start + length, 1) - np.maximum(start, 0))


def _overlap(start: Numbers, length: Numbers, low: float, extent: float) -> Numbers:
    """The length that intervals share with another one."""
    return np.asarray(np.maximum(np.minimum(start + length, low + extent) - np.maximum(start, low), 0))


def _tightness(start: Numbers, length: Numbers, low: float, high: float) -> Numbers:
    """How small a margin each view leaves around an interval; the picture's own border needs none."""
    before = np.where(start > 0, low - start, length)
    after = np.where(start + length < 1, start + length - high, length)
    missing: Numbers = np.clip(1 - before / (AIR * length), 0, 1) + np.clip(1 - after / (AIR * length), 0, 1)
    return missing
