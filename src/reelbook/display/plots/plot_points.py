"""The columns of a plot as positions along its axes, and its points: colours, and what is left out, in words."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...errors import ReelbookError
from ...media.measuring.metrics import METRICS
from ...util.printable import format_count, format_line, suggest
from ..formatting import join_with_dots, shorten
from ..report.shared_table import is_address_column, share_values
from ..tables.table_columns import format_column_name, make_column

NUMBER, DATE, CATEGORY = "number", "date", "category"
NANOSECONDS_PER_DAY = 86_400 * 10**9
MAX_NAME_LENGTH, MAX_SERIES, MAX_ROWS = 60, 6, 2_000
"""Letters of a name, colours that everybody can tell apart, and points of a plot; more would make its page slow."""
MAX_NUMBER = 1e300
"""Beyond it the margins of an axis would overflow."""

Places = np.ndarray[Any, np.dtype[np.intp]]


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


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one colour and shape."""

    label: str
    points: Places
    """Places in the list of points."""
    number: int | None
    """The number of its colour; None for those that have none of their own."""


@dataclass(frozen=True, slots=True)
class Points:
    """The points of a plot, in the order of the table."""

    x: PlotAxis
    y: PlotAxis
    color: PlotAxis | None
    rows: Places
    """The position in the table of each point."""
    total: int
    """Rows of the table."""
    series: tuple[Series, ...]
    """Empty where the colours are those of a scale."""

    @property
    def scale(self) -> PlotAxis | None:
        """The numbers that have the colours of a scale."""
        return None if self.series else self.color

    @property
    def summary(self) -> str:
        """What is drawn, on one line, and the rows that have no point."""
        by = f", coloured by {self.color.name}" if self.color is not None else ""
        gone = {axis.name: int(np.isnan(axis.values).sum()) for axis in (self.x, self.y)}
        notes = [f"{count:,} left out without {name}" for name, count in gone.items() if count]
        if self.scale is not None and (grey := int(np.isnan(self.scale.values[self.rows]).sum())):
            notes.append(f"{grey:,} grey without {self.scale.name}")
        if self.total > MAX_ROWS:
            notes.append(f"only the first {MAX_ROWS:,} of {self.total:,} rows")
        return join_with_dots(f"{self.y.name} by {self.x.name}{by}", format_count(len(self.rows), "run"), *notes)


def find_points(table: pd.DataFrame, x: Any, y: Any, color: Any = None) -> Points:
    """The points of these columns; raises a ReelbookError for a column that the table lacks."""
    head = table.head(MAX_ROWS)
    across, up = find_axis(head, x), find_axis(head, y)
    shade = None if color is None else find_axis(head, color)
    rows = np.flatnonzero(~(np.isnan(across.values) | np.isnan(up.values)))
    return Points(across, up, shade, rows, len(table), _find_series(shade, rows))


def find_axis(table: pd.DataFrame, wanted: Any) -> PlotAxis:
    """The column of this name, or the level of the index; raises a ReelbookError with the nearest name."""
    names = [format_column_name(label) for label in table.columns]
    # Of two columns with one name the first. Addresses give access to files, so no page has them.
    columns = {name: place for place, name in reversed(list(enumerate(names))) if not is_address_column(name)}
    levels = {format_column_name(name): level for level, name in enumerate(table.index.names) if name is not None}
    name = format_column_name(wanted)
    if name in columns:
        return make_axis(name, share_values(name, table.iloc[:, columns[name]], has_files=False))
    if name in levels:
        level = table.index.get_level_values(levels[name])
        return make_axis(name, pd.Series(level.array, dtype=level.dtype))
    hint = f" It is a metric: table.reel.measure([{name!r}]) gives a table that has it." if name in METRICS else ""
    raise ReelbookError(f"This table has no column {wanted!r}.{hint or suggest(name, [*columns, *levels])}")


def make_axis(name: str, values: pd.Series[Any]) -> PlotAxis:
    """The positions of any values, by what most readers take them for."""
    cells = make_column(name, values)
    name = shorten(format_line(cells.name), MAX_NAME_LENGTH)
    items = [None if word is None else item for item, word in zip(values.tolist(), cells.words, strict=True)]
    present = [item for item in items if item is not None]
    if present and cells.is_number:
        return PlotAxis(name, NUMBER, np.array([_to_finite(item) for item in items]), cells.words)
    if present and all(isinstance(item, datetime.date) for item in present):
        stamps = [None if item is None else pd.Timestamp(item) for item in items]
        # An axis has one time zone.
        has_zone = any(stamp is not None and stamp.tzinfo is not None for stamp in stamps)
        days = [math.nan if stamp is None else stamp.value / NANOSECONDS_PER_DAY for stamp in stamps]
        return PlotAxis(f"{name} (UTC)" if has_zone else name, DATE, np.array(days), cells.words)
    keys: dict[str, Any] = {}
    for place, word in enumerate(cells.words):
        if word is not None:
            keys.setdefault(word, cells.order[place] if cells.order else _make_natural_key(word))
    labels = sorted(keys, key=keys.__getitem__)
    places = {label: float(place) for place, label in enumerate(labels)}
    positions = [math.nan if word is None else places[word] for word in cells.words]
    return PlotAxis(name, CATEGORY, np.array(positions, float), cells.words, tuple(map(format_line, labels)))


def _make_natural_key(word: str) -> list[tuple[int, float, str]]:
    """A sort key by which 480p stands before 1080p.

    >>> sorted(["1080p", "480p", "auto"], key=_make_natural_key)
    ['480p', '1080p', 'auto']
    """
    parts = re.findall(r"[0-9]{1,15}|[^0-9]+|[0-9]+", word)
    return [(0, float(part), "") if part.isascii() and part.isdigit() else (1, 0.0, part.casefold()) for part in parts]


def _to_finite(item: Any) -> float:
    """A number; NaN for one that is missing or has no place on an axis."""
    value = math.nan if item is None else float(item)
    return value if abs(value) < MAX_NUMBER else math.nan


def _find_series(color: PlotAxis | None, rows: Places) -> tuple[Series, ...]:
    """A series for each of the most frequent values, one for the other values, and one for none."""
    if color is None:
        return (Series("", np.arange(len(rows)), 0),)
    values = color.values[rows]
    counts = Counter(float(value) for value in values if not np.isnan(value))
    # Numbers and dates that take many values are a scale.
    if len(counts) > MAX_SERIES and not color.labels:
        return ()
    chosen = sorted(value for value, _ in counts.most_common(MAX_SERIES))
    found = []
    for number, value in enumerate(chosen):
        points = np.flatnonzero(values == value)
        words = color.labels[int(value)] if color.labels else color.words[rows[points[0]]]
        found.append(Series(words or '""', points, number))
    if len(others := np.flatnonzero(~(np.isin(values, chosen) | np.isnan(values)))):
        found.append(Series(f"{len(counts) - len(chosen):,} others", others, None))
    if len(missing := np.flatnonzero(np.isnan(values))):
        found.append(Series(f"no {color.name}", missing, None))
    return tuple(found)
