"""Where a service is, which can move, and where it has the status, result and cancellation of each request."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from ..errors import NotFound, ReelbookError, Unreachable

RENEWAL_SECONDS = 60.0
MAX_URL_LENGTH = 60_000
"""Longer addresses cannot be requested."""
MAX_ID_LENGTH = 8_000
"""Longer ids cannot be requested: they would not fit into a URL."""
DEFAULT_PORTS = {"http": 80, "https": 443}
URL_FIELDS = {
    "status": ("statusUrl", "status_url"),
    "response": ("responseUrl", "response_url"),
    "cancel": ("cancelUrl", "cancel_url"),
}


class Address:
    """The base address of a service that may move: `renew` returns its new address, after starting it if necessary."""

    def __init__(self, base_url: str, renew: Callable[[], str] | None = None) -> None:
        self.base_url, self._renew = _checked(base_url), renew
        self._renewal = asyncio.Lock()

    @property
    def origin(self) -> str:
        """The scheme, host and port of the service, for error messages."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def path(self) -> str:
        """The path of the service on its host; empty for a service that is all of it."""
        return urlsplit(self.base_url).path

    async def relocate(self, failed: str) -> bool:
        """Find the service's new address after the failed one did not respond; true if a retry is worthwhile."""
        if self._renew is None:
            return False
        async with self._renewal:
            if self.base_url != failed:
                return True  # Another call found the new address while this one was failing.
            try:
                # In a thread: it may start a service.
                async with asyncio.timeout(RENEWAL_SECONDS):
                    self.base_url = _checked(await asyncio.to_thread(self._renew))
            except Exception as error:
                reason = "took too long" if isinstance(error, TimeoutError) else f"failed: {error}"
                raise Unreachable(self.origin, f"finding or starting it again {reason}") from None
        return True

    def get_local_path(self, url: object) -> str | None:
        """The path and query of a URL that the service reported, if it is its own; the key is sent to no other host."""
        if not isinstance(url, str) or len(url) > MAX_URL_LENGTH or not url.isprintable():
            return None
        try:
            reported, own = urlsplit(url), urlsplit(self.base_url)
            if _origin(reported) != _origin(own) or reported.username or reported.password:
                return None
        except ValueError:
            return None
        return reported.path + (f"?{reported.query}" if reported.query else "")


class RequestPaths:
    """The paths of requests at a service, where they are not the usual ones. Only its own addresses are accepted."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._unusual: dict[str, dict[str, str]] = defaultdict(dict)
        """By request id, of those that the service itself has named in this session."""

    def record_accepted(self, request_id: str, stored: Mapping[str, Any] | None = None) -> None:
        """Record that the service itself has named this request, so that its id may be an unusual one.

        `stored` are the paths that `get_unusual` returned in an earlier session.
        """
        known = self._unusual[request_id]
        for what in URL_FIELDS.keys() & (stored or {}).keys():
            # Only the path is used, and only on this service: its port can change between sessions.
            path = self._address.get_local_path(self._address.origin + str((stored or {})[what]))
            if path is not None:
                known[what] = path

    def record_addresses(self, request_id: str, endpoint_id: str, answer: Mapping[str, Any]) -> None:
        """Record the addresses that a response reports, where they differ from the usual ones."""
        for what, names in URL_FIELDS.items():
            path = next(filter(None, (self._address.get_local_path(answer.get(name)) for name in names)), None)
            if path is not None and path != self._usual_path(endpoint_id, request_id, what):
                self._unusual[request_id][what] = path

    def record_path(self, request_id: str, what: str, path: str) -> None:
        """Record that this path works, and the likelier ones do not."""
        self._unusual[request_id][what] = path

    def get_unusual(self, request_id: str) -> dict[str, str]:
        """The unusual paths of a request, to be stored for a later session."""
        return dict(self._unusual.get(request_id, {}))

    def get_paths(self, request_id: str, endpoint_id: str, what: str) -> list[str]:
        """The paths at which the `status`, `response` or `cancel` of a request may be, the likeliest first."""
        usual = self._usual_path(endpoint_id, request_id, what)
        # Some services use only the first two parts of the model's id in the path of the queue.
        short = self._usual_path("/".join(endpoint_id.split("/")[:2]), request_id, what)
        unusual = self._unusual.get(request_id, {}).get(what)
        return list(dict.fromkeys(filter(None, (unusual, usual, short))))

    def _usual_path(self, endpoint_id: str, request_id: str, what: str) -> str:
        rest = () if what == "response" else (what,)
        path = request_path(endpoint_id, request_id, *rest, is_accepted=request_id in self._unusual)
        return self._address.path + path


def request_path(endpoint_id: str, request_id: str, *rest: str, is_accepted: bool = False) -> str:
    """The path of a request in its model's queue; an unusual id is quoted if the service itself has accepted it.

    >>> request_path("svc/smart-resize", "a b", "status")
    '/svc/smart-resize/requests/a%20b/status'
    >>> request_path("svc/smart-resize", "../a", is_accepted=True)
    '/svc/smart-resize/requests/%2E%2E%2Fa'
    """
    # Dots are quoted too: alone between two slashes they would mean the parent folder.
    quoted = _quoted(request_id).replace(".", "%2E") if is_accepted and not _is_plain(request_id) else None
    return "/".join(["", model_path(endpoint_id), "requests", quoted or _segment(request_id, "request"), *rest])


def model_path(endpoint_id: str) -> str:
    """A model's id as a path, without a leading slash."""
    return "/".join(_segment(part, "model", whole=endpoint_id) for part in endpoint_id.split("/"))


def _segment(text: str, what: str, *, whole: str | None = None) -> str:
    """One quoted part of a path; raises `NotFound` for an id that a proxy could resolve to another path."""
    if not _is_plain(text):
        words = f"There is no {what} {(whole or text)[:100]!r}; ids do not look like that."
        raise NotFound(words, status=404, error_type="not_found")
    return _quoted(text)


def _is_plain(text: str) -> bool:
    """Whether no server or proxy can parse such an id as several parts of a path."""
    return text.isprintable() and not any(part in ("", ".", "..") for part in re.split(r"[/\\]", text))


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")


def _checked(base_url: str) -> str:
    """A valid address without a trailing slash."""
    try:
        parts = urlsplit(base_url)
        fits = parts.scheme in DEFAULT_PORTS and bool(parts.hostname) and parts.port != 0 and base_url.isprintable()
    except ValueError:
        fits = False
    if fits and parts.username is not None:
        raise ReelbookError(
            "A URL with a name or a password in it is refused, because URLs are displayed and stored. "
            "Leave them out, and give the key as api_key."
        )
    if not fits or parts.query or parts.fragment:
        raise ReelbookError(
            f"{base_url[:200]!r} is not the URL of a service. A URL begins with http:// or https:// and a host, "
            "such as https://host.example/api; with nothing after a ? or a #."
        )
    return base_url.rstrip("/")


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or DEFAULT_PORTS.get(parts.scheme)
