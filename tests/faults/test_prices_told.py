"""A service that says too little: no estimate and no charge that it tells lifts a ceiling. The oracle is what arrives.

Every run that the stand-in accepts is charged 53 credits, whatever it says.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.display.sweep_panel import format_panel
from reelbook.sweeps.plan import Plan, sweep
from reelbook.transport import poller
from tests.support import png
from tests.transport.variants import Hosted, Received, Reply

PRICE = 53
LIMIT = 4 * PRICE - 12
RUN, ESTIMATE = "/models/run", "/models/pricing/estimate"
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


class Charging:
    """A hosted service that completes every run at once, charges each, and says what it is told to say."""

    def __init__(self, hosted: Hosted) -> None:
        self.hosted, self.charged = hosted, 0
        self.accepts: dict[str, Any] = {}
        """What else the answer to a run says."""
        self.metrics: Any = None
        self.failing: Callable[[int], bool] = lambda number: False
        """Which runs fail, by their numbers."""
        self._numbers = itertools.count()
        hosted.on("POST", RUN, self._accept)
        hosted.on("POST", ESTIMATE, {"credits": PRICE})
        hosted.on("GET", "/file", Reply(200, png(16, 16)))

    def _accept(self, _: Received) -> Reply:
        self.charged += PRICE
        number = next(self._numbers)
        request_id = f"r{number}"
        one = f"/{BOAT.endpoint_id}/requests/{request_id}"
        told = {} if self.metrics is None else {"metrics": self.metrics}
        if self.failing(number):
            told |= {"error": "It broke.", "error_type": "engine_error"}
        self.hosted.on("GET", f"{one}/status", {"status": "COMPLETED", "request_id": request_id, **told})
        self.hosted.on("GET", one, {"video": {"url": f"{self.hosted.base_url}/file"}, "seed": 1, "prompt": "a boat"})
        return Reply(200, {"requestId": request_id, **self.accepts})


@pytest.fixture
def service() -> Iterator[Charging]:
    with Hosted() as hosted:
        yield Charging(hosted)


@pytest.fixture
def client(service: Charging, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    # Its runs are over as soon as they are asked for.
    monkeypatch.setattr(poller, "FIRST_SECONDS", 0.02)
    with rb.connect(service.hosted.base_url, api_key="a-key-of-this-test", library=tmp_path / "library") as client:
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
def test_an_estimate_that_is_too_low_lifts_no_ceiling(service: Charging, client: Client, said: Any) -> None:
    """Three runs fit under a budget, as by the price that is known, and not one more; the same of what is spent now."""
    service.hosted.on("POST", ESTIMATE, said)

    spent(boats(), budget=LIMIT)
    under_budget = service.charged
    spent(boats(100), spend=LIMIT)

    assert (under_budget, service.charged - under_budget) == (3 * PRICE, 3 * PRICE)


@pytest.mark.parametrize(
    ("places", "said"),
    [
        pytest.param(("answer", "metrics", "estimate")[: number + 1], said, id=name)
        for number, (name, said) in enumerate(CHARGES.items())
    ],
)
def test_a_charge_that_is_too_low_lifts_no_ceiling(
    service: Charging, client: Client, said: Any, places: tuple[str, ...]
) -> None:
    """Also not when the same plan is run again under the same budget, nor for what is spent now."""
    if "answer" in places:
        service.accepts = {"credits": said}
    if "metrics" in places:
        service.metrics = {"credits": said, "inference_time": 1.0}
    if "estimate" in places:
        service.hosted.on("POST", ESTIMATE, {"credits": 0})

    for _ in range(2):
        spent(boats(), budget=LIMIT)
    under_budget = service.charged
    spent(boats(100), spend=LIMIT)

    assert (under_budget, service.charged - under_budget) == (3 * PRICE, 3 * PRICE)


def test_what_is_told_is_shown_and_what_is_counted_beside_it(service: Charging, client: Client) -> None:
    """Charged nothing, says the service: the table has that, and the panel what the budget counts."""
    service.accepts, service.metrics = {"credits": 0}, {"credits": 0}

    job = boats().start(budget=LIMIT)
    table = job.wait(60)
    again = boats().start(budget=0)
    again.wait(60)

    done = table[table["status"] == "completed"]
    assert list(done["credits"]) == [0, 0, 0]
    assert set(done["credits_source"]) == {"charged"}
    for one in (job, again):
        assert (one.progress.spent, one.progress.reserved) == (0, 3 * PRICE)


def test_a_failed_run_of_which_the_service_says_nothing_counts_with_its_price(
    service: Charging, client: Client
) -> None:
    """The specification does not say that it is refunded."""
    service.failing = lambda _: True

    for _ in range(2):
        job = boats().start(budget=LIMIT)
        job.wait(60)

    assert service.charged == 3 * PRICE
    assert (job.progress.spent, job.progress.reserved) == (0, 3 * PRICE)
    assert "159 more may have been paid" in format_panel(job.progress)
    assert set(job.frame.loc[job.frame["status"] == "failed", "credits"]) == {PRICE}
