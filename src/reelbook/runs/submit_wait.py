"""Waiting until the service has taken a run, by somebody who may stop at any moment; what is being paid for goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ..errors import Interrupted
from ..models.queue_status import IN_PROGRESS, IN_QUEUE
from ..util.background_loop import TICK_SECONDS, background
from ..util.interrupts import raised_once

if TYPE_CHECKING:
    from .run import Run
    from .submission import Submission


def accepted(
    submission: Submission,
    work: Coroutine[Any, Any, Run],
    mark_stop: Callable[[], None],
    show: Callable[[str], None] = lambda waits: None,
) -> Run:
    """The run that comes of some work; an interrupt ends the wait, and nothing is sent after its mark.

    `show` is called now and then with what the submission waits for, empty where that is nothing.
    """
    begun: Future[Run] | None = None
    with raised_once():
        try:
            # No time limit here: each call has its own deadline, and what is being paid for is not given up.
            begun = background.submit(_shielded(submission, work))
            return _until(begun, lambda: show(str(submission.waits)))
        except KeyboardInterrupt:
            submission.stopped = True
            if begun is None:
                work.close()  # It is not begun any more; what has begun ignores this.
            mark_stop()
            raise Interrupted(_stopped_at(begun)) from None


async def _shielded(submission: Submission, work: Coroutine[Any, Any, Run]) -> Run:
    """The outcome of some work that goes on if its caller does not wait for it."""
    return await asyncio.shield(submission.context.begin(work))


def _until(begun: Future[Run], tick: Callable[[], None]) -> Run:
    """The result of background work, in a wait that an interrupt ends at once and that ends nothing but itself."""
    over = threading.Event()
    begun.add_done_callback(lambda _: over.set())
    while not over.wait(TICK_SECONDS):
        tick()
    return begun.result()


def _stopped_at(begun: Future[Run] | None) -> str:
    """What to tell somebody who has interrupted a submission; on a busy machine it may have been accepted a moment before."""
    if begun is not None and begun.done() and not begun.cancelled() and begun.exception() is None:
        run = begun.result()
        if run.status in (IN_QUEUE, IN_PROGRESS):
            return run.goes_on
    return (
        "You interrupted a run while it was being submitted. If it had not left this machine, it does not leave it any more; "
        "if it had, its answer is written down in the background. Run the same again to pick it up while it is under way."
    )
