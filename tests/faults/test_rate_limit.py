"""A service that keeps saying "later": it is said, and nothing is paid or lost.

A cell that waits for it is in `test_interrupt.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.display.sweep_panel import format_panel, render_panel
from reelbook.runs import submit
from tests.faults.kernels import PATIENCE
from tests.sweeps.dots import BOAT, RUN
from tests.transport.variants import Hosted, Reply

LATER = Reply(429, {"detail": "slow down", "error_type": "too_many_requests"}, {"Retry-After": "30"})


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with Hosted() as service:
        service.on("POST", RUN, lambda _: LATER)
        yield service


@pytest.fixture
def client(hosted: Hosted, tmp_path: Path) -> Iterator[Client]:
    with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path / "library") as client:
        yield client


def test_giving_up_says_what_to_do(hosted: Hosted, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was paid, and the same can be run again."""
    monkeypatch.setattr(submit, "MAX_BUSY_SECONDS", 1.0)
    with pytest.raises(rb.TooManyRequests, match=r"Nothing was charged.*wait a minute, then run it again"):
        client.run(BOAT)

    assert len(hosted.seen("POST", RUN)) == 1


def test_the_panel_of_a_sweep_says_that_it_waits(hosted: Hosted, client: Client) -> None:
    """And goes on when the service takes runs again; here it is cancelled."""
    job = rb.sweep(BOAT, seed=range(3)).start(budget=999)
    until(lambda: bool(job.progress.waits))
    progress = job.progress
    job.cancel()
    table = job.wait(PATIENCE)

    assert "waiting for the service's rate limit" in format_panel(progress)
    assert "rate limit" in render_panel(progress)
    assert set(table["status"]) == {"not started"}


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)
