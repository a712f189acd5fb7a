"""SweepJob: a plan being executed, with progress, results so far, pausing, cancelling and awaiting."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Generator, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import Interrupted, ReelbookError
from ...models.problems import format_literal
from ...runs.cancel import CancelResult
from ...storage.run_status import RunStatus
from ...util.background_loop import TICK_SECONDS, background
from ...util.printable import format_count
from ..money_text import format_spending
from ..sweep_errors import usage_error
from .executor import Executor
from .interrupt_text import format_interrupt
from .ledger_lookup import find_known
from .progress import Progress
from .run_options import RunOptions
from .stop_reasons import Stopped

if TYPE_CHECKING:
    import pandas as pd

    from ...client import Client
    from ...runs.submission import ClientContext
    from ...session import Session
    from ..plan.plan import Plan
    from ..plan.plan_rows import Row

LISTENER_SECONDS = 0.25
"""Minimum interval between calls of listeners, whatever the number of runs."""
CALL_SECONDS, ESTIMATE_SECONDS = 120.0, 10.0
LAST_CALL_SECONDS = 2.0
"""How long the end waits for listeners: a notebook is often saved right after, and its panel must show the end."""
INTERRUPT_SECONDS = 0.6
"""How long an interrupt waits for the answers to sent requests."""

log = logging.getLogger("reelbook")


class StillRunning(ReelbookError, TimeoutError):
    """The wait ended before the sweep, which continues."""

    def __init__(self, finished: int, total: int, waited: float) -> None:
        super().__init__(finished, total, waited)
        self.finished, self.total, self.waited = finished, total, waited

    def __str__(self) -> str:
        return (
            f"After {self.waited:g} s, {self.finished:,} of {self.total:,} runs have ended. The sweep goes on: wait() again, "
            "look at job.frame, or cancel() it."
        )


class SweepJob:
    """A plan being executed in the background, created by `plan.start`. Its methods may be called from any thread.

    Example::

        job = rb.sweep(boat, seed=[7, 8]).start(budget=106)
        job.frame, job.wait()
    """

    def __init__(self, plan: Plan, client: Client, options: RunOptions) -> None:
        self.plan = plan
        self._options = options
        self._executor = Executor(plan, client, options, self._wake_listeners)
        self._failure: BaseException | None = None
        self._done, self._over = threading.Event(), threading.Event()
        self._listeners: list[Callable[[SweepJob], Any]] = []
        self._changed = threading.Event()
        self._guard = threading.Lock()
        self._ticker: threading.Thread | None = None
        self._callers: list[threading.Thread] = []
        """The threads that call listeners and `notify`."""
        self._table: pd.DataFrame | None = None

    def begin(self) -> None:
        """Start sending. May be called only once."""
        background.submit(self._execute())

    @property
    def has_panel(self) -> bool:
        """Whether a panel displays the reason of a stop, so that it is not logged."""
        return self._executor.has_panel

    @has_panel.setter
    def has_panel(self, value: bool) -> None:
        self._executor.has_panel = value

    @property
    def progress(self) -> Progress:
        """A snapshot of the current state."""
        executor = self._executor
        stopped = executor.stopped_by
        if self._done.is_set():
            state = "done"
        elif stopped is not None:
            state = "stopping"
        elif not executor.is_prepared:
            state = "preparing"
        else:
            state = "paused" if executor.is_paused else "running"
        reason = self._failure or stopped
        progress = executor.tally.progress(
            state, None if reason is None else str(reason), self._options.budget, self._options.spend,
            planned=len(self.plan),
        )  # fmt: skip
        queued = executor.queued
        progress = replace(
            progress,
            queued=len(queued),
            queued_credits=sum(standing.reserved for standing in queued),
            waits=executor.waits,
        )
        # A stop after everything was sent, and without cancelled runs, had no effect.
        is_complete = (
            state == "done" and not progress.counts[RunStatus.NOT_STARTED] and not progress.counts[RunStatus.CANCELLED]
        )
        return replace(progress, reason=None) if is_complete and isinstance(reason, Stopped) else progress

    @property
    def is_done(self) -> bool:
        """Whether the sweep has ended."""
        return self._done.is_set()

    @property
    def stopped_by(self) -> BaseException | None:
        """The reason why sending has stopped, or the error that ended the sweep; None if there is none."""
        return self._failure or self._executor.stopped_by

    @property
    def frame(self) -> pd.DataFrame:
        """The table so far: one row per run of the plan, with the results received."""
        if self._table is not None:
            return self._table.copy()
        from ..results.result_frame import make_result_table

        if self.plan.session is not None:
            self.plan.session.register_table_accessor()
        final = self._done.is_set()
        executor = self._executor
        table = make_result_table(
            self.plan, executor.tally, executor.context, executor.service, take=self._options.take
        )
        if not final:
            return table
        self._table = table
        return table.copy()

    @property
    def panel(self) -> Any:
        """A widget with the progress and buttons to pause and cancel, for display or a layout."""
        return self._get_session("draws its panel").make_panel(self)

    def grid(self, rows: str | None = None, cols: str | None = None, tabs: str | None = None) -> Any:
        """The clips on one clock, as `table.reel.grid`, filling while the sweep runs."""
        return self._get_session("draws its clips").make_grid(self, rows=rows, cols=cols, tabs=tabs)

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

    def wait(self, timeout: float | None = None) -> pd.DataFrame:
        """Wait for the end and return the table. An interrupt ends the wait, never the sweep."""
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float))):
            raise usage_error(
                f"`timeout` is {format_literal(timeout)}; give a number of seconds, or None to wait for the end.",
                "timeout",
            )
        try:
            self._wait(timeout)
        except KeyboardInterrupt:
            raise Interrupted(
                "You stopped waiting; the sweep goes on. wait() again, or cancel() it: job.cancel(queued=True) also cancels what "
                "queues at the service."
            ) from None
        return self._get_outcome()

    def __await__(self) -> Generator[Any, None, pd.DataFrame]:
        return self._wait_async().__await__()

    def on_change(self, listener: Callable[[SweepJob], Any]) -> None:
        """Call `listener` with the job after changes, at most four times a second, and once more at the end.

        Listeners are called from a separate thread, so that a slow one does not delay the sweep.
        """
        if not callable(listener):
            raise usage_error(
                f"on_change() calls a function with the job; {format_literal(listener)} is none.", "listener"
            )
        with self._guard:
            self._listeners.append(listener)
            self._changed.set()
            if self._ticker is None:
                self._ticker = threading.Thread(target=self._tick, name="reelbook-sweep-news", daemon=True)
                self._callers.append(self._ticker)
                self._ticker.start()

    def interrupt(self) -> str:
        """Stop sending after an interrupt; return a message on what is in progress and how to continue."""
        self.stop_sending()
        return format_interrupt(self.progress)

    def stop_sending(self) -> None:
        """Stop sending after an interrupt, and wait briefly for the answers to sent requests."""
        with contextlib.suppress(TimeoutError, CancelledError):
            # Not longer, because the user is waiting for the prompt.
            background.submit(self._interrupt()).result(2 * INTERRUPT_SECONDS)

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
            self._done.set()
            self._wake_listeners()
            threading.Thread(target=self._notify, name="reelbook-sweep-end", daemon=True).start()

    async def _pause(self, pause: bool) -> None:
        self._executor.is_paused = pause
        self._executor.signal_change()

    async def _cancel(self, queued: bool, running: bool) -> CancelResult | None:
        await self._stop("The sweep was cancelled")
        if running:
            return await self._executor.cancel_running()
        if not queued:
            return None
        await self._executor.wait_for_answers(CALL_SECONDS)  # Runs being sent may reach the queue.
        return await self._executor.cancel_queued()

    async def _interrupt(self) -> None:
        await self._stop("The sweep was interrupted")
        await self._executor.wait_for_answers(INTERRUPT_SECONDS)

    async def _stop(self, why: str) -> None:
        if not self._done.is_set():
            self._executor.stop(Stopped(why))

    def _get_session(self, purpose: str) -> Session:
        if self.plan.session is None:
            raise ReelbookError(
                f"This plan was made without a client, so that nobody {purpose}: look at job.progress and job.frame."
            )
        return self.plan.session

    def _wake_listeners(self) -> None:
        self._changed.set()

    def _wait(self, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        # A function called at the end that waits for the sweep would wait for itself.
        over = self._done if threading.current_thread() in self._callers else self._over
        # Not the future, whose wait may return early after an interrupt.
        while not over.wait(
            TICK_SECONDS if deadline is None else max(min(TICK_SECONDS, deadline - time.monotonic()), 0)
        ):
            if deadline is not None and time.monotonic() >= deadline:
                progress = self.progress
                raise StillRunning(progress.finished, progress.total, timeout or 0.0)

    # In separate threads.

    def _tick(self) -> None:
        while True:
            self._changed.wait()
            self._changed.clear()
            last = self._done.is_set()
            with self._guard:
                listeners = list(self._listeners)
                if last:
                    self._ticker = None
            for listener in listeners:
                _call_safely(listener, self)
            if last:
                return
            # Returns at once after the end, so that the last change is not delayed.
            self._done.wait(LISTENER_SECONDS)

    def _notify(self) -> None:
        with self._guard:
            tickers = list(self._callers)
            self._callers.append(threading.current_thread())
        if self._options.notify is not None:
            _call_safely(self._options.notify, self)
        deadline = time.monotonic() + LAST_CALL_SECONDS
        for ticker in tickers:
            ticker.join(max(deadline - time.monotonic(), 0))
        self._over.set()

    def _get_outcome(self) -> pd.DataFrame:
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        return self.frame

    async def _wait_async(self) -> pd.DataFrame:
        # Polled, because an interrupt of a notebook's cell is only delivered when its loop wakes.
        began = time.monotonic()
        while not self._over.is_set():
            await asyncio.sleep(0.02 if time.monotonic() - began < 5 else TICK_SECONDS)
        return await asyncio.to_thread(self._get_outcome)


def make_job(plan: Plan, client: Client, options: RunOptions) -> SweepJob:
    """Create a job that is not started yet; raises without a limit if the service charges real credits."""
    if not hasattr(client, "context"):
        raise usage_error(f"`client` is {format_literal(client)}; give what rb.connect() gave.", "client")
    if options.budget is None and options.spend is None and not client.is_embedded:
        have = find_known(plan, client.context, take=options.take)
        due = [row for row in plan.distinct if not have(row)]
        if due:
            raise usage_error(
                _format_missing_limit(*background.wait(_estimate_plan(plan, due, client.context), CALL_SECONDS)),
                "budget",
            )
        # Nothing is due now; the limit ensures that this remains so.
        options = replace(options, spend=0)
    return SweepJob(plan, client, options)


async def _estimate_plan(plan: Plan, due: Sequence[Row], context: ClientContext) -> tuple[int | None, int | None]:
    """The price of a plan and of its due rows, from the service; from the plan if the service fails or is slow."""
    prices = {row.key: row.credits for row in plan.distinct}
    with contextlib.suppress(ReelbookError, TimeoutError):
        async with asyncio.timeout(ESTIMATE_SECONDS):
            for row in plan.distinct:
                if row.input is not None:
                    prices[row.key] = (await context.estimate(row.input)).counted
    return _sum_or_none(prices.values()), _sum_or_none([prices[row.key] for row in due])


def _sum_or_none(prices: Collection[int | None]) -> int | None:
    known = [price for price in prices if price is not None]
    return sum(known) if len(known) == len(prices) else None


def _format_missing_limit(price: int | None, due: int | None) -> str:
    needs = "This service charges real credits, so a sweep on it needs a limit."
    if price is None or due is None:
        return (
            f"{needs} Nobody knows what all of its runs cost, so say the most that one run may cost, too: "
            "spend=…, price=…"
        )
    paid = "" if due == price else f" {due:,} of them are due, the rest is paid."
    return (
        f"{needs} The plan costs {price:,} credits.{paid} To run all of it: spend={due}, the most that this call may pay; "
        f"or budget={price}, the most that its runs may cost together whoever pays and whenever, so that a cell that is "
        "run twice pays once."
    )


def _call_safely(function: Callable[[SweepJob], Any], job: SweepJob) -> None:
    try:
        function(job)
    except Exception:
        log.warning("A function that a sweep was to call has failed.", exc_info=True)
