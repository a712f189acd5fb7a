"""Find or create a run's ledger row, claim it if it is unpaid and within the budget, and recover the runs of ended processes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from .budget import Budget, Spend, check_budget, join_scope, reserve_spend
from .transitions import (
    ATTACHED,
    EXPIRED,
    RESUBMITTED,
    UNANSWERED,
    Entry,
    State,
    clear_owner,
    coerce_credits,
    find_entries,
    get_entry,
    get_next_take,
    insert_extra_take,
    insert_run,
    move,
    rank,
    record_event,
    set_owner,
    update_run,
)

KEY_SECONDS = 23 * 3600.0
"""How long a service recognises a repeated request by its idempotency key; services store keys for a day."""


class LedgerProcess(Protocol):
    """The interface of the writing process that recovery requires."""

    @property
    def owner(self) -> str:
        """Its name in the ledger."""

    def is_dead(self, name: str) -> bool:
        """Whether the process of this name has ended."""

    def read_acceptances(self, identities: Collection[str] | None = None) -> list[dict[str, Any]]:
        """Read the list of accepted requests, of these runs or of all."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run requested by a caller, with its price."""

    service: str
    identity: str
    model: str
    input: str
    price: int | None
    """The cost of one attempt until the service has reported its charge."""
    idempotent: bool
    reusable: bool
    """Whether equal input gives an equal result, which can be reused."""
    floor: int | None = None
    """What one attempt counts for at least, whatever the service says: the model's known price, or the user's."""


class Action(StrEnum):
    """What to do about a requested run."""

    SEND = "send"
    """Send the paid request."""
    FOLLOW = "follow"
    """Poll it: it is paid for, and no process follows it."""
    JOIN = "join"
    """Use the run that this process follows."""
    AWAIT = "await"
    """Wait for the process that follows it."""
    SERVE = "serve"
    """Return its result from the library."""
    ASK = "ask"
    """Ask the user: it is uncertain."""
    ENDED = "ended"
    """Report its end: it was attached, and has ended."""


class Verdict(NamedTuple):
    """The action to take for a requested run, and its row."""

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
    name: str | None = None,
) -> Verdict:
    """Find or create the row of a run, claim it if it is unpaid, and return the action to take.

    `join`: an unseeded run joins an unfinished one of this process. `name`: only the row of this name is the run.
    """
    if name is not None:
        found = _find_named(db, request, process, name)
    else:
        found = None if fresh else _find_candidate(db, request, process, take, join)
    if found is None:
        found = _insert_planned(
            db, request, get_next_take(db, request.service, request.identity) if take is None or fresh or name else take
        )
        if name is not None:
            db.execute("INSERT OR REPLACE INTO names VALUES (?, ?)", (name, found.id))
    if budget is not None:
        join_scope(db, budget.scope, request.service, [(request.identity, found.take)])
    if found.state == State.STORED:
        return Verdict(Action.SERVE, found)
    if found.state == State.UNCERTAIN:
        return Verdict(Action.ASK, found)
    if found.owner is not None or found.state == State.ACCEPTED:
        return _follow_or_wait(db, found, process.owner)
    claimed = _claim(db, found, request, process.owner, key, budget, spend)
    return Verdict(Action.ASK if claimed.state == State.UNCERTAIN else Action.SEND, claimed)


def attach(db: sqlite3.Connection, service: str, model: str, request_id: str, process: LedgerProcess) -> Verdict:
    """Find the row of a run by its request id, or insert one if it was made elsewhere, and return the action to take."""
    # A row resolved from an uncertain run is preferred to an attached one, which lacks the input.
    order = f"ORDER BY identity GLOB '{ATTACHED}*', id DESC LIMIT 1"
    entries = find_entries(db, f"service = ? AND request_id = ? {order}", service, request_id)
    if not entries:
        now = time.time()
        run = insert_run(
            db, service=service, identity=ATTACHED + request_id, take=0, model=model, input="{}", state=State.ACCEPTED,
            owner=process.owner, request_id=request_id, created=now, sent=now,
        )  # fmt: skip
        return Verdict(Action.FOLLOW, get_entry(db, run))
    entry = clear_dead_owner(db, entries[0], process)
    if entry.state == State.STORED:
        return Verdict(Action.SERVE, entry)
    return _follow_or_wait(db, entry, process.owner) if entry.state == State.ACCEPTED else Verdict(Action.ENDED, entry)


def get_waiting(db: sqlite3.Connection, service: str, owner: str) -> list[Entry]:
    """Get the accepted runs of a service that are not known to have ended, and that have this owner or none."""
    where = "service = ? AND stage = ? AND (owner IS NULL OR owner = ?) ORDER BY id"
    return find_entries(db, where, service, State.ACCEPTED, owner)


def _find_candidate(
    db: sqlite3.Connection, request: RunRequest, process: LedgerProcess, take: int | None, join: bool
) -> Entry | None:  # fmt: skip
    """Find the preferred row with the same input. Without a seed a finished run is a separate take, and not reused."""
    where = "service = ? AND identity = ? AND (? IS NULL OR take = ?) AND (? OR state != ?) ORDER BY take DESC"
    may_be_stored = take is not None or request.reusable
    entries = find_entries(db, where, request.service, request.identity, take, take, may_be_stored, State.STORED)
    entries = [clear_dead_owner(db, entry, process) for entry in entries]
    if take is None and not request.reusable:
        # Unfinished takes of other processes cannot be joined; expired ones are superseded by later takes.
        latest = get_next_take(db, request.service, request.identity) - 1
        entries = [entry for entry in entries if entry.owner is None or (join and entry.owner == process.owner)]
        entries = [entry for entry in entries if entry.stage != EXPIRED or entry.take == latest]
    return min(entries, key=rank, default=None)


def _find_named(db: sqlite3.Connection, request: RunRequest, process: LedgerProcess, name: str) -> Entry | None:
    """Find the row of this name, unless it was for another service, where it can only have been refused."""
    where = "service = ? AND id = (SELECT run FROM names WHERE name = ?)"
    entries = find_entries(db, where, request.service, name)
    return clear_dead_owner(db, entries[0], process) if entries else None


def _follow_or_wait(db: sqlite3.Connection, entry: Entry, owner: str) -> Verdict:
    """The action for an accepted run; takes ownership if it has no owner."""
    if entry.owner is None:
        return Verdict(Action.FOLLOW, set_owner(db, entry, owner))
    return Verdict(Action.JOIN if entry.owner == owner else Action.AWAIT, entry)


def _insert_planned(db: sqlite3.Connection, request: RunRequest, take: int) -> Entry:
    run = insert_run(
        db, service=request.service, identity=request.identity, take=take, model=request.model, input=request.input,
        state=State.PLANNED, price=coerce_credits(request.price), created=time.time(),
    )  # fmt: skip
    return get_entry(db, run)


def _claim(
    db: sqlite3.Connection,
    entry: Entry,
    request: RunRequest,
    owner: str,
    key: str | None,
    budget: Budget | None,
    spend: Spend | None,
) -> Entry:
    """Claim the run for sending; or mark it uncertain, if it was sent before and cannot be repeated safely."""
    # What was sent before is repeated with its key, and so paid once.
    repeats = entry.state == State.PLANNED and entry.attempt_key is not None
    if repeats and (why := _why_unrepeatable(entry, request)):
        move(db, entry, State.UNCERTAIN, error_type="uncertain", error=why)
        return get_entry(db, entry.id)
    earlier = (entry.spent, entry.unpriced) if repeats else (entry.counted, entry.unknown)
    price = entry.price if repeats and entry.price is not None else coerce_credits(request.price)
    if budget is not None:
        check_budget(db, budget, price, besides=entry.id, earlier=earlier)
    if spend is not None:
        reserve_spend(db, spend, entry.id, earlier, price)
    move(
        db, entry, State.PLANNED, owner=owner, attempt=entry.attempt + 1, spent=earlier[0], unpriced=earlier[1], price=price,
        floor=request.floor, error_type=RESUBMITTED if entry.error_type == RESUBMITTED else None,
        **dict.fromkeys(("charged", "request_id", "output", "media", "error", "queued_s", "running_s", "finished")),
        **({} if repeats else {"attempt_key": key, "body": None}),
    )  # fmt: skip
    return get_entry(db, entry.id)


def _why_unrepeatable(entry: Entry, request: RunRequest) -> str | None:
    """Why a repeated request could be charged twice; None if the service recognises it by its key."""
    if not request.idempotent:
        return "it was sent, and the service does not recognise repetitions any more"
    # In both directions: after the clock was set back the elapsed time is unknown.
    if abs(time.time() - (entry.sent or 0)) > KEY_SECONDS:
        return "it was sent too long ago to be repeated"
    return None


# Runs of ended processes.


def recover(db: sqlite3.Connection, process: LedgerProcess) -> list[str]:
    """Clear the owner of every run whose process has ended; returns the names of those processes."""
    owners = [row[0] for row in db.execute("SELECT DISTINCT owner FROM runs WHERE owner IS NOT NULL")]
    dead = [name for name in owners if process.is_dead(name)]
    left_by_dead = [entry for name in dead for entry in find_entries(db, "owner = ?", name)]
    unanswered = [entry.identity for entry in left_by_dead if entry.state in (State.PLANNED, State.SENDING)]
    if unanswered:
        # The list first: it may have the answers to these runs.
        apply_acceptances(db, process.read_acceptances(unanswered), process.is_dead)
    for entry in left_by_dead:
        clear_owner(db, get_entry(db, entry.id))
    return dead


def clear_dead_owner(db: sqlite3.Connection, entry: Entry, process: LedgerProcess) -> Entry:
    """Recover the ledger if the owner of this run has ended; returns the current row."""
    if entry.owner is None or not process.is_dead(entry.owner):
        return entry
    recover(db, process)
    return get_entry(db, entry.id)


def take_over(db: sqlite3.Connection, run: int, process: LedgerProcess) -> Entry:
    """Take ownership of a run if it is paid and its owner released it or has ended; returns the current row."""
    entry = clear_dead_owner(db, get_entry(db, run), process)
    return set_owner(db, entry, process.owner) if entry.owner is None and entry.state == State.ACCEPTED else entry


def abandon(db: sqlite3.Connection, run: int) -> None:
    """Clear the owner of a run of this process, because something failed between two of its steps."""
    clear_owner(db, get_entry(db, run))


def make_acceptance(entry: Entry, request_id: str) -> dict[str, Any]:
    """The line in the list of accepted requests, from which the row of the run can be restored."""
    return {
        "at": time.time(), "service": entry.service, "identity": entry.identity, "take": entry.take,
        "attempt": entry.attempt, "model": entry.model, "request_id": request_id, "price": entry.price,
        "input": entry.input,
    }  # fmt: skip


def apply_acceptances(
    db: sqlite3.Connection,
    lines: Collection[Mapping[str, Any]],
    is_dead: Callable[[str], bool] = lambda name: False,
) -> int:
    """Put back the requests of these lines that the ledger does not have, of runs without a live owner; returns their number."""
    return sum(_apply_line(db, line, is_dead) for line in sorted(lines, key=lambda line: int(line["attempt"])))


def _apply_line(db: sqlite3.Connection, line: Mapping[str, Any], is_dead: Callable[[str], bool]) -> bool:
    """Put back one request: a lost answer, a later attempt, a second request, or a run that has no row."""
    service, request_id, sent = line["service"], line["request_id"], line["at"]
    if find_entries(db, "request_id = ? AND service = ?", request_id, service):
        return False
    rows = find_entries(db, "service = ? AND identity = ? AND take = ?", service, line["identity"], line["take"])
    attempt = {"state": State.ACCEPTED, **{name: line[name] for name in ("attempt", "request_id", "price")}}
    if not rows:
        names = ("service", "identity", "take", "model", "input")
        insert_run(db, **{name: line[name] for name in names}, **attempt, created=sent, sent=sent)
        return True
    entry = rows[0]
    if (entry.owner is not None and not is_dead(entry.owner)) or line["attempt"] < entry.attempt:
        return False  # A live process records it itself.
    is_later = line["attempt"] > entry.attempt
    if is_later and entry.output is None:
        # Of an older copy of the ledger: its attempt may have been paid for, too.
        if entry.request_id is not None or entry.state == State.UNCERTAIN:
            attempt |= {"spent": entry.counted, "unpriced": entry.unknown}
        cleared = dict.fromkeys(("owner", "attempt_key", "body", "charged", "error", "error_type", "finished"))
        update_run(db, entry.id, **attempt, **cleared, sent=sent)
        record_event(db, entry.id, State.ACCEPTED, request_id)
    elif not is_later and entry.request_id is None and entry.state in UNANSWERED:
        move(db, entry, State.ACCEPTED, request_id=request_id, owner=None, note=request_id)
    else:
        insert_extra_take(db, entry, request_id, line["price"])
    return True
