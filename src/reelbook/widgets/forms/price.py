"""The price of a draft: at once from the catalog, then from the service."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ...display.cards import format_amount
from ...display.formatting import format_credits
from ...errors import InvalidInput, ReelbookError
from ...models.base import Input
from ...models.catalog import Estimate, estimate
from ...storage.run_identity import make_price_key
from ..link import NewestOnly

if TYPE_CHECKING:
    from .form import Form

PICTURE = "https://example.org/picture.png"
PLACEHOLDERS = {"text": "a", "image": PICTURE}

log = logging.getLogger("reelbook")


class Pricer:
    """Prices drafts; requests each price from the service once, in the background."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._prices: dict[tuple[str, str], Estimate | None] = {}
        self._asker = NewestOnly(self._request, "reelbook-form-price")

    def price(self, value: Input | None) -> dict[str, Any]:
        """The price of the draft as JSON for the page; `value` is what it reads as, None if it has invalid values."""
        request = value if value is not None else self._correct_draft()
        if request is None:
            return price_json(None)
        session = self._form.session
        key = session.service_name(), make_price_key(request)
        if key not in self._prices and session.current is not None:
            self._asker.put((key, request))
        return price_json(self._prices.get(key) or _estimate_offline(request))

    def _correct_draft(self) -> Input | None:
        """The draft with invalid values left out, and placeholders for what is missing; None if that is impossible."""
        form, values = self._form, self._form.read_values()[0]
        for _ in range(4):
            try:
                return form.kind(**values)
            except InvalidInput as error:
                for name in {str(problem.loc[0]) for problem in error.problems if problem.loc}:
                    if form.has(name) and form.node(name).get("required"):
                        values[name] = _find_placeholder(form.node(name))
                    else:
                        values.pop(name, None)
        return None

    def _request(self, wanted: tuple[tuple[str, str], Input]) -> None:
        """Ask the service for a price, and show it."""
        key, request = wanted
        try:
            self._prices[key] = self._form.session.estimate(request)
        except Exception as error:
            # The catalog's price stays, marked as such.
            if not isinstance(error, ReelbookError):
                log.debug("a price could not be requested", exc_info=True)
            self._prices[key] = None
        self._form.refresh()


def price_json(price: Estimate | None) -> dict[str, Any]:
    """A price as JSON for the page, with its breakdown and its source."""
    if price is None or price.credits is None:
        return {"credits": None, "told": "price unknown", "lines": [], "source": ""}
    return {
        "credits": price.credits,
        "told": format_credits(price.credits, price.source),
        "lines": [[line.label, format_amount(line)] for line in price.breakdown],
        "source": "exact, quoted by the service" if price.source == "exact" else "estimated from the catalog",
    }


def _estimate_offline(request: Input) -> Estimate | None:
    try:
        return estimate(request)
    except ReelbookError:
        return None


def _find_placeholder(node: dict[str, Any]) -> Any:
    """A placeholder for a missing value on which no price depends."""
    if node["kind"] == "list":
        return [_find_placeholder(node["item"])]
    return "1024x1024" if node.get("special") == "size" else PLACEHOLDERS.get(node["kind"])
