"""The inputs that vary in a table of runs, and the layout of the runs by them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ...errors import ReelbookError
from ...models.catalog import CATALOG
from ...storage.run_identity import INPUT_JSON
from ...util.missing_values import is_missing

if TYPE_CHECKING:
    import pandas as pd

NOT_INPUTS = frozenset({
    "status", "created", "credits", "credits_source", "marks", "queued_s", "running_s", "error_type", "error", "request_id", "model", "take", INPUT_JSON,
})  # fmt: skip
"""The columns about the execution of a run."""
MAX_ACROSS = 10
LONG_TEXT = 28
MIN_FILLED = 0.6
"""The smallest share of filled places in a grid."""
UNITS = {"num_frames": "frames", "frame_rate": "frames/s", "fps": "frames/s", "duration": "s"}


@dataclass(frozen=True, slots=True)
class VariedInput:
    """An input that varies; columns that vary together are one axis."""

    columns: tuple[str, ...]
    values: tuple[str, ...]
    """Its values with their names as text, in order."""
    bare: tuple[str, ...]
    """Its values without names as text."""
    codes: tuple[int, ...]
    """The index of the value of each run."""

    @property
    def is_long(self) -> bool:
        """Whether its values are sentences rather than words."""
        return max(map(len, self.values)) > LONG_TEXT

    @property
    def name(self) -> str:
        """The names of its columns."""
        return ", ".join(self.columns)


@dataclass(frozen=True, slots=True)
class Layout:
    """The arrangement of runs: a grid for each facet, or a sequence where they make no grid."""

    rows: VariedInput | None
    across: VariedInput | None
    facets: tuple[VariedInput, ...]

    @property
    def is_grid(self) -> bool:
        """Whether it is a grid, with headings of rows and columns."""
        return self.rows is not None


def find_axes(table: pd.DataFrame) -> list[VariedInput]:
    """The axes of a table of runs of one model, in the order of the columns."""
    found: dict[tuple[int, ...], list[str]] = {}
    for name in find_input_columns(table):
        codes = _number_values(list(table[name]))
        if max(codes, default=0) > 0:
            found.setdefault(codes, []).append(name)
    return [_make_axis(table, codes, names) for codes, names in found.items()]


def find_input_columns(table: pd.DataFrame) -> list[str]:
    """The columns of inputs, wherever they are in the table, and `take`."""
    names = [name for name in table.columns if isinstance(name, str)]
    before = list(takewhile(lambda name: not name.startswith("output_"), names))
    known = {*_get_attributes(table).get("axes", ()), *_find_fields(table)}
    inputs = [name for name in names if name in before or name in known]
    plain = [name for name in inputs if name not in NOT_INPUTS and not name.startswith("output_")]
    return [*plain, *(["take"] if "take" in names else [])]


def choose_layout(
    axes: Sequence[VariedInput], runs: int, *, rows: str | None = None, cols: str | None = None, tabs: str | None = None
) -> Layout:
    """The layout by these axes: columns for few short values, rows for more, a grid for each value of the others.

    `rows`, `cols` and `tabs` name columns of the table whose axis takes that part.
    """
    named = {
        part: _find_axis(axes, name, part) for part, name in (("rows", rows), ("cols", cols), ("tabs", tabs)) if name
    }
    if len({id(axis) for axis in named.values()}) < len(named):
        raise ReelbookError(
            "Rows, cols and tabs vary together here, so only one of them can be used. Leave the others out."
        )
    free = [axis for axis in axes if axis not in named.values()]
    short = sorted((axis for axis in free if not axis.is_long), key=lambda axis: len(axis.values))
    across = named.get("cols") or next((axis for axis in short if len(axis.values) <= MAX_ACROSS), None)
    rest = [axis for axis in free if axis is not across]
    down = named.get("rows") or max(rest, key=lambda axis: (not axis.is_long, len(axis.values)), default=None)
    tab = (named["tabs"],) if "tabs" in named else ()
    facets = (*tab, *(axis for axis in rest if axis is not down))
    if across is None or down is None or not runs:
        return Layout(None, None, tab)
    places = len(across.values) * len(down.values) * math.prod(len(axis.values) for axis in facets)
    filled = len(set(zip(*(axis.codes for axis in axes), strict=True))) / places
    return Layout(down, across, facets) if filled >= MIN_FILLED or named else Layout(None, None, ())


def _find_axis(axes: Sequence[VariedInput], name: str, part: str) -> VariedInput:
    """The axis of a column; a sentence says which columns vary where it is none of them."""
    found = next((axis for axis in axes if name in axis.columns), None)
    if found is None:
        names = [column for axis in axes for column in axis.columns]
        hint = f"Those that vary are {', '.join(names)}." if names else "All inputs of its runs are equal."
        raise ReelbookError(f"{part}={name!r} is not a column of this table that varies. {hint}")
    return found


def format_named_value(name: str, value: Any) -> str:
    """A value with its name or unit.

    >>> format_named_value("seed", 7), format_named_value("num_frames", 49), format_named_value("resolution", "480p"), format_named_value("expand_prompt", True)
    ('seed 7', '49 frames', '480p', 'expand_prompt on')
    """
    text = format_table_value(value)
    if name in UNITS:
        return f"{text} {UNITS[name]}"
    return text if isinstance(value, str) and value.strip() else f"{name} {text}"


def format_table_value(value: Any) -> str:
    """A value of a table as text on one line."""
    if is_missing(value):
        return "–"
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {format_table_value(item)}" for name, item in value.items()) or "none"
    if isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray":
        return ", ".join(map(format_table_value, value)) or "none"
    return " ".join(str(value).split()) or '""'


def _number_values(values: Sequence[Any]) -> tuple[int, ...]:
    """The number of each run's value, in order of appearance; without pandas, because lists have no hash."""
    seen: dict[str, int] = {}
    return tuple(seen.setdefault(_make_key(value), len(seen)) for value in values)


def _make_key(value: Any) -> str:
    return (
        "" if is_missing(value) else f"={format_table_value(value) if isinstance(value, (int, float)) else repr(value)}"
    )


def _make_axis(table: pd.DataFrame, codes: tuple[int, ...], names: Sequence[str]) -> VariedInput:
    firsts = [codes.index(code) for code in range(max(codes) + 1)]
    order = list(range(len(firsts)))
    leading = [table[names[0]].iloc[place] for place in firsts]
    if all(isinstance(value, (int, float)) or hasattr(value, "__index__") for value in leading):
        order.sort(key=lambda code: leading[code])
    found = [[(name, table[name].iloc[firsts[code]]) for name in names] for code in order]
    words = tuple(" · ".join(format_named_value(name, value) for name, value in pairs) for pairs in found)
    bare = tuple(" · ".join(format_table_value(value) for _, value in pairs) for pairs in found)
    places = {code: place for place, code in enumerate(order)}
    return VariedInput(tuple(names), words, bare, tuple(places[code] for code in codes))


def _get_attributes(table: pd.DataFrame) -> Mapping[str, Any]:
    found = table.attrs.get("reelbook")
    return found if isinstance(found, dict) else {}


def _find_fields(table: pd.DataFrame) -> set[str]:
    """The fields of the models in the table, as far as the catalog has them."""
    models = set(table["model"]) if "model" in table.columns else {_get_attributes(table).get("model")}
    return {name for row in CATALOG if row.id in models for name in row.input.model_fields}
