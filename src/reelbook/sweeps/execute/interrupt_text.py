"""The message after an interrupt of a sweep: what has ended, what goes on, and how to continue."""

from __future__ import annotations

from ...storage.run_status import RunStatus
from ...util.printable import format_count
from .progress import Progress


def format_interrupt(progress: Progress) -> str:
    """The message for the user who interrupted a sweep."""
    completed, at_work = progress.counts[RunStatus.COMPLETED], progress.counts[RunStatus.RUNNING]
    waiting = max(progress.counts[RunStatus.WAITING] - progress.queued, 0)
    under_way = [f"{format_count(at_work, 'run')} {_is(at_work)} being worked on"] if at_work else []
    if progress.queued:
        under_way.append(
            f"{format_count(progress.queued, 'run')} {'waits' if progress.queued == 1 else 'wait'} in the service's queue"
        )
    if waiting:
        under_way.append(f"{format_count(waiting, 'run')} {_is(waiting)} being sent")
    completed_text = (
        f"{completed:,} of {format_count(progress.total, 'run')} {'is' if completed == 1 else 'are'} completed"
    )
    words = [
        f"You interrupted a sweep: {completed_text}, and {format_count(progress.counts[RunStatus.NOT_STARTED], 'run')} will not be sent."
    ]
    if under_way:
        cost = f", which may still cost {progress.reserved:,} credits" if progress.reserved else ""
        words.append(f"In the background, {' and '.join(under_way)}{cost}.")
    if progress.queued:
        back = f" and get {progress.queued_credits:,} credits back" if progress.queued_credits else ""
        words.append(f"To cancel what waits in the queue{back}: rb.cancel_queued().")
    return " ".join([*words, "Run the same plan again to go on: nothing is paid for twice."])


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
