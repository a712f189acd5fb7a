"""The message after an interrupt of a sweep: what has ended, what goes on, and how to continue."""

from __future__ import annotations

from .progress import Progress
from .sweep_status import SweepStatus


def format_interrupt(progress: Progress) -> str:
    """The message for the user who interrupted a sweep."""
    completed, at_work = progress.counts[SweepStatus.COMPLETED], progress.counts[SweepStatus.RUNNING]
    waiting = max(progress.counts[SweepStatus.WAITING] - progress.queued, 0)
    under_way = [f"{count_runs(at_work)} {_is(at_work)} being worked on"] if at_work else []
    if progress.queued:
        under_way.append(
            f"{count_runs(progress.queued)} {'waits' if progress.queued == 1 else 'wait'} in the service's queue"
        )
    if waiting:
        under_way.append(f"{count_runs(waiting)} {_is(waiting)} being sent")
    completed_text = f"{completed:,} of {count_runs(progress.total)} {'is' if completed == 1 else 'are'} completed"
    words = [
        f"You interrupted a sweep: {completed_text}, and {count_runs(progress.counts[SweepStatus.NOT_STARTED])} will not be sent."
    ]
    if under_way:
        cost = f", which may still cost {progress.reserved:,} credits" if progress.reserved else ""
        words.append(f"In the background, {' and '.join(under_way)}{cost}.")
    if progress.queued:
        back = f" and get {progress.queued_credits:,} credits back" if progress.queued_credits else ""
        words.append(f"To cancel what waits in the queue{back}: rb.cancel_queued().")
    return " ".join([*words, "Run the same plan again to go on: nothing is paid for twice."])


def count_runs(count: int) -> str:
    """The number of runs in words: `1 run`, `1,200 runs`."""
    return f"{count:,} run{'' if count == 1 else 's'}"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
