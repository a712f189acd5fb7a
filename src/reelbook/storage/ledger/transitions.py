"""The ledger: what was asked, what was paid, and what came of it. Every step of a run is a row that only moves forward.

    planned → intent → sending → accepted → running → completed → stored

with the side exits rejected, cancelled, failed, expired and uncertain. The functions here are the moves; each runs
inside a transaction of `writer.py`, which makes it durable before anybody acts on it. `claims.py` finds or claims the
row of a run, `recovery.py` puts in order what a dead process has left.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import ReelbookError

PLANNED, INTENT, SENDING, ACCEPTED, RUNNING, COMPLETED, STORED = WAY = (
    "planned", "intent", "sending", "accepted", "running", "completed", "stored",
)  # fmt: skip
REJECTED, CANCELLED, FAILED, EXPIRED, UNCERTAIN = EXITS = ("rejected", "cancelled", "failed", "expired", "uncertain")

# From intent and planned, too: what the service says counts more than whether the word that it was sent got through.
MOVES: Mapping[str, frozenset[str]] = {
    PLANNED: frozenset({INTENT, UNCERTAIN, ACCEPTED}),
    INTENT: frozenset({SENDING, PLANNED, REJECTED, ACCEPTED, UNCERTAIN}),
    SENDING: frozenset({SENDING, ACCEPTED, REJECTED, UNCERTAIN, PLANNED}),
    ACCEPTED: frozenset({RUNNING, COMPLETED, FAILED, CANCELLED, EXPIRED}),
    RUNNING: frozenset({COMPLETED, FAILED, CANCELLED, EXPIRED}),
    COMPLETED: frozenset({STORED, EXPIRED}),
    STORED: frozenset({COMPLETED}),  # Its files are gone from the shelf, and are fetched again.
    REJECTED: frozenset({INTENT}),
    CANCELLED: frozenset({INTENT}),
    FAILED: frozenset({INTENT}),
    EXPIRED: frozenset({COMPLETED, FAILED, CANCELLED}),
    UNCERTAIN: frozenset({ACCEPTED, FAILED, PLANNED}),
}
"""Which state may follow which; anything else is a mistake in the program, and is refused."""

PAID = (ACCEPTED, RUNNING, COMPLETED, EXPIRED)
"""The service has taken it: it is asked about, never sent again. That holds too where it says that it does not know it any more."""

BEST_FIRST = (STORED, COMPLETED, RUNNING, ACCEPTED, SENDING, INTENT, EXPIRED, UNCERTAIN)
"""Of several takes: what is there, else what is paid for, else what may be, before anything that has yet to be paid."""

MAX_CREDITS = 10**12
"""More than any run costs, and little enough that a sum over all runs is a number that the file takes."""

TELLS_LESS = "tells too little: "
"""Begins the name of the line of `meta` about a service that has told less than a run is known to cost."""

NO_NAME = "attached:"
"""Begins the identity of a run whose input is not known here."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A run as it stands in the ledger."""

    id: int
    service: str
    identity: str
    take: int
    model: str
    input: str
    state: str
    owner: str | None
    attempt: int
    attempt_key: str | None
    body: str | None
    request_id: str | None
    price: int | None
    charged: int | None
    spent: int
    """What earlier attempts have cost, or may have cost."""
    unpriced: int
    """How many earlier attempts may have cost something that nobody can tell."""
    output: str | None
    media: str | None
    error_type: str | None
    error: str | None
    queued_s: float | None
    running_s: float | None
    created: float
    sent: float | None
    """When the request was sent; of one that is repeated with its key, when it was sent first."""
    finished: float | None

    @property
    def files(self) -> list[dict[str, Any]]:
        """What is on the shelf of it, in the order of the output."""
        return list(json.loads(self.media)) if self.media else []

    @property
    def credits(self) -> int | None:
        """What it cost, as far as is known."""
        if self.unpriced:
            return None
        if self.charged is not None:
            return self.charged + self.spent
        if self.state in (PLANNED, REJECTED):
            return self.spent
        return None if self.price is None else self.price + self.spent


COLUMNS = ", ".join(Entry.__dataclass_fields__)


def rank(entry: Entry) -> int:
    """The place of a run among others of the same input, the best one first."""
    return BEST_FIRST.index(entry.state) if entry.state in BEST_FIRST else len(BEST_FIRST)


class Moved(ReelbookError):
    """A run has gone on meanwhile, so what was about to be done with it is not right any more."""


def sending(db: sqlite3.Connection, run: int, owner: str, body: str | None, *, attempt: int | None = None) -> None:
    """The first byte is about to leave. `attempt`: the claim that it belongs to, which a later one makes void."""
    entry = read(db, run)
    # Without a key nothing is ever sent twice, not even by a caller who thinks that it was not sent.
    may_go = entry.state == INTENT or (entry.state == SENDING and entry.attempt_key is not None)
    if entry.owner != owner or not may_go or attempt not in (None, entry.attempt):
        raise Moved(f"Run {run} of the library is {entry.state} by now. Nothing was sent.")
    # The service counts the life of a key from the first time that it sees it.
    is_repeat = entry.attempt_key is not None and entry.body is not None
    sent = entry.sent if is_repeat and entry.sent is not None else time.time()
    move(db, entry, SENDING, sent=sent, body=entry.body if body is None else body)


def unsent(db: sqlite3.Connection, run: int, *, never: bool = False) -> None:
    """Nothing left this machine: the run may be claimed again by anybody.

    `never`: its `sending` was not confirmed, so nobody sent anything though the ledger may say so.
    """
    entry = read(db, run)
    if entry.state == SENDING and never:
        move(db, entry, PLANNED, owner=None)
    elif entry.state == INTENT:
        free(db, entry)


def put_back(db: sqlite3.Connection, run: int) -> None:
    """A repetition was not answered: it may be repeated again, with the same key."""
    entry = _in(read(db, run), INTENT, SENDING)
    if entry.attempt_key is None:
        raise Moved(f"Run {run} of the library has no key, so it cannot be repeated.")
    free(db, entry)


def rejected(db: sqlite3.Connection, run: int, error_type: str | None, error: str) -> None:
    """The service refused it: nothing was paid."""
    entry = read(db, run)
    move(db, entry, REJECTED, owner=None, attempt_key=None, body=None, error_type=error_type, error=error)


def lost(db: sqlite3.Connection, run: int, reason: str) -> None:
    """It was sent and its answer was lost: only a person can say whether it was paid."""
    move(db, _in(read(db, run), INTENT, SENDING), UNCERTAIN, owner=None, error_type="uncertain", error=reason)


def accepted(db: sqlite3.Connection, run: int, request_id: str, price: int | None = None) -> None:
    """The service has it, and it is paid for."""
    entry = read(db, run)
    if entry.request_id == storable(request_id):
        return  # An answer that was asked for twice.
    note_price(db, run, price)
    known = amount(price)
    known = entry.price if known is None else max(known, least(db, run))
    if ACCEPTED not in MOVES[entry.state]:
        beside(db, entry, request_id, known)
        return
    move(
        db, entry, ACCEPTED, request_id=request_id, price=known, attempt_key=None, body=None, error_type=None,
        error=None, note=request_id,
    )  # fmt: skip


def running(db: sqlite3.Connection, run: int) -> None:
    """The service works on it. It may say so twice, when its own worker died."""
    entry = read(db, run)
    if entry.state == ACCEPTED:
        move(db, entry, RUNNING)


def completed(
    db: sqlite3.Connection, run: int, output: str, charged: int | None, queued_s: float | None, running_s: float | None
) -> None:
    """It is finished, and this is what the service answered."""
    entry = read(db, run)
    if entry.state not in (COMPLETED, STORED):
        note_price(db, run, charged)
        told = amount(charged)
        move(
            db, entry, COMPLETED, output=output, charged=entry.charged if told is None else told, queued_s=queued_s,
            running_s=running_s, finished=time.time(), error_type=None, error=None,
        )  # fmt: skip


def stored(db: sqlite3.Connection, run: int, media: str) -> None:
    """Its files are on the shelf: nothing more will happen."""
    entry = read(db, run)
    if entry.state != STORED:
        move(db, entry, STORED, media=media, owner=None)


def ended(
    db: sqlite3.Connection, run: int, state: str, error_type: str | None, error: str, charged: int | None
) -> None:
    """It failed, was cancelled, or the service does not know it any more."""
    entry = read(db, run)
    if entry.state in PAID and entry.state != state:
        told = amount(charged)
        move(
            db, entry, state, error_type=error_type, error=error, charged=entry.charged if told is None else told,
            owner=None, finished=time.time(),
        )  # fmt: skip


def refetch(db: sqlite3.Connection, run: int, owner: str) -> None:
    """Files of a finished run are gone from the shelf: they are fetched again, at no cost."""
    entry = read(db, run)
    if entry.state == STORED:
        move(db, entry, COMPLETED, owner=owner)


def left(db: sqlite3.Connection, run: int, owner: str | None, why: tuple[str, str] | None = None) -> None:
    """Its owner does not follow it any more; whoever comes next may. `why`: the kind and the words, of one that is paid."""
    entry = read(db, run)
    if entry.owner is not None and entry.owner == owner:
        free(db, entry)
        if why is not None and entry.state in (ACCEPTED, RUNNING):
            db.execute("UPDATE runs SET error_type = ?, error = ? WHERE id = ?", (*map(storable, why), run))


def settled(db: sqlite3.Connection, run: int, request_id: str, owner: str) -> Entry:
    """An uncertain run turned out to be this request."""
    entry = _in(read(db, run), UNCERTAIN)
    row = db.execute(
        "SELECT id FROM runs WHERE service = ? AND request_id = ? AND substr(identity, 1, ?) != ?",
        (entry.service, storable(request_id), len(NO_NAME), NO_NAME),
    ).fetchone()
    if row is not None:
        raise Moved(f"The request {request_id!r} is run {row[0]} of the library, so run {run} must be another one.")
    move(
        db, entry, ACCEPTED, request_id=request_id, owner=owner, attempt_key=None, body=None, error_type=None,
        error=None, note=request_id,
    )  # fmt: skip
    return read(db, run)


def written_off(db: sqlite3.Connection, run: int) -> None:
    """An uncertain run is given up; its price counts as spent."""
    move(
        db, _in(read(db, run), UNCERTAIN), FAILED, attempt_key=None, body=None, error_type="written_off",
        error="written off: it may have been paid for", finished=time.time(),
    )  # fmt: skip


def resubmittable(db: sqlite3.Connection, run: int) -> None:
    """An uncertain run may be sent once more; the price of the lost one stays counted."""
    entry = _in(read(db, run), UNCERTAIN)
    move(db, entry, PLANNED, **past_cost(entry), attempt_key=None, body=None, error=None, error_type=None)


def least(db: sqlite3.Connection, run: int) -> int:
    """What the latest attempt at a run counts for at least, unless it has failed: its model's known price, or a person's word."""
    row = db.execute("SELECT credits FROM floors WHERE run = ?", (run,)).fetchone()
    return 0 if row is None else int(row[0])


def note_price(db: sqlite3.Connection, run: int, told: Any) -> None:
    """Remember of the service that it has told less than a run is known to cost, if it has.

    What it says that a failed run has cost is not believed from then on, as 0 need not mean that it was refunded.
    """
    price = amount(told)
    if price is not None and price < least(db, run):
        service = read(db, run).service
        db.execute("INSERT OR IGNORE INTO meta VALUES (?, '')", (TELLS_LESS + service,))


def least_of_failed(db: sqlite3.Connection, run: int) -> int:
    """What a run that has failed counts for at least: nothing, unless its service has told too little of some run."""
    row = db.execute(
        "SELECT credits FROM floors JOIN runs ON runs.id = run WHERE run = ?"
        " AND EXISTS (SELECT 1 FROM meta WHERE name = ? || service)",
        (run, TELLS_LESS),
    ).fetchone()
    return 0 if row is None else int(row[0])


def past_cost(entry: Entry, least: int = 0) -> dict[str, Any]:
    """What all attempts so far have cost, or may have cost, once the last of them is over; it counts for `least` or more."""
    last = max(entry.charged, least) if entry.charged is not None else entry.price
    if last is None:
        return {"spent": entry.spent, "unpriced": entry.unpriced + 1}
    return {"spent": entry.spent + last, "unpriced": entry.unpriced}


def stop_mark(db: sqlite3.Connection, note: str) -> None:
    """A person said stop: whatever is sent after this line was sent against their will."""
    event(db, None, "stop", note)


def read(db: sqlite3.Connection, run: int) -> Entry:
    """A run by its number."""
    row = db.execute(f"SELECT {COLUMNS} FROM runs WHERE id = ?", (run,)).fetchone()
    if row is None:
        raise Moved(f"There is no run {run} in this library any more.")
    return Entry(*row)


def owned(db: sqlite3.Connection, entry: Entry, owner: str) -> Entry:
    """A run that is this process's to follow from now on; why it was left before is no news any more."""
    kept = "" if entry.state == EXPIRED else ", error_type = NULL, error = NULL"
    db.execute(f"UPDATE runs SET owner = ?{kept} WHERE id = ?", (owner, entry.id))
    return read(db, entry.id)


def free(db: sqlite3.Connection, entry: Entry) -> None:
    """A run that nobody is at any more, as whoever comes next has to find it."""
    if entry.state == INTENT:
        # A key that was used by an earlier attempt stays: that attempt may have arrived.
        kept = entry.attempt_key if entry.body is not None else None
        move(db, entry, PLANNED, owner=None, attempt_key=kept)
    elif entry.state == SENDING and entry.attempt_key is not None:
        # The service recognises a repetition by its key: it may be sent again, and is paid once.
        move(db, entry, PLANNED, owner=None)
    elif entry.state == SENDING:
        move(db, entry, UNCERTAIN, owner=None, error_type="uncertain", error="its process ended while it was sent")
    else:
        db.execute("UPDATE runs SET owner = NULL WHERE id = ?", (entry.id,))


def move(db: sqlite3.Connection, entry: Entry, state: str, *, note: str | None = None, **changes: Any) -> None:
    """The next state of a run, if it may follow its present one."""
    if state not in MOVES[entry.state]:
        raise Moved(f"Run {entry.id} of the library is {entry.state} and cannot become {state}.")
    columns = ", ".join(f"{name} = ?" for name in ("state", *changes))
    db.execute(f"UPDATE runs SET {columns} WHERE id = ?", (state, *map(storable, changes.values()), entry.id))
    event(db, entry.id, state, note if note is not None else changes.get("error"))


def event(db: sqlite3.Connection, run: int | None, state: str, note: str | None) -> None:
    """One more line of what has happened."""
    values = (time.time(), run, state, storable(note))
    db.execute("INSERT INTO events (at, run, state, note) VALUES (?, ?, ?, ?)", values)


def amount(credits: Any) -> int | None:
    """Credits as a service tells them; None for what cannot be a price, which must not make another run look paid."""
    if isinstance(credits, bool) or not isinstance(credits, (int, float)) or not 0 <= credits <= MAX_CREDITS:
        return None
    return math.ceil(credits)


def storable(value: Any) -> Any:
    """What a stranger said, as the file takes it: half of a surrogate pair cannot be written."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _in(entry: Entry, *states: str) -> Entry:
    if entry.state not in states:
        raise Moved(f"Run {entry.id} of the library is {entry.state} by now, and not {' or '.join(states)}.")
    return entry


def beside(db: sqlite3.Connection, entry: Entry, request_id: str, price: int | None) -> None:
    """A request that is paid for and whose row has gone on without it: a take of its own, so that it is not lost."""
    known = db.execute(
        "SELECT 1 FROM runs WHERE service = ? AND request_id = ?", (entry.service, storable(request_id))
    ).fetchone()
    if known is None:
        cursor = db.execute(
            "INSERT INTO runs (service, identity, take, model, input, state, attempt, request_id, price, created, sent)"
            " SELECT service, identity, (SELECT max(take) + 1 FROM runs AS own WHERE own.service = runs.service"
            " AND own.identity = runs.identity), model, input, ?, attempt, ?, ?, ?, sent FROM runs WHERE id = ?",
            (ACCEPTED, storable(request_id), price, time.time(), entry.id),
        )
        event(db, cursor.lastrowid, ACCEPTED, request_id)
