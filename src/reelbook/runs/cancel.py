"""Cancelling runs in a service's queue."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import ReelbookError
from ..models.queue_status import COMPLETED, IN_PROGRESS, IN_QUEUE
from ..util.printable import format_count

if TYPE_CHECKING:
    from .run import Run
    from .submit import ClientContext

NOTICE_SECONDS = 5.0
"""How long to wait for a cancelled run to end; polling notices it later anyway."""


@dataclass(frozen=True, slots=True)
class CancelResult:
    """Result of a request to cancel runs."""

    runs: int = 0
    """Runs that were cancelled."""
    credits: int = 0
    """Credits that come back, as far as the service has said so."""
    at_work: int = 0
    """Runs already in progress, which continue."""
    refused: int = 0
    """Runs that the service did not cancel, or for which the request failed."""

    def __add__(self, other: CancelResult) -> CancelResult:
        return CancelResult(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    def __str__(self) -> str:
        words = []
        if self.runs:
            back = f", {self.credits:,} credits come back" if self.credits else ""
            words.append(f"{_count(self.runs)} cancelled{back}.")
        if self.at_work:
            words.append(f"{_count(self.at_work)} being worked on and not stopped.")
        if self.refused:
            words.append(f"{_count(self.refused)} not cancelled and may still cost credits; look again in a moment.")
        return " ".join(words) or "No runs are waiting in the service's queue."

    def __repr__(self) -> str:
        return f"<{self}>"


async def cancel_runs(context: ClientContext, runs: Collection[Run], *, at_work: bool = False) -> CancelResult:
    """Cancel the runs that are still queued; with `at_work`, also those in progress."""
    before = [run.credits or 0 for run in runs]
    outcomes = await asyncio.gather(*(_cancel_one(context, run, at_work) for run in runs))
    done = [(run, price) for run, price, outcome in zip(runs, before, outcomes, strict=True) if outcome == "cancelled"]
    if done:
        await asyncio.wait([asyncio.ensure_future(run.wait_finished()) for run, _ in done], timeout=NOTICE_SECONDS)
    # Only what the service says: the specification does not promise a refund.
    back = sum(price - (run.credits or 0) for run, price in done)
    return CancelResult(len(done), max(back, 0), outcomes.count("at work"), outcomes.count("refused"))


async def _cancel_one(context: ClientContext, run: Run, at_work: bool) -> str:
    """Try to cancel one run; return the outcome."""
    if run.service_status == COMPLETED:
        return "ended"
    try:
        # Polled first, because it may have started in the meantime.
        status = IN_QUEUE if at_work else (await context.calls.status(run.endpoint_id, run.request_id)).status
        if status != IN_QUEUE:
            return "at work" if status == IN_PROGRESS else "ended"
        if not await context.calls.cancel(run.endpoint_id, run.request_id):
            return "refused"
    except ReelbookError:
        return "refused"
    context.poller.poll_soon(run.request_id)
    return "cancelled"


def _count(runs: int) -> str:
    return f"{format_count(runs, 'run')} {'is' if runs == 1 else 'are'}"
