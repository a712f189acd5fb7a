"""What is to be done about a run that somebody wants: its row is found or made, and claimed if nobody has paid for it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...errors import OverBudget
from .crash_recovery import Keeping, freed
from .known_services import current
from .transitions import (
    ACCEPTED,
    CANCELLED,
    COLUMNS,
    EXPIRED,
    FAILED,
    INTENT,
    NO_NAME,
    PAID,
    PLANNED,
    REJECTED,
    STORED,
    TELLS_LESS,
    UNCERTAIN,
    Entry,
    amount,
    event,
    least_of_failed,
    move,
    note_price,
    owned,
    past_cost,
    rank,
    read,
    storable,
)

COST = f"""spent + unpriced * :unknown + CASE
    WHEN charged IS NOT NULL AND state IN ('{FAILED}', '{CANCELLED}') AND service NOT IN
        (SELECT substr(name, {len(TELLS_LESS) + 1}) FROM meta WHERE name GLOB '{TELLS_LESS}*') THEN charged
    WHEN charged IS NOT NULL THEN max(charged, coalesce((SELECT credits FROM floors WHERE floors.run = runs.id), 0))
    WHEN state = '{REJECTED}' OR (state = '{PLANNED}' AND attempt_key IS NULL) THEN 0
    ELSE coalesce(price, :unknown) END"""
"""What a run has cost, or may have cost: a lost answer counts with its whole price, and one without a price as `:unknown`.

A charge below what the run counts for at least is a service's mistake until a person says otherwise (`price=`). The
account's own figures never lift that. They are of the whole account, which other kernels and people spend from and pay
into at the same time, they may be booked later than the run ends, the specification does not show them at all, and who
tells a charge in another unit tells a balance in it, too.

A run that has failed or was cancelled costs what the service says, since services refund those; only where it has told
less than the known price of any run, its 0 says nothing. Where it says nothing of such a run, the whole price counts.
"""

KEY_SECONDS = 23 * 3600.0
"""How long a repetition is recognised by its key; services keep them for a day."""

_FINAL = (STORED, REJECTED, FAILED, CANCELLED)
"""What such a run has cost does not change any more; one more attempt at it is a claim of its own."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A run that somebody wants."""

    service: str
    identity: str
    model: str
    input: str
    price: int | None
    """What one attempt counts for, until the service has told what it charged."""
    idempotent: bool
    reusable: bool
    """Whether the same input gives the same result, so that one is enough."""
    least: int | None = None
    """What one attempt counts for at least, whatever the service says: the known price of its model, or a person's word."""
    told: int | None = None
    """What the service says that it costs."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A ceiling on everything that the runs of one scope have cost or may have cost."""

    scope: str
    limit: int


@dataclass(slots=True)
class Spend:
    """A ceiling on what one caller pays from now on, or may pay: what its own claims cost counts, and nothing from before."""

    limit: int
    paid: int = 0
    """What those of its claims have cost whose cost does not change any more."""
    claims: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """The others by the number of their run: what it had cost before, how much of that has no price, and its price now."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be done about a run that somebody wants."""

    do: str
    """`send` it, `follow` it, `join` the one that this process follows, `await` one of another process, `serve` it from
    the library, or `ask` the person about an uncertain one."""
    entry: Entry


def choose(
    db: sqlite3.Connection,
    asked: Asked,
    keeper: Keeping,
    *,
    key: str | None,
    fresh: bool = False,
    join: bool = True,
    take: int | None = None,
    budget: Budget | None = None,
    spend: Spend | None = None,
) -> Verdict:
    """Find or make the row of a run, and claim it if nobody has. `join`: an unseeded run joins an unfinished one of ours."""
    # Another process may have learned meanwhile that the service goes by another name, too.
    asked = replace(asked, service=current(db, asked.service))
    found = None if fresh else _candidate(db, asked, keeper, take, join)
    if found is None:
        found = _entered(db, asked, _next_take(db, asked) if take is None or fresh else take)
    if budget is not None:
        join_scope(db, budget.scope, asked.service, [(asked.identity, found.take)])
    if found.state == STORED:
        return Verdict("serve", found)
    if found.state == UNCERTAIN:
        return Verdict("ask", found)
    if found.owner is not None or found.state in PAID:
        return _others(db, found, keeper.owner)
    claimed = _claimed(db, found, asked, keeper.owner, key, budget, spend)
    return Verdict("ask" if claimed.state == UNCERTAIN else "send", claimed)


def attached(db: sqlite3.Connection, service: str, model: str, request_id: str, keeper: Keeping) -> Verdict:
    """The row of a run that is known by its request id; a new one if it was made elsewhere."""
    service = current(db, service)
    row = db.execute(
        # Where an uncertain run was settled with it, that row knows more than one without an input.
        f"SELECT {COLUMNS} FROM runs WHERE service = ? AND request_id = ? ORDER BY substr(identity, 1, ?) = ?, id DESC LIMIT 1",
        (service, storable(request_id), len(NO_NAME), NO_NAME),
    ).fetchone()
    if row is None:
        cursor = db.execute(
            "INSERT INTO runs (service, identity, take, model, input, state, owner, request_id, created, sent)"
            " VALUES (?, ?, 0, ?, '{}', ?, ?, ?, ?, ?)",
            (
                service, storable(NO_NAME + request_id), model, ACCEPTED, keeper.owner, storable(request_id),
                time.time(), time.time(),
            ),
        )  # fmt: skip
        event(db, cursor.lastrowid, ACCEPTED, request_id)
        return Verdict("follow", read(db, cursor.lastrowid or 0))
    entry = freed(db, Entry(*row), keeper)
    if entry.state == STORED:
        return Verdict("serve", entry)
    return _others(db, entry, keeper.owner) if entry.state in PAID else Verdict("ended", entry)


def waiting(db: sqlite3.Connection, service: str, owner: str) -> list[Entry]:
    """The accepted runs of a service that this owner follows, or nobody, and of which nobody has seen that they have begun."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM runs WHERE service = ? AND state = ? AND (owner IS NULL OR owner = ?) ORDER BY id",
        (current(db, service), ACCEPTED, owner),
    )
    return [Entry(*row) for row in rows]


def within(
    db: sqlite3.Connection,
    budget: Budget,
    price: int | None,
    *,
    besides: int = 0,
    earlier: int = 0,
    unpriced: int = 0,
) -> None:
    """Refuse a run that its budget does not leave room for. Runs that nobody knows the price of count as much as it."""
    row = db.execute(
        f"SELECT coalesce(sum({COST}), 0) FROM scopes JOIN runs USING (service, identity, take)"
        " WHERE scope = :scope AND runs.id != :besides",
        {"scope": budget.scope, "besides": besides, "unknown": price or 0},
    ).fetchone()
    committed = int(row[0]) + earlier + unpriced * (price or 0)
    # A run that costs nothing takes no room, also where all of it is used up.
    if price is None or (price and committed + price > budget.limit):
        raise OverBudget(budget.limit, committed, price)


def within_spend(
    db: sqlite3.Connection, spend: Spend, run: int, past: tuple[int, int], price: int | None
) -> None:  # fmt: skip
    """Count the claim of a run against what its caller may spend, or refuse it.

    `past` is what earlier attempts at the run have cost, whoever paid, and how many of them have no price.
    """
    unknown = price or 0
    committed = _committed(db, spend, unknown, besides=run)
    # A claim that is repeated counts from its first time on: what that may have cost lies between.
    spent, unpriced, earlier_price = spend.claims.get(run, (*past, 0))
    committed += past[0] - spent + (past[1] - unpriced) * unknown
    if price is None or (price and committed + price > spend.limit):
        raise OverBudget(spend.limit, committed, price, "spend")
    spend.claims[run] = (spent, unpriced, max(earlier_price, price))


def _committed(db: sqlite3.Connection, spend: Spend, unknown: int, *, besides: int) -> int:
    """What the claims of a caller have cost, or may have cost, without that of one run."""
    rows = db.execute(
        f"SELECT id, state, {COST} FROM runs WHERE id IN (SELECT value FROM json_each(:claims))",
        {"claims": json.dumps(list(spend.claims)), "unknown": unknown},
    )
    found = {run: (state, cost) for run, state, cost in rows}
    total = 0
    for run, (spent, unpriced, price) in [*spend.claims.items()]:
        # A row that somebody has thrown away meanwhile counts with its price.
        state, cost = found.get(run, (STORED, spent + unpriced * unknown + price))
        cost_now = max(cost - spent - unpriced * unknown, 0)
        if state in _FINAL:
            # Left out of the next sum, so that a claim takes no longer at the end of a long sweep than at its beginning.
            del spend.claims[run]
            spend.paid += cost_now
        elif run != besides:
            total += cost_now
    return spend.paid + total


def join_scope(db: sqlite3.Connection, scope: str, service: str, runs: Sequence[tuple[str, int]]) -> None:
    """Count these runs (identity and take) against the budget of a scope, whoever pays for them and whenever."""
    service = current(db, service)
    db.executemany(
        "INSERT OR IGNORE INTO scopes VALUES (?, ?, ?, ?)", [(scope, service, name, take) for name, take in runs]
    )


def lower(db: sqlite3.Connection, service: str, scope: str | None, price: int) -> None:
    """Take a person's word that a run of this scope costs no more than this, where a service has said so before them."""
    db.execute("DELETE FROM meta WHERE name = ?", (TELLS_LESS + current(db, service),))
    db.execute(
        "UPDATE floors SET credits = ? WHERE credits > ? AND run IN"
        " (SELECT id FROM scopes JOIN runs USING (service, identity, take) WHERE scope = ?)",
        (price, price, scope),
    )


def _candidate(
    db: sqlite3.Connection, asked: Asked, keeper: Keeping, take: int | None, join: bool
) -> Entry | None:  # fmt: skip
    """The best of the rows that are there. Without a seed each finished run is a take of its own, and not for this one."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM runs WHERE service = ? AND identity = ? AND (? IS NULL OR take = ?) AND (? OR state != ?)"
        " ORDER BY take DESC",
        (asked.service, asked.identity, take, take, take is not None or asked.reusable, STORED),
    ).fetchall()
    found = [freed(db, Entry(*row), keeper) for row in rows]
    if take is None and not asked.reusable:
        # Another process's unfinished take is not ours to join, and a lost one is over once there is another.
        latest = _next_take(db, asked) - 1
        found = [entry for entry in found if entry.owner is None or (join and entry.owner == keeper.owner)]
        found = [entry for entry in found if entry.state != EXPIRED or entry.take == latest]
    return min(found, key=rank, default=None)


def _others(db: sqlite3.Connection, entry: Entry, owner: str) -> Verdict:
    """What to do about a run that is under way."""
    if entry.owner is None:
        return Verdict("follow", owned(db, entry, owner))
    return Verdict("join" if entry.owner == owner else "await", entry)


def _next_take(db: sqlite3.Connection, asked: Asked) -> int:
    row = db.execute(
        "SELECT coalesce(max(take) + 1, 0) FROM runs WHERE service = ? AND identity = ?",
        (asked.service, asked.identity),
    ).fetchone()
    return int(row[0])


def _entered(db: sqlite3.Connection, asked: Asked, take: int) -> Entry:
    cursor = db.execute(
        "INSERT INTO runs (service, identity, take, model, input, state, price, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (asked.service, asked.identity, take, asked.model, asked.input, PLANNED, amount(asked.price), time.time()),
    )
    return read(db, cursor.lastrowid or 0)


def _claimed(
    db: sqlite3.Connection,
    entry: Entry,
    asked: Asked,
    owner: str,
    key: str | None,
    budget: Budget | None,
    spend: Spend | None,
) -> Entry:
    """The run as ours to send; or uncertain, where it was sent before and cannot be repeated safely any more."""
    repeats = entry.state == PLANNED and entry.attempt_key is not None
    if repeats and (why := _unrepeatable(entry, asked)):
        move(db, entry, UNCERTAIN, attempt_key=None, body=None, error_type="uncertain", error=why)
        return read(db, entry.id)
    so_far = {"spent": entry.spent, "unpriced": entry.unpriced}
    is_ended = entry.state in (FAILED, CANCELLED)
    past = past_cost(entry, least_of_failed(db, entry.id)) if is_ended else so_far
    price = amount(asked.price)
    if repeats and entry.price is not None:
        price = entry.price
    if budget is not None:
        within(db, budget, price, besides=entry.id, earlier=past["spent"], unpriced=past["unpriced"])
    if spend is not None:
        within_spend(db, spend, entry.id, (past["spent"], past["unpriced"]), price)
    move(
        db, entry, INTENT, owner=owner, attempt=entry.attempt + 1, **past, price=price, charged=None,
        attempt_key=entry.attempt_key if repeats else key, body=entry.body if repeats else None,
        request_id=None, output=None, media=None, error_type=None, error=None, queued_s=None, running_s=None,
        finished=None,
    )  # fmt: skip
    if asked.least is None:
        db.execute("DELETE FROM floors WHERE run = ?", (entry.id,))
    else:
        db.execute("INSERT OR REPLACE INTO floors VALUES (?, ?)", (entry.id, asked.least))
        note_price(db, entry.id, asked.told)
    return read(db, entry.id)


def _unrepeatable(entry: Entry, asked: Asked) -> str | None:
    """Why the service would not recognise a repetition, so that it could be paid for twice."""
    if not asked.idempotent:
        return "it was sent, and the service does not recognise repetitions any more"
    # In both directions: a clock that was set back says nothing about the time that has passed.
    if abs(time.time() - (entry.sent or 0)) > KEY_SECONDS:
        return "it was sent too long ago to be repeated"
    return None
