"""The points of a plot: the rows that have both values, their colours, and what is left out, in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..formatting import join_with_dots
from .plot_axes import NUMBER, Axis, find_axis

MAX_SERIES = 6
"""Values of the colour column that have a colour of their own; there are no more that everybody can tell apart."""

MAX_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one colour and shape."""

    label: str
    points: np.ndarray[Any, np.dtype[np.intp]]
    """Places in the list of points."""
    number: int | None
    """The number of its colour; None for those that have none of their own."""


@dataclass(frozen=True, slots=True)
class Points:
    """The points of a plot, in the order of the table."""

    x: Axis
    y: Axis
    color: Axis | None
    rows: np.ndarray[Any, np.dtype[np.intp]]
    """The position in the table of each point."""
    total: int
    """Rows of the table."""
    series: tuple[Series, ...]
    """Empty where the colours are those of a scale."""

    @property
    def has_scale(self) -> bool:
        """Whether the colours are those of a scale of numbers."""
        return self.color is not None and not self.series

    @property
    def summary(self) -> str:
        """What is drawn, on one line."""
        by = f", coloured by {self.color.name}" if self.color is not None else ""
        runs = f"{len(self.rows):,} run{'' if len(self.rows) == 1 else 's'}"
        return join_with_dots(f"{self.y.name} by {self.x.name}{by}", runs, *self.left_out)

    @property
    def left_out(self) -> list[str]:
        """The rows that have no point, in words."""
        listed = min(self.total, len(self.x.values))
        gone = {axis.name: np.isnan(axis.values) for axis in (self.x, self.y)}
        notes = [f"{int(gap.sum()):,} left out without {name}" for name, gap in gone.items() if gap.any()]
        if self.has_scale and self.color is not None:
            grey = int(np.isnan(self.color.values[self.rows]).sum())
            notes += [f"{grey:,} grey without {self.color.name}"] if grey else []
        return [*notes, f"only the first {listed:,} of {self.total:,} rows"] if self.total > listed else notes


def find_points(table: pd.DataFrame, x: Any, y: Any, color: Any = None) -> Points:
    """The points of these columns; raises a ReelbookError for a column that the table lacks."""
    head = table.head(MAX_ROWS)
    across, up = find_axis(head, x), find_axis(head, y)
    shade = None if color is None else find_axis(head, color)
    rows = np.flatnonzero(~(np.isnan(across.values) | np.isnan(up.values)))
    return Points(across, up, shade, rows, len(table), _find_series(shade, rows))


def _find_series(color: Axis | None, rows: np.ndarray[Any, np.dtype[np.intp]]) -> tuple[Series, ...]:
    """A series for each of the most frequent values, one for the other values, and one for none."""
    everything = np.arange(len(rows))
    if color is None:
        return (Series("", everything, 0),)
    values = color.values[rows]
    counts = Counter(float(value) for value in values if not np.isnan(value))
    # Numbers and dates that take many values are a scale.
    if len(counts) > MAX_SERIES and not color.labels:
        return ()
    chosen = sorted(value for value, _ in counts.most_common(MAX_SERIES))
    found = [
        Series(_get_label(color, rows, at := np.flatnonzero(values == value)), at, number)
        for number, value in enumerate(chosen)
    ]
    others = np.flatnonzero(~(np.isin(values, chosen) | np.isnan(values)))
    if len(others):
        found.append(Series(f"{len(counts) - len(chosen):,} others", others, None))
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        found.append(Series(f"no {color.name}", missing, None))
    return tuple(found)


def _get_label(color: Axis, rows: np.ndarray[Any, np.dtype[np.intp]], at: np.ndarray[Any, np.dtype[np.intp]]) -> str:
    first = rows[at[0]]
    if color.labels:
        return color.labels[int(color.values[first])] or '""'
    return (color.words[first] or "") if color.kind != NUMBER else f"{color.values[first]:.6g}"
