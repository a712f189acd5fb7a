"""The clips of a table as judging needs them: which rows are one clip, what each shows, and the levels of its settings."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput, Problem
from ..storage.run_identity import INPUT_JSON
from ..sweeps.plan_rows import number_values
from ..sweeps.table_files import find_column
from ..util.missing_values import is_missing
from .posterior import IntArray

if TYPE_CHECKING:
    import pandas as pd

CONTENT = frozenset({"prompt", "image", "image_url", "images"})
"""Inputs that say what a clip shows; clips are compared within the same content as far as possible."""
REPEATS = frozenset({"seed", "take"})
"""Inputs that only repeat a setting."""
PREFIXES = ("input_", "label_")


@dataclass(frozen=True)
class Clips:
    """The distinct clips of a table, numbered from 0."""

    keys: tuple[str, ...]
    """The request id of each clip."""
    rows: tuple[int, ...]
    """The row number of each clip; the first, if several rows have the same clip."""
    by_row: dict[int, int]
    """The clip of each row that has one."""
    content: IntArray
    """The number of what each clip shows."""
    levels: IntArray
    """The levels of its settings, one column for each axis."""
    axes: tuple[str, ...]
    """The names of those axes."""
    values: tuple[tuple[Any, ...], ...] = ()
    """The value of each level of each axis."""
    by_key: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_key", {key: clip for clip, key in enumerate(self.keys)})

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def units(self) -> tuple[tuple[str, ...], IntArray, IntArray]:
        """What can be the best: the names of the clips, or of several contents of their settings; the number of each
        clip's, and their levels. Clips of different content are hardly compared with each other.
        """
        if len(set(self.content.tolist())) <= 1 or not self.axes:
            return tuple(f"Row {row}" for row in self.rows), np.arange(len(self)), self.levels
        settings, number = np.unique(self.levels, axis=0, return_inverse=True)
        names = (
            ", ".join(f"{axis} {of[level]}" for axis, of, level in zip(self.axes, self.values, levels, strict=True))
            for levels in settings
        )
        return tuple(names), number.reshape(-1), settings

    def get_clip(self, row: Any) -> int:
        """The clip of a row, by its number; an `InvalidInput` if the row has none."""
        if isinstance(row, bool) or not isinstance(row, (int, np.integer)) or int(row) not in self.by_row:
            few = ", ".join(map(str, list(self.by_row)[:4])) + (", …" if len(self.by_row) > 4 else "")
            raise usage_error(f"The table has no clip in row {row!r:.40}. The rows with a clip are {few or 'none'}.")
        return self.by_row[int(row)]


def usage_error(sentence: str) -> InvalidInput:
    """The error for a judgement that cannot be stored, or a table that cannot be judged."""
    return InvalidInput("judge", [Problem((), sentence, "judge")])


def find_clips(table: pd.DataFrame, keys: Sequence[str | None]) -> Clips:
    """The distinct clips of a table; `keys` are the request ids of its rows, None for a row without a clip."""
    labels = list(table.index)
    if not all(isinstance(label, (int, np.integer)) and not isinstance(label, bool) for label in labels) or (
        len(set(labels)) < len(labels)
    ):
        raise usage_error(
            "The rows of this table have no numbers of their own: its index has texts or repeats itself. "
            "Pass table.reset_index(drop=True)."
        )
    places = [place for place, key in enumerate(keys) if key is not None]
    firsts: dict[str, int] = {}
    for place in places:
        firsts.setdefault(str(keys[place]), place)
    numbers = {key: clip for clip, key in enumerate(firsts)}
    axes, chosen = find_axes(table), list(firsts.values())
    shown = [name for base in sorted(CONTENT) for name in (base, f"input_{base}") if name in table.columns]
    distinct = table.loc[:, ~table.columns.duplicated()].iloc[chosen]
    of_axes, of_content = ([list(map(_hashable, distinct[name])) for name in names] for names in (axes, shown))
    content = list(zip(*of_content, strict=True)) if of_content else [()] * len(chosen)
    levels = np.array([number_values(values) for values in of_axes], dtype=np.int64)
    return Clips(
        tuple(firsts),
        tuple(int(labels[place]) for place in chosen),
        {int(labels[place]): numbers[str(keys[place])] for place in places},
        np.array(number_values(content), dtype=np.int64),
        levels.reshape(len(axes), len(chosen)).T,
        tuple(axes),
        tuple(tuple(dict.fromkeys(values)) for values in of_axes),
    )


def find_axes(table: pd.DataFrame) -> list[str]:
    """The columns of the settings that vary: neither what is shown, nor what only repeats a setting."""
    source = table.attrs.get("reelbook")
    named = [str(name) for name in source.get("axes", ())] if isinstance(source, dict) else []
    axes = [name for name in named or _find_input_names(table) if name not in CONTENT | REPEATS]
    columns = [
        name for axis in axes for name in (axis, *(prefix + axis for prefix in PREFIXES)) if name in table.columns
    ]
    return [name for name in dict.fromkeys(columns) if len(set(map(_hashable, table[name].tolist()))) > 1]


def number_levels(table: pd.DataFrame, name: str) -> tuple[list[Any], list[int]]:
    """The distinct values of a column, in order if they can be sorted, and the level of each row."""
    column = find_column(table, name)
    assert column is not None
    values = [value.item() if isinstance(value, np.generic) else value for value in column]
    originals: dict[Hashable, Any] = {}
    for value in values:
        originals.setdefault(_hashable(value), None if is_missing(value) else value)
    try:
        distinct = sorted(originals, key=lambda key: (originals[key] is None, originals[key]))
    except TypeError:
        distinct = list(originals)
    levels = {key: level for level, key in enumerate(distinct)}
    return [originals[key] for key in distinct], [levels[_hashable(value)] for value in values]


def _find_input_names(table: pd.DataFrame) -> list[str]:
    """The fields of the inputs, of a table that does not say what its axes were."""
    names: dict[str, None] = {}
    column = find_column(table, INPUT_JSON)
    for text in [] if column is None else column.dropna().unique():
        try:
            names |= dict.fromkeys(json.loads(text))
        except (TypeError, ValueError):
            continue
    return list(names)


def _hashable(value: Any) -> Hashable:
    if is_missing(value):
        return None
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value  # type: ignore[no-any-return]  # It has a hash.
