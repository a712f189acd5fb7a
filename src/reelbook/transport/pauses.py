"""The one rule of how long to wait before a call is repeated."""

from __future__ import annotations

import random

from ..errors import ServiceError

MAX_RETRY_AFTER_SECONDS = 60.0
"""How far a Retry-After is respected."""


def get_pause(failures: int, error: BaseException | None = None, *, first: float = 0.5, most: float = 30.0) -> float:
    """The seconds to wait after so many earlier failures in a row: twice as long each time, and what the service asks for."""
    # Random, so that many clients that failed together do not retry together.
    pause = min(first * 2.0 ** min(failures, 20), most) * random.uniform(0.5, 1.0)
    asked = error.facts.get("retry_after", 0.0) if isinstance(error, ServiceError) else 0.0
    return min(float(asked), MAX_RETRY_AFTER_SECONDS) + pause
