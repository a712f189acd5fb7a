"""Patience for tests: a clock that sleeping moves, so that no test waits for a retry."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from reelbook.transport.http import Http, Key, RetryPolicy


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


def outcome(
    base_url: str,
    work: Callable[[Http], Awaitable[Any]],
    *,
    key: str | None = None,
    renew: Callable[[], str] | None = None,
    clock: Clock | None = None,
    **policy: Any,
) -> Any:
    """What some calls of a service come to; an error is given as a value."""

    async def story() -> Any:
        http = Http(base_url, Key(key), renew, policy=(clock or Clock()).policy(**policy))
        try:
            return await work(http)
        except BaseException as error:
            return error
        finally:
            await http.close()

    return asyncio.run(story())
