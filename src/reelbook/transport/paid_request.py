"""One paid request: sent once, or retried with an idempotency key; an unknown outcome raises `UncertainRun`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, TypeVar

from ..errors import ReelbookError, UncertainRun, Unreachable
from .api_key import Key
from .definite_refusal import format_uncertain_reason, is_definite_refusal
from .responses import NoAnswer, ServiceAnswer, parse_json, parse_refusal, summarise
from .retries import RetryPolicy, get_retry_after, retry_paid
from .service_address import Address

T = TypeVar("T")

GATEWAY_REFUSALS = frozenset({401, 402, 403, 429})
"""Refusals that can come from a gateway, before the service checks whether it already knows the request."""

BeforeSend = Callable[[], Awaitable[None]]


class SendState:
    """The progress of one attempt to send a paid request."""

    def __init__(self, before_send: BeforeSend | None) -> None:
        self._before_send = before_send
        self.begun = False
        """Whether `before_send` was called: from then on the request is not cancelled."""
        self.may_be_sent = False
        """Whether bytes may have left, so that the request may have been received."""
        self.failure: tuple[BaseException, TracebackType | None] | None = None
        """The exception of `before_send`, which kept the request from being sent."""

    async def mark_sending(self) -> None:
        """Call `before_send`, just before the first byte leaves; if that fails, nothing is sent."""
        self.begun = True
        try:
            if self._before_send is not None:
                await self._before_send()
        except BaseException as error:
            # With the frames from here inwards only: the outer frames are httpx's.
            self.failure = error, error.__traceback__
            raise
        self.may_be_sent = True


SendOnce = Callable[[str, SendState], Awaitable[ServiceAnswer | NoAnswer]]
"""Sends the request once, to this base address."""


@dataclass
class PaidRequest(Generic[T]):
    """A paid request, from its first attempt to its response."""

    send_once: SendOnce
    address: Address
    parse: Callable[[Any], T | None]
    """Parses a response; returns None for one that does not identify the run."""
    key: Key
    policy: RetryPolicy
    credits: int | None
    is_repeatable: bool
    before_send: BeforeSend | None
    begun: bool = False
    """Whether `before_send` was called: from then on the request is not cancelled."""
    may_be_sent: bool = False
    """Whether some attempt may have reached the service without a definite answer."""
    stopped: bool = False
    """Whether `before_send` has prevented an attempt from being sent."""
    requested_pause: float = 0.0
    """The seconds that the service asks to wait before the next attempt."""

    async def send(self) -> T:
        """Send the request and parse the response; raises a refusal, `Unreachable` if never sent, or `UncertainRun`."""
        if not self.is_repeatable:
            return await self._attempt()
        return await retry_paid(
            self._attempt, self.policy, requested_pause=lambda: self.requested_pause, may_retry=lambda: not self.stopped
        )

    async def _attempt(self) -> T:
        sent_before, self.requested_pause = self.may_be_sent, 0.0
        try:
            answer = await self._send()
        except Exception as error:
            if not self.may_be_sent:
                raise
            raise self._uncertain(f"its answer was lost, and it was not repeated: {error}") from error
        if isinstance(answer, NoAnswer):
            raise (
                self._uncertain(answer.reason) if self.may_be_sent else Unreachable(self.address.origin, answer.reason)
            )
        try:
            return self._parsed(answer, sent_before)
        except ReelbookError:
            raise
        except Exception as error:
            # Whatever the error, the request was sent.
            raise self._uncertain(f"its answer could not be read: {type(error).__name__}") from None

    def _parsed(self, answer: ServiceAnswer, sent_before: bool) -> T:
        if not answer.is_good:
            error = parse_refusal(answer, self.key)
            self.requested_pause = get_retry_after(error)
            is_definite = is_definite_refusal(answer.status, parse_json(answer, self.key))
            if is_definite and not (sent_before and answer.status in GATEWAY_REFUSALS):
                raise error
            what = f"“{error.message[:200]}”" if is_definite or not error.foreign else summarise(answer, self.key)
            raise self._uncertain(format_uncertain_reason(answer.status, what), answer.status)
        result = self.parse(parse_json(answer, self.key))
        if result is None:
            raise self._uncertain(
                f"it answered {answer.status} without a request id, with {summarise(answer, self.key)}"
            )
        return result

    async def _send(self) -> ServiceAnswer | NoAnswer:
        """Send once, and again where the service has moved and it is safe to repeat the request."""
        failed = self.address.base_url
        answer = await self._send_to(failed)
        if isinstance(answer, ServiceAnswer) or (self.may_be_sent and not self.is_repeatable):
            return answer
        if not await self.address.relocate(failed):
            return answer
        return await self._send_to(self.address.base_url)

    async def _send_to(self, base_url: str) -> ServiceAnswer | NoAnswer:
        state = SendState(self._before_each_send)
        try:
            return await self.send_once(base_url, state)
        finally:
            self.may_be_sent = self.may_be_sent or state.may_be_sent

    async def _before_each_send(self) -> None:
        self.begun = True
        if self.before_send is not None:
            self.stopped = True
            await self.before_send()
            self.stopped = False

    def _uncertain(self, reason: str, status: int = 0) -> UncertainRun:
        return UncertainRun(self.address.origin, reason, self.credits, status=status)
