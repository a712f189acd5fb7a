"""Patience for tests: a clock that sleeping moves, so that no test waits for a retry."""

from __future__ import annotations

from typing import Any

from reelbook.transport.http import RetryPolicy


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def policy(self, **changes: Any) -> RetryPolicy:
        """The usual patience, by this clock."""
        return RetryPolicy(**{"sleep": self.sleep, "clock": self, **changes})
