"""What dead processes have left in the ledger, put in order for whoever comes next."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from .ledger import ACCEPTED, COLUMNS, PAID, SENDING, UNCERTAIN, Entry, event, free, move, owned, read, storable


class Keeping(Protocol):
    """The process that keeps the ledger, as far as the moves need to know it."""

    @property
    def owner(self) -> str:
        """Its name."""

    def is_dead(self, name: str) -> bool:
        """Whether another one is gone."""

    def acceptances(self, identities: Collection[str] | None = None) -> list[dict[str, Any]]:
        """The second copy of the request ids, of these runs or of all."""


def recover(db: sqlite3.Connection, keeper: Keeping) -> list[str]:
    """Free what dead processes have left; returns their names."""
    owners = [row[0] for row in db.execute("SELECT DISTINCT owner FROM runs WHERE owner IS NOT NULL")]
    dead = [name for name in owners if keeper.is_dead(name)]
    left_by_dead = [
        Entry(*row) for name in dead for row in db.execute(f"SELECT {COLUMNS} FROM runs WHERE owner = ?", (name,))
    ]
    unanswered = [entry.identity for entry in left_by_dead if entry.state == SENDING]
    if unanswered:
        # The second copy first: it may know that what looks unanswered was accepted.
        told(db, keeper.acceptances(unanswered), dead, only_known=True)
    for entry in left_by_dead:
        free(db, read(db, entry.id))
    return dead


def freed(db: sqlite3.Connection, entry: Entry, keeper: Keeping) -> Entry:
    """The run as its owner has left it, if that one is dead."""
    if entry.owner is None or not keeper.is_dead(entry.owner):
        return entry
    recover(db, keeper)
    return read(db, entry.id)


def taken_over(db: sqlite3.Connection, run: int, keeper: Keeping) -> Entry:
    """A run of another process as it stands now; ours to follow, if that one is done with it and it is paid for."""
    entry = freed(db, read(db, run), keeper)
    return owned(db, entry, keeper.owner) if entry.owner is None and entry.state in PAID else entry


def broken_off(db: sqlite3.Connection, run: int) -> None:
    """A run of ours that nobody here is at any more, because something broke between two of its steps."""
    free(db, read(db, run))


def acceptance(entry: Entry, request_id: str) -> dict[str, Any]:
    """The line that the second copy keeps of an accepted run: enough to make its row again."""
    return {
        "at": time.time(), "service": entry.service, "identity": entry.identity, "take": entry.take,
        "attempt": entry.attempt, "model": entry.model, "request_id": request_id, "price": entry.price,
        "input": entry.input,
    }  # fmt: skip


def told(
    db: sqlite3.Connection,
    lines: Collection[Mapping[str, Any]],
    dead: Collection[str] = (),
    *,
    only_known: bool = False,
) -> int:
    """Put in what only the second copy of the request ids knows, of runs that nobody alive is at; returns how many.

    `only_known`: leave alone what has no row, because a person may have thrown it away.
    """
    news = 0
    for attempts in _by_run(lines):
        last = attempts[-1]
        row = db.execute(
            f"SELECT {COLUMNS} FROM runs WHERE service = ? AND identity = ? AND take = ?",
            (storable(last["service"]), storable(last["identity"]), last["take"]),
        ).fetchone()
        if row is not None:
            news += _answered(db, Entry(*row), last, dead)
        elif not only_known:
            _restored(db, attempts)
            news += 1
    return news


def _by_run(lines: Collection[Mapping[str, Any]]) -> list[Sequence[Mapping[str, Any]]]:
    """The lines of each run, one for each request, the latest attempt last."""
    found: dict[tuple[str, str, int], dict[str, Mapping[str, Any]]] = {}
    for line in sorted(lines, key=lambda line: int(line["attempt"])):
        found.setdefault((line["service"], line["identity"], line["take"]), {})[line["request_id"]] = line
    return [list(requests.values()) for requests in found.values()]


def _answered(db: sqlite3.Connection, entry: Entry, line: Mapping[str, Any], dead: Collection[str]) -> int:
    unanswered = entry.request_id is None and entry.state in (SENDING, UNCERTAIN)
    if not unanswered or entry.attempt != line["attempt"] or not (entry.owner is None or entry.owner in dead):
        return 0
    move(
        db, entry, ACCEPTED, request_id=line["request_id"], owner=None, attempt_key=None, body=None, error=None,
        error_type=None, note=line["request_id"],
    )  # fmt: skip
    return 1


def _restored(db: sqlite3.Connection, attempts: Sequence[Mapping[str, Any]]) -> None:
    """The row of a run that is lost; earlier attempts count with their whole price, since nobody knows how they ended."""
    *earlier, last = attempts
    spent = sum(line["price"] or 0 for line in earlier)
    unpriced = sum(line["price"] is None for line in earlier)
    values = (
        last["service"], last["identity"], last["take"], last["model"], last["input"], ACCEPTED, last["attempt"],
        last["request_id"], last["price"], spent, unpriced, last["at"], last["at"],
    )  # fmt: skip
    cursor = db.execute(
        "INSERT INTO runs (service, identity, take, model, input, state, attempt, request_id, price, spent, unpriced,"
        " created, sent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        tuple(map(storable, values)),
    )
    event(db, cursor.lastrowid, ACCEPTED, last["request_id"])
