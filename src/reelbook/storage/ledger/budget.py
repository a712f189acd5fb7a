"""Budgets: what the runs of a sweep or of one caller have cost or may cost, and the refusal of the next one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...errors import OverBudget
from .transitions import State

_FINAL = (State.STORED, State.REJECTED, State.FAILED, State.CANCELLED)
"""States in which the cost is final; another attempt is a separate claim."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit on the actual and possible cost of all runs in a scope."""

    scope: str
    limit: int


@dataclass(slots=True)
class Spend:
    """A limit on the actual and possible cost of one caller's claims from now on."""

    limit: int
    paid: int = 0
    """The total of its claims' final costs."""
    claims: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """The other claims by run: cost of earlier attempts, number of those without a price, and the current price."""


def check_budget(
    db: sqlite3.Connection,
    budget: Budget,
    price: int | None,
    *,
    besides: int = 0,
    earlier: int = 0,
    unpriced: int = 0,
) -> None:
    """Raise `OverBudget` if a run at this price exceeds the budget. Runs without a price count at this price, too."""
    row = db.execute(
        "SELECT coalesce(sum(counted + unknown * ?), 0) FROM scopes JOIN entries USING (service, identity, take)"
        " WHERE scope = ? AND id != ?",
        (price or 0, budget.scope, besides),
    ).fetchone()
    committed = int(row[0]) + earlier + unpriced * (price or 0)
    # A free run is allowed even if the budget is used up.
    if price is None or (price and committed + price > budget.limit):
        raise OverBudget(budget.limit, committed, price)


def reserve_spend(
    db: sqlite3.Connection, spend: Spend, run: int, past: tuple[int, int], price: int | None
) -> None:  # fmt: skip
    """Count a claim against its caller's limit, or raise `OverBudget`.

    `past` is the cost of earlier attempts at the run, of any caller, and the number of those without a price.
    """
    unknown = price or 0
    committed = _get_committed(db, spend, unknown, besides=run)
    # A repeated claim keeps the base of its first time, so that the possible cost in between counts.
    spent, unpriced, earlier_price = spend.claims.get(run, (*past, 0))
    committed += past[0] - spent + (past[1] - unpriced) * unknown
    if price is None or (price and committed + price > spend.limit):
        raise OverBudget(spend.limit, committed, price, "spend")
    spend.claims[run] = (spent, unpriced, max(earlier_price, price))


def _get_committed(db: sqlite3.Connection, spend: Spend, unknown: int, *, besides: int) -> int:
    """The actual and possible cost of a caller's claims, except that of one run."""
    rows = db.execute(
        "SELECT id, state, counted + unknown * ? FROM entries WHERE id IN (SELECT value FROM json_each(?))",
        (unknown, json.dumps(list(spend.claims))),
    )
    found = {run: (state, cost) for run, state, cost in rows}
    total = 0
    for run, (spent, unpriced, price) in [*spend.claims.items()]:
        # A row deleted in the meantime counts with its price.
        state, cost = found.get(run, (State.STORED, spent + unpriced * unknown + price))
        cost_now = max(cost - spent - unpriced * unknown, 0)
        if state in _FINAL:
            # Removed from the next query, so that claims do not get slower during a long sweep.
            del spend.claims[run]
            spend.paid += cost_now
        elif run != besides:
            total += cost_now
    return spend.paid + total


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
