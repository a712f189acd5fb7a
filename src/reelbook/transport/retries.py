"""When a call is repeated, how long it waits before, and when it is given up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from ..errors import ReelbookError, ServiceBroken, ServiceError, TooManyRequests, UncertainRun, Unreachable
from .wait_notes import waits

T = TypeVar("T")

LONGEST_ASKED = 60.0
"""A service's Retry-After is obeyed up to this; one that wants more is not waited for inside a call."""
SETTLED = frozenset({"engine_error", "engine_timeout"})
"""Kinds of errors that tell how a run ended. They come with a 5xx, and asking again changes nothing."""
PASSING = frozenset({408, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one client waits for what, in seconds, and how often it tries. `sleep` and `clock` are for tests."""

    free: float = 60.0
    """One call without a price, all its attempts and pauses together."""
    attempt: float = 30.0
    """One attempt of it."""
    large: float = 600.0
    """One call that sends or receives media, all attempts together; each may take half of it."""
    paid: float = 300.0
    """One paid request: long, because some services answer with the finished video, and a lost answer is lost money."""
    repeatable: float = 60.0
    """One attempt of a paid request that the service recognises when it is repeated."""
    connect: float = 10.0
    """Until a connection stands."""
    silence: float = 35.0
    """Between two signs of life in a stream of events; services send one every 10 seconds."""
    attempts: int = 6
    repeats: int = 4
    """How often a repeatable paid request is sent at most."""
    backoff: float = 0.25
    """The first pause is at most this; each further one may be twice as long."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic


class Quota:
    """A purse that all repetitions of one client share, so that an outage does not become a storm.

    A repetition costs one token and a success gives half a token back: as long as most calls succeed the purse stays
    full, and when nothing works any more it is soon empty, and failures are told at once.
    """

    def __init__(self, tokens: float = 40.0, *, gain: float = 0.5) -> None:
        self._most = self.tokens = tokens
        self._gain = gain

    def take(self) -> bool:
        """Whether one more repetition is allowed; it is then spent."""
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    def give_back(self) -> None:
        """A call succeeded."""
        self.tokens = min(self._most, self.tokens + self._gain)


class FreeCall:
    """The attempts of one call without a price, within one deadline."""

    def __init__(self, patience: Patience, quota: Quota, seconds: float) -> None:
        self._patience, self._quota = patience, quota
        self._deadline = patience.clock() + seconds

    @property
    def seconds_left(self) -> float:
        """How much of the call's deadline is left."""
        return max(0.0, self._deadline - self._patience.clock())

    async def repeated(self, once: Callable[[], Awaitable[T]]) -> T:
        """The first good answer, or the last failure."""
        try:
            return await once()
        except ReelbookError as error:
            if not is_passing(error):
                raise
            failures = [error]

        async def attempt() -> T:
            if failures:
                raise failures.pop()
            if (noted := waits.get()) is not None:
                noted.end()
            return await once()

        # Only now: preparing repetitions costs a sixth of what a whole call does, and nearly all calls need none.
        retrying = AsyncRetrying(
            retry=retry_if_exception(is_passing),
            wait=_pause(self._patience),
            stop=self._is_over,
            sleep=self._patience.sleep,
            before_sleep=_note,
            reraise=True,
        )
        told: T = await retrying(attempt)
        return told

    def _is_over(self, state: RetryCallState) -> bool:
        # In this order: a token is only spent on a repetition that is really made.
        return (
            state.attempt_number >= self._patience.attempts
            or state.upcoming_sleep >= self.seconds_left
            or not self._quota.take()
        )


async def repeated_paid(
    once: Callable[[], Awaitable[T]], patience: Patience, *, asked: Callable[[], float], goes_on: Callable[[], bool]
) -> T:
    """A paid request that the service recognises when it comes again; the first answer, or the last failure.

    `asked` tells the pause that the service wants, `goes_on` whether there may be another attempt. Not from the purse of free calls: to know what became of money comes first.
    """
    retrying = AsyncRetrying(
        retry=retry_if_exception(lambda error: isinstance(error, (UncertainRun, Unreachable)) and goes_on()),
        wait=_pause(patience, asked),
        stop=lambda state: state.attempt_number >= patience.repeats,
        sleep=patience.sleep,
        reraise=True,
    )
    told: T = await retrying(once)
    return told


def is_passing(error: BaseException) -> bool:
    """Whether a failure may be gone a moment later."""
    if isinstance(error, ServiceBroken):
        return error.status in PASSING and error.error_type not in SETTLED
    return isinstance(error, (Unreachable, TooManyRequests))


def asked_pause(error: BaseException | None) -> float:
    """The seconds that a refusal asks us to wait."""
    told = error.facts.get("retry_after") if isinstance(error, ServiceError) else None
    return float(told) if isinstance(told, (int, float)) else 0.0


def _note(state: RetryCallState) -> None:
    """Tell whoever looks on of the pause that begins."""
    if (noted := waits.get()) is not None:
        noted.begin(state.outcome.exception() if state.outcome is not None else None, state.upcoming_sleep)


def _pause(patience: Patience, asked: Callable[[], float] | None = None) -> Callable[[RetryCallState], float]:
    # Random, so that many clients that stumbled together do not come back together.
    backoff = wait_random_exponential(multiplier=patience.backoff, max=LONGEST_ASKED)

    def pause(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        floor = asked() if asked is not None else asked_pause(error)
        return min(floor, LONGEST_ASKED) + backoff(state)

    return pause
