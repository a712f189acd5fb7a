"""Which run is asked when."""

from __future__ import annotations

import heapq
import math
from itertools import count

from .tracked_run import Followed


class Schedule:
    """The runs by the moment they are due. A run that is planned anew leaves its old entry behind, which is passed over later."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Followed]] = []
        self._number = count()

    def put(self, run: Followed, due: float) -> None:
        """Ask this run at this moment, whatever was planned before."""
        if run.due != due:
            run.due = due
            heapq.heappush(self._entries, (due, next(self._number), run))

    def take(self, now: float) -> Followed | None:
        """The run that has been due the longest."""
        if self.next_moment() > now:
            return None
        run = heapq.heappop(self._entries)[2]
        run.due = math.inf
        return run

    def next_moment(self) -> float:
        """When somebody is due."""
        while self._entries and self._entries[0][0] != self._entries[0][2].due:
            heapq.heappop(self._entries)
        return self._entries[0][0] if self._entries else math.inf

    def tidy(self, runs: int) -> None:
        """Drop the old entries when they are more than the good ones."""
        if len(self._entries) > 4 * runs + 64:
            self._entries = [entry for entry in self._entries if entry[0] == entry[2].due]
            heapq.heapify(self._entries)
