"""Make a new ledger in place of a damaged one: from its daily copy, and from the list of accepted requests."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import time
from pathlib import Path

from ...errors import LibraryError, ReelbookError
from ...util.file_locks import write_lock
from . import accepted, connection
from .owners import Owner
from .transitions import State, insert_run, update_run
from .writer import Ledger

_KEPT = ("service", "identity", "take", "model", "input", "attempt", "price", "created", "sent")
"""What is kept of a run that was sent without an answer."""
_UNPAID = (State.PLANNED, State.REJECTED, State.FAILED, State.CANCELLED)


def rebuild_ledger(folder: Path) -> str:
    """Replace a damaged ledger, which is kept under another name, and say what was restored."""
    path, backup = folder / connection.NAME, folder / connection.BACKUP_NAME
    if not path.exists() and not backup.exists() and not (folder / accepted.NAME).exists():
        raise ReelbookError(f"There is no library in {folder}. Name its folder, such as project/.reelbook.")
    if _is_sound(path):
        return f"The ledger in {folder} is sound, so nothing was changed."
    owner = Owner(folder / "owners")
    try:
        if not owner.is_alone():
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
    ledger = Ledger(folder)
    try:
        doubtful = ledger.transact_now(lambda db: _keep_doubts(db, kept))
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


def _keep_doubts(db: sqlite3.Connection, damaged: Path) -> int:
    """Have the runs that were sent without an answer uncertain here too, as far as they can be read; returns their number."""
    kept = 0
    query = f"SELECT {', '.join(_KEPT)} FROM runs WHERE id = ? AND state IN ('{State.UNCERTAIN}', '{State.SENDING}')"
    doubt = {"state": State.UNCERTAIN, "error_type": "uncertain", "error": "its answer was lost, and later the ledger"}
    with contextlib.suppress(sqlite3.Error, UnicodeDecodeError), contextlib.closing(sqlite3.connect(damaged)) as source:
        (last,) = source.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'runs'").fetchone()
        for run in range(1, int(last or 0) + 1):
            # Each by itself, because the damage may be in between.
            with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
                for row in source.execute(query, (run,)).fetchall():
                    values = {**dict(zip(_KEPT, row, strict=True)), **doubt}
                    known = db.execute(
                        "SELECT id, state FROM runs WHERE service = ? AND identity = ? AND take = ?", row[:3]
                    ).fetchone()
                    if known is None:
                        insert_run(db, **values)
                    elif known[1] in _UNPAID:
                        update_run(db, known[0], **values)
                    kept += known is None or known[1] in _UNPAID
    return kept
