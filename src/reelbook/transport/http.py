"""Requests to one service: free ones repeated where that helps, a paid one sent once; every failure is a `ReelbookError`.

The only module that calls a service through httpx. Neither a response nor an error contains the key.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn
from urllib.parse import quote, quote_plus, urlsplit

import httpx

from .._version import __version__
from ..errors import ReelbookError, ServiceError, UncertainRun, Unreachable
from .answers import Accepted, ServiceAnswer, get_pause, is_definite_refusal, parse_accepted, parse_refusal

MAX_FREE_CALLS, MAX_PAID, MAX_PAID_REPEATABLE = 8, 4, 32
"""Concurrent calls; few paid ones without an idempotency key, where each lost response may be lost money."""
GATEWAY_REFUSALS = frozenset({401, 402, 403, 429})
"""Refusals that can come from a gateway, before the service checks whether it already knows the request."""
TEMPORARY_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
MIN_SECRET_LENGTH = 8
"""Shorter keys may be ordinary words, and are not removed from what a service answers."""

HEADERS = {
    "accept": "application/json, */*;q=0.5",
    "accept-encoding": "gzip, deflate",
    "user-agent": f"reelbook/{__version__}",
}

BeforeSend = Callable[[], Awaitable[None]]

# At debug level httpcore logs all headers of a response, in which a service can repeat the key.
logging.getLogger("httpcore.http11").addFilter(lambda record: "headers" not in record.getMessage())


def check_base_url(base_url: str) -> str:
    """A valid address without a trailing slash."""
    try:
        parts = urlsplit(base_url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and base_url.isprintable()
    except ValueError:
        fits = False
    if not fits or parts.query or parts.fragment or parts.username is not None:
        # Not quoted, because a password may be in it.
        raise ReelbookError(
            "That is not the URL of a service. One begins with http:// or https:// and a host, such as https://host.example/api; "
            "without a name, a password, or anything after a ? or a #. Give the key as api_key."
        )
    return base_url.rstrip("/")


def _get_origin(url: str) -> str:
    """The scheme, host and port of a URL."""
    return "/".join(url.split("/")[:3])


class Key:
    """A key that signs requests, and appears in no repr, no pickle and no variable that a traceback displays."""

    __slots__ = ("__weakref__", "_forms", "_text")

    def __init__(self, text: str | None) -> None:
        self._text, text = (text or "").strip(), None  # A verbose traceback displays the variables of every frame.
        if not self._text.isascii() or not self._text.isprintable():
            raise ReelbookError(
                "The key holds a character that no key has, such as a line break. Copy it again, in one piece."
            )
        key = self._text.encode()
        # Percent-encoded and in base64, too; the longest first, because one can contain another.
        forms = {self._text, quote(self._text), quote(self._text, safe=""), quote_plus(self._text)}
        forms |= {code(key).decode().rstrip("=") for code in (base64.b64encode, base64.urlsafe_b64encode)}
        self._forms = sorted(forms, key=len, reverse=True) if len(key) >= MIN_SECRET_LENGTH else []

    def sign(self, headers: MutableMapping[str, str]) -> None:
        """Add the key to the headers of a request."""
        if self._text:
            headers["x-api-key"] = self._text

    def hide(self, text: str) -> str:
        """A text with the key replaced by `[key]`, for a service that repeats what it received."""
        for form in self._forms:
            text = text.replace(form, "[key]")
        return text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "<Key, hidden>" if self._text else "<no key>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("A key is not pickled or copied: it would end up in a file. Connect again where it is needed.")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The deadlines, attempts and pauses of one client's calls. Tests replace `sleep` and `clock`."""

    free_seconds: float = 60.0
    """One free call with all its attempts and pauses; each attempt may take `attempt_seconds`."""
    attempt_seconds: float = 30.0
    large_seconds: float = 600.0
    """The same for one that sends or receives media; each attempt may take half of it."""
    paid_seconds: float = 300.0
    """One paid request: long, because some services respond with the finished video, and lost responses cost money."""
    repeatable_attempt_seconds: float = 60.0
    connect_seconds: float = 10.0
    max_attempts: int = 5
    backoff_seconds: float = 0.25
    """Maximum of the first pause; doubled for each further one."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic


class Http:
    """The requests of one client to the service at `base_url`.

    `renew` returns the new address of a service that may move, after starting it if necessary.
    """

    def __init__(
        self,
        base_url: str,
        key: Key | None,
        renew: Callable[[], str] | None = None,
        *,
        policy: RetryPolicy | None = None,
    ) -> None:
        self.base_url, self._renew, self._renewal = check_base_url(base_url), renew, asyncio.Lock()
        self.key, self.policy, self.calls_made = key or Key(None), policy or RetryPolicy(), 0
        self._transports: dict[int, httpx.AsyncHTTPTransport] = {}
        # Limited here, so that no request ever waits inside httpx.
        self._free_slots, self._paid_slots = asyncio.Semaphore(MAX_FREE_CALLS), asyncio.Semaphore(MAX_PAID)
        self._repeatable_slots, self._closed = asyncio.Semaphore(MAX_PAID_REPEATABLE), False

    async def close(self) -> None:
        """Close all connections."""
        self._closed = True
        for transport in self._transports.values():
            await transport.aclose()

    async def free(
        self, method: str, path: str, *, is_large: bool = False, retry: bool = True, **content: Any
    ) -> ServiceAnswer:
        """Send a free call and return its response, after retries where they may help; raises the error of a refusal.

        `content` is a JSON `body` or an `upload`. `is_large`: it sends or receives media.
        """
        policy, failures, request = self.policy, 0, _make_request(**content)
        longest = policy.large_seconds / 2 if is_large else policy.attempt_seconds
        deadline = policy.clock() + (policy.large_seconds if is_large else policy.free_seconds)
        while True:
            asked = policy.clock()
            try:
                async with self._free_slots:
                    deadline += policy.clock() - asked  # Its time runs from its turn.
                    failed = self.base_url
                    seconds = min(longest, max(deadline - policy.clock(), 0.0))
                    answer = await self._send(method, failed + path, seconds, request)
                if answer.is_good:
                    return answer
                raise parse_refusal(answer)
            except ReelbookError as error:
                if isinstance(error, Unreachable):
                    await self._relocate(failed)
                pause = get_pause(failures, error, first=policy.backoff_seconds)
                failures += 1
                has_time = failures < policy.max_attempts and policy.clock() + pause < deadline
                is_temporary = isinstance(error, Unreachable) or getattr(error, "status", 0) in TEMPORARY_STATUSES
                if not (retry and has_time and is_temporary):
                    raise
            await policy.sleep(pause)

    async def paid(
        self,
        path: str,
        body: Any,
        *,
        credits: int | None = None,
        idempotency_key: str | None = None,
        resubmits: bool = False,
        before_send: BeforeSend | None = None,
    ) -> Accepted:
        """Send a paid request once, or, with an idempotency key, until something definite comes back.

        `credits` is what it may cost. `resubmits` tells a gateway that somebody wants it sent even if the answer to an
        earlier one was lost. `before_send` is awaited just before the first byte of each attempt leaves. Raises what that
        raises, a refusal, `Unreachable` if nothing was sent, and `UncertainRun` if it may have been accepted. Shield the
        caller: if it is cancelled, the response is lost.
        """
        policy, sent, failures = self.policy, 0, 0
        request = _make_request(body)
        request["headers"] |= {"connection": "close"} | ({"x-resubmit": "1"} if resubmits else {})
        slots, seconds, attempts = self._paid_slots, policy.paid_seconds, 1
        if idempotency_key is not None:
            request["headers"]["idempotency-key"] = idempotency_key
            slots, seconds, attempts = self._repeatable_slots, policy.repeatable_attempt_seconds, policy.max_attempts

        async def mark_sending() -> None:
            nonlocal sent
            if before_send is not None:
                await before_send()
            sent += 1

        def uncertain(reason: str, status: int = 0) -> UncertainRun:
            return UncertainRun(_get_origin(self.base_url), reason, credits, idempotency_key is not None, status)

        async with slots:
            while True:
                failed, sent_before = self.base_url, sent
                refusal: ServiceError | None = None
                try:
                    answer = await self._send("POST", failed + path, seconds, request, mark_sending)
                    if answer.is_good and (accepted := parse_accepted(answer.value)) is not None:
                        return accepted
                    lost: ReelbookError = uncertain(f"it answered {answer.status} with {answer.summary}", answer.status)
                    if not answer.is_good:
                        refusal = parse_refusal(answer)
                        is_gate = sent_before > 0 and answer.status in GATEWAY_REFUSALS
                        if is_definite_refusal(answer.status, answer.value) and not is_gate:
                            raise refusal
                except Unreachable as error:
                    lost = uncertain(error.reason) if sent else error
                    with suppress(Unreachable):
                        await self._relocate(failed)
                except Exception as error:
                    if error is refusal or not sent:
                        raise
                    raise uncertain(f"its answer was lost, and it was not repeated: {error}") from error
                failures += 1
                if failures >= attempts:
                    raise lost
                await policy.sleep(get_pause(failures - 1, refusal, first=policy.backoff_seconds))

    async def _relocate(self, failed: str) -> None:
        """Find the service's new address after the failed one did not respond."""
        if self._renew is None:
            return
        async with self._renewal:
            if self.base_url == failed:  # Else another call found the new address while this one was failing.
                try:
                    # In a thread: it may start a service.
                    self.base_url = check_base_url(await asyncio.to_thread(self._renew))
                except Exception as error:
                    raise Unreachable(_get_origin(failed), f"finding or starting it again failed: {error}") from None

    async def _send(
        self, method: str, url: str, seconds: float, options: Mapping[str, Any], before_send: BeforeSend | None = None
    ) -> ServiceAnswer:
        """Send one request and read its response within one deadline; httpx's own timeouts are per read, and add up.

        No exception is raised with httpx's frames in its traceback or its context: their variables contain the headers.
        """
        if self._closed:
            raise ReelbookError("This client is closed. Open another one with rb.connect().")
        self.calls_made += 1
        limit, failures = asyncio.timeout(seconds), list[BaseException]()
        # A new connection for each paid request: a reused one may be stale, and stale ones lose responses.
        transport = self._transport(0 if before_send else MAX_FREE_CALLS)

        async def trace(event: str, info: Mapping[str, Any]) -> None:
            if before_send is not None and event.endswith("send_request_headers.started"):
                # The ledger write must not be cut off by the deadline, which begins when the bytes leave.
                limit.reschedule(None)
                try:
                    await before_send()
                except BaseException as error:
                    failures.append(error)
                    raise
                limit.reschedule(asyncio.get_running_loop().time() + seconds)

        async def work() -> ServiceAnswer:
            async with limit:
                extensions = {
                    "timeout": {"connect": self.policy.connect_seconds},
                    "trace": trace if before_send else None,
                }
                request = httpx.Request(method, url, extensions=extensions, **options)
                self.key.sign(request.headers)
                response = await transport.handle_async_request(request)
                try:
                    content = await response.aread()
                finally:
                    await response.aclose()
                    if self._closed:
                        # Connected while the others were closed: httpx forgets such a connection, and leaves it open.
                        await response.extensions["network_stream"].aclose()
                return ServiceAnswer(response.status_code, dict(response.headers), content, self.key.hide)

        try:
            return await work()
        except BaseException as error:
            caught: BaseException = failures[0] if failures else error
        if not failures:
            if isinstance(caught, Exception):
                caught = Unreachable(_get_origin(url), _format_reason(caught, seconds, self.policy))
            caught.__cause__ = caught.__context__ = None
        raise caught.with_traceback(None)

    def _transport(self, max_idle: int) -> httpx.AsyncHTTPTransport:
        """The connections of which this number is kept while idle.

        Without a client of httpx nothing of this machine is sent: no cookie, no login from .netrc.
        """
        if max_idle not in self._transports:
            self._transports[max_idle] = httpx.AsyncHTTPTransport(
                verify=load_certificates(),
                trust_env=False,
                limits=httpx.Limits(max_keepalive_connections=max_idle, keepalive_expiry=30.0),
            )
        return self._transports[max_idle]


@cache
def load_certificates() -> ssl.SSLContext:
    """The certificate authorities that are trusted, loaded once: that takes longer than a complete call."""
    return httpx.create_ssl_context(trust_env=False)


def _make_request(body: Any = None, upload: tuple[str, bytes, str] | None = None) -> dict[str, Any]:
    if upload is not None:
        return {"files": {"file": upload}, "headers": HEADERS}
    content = None if body is None else json.dumps(body, allow_nan=False).encode()
    return {"content": content, "headers": {**HEADERS, "content-type": "application/json"}}


def _format_reason(error: Exception, seconds: float, policy: RetryPolicy) -> str:
    """Why there is no response, in Reelbook's words: httpx's messages can repeat what was sent."""
    if isinstance(error, httpx.ConnectTimeout):
        return f"no connection within {policy.connect_seconds:.3g} s"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror):
            return "there is no host of that name"
        if isinstance(cause, ssl.SSLError):
            return "no encrypted connection could be made: its certificate or its protocol is not as it should be"
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, TimeoutError):
        return f"no answer within {seconds:.3g} s"
    return "the connection was refused" if isinstance(error, httpx.ConnectError) else "the connection broke"
