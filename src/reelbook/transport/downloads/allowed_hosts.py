"""Where a result may be fetched from: the public internet, the service's own host, and hosts that the user has named."""

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
from .download_body import Hopeless

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


async def system_resolve(host: str, port: int) -> list[str]:
    """Every address of a host, as this system knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class Request:
    """What to hand to httpx for one request to one address of a host."""

    url: httpx.URL
    headers: dict[str, str]
    extensions: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Hosts:
    """Decides after resolution which addresses may be dialled; `service` tells the service's own address."""

    service: Callable[[], str]
    resolve: Resolve = system_resolve

    async def requests(self, url: httpx.URL) -> list[Request]:
        """The requests to try for a URL, one for each checked address; `Hopeless` where none may be dialled.

        A service runs where the user said, so its host is asked by name. Every other name is resolved once, here, and httpx is given
        the address that was checked: asked again, the name could lead elsewhere.
        """
        own = (urlsplit(self.service()).hostname or "").lower()
        if url.host.lower() == own:
            return [Request(url, {}, {})]
        port = url.port or (443 if url.scheme == "https" else 80)
        addresses = await self._addresses(url.host, port)
        if not all(is_public(address) for address in addresses) and url.host.lower() not in options.file_hosts:
            trusted = await self._addresses(own, port)
            private = next((one for one in addresses if not is_public(one) and one not in trusted), None)
            if private is not None:
                raise Hopeless(_refusal(url.host, private))
        # Such a connection is not used again: the same address may be another host's, too.
        headers = {"host": url.netloc.decode("ascii"), "connection": "close"}
        extensions = {"sni_hostname": url.host}
        return [Request(url.copy_with(host=address), headers, extensions) for address in addresses]

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
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
