"""An estimate as a table: its lines, the price, and the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from .fact_table import render_card, render_small_print
from .formatting import format_credits, shorten

if TYPE_CHECKING:
    from ..models.pricing import Estimate, Line

MAX_LABEL_LENGTH = 200
ROW = Markup(
    '<tr><{0} style="text-align:left;padding:3px 32px 3px 0;border:0">{1}</{0}><{0} style="text-align:right;border:0">{2}</{0}></tr>'
)
TABLE = Markup('<table class="rb-facts" style="border-collapse:collapse;margin:2px 0"><tbody>{}</tbody></table>')
ORIGINS = {"exact": "exact, quoted by the service"}
DEFAULT_ORIGIN = "≈ estimated from the catalog"


def estimate_table(estimate: Estimate) -> str:
    """The table of an estimate, with its source in small print."""
    total = format_credits(estimate.credits) or "unknown"
    rows = [ROW.format("td", shorten(line.label, MAX_LABEL_LENGTH), format_amount(line)) for line in estimate.breakdown]
    rows.append(ROW.format("td", Markup("<b>price</b>"), Markup("<b>{}</b>").format(total)))
    origin = ORIGINS.get(estimate.source, DEFAULT_ORIGIN)
    if estimate.is_suspect:
        origin = f"{origin}; limits of a sweep count {format_credits(estimate.counted)}, the price in the catalog"
    return render_card(TABLE.format(Markup("").join(rows)), render_small_print(origin))


def format_amount(line: Line) -> str:
    """The credits of a line, or the factor by which it multiplies those above."""
    return f"{line.credits:,f}" if line.credits is not None else f"× {line.factor:f}"
