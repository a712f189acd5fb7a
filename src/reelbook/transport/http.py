"""Requests to one service within deadlines: free ones retried, paid ones sent once; failures raise `ReelbookError`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from ..errors import ReelbookError, ServiceBroken, ServiceError, TooManyRequests, Unreachable
from .api_key import Key, check_key
from .exchange import Call, ConnectionPool, Upload
from .paid_request import BeforeSend, PaidRequest, SendState
from .responses import NoAnswer, ServiceAnswer, parse_refusal
from .retries import FreeCall, RetryPolicy, RetryQuota
from .service_address import Address

__all__ = ["Http", "Key", "RetryPolicy", "Upload", "check_key"]

T = TypeVar("T")

TOO_LARGE = "answer_too_large"
"""The error type of a response that exceeds the size limit."""

MAX_FREE_CALLS = 8
"""Concurrent free calls."""
MAX_PAID, MAX_PAID_REPEATABLE = 4, 32
"""Concurrent paid requests: few without an idempotency key, where each lost response may be lost money."""
DRAIN_SECONDS = 10.0


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
        self.quota = RetryQuota()
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
        upload: Upload | None = None,
        from_root: bool = False,
        is_large: bool = False,
        max_bytes: int | None = None,
        is_repeated: bool = True,
    ) -> ServiceAnswer:
        """Send a free call and return its response, after retries where they may help; raises the error of a refusal.

        `from_root`: the path begins at the host, not at the base address. `is_large`: it sends or receives media.
        `max_bytes`: the size limit of the response; a larger one raises `ServiceBroken`, without a retry.
        """
        self._refuse_when_closed()
        policy, content = self.policy, _encoded(body)
        call = FreeCall(policy, self.quota, policy.large_seconds if is_large else policy.free_seconds)
        attempt_seconds = policy.large_seconds / 2 if is_large else policy.attempt_seconds

        async def send() -> ServiceAnswer | NoAnswer:
            url = address.get_url(path) if from_root else address.base_url + path
            request = Call(method, url, content, upload, max_bytes=max_bytes)
            return await self._pool.free(request, min(attempt_seconds, call.seconds_left))

        async def once() -> ServiceAnswer:
            got = await self._in_slot(call.seconds_left, lambda: _send_or_relocate(address, send))
            if isinstance(got, NoAnswer) and got.too_large:
                words = "The service's answer is larger than is read of any answer to such a call."
                raise ServiceBroken(words, status=200, error_type=TOO_LARGE, foreign=True)
            if isinstance(got, NoAnswer):
                raise Unreachable(address.origin, got.reason)
            if not got.is_good:
                raise self._error_of(got)
            self.quota.refund()
            return got

        return await call.retry(once) if is_repeated else await once()

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
        content, policy = _encoded(body), self.policy
        seconds = policy.repeatable_attempt_seconds if idempotency_key else policy.paid_seconds
        headers = {"connection": "close", **({"idempotency-key": idempotency_key} if idempotency_key else {})}
        if resubmits:
            headers["x-resubmit"] = "1"

        async def send_once(base_url: str, state: SendState) -> ServiceAnswer | NoAnswer:
            return await self._pool.paid(Call("POST", base_url + path, content, headers=headers), seconds, state)

        request = PaidRequest(send_once, address, parse, self.key, policy, credits, bool(idempotency_key), before_send)
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

    async def _in_slot(
        self, seconds: float, work: Callable[[], Awaitable[ServiceAnswer | NoAnswer]]
    ) -> ServiceAnswer | NoAnswer:
        """Run `work` in a slot for free calls, after waiting for a slot up to `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._free_slots.acquire()
        except TimeoutError:
            return NoAnswer(f"no connection was free for {seconds:.0f} s, so many calls wait for slow answers")
        try:
            return await work()
        finally:
            self._free_slots.release()

    def _error_of(self, answer: ServiceAnswer) -> ServiceError:
        """The error of a refusal; a refusal by a working service refunds a retry token."""
        error = parse_refusal(answer, self.key)
        if answer.status < 500 and not isinstance(error, TooManyRequests):
            self.quota.refund()
        return error

    def _finish(self, task: asyncio.Task[Any]) -> None:
        self._in_flight.discard(task)
        if not task.cancelled():
            task.exception()  # Retrieved, so that asyncio does not report it when the caller was cancelled.

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise ReelbookError("This client is closed. Open another one with rb.connect().")


async def _send_or_relocate(
    address: Address, send: Callable[[], Awaitable[ServiceAnswer | NoAnswer]]
) -> ServiceAnswer | NoAnswer:
    """Send, and once more where nothing responded and the service is found at another address."""
    failed = address.base_url
    got = await send()
    return await send() if isinstance(got, NoAnswer) and await address.relocate(failed) else got


def _encoded(body: Any) -> bytes | None:
    return None if body is None else json.dumps(body, allow_nan=False).encode()
