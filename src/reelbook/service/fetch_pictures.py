"""Source pictures, fetched from addresses that strangers wrote: public ones only, checked where we really connect."""

from __future__ import annotations

import binascii
import contextlib
import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, unquote_to_bytes, urljoin, urlsplit

from ..util.public_address import is_public
from . import spec_decisions

MAX_REDIRECTS = 5
DIAL_SECONDS = 10.0
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
        name = "".join(character if character.isprintable() else "�" for character in name)
        verb = "read" if name.lower().startswith("data:") else "fetched"
        return f"The source {name} could not be {verb}: {self.reason}."


def data_uri(address: str) -> bytes:
    """The bytes inside a `data:` address.

    >>> data_uri("data:text/plain;base64,aGk=")
    b'hi'
    """
    head, comma, body = address.partition(",")
    if not comma:
        raise SourceError(address, "a data: address needs a comma before its data")
    # Judged before decoding, so that a huge one costs nothing: base64 makes 3 bytes of 4 characters.
    if len(body) // 4 * 3 > spec_decisions.MAX_DATA_URI:
        raise SourceError(
            address, f"it holds more than {spec_decisions.MAX_DATA_URI // 1_000_000} MB; upload it as a file instead"
        )
    if not head.lower().endswith(";base64"):
        return unquote_to_bytes(body)
    for spelling in (str.encode, _respelt):
        with contextlib.suppress(ValueError):
            return binascii.a2b_base64(spelling(body), strict_mode=True)
    raise SourceError(address, "its base64 data is not well-formed")


def _respelt(body: str) -> bytes:
    """Base64 as the book has it: some writers escape letters, break lines or leave the padding out, which harms nobody."""
    plain = re.sub(rb"\s", b"", unquote_to_bytes(body)).translate(bytes.maketrans(b"-_", b"+/"))
    return plain + b"=" * (-len(plain) % 4)


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
    most: int = spec_decisions.MAX_SOURCE
    seconds: float = spec_decisions.FETCH_SECONDS
    now: Callable[[], float] = time.monotonic

    def fetch(self, source: str) -> bytes:
        """The bytes at an address, following redirects, each checked like the first."""
        deadline, address = self.now() + self.seconds, source
        for _ in range(MAX_REDIRECTS + 1):
            try:
                body, location = self._once(source, address, deadline)
                if location is None:
                    return body
                address = urljoin(address, location)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._left(source, deadline)  # Says that time ran out, if that is why.
                raise SourceError(source, _reason(error)) from error
        raise SourceError(source, f"it redirects more than {MAX_REDIRECTS} times")

    def _once(self, source: str, address: str, deadline: float) -> tuple[bytes, str | None]:
        """What is at an address: the bytes, or where it sends us on to."""
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SourceError(source, "only http, https and data: addresses and file_ids of uploads are read")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with contextlib.closing(http.client.HTTPConnection(parts.hostname, port)) as connection:
            connection.sock = wire = self._dialled(source, parts.hostname, port, deadline)
            with _hung_up_after(self._left(source, deadline), wire):
                if parts.scheme == "https":
                    connection.sock = ssl.create_default_context().wrap_socket(wire, server_hostname=parts.hostname)
                connection.request("GET", _target(parts), headers=HEADERS)
                with contextlib.closing(connection.getresponse()) as response:
                    return self._answered(source, response, deadline)

    def _dialled(self, source: str, host: str, port: int, deadline: float) -> socket.socket:
        """A connection to one of a host's addresses, all of which were checked."""
        addresses = list(dict.fromkeys(self._resolved(host, port, self._left(source, deadline))))
        # One private address among public ones is refused too: which of them would be dialled is chance.
        if not addresses or not all(is_public(address) for address in addresses):
            raise SourceError(source, "its address is not on the public internet")
        # The socket goes to the address that was checked; asking the name again could give another one.
        for address in addresses[:-1]:
            with contextlib.suppress(OSError):
                return self.dial(address, port, min(DIAL_SECONDS, self._left(source, deadline)))
        return self.dial(addresses[-1], port, min(DIAL_SECONDS, self._left(source, deadline)))

    def _resolved(self, host: str, port: int, seconds: float) -> Sequence[str]:
        """Every address of a host, from a thread: the system waits for a silent name server as long as it likes."""
        answer: Future[Sequence[str]] = Future()

        def ask() -> None:
            try:
                answer.set_result(self.resolve(host, port))
            except Exception as error:
                answer.set_exception(error)

        threading.Thread(target=ask, daemon=True).start()
        return answer.result(seconds)

    def _answered(self, source: str, response: http.client.HTTPResponse, deadline: float) -> tuple[bytes, str | None]:
        if response.status in (301, 302, 303, 307, 308):
            location = response.getheader("Location")
            if not location:
                raise SourceError(source, "it redirects to nowhere")
            return b"", location
        if response.status != 200:
            raise SourceError(source, f"the server there answered {response.status}")
        return self._body(source, response, deadline), None

    def _body(self, source: str, response: http.client.HTTPResponse, deadline: float) -> bytes:
        self._fits(source, response.length or 0)
        parts, size = [], 0
        while chunk := response.read1(CHUNK):
            size += len(chunk)
            self._fits(source, size)
            parts.append(chunk)
        self._left(source, deadline)
        if response.length:
            raise SourceError(source, "the connection broke off before its end")
        return b"".join(parts)

    def _fits(self, source: str, size: int) -> None:
        if size > self.most:
            raise SourceError(source, f"it is larger than {self.most / 1_000_000:g} MB")

    def _left(self, source: str, deadline: float) -> float:
        left = deadline - self.now()
        if left <= 0:
            raise SourceError(source, f"it took longer than {self.seconds:g} s")
        return left


@contextlib.contextmanager
def _hung_up_after(seconds: float, wire: socket.socket) -> Iterator[None]:
    """A connection that ends in time, whatever is said on it.

    A socket's own timeout is for one read; a server that drips byte by byte would never meet it.
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
    """The path and query of an address, with what people type and HTTP does not take in escapes."""
    safe = "/%:@!$&'()*+,;=?"
    return quote(parts.path or "/", safe) + (f"?{quote(parts.query, safe)}" if parts.query else "")


def _reason(error: Exception) -> str:
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
