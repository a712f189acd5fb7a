"""Budgets: what the runs of a sweep or of one caller have cost or may cost, and the refusal of the next one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...errors import OverBudget
from .transitions import UNDERREPORTED, State

COST = f"""spent + unpriced * :unknown + CASE
    WHEN charged IS NOT NULL AND state IN ('{State.FAILED}', '{State.CANCELLED}') AND service NOT IN
        (SELECT substr(name, {len(UNDERREPORTED) + 1}) FROM meta WHERE name GLOB '{UNDERREPORTED}*') THEN charged
    WHEN charged IS NOT NULL THEN max(charged, coalesce((SELECT credits FROM floors WHERE floors.run = runs.id), 0))
    WHEN state = '{State.REJECTED}' OR (state = '{State.PLANNED}' AND attempt_key IS NULL) THEN 0
    ELSE coalesce(price, :unknown) END"""
"""SQL for the actual or possible cost of a run: after a lost response its full price, or `:unknown` without a price.

A charge below a run's floor is treated as an error of the service unless the user states a price (`price=`). The
account's balance is no evidence against that: the account is shared with other kernels and users, it may be booked
after the run ends, the specification does not include it, and a service that reports charges in another unit also
reports the balance in it.

A run that failed or was cancelled costs what the service reports, because services refund those; but a service that
reported less than the known price of any run is not trusted. If it reports nothing for such a run, its price counts.
"""

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
        f"SELECT coalesce(sum({COST}), 0) FROM scopes JOIN runs USING (service, identity, take)"
        " WHERE scope = :scope AND runs.id != :besides",
        {"scope": budget.scope, "besides": besides, "unknown": price or 0},
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
        f"SELECT id, state, {COST} FROM runs WHERE id IN (SELECT value FROM json_each(:claims))",
        {"claims": json.dumps(list(spend.claims)), "unknown": unknown},
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


def lower_floors(db: sqlite3.Connection, service: str, scope: str | None, price: int) -> None:
    """Lower the floor of a scope's runs to the price stated by the user, and trust the service's reports again."""
    db.execute("DELETE FROM meta WHERE name = ?", (UNDERREPORTED + service,))
    db.execute(
        "UPDATE floors SET credits = ? WHERE credits > ? AND run IN"
        " (SELECT id FROM scopes JOIN runs USING (service, identity, take) WHERE scope = ?)",
        (price, price, scope),
    )
