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
"""Spread over all axes; in the order of the plan; the cheapest first."""

WINDOW_ROWS = 128
"""The next row is chosen among this many candidates, so that the time is linear in the number of rows."""
MAX_PAIRS = 2
AHEAD_WEIGHT = 1_000.0
"""Larger than the weight of all pairs together, so that values take precedence over pairs."""


def order_rows(plan: Plan, order: str) -> list[Row]:
    """All rows of a plan in one of the orders."""
    if order == "cheapest":
        # Rows of unknown price are last.
        return sorted(plan.rows, key=lambda row: (row.credits is None, row.credits or 0))
    return spread_rows(plan) if order == "coverage" else list(plan.rows)


def spread_rows(plan: Plan) -> list[Row]:
    """Order the rows so that a sweep stopped at any point has used the values of every axis about equally often.

    Greedy: the next run is the one whose pairs of values were used least, among those whose values have not exceeded
    their share. On a grid of two-valued axes this yields half and quarter fractions of a factorial design; an axis with
    many values is traversed in large steps, so that its first few values already span its range.

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
    """The numbers below `count` in bit-reversed order, each far from those before it.

    >>> reverse_bits(8), reverse_bits(5)
    ([0, 4, 2, 6, 1, 5, 3, 7], [0, 4, 2, 1, 3])
    """
    bits = max(count - 1, 0).bit_length()
    reversed_numbers = (int(f"{number:0{bits}b}"[::-1], 2) if bits else 0 for number in range(1 << bits))
    return [number for number in reversed_numbers if number < count]


def _axes(rows: Sequence[Row], columns: Sequence[str]) -> list[list[int]]:
    """The values of each axis as integer codes per row; axes that vary together are merged, constant ones dropped."""
    found = [_codes([_key(row[name]) for row in rows]) for name in columns]
    found.append(_codes([row.take for row in rows]))
    return [list(codes) for codes in dict.fromkeys(map(tuple, found)) if max(codes, default=0)]


def _codes(values: Sequence[Hashable]) -> list[int]:
    """Integer codes of values by first occurrence, which are equal for columns that vary together."""
    known: dict[Hashable, int] = {}
    return [known.setdefault(value, len(known)) for value in values]


def _key(value: object) -> Hashable:
    return (type(value), value) if isinstance(value, (str, int, float, bool)) else repr(value)


def _greedy_order(axes: Sequence[Sequence[int]], count: int) -> list[int]:
    """The positions of all rows in greedy order."""
    if not axes:
        return list(range(count))
    sizes = [max(codes) + 1 for codes in axes]
    singles = _UseCounts([np.array(codes) for codes in axes], sizes)
    # Pairs of axes with too many combinations hardly repeat, so counting them is useless.
    both = [two for two in combinations(range(len(axes)), 2) if sizes[two[0]] * sizes[two[1]] <= MAX_PAIRS * count]
    pairs = _UseCounts(
        [singles.codes[one] * sizes[other] + singles.codes[other] for one, other in both],
        [sizes[one] * sizes[other] for one, other in both],
    )
    places = reverse_bits(count) if count <= WINDOW_ROWS else _shuffled(count)
    near, rest = np.array(places[:WINDOW_ROWS]), iter(places[WINDOW_ROWS:])
    # A two-valued axis may be ahead by one, without which quarter fractions of a factorial design are not reached.
    slack = (singles.sizes == 2).astype(float)
    order: list[int] = []
    while len(near):
        # Squared, so that one value far ahead weighs more than two slightly ahead.
        lead = np.maximum(singles.times(near) - (len(order) + slack) / singles.sizes, 0.0)
        ahead = (lead * lead).sum(axis=0)
        best = int(np.argmin(ahead * AHEAD_WEIGHT + pairs.times(near).sum(axis=0)))
        place = int(near[best])
        order.append(place)
        singles.count(place)
        pairs.count(place)
        following = next(rest, None)
        # Keeps the order of the candidates, because `argmin` returns the first of equals.
        near[best:-1] = near[best + 1 :]
        if following is None:
            near = near[:-1]
        else:
            near[-1] = following
    return order


def _shuffled(count: int) -> list[int]:
    """The numbers below `count` in a fixed random order, because regular steps could repeat a value of some axis."""
    draw = random.Random(0)
    return [number for _, number in sorted((draw.random(), number) for number in range(count))]


class _UseCounts:
    """Counts of how often each value of each axis, or each pair of values, was used."""

    def __init__(self, codes: Sequence[np.ndarray], sizes: Sequence[int]) -> None:
        self.codes = list(codes)
        self.sizes = np.array(sizes, dtype=float).reshape(-1, 1)
        starts = np.cumsum([0, *sizes])
        # The counts of all axes in one array, so that a single indexing operation reads them all.
        self._places = np.array([one + start for one, start in zip(codes, starts, strict=False)], dtype=int)
        self._counts = np.zeros(starts[-1])

    def times(self, rows: np.ndarray) -> np.ndarray:
        """The counts of the values of these rows, per axis."""
        return self._counts[self._places[:, rows]] if self.codes else np.zeros((1, len(rows)))

    def count(self, row: int) -> None:
        """Count the values of a row as used."""
        if self.codes:
            self._counts[self._places[:, row]] += 1
