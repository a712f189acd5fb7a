"""The states of a run in the ledger, and the moves between them.

    planned → sending → accepted → stored

or rejected, cancelled, failed or uncertain. Each function runs inside a transaction of `writer.py`, which commits it
before the caller continues. `claims.py` finds or claims the row of a run, and recovers the runs of ended processes.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from ...errors import ReelbookError
from ...util.printable import readable_id


class State(StrEnum):
    """The state of a run; also the text in the database."""

    PLANNED = "planned"
    SENDING = "sending"
    ACCEPTED = "accepted"
    STORED = "stored"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    FAILED = "failed"
    UNCERTAIN = "uncertain"


CLAIMED, COMPLETED, EXPIRED = "claimed", "completed", "expired"
"""Stages that are no states: planned with an owner, accepted with an output, and accepted, but unknown to the service."""
STATES = {CLAIMED: State.PLANNED, COMPLETED: State.ACCEPTED, EXPIRED: State.ACCEPTED}
"""Their states; any other stage is its state."""

MOVES: Mapping[str, frozenset[str]] = {
    # Accepted also from before the sending: the response counts, even if `sending` was not recorded.
    State.PLANNED: frozenset({CLAIMED, State.ACCEPTED, State.UNCERTAIN}),
    CLAIMED: frozenset({State.SENDING, State.PLANNED, State.REJECTED, State.ACCEPTED, State.UNCERTAIN}),
    State.SENDING: frozenset({State.SENDING, State.PLANNED, State.REJECTED, State.ACCEPTED, State.UNCERTAIN}),
    State.ACCEPTED: frozenset({COMPLETED, EXPIRED, State.FAILED, State.CANCELLED, State.UNCERTAIN}),
    COMPLETED: frozenset({State.STORED}),
    EXPIRED: frozenset({COMPLETED, State.FAILED, State.CANCELLED, State.UNCERTAIN}),
    State.STORED: frozenset({COMPLETED}),  # Files are missing on the shelf, and downloaded again.
    State.REJECTED: frozenset({CLAIMED}),
    State.CANCELLED: frozenset({CLAIMED}),
    State.FAILED: frozenset({CLAIMED}),
    State.UNCERTAIN: frozenset({State.ACCEPTED, State.FAILED, State.PLANNED}),
}
"""The stages that may follow each stage; any other move raises `Moved`."""

CLEARED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((State.ACCEPTED, COMPLETED), ("attempt_key", "body", "error_type", "error")),
    **dict.fromkeys((State.STORED, State.PLANNED, EXPIRED), ("owner",)),
    **dict.fromkeys((State.REJECTED, State.CANCELLED, State.FAILED, State.UNCERTAIN), ("owner", "attempt_key", "body")),
}
"""The columns that a move to a stage clears, unless it sets them."""

MAX_CREDITS = 10**12
"""Upper bound of valid credits, small enough that a sum over all runs fits into an SQLite integer."""
RESUBMITTED = "resubmitted"
"""The error type of a run from `allow_resubmission` until it is accepted: somebody has decided to send it once more."""
ATTACHED = "attached:"
"""Prefix of the identity of a run whose input is unknown."""


class Entry(NamedTuple):
    """One row of the ledger: a run, its state and its cost."""

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
    name: str | None
    """What a caller calls it, who wants it once only whatever its input."""
    request_id: str | None
    price: int | None
    charged: int | None
    spent: int
    unpriced: int
    output: str | None
    media: str | None
    error_type: str | None
    error: str | None
    queued_s: float | None
    running_s: float | None
    created: float
    sent: float | None
    """When the request was sent; if repeated with its key, when it was first sent."""
    finished: float | None
    stage: str
    """The state, or `CLAIMED`, `COMPLETED` or `EXPIRED`."""
    credits: int | None
    """What it has cost, or may have cost; None if unknown. The columns of costs are explained at the view, in `schema.py`."""
    counted: int
    unknown: int
    certain: int

    @property
    def files(self) -> list[dict[str, Any]]:
        """Its files on the shelf, in the order of the output."""
        return [file for file in json.loads(self.media or "[]") if isinstance(file, dict)]

    @property
    def hashes(self) -> list[str]:
        """The hashes of its files."""
        return [str(file.get("sha256")) for file in self.files]

    @property
    def credits_source(self) -> str:
        """Where `credits` comes from: charged by the service, or estimated."""
        return "estimated" if self.charged is None else "charged"


COLUMNS = ", ".join(Entry._fields)
"""The columns of the view `entries` for an `Entry`."""
STORED_COLUMNS = Entry._fields[:-5]
"""Those of the table `runs`; the view computes the others."""


class Moved(ReelbookError):
    """The run's state has changed, so the move is no longer possible."""


def move(db: sqlite3.Connection, run: int, stage: str, *, since: str | None = None, **changes: Any) -> None:
    """Move a run to its next stage, with these columns, and record it as an event.

    Raises `Moved` if `MOVES` does not allow it, or the run is not in the stage `since`.
    """
    now = get_entry(db, run).stage
    if stage not in MOVES[now] or since not in (None, now):
        raise Moved(f"Run {run} of the library is {now} by now, and cannot become {stage}.")
    update_run(db, run, **{"state": STATES.get(stage, stage), **dict.fromkeys(CLEARED.get(stage, ())), **changes})
    record_event(db, run, stage, changes.get("request_id") or changes.get("error"))


def mark_sending(db: sqlite3.Connection, run: int, owner: str, body: str | None, *, attempt: int | None = None) -> None:
    """Record that the request is about to be sent. `attempt`: that of its claim, which a later claim invalidates."""
    entry = get_entry(db, run)
    # Without a key nothing is ever sent twice, even if the caller assumes that it was not sent.
    is_sendable = entry.state == State.PLANNED or (entry.state == State.SENDING and entry.attempt_key is not None)
    if entry.owner != owner or not is_sendable or attempt not in (None, entry.attempt):
        raise Moved(f"Run {run} of the library is {entry.state} by now. Nothing was sent.")
    # A key expires some time after the service first received it.
    sent = entry.sent if entry.body is not None else time.time()
    move(db, run, State.SENDING, sent=sent, body=entry.body if body is None else body)


def mark_accepted(db: sqlite3.Connection, run: int, request_id: str, price: int | None = None) -> None:
    """Record that the service has accepted it, so that it is paid; a `price` that it says only raises the expected one."""
    entry = get_entry(db, run)
    if entry.request_id == to_storable(request_id):
        return  # Recorded before.
    prices = [known for known in (entry.price, coerce_credits(price)) if known is not None]
    move(db, run, State.ACCEPTED, request_id=request_id, price=max(prices, default=None))


def release(db: sqlite3.Connection, run: int, owner: str | None, *, unsent: bool = False) -> None:
    """Clear the owner, if it is still this one, and move the run to the state from which any process can continue it.

    `unsent`: its request was not sent, whatever the ledger says.
    """
    entry = get_entry(db, run)
    if entry.owner is None or entry.owner != owner:
        return
    if entry.state == State.SENDING and not unsent and entry.attempt_key is None:
        move(db, run, State.UNCERTAIN, error_type="uncertain", error="its process ended while it was sent")
    elif entry.state in (State.PLANNED, State.SENDING):
        # The key of what was sent is kept: the service recognises a repeated request by it, and charges it once.
        move(db, run, State.PLANNED, attempt_key=entry.attempt_key if entry.body is not None else None)
    else:
        update_run(db, run, owner=None)


def resolve(db: sqlite3.Connection, run: int, request_id: str, owner: str | None) -> Entry:
    """Record that an uncertain run is this request, and give it this owner."""
    entry = get_entry(db, run)
    where = f"service = ? AND request_id = ? AND identity NOT GLOB '{ATTACHED}*'"
    for other in find_entries(db, where, entry.service, request_id):
        words = f"Request {readable_id(request_id)} is run {other.id} of the library already."
        raise Moved(f"{words} Find another one in the account's history.")
    move(db, run, State.ACCEPTED, since=State.UNCERTAIN, request_id=request_id, owner=owner)
    return get_entry(db, run)


def write_off(db: sqlite3.Connection, run: int) -> None:
    """Give up an uncertain run; its price counts as spent."""
    changes = {"finished": time.time(), "error_type": "written_off", "error": "written off: it may have been paid for"}
    move(db, run, State.FAILED, since=State.UNCERTAIN, **changes)


def allow_resubmission(db: sqlite3.Connection, run: int) -> None:
    """Return an uncertain run to planned, so that it can be sent again; the price of the lost attempt still counts."""
    entry, why = get_entry(db, run), {"error_type": RESUBMITTED, "error": None}
    move(db, run, State.PLANNED, since=State.UNCERTAIN, spent=entry.counted, unpriced=entry.unknown, **why)


def find_entries(db: sqlite3.Connection, where: str, *values: Any) -> list[Entry]:
    """The runs for which a condition on their columns holds."""
    rows = db.execute(f"SELECT {COLUMNS} FROM entries WHERE {where}", [*map(to_storable, values)])
    return [Entry._make(row) for row in rows]


def get_entry(db: sqlite3.Connection, run: int) -> Entry:
    """Get a run by its number."""
    for entry in find_entries(db, "id = ?", run):
        return entry
    raise Moved(f"There is no run {run} in this library any more.")


def get_next_take(db: sqlite3.Connection, service: str, identity: str) -> int:
    """The number of the next take of a run."""
    query = "SELECT coalesce(max(take) + 1, 0) FROM runs WHERE service = ? AND identity = ?"
    return int(db.execute(query, (service, identity)).fetchone()[0])


def record_event(db: sqlite3.Connection, run: int | None, state: str, note: str | None) -> None:
    """Append an event; without a run it concerns the ledger as a whole."""
    values = (time.time(), run, state, to_storable(note))
    db.execute("INSERT INTO events (at, run, state, note) VALUES (?, ?, ?, ?)", values)


def insert_run(db: sqlite3.Connection, **values: Any) -> int:
    """Insert a run with these columns, and an event if it is one with a request; returns its number."""
    columns, marks = ", ".join(values), ", ".join("?" * len(values))
    stored = [*map(to_storable, values.values())]
    run = db.execute(f"INSERT INTO runs ({columns}) VALUES ({marks})", stored).lastrowid or 0
    if values.get("request_id") is not None:
        record_event(db, run, values["state"], values["request_id"])
    return run


def update_run(db: sqlite3.Connection, run: int, **changes: Any) -> None:
    """Change columns of a run."""
    columns = ", ".join(f"{name} = ?" for name in changes)
    db.execute(f"UPDATE runs SET {columns} WHERE id = ?", (*map(to_storable, changes.values()), run))


def read_meta(db: sqlite3.Connection, name: str) -> str | None:
    """The text that the ledger has under a name."""
    row = db.execute("SELECT value FROM meta WHERE name = ?", (to_storable(name),)).fetchone()
    return None if row is None else str(row[0])


def write_meta(db: sqlite3.Connection, name: str, value: str) -> None:
    """Store a text under a name."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (to_storable(name), value))


def coerce_credits(credits: Any) -> int | None:
    """Credits reported by a service as an integer, rounded up; None for invalid values."""
    if isinstance(credits, bool) or not isinstance(credits, (int, float)) or not 0 <= credits <= MAX_CREDITS:
        return None
    return math.ceil(credits)


def to_storable(value: Any) -> Any:
    """Foreign text with lone surrogates escaped, which SQLite cannot store."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value
