"""Requests to one service, each within a deadline: free ones repeated, paid ones sent once, every failure our own error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeVar

from ..errors import ReelbookError, ServiceBroken, ServiceError, TooManyRequests, Unreachable
from .api_key import Key, checked_key
from .event_stream import Events
from .exchange import Call, Upload, Wire
from .paid_request import Departure, PaidRequest, Sending
from .responses import Answer, Lost, refusal
from .retries import FreeCall, Patience, Quota
from .service_address import Address

__all__ = ["Http", "Key", "Patience", "Upload", "checked_key"]

T = TypeVar("T")

TOO_LARGE = "answer_too_large"
"""The kind of error of an answer that is larger than is read."""

CONNECTIONS = 8
"""Free calls at once."""
STREAMS = 8
PAID, PAID_REPEATABLE = 4, 32
"""Paid requests at once: few where each lost answer may be lost money."""
DRAIN_SECONDS = 10.0
LONGEST_STREAM_SECONDS = 3_600.0


class Http:
    """The requests of one client. The key is in none of its variables as a text, and in none of its errors."""

    def __init__(self, key: str | Key | None, *, patience: Patience | None = None) -> None:
        try:
            self.key = key if isinstance(key, Key) else Key(key)
        except ReelbookError:
            # A verbose traceback shows the variables of every frame.
            key = None
            raise
        self.patience = patience or Patience()
        self.quota = Quota()
        self._wire = Wire(self.key, self.patience.connect)
        # We count ourselves, so that no request ever waits inside httpx.
        self._free_slots, self._stream_slots = asyncio.Semaphore(CONNECTIONS), asyncio.Semaphore(STREAMS)
        self._paid_slots, self._repeatable_slots = asyncio.Semaphore(PAID), asyncio.Semaphore(PAID_REPEATABLE)
        self._in_flight: set[asyncio.Task[Any]] = set()
        self._closed = False

    def __repr__(self) -> str:
        return f"<Http, {self.key!r}>"

    @property
    def calls_made(self) -> int:
        """Every request that was begun, repetitions included."""
        return self._wire.calls_made

    async def close(self) -> None:
        """Let paid requests in flight come to their end, for a while, then hang up."""
        self._closed = True
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=DRAIN_SECONDS)
        await self._wire.close()

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
        most: int | None = None,
    ) -> Answer:
        """The good answer to a call without a price, repeated while that may help; a refusal becomes its error.

        `from_root`: the path begins at the host, not at the base address. `is_large`: media may come or go with it.
        `most`: how many bytes of an answer are read; one that is larger is no answer, and is not asked for again.
        """
        self._refuse_when_closed()
        patience, content = self.patience, _encoded(body)
        call = FreeCall(patience, self.quota, patience.large if is_large else patience.free)
        longest = patience.large / 2 if is_large else patience.attempt

        async def exchange() -> Answer | Lost:
            url = address.at(path) if from_root else address.base_url + path
            return await self._wire.free(Call(method, url, content, upload, most=most), min(longest, call.seconds_left))

        async def once() -> Answer:
            got = await self._in_slot(call.seconds_left, lambda: _moving(address, exchange))
            if isinstance(got, Lost) and got.too_large:
                words = "The service's answer is larger than is read of any answer to such a call."
                raise ServiceBroken(words, status=200, error_type=TOO_LARGE, foreign=True)
            if isinstance(got, Lost):
                raise Unreachable(address.place, got.reason)
            if not got.is_good:
                raise self._judged(got)
            self.quota.give_back()
            return got

        return await call.repeated(once)

    async def paid(
        self,
        address: Address,
        path: str,
        body: Any,
        *,
        read: Callable[[Any], T | None],
        credits: int | None = None,
        idempotency_key: str | None = None,
        sending: Sending | None = None,
    ) -> T:
        """What a call with a price answers, as `read` understands it.

        It is sent once. Only where the service recognises a repetition by its key, a lost answer is asked for again.
        `sending` is awaited just before the first byte of each attempt leaves. After that the request runs to its own
        end: cancelling the caller does not cut it off, but then nobody hears its answer, so shield the caller.
        """
        self._refuse_when_closed()
        content, patience = _encoded(body), self.patience
        seconds = patience.repeatable if idempotency_key else patience.paid
        headers = {"connection": "close", **({"idempotency-key": idempotency_key} if idempotency_key else {})}

        async def exchange(base_url: str, departure: Departure) -> Answer | Lost:
            return await self._wire.paid(Call("POST", base_url + path, content, headers=headers), seconds, departure)

        request = PaidRequest(exchange, address, read, self.key, patience, credits, bool(idempotency_key), sending)
        slots = self._repeatable_slots if idempotency_key else self._paid_slots
        await slots.acquire()
        task = asyncio.create_task(request.answer())
        self._in_flight.add(task)
        # The place is given back when the request has ended, not when its caller has gone.
        task.add_done_callback(lambda _: slots.release())
        task.add_done_callback(self._landed)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not request.begun:
                task.cancel()
            raise

    async def events(self, address: Address, path: str) -> AsyncIterator[str]:
        """The data of server-sent events, until the service ends the stream. Nothing is repeated here."""
        self._refuse_when_closed()
        if self._stream_slots.locked():
            raise Unreachable(address.place, f"{STREAMS} streams are open already; ask for the status instead")
        events, failed, began = Events(), address.base_url, self.patience.clock()
        async with self._stream_slots, aclosing(self._stream(failed + path)) as chunks:
            async for got in chunks:
                if isinstance(got, Answer):
                    raise self._judged(got)
                if self.patience.clock() - began > LONGEST_STREAM_SECONDS:
                    raise Unreachable(address.place, "the stream of events has no end; ask for the status instead")
                if isinstance(got, Lost):
                    # For the next one: the service may have gone elsewhere.
                    await address.moved(failed)
                    raise Unreachable(address.place, f"the stream of events was cut: {got.reason}")
                for data in events.fed(got):
                    yield data

    def _stream(self, url: str) -> AsyncGenerator[Answer | bytes | Lost, None]:
        call = Call("GET", url, headers={"accept": "text/event-stream"})
        return self._wire.stream(call, self.patience.attempt, self.patience.silence)

    async def _in_slot(self, seconds: float, work: Callable[[], Awaitable[Answer | Lost]]) -> Answer | Lost:
        """Do it when one of the few connections is free."""
        try:
            async with asyncio.timeout(seconds):
                await self._free_slots.acquire()
        except TimeoutError:
            return Lost(f"no connection was free for {seconds:.0f} s, so many calls wait for slow answers")
        try:
            return await work()
        finally:
            self._free_slots.release()

    def _judged(self, answer: Answer) -> ServiceError:
        """The error of a refusal; one that shows a service at work keeps the purse for repetitions full."""
        error = refusal(answer, self.key)
        if answer.status < 500 and not isinstance(error, TooManyRequests):
            self.quota.give_back()
        return error

    def _landed(self, task: asyncio.Task[Any]) -> None:
        self._in_flight.discard(task)
        if not task.cancelled():
            task.exception()  # Looked at, so that asyncio does not report one whose caller has gone.

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise ReelbookError("This client is closed. Open another one with rb.connect().")


async def _moving(address: Address, exchange: Callable[[], Awaitable[Answer | Lost]]) -> Answer | Lost:
    """An exchange, and once more where the service is found elsewhere after nobody answered."""
    failed = address.base_url
    got = await exchange()
    return await exchange() if isinstance(got, Lost) and await address.moved(failed) else got


def _encoded(body: Any) -> bytes | None:
    return None if body is None else json.dumps(body, allow_nan=False).encode()
