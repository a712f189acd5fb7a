"""Fetching of source pictures from untrusted addresses: public ones only, checked when connecting."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from reelbook.util.data_address import DataAddressError, is_data_address, parse_data_address
from reelbook.util.public_address import is_public

from . import spec_decisions

MAX_REDIRECTS = 5
CONNECT_SECONDS = 10.0
CHUNK_BYTES = 64 * 1024
HEADERS = {"User-Agent": "reelbook", "Accept": "image/*", "Accept-Encoding": "identity", "Connection": "close"}

Resolve = Callable[[str, int], Sequence[str]]
Connect = Callable[[str, int, float], socket.socket]


class SourceError(Exception):
    """A source that could not be fetched; ends the run with `file_download_error`."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, reason)
        self.source, self.reason = source, reason

    def __str__(self) -> str:
        name = self.source if len(self.source) <= 80 else self.source[:79] + "…"
        name = "".join(character if character.isprintable() else "�" for character in name)
        verb = "read" if is_data_address(name) else "fetched"
        return f"The source {name} could not be {verb}: {self.reason}."


def decode_data_uri(address: str) -> bytes:
    """The bytes of a `data:` URI.

    >>> decode_data_uri("data:text/plain;base64,aGk=")
    b'hi'
    """
    # Checked before decoding, so that a huge URI costs nothing: base64 makes 3 bytes of 4 characters.
    if (len(address) - address.find(",") - 1) // 4 * 3 > spec_decisions.MAX_DATA_URI_BYTES:
        raise SourceError(
            address,
            f"it holds more than {spec_decisions.MAX_DATA_URI_BYTES // 1_000_000} MB; upload it as a file instead",
        )
    try:
        return parse_data_address(address)
    except DataAddressError as error:
        raise SourceError(address, f"it is a data: address {error}") from None


def system_resolve(host: str, port: int) -> list[str]:
    """All IP addresses of a host, from the system's resolver."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def system_connect(address: str, port: int, timeout: float) -> socket.socket:
    """A TCP connection to exactly this address."""
    return socket.create_connection((address, port), timeout)


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Fetches http(s) addresses; tests pass their own `resolve` and `connect`."""

    resolve: Resolve = system_resolve
    connect: Connect = system_connect
    max_bytes: int = spec_decisions.MAX_SOURCE_BYTES
    seconds: float = spec_decisions.FETCH_SECONDS
    now: Callable[[], float] = time.monotonic

    def fetch(self, source: str) -> bytes:
        """The bytes at an address; each redirect is checked like the first address."""
        deadline, address = self.now() + self.seconds, source
        for _ in range(MAX_REDIRECTS + 1):
            try:
                body, location = self._fetch_once(source, address, deadline)
                if location is None:
                    return body
                address = urljoin(address, location)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._remaining_seconds(source, deadline)  # Raises a timeout instead, if time ran out.
                raise SourceError(source, _format_reason(error)) from error
        raise SourceError(source, f"it redirects more than {MAX_REDIRECTS} times")

    def _fetch_once(self, source: str, address: str, deadline: float) -> tuple[bytes, str | None]:
        """The body at an address, or the location that it redirects to."""
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SourceError(source, "only http, https and data: addresses and file_ids of uploads are read")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with contextlib.closing(http.client.HTTPConnection(parts.hostname, port)) as connection:
            connection.sock = wire = self._connect(source, parts.hostname, port, deadline)
            with _shut_down_after(self._remaining_seconds(source, deadline), wire):
                if parts.scheme == "https":
                    connection.sock = ssl.create_default_context().wrap_socket(wire, server_hostname=parts.hostname)
                connection.request("GET", _target(parts), headers=HEADERS)
                with contextlib.closing(connection.getresponse()) as response:
                    return self._read_response(source, response, deadline)

    def _connect(self, source: str, host: str, port: int, deadline: float) -> socket.socket:
        """A connection to one of a host's addresses, all of which were checked."""
        addresses = list(dict.fromkeys(self._resolve_host(host, port, self._remaining_seconds(source, deadline))))
        # One private address among public ones is refused too, because which one is connected to is arbitrary.
        if not addresses or not all(is_public(address) for address in addresses):
            raise SourceError(source, "its address is not on the public internet")
        # Connect to the address that was checked; resolving the name again could return another one.
        for address in addresses[:-1]:
            with contextlib.suppress(OSError):
                return self.connect(address, port, min(CONNECT_SECONDS, self._remaining_seconds(source, deadline)))
        return self.connect(addresses[-1], port, min(CONNECT_SECONDS, self._remaining_seconds(source, deadline)))

    def _resolve_host(self, host: str, port: int, seconds: float) -> Sequence[str]:
        """All addresses of a host, from a thread: the system resolver has no timeout for a silent name server."""
        answer: Future[Sequence[str]] = Future()

        def ask() -> None:
            try:
                answer.set_result(self.resolve(host, port))
            except Exception as error:
                answer.set_exception(error)

        threading.Thread(target=ask, daemon=True).start()
        return answer.result(seconds)

    def _read_response(
        self, source: str, response: http.client.HTTPResponse, deadline: float
    ) -> tuple[bytes, str | None]:
        if response.status in (301, 302, 303, 307, 308):
            location = response.getheader("Location")
            if not location:
                raise SourceError(source, "it redirects to nowhere")
            return b"", location
        if response.status != 200:
            raise SourceError(source, f"the server there answered {response.status}")
        return self._read_body(source, response, deadline), None

    def _read_body(self, source: str, response: http.client.HTTPResponse, deadline: float) -> bytes:
        self._check_size(source, response.length or 0)
        parts, size = [], 0
        while chunk := response.read1(CHUNK_BYTES):
            size += len(chunk)
            self._check_size(source, size)
            parts.append(chunk)
        self._remaining_seconds(source, deadline)
        if response.length:
            raise SourceError(source, "the connection broke off before its end")
        return b"".join(parts)

    def _check_size(self, source: str, size: int) -> None:
        if size > self.max_bytes:
            raise SourceError(source, f"it is larger than {self.max_bytes / 1_000_000:g} MB")

    def _remaining_seconds(self, source: str, deadline: float) -> float:
        remaining = deadline - self.now()
        if remaining <= 0:
            raise SourceError(source, f"it took longer than {self.seconds:g} s")
        return remaining


@contextlib.contextmanager
def _shut_down_after(seconds: float, wire: socket.socket) -> Iterator[None]:
    """Shut a connection down after some seconds, whatever it receives.

    A socket's own timeout is for one read; a server that sends byte by byte would never exceed it.
    """
    with wire.dup() as handle:
        timer = threading.Timer(seconds, _shut, [handle])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _shut(wire: socket.socket) -> None:
    with contextlib.suppress(OSError):
        wire.shutdown(socket.SHUT_RDWR)


def _target(parts: SplitResult) -> str:
    """The path and query of an address, with characters that HTTP does not allow percent-encoded."""
    safe = "/%:@!$&'()*+,;=?"
    return quote(parts.path or "/", safe) + (f"?{quote(parts.query, safe)}" if parts.query else "")


def _format_reason(error: Exception) -> str:
    match error:
        case TimeoutError():
            return "the server there did not answer in time"
        case socket.gaierror():
            return "its host has no address"
        case ssl.SSLError():
            return "its certificate could not be verified, or the server there does not speak TLS"
        case http.client.IncompleteRead():
            return "the connection broke off before its end"
        case ConnectionError():
            return "the connection was refused or broke off"
        case ValueError() | http.client.InvalidURL():
            return "it is not a usable address"
        case http.client.HTTPException():
            return "the server there does not speak HTTP as we know it"
    return "the server there could not be reached"
