"""Keeping up: an owner is told of while something is under way, held by nobody, and told again when there is more."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from reelbook.display.update_clock import Bundle, updater
from reelbook.widgets.forms.live_updates import LiveUpdates

pytestmark = pytest.mark.usefixtures("quick_updates")

WAIT = 10.0


class Owner:
    """Something with news; `end` says when there are no more."""

    def __init__(self, fails: int = 0) -> None:
        self.told: list[Bundle] = []
        self.is_done, self.news, self.fails = False, 0, fails
        self.heard = threading.Semaphore(0)
        self.updates = LiveUpdates(
            self, Owner.tell, Owner.bundle, lambda owner: (owner.news,), lambda owner: owner.is_done
        )

    def tell(self, bundle: Bundle) -> None:
        try:
            if self.fails:
                self.fails -= 1
                raise ValueError("something odd")
            self.told.append(bundle)
        finally:
            self.heard.release()

    def bundle(self) -> Bundle:
        return {"news": self.news}


def test_it_is_told_until_it_is_over_and_again_when_it_is_rung() -> None:
    owner = Owner()
    owner.news = 1
    owner.updates.start()
    card = owner.updates._card
    owner.updates.start()
    assert owner.heard.acquire(timeout=WAIT)
    assert owner.updates._card is card
    owner.news, owner.is_done = 2, True
    assert owner.heard.acquire(timeout=WAIT)
    updater.join(WAIT)
    ended = owner.updates._card
    owner.news = 3
    owner.updates.start()
    assert owner.heard.acquire(timeout=WAIT)

    assert ended is None
    assert owner.told == [{"news": 1}, {"news": 2}, {"news": 3}]


def test_one_that_fails_once_is_told_the_next_time() -> None:
    owner = Owner(fails=1)
    owner.news = 1
    owner.updates.start()
    assert owner.heard.acquire(timeout=WAIT)
    owner.news, owner.is_done = 2, True
    assert owner.heard.acquire(timeout=WAIT)

    assert owner.told == [{"news": 2}]


def test_an_owner_that_nobody_holds_goes_and_its_card_with_it() -> None:
    owner = Owner()
    owner.updates.start()
    card, left = owner.updates._card, weakref.ref(owner)
    del owner
    gc.collect()
    updater.join(WAIT)

    assert left() is None
    assert card not in updater._outputs


def test_what_is_closed_is_rung_in_vain() -> None:
    owner = Owner()
    owner.updates.start()
    owner.updates.close()
    updater.join(WAIT)
    told = len(owner.told)
    owner.news = 1
    owner.updates.start()

    assert owner.updates._card is None
    assert len(owner.told) == told
