"""Progress reports during a long step, which runs in another thread so that the run can be cancelled."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from ..protocol import Progress

T = TypeVar("T")

PAUSE = 0.2
"""Seconds between two reports."""


def reporting(news: Progress, step: Callable[[], T]) -> Generator[Progress, None, T]:
    """The result of a step; yields the same progress report repeatedly until then.

    If closed earlier, it waits for the step to end: a partly written picture is worse than a short wait.
    """
    yield news
    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(step)
        while not wait([future], PAUSE).done:
            yield news
        return future.result()
