"""Work in the background that can be waited for, awaited and listened to: a sweep, or a race."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from typing import Any, Generic, Self, TypeVar

from ..errors import Interrupted, ReelbookError
from ..util.background_loop import TICK_SECONDS

LISTENER_SECONDS = 0.25
"""Minimum interval between calls of listeners, whatever the number of changes."""
LAST_CALL_SECONDS = 2.0
"""How long the end waits for listeners: a notebook is often saved right after, and its panel must show the end."""

log = logging.getLogger("reelbook")

Outcome = TypeVar("Outcome")


class StillRunning(ReelbookError, TimeoutError):
    """The wait ended before the work, which continues."""


class BackgroundJob(ABC, Generic[Outcome]):
    """Work in the background. Its methods may be called from any thread."""

    noun, advice = "sweep", ""
    """What it is called, and how to stop what goes on after an interrupted wait."""

    def __init__(self) -> None:
        self._failure: BaseException | None = None
        """The error that has ended the work."""
        self._done, self._changed = threading.Event(), threading.Event()
        self._guard = threading.RLock()
        self._listeners: list[Callable[[Self], Any]] = []
        self._caller: threading.Thread | None = None
        """The thread that calls the listeners after changes, and a last time at the end."""

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return self._done.is_set()

    def wait(self, timeout: float | None = None) -> Outcome:
        """Wait for the end and return what has come of it. An interrupt ends the wait, never the work."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        try:
            # In short steps, because the end of a blocking wait may be missed after an interrupt.
            while not self._done.wait(max(min(TICK_SECONDS, deadline - time.monotonic()), 0)):
                if time.monotonic() >= deadline:
                    raise StillRunning(
                        f"The {self.noun} continues after {timeout or 0:g} s: call wait() again, look at its panel, or cancel() it."
                    )
            # A listener that waits for the job would wait for itself.
            if self._caller not in (None, threading.current_thread()):
                self._caller.join(max(min(LAST_CALL_SECONDS, deadline - time.monotonic()), 0))
        except KeyboardInterrupt:
            raise Interrupted(
                f"You stopped waiting; the {self.noun} continues. Call wait() again, or {self.advice}."
            ) from None
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        return self._get_result()

    def __await__(self) -> Generator[Any, None, Outcome]:
        return self._wait_async().__await__()

    def on_change(self, listener: Callable[[Self], Any]) -> None:
        """Call `listener` with the job after changes, at most four times a second, and once more at the end.

        Listeners are called from a separate thread, so that a slow one delays nothing.
        """
        with self._guard:
            if self._done.is_set():
                threading.Thread(target=self._call, args=([listener],), daemon=True).start()
                return
            self._listeners.append(listener)
            self._changed.set()
            if self._caller is None:
                self._caller = threading.Thread(target=self._call_listeners, name="reelbook-listeners", daemon=True)
                self._caller.start()

    @abstractmethod
    def _get_result(self) -> Outcome:
        """What has come of it, if it did not fail."""

    def _finish(self, notify: Callable[[Self], Any] | None = None) -> None:
        """Record the end, and have all listeners called a last time, and `notify` once."""
        with self._guard:
            if notify is not None:
                self.on_change(notify)
            self._done.set()
            self._changed.set()

    def _call_listeners(self) -> None:
        is_last = False
        while not is_last:
            self._changed.wait()
            with self._guard:
                self._changed.clear()
                is_last, listeners = self._done.is_set(), [*self._listeners]
            self._call(listeners)
            # Returns at once after the end, so that the last change is not delayed.
            self._done.wait(LISTENER_SECONDS)

    def _call(self, listeners: list[Callable[[Any], Any]]) -> None:
        for listener in listeners:
            try:
                listener(self)
            except Exception:
                log.warning("A listener of %s has failed.", type(self).__name__, exc_info=True)

    async def _wait_async(self) -> Outcome:
        # Polled, because an interrupt of a notebook's cell is only delivered when its loop wakes.
        while not self._done.is_set():
            await asyncio.sleep(0.05)
        return await asyncio.to_thread(self.wait)
