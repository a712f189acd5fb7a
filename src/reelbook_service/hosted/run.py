"""One request of the gateway at the paid service: sent once, followed to its end, or continued after a restart.

All of it runs on the background loop, where the client is. The client's library has the last word: what it says was
sent is never sent again, and what it counts is what the request is charged.
"""

from __future__ import annotations

import asyncio
import contextlib
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
from reelbook.models.queue_status import ANSWER_LOST
from reelbook.relay import Client, NothingToSend, Once, RunRecord

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

    client: Client
    once: Once
    request: Input | None
    """The input; None if its pictures are gone, so that it can only be continued."""
    charges_failures: bool
    report: Callable[..., None]
    """Is called at each change of the client's run, and with None and a warning while there is none."""
    ended: Ended | None = None
    _run: Any = None
    """The client's run, while it is followed."""
    _is_cancelled: bool = False
    _is_woken: asyncio.Event = field(default_factory=asyncio.Event)
    """Ends the pause before the next attempt."""
    _is_over: asyncio.Event = field(default_factory=asyncio.Event)

    async def perform(self) -> Ended | None:
        """Send or continue the run until it has one of the ends: completed, or those of `_find_end`.

        None if the gateway stops; the run is taken up again at its next start.
        """
        began, pause, expired, was_paid = time.monotonic(), PAUSE_SECONDS, 0, False
        try:
            while self.client.is_open:
                self._is_woken.clear()
                error = await self._attempt()
                if not self.client.is_open:
                    break
                try:
                    record = await self._record()
                    if record.is_paid and not was_paid:
                        was_paid, began, pause = True, time.monotonic(), PAUSE_SECONDS
                    expired += record.is_expired
                    seconds = RESULT_SECONDS if was_paid else SEND_SECONDS
                    is_late = expired >= MAX_EXPIRED or time.monotonic() - began > seconds
                    if error is None:
                        ended: Ended | None = Ended(*await self.once.result())
                    else:
                        ended = self._find_end(error, record, is_late=is_late)
                    if ended is not None:
                        # A run that may have arrived after all is one whose answer was lost.
                        kind = ANSWER_LOST if record.may_have_arrived and ended.output is None else ended.error_type
                        self.ended = replace(ended, charged=record.credits, error_type=kind)
                        return self.ended
                    what = "result cannot be fetched" if was_paid else "paid service does not take the run"
                    if was_paid or not self._is_cancelled:
                        self.report(None, f"The {what} now ({_format_reason(error)}). It is tried again by itself.")
                except LibraryError as unwritable:
                    # It says what was sent, so nothing happens without it.
                    log.warning("The gateway's record cannot be written (%s); a run waits", unwritable.reason)
                    self.report(None, "The gateway cannot write its record now; the run waits.")
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._is_woken.wait(), pause)
                pause = min(2 * pause, MAX_PAUSE_SECONDS)
            return None
        finally:
            self._is_over.set()

    async def cancel(self) -> bool:
        """Send nothing more, and ask for an end of what is sent until that is answered; false where it is refused."""
        self._is_cancelled = True
        self._is_woken.set()
        self.once.stop()
        while not self._is_over.is_set():
            if self._run is not None:
                with contextlib.suppress(ReelbookError):
                    return bool(await self._run.request_cancel())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._is_over.wait(), PAUSE_SECONDS)
        return self.ended is None or self.ended.error_type == "cancelled"

    async def _record(self) -> RunRecord:
        return await self.once.record(charges_failures=self.charges_failures)

    async def _attempt(self) -> ReelbookError | None:
        """Send or continue the run and follow it; returns why it has no result, None if it has one."""
        try:
            if self._is_cancelled:
                record = await self._record()
                if not (record.is_paid or record.may_have_arrived):
                    return RunCancelled("")
            run = self._run = await self.once.start(self.request)
            run.on_change(self.report)
            self.report(run)
            await run.wait_finished()
        except ReelbookError as error:
            return error
        finally:
            self._run = None
        return run.failure

    def _find_end(self, error: ReelbookError, record: RunRecord, *, is_late: bool) -> Ended | None:
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
                log.warning("A run at the paid service is uncertain: %s%s", error.reason, number)
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
            case _ if is_late and record.is_paid:
                log.warning("A result at the paid service cannot be fetched: %s%s", error, number)
                detail = "The paid service accepted this run, but its result cannot be fetched."
                return _failed(ANSWER_LOST, f"{detail} {WHO_SETTLES}{number}")
            case _ if is_late:
                detail = f"The paid service has not taken this run for {SEND_SECONDS / 60:.0f} minutes ({_format_reason(error)})."
                return _failed("engine_error", f"{detail} It is not your fault; try again later.")
        return None


def _failed(error_type: str, detail: str) -> Ended:
    return Ended(error_type=error_type, detail=detail)


def _format_refusal(error: ReelbookError) -> tuple[str, str]:
    """The error type and the sentence for a student whose run the paid service does not take."""
    match error:
        case InvalidInput():
            return "image_load_error", "A picture of this run cannot be read as a picture."
        case Refused() if not error.foreign:
            kind = error.error_type if error.error_type in INPUT_ERRORS else "validation_error"
            return kind or "", f"The paid service refuses this input: {error.message}"
        case InsufficientCredits():
            why = "the shared account has too few credits left there"
        case Unauthorized():
            why = "the shared key is not accepted there"
        case Forbidden():
            why = "the shared key may not start this run there, or not now"
        case NotFound():
            why = "it does not know this model"
        case _:
            why = "a gateway in front of it refuses the call"
    help_text = "It is not your fault; tell the people who run this service."
    return "engine_error", f"The paid service does not take this run: {why}. {help_text}"


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
