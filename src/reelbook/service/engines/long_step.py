"""Progress reports during a long step, which runs in another thread so that the run can be cancelled."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from .protocol import Progress

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
