"""Budgets: what the runs of a sweep or of one caller have cost or may cost, and the refusal of the next one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...errors import OverBudget


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit on the actual and possible cost of all runs in a scope."""

    scope: str
    limit: int


@dataclass(slots=True)
class Spend:
    """A limit on the actual and possible cost of one caller's claims from now on."""

    limit: int
    claims: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Its claims by run: the cost of attempts before the first of them, and the number of those without a price."""


def check_budget(
    db: sqlite3.Connection, budget: Budget, price: int | None, *, besides: int = 0, earlier: tuple[int, int] = (0, 0)
) -> None:
    """Raise `OverBudget` if a run at this price exceeds the budget. Runs without a price count at this price, too.

    `besides` is the number of the run, and `earlier` the cost of its attempts so far, and the number of those without a price.
    """
    row = db.execute(
        "SELECT coalesce(sum(counted + unknown * ?), 0) FROM scopes JOIN entries USING (service, identity, take)"
        " WHERE scope = ? AND id != ?",
        (price or 0, budget.scope, besides),
    ).fetchone()
    committed = int(row[0]) + earlier[0] + earlier[1] * (price or 0)
    # A free run is allowed even if the budget is used up.
    if price is None or (price and committed + price > budget.limit):
        raise OverBudget(budget.limit, committed, price)


def reserve_spend(
    db: sqlite3.Connection, spend: Spend, run: int, earlier: tuple[int, int], price: int | None
) -> None:  # fmt: skip
    """Count a claim against its caller's limit, or raise `OverBudget`; `earlier` is as for `check_budget`."""
    unknown = price or 0
    # A repeated claim keeps the base of its first time, so that the possible cost in between counts.
    claims = {run: earlier, **spend.claims}
    costs = db.execute(
        "SELECT id, counted + unknown * ? FROM entries WHERE id != ? AND id IN (SELECT value FROM json_each(?))",
        (unknown, run, json.dumps(list(claims))),
    )
    now = {**dict(costs.fetchall()), run: earlier[0] + earlier[1] * unknown}
    committed = sum(max(cost - claims[each][0] - claims[each][1] * unknown, 0) for each, cost in now.items())
    if price is None or (price and committed + price > spend.limit):
        raise OverBudget(spend.limit, committed, price, "spend")
    spend.claims = claims


def join_scope(db: sqlite3.Connection, scope: str, service: str, runs: Sequence[tuple[str, int]]) -> None:
    """Add runs (identity and take) to a scope, so that they count against its budget, whichever caller claims them."""
    db.executemany(
        "INSERT OR IGNORE INTO scopes VALUES (?, ?, ?, ?)", [(scope, service, name, take) for name, take in runs]
    )


def lower_floors(db: sqlite3.Connection, scope: str, price: int) -> None:
    """Have the runs of a scope count for no more than the price stated by the user, where the service charges less."""
    db.execute(
        "UPDATE runs SET floor = ? WHERE floor > ? AND id IN"
        " (SELECT id FROM scopes JOIN runs USING (service, identity, take) WHERE scope = ?)",
        (price, price, scope),
    )
