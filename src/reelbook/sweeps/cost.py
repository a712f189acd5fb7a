"""Costs of runs grouped by columns: estimates, charges, and the cost per success."""

from __future__ import annotations

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
from .table_files import VIDEO

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
    status = plain["status"].astype(object)
    is_completed, is_free = status.eq(RunStatus.COMPLETED), status.isin(UNCHARGED)
    facts = pd.DataFrame({"runs": 1, "completed": is_completed.astype("Int64")}, index=plain.index)
    for name, column in (("credits", "credits"), ("estimated", "credits_estimated"), ("charged", "credits")):
        amounts = plain.get(column, pd.Series(pd.NA, index=plain.index)).astype("Int64")
        facts[name] = amounts.mask(amounts.isna() & is_free & (column in plain), 0)
    source = plain.get("credits_source", pd.Series(None, index=plain.index, dtype=object)).astype(object)
    facts["charged"] = facts["charged"].where(source.eq("charged"), 0 if "credits_source" in plain else pd.NA)
    facts["seconds"] = pd.Series(list(seconds), index=plain.index, dtype="Float64").where(is_completed)
    is_known = facts["credits"].notna() & (facts["seconds"].notna() | ~is_completed)
    facts["_successes"] = (is_completed & facts["credits"].notna()).astype("Int64")
    facts["_credits"], facts["_seconds"] = facts["credits"].where(is_known), facts["seconds"].where(is_known)
    keys: list[Any] = [_make_key(plain[name]) for name in by] or [pd.Series("all", index=plain.index, name="")]
    # Numbers and categories are sorted; texts remain in the order of the sweep.
    has_texts = any(pd.api.types.is_object_dtype(key.dtype) or isinstance(key.dtype, pd.StringDtype) for key in keys)
    costs = facts.groupby(keys, observed=True, dropna=False, sort=not has_texts).sum(min_count=1)
    costs = costs.astype(dict.fromkeys(("runs", "completed"), "Int64"))
    for name, paid, of in (("success", "credits", "_successes"), ("second", "_credits", "_seconds")):
        divisor = costs[of].astype("Float64")
        costs[f"credits_per_{name}"] = (costs[paid].astype("Float64") / divisor.where(divisor > 0)).round(3)
    # Without completed videos the sum is 0; the duration of an unreadable video is unknown.
    costs["seconds"] = costs["seconds"].fillna(0.0).round(MAX_DECIMALS)
    return Costs(costs[list(COLUMNS)])


def _make_key(values: pd.Series[Any]) -> pd.Series[Any]:
    """A column to group by: lists and dicts as JSON, because nothing can be grouped by those."""
    if values.dtype != object:
        return values
    return values.map(lambda value: format_json(value) if isinstance(value, (list, dict)) else value)


def _find_seconds(table: pd.DataFrame) -> Iterator[float | None]:
    """The duration of each completed video, from its frames and frame rate if in the table, else from the file."""
    frames, rates = (
        pd.to_numeric(table.get(name, pd.Series(index=table.index)), errors="coerce").astype("float64")
        for name in ("num_frames", "frame_rate")
    )
    files = table[VIDEO] if VIDEO in table.columns else [None] * len(table)
    completed = table["status"].astype(object).eq(RunStatus.COMPLETED)
    for is_completed, seconds, path in zip(completed, frames / rates, files, strict=True):
        is_known = 0 <= seconds < float("inf")
        yield None if not is_completed else seconds if is_known else _read_seconds(path)


@lru_cache(maxsize=20_000)
def _read_seconds(path: Any) -> float | None:
    """The duration of a video in seconds."""
    try:
        return LocalFile(Path(path), File(url="")).probe.seconds if isinstance(path, str) else None
    except ReelbookError:
        return None
