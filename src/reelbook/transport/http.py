"""Requests to one service within deadlines: free ones retried, paid ones sent once; failures raise `ReelbookError`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..errors import ReelbookError, ServiceError, UncertainRun, Unreachable
from .answers import (
    ServiceAnswer,
    format_uncertain_reason,
    is_definite_refusal,
    parse_json,
    parse_refusal,
    summarise,
)
from .api_key import Key
from .exchange import BeforeSend, Call, ConnectionPool, NoAnswer, SendState
from .retries import PauseNote, RetryPolicy, get_pause, is_temporary, pause_note
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
        self._pool = ConnectionPool(self.key, self.policy.connect_seconds)
        # Limited here, so that no request ever waits inside httpx.
        self._free_slots = asyncio.Semaphore(MAX_FREE_CALLS)
        self._paid_slots, self._repeatable_slots = asyncio.Semaphore(MAX_PAID), asyncio.Semaphore(MAX_PAID_REPEATABLE)
        self._in_flight: set[asyncio.Task[Any]] = set()
        self._closed = False

    def __repr__(self) -> str:
        return f"<Http, {self.key!r}>"

    @property
    def calls_made(self) -> int:
        """The number of requests sent so far, retries included."""
        return self._pool.calls_made

    async def close(self) -> None:
        """Wait up to `DRAIN_SECONDS` for paid requests in flight, then close all connections."""
        self._closed = True
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=DRAIN_SECONDS)
        await self._pool.close()

    async def free(
        self,
        method: str,
        address: Address,
        path: str,
        *,
        body: Any = None,
        upload: tuple[str, bytes, str] | None = None,
        from_root: bool = False,
        is_large: bool = False,
        is_repeated: bool = True,
    ) -> ServiceAnswer:
        """Send a free call and return its response, after retries where they may help; raises the error of a refusal.

        `from_root`: the path begins at the host, not at the base address. `is_large`: it sends or receives media.
        """
        self._refuse_when_closed()
        policy, content, failures = self.policy, _encoded(body), 0
        attempt_seconds = policy.large_seconds / 2 if is_large else policy.attempt_seconds
        deadline = policy.clock() + (policy.large_seconds if is_large else policy.free_seconds)

        async def send() -> ServiceAnswer | NoAnswer:
            url = address.get_url(path) if from_root else address.base_url + path
            left = max(deadline - policy.clock(), 0.0)
            return await self._pool.free(Call(method, url, content, upload), min(attempt_seconds, left))

        while True:
            try:
                return await self._attempt(address, send, max(deadline - policy.clock(), 0.0))
            except ReelbookError as error:
                pause = get_pause(failures, error, first=policy.backoff_seconds)
                failures += 1
                has_time = failures < policy.max_attempts and policy.clock() + pause < deadline
                if not (is_repeated and has_time and is_temporary(error)):
                    raise
                with (pause_note.get() or PauseNote()).during(error, pause):
                    await policy.sleep(pause)

    async def _attempt(self, address: Address, send: Callable[[], Any], seconds: float) -> ServiceAnswer:
        """Send a free call once, or twice where the service has moved."""
        try:
            async with asyncio.timeout(seconds):
                await self._free_slots.acquire()
        except TimeoutError:
            reason = f"no connection was free for {seconds:.0f} s, so many calls wait for slow answers"
            raise Unreachable(address.origin, reason) from None
        try:
            failed = address.base_url
            got = await send()
            if isinstance(got, NoAnswer) and await address.relocate(failed):
                got = await send()
        finally:
            self._free_slots.release()
        if isinstance(got, NoAnswer):
            raise Unreachable(address.origin, got.reason)
        if not got.is_good:
            raise parse_refusal(got, self.key)
        answer: ServiceAnswer = got
        return answer

    async def paid(
        self,
        address: Address,
        path: str,
        body: Any,
        *,
        parse: Callable[[Any], T | None],
        credits: int | None = None,
        idempotency_key: str | None = None,
        resubmits: bool = False,
        before_send: BeforeSend | None = None,
    ) -> T:
        """Send a paid request and return its response, parsed by `parse`.

        It is sent once; only with an idempotency key is it repeated after a lost response. `before_send` is awaited
        just before the first byte of each attempt leaves. After that the request is completed even if the caller is
        cancelled, but then its response is dropped, so shield the caller.
        """
        self._refuse_when_closed()
        headers = {"connection": "close", **({"idempotency-key": idempotency_key} if idempotency_key else {})}
        if resubmits:
            headers["x-resubmit"] = "1"
        request = _PaidRequest(
            self, address, path, _encoded(body), headers, bool(idempotency_key), parse, credits, before_send
        )
        slots = self._repeatable_slots if idempotency_key else self._paid_slots
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

    def _finish(self, task: asyncio.Task[Any]) -> None:
        self._in_flight.discard(task)
        if not task.cancelled():
            task.exception()  # Retrieved, so that asyncio does not report it when the caller was cancelled.

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise ReelbookError("This client is closed. Open another one with rb.connect().")


@dataclass
class _PaidRequest(Generic[T]):
    """A paid request, from its first attempt to its response."""

    http: Http
    address: Address
    path: str
    content: bytes | None
    headers: dict[str, str]
    is_repeatable: bool
    parse: Callable[[Any], T | None]
    """Parses a response; returns None for one that does not identify the run."""
    credits: int | None
    before_send: BeforeSend | None
    begun: bool = False
    """Whether `before_send` was called: from then on the request is not cancelled."""
    may_be_sent: bool = False
    """Whether some attempt may have reached the service without a definite answer."""
    stopped: bool = False
    """Whether `before_send` has prevented an attempt from being sent."""
    refusal: ServiceError | None = None
    """The refusal of the latest attempt, which may ask for a pause."""

    async def send(self) -> T:
        """Send the request and parse the response; raises a refusal, `Unreachable` if never sent, or `UncertainRun`."""
        policy, failures = self.http.policy, 0
        while True:
            try:
                return await self._attempt()
            except (UncertainRun, Unreachable):
                failures += 1
                if not self.is_repeatable or self.stopped or failures >= policy.max_attempts:
                    raise
            await policy.sleep(get_pause(failures - 1, self.refusal, first=policy.backoff_seconds))

    async def _attempt(self) -> T:
        sent_before, self.refusal = self.may_be_sent, None
        try:
            answer = await self._send()
        except Exception as error:
            if not self.may_be_sent:
                raise
            raise self._uncertain(f"its answer was lost, and it was not repeated: {error}") from error
        if isinstance(answer, NoAnswer):
            if self.may_be_sent:
                raise self._uncertain(answer.reason)
            raise Unreachable(self.address.origin, answer.reason)
        try:
            return self._parsed(answer, sent_before)
        except ReelbookError:
            raise
        except Exception as error:
            # Whatever the error, the request was sent.
            raise self._uncertain(f"its answer could not be read: {type(error).__name__}") from None

    async def _send(self) -> ServiceAnswer | NoAnswer:
        """Send once, and again where the service has moved and it is safe to repeat the request."""
        failed = self.address.base_url
        answer = await self._send_to(failed)
        if isinstance(answer, ServiceAnswer) or (self.may_be_sent and not self.is_repeatable):
            return answer
        return await self._send_to(self.address.base_url) if await self.address.relocate(failed) else answer

    async def _send_to(self, base_url: str) -> ServiceAnswer | NoAnswer:
        state, policy = SendState(self._before_send), self.http.policy
        seconds = policy.repeatable_attempt_seconds if self.is_repeatable else policy.paid_seconds
        call = Call("POST", base_url + self.path, self.content, headers=self.headers)
        try:
            return await self.http._pool.paid(call, seconds, state)
        finally:
            self.may_be_sent = self.may_be_sent or state.may_be_sent

    async def _before_send(self) -> None:
        self.begun = self.stopped = True
        if self.before_send is not None:
            await self.before_send()
        self.stopped = False

    def _parsed(self, answer: ServiceAnswer, sent_before: bool) -> T:
        key = self.http.key
        value = parse_json(answer, key)
        if not answer.is_good:
            self.refusal = error = parse_refusal(answer, key)
            is_definite = is_definite_refusal(answer.status, value)
            if is_definite and not (sent_before and answer.status in GATEWAY_REFUSALS):
                raise error
            what = f"“{error.message[:200]}”" if is_definite or not error.foreign else summarise(answer, key)
            raise self._uncertain(format_uncertain_reason(answer.status, what), answer.status)
        result = self.parse(value)
        if result is None:
            raise self._uncertain(f"it answered {answer.status} without a request id, with {summarise(answer, key)}")
        return result

    def _uncertain(self, reason: str, status: int = 0) -> UncertainRun:
        return UncertainRun(self.address.origin, reason, self.credits, status=status)


def _encoded(body: Any) -> bytes | None:
    return None if body is None else json.dumps(body, allow_nan=False).encode()
