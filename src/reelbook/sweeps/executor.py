"""Executor: sends the runs of a plan within its limits and follows them, entirely on the background loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

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
from ..media.posters import get_posters
from ..models.queue_status import IN_PROGRESS
from ..runs.run import CancelResult, cancel_runs
from ..runs.submit import Submission
from ..settings import options as session_options
from ..storage.ledger import transitions
from ..storage.ledger.schema import Budget, Spend, join_scope
from ..storage.run_status import RunStatus, get_end_status
from ..transport.http import get_pause
from ..util.notebook import get_kernel_shell
from .options import EMBEDDED_AT_ONCE, HOSTED_AT_ONCE, RunOptions
from .plan_rows import spread_rows
from .plan_summary import find_prices, sum_or_none
from .progress import (
    RunName,
    Standing,
    format_error,
    get_error_type,
    load_standings,
    make_budget_scope,
    make_standing,
    name_rows,
)

if TYPE_CHECKING:
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

log = logging.getLogger("reelbook")


class Stopped(ReelbookError):
    """The user stopped the sweep, or closed its client; the argument states which, as a clause."""

    def __str__(self) -> str:
        return f"{self.args[0]}. Run the plan again to continue: nothing is paid for twice."


class Executor:
    """The execution of one plan: one task for each run that is under way, and a loop that starts the next one."""

    def __init__(self, plan: Plan, client: Client, options: RunOptions, changed: Callable[[], None]) -> None:
        self.plan, self.options, self.context = plan, options, client.context
        self.standings = list(map(make_standing, plan))
        """How each distinct run stands; each row by itself until the library was asked."""
        self.stopped_by: BaseException | None = None
        """The reason why sending has stopped."""
        self.began, self.ended = time.monotonic(), None  # type: float, float | None
        self.is_prepared = self.is_paused = self.has_panel = False
        self.service = ""
        self._client, self._changed = client, changed
        usual = EMBEDDED_AT_ONCE if client.is_embedded else HOSTED_AT_ONCE
        self._at_once = options.concurrency or session_options.concurrency or usual
        self._budget: Budget | None = None
        self._spend = None if options.spend is None else Spend(options.spend)
        self._queue: deque[Standing] = deque()
        """The runs to be sent, in order."""
        self._tasks: dict[asyncio.Task[None], Standing] = {}
        self._submitting: dict[Standing, Submission] = {}
        self._last_budget_taken: asyncio.Event | None = None
        """Set when the previously sent run has claimed its share of the limits."""
        self._wake = asyncio.Event()
        self._next_send = self._pause_until = -math.inf
        """When the rate allows another run, and when a service that failed is asked again."""
        self._failures = self._lost_in_a_row = 0
        self._is_proven = self._is_full = False

    async def execute(self) -> None:
        """Execute the plan until nothing more can be sent and all sent runs have ended."""
        await self._prepare()
        self.is_prepared = True
        self.signal_change()
        while self._tasks or (self._queue and self.stopped_by is None):
            self._wake.clear()
            pause = self._get_pause()
            if pause == 0.0:
                self._start_next()
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()
        if isinstance(self.stopped_by, OverBudget):
            self.stopped_by = await self._add_advice(self.stopped_by)
        if self.stopped_by is not None:
            for standing in self.standings:
                if standing.status == RunStatus.NOT_STARTED:
                    standing.change(RunStatus.NOT_STARTED, self.stopped_by)
            if not isinstance(self.stopped_by, Stopped) and not self.has_panel:
                log.warning("The sweep has stopped. %s", format_error(self.stopped_by))
        self.ended = time.monotonic()

    def stop(self, reason: BaseException) -> None:
        """Stop sending. Must run on the loop, so that no step of a submission interleaves."""
        if self.stopped_by is None:
            self.stopped_by = reason
            for submission in self._submitting.values():
                submission.stopped = True
            self.context.sweep_runs.difference_update(each.run.id for each in self._tasks.values() if each.run)
            # Submitted without an await in between, so that no run can be marked as sent after the stop.
            note = f"sweep: {get_error_type(reason)}"
            self.context.ledger.submit(lambda db: transitions.record_event(db, None, "stop", note))
        self.signal_change()

    async def wait_for_answers(self, seconds: float) -> None:
        """Wait until the requests in flight are answered, so that reports about them are accurate."""
        deadline = time.monotonic() + seconds
        while self._submitting and time.monotonic() < deadline:
            await asyncio.sleep(0.02)

    @property
    def waits(self) -> str:
        """The reason for the current pause before the next request, as text; empty if there is none."""
        text = next(filter(None, (submission.pause_text for submission in [*self._submitting.values()])), "")
        left = self._pause_until - time.monotonic()
        return text or (f"waiting to ask the service again, {left:.0f} s left" if left >= 1 else "")

    async def cancel_sent(self, *, running: bool) -> CancelResult:
        """Cancel the runs of this sweep in the service's queue; with `running` also those in progress."""
        standings = [each for each in self._tasks.values() if running or each.status == RunStatus.WAITING]
        runs = [standing.run for standing in standings if standing.run is not None]
        return await cancel_runs(runs, at_work=running)

    def signal_change(self) -> None:
        """Signal a change to the sending loop and to listeners. Must run on the loop."""
        self._wake.set()
        self._changed()

    async def _prepare(self) -> None:
        """Join the runs in their budget, load their states from the library, and queue the missing ones."""
        ledger, options = self.context.ledger, self.options
        self.service, names = await name_rows(self.plan.rows, self.context, take=options.take)
        keys = [name.key for name in names.values() if isinstance(name, RunName)]
        if options.budget is not None:
            scope = options.scope or make_budget_scope(self.service, keys)
            self._budget = Budget(scope, options.budget)
            await ledger.transact(lambda db: join_scope(db, scope, self.service, keys))

        def load() -> list[Standing]:
            rows = self.plan.rows if options.order == "as given" else spread_rows(self.plan)
            return load_standings(rows, names, self.context, self.service, price=options.price)

        standings = await asyncio.to_thread(load)
        # An uncertain run must be resolved by the user.
        ends = (RunStatus.UNCERTAIN, RunStatus.COMPLETED)
        due = [standing for standing in standings if standing.name is not None and standing.status not in ends]
        # Paid runs come first, because they cost nothing more, whatever the budget.
        self._queue = deque(sorted(due, key=lambda standing: not standing.is_paid))
        self.standings = standings

    async def _add_advice(self, error: OverBudget) -> OverBudget:
        """The error of a used-up limit, with the limit that would finish the plan."""
        rows = [standing.row for standing in self._queue if not standing.is_paid]
        due = sum_or_none((await find_prices(rows, self.context, self.options.price)).values())
        if due is None or error.price is None:
            return error
        what = f"spend={due}"
        if self.options.budget is not None:
            total = due + sum(standing.spent + standing.reserved for standing in self.standings)
            budget = f"budget=plan.credits ({total:,})" if total == self.plan.credits else f"budget={total}"
            is_both = self.options.spend is not None
            what = f"{budget}, {what}" if is_both else f"{budget}, or {what} for what is left"
        return OverBudget(error.budget, error.committed, error.price, error.limit, f"To finish the plan: {what}.")

    # Sending.

    def _get_pause(self) -> float | None:
        """Seconds until the next run may be sent; None to wait for a change."""
        # The first run is sent alone, so that a wrong key or an empty account leads to a single refusal.
        at_once = self._at_once if self._is_proven and not self._is_full else 1
        if not self._queue or self.stopped_by is not None or self.is_paused or len(self._tasks) >= at_once:
            return None
        return max(self._pause_until - time.monotonic(), self._next_send - time.monotonic(), 0.0)

    def _start_next(self) -> None:
        if self.options.rate is not None:
            # Evenly spaced: there is no burst after a pause.
            self._next_send = max(self._next_send, time.monotonic()) + 1 / self.options.rate
        standing = self._queue.popleft()
        task = asyncio.get_running_loop().create_task(self._run(standing))
        self._tasks[task] = standing
        task.add_done_callback(self._on_task_done)

    def _back_off(self) -> bool:
        """Pause longer after each failure of the service, and return whether that is worth it. Failures in a pause count once."""
        if time.monotonic() >= self._pause_until:
            pause = get_pause(self._failures, first=FIRST_PAUSE_SECONDS, most=MAX_PAUSE_SECONDS)
            self._pause_until, self._failures = time.monotonic() + pause, self._failures + 1
        return self._failures < MAX_FAILURES

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        standing = self._tasks.pop(task)
        if standing.run is not None:
            self.context.sweep_runs.discard(standing.run.id)
            standing.run = None
        if not task.cancelled() and (error := task.exception()) is not None:
            standing.change(RunStatus.FAILED, error)
        self.signal_change()

    async def _run(self, standing: Standing) -> None:
        request, name = standing.row.input, standing.name
        assert request is not None
        assert name is not None
        submission = Submission(
            self.context, request, take=name.take, budget=self._budget, spend=self._spend, price=self.options.price,
        )  # fmt: skip
        before, standing.status = standing.status, RunStatus.WAITING
        submission.stopped = self.stopped_by is not None
        submission.budget_turn, self._last_budget_taken = self._last_budget_taken, submission.budget_taken
        self._submitting[standing] = submission
        try:
            # A task of the client, so that closing the client waits for it.
            run = await self.context.create_task(self._client.submit_run(submission))
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
        self._failures, self._pause_until = 0, -math.inf
        standing.run = run
        if standing.name is not None:  # A picture file may have changed since it was named.
            standing.name = standing.name._replace(identity=run.entry.identity)
        standing.change(RunStatus.WAITING)
        (self.context.sweep_runs.add if self.stopped_by is None else self.context.sweep_runs.discard)(run.id)
        if not run.from_library:
            standing.is_paid_here = submission.is_paid_here
            standing.count(run.entry, self.options.price)
        run.on_change(lambda _: self._on_progress(standing, run))
        self.signal_change()
        await run.wait_finished()
        if self.context.closed and run.failure is not None:
            return  # No longer followed; it continues at the service.
        standing.count(run.entry, self.options.price)
        standing.change(get_end_status(run.failure), run.failure)
        # It may have cost less than was reserved, so that the next run may fit in the budget.
        self._is_full = False
        if not run.from_library:
            standing.ended = time.monotonic()
        if run.failure is not None:
            if self.options.on_error == "stop":
                self.stop(run.failure)
            return
        standing.file = run.media[0].path if run.media else None
        if get_kernel_shell() is not None and not run.from_library:
            # Create the posters while other runs are in progress, so that the table is displayed quickly afterwards.
            asyncio.get_running_loop().run_in_executor(None, get_posters, [file.path for file in run.media])

    def _on_progress(self, standing: Standing, run: Run) -> None:
        if standing.status == RunStatus.WAITING and run.status == IN_PROGRESS:
            standing.change(RunStatus.RUNNING)
        self._changed()

    def _on_submit_error(self, standing: Standing, error: Exception, submission: Submission) -> None:
        is_lost = isinstance(error, UncertainRun) and not error.repeatable
        is_stopped = type(error) is ReelbookError and (self.stopped_by is not None or self.context.stopping)
        if is_stopped or (self.context.closed and isinstance(error, LibraryError)):
            self.stop(Stopped("The client was closed"))
        elif isinstance(error, OverBudget):
            self._queue.appendleft(standing)
            self._is_full = True
            if len(self._tasks) <= 1:
                self.stop(error)
        elif isinstance(error, SAME_FOR_ALL):
            self.stop(error)
        elif isinstance(error, Unreachable | TooManyRequests | UncertainRun) and not is_lost:
            self._queue.appendleft(standing)
            if not (self._back_off() and self._is_proven):
                self.stop(error)
        elif isinstance(error, UncertainRun):
            standing.change(RunStatus.UNCERTAIN, error)
            standing.reserved = max(standing.reserved, error.credits or 0)
            standing.is_paid_here = submission.is_paid_here
            self._lost_in_a_row += 1
            if error.status in (429, 503):
                self._back_off()
            # A 4xx page for the first request, such as from a proxy or a wrong address, means that all would fail.
            if self._lost_in_a_row >= MAX_LOST or (400 <= error.status < 500 and not self._is_proven):
                self.stop(error)
        else:
            self._is_proven = self._is_proven or not isinstance(error, InvalidInput)
            self._is_full = False
            standing.change(RunStatus.FAILED, error)
            standing.reserved = 0
            if self.options.on_error == "stop":
                self.stop(error)
