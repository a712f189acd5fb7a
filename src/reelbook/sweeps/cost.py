"""Costs of runs grouped by columns: estimates, charges, and the cost per success."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ..errors import ReelbookError
from ..storage.run_status import RunStatus
from ..storage.table import format_json
from ..util.printable import suggest

UNCHARGED = (RunStatus.IMPOSSIBLE, RunStatus.NOT_STARTED, RunStatus.WAITING, RunStatus.FAILED, RunStatus.CANCELLED)
"""Statuses of runs that cost nothing unless their row has an amount: never sent, or failed and not charged."""
COLUMNS = (
    "runs", "completed", "credits", "estimated", "charged", "seconds", "credits_per_success", "credits_per_second",
)  # fmt: skip


class Costs(pd.DataFrame):
    """Credits grouped by columns: a DataFrame, displayed with a chart in a notebook. Operations on it return a plain DataFrame."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame


def compute_costs(table: pd.DataFrame, by: str | Sequence[str] | None = None) -> Costs:
    """Compute the costs of a table of runs, grouped by one or more columns, or in total.

    Sums skip unknown values, and are unknown if all values are. A ratio counts only the runs for which both numerator
    and denominator are known, so that a run without a price does not make the others seem cheap.
    """
    names = list(dict.fromkeys([by] if isinstance(by, str) else by or []))
    for name in ("status", "credits", *names):
        if name not in table.columns:
            raise ReelbookError(f"This table has no column {name!r}.{suggest(name, table.columns)}")
    table = table.reset_index(drop=True)
    status = table["status"].astype(object)
    is_completed, is_free = status.eq(RunStatus.COMPLETED), status.isin(UNCHARGED)
    unknown = pd.Series(pd.NA, index=table.index, dtype="Int64")
    counted, estimated = (
        table[name].astype("Int64").mask(lambda amounts: amounts.isna() & is_free, 0) if name in table else unknown
        for name in ("credits", "credits_estimated")
    )
    charged = counted.where(table["credits_source"].eq("charged"), 0) if "credits_source" in table else unknown
    seconds = pd.Series(pd.NA, index=table.index, dtype="Float64")
    if {"num_frames", "frame_rate"} <= {*table.columns}:
        frames, rates = (pd.to_numeric(table[name], errors="coerce") for name in ("num_frames", "frame_rate"))
        seconds = (frames / rates).where(rates.gt(0) & is_completed).astype("Float64")
    is_known = counted.notna() & (seconds.notna() | ~is_completed)
    facts = pd.DataFrame({
        "runs": 1, "completed": is_completed.astype("Int64"), "credits": counted, "estimated": estimated,
        "charged": charged, "seconds": seconds, "_successes": (is_completed & counted.notna()).astype("Int64"),
        "_credits": counted.where(is_known), "_seconds": seconds.where(is_known),
    })  # fmt: skip
    keys: list[Any] = [_make_key(table[name]) for name in names] or [pd.Series("all", index=table.index, name="")]
    # Numbers and categories are sorted; texts remain in the order of the sweep.
    has_texts = any(pd.api.types.is_object_dtype(key.dtype) or isinstance(key.dtype, pd.StringDtype) for key in keys)
    costs = facts.groupby(keys, observed=True, dropna=False, sort=not has_texts).sum(min_count=1)
    costs["credits_per_success"] = (costs["credits"] / costs["_successes"].replace(0, pd.NA)).round(3)
    costs["credits_per_second"] = (costs["_credits"] / costs["_seconds"].replace(0, pd.NA)).round(3)
    # Without completed videos the sum is 0; the order of floating-point summation does not change a rounded one.
    costs["seconds"] = costs["seconds"].fillna(0.0).round(6)
    return Costs(costs[list(COLUMNS)])


def _make_key(values: pd.Series[Any]) -> pd.Series[Any]:
    """A column to group by: lists and dicts as JSON, because nothing can be grouped by those."""
    if values.dtype != object:
        return values
    return values.map(lambda value: format_json(value) if isinstance(value, (list, dict)) else value)
