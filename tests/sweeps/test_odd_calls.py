"""Slips of a newcomer: each is told in a sentence, and none costs what is paid for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.models.text_to_video import TextToVideo
from tests.sweeps.dots import dots

BOAT = TextToVideo(prompt="a boat")
CALLS: dict[str, Any] = {
    "no table to read": lambda plan, folder: rb.read(None),
    "a range up to nowhere": lambda plan, folder: rb.sampled(3, num_frames=(9, float("nan"))),
    "a range beyond counting": lambda plan, folder: rb.sweep(BOAT, seed=range(10**30)),
    "a rate beyond counting": lambda plan, folder: plan.start(rate=10**400),
    "a price beyond the ledger": lambda plan, folder: plan.start(price=10**30).wait(20),
    "a take beyond the ledger": lambda plan, folder: plan.start(take=10**30),
}


@pytest.fixture(scope="module", autouse=True)
def client(one_worker: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One for all: nothing here depends on what its library has."""
    with rb.connect(library=tmp_path_factory.mktemp("odd") / "library") as client:
        yield client


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_a_slip_is_told_in_a_sentence(call: Any, tmp_path: Path) -> None:
    """Never a bare error of Python from somewhere within."""
    with pytest.raises(rb.ReelbookError) as caught:
        call(dots(3), tmp_path)

    assert len(str(caught.value)) > 20


def test_half_a_surrogate_in_a_text_does_not_cost_the_table() -> None:
    """A label or an impossible prompt with one: the plan has its frame, and a paid sweep its table."""
    frame = rb.sweep(BOAT, prompt=["\ud800"]).frame
    table = rb.sweep(dots(1).base, rb.derived(note=lambda run: "\ud800"), fps=[1.0]).run(progress=False)

    assert frame["problem"].notna().all()
    assert table["status"].tolist() == ["completed"]


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    """A count that comes out of an array is a count."""
    one, three = np.int64(1), np.arange(4)[3]

    assert len(dots(2).repeated(three)) == 6
    assert len(dots(2).shuffled(one)) == 2  # type: ignore[arg-type]
    assert len(rb.sweep(BOAT, rb.sampled(three, num_frames=(9, 97), seed=one))) == 3  # type: ignore[arg-type]
    assert dots(2).priced(lambda request: three).credits == 6


def test_a_sweep_that_takes_stock_knows_how_large_it_is() -> None:
    """From its first moment the panel says of how many, and not of none."""
    job = dots(3).start()
    totals = {job.progress.total}
    job.wait(60)

    assert totals == {3}


def test_the_embedded_service_needs_no_budget() -> None:
    """Nothing costs anything there; the latest client is the one that runs a plan."""
    assert dots(5)[3:].run()["status"].tolist() == ["completed"] * 2
