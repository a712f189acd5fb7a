"""A service that says too little: no estimate and no charge that it tells lifts a ceiling. The oracle is what arrives.

Every run that the stand-in accepts is charged 53 credits, whatever it says.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.display.sweep_panel import format_panel
from reelbook.sweeps.plan import Plan, sweep
from reelbook.transport import poller
from tests.faults.standin import StandIn, Told
from tests.transport.variants import Reply

PRICE = 53
LIMIT = 4 * PRICE - 12
ESTIMATE = "/models/pricing/estimate"
BOAT = rb.TextToVideo(prompt="a boat", num_frames=9, resolution="480p", aspect_ratio="1:1")
RUNS = 5
"""More than fit under `LIMIT` at the price that is counted, and fewer than at 0."""

ESTIMATES: dict[str, Any] = {
    "nothing": {"credits": 0},
    "below nothing": {"credits": -53},
    "dollars": {"amount": 0.53, "currency": "USD"},
    "nested": {"estimate": {"credits": {"amount": 0}}},
    "no number": Reply(200, b'{"credits": NaN}', {"content-type": "application/json"}),
    "a page": Reply(200, b"<html>0</html>", {"content-type": "text/html"}),
}
"""What it says before a run."""
CHARGES: dict[str, Any] = {
    "nothing": 0,
    "below nothing": -53,
    "no number": float("nan"),
    "nested": {"amount": 0},
    "none": None,
}
"""What it says that a run has cost."""


@pytest.fixture
def service() -> Iterator[StandIn]:
    with StandIn(seconds=0.0, estimates=True) as service:
        yield service


@pytest.fixture
def client(service: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    # Its runs are over as soon as they are asked for.
    monkeypatch.setattr(poller, "FIRST_SECONDS", 0.02)
    with rb.connect(service.base_url, api_key="a-key-of-this-test", library=tmp_path / "library") as client:
        yield client


def boats(first: int = 0) -> Plan:
    return sweep(BOAT, seed=range(first, first + RUNS))


def spent(plan: Plan, **limits: Any) -> None:
    """Run a plan to its end, without a table or a panel."""
    over = threading.Event()
    job = plan.start(**limits)
    job.on_change(lambda job: over.set() if job.is_done else None)
    assert over.wait(60)
    assert job.is_done


@pytest.mark.parametrize("said", ESTIMATES.values(), ids=ESTIMATES)
def test_an_estimate_that_is_too_low_lifts_no_ceiling(service: StandIn, client: Client, said: Any) -> None:
    """Three runs fit under a budget, as by the price that is known, and not one more; the same of what is spent now."""
    service.on("POST", ESTIMATE, said)

    spent(boats(), budget=LIMIT)
    under_budget = len(service.charges)
    spent(boats(100), spend=LIMIT)

    assert (under_budget, len(service.charges) - under_budget) == (3, 3)


@pytest.mark.parametrize(
    ("places", "said"),
    [
        pytest.param(("answer", "finished", "estimate")[: number + 1], said, id=name)
        for number, (name, said) in enumerate(CHARGES.items())
    ],
)
def test_a_charge_that_is_too_low_lifts_no_ceiling(
    service: StandIn, client: Client, said: Any, places: tuple[str, ...]
) -> None:
    """Also not when the same plan is run again under the same budget, nor for what is spent now."""
    service.told = Told(**dict.fromkeys(places, said))

    for _ in range(2):
        spent(boats(), budget=LIMIT)
    under_budget = len(service.charges)
    spent(boats(100), spend=LIMIT)

    assert (under_budget, len(service.charges) - under_budget) == (3, 3)


def test_what_is_told_is_shown_and_what_is_counted_beside_it(service: StandIn, client: Client) -> None:
    """Charged nothing, says the service: the table has that, and the panel what the budget counts."""
    service.told = Told(answer=0, finished=0)

    job = boats().start(budget=LIMIT)
    table = job.wait(60)
    again = boats().start(budget=0)
    again.wait(60)

    done = table[table["status"] == "completed"]
    assert list(done["credits"]) == [0, 0, 0]
    assert set(done["credits_source"]) == {"charged"}
    for one in (job, again):
        assert (one.progress.spent, one.progress.reserved) == (0, 3 * PRICE)


def test_a_failed_run_of_which_the_service_says_nothing_counts_with_its_price(service: StandIn, client: Client) -> None:
    """The specification does not say that it is refunded."""
    service.ends = {seed: {"error": "It broke.", "error_type": "engine_error"} for seed in range(RUNS)}

    for _ in range(2):
        job = boats().start(budget=LIMIT)
        job.wait(60)

    assert len(service.charges) == 3
    assert (job.progress.spent, job.progress.reserved) == (0, 3 * PRICE)
    assert "159 more may have been paid" in format_panel(job.progress)
    assert set(job.frame.loc[job.frame["status"] == "failed", "credits"]) == {PRICE}
