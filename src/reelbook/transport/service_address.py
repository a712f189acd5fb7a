"""Where a service is, which can move, and where it has the status, result and cancellation of each request."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from ..errors import ReelbookError, Unreachable

RENEWAL_SECONDS = 60.0
URL_FIELDS = {
    "status": ("statusUrl", "status_url"),
    "response": ("responseUrl", "response_url"),
    "cancel": ("cancelUrl", "cancel_url"),
}


class Address:
    """The base address of a service that may move: `renew` returns its new address, after starting it if necessary."""

    def __init__(self, base_url: str, renew: Callable[[], str] | None = None) -> None:
        self.base_url, self._renew = check_base_url(base_url), renew
        self._renewal = asyncio.Lock()

    @property
    def origin(self) -> str:
        """The scheme, host and port of the service."""
        return "/".join(self.base_url.split("/")[:3])

    @property
    def path(self) -> str:
        """The path of the service on its host; empty for a service that is all of it."""
        return self.base_url.removeprefix(self.origin)

    async def relocate(self, failed: str) -> bool:
        """Find the service's new address after the failed one did not respond; true if a retry is worthwhile."""
        if self._renew is None:
            return False
        async with self._renewal:
            if self.base_url == failed:  # Else another call found the new address while this one was failing.
                try:
                    # In a thread: it may start a service.
                    async with asyncio.timeout(RENEWAL_SECONDS):
                        self.base_url = check_base_url(await asyncio.to_thread(self._renew))
                except Exception as error:
                    reason = "took too long" if isinstance(error, TimeoutError) else f"failed: {error}"
                    raise Unreachable(self.origin, f"finding or starting it again {reason}") from None
        return True


class RequestPaths:
    """The paths of requests at a service, which may report unusual ones: on its own host, as the key goes to no other."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._unusual: dict[str, dict[str, str]] = defaultdict(dict)

    def record_accepted(self, request_id: str, stored: Mapping[str, str]) -> None:
        """Use the paths that `get_unusual` returned in an earlier session."""
        self._unusual[request_id].update(stored)

    def record_addresses(self, request_id: str, endpoint_id: str, answer: Mapping[str, Any]) -> None:
        """Record the addresses that a response reports, where they differ from the usual ones."""
        for what, names in URL_FIELDS.items():
            url = next((answer[name] for name in names if isinstance(answer.get(name), str)), "")
            origin = self._address.origin
            path = url[len(origin) :] if url.lower().startswith(origin.lower()) and url.isprintable() else ""
            if path.startswith("/") and path != self._usual_path(endpoint_id, request_id, what):
                self._unusual[request_id][what] = path

    def get_unusual(self, request_id: str) -> dict[str, str]:
        """The unusual paths of a request, to be stored for a later session."""
        return dict(self._unusual.get(request_id, {}))

    def get_paths(self, request_id: str, endpoint_id: str, what: str) -> list[str]:
        """The paths at which the `status`, `response` or `cancel` of a request may be, the likeliest first."""
        usual = self._usual_path(endpoint_id, request_id, what)
        # Some services use only the first two parts of the model's id in the path of the queue.
        short = self._usual_path("/".join(endpoint_id.split("/")[:2]), request_id, what)
        unusual = self._unusual.get(request_id, {}).get(what, usual)
        return list(dict.fromkeys((unusual, usual, short)))

    def _usual_path(self, endpoint_id: str, request_id: str, what: str) -> str:
        parts = [*endpoint_id.split("/"), "requests", request_id, *([] if what == "response" else [what])]
        return self._address.path + "".join(f"/{quote_segment(part)}" for part in parts)


def quote_segment(text: str) -> str:
    """A text as one part of a path, whatever it contains."""
    quoted = quote(text, safe="", errors="surrogatepass")
    # Between two slashes, dots alone would mean another folder, and some proxies read %2F as a slash.
    return quoted.replace(".", "%2E") if not text.strip(".") or "/" in text or "\\" in text else quoted


def check_base_url(base_url: str) -> str:
    """A valid address without a trailing slash."""
    try:
        parts = urlsplit(base_url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and base_url.isprintable()
    except ValueError:
        fits = False
    if not fits or parts.query or parts.fragment or parts.username is not None:
        # Not quoted, because a password may be in it.
        raise ReelbookError(
            "That is not the URL of a service. One begins with http:// or https:// and a host, such as https://host.example/api; "
            "without a name, a password, or anything after a ? or a #. Give the key as api_key."
        )
    return base_url.rstrip("/")
