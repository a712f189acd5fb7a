"""Fetching of source pictures from untrusted addresses: public ones only, checked when connecting."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx

from . import spec_decisions
from .engines.protocol import SourceError

MAX_REDIRECTS = 5
CONNECT_SECONDS = 10.0
HEADERS = {"User-Agent": "reelbook", "Accept": "image/*", "Accept-Encoding": "identity", "Connection": "close"}

NOT_PUBLIC = tuple(
    ipaddress.ip_network(text)
    for text in (
        "192.0.0.0/24",  # Protocol assignments; Python treats some as global, and clouds serve credentials there.
        "192.88.99.0/24",  # 6to4 relays.
        "168.63.129.16/32",  # A public address that is the virtual machine's host in one large cloud.
        "2001::/23",  # Teredo and similar, which embed IPv4 addresses.
        "2002::/16",  # 6to4, the same.
        "3fff::/20",  # Documentation; newer than some supported Pythons.
    )
)
"""Networks that `ipaddress` wrongly treats as global, or that are tunnelled to others."""


def system_resolve(host: str, port: int) -> list[str]:
    """All IP addresses of a host, from the system's resolver."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def system_transport() -> httpx.AsyncBaseTransport:
    """Connections over the network, without proxies, which trust the certificates that the system trusts."""
    return httpx.AsyncHTTPTransport(verify=ssl.create_default_context(), trust_env=False)


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Fetches http(s) addresses; tests pass their own `resolve` and `transport`."""

    resolve: Callable[[str, int], Sequence[str]] = system_resolve
    transport: Callable[[], httpx.AsyncBaseTransport] = system_transport
    max_bytes: int = spec_decisions.MAX_SOURCE_BYTES
    seconds: float = spec_decisions.FETCH_SECONDS

    def fetch(self, source: str) -> bytes:
        """The bytes at an address; each redirect is checked like the first address."""
        try:
            return asyncio.run(self._fetch(source))
        except (OSError, ValueError, httpx.HTTPError, httpx.InvalidURL) as error:
            late = f"it took longer than {self.seconds:g} s"
            reason = late if isinstance(error, TimeoutError) else _format_reason(error)
        except _Refused as error:
            reason = str(error)
        raise SourceError(source, reason)

    async def _fetch(self, source: str) -> bytes:
        url = httpx.URL(source)
        async with asyncio.timeout(self.seconds), self.transport() as transport:
            for _ in range(MAX_REDIRECTS + 1):
                async with contextlib.aclosing(await self._request(transport, url)) as response:
                    if response.status_code in (301, 302, 303, 307, 308):
                        if not (location := response.headers.get("location")):
                            raise _Refused("it redirects to nowhere")
                        url = url.join(location)
                    elif response.status_code == 200:
                        return await self._read_body(response)
                    else:
                        raise _Refused(f"the server there answered {response.status_code}")
        raise _Refused(f"it redirects more than {MAX_REDIRECTS} times")

    async def _request(self, transport: httpx.AsyncBaseTransport, url: httpx.URL) -> httpx.Response:
        """The answer of one of a host's addresses, all of which were checked."""
        host = url.raw_host.decode("ascii")
        if url.scheme not in ("http", "https") or not host:
            raise _Refused("only http, https and data: addresses and file_ids of uploads are read")
        port = url.port or (443 if url.scheme == "https" else 80)
        if port > 65_535:
            raise httpx.InvalidURL("there is no such port")
        addresses = list(dict.fromkeys(await asyncio.to_thread(self.resolve, host, port)))
        # One private address among public ones is refused too, because which one is connected to is arbitrary.
        if not addresses or not all(map(is_public, addresses)):
            raise _Refused("its address is not on the public internet")
        headers = {**HEADERS, "Host": url.netloc.decode("ascii")}
        extensions = {"sni_hostname": host, "timeout": {"connect": CONNECT_SECONDS}}
        while True:
            # Connect to the address that was checked; resolving the name again could return another one.
            target = url.copy_with(host=addresses.pop(0), userinfo=b"", fragment=None)
            request = httpx.Request("GET", target, headers=headers, extensions=extensions)
            try:
                return await transport.handle_async_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if not addresses:
                    raise

    async def _read_body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > self.max_bytes:
                raise _Refused(f"it is larger than {self.max_bytes / 1_000_000:g} MB")
        return bytes(body)


class _Refused(Exception):
    """A source that is not fetched any further, with the reason."""


def _format_reason(error: Exception) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return "its certificate could not be verified, or the server there does not speak TLS"
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, socket.gaierror):
        return "its host has no address"
    if isinstance(error, (ValueError, httpx.InvalidURL)):
        return "it is not a usable address"
    return "the server there could not be reached, or its answer broke off"


def is_public(address: str) -> bool:
    """Whether an IP address is an ordinary address of the public internet, by allow-list.

    `ipaddress.is_global` alone accepts multicast, and tunnels into private networks.

    >>> is_public("93.184.216.34"), is_public("10.0.0.1"), is_public("64:ff9b::a00:1"), is_public("224.0.0.1")
    (True, False, False, False)
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if not ip.is_global or ip.is_multicast or ip.is_reserved or any(ip in network for network in NOT_PUBLIC):
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return True
    # 2000::/3 is all of the public IPv6 internet. A zone marks link-local addresses; ISATAP embeds IPv4.
    is_tunnel = int(ip) >> 32 & 0xFDFFFFFF == 0x5EFE
    return ip in ipaddress.ip_network("2000::/3") and ip.scope_id is None and not is_tunnel
