"""An estimate as a small table: how the price comes about, the price, and who says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from .fact_table import card, small
from .formatting import cut, format_credits

if TYPE_CHECKING:
    from ..models.pricing import Estimate, Line

LONGEST = 200
ROW = Markup(
    '<tr><{0} style="text-align:left;padding:3px 32px 3px 0;border:0">{1}</{0}><{0} style="text-align:right;border:0">{2}</{0}></tr>'
)
TABLE = Markup('<table class="rb-facts" style="border-collapse:collapse;margin:2px 0"><tbody>{}</tbody></table>')
ORIGINS = {"exact": "exact, quoted by the service"}


def estimate_table(estimate: Estimate) -> str:
    """The table, with its source in small print."""
    total = format_credits(estimate.credits) or "unknown"
    rows = [ROW.format("td", cut(line.label, LONGEST), _amount(line)) for line in estimate.breakdown]
    rows.append(ROW.format("td", Markup("<b>price</b>"), Markup("<b>{}</b>").format(total)))
    origin = ORIGINS.get(estimate.source, "≈ estimated from the catalog")
    if estimate.is_suspect:
        origin = f"{origin}; limits of a sweep count {format_credits(estimate.counted)}, the price in the catalog"
    return card(TABLE.format(Markup("").join(rows)), small(origin))


def _amount(line: Line) -> str:
    return f"{line.credits:,f}" if line.credits is not None else f"× {line.factor:f}"
