"""Threads that compute ahead of the encoder, and end with the run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

A = TypeVar("A")
T = TypeVar("T")


@contextmanager
def thread_pool(name: str, threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads for a `with` block; where it is left early, work that has begun is finished and no other is started."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def in_order(begin: Callable[[A], Future[T]], items: Iterable[A], *, ahead: int) -> Iterator[T]:
    """Yield the result of each item in order, with at most `ahead` + 1 of them begun and not yet used."""
    waiting: deque[Future[T]] = deque()
    for item in items:
        waiting.append(begin(item))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
