"""Reconcile the ledger with the log of accepted requests: either may be lost, or restored from an old copy."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from . import second_copy
from .crash_recovery import apply_acceptances, make_acceptance
from .transitions import COLUMNS, Entry

MARK = "accepted log"
"""Name in `meta` of the position up to which the ledger contains the log."""
SKIPPED_IDS = 1_000_000
"""Number of run numbers skipped after rows were lost: a live process may still use the number of a lost run."""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The result of `reconcile`."""

    restored: int = 0
    """Runs restored from the log, which are polled instead of paid for again."""
    unreadable: int = 0
    """Damaged lines of the log that identify no run."""

    @property
    def sentence(self) -> str:
        """A message about what was restored and what may be missing; empty if nothing."""
        sentences = []
        if self.restored:
            sentences.append(
                f"{self.restored:,} paid runs were put back from the list of accepted requests; the next run of each "
                "fetches its result, at no cost."
            )
        if self.unreadable:
            sentences.append(
                f"{self.unreadable:,} lines of {second_copy.NAME} are damaged and name no run any more: look at the "
                "account's history before you run again what is missing."
            )
        return " ".join(sentences)


NOTHING = Reconciled()


def is_reconciled(db: sqlite3.Connection, folder: Path) -> bool:
    """Whether the log's size is unchanged since the ledger was last written. Fast enough for every commit."""
    known = _get_mark(db)
    return known is not None and known.partition(" ")[0] == str(second_copy.get_log_size(folder))


def reconcile(db: sqlite3.Connection, folder: Path, *, is_whole: bool = False) -> Reconciled:
    """Bring ledger and log to the same state, inside a transaction and before anything is sent.

    `is_whole`: read known lines again, too. Runs with an owner are left unchanged: a live process records them itself,
    and those of ended processes are recovered by `crash_recovery.recover`.
    """
    known = _get_mark(db)
    start = second_copy.find_offset(folder, known)
    lines = new = second_copy.read_from(folder, start)
    if is_whole and start > 0:
        lines = second_copy.read_from(folder)
    (before,) = db.execute("SELECT coalesce(max(id), 0) FROM runs").fetchone()
    restored = apply_acceptances(db, lines.complete + lines.partial)
    row = db.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'runs'").fetchone()
    if restored and before and (row[0] or 0) < before + SKIPPED_IDS:
        db.execute("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'runs'", (SKIPPED_IDS,))
        db.execute("UPDATE runs SET id = id + ? WHERE id > ?", (SKIPPED_IDS, before))
        db.execute("UPDATE events SET run = run + ? WHERE run > ?", (SKIPPED_IDS, before))
    if start == 0 and (known is not None or not lines.complete):
        _rewrite_log(db, folder, {line["request_id"] for line in lines.complete})
    save_mark(db, folder)
    return Reconciled(restored, new.unreadable)


def save_mark(db: sqlite3.Connection, folder: Path) -> None:
    """Store the log's current end as the position up to which the ledger contains it."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (MARK, second_copy.get_mark(folder)))


def _get_mark(db: sqlite3.Connection) -> str | None:
    row = db.execute("SELECT value FROM meta WHERE name = ?", (MARK,)).fetchone()
    return None if row is None else str(row[0])


def _rewrite_log(db: sqlite3.Connection, folder: Path, logged: Collection[str]) -> None:
    """Append the lines missing in a lost or older log, so that it can restore a lost ledger."""
    rows = (Entry(*row) for row in db.execute(f"SELECT {COLUMNS} FROM runs WHERE request_id IS NOT NULL"))
    missing = [
        make_acceptance(entry, entry.request_id)
        for entry in rows
        if entry.request_id and entry.request_id not in logged
    ]
    if missing:
        second_copy.append(folder, [second_copy.format_line(line) for line in missing])
