"""SweepJob: the runs of a plan, sent within its limits and followed on the background loop, and what can be asked of that."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections import deque
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

from ..errors import (
    InsufficientCredits,
    InvalidInput,
    LibraryError,
    NotFound,
    OverBudget,
    ReelbookError,
    TooManyRequests,
    Unauthorized,
    UncertainRun,
    Unreachable,
)
from ..models.queue_status import IN_PROGRESS
from ..runs.run import cancel_runs
from ..runs.submit import Submission
from ..storage.ledger import transitions
from ..storage.ledger.schema import Budget, Spend, join_scope
from ..storage.run_status import RunStatus, get_end_status
from ..transport.answers import get_pause
from ..util import registry
from ..util.background_loop import background
from ..util.notebook import get_kernel_shell
from ..util.printable import format_count
from .background_job import BackgroundJob
from .options import EMBEDDED_AT_ONCE, HOSTED_AT_ONCE, RunOptions
from .plan import spread_rows
from .plan_summary import find_prices, format_spending, sum_or_none
from .progress import (
    CALL_SECONDS,
    Progress,
    RunName,
    Standing,
    find_known,
    format_error,
    format_interrupt,
    get_error_type,
    load_standings,
    make_budget_scope,
    make_progress,
    make_standing,
    name_rows,
)
from .values import usage_error

if TYPE_CHECKING:
    import pandas as pd

    from ..client import Client
    from ..runs.run import Run
    from .plan import Plan

SAME_FOR_ALL = (Unauthorized, InsufficientCredits, NotFound, LibraryError)
"""Errors that would occur for every run: of the key, the credits, the model, the disk."""
MAX_LOST = 8
"""The sweep stops after this many consecutive lost answers, each of which may have cost its price."""
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 30.0
MAX_FAILURES = 40
"""An active sweep asks a service that cannot be reached so often in a row, which takes about a quarter of an hour."""
INTERRUPT_SECONDS = 0.6
"""How long an interrupt waits for the answers to sent requests: not longer, because the user waits for the prompt."""

log = logging.getLogger("reelbook")


class Stopped(ReelbookError):
    """The user stopped the sweep, or closed its client; the argument states which, as a clause."""

    def __str__(self) -> str:
        return f"{self.args[0]}. Run the plan again to continue: nothing is paid for twice."


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
        self._client, self._context, self._options = client, client.context, options
        self._service = ""
        self._standings = list(map(make_standing, plan))
        """How each distinct run stands; each row by itself until the library was asked."""
        self._stopped_by: BaseException | None = None
        """The reason why sending has stopped."""
        self._began, self._ended = time.monotonic(), None  # type: float, float | None
        self._is_prepared = self._is_paused = False
        usual = EMBEDDED_AT_ONCE if client.is_embedded else HOSTED_AT_ONCE
        self._at_once = options.concurrency or usual
        self._budget: Budget | None = None
        self._spend = None if options.spend is None else Spend(options.spend)
        self._queue: deque[Standing] = deque()
        """The runs to be sent, in order."""
        self._tasks: dict[asyncio.Task[None], Standing] = {}
        """A task for each run that is under way."""
        self._submitting: dict[Standing, Submission] = {}
        self._last_budget_taken: asyncio.Event | None = None
        """Set when the previously sent run has claimed its share of the limits."""
        self._wake = asyncio.Event()
        self._next_send = self._pause_until = -math.inf
        """When the rate allows another run, and when a service that failed is asked again."""
        self._failures = self._lost_in_a_row = 0
        self._is_proven = self._is_full = False

    def begin(self) -> None:
        """Start sending. May be called only once."""
        background.submit(self._execute())

    @property
    def progress(self) -> Progress:
        """A snapshot of the current state."""
        state, reason = (
            "paused" if self._is_paused else "running" if self._is_prepared else "preparing",
            self.stopped_by,
        )
        if self.is_done or self._stopped_by is not None:
            state = "done" if self.is_done else "stopping"
        # A stop after everything was sent, and without cancelled runs, had no effect.
        is_missing = any(run.status in (RunStatus.NOT_STARTED, RunStatus.CANCELLED) for run in self._standings)
        reason = None if state == "done" and isinstance(reason, Stopped) and not is_missing else reason
        left = self._pause_until - time.monotonic()
        return make_progress(
            self._standings, now=self._ended or time.monotonic(), began=self._began, state=state,
            reason=None if reason is None else str(reason), budget=self._options.budget, spend=self._options.spend,
            waits=f"waiting to ask the service again, {left:.0f} s left" if left >= 1 else "",
        )  # fmt: skip

    @property
    def stopped_by(self) -> BaseException | None:
        """The reason why sending has stopped, or the error that ended the sweep; None if there is none."""
        return self._failure or self._stopped_by

    @property
    def frame(self) -> pd.DataFrame:
        """The table so far: one row per run of the plan, with the results received."""
        from .tables import make_result_table

        return make_result_table(self.plan, self._standings, self._context, self._service, take=self._options.take)

    @property
    def panel(self) -> Any:
        """A widget with the progress and buttons to pause and cancel, for display or a layout."""
        return registry.find("Panel")(self)

    def grid(self, rows: str | None = None, cols: str | None = None, tabs: str | None = None) -> Any:
        """The clips on one clock, as `table.reel.grid`, filling while the sweep runs."""
        return registry.find("Grid")(self.frame, parts={"rows": rows, "cols": cols, "tabs": tabs}, job=self)

    def pause(self) -> None:
        """Stop sending until `resume()`; sent runs continue."""
        background.wait(self._pause(True), CALL_SECONDS)

    def resume(self) -> None:
        """Continue after `pause()`."""
        background.wait(self._pause(False), CALL_SECONDS)

    def cancel(self, *, queued: bool = False, running: bool = False) -> str | None:
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

    def _get_result(self) -> pd.DataFrame:
        return self.frame

    # On the background loop.

    async def _execute(self) -> None:
        try:
            await self._send_all()
        except BaseException as error:
            self._failure = error
            if not isinstance(error, Exception):
                raise
        finally:
            self._finish(self._options.notify)

    async def _send_all(self) -> None:
        """Send what is missing until nothing more can be sent and all sent runs have ended."""
        await self._prepare()
        self._is_prepared = True
        self._signal_change()
        while self._tasks or (self._queue and self._stopped_by is None):
            self._wake.clear()
            pause = self._get_pause()
            if pause == 0.0:
                self._start_next()
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()
        if self._stopped_by is not None:
            for standing in self._standings:
                if standing.status == RunStatus.NOT_STARTED:
                    standing.change(RunStatus.NOT_STARTED, self._stopped_by)
            has_panel = bool(self._listeners) and get_kernel_shell() is not None  # Which says it.
            if not isinstance(self._stopped_by, Stopped) and not has_panel:
                log.warning("The sweep has stopped. %s", format_error(self._stopped_by))
        self._ended = time.monotonic()

    async def _pause(self, is_paused: bool) -> None:
        self._is_paused = is_paused
        self._signal_change()

    async def _cancel(self, queued: bool, running: bool) -> str | None:
        # Runs being sent may reach the queue.
        await self._stop("The sweep was cancelled", CALL_SECONDS if queued or running else 0)
        if not (queued or running):
            return None
        standings = [each for each in self._tasks.values() if running or each.status == RunStatus.WAITING]
        return await cancel_runs([each.run for each in standings if each.run is not None], at_work=running)

    async def _stop(self, why: str, seconds: float) -> None:
        """Stop sending, and wait so long for the answers to requests in flight, so that reports about them are accurate."""
        if not self.is_done:
            self._stop_sending(Stopped(why))
        deadline = time.monotonic() + seconds
        while self._submitting and time.monotonic() < deadline:
            await asyncio.sleep(0.02)

    def _stop_sending(self, reason: BaseException) -> None:
        # Without an await, so that no step of a submission interleaves.
        if self._stopped_by is None:
            self._stopped_by = reason
            for submission in self._submitting.values():
                submission.stopped = True
            self._context.sweep_runs.difference_update(each.run.id for each in self._tasks.values() if each.run)
            # Submitted without an await in between, so that no run can be marked as sent after the stop.
            note = f"sweep: {get_error_type(reason)}"
            self._context.ledger.submit(lambda db: transitions.record_event(db, None, "stop", note))
        self._signal_change()

    def _signal_change(self) -> None:
        """Signal a change to the sending loop and to listeners."""
        self._wake.set()
        self._changed.set()

    async def _prepare(self) -> None:
        """Join the runs in their budget, load their states from the library, and queue the missing ones."""
        ledger, options = self._context.ledger, self._options
        self._service, names = await name_rows(self.plan.rows, self._context, take=options.take)
        keys = [name.key for name in names.values() if isinstance(name, RunName)]
        if options.budget is not None:
            scope = options.scope or make_budget_scope(self._service, keys)
            self._budget = Budget(scope, options.budget)
            await ledger.transact(lambda db: join_scope(db, scope, self._service, keys))
        standings = await asyncio.to_thread(
            lambda: load_standings(spread_rows(self.plan), names, self._context, self._service, price=options.price)
        )
        # An uncertain run must be resolved by the user.
        ends = (RunStatus.UNCERTAIN, RunStatus.COMPLETED)
        due = [standing for standing in standings if standing.name is not None and standing.status not in ends]
        # Paid runs come first, because they cost nothing more, whatever the budget.
        self._queue = deque(sorted(due, key=lambda standing: not standing.is_paid))
        self._standings = standings

    def _get_pause(self) -> float | None:
        """Seconds until the next run may be sent; None to wait for a change."""
        # The first run is sent alone, so that a wrong key or an empty account leads to a single refusal.
        at_once = self._at_once if self._is_proven and not self._is_full else 1
        if not self._queue or self._stopped_by is not None or self._is_paused or len(self._tasks) >= at_once:
            return None
        return max(self._pause_until - time.monotonic(), self._next_send - time.monotonic(), 0.0)

    def _start_next(self) -> None:
        if self._options.rate is not None:
            # Evenly spaced: there is no burst after a pause.
            self._next_send = max(self._next_send, time.monotonic()) + 1 / self._options.rate
        standing = self._queue.popleft()
        task = asyncio.get_running_loop().create_task(self._run(standing))
        self._tasks[task] = standing
        task.add_done_callback(self._on_task_done)

    def _back_off(self, error: Exception) -> bool:
        """Pause longer after each failure of the service, and return whether that is worth it. Failures in a pause count once."""
        if time.monotonic() >= self._pause_until:
            pause = get_pause(self._failures, error, first=FIRST_PAUSE_SECONDS, most=MAX_PAUSE_SECONDS)
            self._pause_until, self._failures = time.monotonic() + pause, self._failures + 1
        return self._failures < MAX_FAILURES

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        standing = self._tasks.pop(task)
        if standing.run is not None:
            self._context.sweep_runs.discard(standing.run.id)
            standing.run = None
        if not task.cancelled() and (error := task.exception()) is not None:
            standing.change(RunStatus.FAILED, error)
        self._signal_change()

    async def _run(self, standing: Standing) -> None:
        request, name = standing.row.input, standing.name
        assert request is not None
        assert name is not None
        submission = Submission(
            self._context, request, take=name.take, budget=self._budget, spend=self._spend, price=self._options.price,
        )  # fmt: skip
        before, standing.status = standing.status, RunStatus.WAITING
        submission.stopped = self._stopped_by is not None
        submission.budget_turn, self._last_budget_taken = self._last_budget_taken, submission.budget_taken
        self._submitting[standing] = submission
        try:
            # A task of the client, so that closing the client waits for it.
            run = await self._context.create_task(self._client.submit_run(submission))
        except Exception as error:
            standing.status = before
            self._on_submit_error(standing, error, submission)
            return
        finally:
            submission.budget_taken.set()
            del self._submitting[standing]
        await self._follow(standing, run, submission)

    async def _follow(self, standing: Standing, run: Run, submission: Submission) -> None:
        self._is_proven, self._lost_in_a_row = True, 0
        self._failures = 0
        standing.run = run
        if standing.name is not None:  # A picture file may have changed since it was named.
            standing.name = standing.name._replace(identity=run.entry.identity)
        standing.change(RunStatus.WAITING)
        (self._context.sweep_runs.add if self._stopped_by is None else self._context.sweep_runs.discard)(run.id)
        if not run.from_library:
            standing.is_paid_here = submission.claimed is not None
            standing.count(run.entry, self._options.price)
        run.on_change(lambda _: self._on_progress(standing, run))
        self._signal_change()
        await run.wait_finished()
        if self._context.closed and run.failure is not None:
            return  # No longer followed; it continues at the service.
        standing.count(run.entry, self._options.price)
        standing.change(get_end_status(run.failure), run.failure)
        # It may have cost less than was reserved, so that the next run may fit in the budget.
        self._is_full = False
        if not run.from_library:
            standing.ended = time.monotonic()
        if run.failure is not None:
            if self._options.on_error == "stop":
                self._stop_sending(run.failure)
            return
        standing.file = run.media[0].path if run.media else None

    def _on_progress(self, standing: Standing, run: Run) -> None:
        if standing.status == RunStatus.WAITING and run.status == IN_PROGRESS:
            standing.change(RunStatus.RUNNING)
        self._changed.set()

    def _on_submit_error(self, standing: Standing, error: Exception, submission: Submission) -> None:
        is_lost = isinstance(error, UncertainRun) and not error.repeatable
        is_stopped = type(error) is ReelbookError and (self._stopped_by is not None or self._context.stopping)
        if is_stopped or (self._context.closed and isinstance(error, LibraryError)):
            self._stop_sending(Stopped("The client was closed"))
        elif isinstance(error, OverBudget):
            self._queue.appendleft(standing)
            self._is_full = True
            if len(self._tasks) <= 1:
                self._stop_sending(error)
        elif isinstance(error, SAME_FOR_ALL):
            self._stop_sending(error)
        elif isinstance(error, Unreachable | TooManyRequests | UncertainRun) and not is_lost:
            self._queue.appendleft(standing)
            # A rate limit says nothing against the first run, or against the others.
            is_worth_it = self._is_proven or isinstance(error, TooManyRequests)
            if not (self._back_off(error) and is_worth_it):
                self._stop_sending(error)
        elif isinstance(error, UncertainRun):
            standing.change(RunStatus.UNCERTAIN, error)
            standing.reserved = max(standing.reserved, error.credits or 0)
            standing.is_paid_here = submission.claimed is not None
            self._lost_in_a_row += 1
            if error.status in (429, 503):
                self._back_off(error)
            # A 4xx page for the first request, such as from a proxy or a wrong address, means that all would fail.
            if self._lost_in_a_row >= MAX_LOST or (400 <= error.status < 500 and not self._is_proven):
                self._stop_sending(error)
        else:
            self._is_proven = self._is_proven or not isinstance(error, InvalidInput)
            self._is_full = False
            standing.change(RunStatus.FAILED, error)
            standing.reserved = 0
            if self._options.on_error == "stop":
                self._stop_sending(error)


def make_job(plan: Plan, client: Client, options: RunOptions) -> SweepJob:
    """Create a job that is not started yet; raises without a limit if the service charges real credits."""
    if options.budget is not None or options.spend is not None or client.is_embedded:
        return SweepJob(plan, client, options)
    if not (due := plan.find_due(find_known(plan, client.context, take=options.take))):
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
