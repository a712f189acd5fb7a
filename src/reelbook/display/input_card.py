"""An input as a cell shows it: what differs from the defaults, what it will cost, and the rest folded away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..errors import ReelbookError
from ..models.catalog import endpoint_for
from ..models.pricing import estimate
from ..settings import options
from .fact_table import card, code_block, fact_table, folded, heading, small
from .formatting import cut, format_credits, joined
from .input_code import LONGEST, code_of
from .run_text import text_of

if TYPE_CHECKING:
    from ..models.base import Input


def input_card(request: Input) -> str:
    """The card; nothing is asked of any service for it."""
    changed = request.changed()
    # By the names that the service knows; what is null says nothing.
    rest = {name: value for name, value in request.wire().items() if name not in changed}
    parts = [heading(joined(type(request)._spelling(), cut(request.endpoint_id, 120))), _table(changed)]
    if line := _price(request):
        parts.append(small(line))
    if rest:
        parts.append(
            folded(f"{len(rest)} with default values" if len(rest) > 1 else "1 with its default value", _table(rest))
        )
    code = code_of(request)
    if len(code) <= LONGEST:
        parts.append(folded("Code", code_block(code)))
    return card(*parts, width=options.max_width)


def _table(values: dict[str, Any]) -> Markup:
    return fact_table((cut(name, 60), "none" if value is None else text_of(value)) for name, value in values.items())


def _price(request: Input) -> str:
    """What the catalog says that it costs; `rb.estimate` asks the service."""
    try:
        guess = estimate(request)
    except ReelbookError:
        return ""
    if guess.credits is None or endpoint_for(request) is None:
        return "rb.estimate(…) tells the price"
    return f"{format_credits(guess.credits, 'assumed')}, from the built-in catalog; rb.estimate(…) asks the service"
