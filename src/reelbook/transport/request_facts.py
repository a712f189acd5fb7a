"""When requests were accepted, and the unusual addresses that the service reported for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from .service_address import Address, request_path

MAX_REQUESTS = 20_000
NEW_SECONDS = 30.0
"""How long after its acceptance a request may be unknown to some servers of a service."""
URL_FIELDS = {
    "status": ("statusUrl", "status_url"),
    "response": ("responseUrl", "response_url"),
    "cancel": ("cancelUrl", "cancel_url"),
}


@dataclass(slots=True)
class _Facts:
    accepted_at: float = float("-inf")
    """When it was accepted; -inf for an earlier session."""
    paths: dict[str, str] = field(default_factory=dict)
    verified: dict[str, str] = field(default_factory=dict)


class RequestFacts:
    """Facts about the latest requests. Only addresses of the service itself are accepted."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._facts: dict[str, _Facts] = {}

    def record_accepted(self, request_id: str, now: float) -> None:
        """Record the time at which a request was accepted."""
        self._get_or_add(request_id).accepted_at = now

    def is_new(self, request_id: str, now: float) -> bool:
        """Whether a request was accepted less than `NEW_SECONDS` ago."""
        facts = self._facts.get(request_id)
        return facts is not None and now - facts.accepted_at < NEW_SECONDS

    def record_addresses(self, request_id: str, endpoint_id: str, answer: Mapping[str, Any]) -> None:
        """Record the addresses that a response reports, where they differ from the usual ones."""
        for what, names in URL_FIELDS.items():
            path = next(filter(None, (self._address.get_local_path(answer.get(name)) for name in names)), None)
            if path is not None and path != self._usual_path(endpoint_id, request_id, what):
                self._get_or_add(request_id).paths[what] = path

    def get_unusual_addresses(self, request_id: str) -> dict[str, str]:
        """The unusual addresses that the service reported for a request, to be stored for a later session."""
        facts = self._facts.get(request_id)
        return {} if facts is None else dict(facts.paths)

    def restore_addresses(self, request_id: str, stored: Mapping[str, Any]) -> None:
        """Add a request of an earlier session, with the addresses that `get_unusual_addresses` returned then."""
        self._get_or_add(request_id)
        for what in URL_FIELDS.keys() & stored.keys():
            # Only the path is used, and only on this service: its port can change between sessions.
            path = self._address.get_local_path(self._address.get_url(str(stored[what])))
            if path is not None:
                self._get_or_add(request_id).paths[what] = path

    def get_paths(self, request_id: str, endpoint_id: str, what: str) -> list[str]:
        """The paths at which the `status`, `response` or `cancel` of a request may be, the likeliest first."""
        facts = self._facts.get(request_id) or _Facts()
        # Some services use only the first two parts of the model's id in the path of the queue.
        short = "/".join(endpoint_id.split("/")[:2])
        likely = [facts.verified.get(what), facts.paths.get(what), self._usual_path(endpoint_id, request_id, what)]
        if what != "response" or facts.verified.get("status") == self._usual_path(short, request_id, "status"):
            likely.append(self._usual_path(short, request_id, what))
        return list(dict.fromkeys(filter(None, likely)))

    def record_path(self, request_id: str, what: str, path: str) -> None:
        """Record that this path works, and the likelier ones do not."""
        self._get_or_add(request_id).verified[what] = path

    def _usual_path(self, endpoint_id: str, request_id: str, what: str) -> str:
        rest = () if what == "response" else (what,)
        path = request_path(endpoint_id, request_id, *rest, is_accepted=request_id in self._facts)
        return urlsplit(self._address.base_url).path + path

    def _get_or_add(self, request_id: str) -> _Facts:
        if request_id not in self._facts and len(self._facts) >= MAX_REQUESTS:
            del self._facts[next(iter(self._facts))]
        return self._facts.setdefault(request_id, _Facts())
