"""Keeping up: a page hears how things are, at the turns of the clock that all outputs share, until nothing is under way."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from ...display.update_clock import Bundle, Key, LiveOutput, updater

Owner = TypeVar("Owner")

log = logging.getLogger("reelbook")


class LiveUpdates(Generic[Owner]):
    """Looks after what one owner shows. The clock holds what it is given, so that it is given nothing that holds the owner."""

    def __init__(
        self,
        owner: Owner,
        tell: Callable[[Owner, Bundle], None],
        bundle: Callable[[Owner], Bundle],
        key: Callable[[Owner], Key],
        is_over: Callable[[Owner], bool],
    ) -> None:
        self._owner = weakref.ref(owner)
        self._publish, self._bundle, self._key, self._is_over = tell, bundle, key, is_over
        # Of its own: it is rung while an owner changes, and owners look at things under locks of theirs.
        self._guard = threading.Lock()
        self._card: LiveOutput | None = None
        self._is_closed = False

    @property
    def card(self) -> LiveOutput | None:
        """What the clock has of it; None while there is nothing to tell."""
        return self._card

    def start(self) -> None:
        """There is something to tell, and there will be until it is over."""
        with self._guard:
            if self._card is None and not self._is_closed:
                self._card = self._make_card()
                updater.add(self._card)

    def close(self) -> None:
        """Tell nothing more."""
        with self._guard:
            # The clock lets go of a card that is not ours any more: one that closes in an update would wait for its end.
            self._is_closed, self._card = True, None

    def _make_card(self) -> LiveOutput:
        here, told, found, shown = self._owner, self._publish, self._bundle, self._key
        me = weakref.ref(self)

        def tell(bundle: Bundle) -> None:
            owner = here()
            try:
                if owner is not None:
                    told(owner, bundle)
            # The clock would give up a card that fails once, and the page would stand still.
            except Exception:
                log.debug("a page could not be told how things are", exc_info=True)

        def bundle() -> Bundle:
            owner = here()
            return {} if owner is None else found(owner)

        def key() -> Key:
            owner = here()
            return () if owner is None else shown(owner)

        def is_over() -> bool:
            updates = me()
            return updates is None or updates._release_if_over(card)

        card = LiveOutput(tell, bundle, key, is_over=is_over)
        return card

    def _release_if_over(self, card: LiveOutput) -> bool:
        """Whether this card has nothing more to tell; once it is so it stays so, and what comes next gets another one."""
        with self._guard:
            owner = self._owner()
            if self._card is card and (owner is None or self._is_over(owner)):
                self._card = None
            return self._card is not card
