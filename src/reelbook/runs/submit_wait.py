"""Interruptible wait until the service has accepted a run; paid requests in flight are not cancelled."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import Interrupted
from ..models.queue_status import IN_PROGRESS, IN_QUEUE
from ..util.background_loop import TICK_SECONDS, background

if TYPE_CHECKING:
    from .run import Run
    from .submission import Submission


def submit_and_wait(
    submission: Submission,
    work: Coroutine[Any, Any, Run],
    mark_stop: Callable[[], None],
    show: Callable[[str], None] = lambda text: None,
) -> Run:
    """Run `work` in the background and return its run; an interrupt ends the wait and calls `mark_stop`, after which nothing is sent.

    `show` is called regularly with the submission's pause note, which is empty unless it is pausing.
    """
    future: Future[Run] | None = None
    try:
        # No timeout: each request has its own deadline, and a paid request is not abandoned.
        future = background.submit(_run_shielded(submission, work))
        return _wait_until(future, lambda: show(str(submission.pause_note)))
    except KeyboardInterrupt:
        submission.stopped = True
        if future is None:
            # The interrupt may have come before or after the work was handed over.
            background.call(partial(_close_unstarted, work))
        mark_stop()
        raise Interrupted(_format_interrupt(future)) from None


async def _run_shielded(submission: Submission, work: Coroutine[Any, Any, Run]) -> Run:
    """Await `work` as a task that continues if the caller stops waiting."""
    return await asyncio.shield(submission.context.create_task(work))


def _close_unstarted(work: Coroutine[Any, Any, Run]) -> None:
    """Close a coroutine that no task has started; on the loop's own thread, where it cannot start meanwhile."""
    if inspect.getcoroutinestate(work) == inspect.CORO_CREATED:
        work.close()


def _wait_until(future: Future[Run], tick: Callable[[], None]) -> Run:
    """Wait for background work and return its result; an interrupt ends the wait at once, but not the work."""
    over = threading.Event()
    future.add_done_callback(lambda _: over.set())
    while not over.wait(TICK_SECONDS):
        tick()
    return future.result()


def _format_interrupt(future: Future[Run] | None) -> str:
    """Message for an interrupted submission; the service may just have accepted the run."""
    if future is not None and future.done() and not future.cancelled() and future.exception() is None:
        run = future.result()
        if run.status in (IN_QUEUE, IN_PROGRESS):
            return run.resume_hint
    return (
        "You interrupted a run while it was being submitted. If the request had not left this machine yet, it never "
        "will; if it had, its answer is recorded in the background. Run the cell again to pick it up while it is in progress."
    )
