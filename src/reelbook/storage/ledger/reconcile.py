"""The ledger and the log of accepted requests beside it, brought to the same state: each may be lost or be out of a copy."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import known_services, second_copy
from .crash_recovery import acceptance, told
from .transitions import COLUMNS, Entry

MARK = "accepted log"
"""Names the line of `meta` that says how far the log is known to the ledger."""
ROOM = 1_000_000
"""So many numbers of runs are left out where rows were lost: a living process may still know a lost run by its number."""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What the log knew and the ledger did not."""

    restored: int = 0
    """Runs that are known again, and are asked about instead of being paid for once more."""
    unreadable: int = 0
    """Damaged lines of the log that name no run."""

    @property
    def sentence(self) -> str:
        """What was put back and what may be missing, for a person; empty where both said the same."""
        said = []
        if self.restored:
            said.append(
                f"{self.restored:,} paid runs were put back from the list of accepted requests; the next run of each "
                "fetches its result, at no cost."
            )
        if self.unreadable:
            said.append(
                f"{self.unreadable:,} lines of {second_copy.NAME} are damaged and name no run any more: look at the "
                "account's history before you run again what is missing."
            )
        return " ".join(said)


NOTHING = Reconciled()


def is_reconciled(db: sqlite3.Connection, folder: Path) -> bool:
    """Whether the log is as long as it was when the ledger was written last. Quick, for every commit."""
    known = _mark(db)
    return known is not None and known.partition(" ")[0] == str(second_copy.size(folder))


def reconciled(db: sqlite3.Connection, folder: Path, *, is_whole: bool = False) -> Reconciled:
    """Bring both to the same state; inside a transaction, and before anything is sent. `is_whole`: what was known, too.

    Runs that somebody is at are left alone: who is alive writes down what happens, and who is dead is dealt with by
    `recovery.recover`.
    """
    known = _mark(db)
    start = second_copy.place_after(folder, known)
    lines = news = second_copy.read_from(folder, start)
    if is_whole and start > 0:
        lines = second_copy.read_from(folder)
    _remember_places(db, lines.whole)
    (before,) = db.execute("SELECT coalesce(max(id), 0) FROM runs").fetchone()
    restored = told(db, lines.whole + lines.partial)
    row = db.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'runs'").fetchone()
    if restored and before and (row[0] or 0) < before + ROOM:
        db.execute("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'runs'", (ROOM,))
        db.execute("UPDATE runs SET id = id + ? WHERE id > ?", (ROOM, before))
        db.execute("UPDATE events SET run = run + ? WHERE run > ?", (ROOM, before))
    if start == 0 and (known is not None or not lines.whole):
        _write_again(db, folder, {line["request_id"] for line in lines.whole})
    marked(db, folder)
    return Reconciled(restored, news.unreadable)


def marked(db: sqlite3.Connection, folder: Path) -> None:
    """Remember how far the log is known."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (MARK, second_copy.mark(folder)))


def _mark(db: sqlite3.Connection) -> str | None:
    row = db.execute("SELECT value FROM meta WHERE name = ?", (MARK,)).fetchone()
    return None if row is None else str(row[0])


def _remember_places(db: sqlite3.Connection, lines: Collection[Mapping[str, Any]]) -> None:
    """The addresses of services, as far as the ledger does not know them better."""
    for service, place in {(line["service"], line.get("place")) for line in lines}:
        if isinstance(place, str) and place:
            known_services.remember_place(db, place, service)


def _write_again(db: sqlite3.Connection, folder: Path, logged: Collection[str]) -> None:
    """The lines of a log that was lost, or is out of a copy, so that it can put back a lost ledger again."""
    rows = (Entry(*row) for row in db.execute(f"SELECT {COLUMNS} FROM runs WHERE request_id IS NOT NULL"))
    missing = [
        acceptance(entry, entry.request_id) for entry in rows if entry.request_id and entry.request_id not in logged
    ]
    if missing:
        second_copy.append(folder, [second_copy.line_of(line) for line in missing])
