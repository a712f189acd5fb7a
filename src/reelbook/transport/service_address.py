"""Where a service answers: an address that can move, and paths in which no id leads elsewhere."""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections.abc import Callable
from urllib.parse import SplitResult, quote, urlsplit

from ..errors import NotFound, ReelbookError, Unreachable

RENEWAL_SECONDS = 60.0
LONGEST_URL = 60_000
"""Longer addresses cannot be asked."""
PORTS = {"http": 80, "https": 443}


class Address:
    """The base address of a service. `renew` finds or starts it elsewhere, for a service that can move."""

    def __init__(self, base_url: str, renew: Callable[[], str] | None = None) -> None:
        self.base_url, self._renew = _checked(base_url), renew
        self._renewal: asyncio.Task[None] | None = None

    @property
    def place(self) -> str:
        """The host of the service, for a person."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc}"

    async def moved(self, failed: str) -> bool:
        """Whether it is worth trying again, after nobody answered at the address that failed."""
        if self._renew is None:
            return False
        if self.base_url != failed:
            return True  # Somebody else found the new one while this call was failing.
        if self._renewal is None:
            self._renewal = asyncio.create_task(self._renewed(self._renew))
        # Shielded, because others wait for the same renewal.
        await asyncio.shield(self._renewal)
        return True

    def local(self, url: object) -> str | None:
        """The path of an address that the service named, if it is its own; the key goes nowhere else."""
        if not isinstance(url, str) or len(url) > LONGEST_URL or not url.isprintable():
            return None
        try:
            named, own = urlsplit(url), urlsplit(self.base_url)
            if _origin(named) != _origin(own) or named.username or named.password:
                return None
        except ValueError:
            return None
        return named.path + (f"?{named.query}" if named.query else "")

    def at(self, local: str) -> str:
        """The whole address of such a path, at the port where the service is now."""
        own = urlsplit(self.base_url)
        return f"{own.scheme}://{own.netloc}{local}"

    async def _renewed(self, renew: Callable[[], str]) -> None:
        try:
            # In a thread: it may start a whole service.
            async with asyncio.timeout(RENEWAL_SECONDS):
                self.base_url = _checked(await asyncio.to_thread(renew))
        except Exception as error:
            reason = "took too long" if isinstance(error, TimeoutError) else f"failed: {error}"
            raise Unreachable(self.place, f"finding or starting it again {reason}") from None
        finally:
            self._renewal = None


def request_path(endpoint_id: str, request_id: str, *rest: str, is_accepted: bool = False) -> str:
    """The path of a request in its model's queue; what a service itself has accepted under an odd id, is quoted.

    >>> request_path("svc/smart-resize", "a b", "status")
    '/svc/smart-resize/requests/a%20b/status'
    >>> request_path("svc/smart-resize", "../a", is_accepted=True)
    '/svc/smart-resize/requests/%2E%2E%2Fa'
    """
    # The dots too: alone between two slashes they would be taken for a way up.
    named = _quoted(request_id).replace(".", "%2E") if is_accepted and not _is_plain(request_id) else None
    return "/".join(["", model_path(endpoint_id), "requests", named or _segment(request_id, "request"), *rest])


def model_path(endpoint_id: str) -> str:
    """A model's id as a path."""
    return "/".join(_segment(part, "model", whole=endpoint_id) for part in endpoint_id.split("/"))


def _segment(text: str, what: str, *, whole: str | None = None) -> str:
    """One quoted part of a path; an id that a proxy could take for a way to another address is refused here."""
    if not _is_plain(text):
        raise NotFound(
            f"There is no {what} {(whole or text)[:100]!r}; ids do not look like that.",
            status=404,
            error_type="not_found",
        )
    return _quoted(text)


def _is_plain(text: str) -> bool:
    """Whether nobody on the way takes such an id for anything but an id."""
    return text.isprintable() and not any(part in ("", ".", "..") for part in re.split(r"[/\\]", text))


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")


def _checked(base_url: str) -> str:
    """An address that can be dialled, without a slash at its end."""
    try:
        parts = urlsplit(base_url)
        fits = parts.scheme in PORTS and bool(parts.hostname) and parts.port != 0 and base_url.isprintable()
    except ValueError:
        fits = False
    if fits and parts.username is not None:
        raise ReelbookError(
            "An address with a name or a password in it is not taken, because addresses are shown and kept. "
            "Leave them out, and give the key as api_key."
        )
    if not fits or parts.query or parts.fragment:
        raise ReelbookError(
            f"{base_url[:200]!r} is no address of a service. It begins with http:// or https://, then comes a host, "
            "such as https://host.example/api; nothing after a ? or a # belongs to it."
        )
    # In one spelling, because a service that tells no id goes by its address, and must not be paid twice for another spelling.
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    port = "" if parts.port in (None, PORTS[parts.scheme]) else f":{parts.port}"
    path = posixpath.normpath("/" + parts.path.strip("/"))
    return f"{parts.scheme}://{host}{port}{'' if path == '/' else path}"


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or PORTS.get(parts.scheme)
