"""Why the calls of a task are pausing, and for how long, as text for a progress display."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..errors import TooManyRequests

SHORT_SECONDS = 1.0
"""Shorter pauses are not reported."""


class PauseNote:
    """The current pause of a task, if there is one."""

    def __init__(self) -> None:
        self._reason, self._until = "", 0.0

    def __str__(self) -> str:
        """A sentence without its full stop, with the seconds left; empty outside a pause."""
        reason, left = self._reason, self._until - time.monotonic()
        return f"{reason}, {max(left, 0):.0f} s left" if reason else ""

    @contextmanager
    def during(self, error: BaseException | None, seconds: float) -> Iterator[None]:
        """Report a pause for the duration of the block."""
        self.begin(error, seconds)
        try:
            yield
        finally:
            self.end()

    def begin(self, error: BaseException | None, seconds: float) -> None:
        """Report that a pause of this length begins, because of this error."""
        if seconds >= SHORT_SECONDS:
            limit = isinstance(error, TooManyRequests)
            self._reason = "waiting for the service's rate limit" if limit else "waiting to ask the service again"
            self._until = time.monotonic() + seconds

    def end(self) -> None:
        """Report that the pause is over."""
        self._reason = ""


pause_note: ContextVar[PauseNote | None] = ContextVar("pause_note", default=None)
"""The note to which the calls of this task report their pauses."""
