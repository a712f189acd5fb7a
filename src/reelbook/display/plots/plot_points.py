"""The columns of a plot as positions along its axes, and its points: colours, and what is left out, in words."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd

from ...errors import ReelbookError
from ...media.measuring.metrics import METRICS
from ...util.printable import format_line
from ..formatting import join_with_dots, shorten
from ..report.shared_table import is_address_column, share_values
from ..tables.table_cells import format_column_name, make_cells

NUMBER, DATE, CATEGORY = "number", "date", "category"
NANOSECONDS_PER_DAY = 86_400 * 10**9
MAX_NAME_LENGTH = 60
MAX_NUMBER = 1e300
"""Beyond it the margins of an axis would overflow."""


@dataclass(frozen=True, slots=True)
class PlotAxis:
    """A column as positions: numbers, days since 1970, or places in the order of its categories; NaN where missing."""

    name: str
    kind: str
    values: np.ndarray[Any, np.dtype[np.float64]]
    words: list[str | None]
    """The text of each row."""
    labels: tuple[str, ...] = ()
    """The categories in their order."""

    @property
    def distinct(self) -> list[float]:
        """The values that occur, ascending."""
        return sorted({float(value) for value in self.values if not math.isnan(value)})


def find_axis(table: pd.DataFrame, wanted: Any) -> PlotAxis:
    """The column of this name, or the level of the index; raises a ReelbookError with the nearest name."""
    columns: dict[str, int] = {}
    for place, label in enumerate(table.columns):
        if not is_address_column(format_column_name(label)):
            columns.setdefault(format_column_name(label), place)
    levels = {format_column_name(name): level for level, name in enumerate(table.index.names) if name is not None}
    name = format_column_name(wanted)
    if name in columns:
        return make_axis(name, share_values(name, table.iloc[:, columns[name]], has_files=False))
    if name in levels:
        level = table.index.get_level_values(levels[name])
        return make_axis(name, pd.Series(level.array, dtype=level.dtype))
    known = [*columns, *levels]
    if name in METRICS:
        hint = f" It is a metric: table.reel.measure([{name!r}]) gives a table that has it."
    else:
        close = get_close_matches(name, known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else f" It has {shorten(', '.join(known), 200) or 'none'}."
    raise ReelbookError(f"This table has no column {wanted!r}.{hint}")


def make_axis(name: str, values: pd.Series[Any]) -> PlotAxis:
    """The positions of any values, by what most readers take them for."""
    cells = make_cells(name, values)
    name = shorten(format_line(cells.name), MAX_NAME_LENGTH)
    items = [None if word is None else item for item, word in zip(values.tolist(), cells.words, strict=True)]
    present = [item for item in items if item is not None]
    if present and cells.is_number:
        return PlotAxis(name, NUMBER, np.array([_to_finite(item) for item in items]), cells.words)
    if present and all(isinstance(item, datetime.timedelta) for item in present):
        seconds = [math.nan if item is None else item.total_seconds() for item in items]
        return PlotAxis(f"{name} (s)", NUMBER, np.array(seconds), cells.words)
    if present and all(isinstance(item, datetime.date) for item in present):
        return _make_dates(name, items, cells.words)
    return _make_categories(name, cells.words, cells.order)


def _make_dates(name: str, items: list[Any], words: list[str | None]) -> PlotAxis:
    stamps = [None if item is None else pd.Timestamp(item) for item in items]
    # An axis has one time zone.
    has_zone = any(stamp is not None and stamp.tzinfo is not None for stamp in stamps)
    days = [math.nan if stamp is None else stamp.value / NANOSECONDS_PER_DAY for stamp in stamps]
    return PlotAxis(f"{name} (UTC)" if has_zone else name, DATE, np.array(days), words)


def _make_categories(name: str, words: list[str | None], order: list[Any] | None) -> PlotAxis:
    keys: dict[str, Any] = {}
    for place, word in enumerate(words):
        if word is not None:
            keys.setdefault(word, order[place] if order else _make_natural_key(word))
    labels = sorted(keys, key=keys.__getitem__)
    places = {label: place for place, label in enumerate(labels)}
    positions = [math.nan if word is None else float(places[word]) for word in words]
    return PlotAxis(name, CATEGORY, np.array(positions, dtype=np.float64), words, tuple(map(format_line, labels)))


def _make_natural_key(word: str) -> list[tuple[int, float, str]]:
    """A sort key by which 480p stands before 1080p.

    >>> sorted(["1080p", "480p", "auto"], key=_make_natural_key)
    ['480p', '1080p', 'auto']
    """
    parts = re.findall(r"[0-9]{1,15}|[^0-9]+|[0-9]+", word)
    return [(0, float(part), "") if part.isascii() and part.isdigit() else (1, 0.0, part.casefold()) for part in parts]


def _to_finite(item: Any) -> float:
    """A number; NaN for one that is missing or has no place on an axis."""
    try:
        value = math.nan if item is None else float(item)
    except OverflowError:
        return math.nan
    return value if abs(value) < MAX_NUMBER else math.nan


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

    x: PlotAxis
    y: PlotAxis
    color: PlotAxis | None
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


def _find_series(color: PlotAxis | None, rows: np.ndarray[Any, np.dtype[np.intp]]) -> tuple[Series, ...]:
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


def _get_label(
    color: PlotAxis, rows: np.ndarray[Any, np.dtype[np.intp]], at: np.ndarray[Any, np.dtype[np.intp]]
) -> str:
    first = rows[at[0]]
    if color.labels:
        return color.labels[int(color.values[first])] or '""'
    return (color.words[first] or "") if color.kind != NUMBER else f"{color.values[first]:.6g}"
