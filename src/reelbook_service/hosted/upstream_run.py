"""One request of the gateway at the service elsewhere: sent once, followed to its end, or continued after a restart.

All of it runs on the background loop, where the client is. The ledger has the last word: what it says was sent is
never sent again, and what it counts is what the request is charged.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from reelbook.client import Client
from reelbook.errors import (
    Forbidden,
    InsufficientCredits,
    InvalidInput,
    LibraryError,
    NotFound,
    ReelbookError,
    Refused,
    RunCancelled,
    RunFailed,
    ServiceBroken,
    TooManyRequests,
    Unauthorized,
    UncertainRun,
    Unreachable,
)
from reelbook.models.base import Input
from reelbook.models.queue_status import ANSWER_LOST, COMPLETED, IN_QUEUE
from reelbook.runs.run import Run
from reelbook.runs.submission import ClientContext, Submission
from reelbook.storage.ledger import crash_recovery, transitions
from reelbook.storage.ledger.transitions import COLUMNS, PAID, Entry, State

from .run_end import INPUT_ERRORS, WHO_SETTLES, Ended, Progress, format_reason, format_refusal, get_cost, may_be_charged

SEND_SECONDS = 900.0
"""How long a run waits for a service that does not take it: busy, or not there."""
RESULT_SECONDS = 3600.0
"""How long the result of a run that is paid for is asked for, after the first failure."""
PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.5, 15.0
CANCEL_ANSWER_SECONDS = 8.0
"""How long the caller of a cancellation waits for the answer from elsewhere."""
MAX_EXPIRED = 3
"""How often a run is asked for that the service says it does not know."""
log = logging.getLogger("reelbook_service")


class Stopped(Exception):
    """The gateway is stopping; the run is taken up again at its next start."""


class _End(Exception):
    """Carries the end of a run out of its steps."""

    def __init__(self, ended: Ended) -> None:
        super().__init__(ended)
        self.ended = ended


@dataclass
class UpstreamRun:
    """One request of the gateway, from its claim in the ledger to its files."""

    client: Client
    model: str
    take: int
    """The number of the request in the ledger, which no other request has."""
    request: Input | None
    """The input; None if its pictures are gone, so that it can only be continued."""
    may_be_sent: bool
    """Whether an earlier process may have sent it."""
    charges_failures: bool
    report: Callable[[Progress], None]
    is_cancelled: bool = False
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _cancel_answer: asyncio.Event = field(default_factory=asyncio.Event)
    _is_cancel_refused: bool = False
    _submission: Submission | None = None
    _run: Run | None = None
    _entry_id: int | None = None
    _lines: int = 0

    async def perform(self) -> Ended:
        """Send or continue the run, and follow it to its end."""
        context = self.client.context
        self._cancel_answer.clear()
        try:
            run = await self._start(context)
            return await self._follow(context, run)
        except _End as end:
            return end.ended
        except ReelbookError:
            if context.stopping:
                raise Stopped from None
            raise
        finally:
            self._cancel_answer.set()

    async def cancel(self) -> bool:
        """Cancel the run; false where the service elsewhere refuses."""
        self.is_cancelled = True
        self._wake.set()
        if self._submission is not None:
            self._submission.stopped = True
        try:
            async with asyncio.timeout(CANCEL_ANSWER_SECONDS):
                await self._cancel_answer.wait()
        except TimeoutError:
            pass  # It is asked for again until it is answered.
        return not self._is_cancel_refused

    # Sending.

    async def _start(self, context: ClientContext) -> Run:
        """The accepted run; waits for as long as the service elsewhere is busy or away."""
        began, pause = time.monotonic(), PAUSE_SECONDS
        while True:
            try:
                if self.may_be_sent and (run := await self._continue(context)) is not None:
                    return run
                await self._end_if_cancelled(context)
                return await self._send(context)
            except UncertainRun as error:
                if not error.repeatable:
                    await self._end_uncertain(context, error.reason)
                reason: ReelbookError = error
            except (InsufficientCredits, Unauthorized, Forbidden, NotFound, Refused, InvalidInput) as error:
                log.warning("The service elsewhere does not take a run of %s: %s", self.model, error)
                await self._end(context, *format_refusal(error))
            except (TooManyRequests, Unreachable, ServiceBroken, LibraryError) as error:
                reason = error
            except ReelbookError:
                await self._end_if_cancelled(context)
                raise
            await self._end_if_cancelled(context)
            if time.monotonic() - began > SEND_SECONDS:
                await self._end(
                    context, "engine_error",
                    f"The service elsewhere has not taken this run for {SEND_SECONDS / 60:.0f} minutes ({format_reason(reason)}). "
                    "It is not your fault; try again later.",
                )  # fmt: skip
            self._say(
                f"The service elsewhere does not take the run now ({format_reason(reason)}); it waits.", "WARNING"
            )
            await self._sleep(context, pause)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)

    async def _send(self, context: ClientContext) -> Run:
        if self.request is None:
            await self._end(context, "file_download_error", "A picture of this run is gone by now. Upload it again.")
        assert self.request is not None
        submission = self._submission = Submission(context, self.request, take=self.take)
        # From here on a ledger row may exist, and after a failure only that says what happened.
        self.may_be_sent = True
        task = context.create_task(self.client.submit_run(submission, watched=True))
        try:
            # Shielded: a paid request in flight is never dropped.
            return await asyncio.shield(task)
        finally:
            self._submission = None

    async def _continue(self, context: ClientContext) -> Run | None:
        """The run that an earlier process, or an earlier attempt, has sent; None if nothing was sent."""
        entry = await self._find_entry(context)
        if entry is None:
            return None
        self._entry_id = entry.id
        if entry.state in (State.FAILED, State.CANCELLED):
            await self._end_like(context, entry.error_type, entry.error or entry.state)
        if entry.state == State.UNCERTAIN:
            await self._end_uncertain(context, entry.error or "its answer was lost")
        is_here = await self._is_here(context, entry)
        if (entry.state in PAID or entry.state == State.STORED) and entry.request_id is not None:
            if not is_here:
                await self._end_elsewhere(context)
            return await self.client.attach_run(entry.request_id, entry.model)
        if not is_here and may_be_charged(entry):
            await self._end_elsewhere(context)
        return None

    async def _find_entry(self, context: ClientContext) -> Entry | None:
        ledger, take, model = context.ledger, self.take, self.model

        def find(db: Any) -> Entry | None:
            row = db.execute(
                f"SELECT {COLUMNS} FROM runs WHERE take = ? AND model = ? ORDER BY id DESC LIMIT 1", (take, model)
            ).fetchone()
            return None if row is None else crash_recovery.clear_dead_owner(db, Entry(*row), ledger)

        return await ledger.transact(find)

    async def _is_here(self, context: ClientContext, entry: Entry) -> bool:
        """Whether the service to which a run was sent is the one that this client talks to."""
        return entry.service == await context.name()

    # Following.

    async def _follow(self, context: ClientContext, run: Run) -> Ended:
        """The end of an accepted run, whose result is asked for again as long as it cannot be had."""
        began, pause, expired = time.monotonic(), PAUSE_SECONDS, 0
        while True:
            self._run, self._entry_id = run, run.id
            run.on_change(self._on_change)
            self._on_change(run)
            await self._wait_finished(context, run)
            failure = run.failure
            if context.stopping:
                raise Stopped
            entry = await context.ledger.transact(lambda db: transitions.get_entry(db, self._entry_id or 0))
            if failure is None:
                return self._completed(run, entry)
            if isinstance(failure, (RunFailed, RunCancelled)):
                kind = "cancelled" if isinstance(failure, RunCancelled) else failure.error_type
                message = "" if isinstance(failure, RunCancelled) else failure.message
                await self._end_like(context, kind, message)
            expired += entry.state == State.EXPIRED
            if expired >= MAX_EXPIRED or time.monotonic() - began > RESULT_SECONDS:
                log.warning("The result of run %s of the gateway's library could not be had: %s", entry.id, failure)
                await self._end(
                    context, ANSWER_LOST,
                    "The paid service has taken this run, and its result cannot be had. "
                    f"{WHO_SETTLES} It is run {entry.id} of the gateway's library.",
                )  # fmt: skip
            self._say(f"The result cannot be fetched now ({format_reason(failure)}); it is asked for again.", "WARNING")
            await self._sleep(context, pause)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)
            run = await self._attach_again(context, entry, run)

    async def _attach_again(self, context: ClientContext, entry: Entry, run: Run) -> Run:
        try:
            return await self.client.attach_run(entry.request_id or "", entry.model)
        except ReelbookError:
            if context.stopping:
                raise Stopped from None
            return run

    async def _wait_finished(self, context: ClientContext, run: Run) -> None:
        finishing = asyncio.ensure_future(run.wait_finished())
        try:
            while not finishing.done():
                if not self.is_cancelled or self._cancel_answer.is_set():
                    waking = asyncio.ensure_future(self._wait_for_cancellation())
                    await asyncio.wait([finishing, waking], return_when=asyncio.FIRST_COMPLETED)
                    waking.cancel()
                    continue
                try:
                    agreed = await context.calls.cancel(run.endpoint_id, run.request_id)
                except ReelbookError:
                    await asyncio.wait([finishing], timeout=PAUSE_SECONDS)
                    continue
                self._is_cancel_refused = not agreed
                self._cancel_answer.set()
                context.poller.poll_soon(run.request_id)
        finally:
            finishing.cancel()

    async def _wait_for_cancellation(self) -> None:
        """Wait until the run is cancelled; for ever once the cancellation is answered."""
        await (asyncio.Event() if self._cancel_answer.is_set() else self._wake).wait()

    def _on_change(self, run: Run) -> None:
        fraction, stage = run.progress
        lines = run.logs
        new, self._lines = lines[self._lines :], max(self._lines, len(lines))
        is_waiting = run.service_status == IN_QUEUE
        if run.service_status == COMPLETED:
            stage = "fetching the files"
        added = tuple((line, "INFO") for line in new)
        self.report(Progress(is_waiting, run.queue_position, fraction, stage, added, cost=run.credits))

    def _say(self, words: str, level: str) -> None:
        self.report(Progress(True, None, 0.0, "", ((words, level),), is_silent=True))

    async def _sleep(self, context: ClientContext, seconds: float) -> None:
        """Sleep, but return early when the run is cancelled or the gateway stops."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not context.stopping:
            if self.is_cancelled:
                await asyncio.sleep(min(left, PAUSE_SECONDS))
                break
            try:
                async with asyncio.timeout(min(left, PAUSE_SECONDS)):
                    await self._wake.wait()
            except TimeoutError:
                pass
        if context.stopping:
            raise Stopped

    # Ends.

    def _completed(self, run: Run, entry: Entry) -> Ended:
        files = tuple({**known, "path": Path(file.path)} for known, file in zip(entry.files, run.media, strict=True))
        return Ended(get_cost(entry, charges_failures=self.charges_failures), json.loads(entry.output or "{}"), files)

    async def _end_if_cancelled(self, context: ClientContext) -> None:
        """End a cancelled request, unless it has to be repeated first to learn whether it is paid for."""
        if not self.is_cancelled:
            return
        entry = await self._find_entry(context) if self.may_be_sent else None
        if entry is None or not may_be_charged(entry):
            await self._end_like(context, "cancelled", "")

    async def _end_like(self, context: ClientContext, kind: str | None, message: str) -> NoReturn:
        """End the request as the run elsewhere has ended."""
        if kind == "cancelled":
            await self._end(context, "cancelled", "The request was cancelled.")
        error_type = kind if kind is not None and kind in INPUT_ERRORS else "engine_error"
        await self._end(context, error_type, message or "The service elsewhere could not make it.")

    async def _end_uncertain(self, context: ClientContext, reason: str) -> NoReturn:
        """End a request that may or may not be paid for.

        It counts with its price: the budgets together are the most that the account elsewhere can be charged, and a
        refund would break that by one run for each lost answer. Whoever runs the gateway can give the credits back.
        """
        entry = await self._find_entry(context)
        log.warning(
            "Run %s of the gateway's library is uncertain: it may have cost up to %s credits elsewhere (%s).",
            None if entry is None else entry.id, None if entry is None else entry.price, reason,
        )  # fmt: skip
        await self._end(
            context, ANSWER_LOST,
            "It was sent to the paid service and the answer was lost, so nobody knows yet whether it was made and paid for. "
            f"{WHO_SETTLES}",
        )  # fmt: skip

    async def _end_elsewhere(self, context: ClientContext) -> NoReturn:
        await self._end(
            context, ANSWER_LOST,
            "It was sent to another service than the one that is set up now, so its result cannot be had here. "
            f"{WHO_SETTLES}",
        )  # fmt: skip

    async def _end(self, context: ClientContext, error_type: str, detail: str) -> NoReturn:
        """End the request with an error, charged with what the ledger counts."""
        entry = await self._find_entry(context)
        charged = 0 if entry is None else get_cost(entry, charges_failures=self.charges_failures)
        if entry is not None and may_be_charged(entry):
            error_type = ANSWER_LOST  # An earlier attempt may have arrived, whatever came of the last one.
        raise _End(Ended(charged, error_type=error_type, detail=detail))
