"""The service's addresses as methods, content with what the specification shows and glad of the rest."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ..errors import NotFound, Refused, ServiceBroken, ServiceError, Unreachable
from ..models import pricing
from ..models.base import Input
from ..models.pricing import Estimate, Line, Rates
from ..models.queue import QueueStatus
from .http import Http


@dataclass(frozen=True, slots=True)
class Nature:
    """What a service says of itself; nothing at all, for one that answers the specification only."""

    id: str | None = None
    name: str = "hosted service"
    features: frozenset[str] = frozenset()


class ServiceCalls:
    """One service, as coroutines. `address` gives its base address, `renew` a new one when nobody answers."""

    def __init__(
        self, http: Http, address: str, renew: Callable[[], str] | None = None, rates: Rates | None = None
    ) -> None:
        self._http, self.base_url, self._renew, self._rates = http, address.rstrip("/"), renew, rates
        self._nature: Nature | None = None

    async def nature(self) -> Nature:
        """What the service offers beyond the specification; asked once."""
        if self._nature is None:
            try:
                told = await self._free("GET", "/")
            except (ServiceError, Unreachable) as error:
                if isinstance(error, Unreachable):
                    raise
                told = {}
            features = told.get("features") if isinstance(told, dict) else None
            known = frozenset(str(name) for name in features) if isinstance(features, list) else frozenset()
            told = told if isinstance(told, dict) else {}
            self._nature = Nature(told.get("id"), str(told.get("service", "hosted service")), known)
        return self._nature

    async def run(self, request: Input, credits: int | None) -> Mapping[str, Any]:
        """Submit a paid run; the answer as the service gave it, with at least a request id or an output."""
        offers = (await self.nature()).features
        body = {"endpointId": request.endpoint_id, "input": request.wire()}
        key = str(uuid.uuid4()) if "idempotency" in offers else None
        try:
            answer = await self._http.paid(f"{self.base_url}/models/run", body, credits=credits, idempotency_key=key)
        except Unreachable:
            # Nothing was sent, so sending it elsewhere is safe.
            if not self._moved():
                raise
            answer = await self._http.paid(f"{self.base_url}/models/run", body, credits=credits, idempotency_key=key)
        if not isinstance(answer, dict):
            raise ServiceBroken("The service accepted the run and answered no object.", status=200)
        return answer

    async def status(self, endpoint_id: str, request_id: str) -> QueueStatus:
        """Where a request stands, with its log."""
        told = await self._free("GET", f"/{endpoint_id}/requests/{request_id}/status?logs=1")
        return QueueStatus.model_validate({"request_id": request_id, **told})

    async def result(self, endpoint_id: str, request_id: str) -> Any:
        """The output of a finished request."""
        return await self._free("GET", f"/{endpoint_id}/requests/{request_id}")

    async def cancel(self, endpoint_id: str, request_id: str) -> bool:
        """Ask for a cancellation; says whether the service agreed."""
        try:
            told = await self._free("PUT", f"/{endpoint_id}/requests/{request_id}/cancel")
        except (Refused, NotFound):
            return False
        if "success" in told:
            return bool(told["success"])
        return str(told.get("status", "")).upper() in ("CANCELLED", "CANCELLATION_REQUESTED")

    async def estimate(self, request: Input) -> Estimate:
        """What the service says a run costs; our own catalog where it does not say, and then labelled so."""
        body = {"endpointId": request.endpoint_id, "input": request.wire()}
        try:
            told = await self._free("POST", "/models/pricing/estimate", body)
        except Refused:
            raise
        except ServiceError:
            return pricing.estimate(request, self._rates)
        return _estimate(told) or pricing.estimate(request, self._rates)

    async def account(self) -> Mapping[str, Any]:
        """Credits and permissions, as the service tells them."""
        return dict(await self._free("GET", "/account"))

    async def models(self) -> Sequence[Mapping[str, Any]]:
        """The models that the service lists."""
        return list(await self._free("GET", "/models"))

    async def _free(self, method: str, path: str, body: Any = None) -> Any:
        try:
            # An embedded service whose owner went away is not waited for: it is started again.
            return await self._http.free(
                method, self.base_url + path, body=body, **({"attempts": 1} if self._renew else {})
            )
        except Unreachable:
            if not self._moved():
                raise
            return await self._http.free(method, self.base_url + path, body=body)

    def _moved(self) -> bool:
        """Whether there is a new address to try."""
        if self._renew is None:
            return False
        self.base_url = self._renew().rstrip("/")
        return True


def _estimate(told: Any) -> Estimate | None:
    """An estimate in any of the shapes that services use."""
    if not isinstance(told, dict):
        return None
    amount = next((told[name] for name in ("credits", "total_cost", "estimate", "amount") if name in told), None)
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        return None
    lines = told.get("breakdown")
    breakdown = tuple(_line(line) for line in lines if isinstance(line, dict)) if isinstance(lines, list) else ()
    card = told.get("rateCard")
    # A price with a fraction is charged as the next whole credit.
    return Estimate(-int(-amount // 1), breakdown, card if isinstance(card, str) else None, "exact")


def _line(line: Mapping[str, Any]) -> Line:
    def amount(name: str) -> Decimal | None:
        value = line.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return Decimal(int(value)) if float(value).is_integer() and name == "credits" else Decimal(repr(value))

    return Line(str(line.get("label", "")), amount("credits"), amount("factor"))
