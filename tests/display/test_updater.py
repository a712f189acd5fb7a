"""One clock for all outputs that keep up: how many messages it sends, and whose turn it is."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from reelbook.display import live
from reelbook.display.live import LiveOutput, OutputUpdater

PATIENCE = 30
RUNS = 64


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "UPDATE_SECONDS", 0.001)


def test_each_has_its_turn() -> None:
    """Though the others always have news, too."""
    clock, over, sent = OutputUpdater(), threading.Event(), [threading.Semaphore(0) for _ in range(3)]

    def watched(count: threading.Semaphore) -> LiveOutput:
        return LiveOutput(lambda bundle: count.release(), dict, lambda: (time.monotonic(),), is_over=over.is_set)

    for count in sent:
        clock.add(watched(count))
    seen = [count.acquire(timeout=PATIENCE) for count in sent for _ in range(3)]
    over.set()
    clock.join(PATIENCE)

    assert all(seen)


def test_sixty_four_outputs_are_told_once_in_a_turn_of_the_clock_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though each of them always has news. At the end every one is told of its own end."""
    monkeypatch.setattr(live, "UPDATE_SECONDS", 0.05)
    clock, sent, last, over = OutputUpdater(), list[float](), set[int](), threading.Event()

    def watched(number: int) -> LiveOutput:
        def tell(bundle: dict[str, Any]) -> None:
            sent.append(time.monotonic())
            if bundle["text/plain"] == "ended":
                last.add(number)

        return LiveOutput(
            tell,
            lambda: {"text/plain": "ended" if over.is_set() else "painting"},
            lambda: ("ended",) if over.is_set() else (time.monotonic(),),
            is_over=over.is_set,
        )

    began = time.monotonic()
    for number in range(RUNS):
        clock.add(watched(number))
    time.sleep(0.25)
    count, seconds = len(sent), time.monotonic() - began
    monkeypatch.setattr(live, "UPDATE_SECONDS", 0.001)
    over.set()
    clock.join(PATIENCE)

    assert 2 <= count <= seconds / 0.05 + 2
    assert last == set(range(RUNS))
