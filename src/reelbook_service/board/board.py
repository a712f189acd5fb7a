"""What the board of a service consists of: its login, its feed, and the forms that were sent already."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from ..queue import Queue
from ..store import Store
from .board_feed import BoardFeed
from .board_login import BoardLogin

MAX_REMEMBERED = 1_000


class Board:
    """The board of a running service."""

    def __init__(self, store: Store, queue: Queue, clock: Callable[[], float]) -> None:
        self.login = BoardLogin(store, clock)
        self.feed = BoardFeed(store, queue, clock)
        self._sent: OrderedDict[str, None] = OrderedDict()

    def is_repeated(self, once: str) -> bool:
        """Whether this form was sent already, so that a double click does not top up twice; remembers it."""
        if once in self._sent:
            return True
        self._sent[once] = None
        if len(self._sent) > MAX_REMEMBERED:
            self._sent.popitem(last=False)
        return False

    def forget(self, once: str) -> None:
        """Let a form be sent again, because nothing came of it."""
        self._sent.pop(once, None)
