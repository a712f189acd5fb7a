"""Make a new ledger in place of a damaged one: from its daily copy, and from the list of accepted requests."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import time
import warnings
from pathlib import Path

from ...errors import LibraryError, ReelbookError
from ...util.file_locks import write_lock
from . import accepted, connection
from .owners import Owner
from .transitions import COLUMNS, Entry, State, to_storable
from .writer import Ledger


def rebuild_ledger(folder: Path) -> str:
    """Replace a damaged ledger, which is kept under another name, and say what was restored."""
    path, backup = folder / connection.NAME, folder / connection.BACKUP_NAME
    if not path.exists() and not backup.exists() and not (folder / accepted.NAME).exists():
        raise ReelbookError(f"There is no library in {folder}. Name its folder, such as project/.reelbook.")
    if _is_sound(path):
        return f"The ledger in {folder} is sound, so nothing was changed."
    owner = Owner(folder / "owners")
    try:
        others = [other.name for other in (folder / "owners").iterdir() if other.name != owner.name]
        if not all(owner.is_dead(name) for name in others):
            raise LibraryError(str(folder), "another notebook uses it", "Close that one, then try again.")
        with connection.translate_errors(folder), write_lock(folder):
            kept = folder / f"ledger.damaged-{time.strftime('%Y%m%d-%H%M%S')}.sqlite"
            if path.exists():
                path.rename(kept)
            for journal in folder.glob(f"{connection.NAME}-*"):
                journal.rename(kept.with_name(journal.name.replace(connection.NAME, kept.name)))
            has_copy = _is_sound(backup)
            if has_copy:
                shutil.copyfile(backup, path)
            else:
                backup.unlink(missing_ok=True)
    finally:
        owner.release()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ledger = Ledger(folder)
    try:
        doubtful = ledger.transact_now(lambda db: sum(_keep_doubt(db, entry) for entry in _read_doubtful(kept)))
        runs, paid = ledger.read(lambda db: db.execute("SELECT count(*), count(request_id) FROM runs").fetchone())
    finally:
        ledger.close()
    source = "its copy and the list of accepted requests" if has_copy else "the list of accepted requests"
    doubts = f" {doubtful:,} of them are uncertain: rb.library().uncertain lists what to do." if doubtful else ""
    return (
        f"The ledger in {folder} was made again from {source}: {runs:,} runs, {paid:,} of them with a request that is paid for.{doubts} "
        f"The damaged file is kept as {kept.name}."
    )


def _is_sound(path: Path) -> bool:
    if not path.exists() or not path.stat().st_size:
        return False
    with contextlib.suppress(sqlite3.Error, UnicodeDecodeError), contextlib.closing(connection.connect(path)) as db:
        return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    return False


def _read_doubtful(damaged: Path) -> list[Entry]:
    """The runs of a damaged ledger that were sent without an answer, as far as they can be read: no list has them."""
    entries: list[Entry] = []
    with contextlib.suppress(sqlite3.Error, UnicodeDecodeError), contextlib.closing(sqlite3.connect(damaged)) as db:
        (last,) = db.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'runs'").fetchone()
        query = f"SELECT {COLUMNS} FROM runs WHERE id = ? AND state IN (?, ?)"
        for run in range(1, int(last or 0) + 1):
            # Each by itself, because the damage may be in between.
            with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
                entries += [Entry(*row) for row in db.execute(query, (run, State.UNCERTAIN, State.SENDING))]
    return entries


def _keep_doubt(db: sqlite3.Connection, entry: Entry) -> bool:
    """Have a run that was sent without an answer uncertain in the new ledger too; returns whether it was not yet."""
    row = db.execute(
        "SELECT id, state FROM runs WHERE service = ? AND identity = ? AND take = ?",
        (entry.service, entry.identity, entry.take),
    ).fetchone()
    error = "its answer was lost, and the ledger was damaged later"
    if row is None:
        db.execute(
            "INSERT INTO runs (service, identity, take, model, input, state, attempt, price, error_type, error, created, sent)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'uncertain', ?, ?, ?)",
            (
                *map(to_storable, (entry.service, entry.identity, entry.take, entry.model, entry.input)), State.UNCERTAIN,
                entry.attempt, entry.price, error, entry.created, entry.sent,
            ),
        )  # fmt: skip
    elif row[1] in (State.PLANNED, State.REJECTED, State.FAILED, State.CANCELLED):
        db.execute(
            "UPDATE runs SET state = ?, attempt = ?, price = ?, error_type = 'uncertain', error = ?, sent = ? WHERE id = ?",
            (State.UNCERTAIN, entry.attempt, entry.price, error, entry.sent, row[0]),
        )
    else:
        return False
    return True
