"""Source pictures, fetched from addresses that strangers wrote: public ones only, checked where we really connect."""

from __future__ import annotations

import base64
import binascii
import contextlib
import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes, urljoin, urlsplit

from . import choices

MOST_REDIRECTS = 5
CHUNK = 64 * 1024
HEADERS = {"User-Agent": "reelbook", "Accept": "image/*", "Accept-Encoding": "identity", "Connection": "close"}

Resolve = Callable[[str, int], Sequence[str]]
Dial = Callable[[str, int, float], socket.socket]


class SourceError(Exception):
    """A source that could not be fetched; ends the run with `file_download_error`."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, reason)
        self.source, self.reason = source, reason

    def __str__(self) -> str:
        name = self.source if len(self.source) <= 80 else self.source[:79] + "…"
        return f"The source {name} could not be fetched: {self.reason}."


def data_uri(address: str) -> bytes:
    """The bytes inside a `data:` address.

    >>> data_uri("data:text/plain;base64,aGk=")
    b'hi'
    """
    head, comma, body = address.partition(",")
    if not comma:
        raise SourceError(address, "a data: address needs a comma before its data")
    # Judged before decoding, so that a huge one costs nothing: base64 makes 3 bytes of 4 characters.
    if len(body) // 4 * 3 > choices.MOST_DATA_URI:
        raise SourceError(
            address, f"it holds more than {choices.MOST_DATA_URI // 1_000_000} MB; upload it as a file instead"
        )
    if not head.lower().endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        # Some writers percent-encode "+" and "/" or leave the padding out; none of that is ambiguous.
        plain = re.sub(rb"\s", b"", unquote_to_bytes(body)).translate(bytes.maketrans(b"-_", b"+/"))
        return base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise SourceError(address, "its base64 data is not well-formed") from None


def is_public(address: str) -> bool:
    """Whether an IP address may be connected to: an ordinary one of the public internet, by allow-list.

    `ipaddress.is_global` alone says yes to multicast and to tunnels that lead back into private networks.

    >>> is_public("93.184.216.34"), is_public("10.0.0.1"), is_public("64:ff9b::a00:1"), is_public("224.0.0.1")
    (True, False, False, False)
    """
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if not ip.is_global or ip.is_multicast or ip.is_reserved or ip.is_unspecified:
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return ip not in ipaddress.ip_network("192.88.99.0/24")
    # 2000::/3 is all of the public IPv6 internet; cut out what maps to IPv4 (6to4, Teredo).
    tunnels = (ipaddress.ip_network("2001::/23"), ipaddress.ip_network("2002::/16"))
    return ip in ipaddress.ip_network("2000::/3") and not any(ip in tunnel for tunnel in tunnels)


def system_resolve(host: str, port: int) -> list[str]:
    """Every address of a name, as the system knows them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def system_dial(address: str, port: int, timeout: float) -> socket.socket:
    """A connection to exactly this address."""
    return socket.create_connection((address, port), timeout)


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Fetches http(s) addresses; tests hand in a resolver and a dialler of their own."""

    resolve: Resolve = system_resolve
    dial: Dial = system_dial
    most: int = choices.MOST_SOURCE
    seconds: float = choices.FETCH_SECONDS
    now: Callable[[], float] = time.monotonic

    def fetch(self, source: str) -> bytes:
        """The bytes at an address, following redirects, each checked like the first."""
        deadline, address = self.now() + self.seconds, source
        for _ in range(MOST_REDIRECTS + 1):
            try:
                body, location = self._once(source, address, deadline)
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise SourceError(source, _reason(error)) from error
            if location is None:
                return body
            address = urljoin(address, location)
        raise SourceError(source, f"it redirects more than {MOST_REDIRECTS} times")

    def _once(self, source: str, address: str, deadline: float) -> tuple[bytes, str | None]:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SourceError(source, "only http, https and data: addresses and file_ids of uploads are read")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        connection = self._connected(source, parts.scheme, parts.hostname, port, deadline)
        wire = connection.sock
        # A socket's timeout is for one read; a server that drips byte by byte would never meet it.
        hang_up = threading.Timer(self._left(source, deadline), _shut, [wire])
        hang_up.daemon = True
        hang_up.start()
        try:
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("GET", path, headers=HEADERS)
            response = connection.getresponse()
            if response.status in (301, 302, 303, 307, 308):
                location = response.getheader("Location")
                if not location:
                    raise SourceError(source, "it redirects to nowhere")
                return b"", location
            if response.status != 200:
                raise SourceError(source, f"the server there answered {response.status}")
            return self._body(source, response, deadline), None
        except (OSError, http.client.HTTPException):
            self._left(source, deadline)  # Says that time ran out, if that is why.
            raise
        finally:
            hang_up.cancel()
            connection.close()

    def _connected(self, source: str, scheme: str, host: str, port: int, deadline: float) -> http.client.HTTPConnection:
        addresses = list(self.resolve(host, port))
        # One private address among public ones is refused too: which of them would be dialled is chance.
        if not addresses or not all(is_public(address) for address in addresses):
            raise SourceError(source, "its address is not on the public internet")
        # The socket goes to the address that was checked; asking the name again could give another one.
        wire = self.dial(addresses[0], port, self._left(source, deadline))
        connection = http.client.HTTPConnection(host, port)
        connection.sock = (
            ssl.create_default_context().wrap_socket(wire, server_hostname=host) if scheme == "https" else wire
        )
        return connection

    def _body(self, source: str, response: http.client.HTTPResponse, deadline: float) -> bytes:
        parts, size = [], 0
        while chunk := response.read1(CHUNK):
            size += len(chunk)
            if size > self.most:
                raise SourceError(source, f"it is larger than {self.most // 1_000_000} MB")
            parts.append(chunk)
        self._left(source, deadline)
        if response.length:
            raise SourceError(source, "the connection broke off before its end")
        return b"".join(parts)

    def _left(self, source: str, deadline: float) -> float:
        left = deadline - self.now()
        if left <= 0:
            raise SourceError(source, f"it took longer than {self.seconds:g} s")
        return left


def _shut(wire: socket.socket) -> None:
    with contextlib.suppress(OSError):
        wire.shutdown(socket.SHUT_RDWR)


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "the server there did not answer in time"
    if isinstance(error, socket.gaierror):
        return "its host has no address"
    if isinstance(error, ssl.SSLError):
        return "its certificate could not be verified"
    if isinstance(error, ConnectionError):
        return "the connection was refused or broke off"
    return "it is not a usable address" if isinstance(error, ValueError) else "the server there could not be reached"
