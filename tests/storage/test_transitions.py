"""The moves of a run: what may follow what, what it costs, and what a stranger may not do to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reelbook.errors import OverBudget
from reelbook.storage.ledger import claims, transitions
from reelbook.storage.ledger.claims import Process, RunRequest, Verdict
from reelbook.storage.ledger.schema import SCHEMA, Budget, Spend, join_scope
from reelbook.storage.ledger.transitions import COMPLETED, EXPIRED, Entry, Moved, State

PLAIN = RunRequest("svc", "seeded", "m", '{"seed":7}', 50, False, True)
UNSEEDED = replace(PLAIN, identity="unseeded", input="{}", reusable=False)
KEYED = replace(PLAIN, idempotent=True)


class Bench:
    """A ledger, and two processes that use it."""

    def __init__(self, folder: Path) -> None:
        (folder / claims.LIST_NAME).touch()
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        self.db.executescript(SCHEMA)
        self.here, self.there = Process(folder), Process(folder)

    def choose(self, asked: RunRequest = PLAIN, process: Process | None = None, **options: Any) -> Verdict:
        self.db.execute("SAVEPOINT step")
        try:
            return claims.find_or_claim(self.db, replace(asked, **options), process or self.here)
        except OverBudget:
            self.db.execute("ROLLBACK TO step")
            raise
        finally:
            self.db.execute("RELEASE step")

    def sent(self, asked: RunRequest = PLAIN, process: Process | None = None, **options: Any) -> int:
        verdict = self.choose(asked, process, **options)
        assert verdict.action == "send"
        body = "{}" if asked.idempotent else None
        transitions.mark_sending(self.db, verdict.entry.id, (process or self.here).owner, body)
        return verdict.entry.id

    def accepted(
        self, asked: RunRequest = PLAIN, process: Process | None = None, request: str = "r1", **options: Any
    ) -> int:  # fmt: skip
        run = self.sent(asked, process, **options)
        transitions.mark_accepted(self.db, run, request)
        return run

    def stored(
        self, asked: RunRequest = PLAIN, request: str = "r1", *, charged: int | None = 50, **options: Any
    ) -> int:
        run = self.accepted(asked, request=request, **options)
        self.move(run, COMPLETED, output="{}", charged=charged)
        self.move(run, State.STORED, media="[]")
        return run

    def move(self, run: int, stage: str, **changes: Any) -> None:
        transitions.move(self.db, run, stage, **changes)

    def lose(self, run: int) -> int:
        self.move(run, State.UNCERTAIN, error="reset")
        return run

    def fail(self, run: int, charged: int | None = None) -> None:
        self.move(run, State.FAILED, charged=charged)

    def entry(self, run: int) -> Entry:
        return transitions.get_entry(self.db, run)

    def cost(self, unknown: int = 0) -> int:
        return int(self.db.execute("SELECT sum(counted + unknown * ?) FROM entries", (unknown,)).fetchone()[0])

    def left(self, spend: Spend) -> int:
        """How much more one run may cost under it."""
        with pytest.raises(OverBudget, match="spend=") as error:
            self.choose(replace(PLAIN, identity="any", price=10**9), spend=spend)
        return error.value.budget - error.value.committed


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.db.close()
    bench.here.leave()


# Which run it is.


def test_fresh_always_opens_a_new_take(bench: Bench) -> None:
    """Also where a take is named, and where there is one under way."""
    bench.stored(take=3)
    bench.accepted(take=5, request="r2")

    takes = [bench.choose(fresh=True, take=take).entry.take for take in (None, 3)]

    assert takes == [6, 7]


@pytest.mark.parametrize("newer", ["failed", "planned", "uncertain"])
def test_a_paid_take_of_a_seeded_run_is_followed_whatever_came_after_it(bench: Bench, newer: str) -> None:
    """A later attempt with `fresh` went wrong; the earlier one is at the service and costs nothing more."""
    paid = bench.accepted(PLAIN, bench.there)
    run = bench.sent(fresh=True)
    if newer == "planned":
        transitions.release(bench.db, run, bench.here.owner, unsent=True)
    elif newer == "uncertain":
        bench.lose(run)
    else:
        transitions.mark_accepted(bench.db, run, "r2")
        bench.fail(run)
    bench.there.leave()

    verdict = bench.choose()

    assert (verdict.action, verdict.entry.id) == ("follow", paid)


@pytest.mark.parametrize("passed", [24 * 3600, -24 * 3600])
def test_a_key_is_repeated_for_a_day_only(bench: Bench, passed: float) -> None:
    """After that the service may not know it; a clock that was set back says nothing. Then a person decides."""
    run = bench.sent(KEYED, bench.there)
    bench.there.leave()
    claims.recover(bench.db, bench.here)
    bench.db.execute("UPDATE runs SET sent = sent - ?", (passed,))

    assert (bench.choose(KEYED).action, bench.entry(run).stage) == ("ask", "uncertain")


# What it costs.


def test_failed_attempts_stay_counted(bench: Bench) -> None:
    """With what the service says that they cost, else with their whole price."""
    run = bench.accepted()
    bench.fail(run, 10)
    bench.accepted(request="r2")
    bench.fail(run)

    again = bench.choose().entry

    assert (again.id, again.spent, bench.cost()) == (run, 60, 110)


def test_what_nobody_knows_the_price_of_counts_as_unknown(bench: Bench) -> None:
    """Each attempt of it, under a budget as much as the person says that one run costs at most."""
    free = replace(PLAIN, price=None)
    run = bench.accepted(free)
    bench.fail(run)
    bench.lose(bench.sent(free))
    transitions.allow_resubmission(bench.db, run)

    assert (bench.entry(run).unpriced, bench.entry(run).credits) == (2, None)
    assert bench.cost(unknown=50) == 100
    join_scope(bench.db, "plan", "svc", [("seeded", 0)])
    with pytest.raises(OverBudget) as error:
        bench.choose(budget=Budget("plan", 149))
    assert (error.value.committed, error.value.price) == (100, 50)
    assert bench.choose(budget=Budget("plan", 150)).action == "send"


@pytest.mark.parametrize(
    ("ends", "left"),
    [
        ("under way", 50), ("stored", 50), ("charged less", 50), ("charged more", 30), ("lost", 50), ("written off", 50),
        ("rejected", 100), ("failed", 50), ("given back", 100), ("expired", 50),
    ],
)  # fmt: skip
def test_what_a_caller_has_claimed_counts_as_it_ends(bench: Bench, ends: str, left: int) -> None:
    """What it has cost, or may have cost, of a run with a price of 50; asked twice, because what is over is summed up."""
    spend = Spend(100)
    if ends in ("stored", "charged less", "charged more"):
        bench.stored(charged={"charged less": 30, "charged more": 70}.get(ends, 50), spend=spend)
    elif ends in ("lost", "written off"):
        run = bench.lose(bench.sent(spend=spend))
        if ends == "written off":
            transitions.write_off(bench.db, run)
    elif ends == "rejected":
        bench.move(bench.sent(spend=spend), State.REJECTED)
    else:
        run = bench.accepted(spend=spend)
        if ends == "expired":
            bench.move(run, EXPIRED, error_type=EXPIRED)
        elif ends != "under way":
            bench.fail(run, 0 if ends == "given back" else None)

    assert (bench.left(spend), bench.left(spend)) == (left, left)


def test_what_was_paid_before_or_by_others_does_not_count_as_spent_now(bench: Bench) -> None:
    """A failed run from before, one that is stored, one that another process sends, and what is joined."""
    bench.fail(bench.accepted())
    bench.stored(replace(PLAIN, identity="stored"), request="r2")
    bench.sent(replace(PLAIN, identity="theirs"), bench.there)
    spend = Spend(100)

    served = bench.choose(replace(PLAIN, identity="stored"), spend=spend).action
    theirs = bench.choose(replace(PLAIN, identity="theirs"), spend=spend).action
    nothing_yet = bench.left(spend)
    again = bench.accepted(request="r3", spend=spend)
    joined = bench.choose(spend=spend).action

    assert (served, theirs, joined) == ("follow", "await", "join")
    assert (nothing_yet, bench.left(spend)) == (100, 50)
    bench.fail(again)
    bench.accepted(request="r4", spend=spend)
    assert (bench.left(spend), bench.cost()) == (0, 3 * 50 + 50 + 50)


def test_a_repetition_is_spent_once(bench: Bench) -> None:
    """With the key of an answer that was lost: the same charge, though it is claimed again."""
    spend = Spend(100)
    run = bench.sent(KEYED, spend=spend)
    for _ in range(3):
        transitions.release(bench.db, run, bench.here.owner)
        between = bench.left(spend)
        bench.sent(KEYED, spend=spend)

    assert (between, bench.left(spend)) == (50, 50)


# What a person decides, and what the list of accepted requests knows.


def test_a_request_settles_one_run(bench: Bench) -> None:
    """One that is another run's cannot be this one's; one that was only attached can."""
    bench.accepted(UNSEEDED)
    run = bench.lose(bench.sent())
    claims.attach(bench.db, "svc", "m", "r2", bench.here)

    with pytest.raises(Moved, match="is run 1 of the library already"):
        transitions.resolve(bench.db, run, "r1", "here")
    entry = transitions.resolve(bench.db, run, "r2", "here")

    assert (entry.state, entry.request_id, entry.error) == ("accepted", "r2", None)
    assert claims.attach(bench.db, "svc", "m", "r2", bench.here).entry.id == run


def test_an_expired_run_is_asked_about_and_never_sent_again(bench: Bench) -> None:
    """It is paid for: only a new take is. Whoever wants the same again hears what the service says by then."""
    run = bench.accepted()
    bench.move(run, EXPIRED, error_type=EXPIRED)

    again = bench.choose()
    bench.move(run, COMPLETED, output="{}")
    fresh = bench.choose(fresh=True)

    assert (again.action, again.entry.id, again.entry.owner) == ("follow", run, bench.here.owner)
    assert bench.entry(run).stage == "completed"
    assert (fresh.action, fresh.entry.take) == ("send", 1)


def test_a_lost_row_is_made_again_with_all_that_it_may_have_cost(bench: Bench) -> None:
    """The latest attempt counts, whatever the order of the lines; earlier ones may have been paid for."""
    entry = bench.entry(bench.accepted())
    lines = [
        claims.make_acceptance(entry._replace(attempt=attempt, price=price), f"r{attempt}")
        for attempt, price in ((3, 50), (1, 40), (2, None), (3, 50))
    ]
    bench.db.execute("DELETE FROM runs")
    del lines[0]["name"]  # As in a list of an earlier version.

    claims.append_lines(bench.here.folder, lines)
    claims.catch_up(bench.db, bench.here.folder)

    (row,) = transitions.find_entries(bench.db, "1")
    assert (row.request_id, row.attempt, row.price) == ("r3", 3, 50)
    assert (row.spent, row.unpriced, bench.cost(unknown=7)) == (40, 1, 97)
