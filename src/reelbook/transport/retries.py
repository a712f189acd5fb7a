"""When calls are retried: how often, after which pauses, and within which deadlines."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from ..errors import ReelbookError, ServiceBroken, ServiceError, TooManyRequests, UncertainRun, Unreachable
from .pause_note import pause_note

T = TypeVar("T")

MAX_RETRY_AFTER_SECONDS = 60.0
"""A service's Retry-After is respected up to this limit."""
MAX_BUSY_SECONDS = 120.0
"""A paid request that is refused with 429 is sent again for so long."""
FINAL_ERROR_TYPES = frozenset({"engine_error", "engine_timeout"})
"""Error types that report how a run ended. They come with a 5xx, and a retry changes nothing."""
TEMPORARY_STATUSES = frozenset({408, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The deadlines, attempts and pauses of one client's calls. Tests replace `sleep` and `clock`."""

    free_seconds: float = 60.0
    """One free call, including all its attempts and pauses."""
    attempt_seconds: float = 30.0
    """One attempt of a free call."""
    large_seconds: float = 600.0
    """One free call that sends or receives media, all attempts together; each may take half of it."""
    paid_seconds: float = 300.0
    """One paid request: long, because some services respond with the finished video, and lost responses cost money."""
    repeatable_attempt_seconds: float = 60.0
    """One attempt of a paid request with an idempotency key."""
    connect_seconds: float = 10.0
    """Until a connection is established."""
    stream_silence_seconds: float = 35.0
    """Between two messages of a stream of events; services send a heartbeat every 10 seconds."""
    max_attempts: int = 6
    max_paid_attempts: int = 4
    """How often a paid request with an idempotency key is sent."""
    backoff_seconds: float = 0.25
    """Maximum of the first pause; doubled for each further one."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic


class RetryQuota:
    """The retry tokens shared by all calls of one client, so that an outage does not cause a storm of retries.

    A retry costs one token and a success returns half a token: as long as most calls succeed the quota stays full;
    in an outage it is soon empty, and calls fail without retries.
    """

    def __init__(self, tokens: float = 40.0, *, gain: float = 0.5) -> None:
        self._max_tokens = self.tokens = tokens
        self._gain = gain

    def take(self) -> bool:
        """Spend one token on a retry; false if none is left."""
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    def refund(self) -> None:
        """Return half a token, because a call succeeded."""
        self.tokens = min(self._max_tokens, self.tokens + self._gain)


class FreeCall:
    """The attempts of one free call, within one deadline."""

    def __init__(self, policy: RetryPolicy, quota: RetryQuota, seconds: float) -> None:
        self._policy, self._quota = policy, quota
        self._deadline = policy.clock() + seconds

    @property
    def seconds_left(self) -> float:
        """The seconds until the call's deadline."""
        return max(0.0, self._deadline - self._policy.clock())

    async def retry(self, once: Callable[[], Awaitable[T]]) -> T:
        """Call `once` until it succeeds; returns the first result, or raises the last failure."""
        try:
            return await once()
        except ReelbookError as error:
            if not is_temporary(error):
                raise
            failures = [error]

        async def attempt() -> T:
            if failures:
                raise failures.pop()
            if (note := pause_note.get()) is not None:
                note.end()
            return await once()

        # Only now: preparing retries costs a sixth of a complete call, and nearly all calls need none.
        retrying = AsyncRetrying(
            retry=retry_if_exception(is_temporary),
            wait=_pause(self._policy),
            stop=self._should_stop,
            sleep=self._policy.sleep,
            before_sleep=_report_pause,
            reraise=True,
        )
        result: T = await retrying(attempt)
        return result

    def _should_stop(self, state: RetryCallState) -> bool:
        # In this order: a token is only spent on a retry that is actually made.
        return (
            state.attempt_number >= self._policy.max_attempts
            or state.upcoming_sleep >= self.seconds_left
            or not self._quota.take()
        )


async def retry_paid(
    once: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    *,
    requested_pause: Callable[[], float],
    may_retry: Callable[[], bool],
) -> T:
    """Send a paid request with an idempotency key until it succeeds; the first response, or the last failure.

    `requested_pause` returns the pause that the service requests, `may_retry` whether another attempt is allowed. These
    retries need no tokens of the quota: knowing whether money was spent has priority.
    """
    retrying = AsyncRetrying(
        retry=retry_if_exception(lambda error: isinstance(error, (UncertainRun, Unreachable)) and may_retry()),
        wait=_pause(policy, requested_pause),
        stop=lambda state: state.attempt_number >= policy.max_paid_attempts,
        sleep=policy.sleep,
        reraise=True,
    )
    result: T = await retrying(once)
    return result


def is_temporary(error: BaseException) -> bool:
    """Whether a retry may succeed a moment later."""
    if isinstance(error, ServiceBroken):
        return error.status in TEMPORARY_STATUSES and error.error_type not in FINAL_ERROR_TYPES
    return isinstance(error, (Unreachable, TooManyRequests))


def get_retry_after(error: BaseException | None) -> float:
    """The seconds that a refusal asks to wait; 0 without such a request."""
    given = error.facts.get("retry_after") if isinstance(error, ServiceError) else None
    try:
        seconds = float(given) if given is not None else 0.0
    except (TypeError, ValueError):
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0


def get_busy_pause(error: TooManyRequests, attempt: int) -> float:
    """Seconds until a paid request refused with 429 is sent again: `Retry-After` plus an exponential back-off with jitter."""
    pause: float = min(0.5 * 2.0**attempt, 20.0) * random.uniform(0.5, 1.0)
    return get_retry_after(error) + pause


def _report_pause(state: RetryCallState) -> None:
    """Report the start of a pause to the current task's `PauseNote`."""
    if (note := pause_note.get()) is not None:
        note.begin(state.outcome.exception() if state.outcome is not None else None, state.upcoming_sleep)


def _pause(
    policy: RetryPolicy, requested_pause: Callable[[], float] | None = None
) -> Callable[[RetryCallState], float]:
    # Random, so that many clients that failed together do not retry together.
    backoff = wait_random_exponential(multiplier=policy.backoff_seconds, max=MAX_RETRY_AFTER_SECONDS)

    def pause(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        floor = requested_pause() if requested_pause is not None else get_retry_after(error)
        return min(floor, MAX_RETRY_AFTER_SECONDS) + backoff(state)

    return pause
