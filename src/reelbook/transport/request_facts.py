"""What is known of requests beside their status: when they were accepted, and which addresses the service named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from .service_address import Address, request_path

MAX_KNOWN = 20_000
NEW_SECONDS = 30.0
"""For so long after its acceptance a request may be unknown to some part of a service."""
NAMES = {
    "status": ("statusUrl", "status_url"),
    "response": ("responseUrl", "response_url"),
    "cancel": ("cancelUrl", "cancel_url"),
}


@dataclass(slots=True)
class _Facts:
    accepted: float = float("-inf")
    """When it was accepted; -inf for another day."""
    paths: dict[str, str] = field(default_factory=dict)
    found: dict[str, str] = field(default_factory=dict)


class Known:
    """Facts about requests, the latest ones only. Addresses count only where they are the service's own."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._facts: dict[str, _Facts] = {}

    def accepted(self, request_id: str, now: float) -> None:
        """A request was accepted at this time."""
        self._of(request_id).accepted = now

    def is_new(self, request_id: str, now: float) -> bool:
        """Whether it was accepted a moment ago."""
        facts = self._facts.get(request_id)
        return facts is not None and now - facts.accepted < NEW_SECONDS

    def remember(self, request_id: str, endpoint_id: str, told: Mapping[str, Any]) -> None:
        """Keep the addresses that an answer names, where they differ from those we would make up."""
        for what, names in NAMES.items():
            local = next(filter(None, (self._address.local(told.get(name)) for name in names)), None)
            if local is not None and local != self._usual(endpoint_id, request_id, what):
                self._of(request_id).paths[what] = local

    def named(self, request_id: str) -> dict[str, str]:
        """The unusual places that the service named for a request."""
        facts = self._facts.get(request_id)
        return {} if facts is None else dict(facts.paths)

    def restore(self, request_id: str, named: Mapping[str, Any]) -> None:
        """A request that was accepted on another day, and what `named` gave then."""
        self._of(request_id)
        for what in NAMES.keys() & named.keys():
            # Only a path is kept, and only of this service: where it is can change from day to day.
            local = self._address.local(self._address.at(str(named[what])))
            if local is not None:
                self._of(request_id).paths[what] = local

    def paths(self, request_id: str, endpoint_id: str, what: str) -> list[str]:
        """Where the `status`, `response` or `cancel` of a request may be, the likeliest first."""
        facts = self._facts.get(request_id) or _Facts()
        # Some services name the queue by the first two parts of the model's id only.
        short = "/".join(endpoint_id.split("/")[:2])
        likely = [facts.found.get(what), facts.paths.get(what), self._usual(endpoint_id, request_id, what)]
        if what != "response" or facts.found.get("status") == self._usual(short, request_id, "status"):
            likely.append(self._usual(short, request_id, what))
        return list(dict.fromkeys(filter(None, likely)))

    def found(self, request_id: str, what: str, path: str) -> None:
        """It turned out to be there, and not where it was likelier."""
        self._of(request_id).found[what] = path

    def _usual(self, endpoint_id: str, request_id: str, what: str) -> str:
        rest = () if what == "response" else (what,)
        path = request_path(endpoint_id, request_id, *rest, is_accepted=request_id in self._facts)
        return urlsplit(self._address.base_url).path + path

    def _of(self, request_id: str) -> _Facts:
        if request_id not in self._facts and len(self._facts) >= MAX_KNOWN:
            del self._facts[next(iter(self._facts))]
        return self._facts.setdefault(request_id, _Facts())
