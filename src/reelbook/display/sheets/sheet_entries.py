"""The runs of a table as entries of a sheet: label, files, and state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...errors import ReelbookError
from ...media.local_file import is_video
from ...storage.run_status import RunStatus
from ...sweeps.table_files import find_paths
from ...util.missing_values import is_missing
from ...util.printable import format_count, suggest
from ..formatting import format_credits, join_with_dots
from ..report.layout import find_axes, format_named_value, format_table_value

NO_FILE = "no file here"


@dataclass(frozen=True, slots=True)
class SheetEntry:
    """One run of a sheet."""

    number: str
    """Its index in the table, as text."""
    label: tuple[str, ...]
    """The values by which it differs from the others."""
    files: tuple[str, ...]
    state: str = ""
    reason: str = ""

    @property
    def is_film(self) -> bool:
        """Whether its first file is a clip."""
        return bool(self.files) and is_video(self.files[0])


def read_entries(table: pd.DataFrame, labels: str | Sequence[str] | None = None) -> list[SheetEntry]:
    """An entry for each run of a table, in its order; `labels` are columns instead of those that vary."""
    # A table may have been joined so that it has a name twice.
    table = table.loc[:, ~table.columns.duplicated()]
    texts = _make_labels(table, labels)
    files = find_paths(table)
    states, reasons = _get_column(table, "status"), _get_column(table, "error")
    return [
        SheetEntry(format_table_value(name), text, tuple(found), *_find_state(state, reason, found))
        for name, text, found, state, reason in zip(table.index, texts, files, states, reasons, strict=True)
    ]


def format_title(table: pd.DataFrame) -> str:
    """The title of a sheet: the prompt if all runs have the same, else the models."""
    prompts = {"" if is_missing(value) else " ".join(str(value).split()) for value in _get_column(table, "prompt")}
    if len(prompts) == 1 and "" not in prompts:
        return prompts.pop()
    return (
        join_with_dots(*_list_models(table)) if len(_list_models(table)) < 4 else f"{len(_list_models(table))} models"
    )


def format_facts(table: pd.DataFrame) -> list[str]:
    """Number of runs, states other than completed, and credits, as texts."""
    found = [format_count(len(table), "run")]
    states = [format_table_value(value) for value in _get_column(table, "status") if not is_missing(value)]
    others = [state for state in dict.fromkeys(states) if state != RunStatus.COMPLETED]
    found += [f"{states.count(state):,} {state}" for state in others]
    costs = [value for value in _get_column(table, "credits") if not is_missing(value)]
    if costs:
        sources = {format_table_value(value) for value in _get_column(table, "credits_source") if not is_missing(value)}
        found.append(format_credits(sum(map(int, costs)), "charged" if sources == {"charged"} else "estimated"))
    return found


def check_labels(table: pd.DataFrame, labels: str | Sequence[str]) -> list[str]:
    """The labels as a list; raises a ReelbookError for a column that the table lacks."""
    names = [labels] if isinstance(labels, str) else list(labels)
    for name in names:
        if name not in table.columns:
            raise ReelbookError(f"This table has no column {name!r}.{suggest(name, table.columns)}")
    return names


def _make_labels(table: pd.DataFrame, labels: str | Sequence[str] | None) -> list[tuple[str, ...]]:
    if labels is not None:
        names = check_labels(table, labels)
        return [
            tuple(format_named_value(name, table[name].iloc[place]) for name in names) for place in range(len(table))
        ]
    models = [_format_model(value) for value in _get_column(table, "model")]
    several = len(set(models)) > 1
    found: list[tuple[str, ...]] = [()] * len(table)
    for model in dict.fromkeys(models):
        places = [place for place, one in enumerate(models) if one == model]
        # Inputs of one model are no difference between the runs of another.
        parts = _format_varying(table.iloc[places] if several else table)
        name = [model] if several and model != format_table_value(None) else []
        for place, part in zip(places, parts, strict=True):
            found[place] = (*name, *part)
    return found


def _format_varying(table: pd.DataFrame) -> list[list[str]]:
    """The values by which each run of one model differs from the others, without those that are empty."""
    axes = find_axes(table)
    return [
        [
            part
            for axis in axes
            if (part := join_with_dots(*(_format_part(name, table[name].iloc[place]) for name in axis.columns)))
        ]
        for place in range(len(table))
    ]


def _format_part(name: str, value: Any) -> str:
    """A value with its name; empty for one that is missing, an empty text or an empty list."""
    is_empty = is_missing(value) or format_table_value(value) in ("none", '""')
    return "" if is_empty else format_named_value(name, value)


def _find_state(state: Any, reason: Any, files: Sequence[str]) -> tuple[str, str]:
    """The state of a run, and the reason for it."""
    known = "" if is_missing(state) else format_table_value(state)
    why = "" if is_missing(reason) else format_table_value(reason)
    if not files and known in ("", RunStatus.COMPLETED):
        return NO_FILE, why or ("rb.attach fetches it again" if known else "")
    return known, why


def _list_models(table: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(_format_model(value) for value in _get_column(table, "model") if not is_missing(value)))


def _format_model(model: Any) -> str:
    return format_table_value(model).rstrip("/").rpartition("/")[2]


def _get_column(table: pd.DataFrame, name: str) -> list[Any]:
    if name not in table.columns:
        return [None] * len(table)
    found: Any = table[name]
    # A table may have been joined so that it has a name twice.
    return list(found if isinstance(found, pd.Series) else found.iloc[:, 0])
