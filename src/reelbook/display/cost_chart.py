"""The cost of runs by the values of a column: a table with a bar in each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from ..sweeps.cost import COLUMNS, HEADINGS, format_number
from ..util.printable import replace_surrogates
from .fact_table import render_small_print
from .formatting import shorten
from .theme import render_style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..sweeps.cost import Costs

MAX_LINES = 24
NOTHING = "There are no runs here to add up."
TOTALLED = ("runs", "completed", "credits", "estimated", "charged", "seconds")

FRAME = Markup('<div class="rb mathjax_ignore tex2jax_ignore" style="font-variant-numeric:tabular-nums">{}{}</div>')
TABLE = Markup(
    '<div class="rb-costs" style="overflow-x:auto" role="region" tabindex="0" aria-label="Costs by {}"><table>'
    "<thead><tr>{}<td></td>{}</tr></thead><tbody>{}</tbody>{}</table></div>{}"
)
HEAD = Markup('<th scope="col">{}</th>')
VALUE = Markup('<th scope="row" class="rb-costs-value"><bdi>{}</bdi></th>')
CELL = Markup("<td>{}</td>")
BAR = Markup('<td class="rb-costs-bar" aria-hidden="true"><div>{}</div></td>')
PART = Markup('<i class="rb-costs-{}" style="{}:{:.1f}%"></i>')
TOTAL = Markup('<tfoot><tr><th scope="row" colspan="{}">{}</th><td></td>{}</tr></tfoot>')


def render_costs(costs: Costs) -> str:
    """The costs as a table; with other columns than those of `Costs`, as pandas renders it."""
    if tuple(costs.columns) != COLUMNS:
        return replace_surrogates(pd.DataFrame(costs).to_html(max_rows=MAX_LINES, notebook=True))
    return str(FRAME.format(render_style("costs.css"), render_cost_table(costs)))


def render_cost_table(costs: Costs, columns: Sequence[str] = COLUMNS) -> Markup:
    """The table alone, of the most expensive values if there are many.

    A bar is solid as far as the credits were charged and light beyond, with a mark where the estimate was another.
    """
    if not len(costs):
        return Markup("<p>{}</p>").format(NOTHING)
    rows = pd.DataFrame(costs)
    if len(rows) > MAX_LINES:
        rows = rows.sort_values("credits", ascending=False, kind="stable").head(MAX_LINES)
    columns = [name for name in columns if costs[name].notna().any()]
    names = [replace_surrogates(str(name or "")) for name in costs.index.names]
    top = max(1, *rows[["credits", "estimated"]].fillna(0).max())
    lines = [_render_row(key, row, columns, top) for key, (_, row) in zip(rows.index, rows.iterrows(), strict=True)]
    heads = [HEAD.format(name) for name in names], [HEAD.format(HEADINGS[name]) for name in columns]
    total = _render_total(costs, columns) if len(costs) > 1 else Markup("")
    return TABLE.format(
        " and ".join(filter(None, names)), *map(Markup("").join, (*heads, lines)), total, _render_legend(rows)
    )


def _render_row(key: Any, row: pd.Series[Any], columns: Sequence[str], top: int) -> Markup:
    values = [VALUE.format(shorten(_format_value(value), 160)) for value in (key if isinstance(key, tuple) else (key,))]
    cells = [
        CELL.format(("≈ " if name == "credits" and _is_unsure(row) else "") + format_number(name, row[name]))
        for name in columns
    ]
    return Markup("<tr>{}{}{}</tr>").format(Markup("").join(values), _render_bar(row, top), Markup("").join(cells))


def _render_bar(row: pd.Series[Any], top: int) -> Markup:
    parts = []
    if pd.notna(row["credits"]):
        sure = row["charged"] if _is_unsure(row) else row["credits"]
        parts = [PART.format("sure", "width", 100 * sure / top)]
        parts.append(PART.format("unsure", "width", 100 * (row["credits"] - sure) / top))
    if _is_off(row):
        parts.append(PART.format("mark", "left", 100 * row["estimated"] / top))
    return BAR.format(Markup("").join(parts))


def _render_legend(rows: pd.DataFrame) -> Markup:
    parts = []
    if any(_is_unsure(row) for _, row in rows.iterrows()):
        parts.append("The light part of a bar is not confirmed by the service.")
    if any(_is_off(row) for _, row in rows.iterrows()):
        parts.append("The mark is the estimate.")
    return render_small_print(" ".join(parts)) if parts else Markup("")


def _render_total(costs: Costs, columns: Sequence[str]) -> Markup:
    """The sums, with `≥` where some values are unknown."""
    sums = [
        f"{'≥ ' if costs[name].isna().any() else ''}{format_number(name, costs[name].sum())}"
        if name in TOTALLED
        else ""
        for name in columns
    ]
    title = f"all {len(costs):,}" + (
        f", {len(costs) - MAX_LINES:,} cheaper ones not shown" if len(costs) > MAX_LINES else ""
    )
    return TOTAL.format(costs.index.nlevels, title, Markup("").join(map(CELL.format, sums)))


def _is_unsure(row: pd.Series[Any]) -> bool:
    """Whether the service reported less than the credits counted here."""
    return bool(pd.notna(row["credits"]) and pd.notna(row["charged"]) and row["charged"] < row["credits"])


def _is_off(row: pd.Series[Any]) -> bool:
    return bool(pd.notna(row["estimated"]) and (pd.isna(row["credits"]) or row["estimated"] != row["credits"]))


def _format_value(value: Any) -> str:
    """A value of the column as text."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "not set"
    return f"{value:g}" if isinstance(value, float) else replace_surrogates(str(value)) or '""'
