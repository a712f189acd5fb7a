"""One paid request: sent once, or recognised by its key when it comes again, and never lost without saying so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, TypeVar

from ..errors import ReelbookError, UncertainRun, Unreachable
from .api_key import Key
from .paid_outcome import doubt, is_refusal
from .responses import Answer, Lost, glimpse, refusal, value_of
from .retries import Patience, asked_pause, repeated_paid
from .service_address import Address

T = TypeVar("T")

GATES = frozenset({401, 402, 403, 429})
"""Refusals that can come from a gate, before the service looks whether it knows the request already."""

Sending = Callable[[], Awaitable[None]]


class Departure:
    """The moment before the first byte of a paid request leaves."""

    def __init__(self, sending: Sending | None) -> None:
        self._sending = sending
        self.begun = False
        """From here on the request is not called back."""
        self.left = False
        """From here on nobody can say that it was not sent."""
        self.failure: tuple[BaseException, TracebackType | None] | None = None
        """What kept it from leaving."""

    async def now(self) -> None:
        """Write down that it is being sent; what fails here keeps it from being sent."""
        self.begun = True
        try:
            if self._sending is not None:
                await self._sending()
        except BaseException as error:
            # With the frames from here inwards only: those further out are httpx's.
            self.failure = error, error.__traceback__
            raise
        self.left = True


Exchange = Callable[[str, Departure], Awaitable[Answer | Lost]]
"""Sends the request to this base address."""


@dataclass
class PaidRequest(Generic[T]):
    """A paid request from its first attempt to its answer."""

    exchange: Exchange
    address: Address
    read: Callable[[Any], T | None]
    """Understands an answer; None for one that does not tell what was bought."""
    key: Key
    patience: Patience
    credits: int | None
    is_repeatable: bool
    sending: Sending | None
    begun: bool = False
    """Whether it has reached the point from where it is not called back."""
    left: bool = False
    """Whether some attempt may have reached the service without an answer that settles it."""
    stopped: bool = False
    """Whether `sending` has kept an attempt from leaving."""
    asked: float = 0.0
    """The seconds that the service asked to wait before the next attempt."""

    async def answer(self) -> T:
        """What was bought; or a refusal, or `Unreachable` for never sent, or `UncertainRun`."""
        if not self.is_repeatable:
            return await self._attempt()
        return await repeated_paid(
            self._attempt, self.patience, asked=lambda: self.asked, goes_on=lambda: not self.stopped
        )

    async def _attempt(self) -> T:
        lost_before, self.asked = self.left, 0.0
        try:
            got = await self._sent()
        except Exception as error:
            if not self.left:
                raise
            raise self._uncertain(f"its answer was lost, and it was not repeated: {error}") from error
        if isinstance(got, Lost):
            raise self._uncertain(got.reason) if self.left else Unreachable(self.address.place, got.reason)
        try:
            return self._understood(got, lost_before)
        except ReelbookError:
            raise
        except Exception as error:
            # Whatever it is, the request was sent.
            raise self._uncertain(f"its answer could not be read: {type(error).__name__}") from None

    def _understood(self, got: Answer, lost_before: bool) -> T:
        if not got.is_good:
            error = refusal(got, self.key)
            self.asked = asked_pause(error)
            is_settled = is_refusal(got.status, value_of(got, self.key))
            if is_settled and not (lost_before and got.status in GATES):
                raise error
            what = f"“{error.message[:200]}”" if is_settled or not error.foreign else glimpse(got, self.key)
            raise self._uncertain(doubt(got.status, what), got.status)
        told = self.read(value_of(got, self.key))
        if told is None:
            raise self._uncertain(f"it answered {got.status} without a request id, with {glimpse(got, self.key)}")
        return told

    async def _sent(self) -> Answer | Lost:
        """One exchange, and another where the service has moved and it is safe to send again."""
        failed = self.address.base_url
        got = await self._exchanged(failed)
        if isinstance(got, Answer) or (self.left and not self.is_repeatable):
            return got
        if not await self.address.moved(failed):
            return got
        return await self._exchanged(self.address.base_url)

    async def _exchanged(self, base_url: str) -> Answer | Lost:
        departure = Departure(self._begins)
        try:
            return await self.exchange(base_url, departure)
        finally:
            self.left = self.left or departure.left

    async def _begins(self) -> None:
        self.begun = True
        if self.sending is not None:
            self.stopped = True
            await self.sending()
            self.stopped = False

    def _uncertain(self, reason: str, status: int = 0) -> UncertainRun:
        return UncertainRun(self.address.place, reason, self.credits, status=status)
