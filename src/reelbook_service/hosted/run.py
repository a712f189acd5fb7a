"""One request of the gateway at the paid service: sent once, followed to its end, or continued after a restart.

All of it runs on the background loop, where the client is. The client's library has the last word: what it says was
sent is never sent again, and what it counts is what the request is charged.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

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
    ServiceError,
    TooManyRequests,
    Unauthorized,
    UncertainRun,
    Unreachable,
)
from reelbook.models.base import Input
from reelbook.models.queue_status import ANSWER_LOST, COMPLETED, IN_QUEUE
from reelbook.relay import NothingToSend, Once, Relay, RunRecord

SEND_SECONDS = 900.0
"""How long a run waits for a service that does not take it: busy, or not there."""
RESULT_SECONDS = 3600.0
"""How long the result of a run that is paid for is asked for, after the first failure."""
PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.5, 15.0
MAX_EXPIRED = 3
"""How often a run is asked for that the service says it does not know."""
INPUT_ERRORS = frozenset(
    {"content_policy_violation", "validation_error", "file_download_error", "image_load_error", "lora_load_error"}
)
"""Error types about the input; all others become `engine_error`."""
WHO_SETTLES = "It is never sent again by itself. The people who run this service can look at the account there."

log = logging.getLogger("reelbook_service")


class LaneStopping(Exception):
    """The gateway is stopping; the run is taken up again at its next start."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a run at the paid service."""

    is_waiting: bool = True
    place: int | None = None
    """Its place in the queue there, if that is known."""
    fraction: float = 0.0
    stage: str = ""
    lines: tuple[str, ...] = ()
    """New lines of its log."""
    warning: str = ""
    """What is said while the service is silent."""
    cost: int | None = None
    """What it costs there, if that is known."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a run: its output and files, each with its `path`, or an error."""

    output: Mapping[str, Any] | None = None
    files: tuple[Mapping[str, Any], ...] = ()
    error_type: str = ""
    detail: str = ""
    charged: int | None = None
    """Credits to charge; None for the whole price, where the cost is unknown."""


@dataclass
class PaidRun:
    """One request of the gateway, from its first attempt to its files."""

    relay: Relay
    once: Once
    request: Input | None
    """The input; None if its pictures are gone, so that it can only be continued."""
    charges_failures: bool
    report: Callable[[Progress], None]
    _cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    _answered: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether the paid service has answered a cancellation, or no answer is waited for any more."""
    _is_cancel_refused: bool = False
    _lines: int = 0

    async def perform(self) -> Ended:
        """Send or continue the run until it has one of the ends: completed, or those of `_ended`."""
        began, pause, expired, was_paid = time.monotonic(), PAUSE_SECONDS, 0, False
        self._answered.clear()
        try:
            while True:
                error = await self._attempt()
                if not self.relay.is_open:
                    raise LaneStopping
                record = await self.once.record(charges_failures=self.charges_failures)
                if record.is_paid and not was_paid:
                    was_paid, began, pause = True, time.monotonic(), PAUSE_SECONDS
                expired += record.is_expired
                seconds = RESULT_SECONDS if was_paid else SEND_SECONDS
                is_late = expired >= MAX_EXPIRED or time.monotonic() - began > seconds
                ended = (
                    Ended(*await self.once.result()) if error is None else self._ended(error, record, is_late=is_late)
                )
                if ended is not None:
                    self._is_cancel_refused = ended.error_type != "cancelled"
                    # A run that may have arrived after all is one whose answer was lost.
                    kind = ANSWER_LOST if record.may_have_arrived and ended.output is None else ended.error_type
                    return replace(ended, charged=record.credits, error_type=kind)
                what = "The result cannot be fetched now" if was_paid else "The paid service does not take the run now"
                self.report(Progress(warning=f"{what} ({_format_reason(error)}). It is tried again by itself."))
                await self._sleep(pause)
                pause = min(2 * pause, MAX_PAUSE_SECONDS)
        finally:
            self._answered.set()

    def mark_cancelled(self) -> None:
        """Send nothing more, and ask for an end of what is sent."""
        self._cancelled.set()
        self.once.stop()

    async def cancel(self) -> bool:
        """Cancel the run, and wait for an answer from the paid service; false where it refuses."""
        self.mark_cancelled()
        await self._answered.wait()
        return not self._is_cancel_refused

    async def _attempt(self) -> ReelbookError | None:
        """Send or continue the run and follow it; returns why it has no result, None if it has one."""
        try:
            if self._cancelled.is_set():
                record = await self.once.record(charges_failures=self.charges_failures)
                if not (record.is_paid or record.may_have_arrived):
                    return RunCancelled("")
            run = await self.once.start(self.request)
            run.on_change(self._on_change)
            self._on_change(run)
            await self._wait_finished(run)
        except ReelbookError as error:
            return error
        return run.failure

    # The ends.

    def _ended(self, error: ReelbookError, record: RunRecord, *, is_late: bool) -> Ended | None:
        """How the run ends after an attempt that brought no result; None to try again."""
        number = "" if record.number is None else f" It is run {record.number} of the gateway's library."
        match error:
            case RunCancelled():
                return _failed("cancelled", "The request was cancelled.")
            case RunFailed():
                kind = error.error_type if error.error_type in INPUT_ERRORS else "engine_error"
                return _failed(kind or "", error.message or "The paid service could not make it.")
            case UncertainRun(repeatable=False):
                # It counts with its price: the budgets together are the most that can be charged, and a refund would
                # break that by one run for each lost answer.
                log.warning("Run of the gateway's library is uncertain: %s%s", error.reason, number)
                detail = "It was sent to the paid service and the answer was lost, so nobody knows yet whether it was made and paid for."
                if "another service" in error.reason:
                    detail = "It was sent to another service than the one that is set up now, so its result is not available here."
                return _failed(ANSWER_LOST, f"{detail} {WHO_SETTLES}{number}")
            case NothingToSend():
                return _failed("file_download_error", "A picture of this run is gone by now. Upload it again.")
            case InsufficientCredits() | Unauthorized() | Forbidden() | NotFound() | Refused() | InvalidInput() if (
                not record.is_paid
            ):
                log.warning("The paid service does not take a run of %s: %s", self.once.model, error)
                return _failed(*_format_refusal(error))
            case _ if self._cancelled.is_set() and not (record.is_paid or record.may_have_arrived):
                return _failed("cancelled", "The request was cancelled.")
            case _ if is_late and record.is_paid:
                log.warning("The result of run %s of the gateway's library could not be had: %s", record.number, error)
                detail = "The paid service accepted this run, but its result cannot be fetched."
                return _failed(ANSWER_LOST, f"{detail} {WHO_SETTLES}{number}")
            case _ if is_late:
                detail = f"The paid service has not taken this run for {SEND_SECONDS / 60:.0f} minutes ({_format_reason(error)})."
                return _failed("engine_error", f"{detail} It is not your fault; try again later.")
        return None

    # Following.

    async def _wait_finished(self, run: Any) -> None:
        """Wait for the end of an accepted run; once it is cancelled, ask for its end until that is answered."""
        finishing = asyncio.ensure_future(run.wait_finished())
        cancelled = asyncio.ensure_future(self._cancelled.wait())
        try:
            await asyncio.wait([finishing, cancelled], return_when=asyncio.FIRST_COMPLETED)
            while not (finishing.done() or self._answered.is_set()):
                try:
                    self._is_cancel_refused = not await self.once.cancel(run)
                    self._answered.set()
                except ReelbookError:
                    await asyncio.wait([finishing], timeout=PAUSE_SECONDS)
            await asyncio.wait([finishing])
        finally:
            finishing.cancel()
            cancelled.cancel()

    def _on_change(self, run: Any) -> None:
        fraction, stage = run.progress
        new, self._lines = tuple(run.logs[self._lines :]), max(self._lines, len(run.logs))
        if run.service_status == COMPLETED:
            stage = "fetching the files"
        is_waiting, place = run.service_status == IN_QUEUE, run.queue_position
        self.report(Progress(is_waiting, place, fraction, stage, lines=new, cost=run.credits))

    async def _sleep(self, seconds: float) -> None:
        """Sleep, but return early when the run is cancelled or the gateway stops."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self.relay.is_open:
            await asyncio.sleep(min(left, PAUSE_SECONDS))
            if self._cancelled.is_set():
                return


def _failed(error_type: str, detail: str) -> Ended:
    return Ended(error_type=error_type, detail=detail)


def _format_refusal(error: ReelbookError) -> tuple[str, str]:
    """The error type and the sentence for a student whose run the paid service does not take."""
    match error:
        case InvalidInput():
            return "image_load_error", "A picture of this run cannot be read as a picture."
        case Refused() if not error.foreign:
            kind = error.error_type if error.error_type in INPUT_ERRORS else None
            return kind or "validation_error", f"The paid service refuses this input: {error.message}"
        case InsufficientCredits():
            why = "the shared account has too few credits left there"
        case Unauthorized() | Forbidden():
            why = "the shared key is not accepted there"
        case NotFound():
            why = "it does not know this model"
        case _:
            why = "a gateway in front of it refuses the call"
    words = (
        f"The paid service does not take this run: {why}. It is not your fault; tell the people who run this service."
    )
    return "engine_error", words


def _format_reason(error: ReelbookError | None) -> str:
    """Why a call to the paid service failed, without its address."""
    match error:
        case TooManyRequests():
            return "it limits how much it takes at a time"
        case Unreachable() | UncertainRun():
            return "it does not answer"
        case LibraryError():
            return "its record here cannot be written"
        case ServiceError():
            return f"it answers {error.status}"
    return type(error).__name__
