"""The available metrics as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from markupsafe import Markup

from ..sweeps.results.metrics_table import COLUMNS
from .fact_table import SMALL_STYLE, render_card

if TYPE_CHECKING:
    from ..sweeps.results.metrics_table import Metrics

WIDTH = 960
CELL = "text-align:left;vertical-align:top;padding:4px 16px 4px 0;border:0;background:none;white-space:normal"
HEAD = Markup('<th scope="col" style="{};font-weight:normal">{}</th>')
ROW = Markup(
    '<tr><th scope="row" style="{};font-weight:normal">{}</th><td style="{}">{}<div style="{}">{}</div></td>'
    '<td style="{}">{}</td><td style="{}">{}</td><td style="{}">{}</td></tr>'
)


def render_metrics(metrics: Metrics) -> str:
    """A row for each metric, its definition in small print; with other columns, the table as pandas renders it."""
    if tuple(metrics.columns) != COLUMNS:
        return str(pd.DataFrame(metrics).to_html(notebook=True))
    head = Markup("").join(HEAD.format(CELL, name) for name in ("metric", "meaning", "unit", "range", "better"))
    rows = Markup("").join(
        ROW.format(CELL, name, CELL, meaning, SMALL_STYLE, definition, CELL, unit, CELL, span, CELL, better)
        for name, meaning, definition, unit, span, better in metrics.itertuples(name=None)
    )
    table = Markup(
        '<div style="overflow-x:auto"><table class="rb-facts rb-rows" style="border-collapse:collapse;margin:0">'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    )
    return render_card(table.format(head, rows), width=WIDTH)
