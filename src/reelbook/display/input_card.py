"""An input as a card: the fields that differ from their defaults, the price, and the rest folded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..errors import ReelbookError
from ..models.catalog import find_endpoint
from ..models.pricing import estimate
from ..settings import options
from .fact_table import render_card, render_code, render_details, render_fact_table, render_heading, render_small_print
from .formatting import format_credits, join_with_dots, shorten
from .input_code import MAX_CODE_LENGTH, format_input_code
from .run_text import format_value

if TYPE_CHECKING:
    from ..models.base import Input


def input_card(request: Input) -> str:
    """The card of an input, rendered without a request to any service."""
    changed = request.changed()
    # By the names of the service; null values are left out.
    rest = {name: value for name, value in request.wire().items() if name not in changed}
    parts = [
        render_heading(join_with_dots(type(request)._spelling(), shorten(request.endpoint_id, 120))),
        _table(changed),
    ]
    if line := _price(request):
        parts.append(render_small_print(line))
    if rest:
        parts.append(
            render_details(
                f"{len(rest)} with default values" if len(rest) > 1 else "1 with its default value", _table(rest)
            )
        )
    code = format_input_code(request)
    if len(code) <= MAX_CODE_LENGTH:
        parts.append(render_details("Code", render_code(code)))
    return render_card(*parts, width=options.max_width)


def _table(values: dict[str, Any]) -> Markup:
    return render_fact_table(
        (shorten(name, 60), "none" if value is None else format_value(value)) for name, value in values.items()
    )


def _price(request: Input) -> str:
    """The price from the built-in catalog; `rb.estimate` asks the service."""
    try:
        guess = estimate(request)
    except ReelbookError:
        return ""
    if guess.credits is None or find_endpoint(request) is None:
        return "rb.estimate(…) tells the price"
    return f"{format_credits(guess.credits, 'assumed')}, from the built-in catalog; rb.estimate(…) asks the service"
