"""What a piece of work waits for before it asks the service again, for whoever wants to show that."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..errors import TooManyRequests

SHORT_SECONDS = 1.0
"""Pauses shorter than this are not worth a word."""


class Waits:
    """The pause that some work is in, if it is in one."""

    def __init__(self) -> None:
        self._reason, self._until = "", 0.0

    def __str__(self) -> str:
        """A sentence without its full stop, with the seconds left; empty while it does not wait."""
        reason, left = self._reason, self._until - time.monotonic()
        return f"{reason}, {max(left, 0):.0f} s left" if reason else ""

    @contextmanager
    def noted(self, error: BaseException | None, seconds: float) -> Iterator[None]:
        """Tell of a pause while the block lasts."""
        self.begin(error, seconds)
        try:
            yield
        finally:
            self.end()

    def begin(self, error: BaseException | None, seconds: float) -> None:
        """A pause of so many seconds begins, because of this."""
        if seconds >= SHORT_SECONDS:
            limit = isinstance(error, TooManyRequests)
            self._reason = "waiting for the service's rate limit" if limit else "waiting to ask the service again"
            self._until = time.monotonic() + seconds

    def end(self) -> None:
        """It waits no longer."""
        self._reason = ""


waits: ContextVar[Waits | None] = ContextVar("waits", default=None)
"""Where the calls of a task note their pauses."""
