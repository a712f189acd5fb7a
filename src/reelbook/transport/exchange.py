"""One exchange with a service: what it answered, or why it did not, and never the key.

The only module of the conversation that knows httpx. It uses httpx's transports and not its client: each has one
connection, because the cost of a request in httpx grows with the number of connections beside it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import httpx

from .._version import __version__
from .api_key import Key
from .paid_request import Departure
from .responses import Answer, Lost

T = TypeVar("T")

MAX_BYTES = 256 * 1024 * 1024
"""The largest answer that is read; results can carry their media inline."""
MAX_STATUS_BYTES = 8 * 1024 * 1024
"""The largest status that is read: so much JSON holds everything up for a tenth of a second."""
MAX_REFUSAL_BYTES = 1024 * 1024
KEPT_HEADERS = ("content-type", "date", "retry-after", "x-request-id")
KEPT_SECONDS = 30.0
HEADERS = {
    "accept": "application/json, */*;q=0.5",
    "accept-encoding": "gzip, deflate",
    "user-agent": f"reelbook/{__version__}",
}


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to send."""

    content: bytes
    name: str
    content_type: str


@dataclass(frozen=True, slots=True)
class Call:
    """What is sent: all of it, except the key."""

    method: str
    url: str
    content: bytes | None = None
    upload: Upload | None = None
    headers: Mapping[str, str] | None = None
    most: int | None = None
    """How many bytes of an answer are read, where that is less than of any."""


class _Unseen(logging.Filter):
    """Takes keys out of the HTTP library's own log: asked for everything, it writes down all headers of an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: weakref.WeakSet[Key] = weakref.WeakSet()

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        for key in list(self.keys):
            text = key.scrubbed(text)
        record.msg, record.args = text, None
        return True


_unseen = _Unseen()
logging.getLogger("httpcore.http11").addFilter(_unseen)


class Wire:
    """The connections to one service. They are kept for free calls; a paid one and a stream get their own."""

    def __init__(self, key: Key, connect_seconds: float) -> None:
        self._key, self._connect_seconds = key, connect_seconds
        self._idle: list[httpx.AsyncHTTPTransport] = []
        _unseen.keys.add(key)
        self._closed = False
        self.calls_made = 0

    async def close(self) -> None:
        """Hang up what is kept; what is in use is hung up at its end."""
        self._closed = True
        idle, self._idle = self._idle, []
        for transport in idle:
            await transport.aclose()

    async def free(self, call: Call, seconds: float) -> Answer | Lost:
        """An exchange that may share its connection with others, before and after."""
        # The one used last is warm, and the others may fall asleep.
        transport = self._idle.pop() if self._idle else _transport(kept=1)
        healthy = False
        try:
            got = await self._exchanged(transport, call, asyncio.timeout(seconds), seconds)
            healthy = isinstance(got, Answer)
            return got
        finally:
            # A request that was broken off can leave its connection in any state.
            if healthy and not self._closed:
                self._idle.append(transport)
            else:
                await transport.aclose()

    async def paid(self, call: Call, seconds: float, departure: Departure) -> Answer | Lost:
        """An exchange on a connection of its own: one that was kept may have gone stale, and stale ones lose answers."""
        limit = asyncio.timeout(seconds)

        async def trace(event: str, info: Mapping[str, Any]) -> None:
            if event.endswith("send_request_headers.started"):
                # What is written down now must not be broken off by the deadline, which begins when the bytes leave.
                limit.reschedule(None)
                await departure.now()
                limit.reschedule(asyncio.get_running_loop().time() + seconds)

        transport = _transport(kept=0)
        try:
            return await self._exchanged(transport, call, limit, seconds, trace=trace, departure=departure)
        finally:
            await transport.aclose()

    async def stream(self, call: Call, seconds: float, silence: float) -> AsyncGenerator[Answer | bytes | Lost, None]:
        """The bytes of an endless answer as they come; a refusal or a loss instead, and then nothing more."""
        self.calls_made += 1
        transport = _transport(kept=0)

        async def opened() -> httpx.Response:
            async with asyncio.timeout(seconds):
                return await transport.handle_async_request(self._request(call))

        async def read(response: httpx.Response) -> Answer:
            async with asyncio.timeout(seconds):
                return await _read(response)

        async def next_chunk(chunks: AsyncIterator[bytes]) -> bytes:
            async with asyncio.timeout(silence):
                return await anext(chunks, b"")

        try:
            response = await _quietly(opened(), seconds)
            if isinstance(response, Lost):
                yield response
                return
            if response.status_code != 200:
                yield await _quietly(read(response), seconds)
                return
            chunks = response.aiter_bytes()
            while chunk := await _quietly(next_chunk(chunks), silence):
                yield chunk
                if isinstance(chunk, Lost):
                    return
        finally:
            await transport.aclose()

    async def _exchanged(
        self,
        transport: httpx.AsyncHTTPTransport,
        call: Call,
        limit: asyncio.Timeout,
        seconds: float,
        *,
        trace: Any = None,
        departure: Departure | None = None,
    ) -> Answer | Lost:
        """One request and its answer, within one deadline: httpx's own limits are for each read, and can add up."""
        self.calls_made += 1

        async def work() -> Answer:
            async with limit:
                return await _read(await transport.handle_async_request(self._request(call, trace)), call.most)

        return await _quietly(work(), seconds, departure)

    def _request(self, call: Call, trace: Any = None) -> httpx.Request:
        extensions: dict[str, Any] = {"timeout": {"connect": self._connect_seconds}}
        if trace is not None:
            extensions["trace"] = trace
        upload = call.upload
        request = httpx.Request(
            call.method,
            call.url,
            content=call.content,
            files={"file": (upload.name, upload.content, upload.content_type)} if upload else None,
            headers={**HEADERS, **({} if upload else {"content-type": "application/json"}), **(call.headers or {})},
            extensions=extensions,
        )
        self._key.sign(request.headers)
        return request


class _TooLarge(Exception):
    """An answer that would fill the memory."""


async def _quietly(work: Coroutine[Any, Any, T], seconds: float, departure: Departure | None = None) -> T | Lost:
    """What some work with httpx gives, or the reason why it gives nothing.

    No exception comes out with httpx's frames in its traceback or behind it: their variables hold the headers.
    """
    try:
        return await work
    except BaseException as error:
        caught = error.with_traceback(None)
    if departure is not None and departure.failure is not None:
        failure, trace = departure.failure
        raise failure.with_traceback(trace)
    if isinstance(caught, Exception):
        left = departure.left if departure is not None else True
        return Lost(_reason(caught, seconds), left, isinstance(caught, _TooLarge))
    caught.__cause__ = caught.__context__ = None
    raise caught


async def _read(response: httpx.Response, most: int | None = None) -> Answer:
    """The whole of an answer; of a refusal as much as there is, because its status alone says enough."""
    most = (most or MAX_BYTES) if response.is_success else MAX_REFUSAL_BYTES
    chunks: list[bytes] = []
    try:
        async for chunk in response.aiter_bytes():
            chunks.append(chunk)
            most -= len(chunk)
            if most < 0:
                raise _TooLarge
    except (httpx.HTTPError, _TooLarge):
        if response.is_success:
            raise
    finally:
        await response.aclose()
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    return Answer(response.status_code, headers, b"".join(chunks))


def _reason(error: Exception, seconds: float) -> str:
    """Why no answer came, in our own words: httpx's can repeat what was sent."""
    match error:
        case httpx.ConnectTimeout():
            return "no connection in time"
        case TimeoutError() | httpx.TimeoutException():
            return f"no answer within {seconds:.3g} s"
        case _TooLarge():
            return "its answer is larger than is read"
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return "that is no address of a service"
        case httpx.ConnectError() if any(isinstance(cause, socket.gaierror) for cause in _causes(error)):
            return "there is no host of that name"
        case httpx.ConnectError() if any(isinstance(cause, ssl.SSLError) for cause in _causes(error)):
            return "no encrypted connection could be made: its certificate or its protocol is not as it should be"
        case httpx.ConnectError():
            return "the connection was refused"
        case httpx.RemoteProtocolError():
            return "it hung up before its answer was whole"
        case httpx.DecodingError():
            return "its answer could not be unpacked"
        case httpx.NetworkError() | OSError():
            return "the connection broke"
    return type(error).__name__


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            yield from error.exceptions
        error = error.__cause__ or error.__context__


def _transport(*, kept: int) -> httpx.AsyncHTTPTransport:
    # No upper limit in httpx, so nothing ever waits inside it: whoever holds a transport makes one request at a time.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=kept, keepalive_expiry=KEPT_SECONDS)
    return httpx.AsyncHTTPTransport(verify=_trusted(), limits=limits, trust_env=False)


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates to trust, read once: that takes longer than a whole call."""
    return httpx.create_ssl_context(trust_env=False)
