"""The waiting requests of one lane, in the order in which they are taken."""

from __future__ import annotations

import asyncio
import bisect
from collections.abc import Callable, Iterator
from itertools import islice, takewhile, zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .queued_request import Request

MAX_PREFERRED = 8
"""How many of the first waiting requests may be preferred to those before them."""


class WaitingList:
    """The waiting requests of one lane: accounts take turns, and those of one account are in the order of submission."""

    def __init__(self) -> None:
        self._by_account: dict[str, list[Request]] = {}
        """In the order of the turns; an account that begins to wait, or has had its turn, is the last."""
        self._has_some = asyncio.Event()

    def add(self, request: Request) -> None:
        """Add a request at its place among those of its account."""
        bisect.insort(self._by_account.setdefault(request.account, []), request, key=_get_seq)
        self._has_some.set()

    def remove(self, request: Request) -> None:
        """Remove a waiting request."""
        waiting = self._by_account[request.account]
        waiting.remove(request)
        if not waiting:
            del self._by_account[request.account]

    def position(self, request: Request) -> int:
        """How many requests are ahead of this one."""
        own = self._by_account[request.account]
        index = bisect.bisect_left(own, request.seq, key=_get_seq)
        ahead, turns = 0, index + 1
        for waiting in self._by_account.values():
            if waiting is own:
                turns = index  # From here on, accounts have one turn less before this request.
            ahead += min(len(waiting), turns)
        return ahead

    def pop(self, prefer: Callable[[Request], bool] = lambda request: True, now: float = 0.0) -> Request:
        """Remove and return the first request, or one of the next few that is preferred; it ends the turn of its account."""
        first = list(islice(self, MAX_PREFERRED))
        free = sum(1 for _ in takewhile(lambda request: request.may_be_overtaken(now), first))
        chosen = next(filter(prefer, first[: free + 1]), first[0])
        for passed in first[: first.index(chosen)]:
            passed.count_overtaking(now)
        waiting = self._by_account.pop(chosen.account)
        waiting.remove(chosen)
        if waiting:
            self._by_account[chosen.account] = waiting
        return chosen

    def __iter__(self) -> Iterator[Request]:
        """The requests in the order in which they are taken."""
        turns = zip_longest(*self._by_account.values())
        return (request for turn in turns for request in turn if request is not None)

    async def wait(self) -> None:
        """Wait until a request is waiting."""
        while not self._by_account:
            self._has_some.clear()
            await self._has_some.wait()

    def __len__(self) -> int:
        return sum(map(len, self._by_account.values()))


def _get_seq(request: Request) -> int:
    return request.seq
