"""An estimate as a small table: how the price comes about, the price, and who says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from ..models.pricing import Estimate, Line

ROW = Markup(
    '<tr><{0} style="text-align:left;padding-right:32px">{1}</{0}><{0} style="text-align:right">{2}</{0}></tr>'
)
TABLE = Markup(
    '<table style="font-variant-numeric:tabular-nums;margin:4px 0"><tbody>{}'
    '<tr><td colspan="2" style="text-align:left;font-size:12px"><span style="opacity:.8">{}</span></td></tr></tbody></table>'
)


def estimate_table(estimate: Estimate) -> str:
    """The table, with its source in small print."""
    total = "unknown" if estimate.credits is None else f"{estimate.credits:,} credits"
    origin = "exact, says the service" if estimate.source == "exact" else "≈ assumed, from the catalog kept here"
    rows = [ROW.format("td", line.label, _amount(line)) for line in estimate.breakdown]
    rows.append(ROW.format("th", "price", total))
    return str(TABLE.format(Markup("").join(rows), origin))


def _amount(line: Line) -> str:
    return f"{line.credits:,f}" if line.credits is not None else f"× {line.factor:f}"
