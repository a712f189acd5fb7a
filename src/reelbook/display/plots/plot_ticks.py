"""Limits and ticks of an axis, with labels that fit."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ..formatting import shorten
from ..tables.table_cells import format_number
from .plot_axes import CATEGORY, DATE, Axis

MARGIN = 0.05
"""The share of the range that stays empty at either end."""
CATEGORY_MARGIN = 0.6
MAX_EXACT_TICKS = 8
"""Numbers of so few different values have their ticks at the values, as the axes of a sweep do."""
MAX_PLAIN = 1e12
LETTER = 0.6
"""The width of a letter, in its height."""


class Ticks(NamedTuple):
    """The limits of an axis, its ticks, and the name with what all labels have in common."""

    low: float
    high: float
    at: Sequence[float]
    labels: Sequence[str]
    name: str


def make_ticks(axis: Axis, *, room: float, is_across: bool, max_length: int, size: float) -> Ticks:
    """The ticks of an axis in so many pixels; labels are cut to `max_length`, and `size` is the height of the type."""
    if axis.kind == CATEGORY:
        high = max(0, len(axis.labels) - 1) + CATEGORY_MARGIN
        labels = shorten_apart(axis.labels, max_length)
        # Where there is no room for all, every second, third … has its name.
        step = max(1, -(-len(labels) * int(size * 1.5) // max(1, int(room))))
        return Ticks(-CATEGORY_MARGIN, high, range(0, len(labels), step), labels[::step], axis.name)
    low, high = _find_limits(axis.distinct)
    if axis.kind == DATE:
        return _make_date_ticks(axis, low, high, max(2, int(room / (size * (6 if is_across else 4)))))
    count = max(2, int(room / (size * (4 if is_across else 3))))
    at = _find_number_ticks(axis.distinct, low, high, count)
    return Ticks(low, high, at, [_format_tick(value) for value in at], axis.name)


def measure_text(text: str, size: float) -> float:
    """About how many pixels a text is wide.

    >>> measure_text("480p", 10), measure_text("猫", 10)
    (24.0, 10.0)
    """
    return sum(size * (1.0 if unicodedata.east_asian_width(letter) in "WF" else LETTER) for letter in text)


def shorten_apart(texts: Sequence[str], max_length: int) -> list[str]:
    """The texts cut to a maximum length: in the middle where their beginnings alone would not tell them apart.

    >>> shorten_apart(["a paper boat 1", "a paper boat 2"], 9), shorten_apart(["a paper boat", ""], 9)
    (['a pa…at 1', 'a pa…at 2'], ['a paper…', '""'])
    """
    cut = [shorten(text, max_length) or '""' for text in texts]
    if len(set(cut)) == len(set(texts)):
        return cut
    half = (max_length - 1) // 2
    return [text if len(text) <= max_length else f"{text[:half]}…{text[-half:]}" for text in texts]


def _format_tick(value: float) -> str:
    return f"{int(value):,}" if 10_000 <= abs(value) < MAX_PLAIN and value == int(value) else format_number(value)


def _find_limits(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    low, high = values[0], values[-1]
    # Halves, because the difference of two large numbers may be infinite.
    spare = (high / 2 - low / 2) * 2 * MARGIN or abs(low) * MARGIN or 0.5
    return low - spare, high + spare


def _find_number_ticks(values: Sequence[float], low: float, high: float, count: int) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    if 0 < len(values) <= min(MAX_EXACT_TICKS, count):
        gaps = [after - before for before, after in pairwise(values)]
        if not gaps or min(gaps) >= (high - low) / (count + 1):
            return list(values)
    is_whole = all(value == int(value) for value in values)
    found: Any = MaxNLocator(count, steps=[1, 2, 2.5, 5, 10], integer=is_whole).tick_values(low, high)
    return [float(value) for value in found if low <= value <= high]


def _make_date_ticks(axis: Axis, low: float, high: float, count: int) -> Ticks:
    from matplotlib import dates

    untyped: Any = dates
    locator = untyped.AutoDateLocator(minticks=2, maxticks=max(3, count))
    found = locator.tick_values(untyped.num2date(low), untyped.num2date(high))
    at = [float(value) for value in found if low <= value <= high]
    if not at:
        return Ticks(low, high, [], [], axis.name)
    formatter = untyped.ConciseDateFormatter(locator)
    labels = formatter.format_ticks(at)
    common = formatter.get_offset()
    return Ticks(low, high, at, labels, f"{axis.name}, {common}" if common else axis.name)
