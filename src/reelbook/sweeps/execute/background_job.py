"""BackgroundJob: what a sweep and a race have in common. It can be waited for, awaited, and listened to."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from typing import Any, Generic, Self, TypeVar

from ...errors import Interrupted, InvalidInput, ReelbookError
from ...models.problems import format_literal
from ...util.background_loop import TICK_SECONDS

LISTENER_SECONDS = 0.25
"""Minimum interval between calls of listeners, whatever the number of changes."""
LAST_CALL_SECONDS = 2.0
"""How long the end waits for listeners: a notebook is often saved right after, and its panel must show the end."""

log = logging.getLogger("reelbook")

Outcome = TypeVar("Outcome")


class BackgroundJob(ABC, Generic[Outcome]):
    """Work in the background. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._failure: BaseException | None = None
        """The error that has ended the work."""
        self._done, self._over, self._changed = threading.Event(), threading.Event(), threading.Event()
        self._guard = threading.RLock()
        self._listeners: list[Callable[[Self], Any]] = []
        self._ticker: threading.Thread | None = None
        self._callers: list[threading.Thread] = []
        """The threads that call listeners and functions of the user."""

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return self._done.is_set()

    def wait(self, timeout: float | None = None) -> Outcome:
        """Wait for the end and return what has come of it. An interrupt ends the wait, never the work."""
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float))):
            raise self._make_usage_error(
                f"`timeout` is {format_literal(timeout)}; give a number of seconds, or None to wait for the end.",
                "timeout",
            )
        deadline = None if timeout is None else time.monotonic() + timeout
        # A function called at the end that waits for the job would wait for itself.
        end = self._done if threading.current_thread() in self._callers else self._over
        try:
            # In short steps, because the end of a blocking wait may be missed after an interrupt.
            while not end.wait(
                TICK_SECONDS if deadline is None else max(min(TICK_SECONDS, deadline - time.monotonic()), 0)
            ):
                if deadline is not None and time.monotonic() >= deadline:
                    if self._done.is_set():
                        break  # Only its listeners are still being called.
                    raise self._make_timeout(timeout or 0.0)
        except KeyboardInterrupt:
            raise Interrupted(self._describe_going_on()) from None
        return self._get_outcome()

    def __await__(self) -> Generator[Any, None, Outcome]:
        return self._wait_async().__await__()

    def on_change(self, listener: Callable[[Self], Any]) -> None:
        """Call `listener` with the job after changes, at most four times a second, and once more at the end.

        Listeners are called from a separate thread, so that a slow one delays nothing.
        """
        if not callable(listener):
            raise self._make_usage_error(
                f"on_change() calls a function with the job; {format_literal(listener)} is none.", "listener"
            )
        with self._guard:
            self._listeners.append(listener)
            self._changed.set()
            if self._ticker is None:
                self._ticker = threading.Thread(target=self._call_listeners, name="reelbook-job-news", daemon=True)
                self._callers.append(self._ticker)
                self._ticker.start()

    @abstractmethod
    def _get_result(self) -> Outcome:
        """What has come of it, if it did not fail."""

    @abstractmethod
    def _make_usage_error(self, sentence: str, kind: str) -> InvalidInput:
        """The error for a wrong argument."""

    @abstractmethod
    def _make_timeout(self, waited: float) -> ReelbookError:
        """The error of a wait that has ended before the work."""

    @abstractmethod
    def _describe_going_on(self) -> str:
        """What goes on after an interrupted wait, and how to stop it."""

    def _get_outcome(self) -> Outcome:
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        return self._get_result()

    def _finish(self, notify: Callable[[Self], Any] | None = None) -> None:
        """Record the end; from a thread of its own, call `notify` and all listeners a last time."""
        self._done.set()
        self._changed.set()
        threading.Thread(target=self._call_at_end, args=[notify], name="reelbook-job-end", daemon=True).start()

    def _call_listeners(self) -> None:
        while True:
            self._changed.wait()
            self._changed.clear()
            last = self._done.is_set()
            with self._guard:
                listeners = list(self._listeners)
                if last:
                    self._ticker = None
            for listener in listeners:
                self._call(listener)
            if last:
                return
            # Returns at once after the end, so that the last change is not delayed.
            self._done.wait(LISTENER_SECONDS)

    def _call_at_end(self, notify: Callable[[Self], Any] | None) -> None:
        with self._guard:
            tickers = list(self._callers)
            self._callers.append(threading.current_thread())
        if notify is not None:
            self._call(notify)
        deadline = time.monotonic() + LAST_CALL_SECONDS
        for ticker in tickers:
            ticker.join(max(deadline - time.monotonic(), 0))
        self._over.set()

    def _call(self, function: Callable[[Any], Any]) -> None:
        try:
            function(self)
        except Exception:
            log.warning("A function that was to be called with %s has failed.", type(self).__name__, exc_info=True)

    async def _wait_async(self) -> Outcome:
        # Polled, because an interrupt of a notebook's cell is only delivered when its loop wakes.
        began = time.monotonic()
        while not self._over.is_set():
            await asyncio.sleep(0.02 if time.monotonic() - began < 5 else TICK_SECONDS)
        return await asyncio.to_thread(self._get_outcome)
