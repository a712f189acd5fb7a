"""When calls are retried: how often, after which pauses, and within which deadlines."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ..errors import ServiceBroken, ServiceError, TooManyRequests, Unreachable

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
    max_attempts: int = 5
    """How often a free call is sent, or a paid request with an idempotency key."""
    backoff_seconds: float = 0.25
    """Maximum of the first pause; doubled for each further one."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic


def is_temporary(error: BaseException) -> bool:
    """Whether a retry may succeed a moment later."""
    if isinstance(error, ServiceBroken):
        return error.status in TEMPORARY_STATUSES and error.error_type not in FINAL_ERROR_TYPES
    return isinstance(error, (Unreachable, TooManyRequests))


def get_pause(failures: int, error: BaseException | None = None, *, first: float = 0.5, most: float = 30.0) -> float:
    """The seconds to wait after so many earlier failures in a row: twice as long each time, and what the service asks for.

    >>> 0.25 <= get_pause(0) <= 0.5, 2 <= get_pause(3) <= 4, 15 <= get_pause(999) <= 30
    (True, True, True)
    """
    # Random, so that many clients that failed together do not retry together.
    pause = min(first * 2.0 ** min(failures, 20), most) * random.uniform(0.5, 1.0)
    return min(_get_retry_after(error), MAX_RETRY_AFTER_SECONDS) + pause


def _get_retry_after(error: BaseException | None) -> float:
    """The seconds that a refusal asks to wait; 0 without such a request."""
    given = error.facts.get("retry_after") if isinstance(error, ServiceError) else None
    try:
        seconds = float(given) if given is not None else 0.0
    except (TypeError, ValueError):
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0
