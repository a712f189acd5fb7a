"""SweepJob: a plan being executed, with progress, results so far, pausing, cancelling and awaiting; races are such jobs, too."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from ..errors import Interrupted, ReelbookError
from ..runs.run import CancelResult
from ..storage.run_status import RunStatus
from ..util import registry
from ..util.background_loop import TICK_SECONDS, background
from ..util.printable import format_count
from .executor import Executor, Stopped
from .options import RunOptions
from .plan_summary import find_prices, format_spending, sum_or_none
from .progress import CALL_SECONDS, Progress, find_known, format_interrupt, make_progress
from .values import usage_error

if TYPE_CHECKING:
    import pandas as pd

    from ..client import Client
    from .plan import Plan

LISTENER_SECONDS = 0.25
"""Minimum interval between calls of listeners, whatever the number of changes."""
LAST_CALL_SECONDS = 2.0
"""How long the end waits for listeners: a notebook is often saved right after, and its panel must show the end."""
INTERRUPT_SECONDS = 0.6
"""How long an interrupt waits for the answers to sent requests: not longer, because the user waits for the prompt."""

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


class SweepJob(BackgroundJob["pd.DataFrame"]):
    """A plan being executed in the background, created by `plan.start`. Its methods may be called from any thread.

    Example::

        job = rb.sweep(boat, seed=[7, 8]).start(budget=106)
        job.frame, job.wait()
    """

    advice = "cancel it: job.cancel(queued=True) also cancels what is queued at the service"

    def __init__(self, plan: Plan, client: Client, options: RunOptions) -> None:
        super().__init__()
        self.plan = plan
        self._options = options
        self._executor = Executor(plan, client, options, self._changed.set)

    def begin(self, *, has_panel: bool = False) -> None:
        """Start sending. May be called only once. The reason of a stop is logged, unless a panel displays it."""
        self._executor.has_panel = has_panel
        background.submit(self._execute())

    @property
    def progress(self) -> Progress:
        """A snapshot of the current state."""
        executor, reason = self._executor, self.stopped_by
        state = "paused" if executor.is_paused else "running" if executor.is_prepared else "preparing"
        if self._done.is_set() or executor.stopped_by is not None:
            state = "done" if self._done.is_set() else "stopping"
        # A stop after everything was sent, and without cancelled runs, had no effect.
        is_missing = any(run.status in (RunStatus.NOT_STARTED, RunStatus.CANCELLED) for run in executor.standings)
        reason = None if state == "done" and isinstance(reason, Stopped) and not is_missing else reason
        return make_progress(
            executor.standings, now=executor.ended or time.monotonic(), began=executor.began, state=state,
            reason=None if reason is None else str(reason), budget=self._options.budget, spend=self._options.spend,
            waits=executor.waits,
        )  # fmt: skip

    @property
    def stopped_by(self) -> BaseException | None:
        """The reason why sending has stopped, or the error that ended the sweep; None if there is none."""
        return self._failure or self._executor.stopped_by

    @property
    def frame(self) -> pd.DataFrame:
        """The table so far: one row per run of the plan, with the results received."""
        from .tables import make_result_table

        executor = self._executor
        return make_result_table(
            self.plan, executor.standings, executor.context, executor.service, take=self._options.take
        )

    @property
    def panel(self) -> Any:
        """A widget with the progress and buttons to pause and cancel, for display or a layout."""
        return registry.find("Panel")(self)

    def grid(self, rows: str | None = None, cols: str | None = None, tabs: str | None = None) -> Any:
        """The clips on one clock, as `table.reel.grid`, filling while the sweep runs."""
        return registry.find("make_job_grid")(self, rows=rows, cols=cols, tabs=tabs)

    def pause(self) -> None:
        """Stop sending until `resume()`; sent runs continue."""
        background.wait(self._pause(True), CALL_SECONDS)

    def resume(self) -> None:
        """Continue after `pause()`."""
        background.wait(self._pause(False), CALL_SECONDS)

    def cancel(self, *, queued: bool = False, running: bool = False) -> CancelResult | None:
        """Stop sending. Runs already sent continue by default.

        `queued=True` also cancels runs in the service's queue and returns the credits refunded; `running=True` cancels
        runs in progress, too.
        """
        return background.wait(self._cancel(queued, running), CALL_SECONDS)

    def interrupt(self) -> str:
        """Stop sending after an interrupt, and wait briefly for the answers; return what is in progress and how to continue."""
        with contextlib.suppress(TimeoutError, CancelledError):
            background.submit(self._stop("The sweep was interrupted", INTERRUPT_SECONDS)).result(2 * INTERRUPT_SECONDS)
        return format_interrupt(self.progress)

    def __repr__(self) -> str:
        progress = self.progress
        counts = ", ".join(f"{count:,} {status}" for status, count in progress.counts.items() if count)
        money = ", ".join(format_spending(progress))
        reason = f". {progress.reason}" if progress.reason else ""
        return f"<Sweep of {format_count(len(self.plan), 'run')}, {progress.state}: {counts or 'nothing yet'}; {money}{reason}>"

    # On the background loop.

    async def _execute(self) -> None:
        try:
            await self._executor.execute()
        except BaseException as error:
            self._failure = error
            if not isinstance(error, Exception):
                raise
        finally:
            self._finish(self._options.notify)

    async def _pause(self, is_paused: bool) -> None:
        self._executor.is_paused = is_paused
        self._executor.signal_change()

    async def _cancel(self, queued: bool, running: bool) -> CancelResult | None:
        # Runs being sent may reach the queue.
        await self._stop("The sweep was cancelled", CALL_SECONDS if queued or running else 0)
        return await self._executor.cancel_sent(running=running) if queued or running else None

    async def _stop(self, why: str, seconds: float) -> None:
        """Stop sending, and wait so long for the answers to sent requests."""
        if not self._done.is_set():
            self._executor.stop(Stopped(why))
        await self._executor.wait_for_answers(seconds)

    def _get_result(self) -> pd.DataFrame:
        return self.frame


def make_job(plan: Plan, client: Client, options: RunOptions) -> SweepJob:
    """Create a job that is not started yet; raises without a limit if the service charges real credits."""
    if options.budget is not None or options.spend is not None or client.is_embedded:
        return SweepJob(plan, client, options)
    is_stored = find_known(plan, client.context, take=options.take)
    if not (due := [row for row in plan.distinct if not is_stored(row)]):
        # Nothing is due now; the limit ensures that this remains so.
        return SweepJob(plan, client, options.model_copy(update={"spend": 0}))
    prices = background.wait(find_prices(plan.distinct, client.context, options.price), CALL_SECONDS)
    whole, rest = sum_or_none(prices.values()), sum_or_none([prices[row.key] for row in due])
    advice = (
        f"To run all of it: budget={whole}, the most that its runs may ever cost, so running the cell twice pays once; "
        f"or spend={rest}, the most that this call may pay."
    )
    if whole is None or rest is None:
        advice = "Nobody knows what all of its runs cost, so say the most that one run may cost, too: spend=…, price=…"
    raise usage_error(f"Runs on this service cost credits, so a sweep needs a limit. {advice}")
