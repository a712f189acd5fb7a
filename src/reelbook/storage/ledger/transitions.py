"""The states of a run in the ledger, and the transitions between them.

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
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

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

MOVES: Mapping[str, frozenset[str]] = {
    # Planned also by a claim, and accepted from there: the response counts, even if `sending` was not recorded.
    State.PLANNED: frozenset({State.PLANNED, State.SENDING, State.REJECTED, State.ACCEPTED, State.UNCERTAIN}),
    State.SENDING: frozenset({State.SENDING, State.ACCEPTED, State.REJECTED, State.UNCERTAIN, State.PLANNED}),
    State.ACCEPTED: frozenset({State.ACCEPTED, State.STORED, State.FAILED, State.CANCELLED, State.UNCERTAIN}),
    State.STORED: frozenset({State.ACCEPTED}),  # Files are missing on the shelf, and downloaded again.
    State.REJECTED: frozenset({State.PLANNED}),
    State.CANCELLED: frozenset({State.PLANNED}),
    State.FAILED: frozenset({State.PLANNED}),
    State.UNCERTAIN: frozenset({State.ACCEPTED, State.FAILED, State.PLANNED}),
}
"""The allowed transitions; any other raises `Moved`."""

CLEARED: Mapping[str, tuple[str, ...]] = {
    State.ACCEPTED: ("attempt_key", "body", "error_type", "error"),
    State.STORED: ("owner",),
    **dict.fromkeys((State.REJECTED, State.CANCELLED, State.FAILED, State.UNCERTAIN), ("owner", "attempt_key", "body")),
}
"""The columns that a transition to a state clears, unless it sets them."""

UNANSWERED = (State.PLANNED, State.SENDING, State.UNCERTAIN)
"""States in which the acceptance of a request may arrive; in others it is of another request."""

BEST_FIRST = (State.STORED, COMPLETED, State.ACCEPTED, State.SENDING, CLAIMED, EXPIRED, State.UNCERTAIN)
"""Order of preference among takes: stored, then paid, then possibly paid, before all unpaid ones."""

MAX_CREDITS = 10**12
"""Upper bound of valid credits, small enough that a sum over all runs fits into an SQLite integer."""

RESUBMITTED = "resubmitted"
"""The error type of a run from `allow_resubmission` until it is accepted: somebody has decided to send it once more."""

ATTACHED = "attached:"
"""Prefix of the identity of a run whose input is unknown."""


@dataclass(frozen=True, slots=True)
class Entry:
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
    request_id: str | None
    price: int | None
    charged: int | None
    spent: int
    """Actual or possible cost of earlier attempts."""
    unpriced: int
    """Number of earlier attempts with an unknown cost."""
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
    floor: int | None
    """What the latest attempt counts for at least, whatever the service says: the model's known price, or the user's."""
    stage: str
    """The state, or `CLAIMED`, `COMPLETED` or `EXPIRED`."""
    credits: int | None
    """What it has cost, or may have cost; None if unknown. These four are explained at the view, in `schema.py`."""
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
        """Where `credits` comes from."""
        return get_credits_source(self.charged)


COLUMNS = ", ".join(Entry.__dataclass_fields__)
"""The columns of the view `entries` for an `Entry`."""
STORED_COLUMNS = tuple(Entry.__dataclass_fields__)[:-5]
"""Those of the table `runs`; the view computes the others."""


def get_credits_source(charged: int | None) -> str:
    """Where the credits of a run come from: charged by the service, or estimated."""
    return "estimated" if charged is None else "charged"


def rank(entry: Entry) -> int:
    """Sort key among runs of the same input: the preferred one is smallest."""
    return BEST_FIRST.index(entry.stage) if entry.stage in BEST_FIRST else len(BEST_FIRST)


class Moved(ReelbookError):
    """The run's state has changed, so the transition is no longer possible."""


def mark_sending(db: sqlite3.Connection, run: int, owner: str, body: str | None, *, attempt: int | None = None) -> None:
    """Record that the request is about to be sent. `attempt`: that of its claim, which a later claim invalidates."""
    entry = get_entry(db, run)
    # Without a key nothing is ever sent twice, even if the caller assumes that it was not sent.
    is_sendable = entry.state == State.PLANNED or (entry.state == State.SENDING and entry.attempt_key is not None)
    if entry.owner != owner or not is_sendable or attempt not in (None, entry.attempt):
        raise Moved(f"Run {run} of the library is {entry.state} by now. Nothing was sent.")
    # A key expires some time after the service first received it.
    is_repeat = entry.attempt_key is not None and entry.body is not None
    sent = entry.sent if is_repeat and entry.sent is not None else time.time()
    move(db, entry, State.SENDING, sent=sent, body=entry.body if body is None else body)


def mark_unsent(db: sqlite3.Connection, run: int, *, never: bool = False) -> None:
    """Record that nothing was sent, so that the run can be claimed again. `never`: `mark_sending` is unconfirmed."""
    entry = get_entry(db, run)
    if entry.state == State.SENDING and never:
        move(db, entry, State.PLANNED, owner=None)
    elif entry.stage == CLAIMED:
        clear_owner(db, entry)


def allow_retry(db: sqlite3.Connection, run: int) -> None:
    """Record that a repeated request got no response, so that it can be repeated again with the same key."""
    entry = _require_stage(get_entry(db, run), CLAIMED, State.SENDING)
    if entry.attempt_key is None:
        raise Moved(f"Run {run} of the library has no key, so it cannot be repeated.")
    clear_owner(db, entry)


def mark_rejected(db: sqlite3.Connection, run: int, error_type: str | None, error: str) -> None:
    """Record that the service rejected it without a charge."""
    move(db, get_entry(db, run), State.REJECTED, error_type=error_type, error=error)


def mark_uncertain(db: sqlite3.Connection, run: int, reason: str) -> None:
    """Record that it was sent and the response was lost: only the user can find out whether it was charged."""
    entry = _require_stage(get_entry(db, run), CLAIMED, State.SENDING)
    move(db, entry, State.UNCERTAIN, error_type="uncertain", error=reason)


def mark_accepted(db: sqlite3.Connection, run: int, request_id: str, price: int | None = None) -> None:
    """Record that the service has accepted it, so that it is paid."""
    entry = get_entry(db, run)
    if entry.request_id == to_storable(request_id):
        return  # Recorded before.
    quoted = coerce_credits(price)
    price = entry.price if quoted is None else max(quoted, entry.floor or 0)
    if entry.state in UNANSWERED:
        move(db, entry, State.ACCEPTED, request_id=request_id, price=price, note=request_id)
    else:
        insert_extra_take(db, entry, request_id, price)


def mark_completed(
    db: sqlite3.Connection, run: int, output: str, charged: int | None, queued_s: float | None, running_s: float | None
) -> None:
    """Record that it is finished, with the service's output; its files are not downloaded yet."""
    entry = get_entry(db, run)
    if entry.stage not in (COMPLETED, State.STORED):
        _require_stage(entry, State.ACCEPTED, EXPIRED)
        move(
            db, entry, State.ACCEPTED, output=output, charged=_coerce_charge(charged, entry), queued_s=queued_s,
            running_s=running_s, finished=time.time(),
        )  # fmt: skip


def mark_stored(db: sqlite3.Connection, run: int, media: str) -> None:
    """Record that its files are on the shelf."""
    entry = get_entry(db, run)
    if entry.state != State.STORED:
        move(db, _require_stage(entry, COMPLETED), State.STORED, media=media)


def mark_ended(
    db: sqlite3.Connection, run: int, state: str, error_type: str | None, error: str, charged: int | None
) -> None:
    """Record that it failed, was cancelled, was lost behind a gateway, or is no longer known to the service (`EXPIRED`)."""
    entry = get_entry(db, run)
    if state == EXPIRED:
        state, error_type = State.ACCEPTED, EXPIRED
    if entry.stage == State.ACCEPTED or (entry.stage == EXPIRED and error_type != EXPIRED):
        charge, now = _coerce_charge(charged, entry), time.time()
        move(db, entry, state, error_type=error_type, error=error, charged=charge, owner=None, finished=now)


def reopen(db: sqlite3.Connection, run: int, owner: str | None) -> None:
    """Move a stored run back to accepted, because files are missing: they are downloaded again, at no cost."""
    entry = get_entry(db, run)
    if entry.state == State.STORED:
        move(db, entry, State.ACCEPTED, owner=owner)


def release(db: sqlite3.Connection, run: int, owner: str | None, why: tuple[str, str] | None = None) -> None:
    """Clear the owner, so that another process can resume the run. `why`: error type and text, recorded for a paid run."""
    entry = get_entry(db, run)
    if entry.owner is not None and entry.owner == owner:
        clear_owner(db, entry)
        if why is not None and entry.stage == State.ACCEPTED:
            update_run(db, run, error_type=why[0], error=why[1])


def resolve(db: sqlite3.Connection, run: int, request_id: str, owner: str) -> Entry:
    """Record that an uncertain run is this request, and take ownership of it."""
    entry = _require_stage(get_entry(db, run), State.UNCERTAIN)
    row = db.execute(
        "SELECT id FROM runs WHERE service = ? AND request_id = ? AND substr(identity, 1, ?) != ?",
        (entry.service, to_storable(request_id), len(ATTACHED), ATTACHED),
    ).fetchone()
    if row is not None:
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(entry.sent or entry.created))
        raise Moved(
            f"Request {readable_id(request_id)} is run {row[0]} of the library already, so it is not the lost one. Find another "
            f"request in the account's history, sent at about {when} UTC."
        )
    move(db, entry, State.ACCEPTED, request_id=request_id, owner=owner, note=request_id)
    return get_entry(db, run)


def write_off(db: sqlite3.Connection, run: int) -> None:
    """Give up an uncertain run; its price counts as spent."""
    entry = _require_stage(get_entry(db, run), State.UNCERTAIN)
    error, now = "written off: it may have been paid for", time.time()
    move(db, entry, State.FAILED, error_type="written_off", error=error, finished=now)


def allow_resubmission(db: sqlite3.Connection, run: int) -> None:
    """Return an uncertain run to planned, so that it can be sent again; the price of the lost attempt still counts."""
    entry = _require_stage(get_entry(db, run), State.UNCERTAIN)
    move(
        db, entry, State.PLANNED, spent=entry.counted, unpriced=entry.unknown, attempt_key=None, body=None, error=None,
        error_type=RESUBMITTED,
    )  # fmt: skip


def record_stop(db: sqlite3.Connection, note: str) -> None:
    """Record that the user stopped: nothing may be sent after this event."""
    record_event(db, None, "stop", note)


def find_entries(db: sqlite3.Connection, where: str, *values: Any) -> list[Entry]:
    """The runs for which a condition on their columns holds."""
    rows = db.execute(f"SELECT {COLUMNS} FROM entries WHERE {where}", [*map(to_storable, values)])
    return [Entry(*row) for row in rows]


def get_entry(db: sqlite3.Connection, run: int) -> Entry:
    """Get a run by its number."""
    for entry in find_entries(db, "id = ?", run):
        return entry
    raise Moved(f"There is no run {run} in this library any more.")


def set_owner(db: sqlite3.Connection, entry: Entry, owner: str) -> Entry:
    """Set the owner of a run, and clear the error with which it was released."""
    update_run(db, entry.id, owner=owner, **({} if entry.stage == EXPIRED else {"error_type": None, "error": None}))
    return get_entry(db, entry.id)


def clear_owner(db: sqlite3.Connection, entry: Entry) -> None:
    """Clear a run's owner, and move it to the state from which another process can continue it."""
    if entry.state == State.PLANNED:
        # The key of an earlier attempt is kept: its request may have arrived.
        key = entry.attempt_key if entry.body is not None else None
        move(db, entry, State.PLANNED, owner=None, attempt_key=key)
    elif entry.state == State.SENDING and entry.attempt_key is not None:
        # The service recognises a repeated request by its key: it may be sent again, and is charged once.
        move(db, entry, State.PLANNED, owner=None)
    elif entry.state == State.SENDING:
        error = "its process ended while it was sent"
        move(db, entry, State.UNCERTAIN, error_type="uncertain", error=error)
    else:
        update_run(db, entry.id, owner=None)


def move(db: sqlite3.Connection, entry: Entry, state: str, *, note: str | None = None, **changes: Any) -> None:
    """Move a run to its next state and record its stage as an event; raises `Moved` if `MOVES` does not allow it."""
    if state not in MOVES[entry.state]:
        raise Moved(f"Run {entry.id} of the library is {entry.state} and cannot become {state}.")
    update_run(db, entry.id, **{"state": state, **dict.fromkeys(CLEARED.get(state, ())), **changes})
    (stage,) = db.execute("SELECT stage FROM entries WHERE id = ?", (entry.id,)).fetchone()
    record_event(db, entry.id, stage, note if note is not None else changes.get("error"))


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


def insert_extra_take(db: sqlite3.Connection, entry: Entry, request_id: str, price: int | None) -> None:
    """Insert a paid request as a separate take, because the run's row has another request by now."""
    query = "SELECT 1 FROM runs WHERE service = ? AND request_id = ?"
    if db.execute(query, (entry.service, to_storable(request_id))).fetchone() is None:
        insert_run(
            db, service=entry.service, identity=entry.identity, take=get_next_take(db, entry.service, entry.identity),
            model=entry.model, input=entry.input, state=State.ACCEPTED, attempt=entry.attempt, request_id=request_id,
            price=price, created=time.time(), sent=entry.sent,
        )  # fmt: skip


def update_run(db: sqlite3.Connection, run: int, **changes: Any) -> None:
    """Change columns of a run."""
    columns = ", ".join(f"{name} = ?" for name in changes)
    db.execute(f"UPDATE runs SET {columns} WHERE id = ?", (*map(to_storable, changes.values()), run))


def get_next_take(db: sqlite3.Connection, service: str, identity: str) -> int:
    """The number of the next take of a run."""
    query = "SELECT coalesce(max(take) + 1, 0) FROM runs WHERE service = ? AND identity = ?"
    return int(db.execute(query, (service, identity)).fetchone()[0])


def coerce_credits(credits: Any) -> int | None:
    """Credits reported by a service as an integer, rounded up; None for invalid values."""
    if isinstance(credits, bool) or not isinstance(credits, (int, float)) or not 0 <= credits <= MAX_CREDITS:
        return None
    return math.ceil(credits)


def to_storable(value: Any) -> Any:
    """Foreign text with lone surrogates escaped, which SQLite cannot store."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _coerce_charge(charged: int | None, entry: Entry) -> int | None:
    """What the service says that a run cost, or what it said before."""
    reported = coerce_credits(charged)
    return entry.charged if reported is None else reported


def _require_stage(entry: Entry, *stages: str) -> Entry:
    if entry.stage not in stages:
        raise Moved(f"Run {entry.id} of the library is {entry.stage} by now, and not {' or '.join(stages)}.")
    return entry
