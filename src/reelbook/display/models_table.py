"""The models that a service lists, as a table of id, purpose, and lowest price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ..models.catalog import CATALOG
from ..util.printable import format_count
from .fact_table import SMALL_STYLE, SOFT_STYLE, render_card, render_heading, render_small_print
from .formatting import format_credits, join_with_dots, shorten

MAX_MODELS = 200
_CELL = "text-align:left;vertical-align:top;padding:4px 16px 4px 0;overflow-wrap:anywhere;border:0"
_ROW = Markup(
    '<tr><td style="{0}"><code>{1}</code><div style="{2}"><bdi>{3}</bdi></div></td>'
    '<td style="{0};text-align:right;white-space:nowrap">{4}</td></tr>'
)
_HEAD = Markup("<tr>{}</tr>")
_TABLE = Markup(
    '<table class="rb-facts rb-rows" style="border-collapse:collapse;width:100%;margin:4px 0"><thead>{}</thead><tbody>{}</tbody></table>'
)


def models_table(models: Sequence[Mapping[str, Any]]) -> str:
    """A row for each model; what the service does not report is left out."""
    count = len(models)
    if not count:
        return render_card(render_heading("No models"), render_small_print("The service lists none for this key."))
    heads = Markup("").join(
        Markup('<th scope="col" style="{};font-weight:normal;{};text-align:{}">{}</th>').format(
            _CELL, SOFT_STYLE, side, name
        )
        for name, side in (("model", "left"), ("from", "right"))
    )
    rows = Markup("").join(map(_row, models[:MAX_MODELS]))
    parts = [render_heading(format_count(count, "model")), _TABLE.format(_HEAD.format(heads), rows)]
    if count > MAX_MODELS:
        parts.append(render_small_print(f"and {count - MAX_MODELS:,} more"))
    parts.append(render_small_print('rb.model("…") gives the input of any of them.'))
    return render_card(*parts)


def _row(model: Mapping[str, Any]) -> Markup:
    name = model.get("id")
    known = next((row for row in CATALOG if row.id == name), None)
    purpose = _first(model, "purpose", "description", "summary") or (known.purpose if known else "")
    kind = _first(model, "category", "type", "kind") or (known.category if known else "")
    return _ROW.format(
        _CELL,
        shorten(name or "unnamed", 160),
        SMALL_STYLE,
        join_with_dots(shorten(kind, 60), shorten(purpose, 200)),
        _price(model),
    )


def _first(model: Mapping[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := model.get(name), str)), "")


def _price(model: Mapping[str, Any]) -> str:
    """The lowest price of a run, where the service reports it."""
    places = [model, *(inner for inner in model.values() if isinstance(inner, Mapping))]
    names = ("minimum_credits", "minimumCredits", "base_credits", "baseCredits", "credits")
    found = (
        place[name]
        for place in places
        for name in names
        if isinstance(place.get(name), int) and not isinstance(place[name], bool)
    )
    return format_credits(next(found, None))
