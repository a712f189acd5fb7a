"""Requests to one service within deadlines: free ones retried, paid ones sent once; failures raise `ReelbookError`.

The only module that calls a service through httpx. Neither a response nor an error contains the key.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Any, Generic, TypeVar

import httpx

from .._version import __version__
from ..errors import ReelbookError, ServiceError, UncertainRun, Unreachable
from .answers import (
    ServiceAnswer,
    is_definite_refusal,
    parse_json,
    parse_refusal,
    summarise,
)
from .api_key import Key
from .retries import RetryPolicy, get_pause, is_temporary
from .service_address import Address

__all__ = ["Http", "RetryPolicy"]

T = TypeVar("T")

MAX_FREE_CALLS = 8
"""Concurrent free calls."""
MAX_PAID, MAX_PAID_REPEATABLE = 4, 32
"""Concurrent paid requests: few without an idempotency key, where each lost response may be lost money."""
DRAIN_SECONDS = 10.0
GATEWAY_REFUSALS = frozenset({401, 402, 403, 429})
"""Refusals that can come from a gateway, before the service checks whether it already knows the request."""
MAX_BYTES = 256 * 1024 * 1024
"""The largest response that is accepted; results can contain their media inline."""
MAX_REFUSAL_BYTES = 1024 * 1024
READ_HEADERS = ("content-type", "retry-after", "x-request-id")
KEEP_ALIVE_SECONDS = 30.0
HEADERS = {
    "accept": "application/json, */*;q=0.5",
    "accept-encoding": "gzip, deflate",
    "user-agent": f"reelbook/{__version__}",
}

BeforeSend = Callable[[], Awaitable[None]]

# At debug level httpcore logs all headers of a response, in which a service can repeat the key.
logging.getLogger("httpcore.http11").addFilter(lambda record: "headers" not in record.getMessage())


class Http:
    """The requests of one client. No variable holds the key as text, and no error contains it."""

    def __init__(self, key: str | Key | None, *, policy: RetryPolicy | None = None) -> None:
        try:
            self.key = key if isinstance(key, Key) else Key(key)
        except ReelbookError:
            # A verbose traceback displays the variables of every frame.
            key = None
            raise
        self.policy = policy or RetryPolicy()
        self.calls_made = 0
        """The number of requests sent so far, retries included."""
        self._clients: dict[int, httpx.AsyncClient] = {}
        # Limited here, so that no request ever waits inside httpx.
        self._free_slots = asyncio.Semaphore(MAX_FREE_CALLS)
        self._paid_slots, self._repeatable_slots = asyncio.Semaphore(MAX_PAID), asyncio.Semaphore(MAX_PAID_REPEATABLE)
        self._in_flight: set[asyncio.Task[Any]] = set()
        self._closed = False

    def __repr__(self) -> str:
        return f"<Http, {self.key!r}>"

    async def close(self) -> None:
        """Wait up to `DRAIN_SECONDS` for paid requests in flight, then close all connections."""
        self._closed = True
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=DRAIN_SECONDS)
        for client in self._clients.values():
            await client.aclose()

    async def free(
        self,
        method: str,
        address: Address,
        path: str,
        *,
        body: Any = None,
        upload: tuple[str, bytes, str] | None = None,
        is_large: bool = False,
        is_repeated: bool = True,
    ) -> ServiceAnswer:
        """Send a free call and return its response, after retries where they may help; raises the error of a refusal.

        `path` begins at the host. `is_large`: it sends or receives media.
        """
        self._refuse_when_closed()
        policy, content, failures = self.policy, _encoded(body), 0
        attempt_seconds = policy.large_seconds / 2 if is_large else policy.attempt_seconds
        deadline = policy.clock() + (policy.large_seconds if is_large else policy.free_seconds)

        async def send() -> ServiceAnswer | NoAnswer:
            seconds = min(attempt_seconds, max(deadline - policy.clock(), 0.0))
            return await self.send(method, address.origin + path, seconds, content=content, upload=upload)

        while True:
            try:
                return await self._attempt(address, send, max(deadline - policy.clock(), 0.0))
            except ReelbookError as error:
                pause = get_pause(failures, error, first=policy.backoff_seconds)
                failures += 1
                has_time = failures < policy.max_attempts and policy.clock() + pause < deadline
                if not (is_repeated and has_time and is_temporary(error)):
                    raise
            await policy.sleep(pause)

    async def _attempt(
        self, address: Address, send: Callable[[], Awaitable[ServiceAnswer | NoAnswer]], seconds: float
    ) -> ServiceAnswer:
        """Send a free call once, or twice where the service has moved."""
        try:
            async with asyncio.timeout(seconds):
                await self._free_slots.acquire()
        except TimeoutError:
            reason = f"no connection was free for {seconds:.0f} s, because other calls wait for slow answers"
            raise Unreachable(address.origin, reason) from None
        try:
            failed = address.base_url
            answer = await send()
            if isinstance(answer, NoAnswer) and await address.relocate(failed):
                answer = await send()
        finally:
            self._free_slots.release()
        if isinstance(answer, NoAnswer):
            raise Unreachable(address.origin, answer.reason)
        if not answer.is_good:
            raise parse_refusal(answer, self.key)
        return answer

    async def paid(self, request: PaidRequest[T]) -> T:
        """Send a paid request and return its parsed response, within the limit of concurrent ones.

        Once its first byte may have left, the request is completed even if the caller is cancelled, but then its response
        is dropped, so shield the caller.
        """
        self._refuse_when_closed()
        slots = self._repeatable_slots if request.is_repeatable else self._paid_slots
        await slots.acquire()
        task = asyncio.create_task(request.send())
        self._in_flight.add(task)
        # The slot is released when the request has ended, not when its caller is cancelled.
        task.add_done_callback(lambda _: slots.release())
        task.add_done_callback(self._finish)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not request.begun:
                task.cancel()
            raise

    async def send(
        self,
        method: str,
        url: str,
        seconds: float,
        *,
        content: bytes | None,
        upload: tuple[str, bytes, str] | None = None,
        headers: Mapping[str, str] = {},
        paid: PaidRequest[Any] | None = None,
    ) -> ServiceAnswer | NoAnswer:
        """Send one request and read its response within one deadline; httpx's own timeouts are per read, and add up.

        No exception is raised with httpx's frames in its traceback or its context: their variables contain the headers.
        """
        self.calls_made += 1
        limit = asyncio.timeout(seconds)
        # A new connection for each paid request: a reused one may be stale, and stale ones lose responses.
        client = self._client(0 if paid else MAX_FREE_CALLS)

        async def trace(event: str, info: Mapping[str, Any]) -> None:
            if paid and event.endswith("send_request_headers.started"):
                # The ledger write must not be cut off by the deadline, which begins when the bytes leave.
                limit.reschedule(None)
                await paid.mark_sending()
                limit.reschedule(asyncio.get_running_loop().time() + seconds)

        async def work() -> ServiceAnswer:
            async with limit:
                request = client.build_request(
                    method,
                    url,
                    content=content,
                    files={"file": upload} if upload else None,
                    headers={**({} if upload else {"content-type": "application/json"}), **headers},
                    extensions={"trace": trace} if paid else None,
                )
                self.key.sign(request.headers)
                response = await client.send(request, stream=True)
                answer = await _read(response)
                if self._closed:
                    # Connected while the others were closed: httpx forgets such a connection, and leaves it open.
                    await response.extensions["network_stream"].aclose()
                return answer

        try:
            return await work()
        except BaseException as error:
            caught = error.with_traceback(None)
        if paid is not None and paid.failure is not None:
            failure, frames = paid.failure
            raise failure.with_traceback(frames)
        if isinstance(caught, Exception):
            return NoAnswer(_reason(caught, seconds))
        caught.__cause__ = caught.__context__ = None
        raise caught

    def _client(self, max_idle: int) -> httpx.AsyncClient:
        """The client that keeps this number of idle connections."""
        if max_idle not in self._clients:
            # No connection limit in httpx, so that nothing ever waits inside it.
            self._clients[max_idle] = httpx.AsyncClient(
                headers=HEADERS,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                timeout=httpx.Timeout(None, connect=self.policy.connect_seconds),
                limits=httpx.Limits(max_keepalive_connections=max_idle, keepalive_expiry=KEEP_ALIVE_SECONDS),
                verify=trusted_certificates(),
                trust_env=False,
            )
        return self._clients[max_idle]

    def _finish(self, task: asyncio.Task[Any]) -> None:
        self._in_flight.discard(task)
        if not task.cancelled():
            task.exception()  # Retrieved, so that asyncio does not report it when the caller was cancelled.

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise ReelbookError("This client is closed. Open another one with rb.connect().")


@dataclass
class PaidRequest(Generic[T]):
    """A paid request, from its first attempt to its response. It is sent once, and repeated only with an idempotency key."""

    http: Http
    address: Address
    path: str
    """Its path at the service, wherever that is."""
    body: Any
    parse: Callable[[Any], T | None]
    """Parses the JSON of the response; None for one that does not identify the run."""
    credits: int | None = None
    """What it may cost."""
    idempotency_key: str | None = None
    resubmits: bool = False
    """Whether somebody wants it sent even if the answer to an earlier one was lost."""
    before_send: BeforeSend | None = None
    """Awaited just before the first byte of each attempt leaves; if it raises, nothing is sent."""
    begun: bool = False
    """Whether `before_send` was called: from then on the request is not cancelled."""
    may_be_sent: bool = False
    """Whether some attempt may have reached the service without a definite answer."""
    failure: tuple[BaseException, TracebackType | None] | None = None
    """The exception of `before_send`, which has prevented an attempt from being sent."""
    refusal: ServiceError | None = None
    """The refusal of the latest attempt, which may ask for a pause."""

    @property
    def is_repeatable(self) -> bool:
        """Whether the service charges only once for repetitions."""
        return self.idempotency_key is not None

    async def send(self) -> T:
        """Send the request and parse the response; raises a refusal, `Unreachable` if never sent, or `UncertainRun`."""
        policy, failures = self.http.policy, 0
        while True:
            sent_before, self.refusal = self.may_be_sent, None
            try:
                return self._parsed(await self._attempt(), sent_before)
            except (UncertainRun, Unreachable):
                failures += 1
                if not self.is_repeatable or self.failure is not None or failures >= policy.max_attempts:
                    raise
            await policy.sleep(get_pause(failures - 1, self.refusal, first=policy.backoff_seconds))

    async def mark_sending(self) -> None:
        """Call `before_send`, just before the first byte leaves; if that fails, nothing is sent."""
        self.begun = True
        try:
            if self.before_send is not None:
                await self.before_send()
        except BaseException as error:
            # With the frames from here inwards only: the outer frames are httpx's.
            self.failure = error, error.__traceback__
            raise
        self.may_be_sent = True

    async def _attempt(self) -> ServiceAnswer:
        """Send once, and again where the service has moved and it is safe to repeat the request."""
        failed = self.address.base_url
        try:
            answer = await self._send()
            is_safe = isinstance(answer, NoAnswer) and (self.is_repeatable or not self.may_be_sent)
            if is_safe and await self.address.relocate(failed):
                answer = await self._send()
        except Exception as error:
            if not self.may_be_sent:
                raise
            raise self._uncertain(f"its answer was lost, and it was not repeated: {error}") from error
        if isinstance(answer, ServiceAnswer):
            return answer
        raise self._uncertain(answer.reason) if self.may_be_sent else Unreachable(self.address.origin, answer.reason)

    async def _send(self) -> ServiceAnswer | NoAnswer:
        policy, url = self.http.policy, self.address.base_url + self.path
        seconds = policy.repeatable_attempt_seconds if self.is_repeatable else policy.paid_seconds
        headers = {"connection": "close"}
        if self.idempotency_key is not None:
            headers["idempotency-key"] = self.idempotency_key
        if self.resubmits:
            headers["x-resubmit"] = "1"
        return await self.http.send("POST", url, seconds, content=_encoded(self.body), headers=headers, paid=self)

    def _parsed(self, answer: ServiceAnswer, sent_before: bool) -> T:
        key = self.http.key
        value = parse_json(answer, key)
        if not answer.is_good:
            self.refusal = error = parse_refusal(answer, key)
            is_definite = is_definite_refusal(answer.status, value)
            if is_definite and not (sent_before and answer.status in GATEWAY_REFUSALS):
                raise error
            what = f"“{error.message[:200]}”" if is_definite or not error.foreign else summarise(answer, key)
            reason = f"{answer.status} with {what} came in place of an answer, as from a gateway or a proxy"
            raise self._uncertain(reason, answer.status)
        try:
            result = self.parse(value)
        except Exception as error:
            # Whatever the error, the request was sent.
            raise self._uncertain(f"its answer could not be read: {type(error).__name__}") from None
        if result is None:
            raise self._uncertain(f"it answered {answer.status} without a request id, with {summarise(answer, key)}")
        return result

    def _uncertain(self, reason: str, status: int = 0) -> UncertainRun:
        return UncertainRun(self.address.origin, reason, self.credits, status=status)


def _encoded(body: Any) -> bytes | None:
    return None if body is None else json.dumps(body, allow_nan=False).encode()


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """A request without a response. Not an exception: httpx's frames contain the headers, and with them the key."""

    reason: str


class _TooLarge(Exception):
    """A response that exceeds the size limit."""


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


@cache
def trusted_certificates() -> ssl.SSLContext:
    """The certificate authorities that calls and downloads trust, loaded once: that takes longer than a complete call."""
    return httpx.create_ssl_context(trust_env=False)
