"""The one clock of all outputs that keep up with something: four messages a second in all, however many there are."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

Bundle = dict[str, Any]
"""One output, by MIME type."""
Key = Sequence[Any]
"""What an output shows, in short: where two of these are equal, the same would be shown."""

UPDATE_SECONDS = 0.25
"""From one message to the next. A page that is sent more than it can draw falls behind, and the notebook with it."""

log = logging.getLogger("reelbook")


class Card:
    """One output, and what it keeps up with."""

    def __init__(
        self,
        send: Callable[[Bundle], object],
        bundle: Callable[[], Bundle],
        key: Callable[[], Key],
        *,
        is_over: Callable[[], bool] = lambda: False,
        shown: Key = (),
    ) -> None:
        self.key, self.is_over = key, is_over
        self._send, self._bundle = send, bundle
        self._shown, self._since = shown, time.monotonic()
        self._guard, self._is_closed = threading.Lock(), False

    def urgency(self, now: float) -> float:
        """How much its reader misses: nothing where it shows all there is, most where it shows too little of an end."""
        if self.is_over():
            return float("inf")
        return change(self._shown, self.key()) * (now - self._since)

    def update(self) -> bool:
        """Show what is new; says whether that is the last of it."""
        # Asked before it is looked at: what ends meanwhile is looked at once more.
        is_over, key = self.is_over(), self.key()
        bundle = self._bundle()
        with self._guard:
            if not self._is_closed:
                self._send(bundle)
        self._shown, self._since = key, time.monotonic()
        return is_over

    def close(self) -> None:
        """Nothing is sent from here on, not even what is being made at this moment."""
        with self._guard:
            self._is_closed = True


class Ticker:
    """Takes turns with the outputs, in a thread of its own that lives while there are any.

    Not in the thread of the runs: a slow page must not hold up the conversation with the service.
    """

    def __init__(self) -> None:
        self._cards: list[Card] = []
        self._bell = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_ticking = False
        self._next = 0.0

    def add(self, card: Card) -> None:
        """Keep this output up to date, until it is over or removed."""
        with self._bell:
            self._cards.append(card)
            # A thread that is about to end takes no more; after a fork there is none, whatever was so before.
            if not self._is_ticking or self._thread is None or not self._thread.is_alive():
                self._is_ticking = True
                self._thread = threading.Thread(target=self._tick, name="reelbook-progress", daemon=True)
                self._thread.start()

    def remove(self, card: Card) -> None:
        """Leave this output as it is; what is sent there next is sent by somebody else."""
        card.close()
        with self._bell:
            self._drop(card)
            self._next = time.monotonic() + UPDATE_SECONDS
            self._bell.notify_all()

    def join(self, timeout: float | None = None) -> None:
        """Wait until all outputs are over."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)

    def _tick(self) -> None:
        while True:
            with self._bell:
                while self._cards and (pause := self._next - time.monotonic()) > 0:
                    self._bell.wait(pause)
                if not self._cards:
                    self._is_ticking = False
                    return
                cards = list(self._cards)
                self._next = time.monotonic() + UPDATE_SECONDS
            self._update_one(cards)

    def _update_one(self, cards: list[Card]) -> None:
        """Show what is missed most; a message later than it was meant pushes the next one back as well."""
        now = time.monotonic()
        urgent = [(_looked_at(card, now), card) for card in cards]
        urgency, card = max(urgent, key=lambda pair: pair[0])
        if not urgency:
            return
        try:
            is_over = card.update()
        except Exception:
            # It would fail again at each turn, and nobody else would get one.
            log.debug("an output could not be updated", exc_info=True)
            is_over = True
        with self._bell:
            self._next = time.monotonic() + UPDATE_SECONDS
            if is_over:
                self._drop(card)

    def _drop(self, card: Card) -> None:
        if card in self._cards:
            self._cards.remove(card)


def change(before: Key, after: Key) -> float:
    """How different two states are: 1 for each part that is another one, less for a number that is near.

    >>> change(("running", 0.25), ("running", 0.5)), change(("waiting", 0), ("running", 0)), change((), (1,))
    (0.25, 1.0, 1.0)
    """
    if len(before) != len(after):
        return 1.0
    return sum(_apart(one, other) for one, other in zip(before, after, strict=True))


def _apart(one: Any, other: Any) -> float:
    if isinstance(one, float) and isinstance(other, float):
        return min(abs(one - other), 1.0)
    return float(one != other)


def _looked_at(card: Card, now: float) -> float:
    try:
        return card.urgency(now)
    except Exception:
        log.debug("an output could not be looked at", exc_info=True)
        return 0.0


ticker = Ticker()
"""The one of this process."""
