"""The hosts from which results may be downloaded: the public internet, the service's own host, and `options.file_hosts`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from ...settings import options
from ...util.public_address import is_public
from .download_body import PermanentFailure

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


async def resolve_by_system(host: str, port: int) -> list[str]:
    """All IP addresses of a host, as the operating system resolves it."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class DialledRequest:
    """The arguments of httpx for one request to one IP address of a host."""

    url: httpx.URL
    headers: dict[str, str]
    extensions: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Decides after name resolution which IP addresses may be connected to; `service` returns the service's own address."""

    service: Callable[[], str]
    resolve: Resolve = resolve_by_system

    async def resolve_requests(self, url: httpx.URL) -> list[DialledRequest]:
        """The requests to try for a URL, one for each allowed IP address; raises `PermanentFailure` for a forbidden one.

        The user has chosen the service's own host, so that is requested by name. Every other name is resolved once, here,
        and httpx gets the checked IP address: resolved again, the name could lead elsewhere.
        """
        own = (urlsplit(self.service()).hostname or "").lower()
        if url.host.lower() == own:
            return [DialledRequest(url, {}, {})]
        port = url.port or (443 if url.scheme == "https" else 80)
        addresses = await self._resolve(url.host, port)
        if not all(is_public(address) for address in addresses) and url.host.lower() not in options.file_hosts:
            trusted = await self._resolve(own, port)
            private = next((one for one in addresses if not is_public(one) and one not in trusted), None)
            if private is not None:
                raise PermanentFailure(_refusal(url.host, private))
        # Such a connection is not reused: other hosts may have the same IP address.
        headers = {"host": url.netloc.decode("ascii"), "connection": "close"}
        extensions = {"sni_hostname": url.host}
        return [DialledRequest(url.copy_with(host=address), headers, extensions) for address in addresses]

    async def _resolve(self, host: str, port: int) -> Sequence[str]:
        try:
            return await self.resolve(host, port) if host else []
        except (OSError, UnicodeError):
            return []


def _refusal(host: str, address: str) -> str:
    leads = f"{host} leads to {address}" if host != address else address
    return (
        f"{leads}, which is neither on the public internet nor the service's own host, so it was not dialled; "
        f"if it is yours, rb.options.file_hosts = [{host!r}] allows it"
    )
