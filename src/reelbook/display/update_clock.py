"""Updates of all live outputs, limited to four messages a second in total."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

Bundle = dict[str, Any]
"""One output by MIME type."""
OutputKey = Sequence[Any]
"""A summary of what an output displays: equal keys mean equal output."""

UPDATE_SECONDS = 0.25
"""Interval between two messages. A page that receives more than it can draw lags, and so does the notebook."""

log = logging.getLogger("reelbook")


class LiveOutput:
    """One output that is updated until it is final."""

    def __init__(
        self,
        send: Callable[[Bundle], object],
        bundle: Callable[[], Bundle],
        key: Callable[[], OutputKey],
        *,
        is_over: Callable[[], bool] = lambda: False,
        sent_key: OutputKey = (),
    ) -> None:
        self.key, self.is_over = key, is_over
        self._send, self._bundle, self._sent_key = send, bundle, sent_key
        self._guard, self._is_closed = threading.Lock(), False

    @property
    def has_news(self) -> bool:
        """Whether it has changed since it was sent, or is over."""
        return self.is_over() or self.key() != self._sent_key

    def update(self) -> bool:
        """Send the current output; True if it was the last one."""
        # Read before the output is made: if it ends meanwhile, it is sent once more.
        is_over, key = self.is_over(), self.key()
        bundle = self._bundle()
        with self._guard:
            if not self._is_closed:
                self._send(bundle)
        self._sent_key = key
        return is_over

    def close(self) -> None:
        """Send nothing more, not even an output that is being rendered."""
        with self._guard:
            self._is_closed = True


class OutputUpdater:
    """Updates live outputs one at a time and in turn, in a thread that runs while there are any.

    A thread apart from that of the runs: a slow page must not delay the requests to the service.
    """

    def __init__(self) -> None:
        self._outputs: list[LiveOutput] = []
        """The one that was sent last is at the end."""
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_running = False
        self._next = 0.0

    def add(self, output: LiveOutput) -> None:
        """Update this output until it is over or removed."""
        with self._changed:
            self._outputs.append(output)
            # A thread that is about to end takes no more outputs; after a fork there is none.
            if not self._is_running or self._thread is None or not self._thread.is_alive():
                self._is_running = True
                self._thread = threading.Thread(target=self._run, name="reelbook-progress", daemon=True)
                self._thread.start()

    def remove(self, output: LiveOutput) -> None:
        """Stop updating this output; the caller may send to it afterwards."""
        output.close()
        with self._changed:
            self._drop(output)
            self._next = time.monotonic() + UPDATE_SECONDS
            self._changed.notify_all()

    def join(self, timeout: float | None = None) -> None:
        """Wait until all outputs are over."""
        if self._thread is not None:
            self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._outputs and (pause := self._next - time.monotonic()) > 0:
                    self._changed.wait(pause)
                if not self._outputs:
                    self._is_running = False
                    return
                outputs = list(self._outputs)
                self._next = time.monotonic() + UPDATE_SECONDS
            self._update_first(outputs)

    def _update_first(self, outputs: list[LiveOutput]) -> None:
        """Update the first output that has news; a late message delays the next one as well."""
        for output in outputs:
            try:
                if not output.has_news:
                    continue
                is_over = output.update()
            except Exception:
                # It would fail again each time, and block the others.
                log.debug("an output could not be updated", exc_info=True)
                is_over = True
            with self._changed:
                self._next = time.monotonic() + UPDATE_SECONDS
                if self._drop(output) and not is_over:
                    self._outputs.append(output)
            return

    def _drop(self, output: LiveOutput) -> bool:
        """Take an output from the list; whether it was there."""
        if output not in self._outputs:
            return False
        self._outputs.remove(output)
        return True


updater = OutputUpdater()
"""The updater of this process."""
