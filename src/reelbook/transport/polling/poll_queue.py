"""A priority queue of the tracked runs, ordered by when each is to be polled."""

from __future__ import annotations

import heapq
import math
from itertools import count

from .tracked_run import TrackedRun


class PollQueue:
    """The runs by when they are due. Rescheduling a run leaves its old entry in the heap, which is skipped later."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, TrackedRun]] = []
        self._number = count()

    def schedule(self, run: TrackedRun, due_at: float) -> None:
        """Poll this run at this time, whatever was scheduled for it before."""
        if run.due_at != due_at:
            run.due_at = due_at
            heapq.heappush(self._entries, (due_at, next(self._number), run))

    def pop_due(self, now: float) -> TrackedRun | None:
        """Remove and return the run that has been due the longest; None if none is due."""
        if self.next_due_at() > now:
            return None
        run = heapq.heappop(self._entries)[2]
        run.due_at = math.inf
        return run

    def next_due_at(self) -> float:
        """When the next run is due; infinity for an empty queue."""
        while self._entries and self._entries[0][0] != self._entries[0][2].due_at:
            heapq.heappop(self._entries)
        return self._entries[0][0] if self._entries else math.inf

    def compact(self, run_count: int) -> None:
        """Drop outdated entries once they outnumber the valid ones of so many runs."""
        if len(self._entries) > 4 * run_count + 64:
            self._entries = [entry for entry in self._entries if entry[0] == entry[2].due_at]
            heapq.heapify(self._entries)
