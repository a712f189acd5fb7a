"""Costs of runs grouped by columns: estimates, charges, and the cost per success."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import ReelbookError
from ..media.local_file import LocalFile
from ..models.base import File
from ..storage.run_status import RunStatus
from ..storage.table import format_json
from ..util.printable import suggest
from .table_files import VIDEO, get_file_size

UNCHARGED = (RunStatus.IMPOSSIBLE, RunStatus.NOT_STARTED, RunStatus.WAITING, RunStatus.FAILED, RunStatus.CANCELLED)
"""Statuses of runs that cost nothing unless their row has an amount: never sent, or failed and not charged."""
COLUMNS = (
    "runs", "completed", "credits", "estimated", "charged", "seconds", "credits_per_success", "credits_per_second",
)  # fmt: skip
HEADINGS = {name: name.removeprefix("credits_").replace("_", " ") for name in COLUMNS}
"""The heading of each column."""
MAX_DECIMALS = 6
"""Precision of seconds, so that the order of floating-point summation does not change the total."""


class Costs(pd.DataFrame):
    """Credits grouped by columns: a DataFrame, displayed with a chart in a notebook. Operations on it return a plain DataFrame."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame


def format_number(name: str, value: Any) -> str:
    """Format a number of a column for reading.

    >>> format_number("seconds", 6.28), format_number("credits", 1272), format_number("credits_per_success", None)
    ('6.3', '1,272', '–')
    """
    if pd.isna(value):
        return "–"
    return f"{value:,.1f}" if name in ("seconds", "credits_per_success", "credits_per_second") else f"{int(value):,}"


def compute_costs(table: pd.DataFrame, by: str | Sequence[str] | None = None) -> Costs:
    """Compute the costs of a table of runs, grouped by one or more columns, or in total."""
    names = list(dict.fromkeys([by] if isinstance(by, str) else by or []))
    for name in ("status", "credits", *names):
        if name not in table.columns:
            raise ReelbookError(f"This table has no column {name!r}.{suggest(name, table.columns)}")
    return make_costs(table, names, list(_find_seconds(table)))


def make_costs(table: pd.DataFrame, by: Sequence[str], seconds: Sequence[float | None]) -> Costs:
    """Compute the costs of a table of runs by columns, or in total; `seconds` are those of the completed videos.

    Sums skip unknown values, and are unknown if all values are. A ratio counts only the runs for which both numerator
    and denominator are known, so that a run without a price does not make the others seem cheap.

    >>> table = pd.DataFrame({"seed": [1, 2, 2], "status": "completed", "credits": [53, 53, None]})
    >>> make_costs(table, ["seed"], [2.0, 2.0, 2.0])[["runs", "credits", "credits_per_success"]].values.tolist()
    [[1, 53, 53.0], [2, 53, 53.0]]
    """
    plain = table.reset_index(drop=True)
    facts = _facts(plain, seconds)
    keys: list[Any] = [_make_key(plain[name]) for name in by] or [pd.Series("all", index=plain.index, name="")]
    # Numbers and categories are sorted; texts remain in the order of the sweep.
    is_ordered = not any(
        pd.api.types.is_object_dtype(key.dtype) or isinstance(key.dtype, pd.StringDtype) for key in keys
    )
    costs = facts.groupby(keys, observed=True, dropna=False, sort=is_ordered).sum(min_count=1)
    costs = costs.astype(dict.fromkeys(("runs", "completed"), "Int64"))
    for name, amounts, of in (("success", "credits", "_successes"), ("second", "_credits", "_seconds")):
        divisor = costs[of].astype("Float64")
        costs[f"credits_per_{name}"] = (costs[amounts].astype("Float64") / divisor.where(divisor > 0)).round(3)
    # Without completed videos the sum is 0; the duration of an unreadable video is unknown.
    costs["seconds"] = costs["seconds"].fillna(0.0).round(MAX_DECIMALS)
    return Costs(costs[list(COLUMNS)])


def _facts(plain: pd.DataFrame, seconds: Sequence[float | None]) -> pd.DataFrame:
    """One row per run with the amounts to add up; what the table lacks is unknown."""
    unknown = pd.Series(pd.NA, index=plain.index, dtype="Int64")
    status = plain["status"].astype(object)
    completed, is_free = status.eq(RunStatus.COMPLETED), status.isin(UNCHARGED)
    spent, estimated = (
        amounts.mask(amounts.isna() & is_free, 0) if name in plain.columns else unknown
        for name in ("credits", "credits_estimated")
        for amounts in (plain.get(name, unknown).astype("Int64"),)
    )
    duration = pd.Series(list(seconds), index=plain.index, dtype="Float64").where(completed)
    has_source = "credits_source" in plain.columns
    is_known = spent.notna() & (duration.notna() | ~completed)
    return pd.DataFrame(
        {
            "runs": 1,
            "completed": completed.astype("Int64"),
            "credits": spent,
            "estimated": estimated,
            "charged": spent.where(plain["credits_source"].astype(object).eq("charged"), 0) if has_source else unknown,
            "seconds": duration,
            "_successes": (completed & spent.notna()).astype("Int64"),
            "_credits": spent.where(is_known),
            "_seconds": duration.where(is_known),
        }
    )


def _make_key(values: pd.Series[Any]) -> pd.Series[Any]:
    """A column to group by: lists and dicts as JSON, because nothing can be grouped by those."""
    if values.dtype != object:
        return values
    return values.map(lambda value: format_json(value) if isinstance(value, (list, dict)) else value)


def _find_seconds(table: pd.DataFrame) -> Iterator[float | None]:
    """The duration of each completed video, from its frames and frame rate if in the table, else from the file."""
    durations: Sequence[Any] = [None] * len(table)
    if {"num_frames", "frame_rate"} <= set(table.columns):
        frames, rates = (pd.to_numeric(table[name], errors="coerce") for name in ("num_frames", "frame_rate"))
        durations = list(frames.astype("float64") / rates.astype("float64"))
    files = table[VIDEO] if VIDEO in table.columns else [None] * len(table)
    for status, seconds, path in zip(table["status"], durations, files, strict=True):
        if status is None or pd.isna(status) or status != RunStatus.COMPLETED:
            yield None
        elif seconds is not None and math.isfinite(seconds):
            yield float(seconds)
        else:
            yield _get_video_seconds(path, get_file_size(path)) if isinstance(path, str) else None


@lru_cache(maxsize=20_000)
def _get_video_seconds(path: str, size: int | None) -> float | None:
    """The duration of a video in seconds, cached by path and size."""
    try:
        return LocalFile(Path(path), File(url="")).probe.seconds
    except ReelbookError:
        return None
