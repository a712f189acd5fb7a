"""The order in which the runs of a plan are sent."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ..plan.plan_rows import Row

if TYPE_CHECKING:
    from ..plan.plan import Plan

ORDERS = ("coverage", "as given", "cheapest")
"""Spread over all axes; as the plan has them; those that cost least first."""

WINDOW_ROWS = 128
"""Among so many rows the next one is looked for, so that the time grows with the rows and not with their square."""
MAX_PAIRS = 2
AHEAD_WEIGHT = 1_000.0
"""More than all pairs together: first the values, then their pairs."""


def order_rows(plan: Plan, order: str) -> list[Row]:
    """All rows of a plan in one of the orders."""
    if order == "cheapest":
        # What nobody knows the price of comes last.
        return sorted(plan.rows, key=lambda row: (row.credits is None, row.credits or 0))
    return spread_rows(plan) if order == "coverage" else list(plan.rows)


def spread_rows(plan: Plan) -> list[Row]:
    """The rows so that a sweep which stops anywhere has tried the values of every axis about equally often.

    Each next run is the one whose pairs of values were tried least so far, of those whose values are not ahead of their
    share. On a grid of switches this gives the halves and quarters of a factorial design; an axis with many
    values is walked through in leaps, so that its first few already reach from one end to the other.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> from reelbook.sweeps.plan.sweep_call import sweep
    >>> plan = sweep(TextToVideo(prompt="a paper boat"), seed=[1, 2], num_frames=[49, 97], aspect_ratio=["16:9", "1:1"])
    >>> [(row.seed, row.num_frames, row.aspect_ratio) for row in spread_rows(plan)][:4]
    [(1, 49, '16:9'), (2, 97, '16:9'), (2, 49, '1:1'), (1, 97, '1:1')]
    """
    possible = [row for row in plan if row.input is not None]
    impossible = [row for row in plan if row.input is None]
    return [*(possible[place] for place in _greedy_order(_axes(possible, plan.columns), len(possible))), *impossible]


def reverse_bits(count: int) -> list[int]:
    """The numbers up to `count`, each far from those before it.

    >>> reverse_bits(8), reverse_bits(5)
    ([0, 4, 2, 6, 1, 5, 3, 7], [0, 4, 2, 1, 3])
    """
    bits = max(count - 1, 0).bit_length()
    turned = (int(f"{number:0{bits}b}"[::-1], 2) if bits else 0 for number in range(1 << bits))
    return [number for number in turned if number < count]


def _axes(rows: Sequence[Row], columns: Sequence[str]) -> list[list[int]]:
    """Which value each row has of each axis, as numbers; axes that move together count once."""
    found = [_codes([_key(row[name]) for row in rows]) for name in columns]
    found.append(_codes([row.take for row in rows]))
    return [list(codes) for codes in dict.fromkeys(map(tuple, found)) if max(codes, default=0)]


def _codes(values: Sequence[Hashable]) -> list[int]:
    """Each value by when it first occurs, which is the same for two columns that say the same in other words."""
    known: dict[Hashable, int] = {}
    return [known.setdefault(value, len(known)) for value in values]


def _key(value: object) -> Hashable:
    return (type(value), value) if isinstance(value, (str, int, float, bool)) else repr(value)


def _greedy_order(axes: Sequence[Sequence[int]], count: int) -> list[int]:
    """The places of all rows, the next best one after the other."""
    if not axes:
        return list(range(count))
    sizes = [max(codes) + 1 for codes in axes]
    singles = _UseCounts([np.array(codes) for codes in axes], sizes)
    # Two axes of which one never repeats a value have no pairs that could be tried twice.
    both = [two for two in combinations(range(len(axes)), 2) if sizes[two[0]] * sizes[two[1]] <= MAX_PAIRS * count]
    pairs = _UseCounts(
        [singles.codes[one] * sizes[other] + singles.codes[other] for one, other in both],
        [sizes[one] * sizes[other] for one, other in both],
    )
    places = reverse_bits(count) if count <= WINDOW_ROWS else _shuffled(count)
    near, rest = np.array(places[:WINDOW_ROWS]), iter(places[WINDOW_ROWS:])
    # A switch may be ahead by one, without which the quarters of a factorial design are out of reach.
    slack = (singles.sizes == 2).astype(float)
    order: list[int] = []
    while len(near):
        # Squared, so that one value far ahead counts for more than two that are so a little.
        lead = np.maximum(singles.times(near) - (len(order) + slack) / singles.sizes, 0.0)
        ahead = (lead * lead).sum(axis=0)
        best = int(np.argmin(ahead * AHEAD_WEIGHT + pairs.times(near).sum(axis=0)))
        place = int(near[best])
        order.append(place)
        singles.count(place)
        pairs.count(place)
        following = next(rest, None)
        # In the order of the leaps, because of equals the first one is taken.
        near[best:-1] = near[best + 1 :]
        if following is None:
            near = near[:-1]
        else:
            near[-1] = following
    return order


def _shuffled(count: int) -> list[int]:
    """All numbers in an order that is always the same; every n-th row would have the same value of some axis."""
    draw = random.Random(0)
    return [number for _, number in sorted((draw.random(), number) for number in range(count))]


class _UseCounts:
    """How often each value of each axis, or each pair of values, was tried."""

    def __init__(self, codes: Sequence[np.ndarray], sizes: Sequence[int]) -> None:
        self.codes = list(codes)
        self.sizes = np.array(sizes, dtype=float).reshape(-1, 1)
        starts = np.cumsum([0, *sizes])
        # All counts in one row, one axis after the other, so that one look finds those of all axes.
        self._places = np.array([one + start for one, start in zip(codes, starts, strict=False)], dtype=int)
        self._counts = np.zeros(starts[-1])

    def times(self, rows: np.ndarray) -> np.ndarray:
        """How often what these rows have was tried, axis by axis."""
        return self._counts[self._places[:, rows]] if self.codes else np.zeros((1, len(rows)))

    def count(self, row: int) -> None:
        """One more."""
        if self.codes:
            self._counts[self._places[:, row]] += 1
