"""The cost of runs by the values of a column: a table with a bar in each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from ..sweeps.tables import COST_COLUMNS
from ..util.missing_values import is_missing
from ..util.printable import replace_surrogates
from .formatting import shorten
from .report.layout import format_table_value
from .theme import render, render_style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..sweeps.tables import Costs

MAX_LINES = 24
NOTHING = "There are no runs here to add up."
TOTALLED = ("runs", "completed", "credits", "estimated", "charged", "seconds")

FRAME = Markup('<div class="rb mathjax_ignore tex2jax_ignore" style="font-variant-numeric:tabular-nums">{}{}</div>')


def render_costs(costs: Costs) -> str:
    """The costs as a table; with other columns than those of `Costs`, as pandas renders it."""
    if tuple(costs.columns) != COST_COLUMNS:
        return replace_surrogates(pd.DataFrame(costs).to_html(max_rows=MAX_LINES, notebook=True))
    return str(FRAME.format(render_style("costs.css"), render_cost_table(costs)))


def render_cost_table(costs: Costs, columns: Sequence[str] = COST_COLUMNS) -> Markup:
    """The table alone, of the most expensive values if there are many.

    A bar is solid as far as the credits were charged and light beyond, with a mark where the estimate was another.
    """
    if not len(costs):
        return Markup("<p>{}</p>").format(NOTHING)
    rows = pd.DataFrame(costs)
    if len(rows) > MAX_LINES:
        rows = rows.sort_values("credits", ascending=False, kind="stable").head(MAX_LINES)
    columns = [name for name in columns if costs[name].notna().any()]
    top = max(1, *rows[["credits", "estimated"]].fillna(0).max())
    return render(
        "costs.html",
        names=[replace_surrogates(str(name or "")) for name in costs.index.names],
        headings=[name.removeprefix("credits_").replace("_", " ") for name in columns],
        rows=[_describe_row(key, row, columns, top) for key, row in rows.iterrows()],
        total=_format_total(len(costs)),
        sums=[_format_sum(costs, name) for name in columns],
    )


def _describe_row(key: Any, row: pd.Series[Any], columns: Sequence[str], top: float) -> dict[str, Any]:
    """One row: its values and figures, and the parts of its bar in percent."""
    amount, charged, estimated = row["credits"], row["charged"], row["estimated"]
    # The service may have reported less than the credits counted here.
    is_unsure = pd.notna(amount) and pd.notna(charged) and charged < amount
    sure = charged if is_unsure else amount
    is_off = pd.notna(estimated) and (pd.isna(amount) or estimated != amount)

    def share(part: Any) -> float | None:
        return None if pd.isna(part) else 100 * part / top

    return {
        "labels": [_format_value(value) for value in (key if isinstance(key, tuple) else (key,))],
        "cells": [
            ("≈ " if is_unsure and name == "credits" else "") + format_number(name, row[name]) for name in columns
        ],
        "sure": share(sure),
        "unsure": share(amount - sure),
        "mark": share(estimated) if is_off else None,
    }


def format_number(name: str, value: Any) -> str:
    """Format a number of a column for reading.

    >>> format_number("seconds", 6.28), format_number("credits", 1272), format_number("credits_per_success", None)
    ('6.3', '1,272', '–')
    """
    if pd.isna(value):
        return "–"
    return f"{value:,.1f}" if name in ("seconds", "credits_per_success", "credits_per_second") else f"{int(value):,}"


def _format_total(count: int) -> str:
    """The name of the row of sums; empty for one row alone."""
    if count < 2:
        return ""
    return f"all {count:,}" + (f", {count - MAX_LINES:,} cheaper ones not shown" if count > MAX_LINES else "")


def _format_sum(costs: Costs, name: str) -> str:
    """A sum, with `≥` where some values are unknown."""
    if name not in TOTALLED:
        return ""
    return f"{'≥ ' if costs[name].isna().any() else ''}{format_number(name, costs[name].sum())}"


def _format_value(value: Any) -> str:
    """A value of the column as text."""
    return "not set" if is_missing(value) else shorten(replace_surrogates(format_table_value(value)), 160)
