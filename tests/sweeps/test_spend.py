"""What a sweep may spend from now on, whatever was paid before. The charge log is the oracle."""

from __future__ import annotations

import pytest

from reelbook.client import Client
from reelbook.sweeps.plan import sweep
from reelbook.sweeps.plan_summary import format_spending
from tests.support import Served
from tests.sweeps.dots import BOAT, PRICE, RUN, Scripted, counts, dots, reserved
from tests.transport.variants import Hosted, Reply

SPARE = PRICE - 1
"""Left over: not enough for one more."""


def test_each_call_may_spend_so_much_and_what_was_paid_before_does_not_count(served: Served, client: Client) -> None:
    """Five runs: two are paid for, then one more, then the rest; at the end `spend=0` gives the whole table."""
    plan = dots(5)
    charged, completed = [], []
    for spend in (2 * PRICE + SPARE, PRICE, plan.credits, 0):
        table = plan.run(spend=spend, concurrency=16)
        charged.append(len(reserved(served)))
        completed.append(counts(table)["completed"])

    assert charged == completed == [2, 3, 5, 5]


@pytest.mark.parametrize(
    ("limits", "runs"),
    [({"budget": 4 * PRICE, "spend": 5 * PRICE}, 4), ({"budget": 6 * PRICE, "spend": PRICE}, 3)],
    ids=["the budget is less", "the spend is less"],
)
def test_both_limits_hold(served: Served, client: Client, limits: dict[str, int], runs: int) -> None:
    """Two runs are paid beforehand: they count towards the budget alone."""
    plan = dots(7)
    plan[:2].run(spend=2 * PRICE)

    table = plan.run(**limits, concurrency=12)  # type: ignore[arg-type]

    assert len(reserved(served)) == counts(table)["completed"] == runs


def test_what_was_lost_counts_for_the_call_that_lost_it(hosted: Hosted, at_hosted: Client) -> None:
    """Three answers are lost under a limit of three, so nothing more is sent; another call has its own limit."""
    scripted = Scripted(hosted, before=[Reply(fault="close")] * 3)
    scripted.end.set()
    plan = sweep(BOAT, seed=range(8))

    first = plan.run(spend=3 * PRICE, concurrency=3)
    sent = scripted.sent
    second = plan.run(spend=2 * PRICE, concurrency=3)

    assert sent == 3
    assert counts(first) == {"uncertain": 3, "not started": 5}
    assert counts(second) == {"uncertain": 3, "completed": 2, "not started": 3}
    assert scripted.sent == 5


def test_what_is_under_way_from_before_is_followed_for_nothing(hosted: Hosted, at_hosted: Client) -> None:
    """Another call has paid for it a moment ago: under `spend=0` it is waited for, and counts as that call's."""
    scripted = Scripted(hosted)
    plan = sweep(BOAT, seed=[1])
    first = plan.start(spend=PRICE)
    hosted.wait_until(lambda hosted: bool(hosted.seen("POST", RUN)))
    second = plan.start(spend=0)
    scripted.end.set()

    assert counts(first.wait(60)) == counts(second.wait(60)) == {"completed": 1}
    assert scripted.sent == 1
    assert (first.progress.spent_now, second.progress.spent_now) == (PRICE, 0)


def test_what_a_sweep_says_of_money_never_mixes_paid_and_limits(served: Served, client: Client) -> None:
    """First half paid, then a budget that is too small, then what it names, then again: each is told as what it is."""
    plan = dots(4)
    plan[:2].run(spend=2 * PRICE)
    lines = []
    for said in ({"budget": plan.credits_due}, {"spend": plan.credits_due}, {"budget": 0}, {"budget": plan.credits}):
        job = plan.start(**said)
        job.wait(60)
        lines.append(("; ".join(format_spending(job.progress)), job.progress.reason or ""))

    assert [money for money, _ in lines] == [
        "106 credits paid earlier, nothing now",
        "106 of 106 credits spent now; 106 paid earlier",
        "212 credits, all paid earlier; nothing now",
        "212 credits, all paid earlier; nothing now",
    ]
    assert "106 credits are already spent or reserved" in lines[0][1]
    assert [reason for _, reason in lines[1:]] == ["", "", ""]
    assert "212 credits, all paid earlier; nothing now" in repr(plan)


class Failing(Scripted):
    """All its runs fail but the first one."""

    def _result(self, request_id: str) -> Reply:
        return super()._result(request_id) if request_id == "r0" else Reply(422, {"detail": "no", "error_type": "bad"})


def test_what_failed_before_does_not_count_and_what_fails_now_does(hosted: Hosted, at_hosted: Client) -> None:
    """A service that does not say what a failure costs: each attempt may have been charged, and each call counts its own."""
    scripted = Failing(hosted)
    scripted.end.set()
    plan = sweep(BOAT, seed=range(3))
    plan.run(spend=PRICE)

    failed = plan.run(spend=2 * PRICE)
    again = plan.run(spend=2 * PRICE)

    assert counts(failed) == counts(again) == {"completed": 1, "failed": 2}
    assert scripted.sent == 5
