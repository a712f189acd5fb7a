"""The moves of a run, one by one: what may follow what, what it costs, and what a stranger may not do to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import pytest

from reelbook.errors import OverBudget
from reelbook.storage.ledger import claims, transitions
from reelbook.storage.ledger.budget import Budget, Spend, join_scope
from reelbook.storage.ledger.claims import RunRequest, Verdict
from reelbook.storage.ledger.schema import SCHEMA
from reelbook.storage.ledger.transitions import Entry, Moved

PLAIN = RunRequest("svc", "seeded", "m", '{"seed":7}', 50, False, True)
UNSEEDED = replace(PLAIN, identity="unseeded", input="{}", reusable=False)
KEYED = replace(PLAIN, idempotent=True)

Ledger = sqlite3.Connection


class Keeper:
    """A process as the ledger knows it. A stand-in for `Ledger`, because here nobody has to die to be dead."""

    def __init__(
        self, owner: str = "here", dead: Collection[str] = (), lines: list[dict[str, Any]] | None = None
    ) -> None:
        self.owner, self.dead, self.lines = owner, dead, lines or []

    def is_dead(self, name: str) -> bool:
        return name in self.dead

    def read_acceptances(self, identities: Collection[str] | None = None) -> list[dict[str, Any]]:
        return self.lines


HERE, THERE = Keeper("here"), Keeper("there")
AFTER_THERE = Keeper("here", dead={"there"})


@pytest.fixture
def db() -> Iterator[Ledger]:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(SCHEMA)
    yield db
    db.close()


def choose(db: Ledger, asked: RunRequest = PLAIN, keeper: Keeper = HERE, **options: Any) -> Verdict:
    return claims.find_or_claim(db, asked, keeper, **{"key": "k" if asked.idempotent else None, **options})


def claimed(db: Ledger, asked: RunRequest = PLAIN, keeper: Keeper = HERE, **options: Any) -> int:
    verdict = choose(db, asked, keeper, **options)
    assert verdict.action == "send"
    return verdict.entry.id


def sent(db: Ledger, asked: RunRequest = PLAIN, keeper: Keeper = HERE, **options: Any) -> int:
    run = claimed(db, asked, keeper, **options)
    transitions.mark_sending(db, run, keeper.owner, "{}" if asked.idempotent else None)
    return run


def accepted(db: Ledger, asked: RunRequest = PLAIN, keeper: Keeper = HERE, request: str = "r1", **options: Any) -> int:
    run = sent(db, asked, keeper, **options)
    transitions.mark_accepted(db, run, request)
    return run


def stored(db: Ledger, asked: RunRequest = PLAIN, request: str = "r1", **options: Any) -> int:
    run = accepted(db, asked, request=request, **options)
    transitions.mark_completed(db, run, "{}", 50, None, None)
    transitions.mark_stored(db, run, "[]")
    return run


def uncertain(db: Ledger, asked: RunRequest = PLAIN) -> int:
    run = sent(db, asked)
    transitions.mark_uncertain(db, run, "reset")
    return run


def cost(db: Ledger, unknown: int = 0) -> int:
    return int(db.execute("SELECT sum(counted + unknown * ?) FROM entries", (unknown,)).fetchone()[0])


def state(db: Ledger, run: int) -> str:
    return transitions.get_entry(db, run).stage


# Which run it is.


def test_fresh_always_opens_a_new_take(db: Ledger) -> None:
    """Also where a take is named, and where there is one under way."""
    stored(db, take=3)
    accepted(db, take=5, request="r2")

    takes = [choose(db, fresh=True, take=take).entry.take for take in (None, 3)]

    assert takes == [6, 7]


@pytest.mark.parametrize("newer", ["failed", "planned", "uncertain"])
def test_a_paid_take_of_a_seeded_run_is_followed_whatever_came_after_it(db: Ledger, newer: str) -> None:
    """A later attempt with `fresh` went wrong; the earlier one is at the service and costs nothing more."""
    paid = accepted(db, PLAIN, THERE)
    run = sent(db, fresh=True)
    if newer == "planned":
        transitions.mark_unsent(db, run, never=True)
    elif newer == "uncertain":
        transitions.mark_uncertain(db, run, "reset")
    else:
        transitions.mark_accepted(db, run, "r2")
        transitions.mark_ended(db, run, "failed", None, "no", None)

    verdict = choose(db, PLAIN, AFTER_THERE)

    assert (verdict.action, verdict.entry.id) == ("follow", paid)


# Sending.


@pytest.mark.parametrize("passed", [24 * 3600, -24 * 3600])
def test_a_key_is_repeated_for_a_day_only(db: Ledger, passed: float) -> None:
    """After that the service may not know it; a clock that was set back says nothing. Then a person decides."""
    run = sent(db, KEYED, THERE)
    claims.recover(db, AFTER_THERE)
    db.execute("UPDATE runs SET sent = sent - ?", (passed,))

    verdict = choose(db, KEYED, HERE)

    assert (verdict.action, state(db, run)) == ("ask", "uncertain")


# What the service says.


def test_a_charge_that_is_known_is_not_forgotten(db: Ledger) -> None:
    """A later word without it takes nothing back."""
    run = accepted(db)
    db.execute("UPDATE runs SET charged = 40")

    transitions.mark_completed(db, run, "{}", None, None, None)

    assert transitions.get_entry(db, run).charged == 40


# What it costs.


def test_failed_attempts_stay_counted(db: Ledger) -> None:
    """With what the service says that they cost, else with their whole price."""
    run = accepted(db)
    transitions.mark_ended(db, run, "failed", None, "no", 10)
    sent(db)
    transitions.mark_accepted(db, run, "r2")
    transitions.mark_ended(db, run, "failed", None, "gone", None)

    again = claimed(db)

    assert again == run
    assert (transitions.get_entry(db, run).spent, cost(db)) == (60, 110)


def test_what_nobody_knows_the_price_of_counts_as_unknown(db: Ledger) -> None:
    """Each attempt of it, under a budget as much as the person says that one run costs at most."""
    free = replace(PLAIN, price=None)
    run = accepted(db, free)
    transitions.mark_ended(db, run, "failed", None, "no", None)
    claimed(db, free)
    transitions.mark_sending(db, run, "here", None)
    transitions.mark_uncertain(db, run, "reset")
    transitions.allow_resubmission(db, run)
    entry = transitions.get_entry(db, run)

    assert (entry.unpriced, entry.credits) == (2, None)
    assert cost(db, unknown=50) == 100
    join_scope(db, "plan", "svc", [("seeded", 0)])
    with pytest.raises(OverBudget) as error:
        choose(db, PLAIN, budget=Budget("plan", 149))
    assert (error.value.committed, error.value.price) == (100, 50)
    assert choose(db, PLAIN, budget=Budget("plan", 150)).action == "send"


def left_to_spend(db: Ledger, spend: Spend) -> int:
    """How much more one run may cost under it."""
    with pytest.raises(OverBudget, match="spend=") as error:
        choose(db, replace(PLAIN, identity="any", price=10**9), spend=spend)
    return error.value.budget - error.value.committed


@pytest.mark.parametrize(
    ("ends", "left"),
    [
        ("under way", 50), ("stored", 50), ("charged less", 70), ("charged more", 30), ("lost", 50), ("written off", 50),
        ("rejected", 100), ("failed", 50), ("given back", 100), ("expired", 50),
    ],
)  # fmt: skip
def test_what_a_caller_has_claimed_counts_as_it_ends(db: Ledger, ends: str, left: int) -> None:
    """What it has cost, or may have cost, of a run with a price of 50; asked twice, because what is over is summed up."""
    spend = Spend(100)
    run = sent(db, spend=spend)
    if ends in ("lost", "written off"):
        transitions.mark_uncertain(db, run, "reset")
    elif ends == "rejected":
        transitions.mark_rejected(db, run, None, "no")
    else:
        transitions.mark_accepted(db, run, "r1")
    if ends == "written off":
        transitions.write_off(db, run)
    charges = {"stored": 50, "charged less": 30, "charged more": 70}
    if ends in charges:
        transitions.mark_completed(db, run, "{}", charges[ends], None, None)
        transitions.mark_stored(db, run, "[]")
    if ends in ("failed", "given back", "expired"):
        transitions.mark_ended(
            db, run, "expired" if ends == "expired" else "failed", None, "no", 0 if ends == "given back" else None
        )

    assert (left_to_spend(db, spend), left_to_spend(db, spend)) == (left, left)


def test_what_was_paid_before_or_by_others_does_not_count_as_spent_now(db: Ledger) -> None:
    """A failed run from before, one that is stored, one that another process sends, and what is joined."""
    run = accepted(db)
    transitions.mark_ended(db, run, "failed", None, "no", None)
    stored(db, replace(PLAIN, identity="stored"), request="r2")
    sent(db, replace(PLAIN, identity="theirs"), THERE)
    spend = Spend(100)

    served = choose(db, replace(PLAIN, identity="stored"), spend=spend).action
    theirs = choose(db, replace(PLAIN, identity="theirs"), spend=spend).action
    nothing_yet = left_to_spend(db, spend)
    again = accepted(db, request="r3", spend=spend)
    joined = choose(db, spend=spend).action

    assert (served, theirs, joined) == ("serve", "await", "join")
    assert (nothing_yet, left_to_spend(db, spend)) == (100, 50)
    transitions.mark_ended(db, again, "failed", None, "no", None)
    accepted(db, request="r4", spend=spend)
    assert left_to_spend(db, spend) == 0
    assert cost(db) == 3 * 50 + 50 + 50


def test_a_repetition_is_spent_once(db: Ledger) -> None:
    """With the key of an answer that was lost: the same charge, though it is claimed again."""
    spend = Spend(100)
    run = sent(db, KEYED, spend=spend)
    for _ in range(3):
        transitions.allow_retry(db, run)
        between = left_to_spend(db, spend)
        sent(db, KEYED, spend=spend)

    assert (between, left_to_spend(db, spend)) == (50, 50)


# What a person decides.


def test_a_request_settles_one_run(db: Ledger) -> None:
    """One that is another run's cannot be this one's; one that was only attached can."""
    accepted(db, UNSEEDED, request="r1")
    run = uncertain(db)
    claims.attach(db, "svc", "m", "r2", HERE)

    with pytest.raises(Moved, match="is run 1 of the library already"):
        transitions.resolve(db, run, "r1", "here")
    entry = transitions.resolve(db, run, "r2", "here")

    assert (entry.state, entry.request_id, entry.error) == ("accepted", "r2", None)
    assert claims.attach(db, "svc", "m", "r2", HERE).entry.id == run


def test_an_expired_run_is_asked_about_and_never_sent_again(db: Ledger) -> None:
    """It is paid for: only a new take is. Whoever wants the same again hears what the service says by then."""
    run = accepted(db)
    transitions.mark_ended(db, run, "expired", "expired", "gone", None)

    again = choose(db, PLAIN, HERE)
    transitions.mark_completed(db, run, "{}", None, None, None)
    fresh = choose(db, PLAIN, HERE, fresh=True)

    assert (again.action, again.entry.id, again.entry.owner) == ("follow", run, HERE.owner)
    assert transitions.get_entry(db, run).stage == "completed"
    assert (fresh.action, fresh.entry.take) == ("send", 1)


# The second copy.


def test_a_lost_row_is_made_again_with_all_that_it_may_have_cost(db: Ledger) -> None:
    """The latest attempt counts, whatever the order of the lines; earlier ones may have been paid for."""
    entry = transitions.get_entry(db, accepted(db))
    lines = [
        {**claims.make_acceptance(replace(entry, attempt=attempt, price=price), f"r{attempt}")}
        for attempt, price in ((3, 50), (1, 40), (2, None), (3, 50))
    ]
    db.execute("DELETE FROM runs")

    news = claims.apply_acceptances(db, lines)

    row = Entry(*db.execute(f"SELECT {transitions.COLUMNS} FROM entries").fetchone())
    assert (news, row.request_id, row.attempt, row.price) == (3, "r3", 3, 50)
    assert (row.spent, row.unpriced, cost(db, unknown=7)) == (40, 1, 97)
