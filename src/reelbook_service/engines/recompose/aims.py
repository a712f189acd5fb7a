"""The costs that define a good composition, and how wishes and variants shift them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

Place = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Aims:
    """Costs and preferences of a composition; the defaults suit most pictures."""

    lost: float = 1.2
    """The cost of importance outside the window."""
    cut: float = 1.6
    """The cost of cutting a subject."""
    bend: float = 0.6
    """The cost of stretching and squeezing calm parts."""
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
    rigid: bool = False
    """Whether nothing may be stretched or squeezed."""

    def goal(self, axis: int, centre: tuple[float, float]) -> float:
        """The target position of the subject's centre along one axis: 0 is across, 1 is down."""
        wanted = self.place[axis]
        # Half way between the middle and its position in the picture.
        return (centre[axis] + 0.5) / 2 if wanted is None else wanted

    def firmness(self, axis: int) -> float:
        """How much calm parts are warped unevenly to move the subject there: little, unless the prompt requests it."""
        return 0.3 if self.place[axis] is None else 1.2


def variants(aims: Aims, count: int, seed: int, shape: float) -> Iterator[Aims]:
    """The aims of several different views: the best one first, then closer, and to either side of the middle.

    `shape` is the target's aspect ratio, width to height. The seed varies the weights slightly; the same seed gives
    the same views for every size of one shape.
    """
    generator = np.random.default_rng([seed, 0])
    first, second = (int(shift) for shift in generator.permutation([-1, 1]))
    for number in range(count):
        lost, bend, invent = np.exp(generator.normal(0, 0.06, 3))
        view = replace(aims, lost=aims.lost * lost, bend=aims.bend * bend, invent=aims.invent * invent)
        if number > 0:
            # Other views cut a subject or add background more easily, so these cost more.
            closeness, shift = ((0.6, 0), (0.15, first), (0.15, second))[number - 1]
            place = _aside(aims.place, shift, (first - second) / 2, shape)
            view = replace(
                view, cut=2.5 * aims.cut, invent=1.2 * view.invent, closeness=aims.closeness + closeness, place=place
            )
        yield view


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
