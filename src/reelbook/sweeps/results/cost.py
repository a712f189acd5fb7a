"""What runs cost by the values of their columns: estimates, charges, and the cost of one success."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from ...errors import ReelbookError
from ...media.local_file import LocalFile
from ...models.service_file import File
from ...storage.table.typed_columns import format_json
from .table_files import VIDEO, get_file_size

COMPLETED = "completed"
UNCHARGED = ("impossible", "not started", "waiting", "failed", "cancelled")
"""States of runs that cost nothing unless their row says so: they were never sent, or what fails is not charged."""
COLUMNS = (
    "runs", "completed", "credits", "estimated", "charged", "seconds", "credits_per_success", "credits_per_second",
)  # fmt: skip
HEADINGS = {
    "runs": "runs", "completed": "completed", "credits": "credits", "estimated": "estimated", "charged": "charged",
    "seconds": "seconds", "credits_per_success": "per success", "credits_per_second": "per second",
}  # fmt: skip
"""What is written above each column; in a line of text, 80 letters wide, some are shorter yet."""
SHORT_HEADINGS = {"completed": "done", "estimated": "est.", "per second": "per s"}
MAX_LINES, WIDTH, MIN_ROOM = 60, 80, 12
MAX_DECIMALS = 6
"""Decimals of seconds that count: the same clips, added up in another order, last as long."""


class Costs(pd.DataFrame):
    """Credits by some values. It is a DataFrame that shows itself with a chart; what is made of it is a plain one."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __repr__(self) -> str:
        if tuple(self.columns) != COLUMNS or not len(self):
            return repr(pd.DataFrame(self))
        columns = [name for name in COLUMNS if self[name].notna().any()]
        text_table = pd.DataFrame(
            {HEADINGS[name]: [format_number(name, value) for value in self[name]] for name in columns}
        )
        text_table = text_table.rename(columns=SHORT_HEADINGS)
        if self.index.nlevels > 1:
            text_table.index = self.index
        else:
            text_table.index = pd.Index([""] * len(self))
            room = WIDTH - max(map(len, text_table.to_string().splitlines()))
            values = [_shorten(value, max(room, MIN_ROOM)) for value in self.index]
            text_table.index = pd.Index(values, name=self.index.name, dtype=object)
        text: str = text_table.to_string(max_rows=MAX_LINES)
        return text


def format_number(name: str, value: Any) -> str:
    """A figure of a column as a person reads it; a half goes up.

    >>> format_number("seconds", 6.25), format_number("credits", 1272), format_number("credits_per_success", None)
    ('6.3', '1,272', '–')
    """
    if pd.isna(value):
        return "–"
    if name in ("seconds", "credits_per_success", "credits_per_second"):
        exact = Decimal(repr(round(float(value), MAX_DECIMALS)))
        return f"{exact.quantize(Decimal('0.1'), ROUND_HALF_UP):,}"
    return f"{int(value):,}"


def _shorten(value: Any, room: int) -> Any:
    """A value at the head of a line of text, cut to the room there is."""
    text = " ".join(value.split()) if isinstance(value, str) else value
    return f"{text[: room - 1]}…" if isinstance(text, str) and len(text) > room else text


def compute_costs(table: pd.DataFrame, by: str | Sequence[str] | None = None) -> Costs:
    """The costs of a table of runs by the values of one or more columns, or of all of it."""
    names = list(dict.fromkeys([by] if isinstance(by, str) else by or []))
    _check_columns(table, ["status", "credits", *names])
    return make_costs(table, names, list(_find_seconds(table)))


def make_costs(table: pd.DataFrame, by: Sequence[str], seconds: Sequence[float | None]) -> Costs:
    """The costs of a table of runs by these columns, or of all of it; `seconds` are those of the completed videos.

    Sums are of what is known, and unknown where nothing is. A share counts those runs only of which both its sides
    are known, so that a run without a price does not make the others look cheap.

    >>> table = pd.DataFrame({"seed": [1, 2, 2], "status": "completed", "credits": [53, 53, None]})
    >>> make_costs(table, ["seed"], [2.0, 2.0, 2.0])[["runs", "credits", "credits_per_success"]].values.tolist()
    [[1, 53, 53.0], [2, 53, 53.0]]
    """
    plain = table.reset_index(drop=True)
    facts = _facts(plain, seconds)
    if by:
        keys: list[Any] = [_key(plain[name]) for name in by]
    else:
        keys = [pd.Series("all", index=plain.index, name="")]
    # Numbers and choices have an order of their own; texts stand as the sweep has them.
    is_ordered = all(_has_order(key) for key in keys)
    groups = facts.groupby(keys, observed=True, dropna=False, sort=is_ordered)
    found = groups.sum(min_count=1).astype(dict.fromkeys(("runs", "completed"), "Int64"))
    found["credits_per_success"] = _ratio(found["credits"], found["_successes"])
    found["credits_per_second"] = _ratio(found["_credits"], found["_seconds"])
    # Videos that there are none of last no time at all; of those that cannot be read, nobody knows.
    found["seconds"] = found["seconds"].fillna(0.0).round(MAX_DECIMALS)
    return Costs(found[list(COLUMNS)])


def _facts(plain: pd.DataFrame, seconds: Sequence[float | None]) -> pd.DataFrame:
    """One row for each run with what is added up."""
    status = plain["status"].astype(object)
    completed, is_free = status.eq(COMPLETED), status.isin(UNCHARGED)
    spent = _amounts(plain, "credits", is_free)
    duration = pd.Series(list(seconds), index=plain.index, dtype="Float64").where(completed)
    is_known = spent.notna() & (duration.notna() | ~completed)
    return pd.DataFrame(
        {
            "runs": 1,
            "completed": completed.astype("Int64"),
            "credits": spent,
            "estimated": _amounts(plain, "credits_estimated", is_free),
            "charged": _get_charged(plain),
            "seconds": duration,
            "_successes": (completed & spent.notna()).astype("Int64"),
            "_credits": spent.where(is_known),
            "_seconds": duration.where(is_known),
        },
        index=plain.index,
    )


def _amounts(plain: pd.DataFrame, name: str, is_free: pd.Series[Any]) -> pd.Series[Any]:
    """A column of credits; nothing known at all where the table does not have it, as those of earlier days."""
    if name not in plain.columns:
        return pd.Series(pd.NA, index=plain.index, dtype="Int64")
    amounts = plain[name].astype("Int64")
    return amounts.mask(amounts.isna() & is_free, 0)


def _get_charged(plain: pd.DataFrame) -> pd.Series[Any]:
    """What the service itself has said it took."""
    if "credits_source" not in plain.columns:
        return pd.Series(pd.NA, index=plain.index, dtype="Int64")
    return plain["credits"].astype("Int64").where(plain["credits_source"].astype(object).eq("charged"), 0)


def _has_order(values: pd.Series[Any]) -> bool:
    kind = values.dtype
    return isinstance(kind, pd.CategoricalDtype) or not (
        pd.api.types.is_object_dtype(kind) or pd.api.types.is_string_dtype(kind)
    )


def _key(values: pd.Series[Any]) -> pd.Series[Any]:
    """A column to group by, as it is but for what nothing can be grouped by."""
    if values.dtype != object:
        return values
    return pd.Series([_groupable(value) for value in values], index=values.index, name=values.name, dtype=object)


def _groupable(value: Any) -> Any:
    """A value that can be grouped by: of lists and the like their text, and of half a character its number.

    >>> _groupable([1, "a"]), _groupable("a\\ud800b"), _groupable(7)
    ('[1, "a"]', 'a\\\\ud800b', 7)
    """
    text = format_json(value) if isinstance(value, (list, dict)) else value
    # Pandas fails at half a character, and any sign in its place would make one of two groups.
    return text.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(text, str) else text


def _ratio(amounts: pd.Series[Any], of: pd.Series[Any]) -> pd.Series[Any]:
    """One divided by the other, and nothing where there is nothing to divide by."""
    divisor = of.astype("Float64")
    return (amounts.astype("Float64") / divisor.where(divisor > 0)).round(3)


def _check_columns(table: pd.DataFrame, names: Sequence[str]) -> None:
    for name in names:
        if name not in table.columns:
            close = get_close_matches(str(name), list(map(str, table.columns)), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ReelbookError(f"This table has no column {name!r}.{hint}")


def _find_seconds(table: pd.DataFrame) -> Iterator[float | None]:
    """How long each completed video is; by its frames and rate where the table has them, else by the file itself."""
    nothing = [None] * len(table)
    durations: Sequence[Any] = nothing
    if {"num_frames", "frame_rate"} <= set(table.columns):
        frames, rates = (pd.to_numeric(table[name], errors="coerce") for name in ("num_frames", "frame_rate"))
        durations = list(frames.astype("float64") / rates.astype("float64"))
    files = table[VIDEO] if VIDEO in table.columns else nothing
    for status, seconds, path in zip(table["status"], durations, files, strict=True):
        if not isinstance(status, str) or status != COMPLETED:
            yield None
        elif seconds is not None and math.isfinite(seconds):
            yield float(seconds)
        else:
            yield _get_video_seconds(path, get_file_size(path)) if isinstance(path, str) else None


@lru_cache(maxsize=20_000)
def _get_video_seconds(path: str, size: int | None) -> float | None:
    """How many seconds a video is long; looked up once for a file of this size."""
    try:
        return LocalFile(Path(path), File(url="")).probe.seconds
    except ReelbookError:
        return None
