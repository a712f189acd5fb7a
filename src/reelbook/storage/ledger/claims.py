"""Find or create a run's ledger row, claim it if it is unpaid, and check the budget."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from ...errors import OverBudget
from .crash_recovery import LedgerProcess, clear_dead_owner
from .known_services import get_current_name
from .transitions import (
    ATTACHED,
    COLUMNS,
    PAID,
    UNDERREPORTED,
    Entry,
    State,
    coerce_credits,
    get_entry,
    get_floor_of_failed,
    get_past_cost,
    move,
    rank,
    record_event,
    record_underreporting,
    set_owner,
    to_storable,
)

COST = f"""spent + unpriced * :unknown + CASE
    WHEN charged IS NOT NULL AND state IN ('{State.FAILED}', '{State.CANCELLED}') AND service NOT IN
        (SELECT substr(name, {len(UNDERREPORTED) + 1}) FROM meta WHERE name GLOB '{UNDERREPORTED}*') THEN charged
    WHEN charged IS NOT NULL THEN max(charged, coalesce((SELECT credits FROM floors WHERE floors.run = runs.id), 0))
    WHEN state = '{State.REJECTED}' OR (state = '{State.PLANNED}' AND attempt_key IS NULL) THEN 0
    ELSE coalesce(price, :unknown) END"""
"""SQL for what a run has cost, or may have cost: a lost answer counts with its whole price, and without one as `:unknown`.

A charge below a run's floor is taken for an error of the service until a person says otherwise (`price=`). The
account's balance never lifts that: it is of the whole account, which other kernels and people use at the same time, it
may be booked later than the run ends, the specification does not include it, and a service that reports charges in
another unit reports the balance in it, too.

A run that failed or was cancelled costs what the service reports, since services refund those; only if it has reported
less than the known price of any run, its 0 says nothing. If it reports nothing for such a run, the whole price counts.
"""

KEY_SECONDS = 23 * 3600.0
"""How long a service recognises a repetition by its key; services store keys for a day."""

_FINAL = (State.STORED, State.REJECTED, State.FAILED, State.CANCELLED)
"""States in which the cost does not change any more; another attempt is a claim of its own."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run that a caller wants, with its price."""

    service: str
    identity: str
    model: str
    input: str
    price: int | None
    """What one attempt counts for, until the service has reported its charge."""
    idempotent: bool
    reusable: bool
    """Whether the same input gives the same result, so that one is enough."""
    floor: int | None = None
    """The least that one attempt counts for, whatever the service reports: its model's known price, or what a person stated."""
    reported: int | None = None
    """The price that the service reports."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A ceiling on everything that the runs of one scope have cost or may have cost."""

    scope: str
    limit: int


@dataclass(slots=True)
class Spend:
    """A ceiling on what one caller pays, or may pay, from now on: only the cost of its own claims counts."""

    limit: int
    paid: int = 0
    """The cost of those of its claims that is final."""
    claims: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """The other claims by run: its cost before, how many earlier attempts have no price, and its price now."""


class Action(StrEnum):
    """What to do about a run that a caller wants."""

    SEND = "send"
    """Send the paid request."""
    FOLLOW = "follow"
    """Poll it: it is paid for, and nobody follows it."""
    JOIN = "join"
    """Take the one that this process follows."""
    AWAIT = "await"
    """Wait for the one that another process follows."""
    SERVE = "serve"
    """Take its result from the library."""
    ASK = "ask"
    """Ask the person: it is uncertain."""
    ENDED = "ended"
    """Report its end: it was attached, and is over."""


class Verdict(NamedTuple):
    """The action to take for a run that a caller wants."""

    action: Action
    entry: Entry


def find_or_claim(
    db: sqlite3.Connection,
    request: RunRequest,
    process: LedgerProcess,
    *,
    key: str | None,
    fresh: bool = False,
    join: bool = True,
    take: int | None = None,
    budget: Budget | None = None,
    spend: Spend | None = None,
) -> Verdict:
    """Find or create the row of a run, claim it if it is unpaid, and return the action to take.

    `join`: an unseeded run joins an unfinished one of this process.
    """
    # Another process may have merged the service under another name meanwhile.
    request = replace(request, service=get_current_name(db, request.service))
    found = None if fresh else _find_candidate(db, request, process, take, join)
    if found is None:
        found = _insert_planned(db, request, _get_next_take(db, request) if take is None or fresh else take)
    if budget is not None:
        join_scope(db, budget.scope, request.service, [(request.identity, found.take)])
    if found.state == State.STORED:
        return Verdict(Action.SERVE, found)
    if found.state == State.UNCERTAIN:
        return Verdict(Action.ASK, found)
    if found.owner is not None or found.state in PAID:
        return _follow_or_wait(db, found, process.owner)
    claimed = _claim(db, found, request, process.owner, key, budget, spend)
    return Verdict(Action.ASK if claimed.state == State.UNCERTAIN else Action.SEND, claimed)


def attach(db: sqlite3.Connection, service: str, model: str, request_id: str, process: LedgerProcess) -> Verdict:
    """Find the row of a run by its request id, or insert one if it was made elsewhere, and return the action to take."""
    service = get_current_name(db, service)
    row = db.execute(
        # If an uncertain run was resolved with it, that row knows more than one without an input.
        f"SELECT {COLUMNS} FROM runs WHERE service = ? AND request_id = ? ORDER BY substr(identity, 1, ?) = ?, id DESC LIMIT 1",
        (service, to_storable(request_id), len(ATTACHED), ATTACHED),
    ).fetchone()
    if row is None:
        cursor = db.execute(
            "INSERT INTO runs (service, identity, take, model, input, state, owner, request_id, created, sent)"
            " VALUES (?, ?, 0, ?, '{}', ?, ?, ?, ?, ?)",
            (
                service, to_storable(ATTACHED + request_id), model, State.ACCEPTED, process.owner, to_storable(request_id),
                time.time(), time.time(),
            ),
        )  # fmt: skip
        record_event(db, cursor.lastrowid, State.ACCEPTED, request_id)
        return Verdict(Action.FOLLOW, get_entry(db, cursor.lastrowid or 0))
    entry = clear_dead_owner(db, Entry(*row), process)
    if entry.state == State.STORED:
        return Verdict(Action.SERVE, entry)
    return _follow_or_wait(db, entry, process.owner) if entry.state in PAID else Verdict(Action.ENDED, entry)


def get_waiting(db: sqlite3.Connection, service: str, owner: str) -> list[Entry]:
    """Get the accepted runs of a service that are not known to have begun, and that have this owner or none."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM runs WHERE service = ? AND state = ? AND (owner IS NULL OR owner = ?) ORDER BY id",
        (get_current_name(db, service), State.ACCEPTED, owner),
    )
    return [Entry(*row) for row in rows]


def check_budget(
    db: sqlite3.Connection,
    budget: Budget,
    price: int | None,
    *,
    besides: int = 0,
    earlier: int = 0,
    unpriced: int = 0,
) -> None:
    """Raise `OverBudget` if the budget has no room for a run at this price. Runs without a price count as much as it."""
    row = db.execute(
        f"SELECT coalesce(sum({COST}), 0) FROM scopes JOIN runs USING (service, identity, take)"
        " WHERE scope = :scope AND runs.id != :besides",
        {"scope": budget.scope, "besides": besides, "unknown": price or 0},
    ).fetchone()
    committed = int(row[0]) + earlier + unpriced * (price or 0)
    # A run that costs nothing takes no room, also where all of it is used up.
    if price is None or (price and committed + price > budget.limit):
        raise OverBudget(budget.limit, committed, price)


def reserve_spend(
    db: sqlite3.Connection, spend: Spend, run: int, past: tuple[int, int], price: int | None
) -> None:  # fmt: skip
    """Count the claim of a run against its caller's ceiling, or raise `OverBudget`.

    `past` is what earlier attempts at the run have cost, whoever paid, and how many of them have no price.
    """
    unknown = price or 0
    committed = _get_committed(db, spend, unknown, besides=run)
    # A claim that is repeated counts from its first time on: what that may have cost lies between.
    spent, unpriced, earlier_price = spend.claims.get(run, (*past, 0))
    committed += past[0] - spent + (past[1] - unpriced) * unknown
    if price is None or (price and committed + price > spend.limit):
        raise OverBudget(spend.limit, committed, price, "spend")
    spend.claims[run] = (spent, unpriced, max(earlier_price, price))


def _get_committed(db: sqlite3.Connection, spend: Spend, unknown: int, *, besides: int) -> int:
    """The cost, known or possible, of a caller's claims without that of one run."""
    rows = db.execute(
        f"SELECT id, state, {COST} FROM runs WHERE id IN (SELECT value FROM json_each(:claims))",
        {"claims": json.dumps(list(spend.claims)), "unknown": unknown},
    )
    found = {run: (state, cost) for run, state, cost in rows}
    total = 0
    for run, (spent, unpriced, price) in [*spend.claims.items()]:
        # A row that was deleted meanwhile counts with its price.
        state, cost = found.get(run, (State.STORED, spent + unpriced * unknown + price))
        cost_now = max(cost - spent - unpriced * unknown, 0)
        if state in _FINAL:
            # Left out of the next sum, so that a claim takes no longer at the end of a long sweep than at its beginning.
            del spend.claims[run]
            spend.paid += cost_now
        elif run != besides:
            total += cost_now
    return spend.paid + total


def join_scope(db: sqlite3.Connection, scope: str, service: str, runs: Sequence[tuple[str, int]]) -> None:
    """Add these runs (identity and take) to a scope, so that they count against its budget, whoever pays for them."""
    service = get_current_name(db, service)
    db.executemany(
        "INSERT OR IGNORE INTO scopes VALUES (?, ?, ?, ?)", [(scope, service, name, take) for name, take in runs]
    )


def lower_floors(db: sqlite3.Connection, service: str, scope: str | None, price: int) -> None:
    """Lower the floor of a scope's runs to a price that a person has stated, and trust the service's reports again."""
    db.execute("DELETE FROM meta WHERE name = ?", (UNDERREPORTED + get_current_name(db, service),))
    db.execute(
        "UPDATE floors SET credits = ? WHERE credits > ? AND run IN"
        " (SELECT id FROM scopes JOIN runs USING (service, identity, take) WHERE scope = ?)",
        (price, price, scope),
    )


def _find_candidate(
    db: sqlite3.Connection, request: RunRequest, process: LedgerProcess, take: int | None, join: bool
) -> Entry | None:  # fmt: skip
    """Find the preferred row of the same input. Without a seed each finished run is a take of its own, and not reused."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM runs WHERE service = ? AND identity = ? AND (? IS NULL OR take = ?) AND (? OR state != ?)"
        " ORDER BY take DESC",
        (request.service, request.identity, take, take, take is not None or request.reusable, State.STORED),
    ).fetchall()
    found = [clear_dead_owner(db, Entry(*row), process) for row in rows]
    if take is None and not request.reusable:
        # Another process's unfinished take cannot be joined, and an expired one is over once there is a later one.
        latest = _get_next_take(db, request) - 1
        found = [entry for entry in found if entry.owner is None or (join and entry.owner == process.owner)]
        found = [entry for entry in found if entry.state != State.EXPIRED or entry.take == latest]
    return min(found, key=rank, default=None)


def _follow_or_wait(db: sqlite3.Connection, entry: Entry, owner: str) -> Verdict:
    """The action for a run under way; takes ownership if it has no owner."""
    if entry.owner is None:
        return Verdict(Action.FOLLOW, set_owner(db, entry, owner))
    return Verdict(Action.JOIN if entry.owner == owner else Action.AWAIT, entry)


def _get_next_take(db: sqlite3.Connection, request: RunRequest) -> int:
    row = db.execute(
        "SELECT coalesce(max(take) + 1, 0) FROM runs WHERE service = ? AND identity = ?",
        (request.service, request.identity),
    ).fetchone()
    return int(row[0])


def _insert_planned(db: sqlite3.Connection, request: RunRequest, take: int) -> Entry:
    cursor = db.execute(
        "INSERT INTO runs (service, identity, take, model, input, state, price, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            request.service,
            request.identity,
            take,
            request.model,
            request.input,
            State.PLANNED,
            coerce_credits(request.price),
            time.time(),
        ),
    )
    return get_entry(db, cursor.lastrowid or 0)


def _claim(
    db: sqlite3.Connection,
    entry: Entry,
    request: RunRequest,
    owner: str,
    key: str | None,
    budget: Budget | None,
    spend: Spend | None,
) -> Entry:
    """Claim the run for sending; or mark it uncertain, if it was sent before and cannot be repeated safely any more."""
    repeats = entry.state == State.PLANNED and entry.attempt_key is not None
    if repeats and (why := _why_unrepeatable(entry, request)):
        move(db, entry, State.UNCERTAIN, attempt_key=None, body=None, error_type="uncertain", error=why)
        return get_entry(db, entry.id)
    so_far = {"spent": entry.spent, "unpriced": entry.unpriced}
    is_ended = entry.state in (State.FAILED, State.CANCELLED)
    past = get_past_cost(entry, get_floor_of_failed(db, entry.id)) if is_ended else so_far
    price = coerce_credits(request.price)
    if repeats and entry.price is not None:
        price = entry.price
    if budget is not None:
        check_budget(db, budget, price, besides=entry.id, earlier=past["spent"], unpriced=past["unpriced"])
    if spend is not None:
        reserve_spend(db, spend, entry.id, (past["spent"], past["unpriced"]), price)
    move(
        db, entry, State.INTENT, owner=owner, attempt=entry.attempt + 1, **past, price=price, charged=None,
        attempt_key=entry.attempt_key if repeats else key, body=entry.body if repeats else None,
        request_id=None, output=None, media=None, error_type=None, error=None, queued_s=None, running_s=None,
        finished=None,
    )  # fmt: skip
    if request.floor is None:
        db.execute("DELETE FROM floors WHERE run = ?", (entry.id,))
    else:
        db.execute("INSERT OR REPLACE INTO floors VALUES (?, ?)", (entry.id, request.floor))
        record_underreporting(db, entry.id, request.reported)
    return get_entry(db, entry.id)


def _why_unrepeatable(entry: Entry, request: RunRequest) -> str | None:
    """Why the service would not recognise a repetition, so that it could be charged twice; None if it would."""
    if not request.idempotent:
        return "it was sent, and the service does not recognise repetitions any more"
    # In both directions: a clock that was set back says nothing about the time that has passed.
    if abs(time.time() - (entry.sent or 0)) > KEY_SECONDS:
        return "it was sent too long ago to be repeated"
    return None
