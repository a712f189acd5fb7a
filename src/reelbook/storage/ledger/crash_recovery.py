"""What dead processes have left in the ledger, put in order for whoever comes next."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from .known_services import current
from .transitions import (
    ACCEPTED,
    COLUMNS,
    COMPLETED,
    INTENT,
    MOVES,
    PAID,
    SENDING,
    STORED,
    UNCERTAIN,
    Entry,
    beside,
    event,
    free,
    move,
    owned,
    past_cost,
    read,
    storable,
)


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
    unanswered = [entry.identity for entry in left_by_dead if entry.state in (INTENT, SENDING)]
    if unanswered:
        # The second copy first: it may know that what looks unanswered was accepted.
        told(db, keeper.acceptances(unanswered), keeper.is_dead, only_known=True)
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


def acceptance(entry: Entry, request_id: str, place: str | None = None) -> dict[str, Any]:
    """The line that the second copy keeps of an accepted run: enough to make its row again.

    `place`: the address at which its service is found again, whatever id it tells then.
    """
    return {
        "at": time.time(), "service": entry.service, "identity": entry.identity, "take": entry.take,
        "attempt": entry.attempt, "model": entry.model, "request_id": request_id, "price": entry.price,
        **({"place": place} if place else {}), "input": entry.input,
    }  # fmt: skip


def told(
    db: sqlite3.Connection,
    lines: Collection[Mapping[str, Any]],
    is_dead: Callable[[str], bool] = lambda name: False,
    *,
    only_known: bool = False,
) -> int:
    """Put in what only the second copy of the request ids knows, of runs that nobody alive is at; returns how many.

    `only_known`: leave alone what has no row, because a person may have thrown it away.
    """
    news = 0
    for attempts in _by_run(db, lines):
        last = attempts[-1]
        query = f"SELECT {COLUMNS} FROM runs WHERE service = ? AND identity = ? AND take = ?"
        key = storable(last["service"]), storable(last["identity"]), last["take"]
        if db.execute(query, key).fetchone() is not None:
            news += sum(_answered(db, Entry(*db.execute(query, key).fetchone()), one, is_dead) for one in attempts)
        elif not only_known:
            _restored(db, attempts)
            news += 1
    return news


def _by_run(db: sqlite3.Connection, lines: Collection[Mapping[str, Any]]) -> list[Sequence[Mapping[str, Any]]]:
    """The lines of each run that the ledger does not know, one for each request, the latest attempt last."""
    found: dict[tuple[str, str, int], dict[str | None, Mapping[str, Any]]] = {}
    for line in sorted(lines, key=lambda line: int(line["attempt"])):
        line = {**line, "service": current(db, storable(line["service"]))}
        if not _is_known(db, line):
            found.setdefault((line["service"], line["identity"], line["take"]), {})[line["request_id"]] = line
    for requests in found.values():
        if len(requests) > 1:
            requests.pop(None, None)  # A damaged line of a request that another line names.
    return [list(requests.values()) for requests in found.values()]


def _is_known(db: sqlite3.Connection, line: Mapping[str, Any]) -> bool:
    query = "SELECT 1 FROM runs WHERE request_id = ? AND service = ?"
    return db.execute(query, (storable(line["request_id"]), line["service"])).fetchone() is not None


def _answered(db: sqlite3.Connection, entry: Entry, line: Mapping[str, Any], is_dead: Callable[[str], bool]) -> int:
    """What a line says of a run that has a row: its lost answer, a later attempt, or a request beside it."""
    is_free = entry.owner is None or is_dead(entry.owner)
    if not is_free or line["request_id"] is None or line["attempt"] < entry.attempt:
        return 0
    if line["attempt"] == entry.attempt and entry.request_id is None and ACCEPTED in MOVES[entry.state]:
        move(
            db, entry, ACCEPTED, request_id=line["request_id"], owner=None, attempt_key=None, body=None, error=None,
            error_type=None, note=line["request_id"],
        )  # fmt: skip
    elif line["attempt"] > entry.attempt and entry.state not in (COMPLETED, STORED):
        past = {"spent": entry.spent, "unpriced": entry.unpriced}
        if entry.request_id is not None or entry.state == UNCERTAIN:
            past = past_cost(entry)
        _overtaken(db, entry, line, past)
    else:
        beside(db, entry, line["request_id"], line["price"])
    return 1


def _overtaken(db: sqlite3.Connection, entry: Entry, line: Mapping[str, Any], past: Mapping[str, int]) -> None:
    """A row out of an older ledger: the run was sent once more since."""
    changes = {
        **past, "state": ACCEPTED, "attempt": line["attempt"], "request_id": line["request_id"], "price": line["price"],
        "sent": line["at"],
        **dict.fromkeys(("owner", "attempt_key", "body", "charged", "output", "media", "error", "error_type", "finished")),
    }  # fmt: skip
    columns = ", ".join(f"{name} = ?" for name in changes)
    db.execute(f"UPDATE runs SET {columns} WHERE id = ?", (*map(storable, changes.values()), entry.id))
    event(db, entry.id, ACCEPTED, line["request_id"])


def _restored(db: sqlite3.Connection, attempts: Sequence[Mapping[str, Any]]) -> None:
    """The row of a run that is lost; earlier attempts count with their whole price, since nobody knows how they ended."""
    *earlier, last = attempts
    state = UNCERTAIN if last["request_id"] is None else ACCEPTED
    values = {
        **{name: last[name] for name in ("service", "identity", "take", "model", "input", "attempt", "request_id", "price")},
        "state": state, "created": last["at"], "sent": last["at"],
        "spent": sum(line["price"] or 0 for line in earlier),
        "unpriced": sum(line["price"] is None for line in earlier),
        "error_type": None if state == ACCEPTED else "uncertain", "error": None if state == ACCEPTED else _NO_ID,
    }  # fmt: skip
    cursor = db.execute(
        f"INSERT INTO runs ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
        tuple(map(storable, values.values())),
    )
    event(db, cursor.lastrowid, state, last["request_id"] or _NO_ID)


_NO_ID = "it was accepted, and the line of its request id is damaged"
