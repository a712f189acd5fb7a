"""The rate at which the runs of a sweep are sent: how it is written, and how long the next run waits."""

from __future__ import annotations

import math
import re
from typing import Any

from ...models.problems import format_literal
from ..sweep_errors import usage_error

_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(s|sec|second|m|min|minute|h|hour)\s*\Z")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
MAX_RATE = 10**15


def parse_rate(rate: Any) -> float:
    """A rate such as `"10/s"`, `"100/min"` or `30` in runs per second.

    >>> parse_rate("10/s"), parse_rate("90/h"), parse_rate(2)
    (10.0, 0.025, 2.0)
    """
    if isinstance(rate, str) and (found := _RATE.match(rate)):
        per_second = float(found[1]) / _SECONDS[found[2][0]]
    elif isinstance(rate, (int, float)) and not isinstance(rate, bool):
        per_second = float(rate) if rate <= MAX_RATE else math.inf
    else:
        per_second = 0.0
    if not 0 < per_second < float("inf"):
        raise usage_error(f'`rate` is {format_literal(rate)}; write it as "10/s", "100/min" or "30/h".', "rate")
    return per_second


class RateLimit:
    """A limit of runs per second, evenly spaced: there is no burst after a pause.

    >>> pace = RateLimit(2.0)
    >>> pace.delay(now=10.0), pace.record_send(now=10.0), pace.delay(now=10.2)
    (0.0, None, 0.3)
    """

    def __init__(self, per_second: float | None) -> None:
        self._gap = 0.0 if per_second is None else 1.0 / per_second
        self._next = -math.inf

    def delay(self, now: float) -> float:
        """Seconds to wait."""
        return max(round(self._next - now, 6), 0.0)

    def record_send(self, now: float) -> None:
        """Record that a run was sent."""
        self._next = max(self._next, now) + self._gap
