"""The background event loop of the process, on which all HTTP calls run."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

TICK_SECONDS = 0.25


class BackgroundLoop:
    """An event loop in a daemon thread, started on first use, and again after a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the loop and return its `concurrent.futures.Future`."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def wait(self, work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run a coroutine on the loop and block until it ends; an interrupt or a timeout of the wait cancels it."""
        if self._loop is not None and _current_loop() is self._loop:
            work.close()
            raise RuntimeError("A blocking call was made on Reelbook's own loop; await the asynchronous form there.")
        future = self.submit(work)
        try:
            return future.result(timeout)
        except BaseException:
            # Also on an interrupt: the cancelled coroutine itself shields what must not be dropped.
            future.cancel()
            raise

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            # A forked child inherits the loop object but not the thread that ran it.
            if self._loop is None or self._pid != os.getpid():
                self._pid, self._loop = os.getpid(), asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="reelbook-loop", daemon=True).start()
            return self._loop


def _current_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


background = BackgroundLoop()

# A fork while another thread holds the lock would leave it locked for ever in the child.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=background.__init__)  # type: ignore[misc]
