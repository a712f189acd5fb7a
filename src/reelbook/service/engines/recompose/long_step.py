"""News while a long step runs: the work is done on another thread, so that a run can report and be cancelled."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from ..protocol import Progress

T = TypeVar("T")

PAUSE = 0.2
"""Seconds between two reports."""


def reporting(news: Progress, step: Callable[[], T]) -> Generator[Progress, None, T]:
    """The step's result; until it is there, the same news again and again.

    Closed in between, it waits for the step to end: a picture half written is worse than a moment's wait.
    """
    yield news
    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(step)
        while not wait([future], PAUSE).done:
            yield news
        return future.result()
