"""The estimates of a service, each for all inputs that differ only in what does not affect the price."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from ..models.base import Input
from ..models.pricing import Estimate
from ..storage.run_identity import make_price_key

MAX_PRICES, PRICE_SECONDS = 10_000, 3600.0
"""How many estimates are cached, and for how long: a gateway runs for months, and prices change."""


class PriceCache:
    """Estimates by what they depend on."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Estimate, float]] = {}

    def find(self, request: Input) -> Estimate | None:
        """The estimate of an input, if it is known and recent."""
        estimate, since = self._known.get(make_price_key(request), (None, 0.0))
        return estimate if time.monotonic() - since < PRICE_SECONDS else None

    def forget(self, request: Input) -> None:
        """Ask for the price of an input again, because a run was dearer."""
        self._known.pop(make_price_key(request), None)

    async def get(self, request: Input, ask: Callable[[Input], Awaitable[Estimate]]) -> Estimate:
        """The estimate of an input, asked for if it is not known."""
        if (known := self.find(request)) is not None:
            return known
        estimate = await ask(request)
        if len(self._known) >= MAX_PRICES:
            self._known.clear()
        self._known[make_price_key(request)] = estimate, time.monotonic()
        return estimate
