"""Progress reports during a long step, which runs in another thread so that the run can be cancelled."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from .protocol import Log, Progress

T = TypeVar("T")

PAUSE = 0.2
"""Seconds between two reports."""


def wait_with_progress(work: Future[T], news: Progress) -> Generator[Progress, None, T]:
    """The result of a future; yields the same progress report repeatedly until then."""
    yield news
    while wait([work], PAUSE).not_done:
        yield news
    return work.result()


def reporting(news: Progress, step: Callable[[], T]) -> Generator[Progress, None, T]:
    """The result of a step, started after the first of the same reports.

    If closed later, it waits for the step to end: a partly written picture is worse than a short wait.
    """
    yield news
    with ThreadPoolExecutor(1) as thread:
        return (yield from wait_with_progress(thread.submit(step), news))


class StepCancelled(BaseException):
    """The run was cancelled; raised in the thread of its step, also through the loops of libraries."""


class StepReport:
    """Passed to a step that reports its own progress, and ends that step where the run was cancelled."""

    def __init__(self) -> None:
        self._news: queue.SimpleQueue[Progress | Log] = queue.SimpleQueue()
        self._cancelled = threading.Event()

    def progress(self, stage: str, fraction: float) -> None:
        """Report progress; raises `StepCancelled` if the run was cancelled."""
        self.check()
        self._news.put(Progress(stage, fraction))

    def log(self, message: str, level: str = "INFO") -> None:
        """Add a line to the run's log."""
        self._news.put(Log(message, level))

    def check(self) -> None:
        """Raise `StepCancelled` if the run was cancelled."""
        if self._cancelled.is_set():
            raise StepCancelled

    def cancel(self) -> None:
        """End the step at its next report or check."""
        self._cancelled.set()

    def next_news(self) -> Progress | Log | None:
        """The next report or log line; None if there is none within `PAUSE`."""
        try:
            return self._news.get(timeout=PAUSE)
        except queue.Empty:
            return None

    def remaining_news(self) -> list[Progress | Log]:
        """What was reported and not read yet."""
        news = []
        while not self._news.empty():
            news.append(self._news.get())
        return news


def report_from_thread(pool: Executor, step: Callable[[StepReport], T]) -> Generator[Progress | Log, None, T]:
    """The result of a step that reports its own progress; repeats the latest report while the step reports nothing.

    Fractions never decrease. Closing the generator cancels the step and waits for its end.
    """
    report, latest = StepReport(), Progress("waiting", 0.0)
    work = pool.submit(step, report)
    # Wakes the reader at the end of a step, so that nobody waits for the pause to pass.
    work.add_done_callback(lambda _: report.log(""))
    try:
        while not work.done():
            news = report.next_news() or latest
            for item in [news, *report.remaining_news()]:
                if isinstance(item, Progress):
                    latest = Progress(item.stage, max(item.fraction, latest.fraction))
                    yield latest
                elif item.message:
                    yield item
        for item in report.remaining_news():
            if isinstance(item, Log) and item.message:
                yield item
            elif isinstance(item, Progress):
                yield (latest := Progress(item.stage, max(item.fraction, latest.fraction)))
        return work.result()
    finally:
        report.cancel()
        wait([work])
