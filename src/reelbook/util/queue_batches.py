"""Batches from a queue, for a thread that commits together what was submitted in the meantime."""

from __future__ import annotations

import queue
from typing import TypeVar

T = TypeVar("T")

MAX_BATCH = 256


def take_batch(pending: queue.SimpleQueue[T | None]) -> list[T] | None:
    """Wait for the next item, and take those behind it; None, which closes the queue, is returned alone."""
    item = pending.get()
    if item is None:
        return None
    batch = [item]
    while len(batch) < MAX_BATCH:
        try:
            item = pending.get_nowait()
        except queue.Empty:
            break
        if item is None:
            pending.put(None)  # Returned after this batch.
            break
        batch.append(item)
    return batch
