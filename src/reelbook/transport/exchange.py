"""One HTTP request and its response, or the reason why there is none; neither contains the key.

The only module that calls a service through httpx. It uses httpx's transports and not its client: each has one
connection, because the cost of a request in httpx grows with the number of connections in its pool.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import Any, TypeVar

import httpx

from .._version import __version__
from .answers import ServiceAnswer
from .api_key import Key

T = TypeVar("T")

MAX_BYTES = 256 * 1024 * 1024
"""The largest response that is accepted; results can contain their media inline."""
MAX_REFUSAL_BYTES = 1024 * 1024
READ_HEADERS = ("content-type", "date", "retry-after", "x-request-id")
KEEP_ALIVE_SECONDS = 30.0
HEADERS = {
    "accept": "application/json, */*;q=0.5",
    "accept-encoding": "gzip, deflate",
    "user-agent": f"reelbook/{__version__}",
}

BeforeSend = Callable[[], Awaitable[None]]

# At debug level httpcore logs all headers of a response, in which a service can repeat the key.
logging.getLogger("httpcore.http11").addFilter(lambda record: "headers" not in record.getMessage())


@dataclass(frozen=True, slots=True)
class Call:
    """A request without the key."""

    method: str
    url: str
    content: bytes | None = None
    upload: tuple[str, bytes, str] | None = None
    """Name, content and content type of a file to send."""
    headers: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """A request without a response. Not an exception: httpx's frames contain the headers, and with them the key."""

    reason: str
    may_be_sent: bool = True
    """Whether a byte of the request may have left."""


class SendState:
    """The progress of one attempt to send a paid request."""

    def __init__(self, before_send: BeforeSend) -> None:
        self._before_send = before_send
        self.may_be_sent = False
        """Whether bytes may have left, so that the request may have been received."""
        self.failure: tuple[BaseException, TracebackType | None] | None = None
        """The exception of `before_send`, which kept the request from being sent."""

    async def mark_sending(self) -> None:
        """Call `before_send`, just before the first byte leaves; if that fails, nothing is sent."""
        try:
            await self._before_send()
        except BaseException as error:
            # With the frames from here inwards only: the outer frames are httpx's.
            self.failure = error, error.__traceback__
            raise
        self.may_be_sent = True


class ConnectionPool:
    """The connections to one service: reused for free calls, a new one for each paid request."""

    def __init__(self, key: Key, connect_seconds: float) -> None:
        self._key, self._connect_seconds = key, connect_seconds
        self._idle: list[httpx.AsyncHTTPTransport] = []
        self._closed = False
        self.calls_made = 0

    async def close(self) -> None:
        """Close the idle connections; those in use are closed when their request ends."""
        self._closed = True
        idle, self._idle = self._idle, []
        for transport in idle:
            await transport.aclose()

    async def free(self, call: Call, seconds: float) -> ServiceAnswer | NoAnswer:
        """Send a free request, on a connection that is reused."""
        # The most recently used one, so that the others can expire.
        transport = self._idle.pop() if self._idle else _transport(max_idle=1)
        healthy = False
        try:
            got = await self._send(transport, call, asyncio.timeout(seconds), seconds)
            healthy = isinstance(got, ServiceAnswer)
            return got
        finally:
            # A cancelled request can leave its connection in any state.
            if healthy and not self._closed:
                self._idle.append(transport)
            else:
                await transport.aclose()

    async def paid(self, call: Call, seconds: float, state: SendState) -> ServiceAnswer | NoAnswer:
        """Send a paid request, on a new connection: a reused one may be stale, and stale ones lose responses."""
        limit = asyncio.timeout(seconds)

        async def trace(event: str, info: Mapping[str, Any]) -> None:
            if event.endswith("send_request_headers.started"):
                # The ledger write must not be cut off by the deadline, which begins when the bytes leave.
                limit.reschedule(None)
                await state.mark_sending()
                limit.reschedule(asyncio.get_running_loop().time() + seconds)

        transport = _transport(max_idle=0)
        try:
            return await self._send(transport, call, limit, seconds, {"trace": trace}, state)
        finally:
            await transport.aclose()

    async def _send(
        self,
        transport: httpx.AsyncHTTPTransport,
        call: Call,
        limit: asyncio.Timeout,
        seconds: float,
        extensions: Mapping[str, Any] = {},
        state: SendState | None = None,
    ) -> ServiceAnswer | NoAnswer:
        """Send one request and read its response within one deadline; httpx's own timeouts are per read, and add up."""
        self.calls_made += 1

        async def work() -> ServiceAnswer:
            async with limit:
                return await _read(await transport.handle_async_request(self._request(call, extensions)))

        return await _without_httpx_frames(work(), seconds, state)

    def _request(self, call: Call, extensions: Mapping[str, Any]) -> httpx.Request:
        request = httpx.Request(
            call.method,
            call.url,
            content=call.content,
            files={"file": call.upload} if call.upload else None,
            headers={
                **HEADERS,
                **({} if call.upload else {"content-type": "application/json"}),
                **(call.headers or {}),
            },
            extensions={"timeout": {"connect": self._connect_seconds}, **extensions},
        )
        self._key.sign(request.headers)
        return request


class _TooLarge(Exception):
    """A response that exceeds the size limit."""


async def _without_httpx_frames(
    work: Coroutine[Any, Any, T], seconds: float, state: SendState | None = None
) -> T | NoAnswer:
    """The result of a coroutine that uses httpx, or the reason why it failed.

    No exception is raised with httpx's frames in its traceback or its context: their variables contain the headers.
    """
    try:
        return await work
    except BaseException as error:
        caught = error.with_traceback(None)
    if state is not None and state.failure is not None:
        failure, trace = state.failure
        raise failure.with_traceback(trace)
    if isinstance(caught, Exception):
        return NoAnswer(_reason(caught, seconds), state is None or state.may_be_sent)
    caught.__cause__ = caught.__context__ = None
    raise caught


async def _read(response: httpx.Response) -> ServiceAnswer:
    """Read a complete response; of a refusal as much as arrives, because its status alone is sufficient."""
    remaining = MAX_BYTES if response.is_success else MAX_REFUSAL_BYTES
    chunks: list[bytes] = []
    try:
        async for chunk in response.aiter_bytes():
            chunks.append(chunk)
            remaining -= len(chunk)
            if remaining < 0:
                raise _TooLarge
    except (httpx.HTTPError, _TooLarge):
        if response.is_success:
            raise
    finally:
        await response.aclose()
    headers = {name: response.headers[name] for name in READ_HEADERS if name in response.headers}
    return ServiceAnswer(response.status_code, headers, b"".join(chunks))


def _reason(error: Exception, seconds: float) -> str:
    """Why there is no response, in Reelbook's words: httpx's messages can repeat what was sent."""
    match error:
        case httpx.ConnectTimeout():
            return "no connection in time"
        case TimeoutError() | httpx.TimeoutException():
            return f"no answer within {seconds:.3g} s"
        case _TooLarge():
            return "its answer is larger than is read"
        case httpx.ConnectError() if any(isinstance(cause, socket.gaierror) for cause in _causes(error)):
            return "there is no host of that name"
        case httpx.ConnectError() if any(isinstance(cause, ssl.SSLError) for cause in _causes(error)):
            return "no encrypted connection could be made: its certificate or its protocol is not as it should be"
        case httpx.ConnectError():
            return "the connection was refused"
        case httpx.RemoteProtocolError():
            return "it hung up before its answer was whole"
        case httpx.NetworkError() | OSError():
            return "the connection broke"
    return type(error).__name__


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            yield from error.exceptions
        error = error.__cause__ or error.__context__


def _transport(*, max_idle: int) -> httpx.AsyncHTTPTransport:
    # No connection limit in httpx, so nothing ever waits inside it: each transport sends one request at a time.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=max_idle, keepalive_expiry=KEEP_ALIVE_SECONDS)
    return httpx.AsyncHTTPTransport(verify=trusted_certificates(), limits=limits, trust_env=False)


@cache
def trusted_certificates() -> ssl.SSLContext:
    """The certificate authorities that calls and downloads trust, loaded once: that takes longer than a complete call."""
    return httpx.create_ssl_context(trust_env=False)
