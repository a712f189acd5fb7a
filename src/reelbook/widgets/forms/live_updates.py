"""Throttled updates of a page, on the clock shared by all outputs, until its owner is over."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from ...display.update_clock import Bundle, LiveOutput, OutputKey, updater

WidgetOwner = TypeVar("WidgetOwner")

log = logging.getLogger("reelbook")


class LiveUpdates(Generic[WidgetOwner]):
    """Throttled widget updates; holds the owner weakly, so that the shared clock does not keep it alive."""

    def __init__(
        self,
        owner: WidgetOwner,
        publish: Callable[[WidgetOwner, Bundle], None],
        bundle: Callable[[WidgetOwner], Bundle],
        key: Callable[[WidgetOwner], OutputKey],
        is_over: Callable[[WidgetOwner], bool],
    ) -> None:
        self._owner = weakref.ref(owner)
        self._publish, self._bundle, self._key, self._is_over = publish, bundle, key, is_over
        # A separate lock: `start` is called while an owner changes, under locks of the owner.
        self._guard = threading.Lock()
        self._card: LiveOutput | None = None
        """The output registered with the clock; None while there is nothing to update."""
        self._is_closed = False

    def start(self) -> None:
        """Start updates, until the owner is over."""
        with self._guard:
            if self._card is None and not self._is_closed:
                self._card = self._make_card()
                updater.add(self._card)

    def close(self) -> None:
        """Stop updates."""
        with self._guard:
            # The clock drops a card that is not current; removing it here would deadlock a close during an update.
            self._is_closed, self._card = True, None

    def _make_card(self) -> LiveOutput:
        owner_ref, publish_to, get_bundle, get_key = self._owner, self._publish, self._bundle, self._key
        updates_ref = weakref.ref(self)

        def publish(bundle: Bundle) -> None:
            owner = owner_ref()
            try:
                if owner is not None:
                    publish_to(owner, bundle)
            # The clock would drop a card that fails once, and the page would not be updated any more.
            except Exception:
                log.debug("a page could not be updated", exc_info=True)

        def bundle() -> Bundle:
            owner = owner_ref()
            return {} if owner is None else get_bundle(owner)

        def key() -> OutputKey:
            owner = owner_ref()
            return () if owner is None else get_key(owner)

        def is_over() -> bool:
            updates = updates_ref()
            return updates is None or updates._release_if_over(card)

        card = LiveOutput(publish, bundle, key, is_over=is_over)
        return card

    def _release_if_over(self, card: LiveOutput) -> bool:
        """Release the card if the owner is over; return whether it is released. Later updates get another card."""
        with self._guard:
            owner = self._owner()
            if self._card is card and (owner is None or self._is_over(owner)):
                self._card = None
            return self._card is not card
