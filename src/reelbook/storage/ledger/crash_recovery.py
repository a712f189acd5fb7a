"""Recover the runs of ended processes, so that another process can continue them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from .transitions import (
    COLUMNS,
    MOVES,
    PAID,
    Entry,
    State,
    clear_owner,
    get_entry,
    get_past_cost,
    insert_extra_take,
    move,
    record_event,
    set_owner,
    to_storable,
)


class LedgerProcess(Protocol):
    """The interface of the writing process that recovery requires."""

    @property
    def owner(self) -> str:
        """Its name in the ledger."""

    def is_dead(self, name: str) -> bool:
        """Whether the process of this name has ended."""

    def read_acceptances(self, identities: Collection[str] | None = None) -> list[dict[str, Any]]:
        """Read the second copy of the request ids, of these runs or of all."""


def recover(db: sqlite3.Connection, process: LedgerProcess) -> list[str]:
    """Clear the owner of every run whose process has ended; returns the names of those processes."""
    owners = [row[0] for row in db.execute("SELECT DISTINCT owner FROM runs WHERE owner IS NOT NULL")]
    dead = [name for name in owners if process.is_dead(name)]
    left_by_dead = [
        Entry(*row) for name in dead for row in db.execute(f"SELECT {COLUMNS} FROM runs WHERE owner = ?", (name,))
    ]
    unanswered = [entry.identity for entry in left_by_dead if entry.state in (State.INTENT, State.SENDING)]
    if unanswered:
        # The second copy first: it may contain acceptances of these runs.
        apply_acceptances(db, process.read_acceptances(unanswered), process.is_dead, only_known=True)
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
    return set_owner(db, entry, process.owner) if entry.owner is None and entry.state in PAID else entry


def abandon(db: sqlite3.Connection, run: int) -> None:
    """Clear the owner of a run of this process, because something failed between two of its steps."""
    clear_owner(db, get_entry(db, run))


def make_acceptance(entry: Entry, request_id: str) -> dict[str, Any]:
    """The line in the second copy for an accepted run, from which its row can be restored."""
    return {
        "at": time.time(), "service": entry.service, "identity": entry.identity, "take": entry.take,
        "attempt": entry.attempt, "model": entry.model, "request_id": request_id, "price": entry.price,
        "input": entry.input,
    }  # fmt: skip


def apply_acceptances(
    db: sqlite3.Connection,
    lines: Collection[Mapping[str, Any]],
    is_dead: Callable[[str], bool] = lambda name: False,
    *,
    only_known: bool = False,
) -> int:
    """Apply lines of the second copy missing in the ledger, of runs without a live owner; returns the number of runs.

    `only_known`: skip runs without a row, because the user may have deleted them.
    """
    count = 0
    for attempts in _group_by_run(db, lines):
        last = attempts[-1]
        query = f"SELECT {COLUMNS} FROM runs WHERE service = ? AND identity = ? AND take = ?"
        key = to_storable(last["service"]), to_storable(last["identity"]), last["take"]
        if db.execute(query, key).fetchone() is not None:
            count += sum(_apply_line(db, Entry(*db.execute(query, key).fetchone()), line, is_dead) for line in attempts)
        elif not only_known:
            _insert_restored(db, attempts)
            count += 1
    return count


def _group_by_run(db: sqlite3.Connection, lines: Collection[Mapping[str, Any]]) -> list[Sequence[Mapping[str, Any]]]:
    """Group the lines missing in the ledger by run: one line per request, the latest attempt last."""
    found: dict[tuple[str, str, int], dict[str | None, Mapping[str, Any]]] = {}
    for line in sorted(lines, key=lambda line: int(line["attempt"])):
        line = {**line, "service": to_storable(line["service"])}
        if not _is_known(db, line):
            found.setdefault((line["service"], line["identity"], line["take"]), {})[line["request_id"]] = line
    for requests in found.values():
        if len(requests) > 1:
            requests.pop(None, None)  # A damaged line of a request that is also in another line.
    return [list(requests.values()) for requests in found.values()]


def _is_known(db: sqlite3.Connection, line: Mapping[str, Any]) -> bool:
    query = "SELECT 1 FROM runs WHERE request_id = ? AND service = ?"
    return db.execute(query, (to_storable(line["request_id"]), line["service"])).fetchone() is not None


def _apply_line(db: sqlite3.Connection, entry: Entry, line: Mapping[str, Any], is_dead: Callable[[str], bool]) -> int:
    """Apply a line to an existing row: a lost response, a later attempt, or another request; returns 1 if applied."""
    is_free = entry.owner is None or is_dead(entry.owner)
    if not is_free or line["request_id"] is None or line["attempt"] < entry.attempt:
        return 0
    if line["attempt"] == entry.attempt and entry.request_id is None and State.ACCEPTED in MOVES[entry.state]:
        move(
            db, entry, State.ACCEPTED, request_id=line["request_id"], owner=None, attempt_key=None, body=None, error=None,
            error_type=None, note=line["request_id"],
        )  # fmt: skip
    elif line["attempt"] > entry.attempt and entry.state not in (State.COMPLETED, State.STORED):
        past = {"spent": entry.spent, "unpriced": entry.unpriced}
        if entry.request_id is not None or entry.state == State.UNCERTAIN:
            past = get_past_cost(entry)
        _overwrite(db, entry, line, past)
    else:
        insert_extra_take(db, entry, line["request_id"], line["price"])
    return 1


def _overwrite(db: sqlite3.Connection, entry: Entry, line: Mapping[str, Any], past: Mapping[str, int]) -> None:
    """Update a row of an older ledger with a later attempt known only from the line."""
    changes = {
        **past, "state": State.ACCEPTED, "attempt": line["attempt"], "request_id": line["request_id"], "price": line["price"],
        "sent": line["at"],
        **dict.fromkeys(("owner", "attempt_key", "body", "charged", "output", "media", "error", "error_type", "finished")),
    }  # fmt: skip
    columns = ", ".join(f"{name} = ?" for name in changes)
    db.execute(f"UPDATE runs SET {columns} WHERE id = ?", (*map(to_storable, changes.values()), entry.id))
    record_event(db, entry.id, State.ACCEPTED, line["request_id"])


def _insert_restored(db: sqlite3.Connection, attempts: Sequence[Mapping[str, Any]]) -> None:
    """Insert the row of a lost run; earlier attempts count with their full price, because their end is unknown."""
    *earlier, last = attempts
    state = State.UNCERTAIN if last["request_id"] is None else State.ACCEPTED
    values = {
        **{name: last[name] for name in ("service", "identity", "take", "model", "input", "attempt", "request_id", "price")},
        "state": state, "created": last["at"], "sent": last["at"],
        "spent": sum(line["price"] or 0 for line in earlier),
        "unpriced": sum(line["price"] is None for line in earlier),
        "error_type": None if state == State.ACCEPTED else "uncertain", "error": None if state == State.ACCEPTED else _NO_ID,
    }  # fmt: skip
    cursor = db.execute(
        f"INSERT INTO runs ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
        tuple(map(to_storable, values.values())),
    )
    record_event(db, cursor.lastrowid, state, last["request_id"] or _NO_ID)


_NO_ID = "it was accepted, and the line of its request id is damaged"
