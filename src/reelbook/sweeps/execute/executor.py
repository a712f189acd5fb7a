"""Executor: sends the runs of a plan within its limits and follows them, entirely on the background loop."""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from ...errors import InvalidInput, LibraryError, OverBudget, ReelbookError, TooManyRequests, UncertainRun, Unreachable
from ...media.posters import get_posters
from ...models.queue_status import COMPLETED as SERVICE_ENDED
from ...models.queue_status import IN_PROGRESS
from ...runs.cancel import CancelResult, cancel_runs
from ...runs.submission import Submission
from ...settings import options as session_options
from ...storage.ledger import known_services, transitions
from ...storage.ledger.budget import Budget, Spend, join_scope, lower_floors
from ...storage.run_status import RunStatus, get_end_status
from ...storage.verify import get_paths
from ..money_text import add_advice, count_affordable, estimate_total
from ..plan.forecast import forecast
from .backoff import Backoff
from .ledger_lookup import RunName, find_rows, make_budget_scope, name_runs
from .order import order_rows
from .progress import Snapshot, Standing, Tally, format_error, get_error_type
from .rate_limit import RateLimit
from .run_options import EMBEDDED_AT_ONCE, HOSTED_AT_ONCE, RunOptions
from .send_window import SendWindow
from .standings import is_due, make_standings
from .stop_reasons import MAX_LOST, SAME_FOR_ALL, Stopped

if TYPE_CHECKING:
    from ...client import Client
    from ...runs.run import Run
    from ..plan.plan import Plan

log = logging.getLogger("reelbook")


class Executor:
    """The execution of one plan."""

    def __init__(self, plan: Plan, client: Client, options: RunOptions, changed: Callable[[], None]) -> None:
        self.plan, self.options, self.tally = plan, options, Tally()
        self.stopped_by: BaseException | None = None
        """The reason why sending has stopped."""
        self.is_prepared, self.is_paused = False, False
        self.service = ""
        self.context = client.context
        self._client, self._changed = client, changed
        usual = EMBEDDED_AT_ONCE if client.is_embedded else HOSTED_AT_ONCE
        self._at_once = options.concurrency or session_options.concurrency or usual
        self._budget: Budget | None = None
        self._spend = None if options.spend is None else Spend(options.spend)
        self._queue: deque[Standing] = deque()
        self._under_way: dict[asyncio.Task[None], Standing] = {}
        self._fetching: set[Standing] = set()
        """Runs that have ended at the service and whose files are being downloaded."""
        self._queue_places: dict[Standing, int] = {}
        """Position in the queue, also for runs that are requeued."""
        self._last_budget_taken: asyncio.Event | None = None
        """Set when the previously sent run has claimed its share of the limits."""
        self._submitting: dict[Standing, Submission] = {}
        self._wake = asyncio.Event()
        self._rate_limit, self._backoff = RateLimit(options.rate), Backoff()
        self._window: SendWindow | None = None
        self._is_proven = self._is_full = self._cancels_running = self.has_panel = False
        self._is_watched = plan.session is not None and plan.session.is_in_notebook
        self._lost_in_a_row = 0

    async def execute(self) -> None:
        """Execute the plan until nothing more can be sent and all sent runs have ended."""
        await self._prepare()
        self.is_prepared = True
        self.signal_change()
        clock = asyncio.get_running_loop().time
        while self._under_way or (self._queue and self.stopped_by is None):
            self._wake.clear()
            pause = self._delay(clock())
            if pause == 0.0:
                self._rate_limit.record_send(clock())
                self._start(self._queue.popleft())
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()
        if isinstance(self.stopped_by, OverBudget):
            due = await estimate_total(
                [standing.row for standing in self._queue if not standing.paid], self.context, self.options.price
            )
            paid = sum(standing.spent + standing.reserved for standing in self.tally)
            self.stopped_by = add_advice(
                self.stopped_by, self.options, due, paid, self.plan.credits, self.tally.differs
            )
        self._close()

    def stop(self, reason: BaseException) -> None:
        """Stop sending. Must run on the loop, so that no step of a submission interleaves."""
        if self.stopped_by is None:
            self.stopped_by = reason
            for submission in self._submitting.values():
                submission.stopped = True
            self.context.sweep_runs.difference_update(standing.id or 0 for standing in self._under_way.values())
            # Submitted without an await in between, so that no run can be marked as sent after the stop.
            self.context.ledger.submit(lambda db: transitions.record_stop(db, f"sweep: {get_error_type(reason)}"))
        self.signal_change()

    async def wait_for_answers(self, seconds: float) -> None:
        """Wait until the requests in flight are answered, so that reports about them are accurate."""
        deadline = asyncio.get_running_loop().time() + seconds
        while self._submitting and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)

    @property
    def waits(self) -> str:
        """The reason for the current pause before the next request, as text; empty if there is none."""
        text = next(filter(None, (str(submission.pause_note) for submission in [*self._submitting.values()])), "")
        left = self._backoff.delay(time.monotonic())  # The same clock as `loop.time()`.
        return text or (f"waiting to ask the service again, {left:.0f} s left" if left >= 1 else "")

    @property
    def queued(self) -> list[Standing]:
        """The runs accepted by the service that are not in progress yet."""
        return [
            standing
            for standing in [*self._under_way.values()]
            if standing.status == RunStatus.WAITING and standing.run is not None
        ]

    async def cancel_queued(self) -> CancelResult:
        """Cancel the runs in the service's queue."""
        return await cancel_runs(self.context, [standing.run for standing in self.queued if standing.run is not None])

    async def cancel_running(self) -> CancelResult:
        """Cancel all runs of this sweep at the service, including those in progress."""
        self._cancels_running = True
        return await cancel_runs(
            self.context,
            [standing.run for standing in [*self._under_way.values()] if standing.run is not None],
            at_work=True,
        )

    def signal_change(self) -> None:
        """Signal a change to the sending loop and to listeners."""
        self._wake.set()
        self._changed()

    # Preparation.

    async def _prepare(self) -> None:
        context, take = self.context, self.options.take
        self.service = await context.name()
        possible = [(row, row.input) for row in self.plan if row.input is not None]
        names = await name_runs([(request, row.take + take) for row, request in possible], context.shelf.find)
        keys = [name.key for name in names if isinstance(name, RunName)]
        if not await asyncio.to_thread(context.ledger.read, known_services.has_sweeps):
            await context.ledger.transact(known_services.record_sweep)
        if self.options.budget is not None:
            scope = self.options.scope or make_budget_scope(self.service, keys)
            self._budget = Budget(scope, self.options.budget)
            await context.ledger.transact(lambda db: join_scope(db, scope, self.service, keys))
        if (price := self.options.price) is not None:
            named = None if self._budget is None else self._budget.scope
            await context.ledger.transact(lambda db: lower_floors(db, self.service, named, price))
        await asyncio.to_thread(
            self._load_standings, dict(zip((row.number for row, _ in possible), names, strict=True))
        )

    def _load_standings(self, names: dict[int, RunName | InvalidInput]) -> None:
        """Load the state of every run from the library and queue the missing ones, paid ones first."""
        keys = [name.key for name in names.values() if isinstance(name, RunName)]
        seen = find_rows(self.context.ledger, self.service, keys, unknown=self.options.price or 0)
        runs = make_standings(order_rows(self.plan, self.options.order), names, seen, get_paths(self.context.shelf))
        for standing, numbers in runs:
            self.tally.add(standing, numbers)
        self.tally.count_stored()
        # Paid runs come first, because they cost nothing more, whatever the budget.
        self._queue.extend(sorted(filter(is_due, self.tally), key=lambda standing: not standing.paid))
        self._queue_places = {standing: place for place, standing in enumerate(self._queue)}
        self.tally.forecast = forecast([standing.row for standing in self._queue], self.context.ledger, self.service)
        self.tally.affordable = self._count_affordable()

    def _count_affordable(self) -> int | None:
        """The number of rows that the limits pay for, with those in the library; None if that is all of them."""
        spend, budget, own_price = self.options.spend, self.options.budget, self.options.price
        limits = [] if spend is None else [spend]
        if budget is not None:
            limits.append(budget - sum(standing.spent + standing.reserved for standing in self.tally))
        prices = [0 if standing.paid else standing.row.credits if own_price is None else own_price for standing in self._queue]  # fmt: skip
        if not limits or None in prices:
            return None
        paid = count_affordable([price or 0 for price in prices], min(limits))
        if paid == len(prices):
            return None
        completed = sum(standing.rows for standing in self.tally if standing.status == RunStatus.COMPLETED)
        return completed + sum(standing.rows for standing in islice(self._queue, paid))

    # Sending.

    def _delay(self, now: float) -> float | None:
        """Seconds until the next run may be sent; None to wait for a change."""
        if not self._queue or self.stopped_by is not None or self.is_paused or not self._has_room(now):
            return None
        if self._is_full and self._under_way:
            return None
        return max(self._backoff.delay(now), self._rate_limit.delay(now))

    def _has_room(self, now: float) -> bool:
        # The first run is sent alone, so that a wrong key or an empty account leads to a single refusal.
        if not self._is_proven:
            return not self._under_way
        if self._window is None:
            expected = len(self._queue) / self.tally.forecast if self.tally.forecast else 0.0
            self._window = SendWindow(self._at_once, now=now, per_second=expected)
        with_service = [standing for standing in self._under_way.values() if standing not in self._fetching]
        working = sum(standing.status == RunStatus.RUNNING for standing in with_service)
        ahead = self._window.ahead(working=working, now=now)
        return len(self._under_way) < self._at_once and len(with_service) - working < ahead

    def _start(self, standing: Standing) -> None:
        task = asyncio.get_running_loop().create_task(self._run(standing))
        self._under_way[task] = standing
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        standing = self._under_way.pop(task)
        standing.run = None
        self.context.sweep_runs.discard(standing.id or 0)
        self._fetching.discard(standing)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.tally.change(standing, RunStatus.FAILED, error)
        self.signal_change()

    async def _run(self, standing: Standing) -> None:
        before = Snapshot(standing.status, standing.error_type, standing.error, standing.reserved)
        request = standing.row.input
        assert request is not None
        assert standing.name is not None
        self.tally.change(standing, RunStatus.WAITING, reserved=standing.reserved)
        submission = Submission(
            self.context,
            request,
            take=standing.name.take,
            budget=self._budget,
            spend=self._spend,
            price=self.options.price,
            is_of_sweep=True,
        )
        try:
            run = await self._submit(standing, submission)
        except Exception as error:
            self._note_difference(submission.stated_price, submission.min_price)
            self._on_submit_error(standing, before, error, is_paid_here=submission.is_paid_here)
            return
        await self._follow(standing, run, submission)

    async def _submit(self, standing: Standing, submission: Submission) -> Run:
        submission.stopped = self.stopped_by is not None
        submission.budget_turn, self._last_budget_taken = self._last_budget_taken, submission.budget_taken
        self._submitting[standing] = submission
        try:
            # A task of the client, so that closing the client waits for it. The first run is polled often, because its
            # duration determines how many runs are sent next.
            return await self.context.create_task(self._client.submit_run(submission, watched=not self._is_proven))
        finally:
            submission.budget_taken.set()
            del self._submitting[standing]

    async def _follow(self, standing: Standing, run: Run, submission: Submission) -> None:
        self._is_proven, self._lost_in_a_row = True, 0
        self._backoff.reset()
        standing.run, standing.id = run, run.id
        if self.stopped_by is None:
            self.context.sweep_runs.add(run.id)
        else:
            self.context.sweep_runs.discard(run.id)
        price = run.credits or 0
        if not run.from_library:
            self.tally.change(
                standing, RunStatus.WAITING, spent=0, reserved=price, is_paid_here=submission.is_paid_here
            )
            self._note_difference(submission.stated_price, submission.min_price)
        run.on_change(lambda _: self._on_progress(standing, run))
        self.signal_change()
        if self._cancels_running:
            await cancel_runs(self.context, [run], at_work=True)
        await run.wait_finished()
        if self.context.closed and run.failure is not None:
            return  # No longer followed; it continues at the service.
        spent, reserved = run.credits or 0, 0
        if run.credits_source == "charged":
            reserved = await self._find_difference(standing, run, submission.min_price)
        elif run.failure is not None:
            spent, reserved = 0, price
        self.tally.change(standing, get_end_status(run.failure), run.failure, spent=spent, reserved=reserved)
        # It may have cost less than was reserved, so that the next run may fit in the budget.
        self._is_full = False
        if not run.from_library:
            self._on_service_end(standing, run)
        self.tally.record_end(standing, run.media if run.failure is None else (), from_library=run.from_library)
        if self._is_watched and run.failure is None and not run.from_library:
            # Create the posters while other runs are in progress, so that the table is displayed quickly afterwards.
            asyncio.get_running_loop().run_in_executor(None, get_posters, [file.path for file in run.media])
        if run.failure is not None and self.options.on_error == "stop":
            self.stop(run.failure)

    async def _find_difference(self, standing: Standing, run: Run, min_price: int) -> int:
        """The amount that the limits count beyond what the service reports as charged."""
        if run.from_library:
            return 0
        if run.failure is not None:
            min_price = await self.context.ledger.transact(lambda db: transitions.get_floor_of_failed(db, run.id))
        charged = (run.credits or 0) - (standing.earlier if standing.is_paid_here else 0)
        self._note_difference(charged, min_price)
        return max(min_price - charged, 0)

    def _note_difference(self, stated_price: int | None, min_price: int) -> None:
        """Record that the service states less than the limits count, unless the caller set the price."""
        if self.options.price is None:
            self.tally.note_difference(stated_price, min_price)

    def _on_progress(self, standing: Standing, run: Run) -> None:
        if self._window is not None:
            at_work = run.service_status == IN_PROGRESS
            self._window.observe(at_work=at_work, position=run.queue_position, under_way=len(self._under_way))
        if standing.status == RunStatus.WAITING and run.status == IN_PROGRESS:
            self.tally.change(standing, RunStatus.RUNNING, reserved=standing.reserved)
            self._wake.set()  # Another run may now be sent.
        if run.service_status == SERVICE_ENDED:
            self._on_service_end(standing, run)
        self._changed()

    def _on_service_end(self, standing: Standing, run: Run) -> None:
        """Record that a run has ended at the service, so that only its files remain to be downloaded."""
        if self._window is not None and standing not in self._fetching:
            self._fetching.add(standing)
            self._window.record_end(now=asyncio.get_running_loop().time(), queued=run.queue_seconds)
            self._wake.set()

    def _on_submit_error(
        self,
        standing: Standing,
        before: Snapshot,
        error: Exception,
        *,
        is_paid_here: bool,
    ) -> None:
        is_retryable = isinstance(error, Unreachable | TooManyRequests) or (
            isinstance(error, UncertainRun) and error.repeatable
        )
        is_stopped = type(error) is ReelbookError and (self.stopped_by is not None or self.context.stopping)
        if is_stopped or (self.context.closed and isinstance(error, LibraryError)):
            self.tally.restore(standing, before)
            self.stop(Stopped("The client was closed"))
        elif isinstance(error, OverBudget):
            self._requeue(standing, before)
            self._is_full = True
            if len(self._under_way) <= 1:
                self.stop(error)
        elif isinstance(error, SAME_FOR_ALL):
            self.tally.restore(standing, before)
            self.stop(error)
        elif is_retryable:
            self._requeue(standing, before)
            is_worth_retrying = self._backoff.record_failure(asyncio.get_running_loop().time())
            if not (is_worth_retrying and self._is_proven):
                self.stop(error)
        elif isinstance(error, UncertainRun):
            self.tally.change(
                standing,
                RunStatus.UNCERTAIN,
                error,
                reserved=max(standing.reserved, error.credits or 0),
                is_paid_here=is_paid_here,
            )
            self._lost_in_a_row += 1
            if error.status in (429, 503):
                self._backoff.record_failure(asyncio.get_running_loop().time())
            # A 4xx page for the first request, such as from a proxy or a wrong address, means that all would fail.
            if self._lost_in_a_row >= MAX_LOST or (400 <= error.status < 500 and not self._is_proven):
                self.stop(error)
        else:
            self._is_proven = self._is_proven or not isinstance(error, InvalidInput)
            self._is_full = False
            self.tally.change(standing, RunStatus.FAILED, error)
            if self.options.on_error == "stop":
                self.stop(error)

    def _requeue(self, standing: Standing, before: Snapshot) -> None:
        self.tally.restore(standing, before)
        bisect.insort(self._queue, standing, key=self._queue_places.__getitem__)

    def _close(self) -> None:
        """Record the stop reason on the runs not started, and finish the tally."""
        if self.stopped_by is not None:
            for standing in self.tally:
                if standing.status == RunStatus.NOT_STARTED:
                    self.tally.change(standing, RunStatus.NOT_STARTED, self.stopped_by)
            if not isinstance(self.stopped_by, Stopped) and not self.has_panel:
                log.warning("The sweep has stopped. %s", format_error(self.stopped_by))
        self.tally.finish()
