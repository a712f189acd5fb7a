"""What a run costs is one figure on every screen; the panel splits what the budget counts, which is never less."""

from __future__ import annotations

import sqlite3
from typing import cast

import pandas as pd
import pytest

from reelbook.storage.ledger import transitions
from reelbook.storage.ledger.schema import count_scope, join_scope
from reelbook.storage.ledger.transitions import State
from reelbook.sweeps.plan import Row
from reelbook.sweeps.progress import RunName, Standing, find_rows
from reelbook.sweeps.tables import build_frame
from tests.storage.made import BOAT, SERVICE, Made, Move
from tests.sweeps.dots import dots

PRICE, UNKNOWN = 53, 60


def accept(db: sqlite3.Connection, run: int) -> None:
    transitions.mark_accepted(db, run, "request")


def lose(db: sqlite3.Connection, run: int) -> None:
    transitions.move(db, run, State.UNCERTAIN, error="reset")


def end(state: str, charged: int | None) -> Move:
    return lambda db, run: transitions.move(db, run, state, error_type=state, charged=charged)


def complete(charged: int | None) -> Move:
    return lambda db, run: transitions.move(db, run, transitions.COMPLETED, output="{}", charged=charged)


def store(db: sqlite3.Connection, run: int) -> None:
    transitions.move(db, run, State.STORED, media="[]")


def refuse(db: sqlite3.Connection, run: int) -> None:
    transitions.move(db, run, State.REJECTED, error="No.")


@pytest.mark.parametrize(
    ("price", "moves", "shown", "spent", "counted"),
    [
        pytest.param(PRICE, [], 53, 0, 53, id="sending"),
        pytest.param(PRICE, [accept], 53, 0, 53, id="accepted"),
        pytest.param(PRICE, [accept, complete(40)], 40, 40, 53, id="completed, charged too little"),
        pytest.param(PRICE, [accept, complete(60), store], 60, 60, 60, id="stored, charged"),
        pytest.param(PRICE, [accept, complete(None), store], 53, 53, 53, id="stored"),
        pytest.param(PRICE, [accept, complete(40), store], 40, 40, 53, id="stored, charged too little"),
        pytest.param(PRICE, [accept, end(State.FAILED, 10)], 10, 10, 10, id="failed, charged"),
        pytest.param(PRICE, [accept, end(State.FAILED, 0)], 0, 0, 0, id="failed, refunded"),
        pytest.param(PRICE, [accept, end(State.FAILED, None)], 53, 0, 53, id="failed"),
        pytest.param(PRICE, [accept, end(State.CANCELLED, 0)], 0, 0, 0, id="cancelled, refunded"),
        pytest.param(PRICE, [accept, end(State.CANCELLED, None)], 53, 0, 53, id="cancelled"),
        pytest.param(PRICE, [accept, end(transitions.EXPIRED, None)], 53, 0, 53, id="expired"),
        pytest.param(PRICE, [lose], 53, 0, 53, id="uncertain"),
        pytest.param(PRICE, [lose, transitions.allow_resubmission], 53, 53, 53, id="planned after a lost answer"),
        pytest.param(PRICE, [refuse], 0, 0, 0, id="rejected"),
        pytest.param(None, [accept], None, 0, 60, id="accepted without a price"),
        pytest.param(None, [accept, complete(None), store], None, 0, 60, id="stored without a price"),
        pytest.param(None, [accept, complete(40), store], 40, 40, 40, id="stored without a price, charged"),
        pytest.param(None, [lose, transitions.allow_resubmission], None, 0, 60, id="planned after a lost answer without a price"),
    ],
)  # fmt: skip
def test_the_cost_of_a_run_on_every_screen(
    made: Made, price: int | None, moves: list[Move], shown: int | None, spent: int, counted: int
) -> None:
    """Shown in the tables of the library and of a sweep, in the summary; spent and set aside in the panel; counted by a budget."""
    entry = made.entry(made.sent(BOAT, *moves, price=price))
    stored = find_rows(made.ledger, SERVICE, {0: RunName(entry.identity, entry.take, "")})[0]
    standing = Standing(cast(Row, None), None)
    standing.load(stored, {}, UNKNOWN)
    plan = dots(1)
    in_sweep = build_frame(plan, [Standing(next(iter(plan)), None)], [stored], {})
    in_tables = [table["credits"].astype(object).tolist()[0] for table in (made.library.frame, in_sweep)]
    total = made.ledger.transact_now(lambda db: _count_by_budget(db, entry))

    assert [entry.credits, *(None if pd.isna(amount) else amount for amount in in_tables)] == [shown] * 3
    assert made.library.summary()["credits"].sum() == (shown or 0)
    assert (standing.spent, standing.spent + standing.reserved, total) == (spent, counted, counted)
    assert counted >= max(shown or 0, spent)


def _count_by_budget(db: sqlite3.Connection, entry: transitions.Entry) -> int:
    """What a budget says that a run has taken of it."""
    join_scope(db, "plan", entry.service, [(entry.identity, entry.take)])
    return count_scope(db, "plan", UNKNOWN)
