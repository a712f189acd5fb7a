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
"""Pairs of axes with more combinations than this many per row hardly repeat, so that counting them is useless."""


def order_rows(plan: Plan, order: str) -> list[Row]:
    """All rows of a plan in one of the orders."""
    if order == "cheapest":
        # Rows of unknown price are last.
        return sorted(plan.rows, key=lambda row: (row.credits is None, row.credits or 0))
    return spread_rows(plan) if order == "coverage" else list(plan.rows)


def spread_rows(plan: Plan) -> list[Row]:
    """Order the rows so that a sweep stopped at any point has used the values of every axis about equally often.

    Greedy: the next run is the one whose values, and pairs of values, were used least so far.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> from reelbook.sweeps.plan.sweep_call import sweep
    >>> plan = sweep(TextToVideo(prompt="a paper boat"), seed=[1, 2], num_frames=[49, 97], aspect_ratio=["16:9", "1:1"])
    >>> [(row.seed, row.num_frames, row.aspect_ratio) for row in spread_rows(plan)][:4]
    [(1, 49, '16:9'), (2, 97, '1:1'), (2, 49, '16:9'), (1, 97, '1:1')]
    """
    rows = [row for row in plan if row.input is not None]
    axes = _number_axes(rows, plan.columns)
    if not axes:
        return list(plan)
    both = [
        one * (other.max() + 1) + other
        for one, other in combinations(axes, 2)
        if (one.max() + 1) * (other.max() + 1) <= MAX_PAIRS * len(rows)
    ]
    # Each value and each pair has a place in one array of counts, so that a single operation reads all of a row.
    starts = np.cumsum([0, *(codes.max() + 1 for codes in (*axes, *both))])
    places, counts = np.array([*axes, *both]) + starts[:-1, None], np.zeros(starts[-1])
    candidates, order = _scatter(len(rows)), list[int]()
    near, rest = np.array(candidates[:WINDOW_ROWS]), iter(candidates[WINDOW_ROWS:])
    while len(near):
        best = int(np.argmin((counts[places[:, near]] ** 2).sum(axis=0)))
        order.append(int(near[best]))
        counts[places[:, near[best]]] += 1
        near = np.delete(near, best)
        if (following := next(rest, None)) is not None:
            near = np.append(near, following)
    return [*(rows[place] for place in order), *(row for row in plan if row.input is None)]


def _number_axes(rows: Sequence[Row], columns: Sequence[str]) -> list[np.ndarray]:
    """The values of each axis as numbers from 0; axes that vary together are one, constant ones are left out."""
    values: list[list[Hashable]] = [
        [row.take for row in rows],
        *([_key(row[name]) for row in rows] for name in columns),
    ]
    found: dict[tuple[int, ...], None] = {}
    for column in values:
        numbers: dict[Hashable, int] = {}
        found[tuple(numbers.setdefault(value, len(numbers)) for value in column)] = None
    return [np.array(codes) for codes in found if max(codes, default=0)]


def _key(value: object) -> Hashable:
    return (type(value), value) if isinstance(value, (str, int, float, bool)) else repr(value)


def _scatter(count: int) -> list[int]:
    """The numbers below `count`, each far from those before it: bits reversed, or of many in a fixed random order.

    >>> _scatter(8), _scatter(5)
    ([0, 4, 2, 6, 1, 5, 3, 7], [0, 4, 2, 1, 3])
    """
    if count > WINDOW_ROWS:  # Regular steps could repeat a value of some axis.
        draw = random.Random(0)
        return [number for _, number in sorted((draw.random(), number) for number in range(count))]
    bits = max(count - 1, 0).bit_length()
    return [number for number in (int(f"{step:0{bits}b}"[::-1], 2) for step in range(1 << bits)) if number < count]
