"""An answer that is lost behind a gateway: a student's client takes the run for uncertain, and nobody pays twice by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import reelbook as rb
from reelbook.errors import UncertainRun
from reelbook_service.hosted import run as paid_run
from tests.faults.standin import RESULT, RUN, Fault
from tests.service.hosted.conftest import Paid
from tests.support import Served

BOAT = rb.TextToVideo(prompt="a paper boat", num_frames=9, seed=7)
LOST = Fault(RUN, "cut off", seed=7)
"""The service takes and charges the run with this seed, and hangs up in place of an answer."""


def student(served: Served, library: Path, name: str = "ana") -> rb.Client:
    return rb.connect(served.base_url, api_key=f"key-of-{name}", library=library)


def left(served: Served, name: str = "ana") -> int:
    return int(served.get("/account", f"key-of-{name}").json()["credits_available"])


def test_the_same_cell_once_more_pays_nothing(paid: Paid, tmp_path: Path) -> None:
    """The run is uncertain in the student's library, and the sentence does not ask for a second one."""
    service, served = paid(LOST)

    with student(served, tmp_path / "library") as client:
        for _ in range(2):
            with pytest.raises(UncertainRun) as lost:
                client.run(BOAT)
        (uncertain,) = rb.library(tmp_path / "library").uncertain
        again = client.attach(uncertain.entry.request_id or "")

    assert again.status == "uncertain"
    assert "run it again" not in str(lost.value).lower()
    assert "never sent again by itself" in str(lost.value)
    assert uncertain.credits == 53
    assert (len(service.charges), left(served)) == (1, 530 - 53)


def test_a_sweep_once_more_pays_nothing_for_what_was_lost(paid: Paid, tmp_path: Path) -> None:
    """`plan.run` again: the lost one stays uncertain, the others come from the library."""
    service, served = paid(LOST)
    plan = rb.sweep(BOAT, seed=[6, 7, 8])

    with student(served, tmp_path / "library"):
        first = plan.run(budget=530)
        second = plan.run(budget=530)

    for table in (first, second):
        assert sorted(table["status"]) == ["completed", "completed", "uncertain"]
    assert (len(service.charges), left(served)) == (3, 530 - 3 * 53)


def test_a_result_that_cannot_be_had_is_not_paid_for_again(
    paid: Paid, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service elsewhere has taken it, and gives no result for as long as the gateway asks: an hour."""
    monkeypatch.setattr(paid_run, "RESULT_SECONDS", 0.0)
    monkeypatch.setattr("reelbook.transport.answers.RESULT_SECONDS", 0.1)
    monkeypatch.setattr("reelbook.transport.answers.RESULT_SECONDS", 0.1)
    service, served = paid(Fault(RESULT, "503 page"))

    with student(served, tmp_path / "library") as client:
        for _ in range(2):
            with pytest.raises(UncertainRun):
                client.run(BOAT)

    assert len(service.charges) == 1


def test_another_client_on_the_account_does_not_pay_by_itself(paid: Paid, tmp_path: Path) -> None:
    """A second library knows nothing of the first; the gateway does, and sends only what somebody asked for twice."""
    service, served = paid(LOST)
    with student(served, tmp_path / "one") as client, pytest.raises(UncertainRun):
        client.run(BOAT)

    with student(served, tmp_path / "two") as client:
        with pytest.raises(UncertainRun) as lost:
            client.run(BOAT)
        assert (len(service.charges), left(served)) == (1, 530 - 53)
        assert "same input" in str(lost.value)

        # Another input, and another account: as ever.
        service.calm()
        client.run(rb.TextToVideo(prompt="a paper boat", num_frames=9, seed=8))
    with student(served, tmp_path / "three", "ben") as client:
        client.run(BOAT)
    assert len(service.charges) == 3


@pytest.mark.parametrize("way", ["resubmit", "fresh", "resubmit without a client"])
def test_who_asks_for_it_once_more_gets_it(paid: Paid, tmp_path: Path, way: str) -> None:
    """After a look into the account: `resubmit()` and `fresh=True` send it, in whichever library."""
    service, served = paid(LOST)
    with student(served, tmp_path / "one") as client, pytest.raises(UncertainRun):
        client.run(BOAT)
    service.calm()

    with student(served, tmp_path / "two") as client:
        if way == "fresh":
            run = client.run(BOAT, fresh=True)
        else:
            with pytest.raises(UncertainRun):
                client.run(BOAT)
            if way == "resubmit":
                (uncertain,) = rb.library(tmp_path / "two").uncertain
                run = uncertain.resubmit().wait()
    if way == "resubmit without a client":
        (uncertain,) = rb.library(tmp_path / "two").uncertain
        uncertain.resubmit()
        with student(served, tmp_path / "two") as client:
            run = client.run(BOAT)

    assert run.status == "completed"
    assert (len(service.charges), left(served)) == (2, 530 - 2 * 53)


def test_what_the_teacher_has_settled_may_be_sent_again(paid: Paid, tmp_path: Path) -> None:
    """`write_off()` in the gateway's library says that the lost run will never come."""
    service, served = paid(LOST)
    with student(served, tmp_path / "one") as client, pytest.raises(UncertainRun):
        client.run(BOAT)
    service.calm()
    rb.library(served.server.service.settings.data / "hosted").uncertain[0].write_off()

    with student(served, tmp_path / "two") as client:
        assert client.run(BOAT).status == "completed"

    assert len(service.charges) == 2
