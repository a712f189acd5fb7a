"""Recover the runs of ended processes, so that another process can continue them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from .transitions import (
    COLUMNS,
    UNANSWERED,
    Entry,
    State,
    clear_owner,
    get_entry,
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
        """Read the list of accepted requests, of these runs or of all."""


def recover(db: sqlite3.Connection, process: LedgerProcess) -> list[str]:
    """Clear the owner of every run whose process has ended; returns the names of those processes."""
    owners = [row[0] for row in db.execute("SELECT DISTINCT owner FROM runs WHERE owner IS NOT NULL")]
    dead = [name for name in owners if process.is_dead(name)]
    left_by_dead = [
        Entry(*row) for name in dead for row in db.execute(f"SELECT {COLUMNS} FROM entries WHERE owner = ?", (name,))
    ]
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
    service, request_id = to_storable(line["service"]), to_storable(line["request_id"])
    known = "SELECT 1 FROM runs WHERE request_id = ? AND service = ?"
    if db.execute(known, (request_id, service)).fetchone() is not None:
        return False
    query = f"SELECT {COLUMNS} FROM entries WHERE service = ? AND identity = ? AND take = ?"
    row = db.execute(query, (service, to_storable(line["identity"]), line["take"])).fetchone()
    if row is None:
        _insert_restored(db, line)
        return True
    entry = Entry(*row)
    if (entry.owner is not None and not is_dead(entry.owner)) or line["attempt"] < entry.attempt:
        return False  # A live process records it itself.
    if line["attempt"] == entry.attempt and entry.request_id is None and entry.state in UNANSWERED:
        move(
            db, entry, State.ACCEPTED, request_id=request_id, owner=None, attempt_key=None, body=None, error=None,
            error_type=None, note=request_id,
        )  # fmt: skip
    elif line["attempt"] > entry.attempt and entry.output is None:
        _overwrite(db, entry, line)
    else:
        insert_extra_take(db, entry, request_id, line["price"])
    return True


def _overwrite(db: sqlite3.Connection, entry: Entry, line: Mapping[str, Any]) -> None:
    """Update a row of an older copy of the ledger with a later attempt known only from the line."""
    is_paid = entry.request_id is not None or entry.state == State.UNCERTAIN
    changes = {
        "spent": entry.counted if is_paid else entry.spent, "unpriced": entry.unknown if is_paid else entry.unpriced, "state": State.ACCEPTED, "attempt": line["attempt"], "request_id": line["request_id"], "price": line["price"],
        "sent": line["at"],
        **dict.fromkeys(("owner", "attempt_key", "body", "charged", "output", "media", "error", "error_type", "finished")),
    }  # fmt: skip
    columns = ", ".join(f"{name} = ?" for name in changes)
    db.execute(f"UPDATE runs SET {columns} WHERE id = ?", (*map(to_storable, changes.values()), entry.id))
    record_event(db, entry.id, State.ACCEPTED, line["request_id"])


def _insert_restored(db: sqlite3.Connection, line: Mapping[str, Any]) -> None:
    """Insert the row of a run that is known only from the line."""
    names = ("service", "identity", "take", "model", "input", "attempt", "request_id", "price")
    values = {
        **{name: line[name] for name in names},
        "state": State.ACCEPTED,
        "created": line["at"],
        "sent": line["at"],
    }
    cursor = db.execute(
        f"INSERT INTO runs ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
        tuple(map(to_storable, values.values())),
    )
    record_event(db, cursor.lastrowid, State.ACCEPTED, line["request_id"])
