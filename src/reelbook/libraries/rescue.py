"""The rescue of a damaged ledger: the file is kept, and a new one gets everything that can still be read."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import disk
from .ledger import MOVES, UNCERTAIN
from .reconciling import MARK, ROOM, reconciled
from .schema import SCHEMA, VERSION

NEW_NAME = "ledger.new.sqlite"
_ROWS_OF_A_PAGE = 100
_NUMBERED = ("runs", "events")
_BY_KEY = {"scopes": "scope, service, identity, take", "floors": "run", "meta": "name"}


def rescued(folder: Path) -> str:
    """Exchange a damaged ledger for a new one; says in a sentence what was kept. At no moment is there none."""
    damaged, new = folder / disk.NAME, folder / NEW_NAME
    for leftover in (new, folder / f"{NEW_NAME}-journal"):
        leftover.unlink(missing_ok=True)
    os.close(os.open(new, os.O_RDWR | os.O_CREAT, 0o600))
    with contextlib.closing(disk.connected(new)) as db:
        kept, restored = _filled(db, damaged, folder)
    (folder / f"{NEW_NAME}-journal").unlink(missing_ok=True)
    aside = _set_aside(damaged)
    new.replace(damaged)
    disk.synced(folder)
    return (
        f"The library's ledger in {folder} was damaged. {kept:,} runs were read from it and {restored:,} more from the list of "
        f"accepted requests; the damaged file is kept as {aside.name}. Look at rb.library().uncertain and at the account's "
        "history before you run again what is missing."
    )


def _filled(db: sqlite3.Connection, damaged: Path, folder: Path) -> tuple[int, int]:
    """Write what is left into an empty ledger: how many runs the damaged one gave, how many the second copy."""
    db.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA.split(";"):
        db.execute(statement)
    kept = {table: _copied(damaged, db, table) for table in (*_NUMBERED, *_BY_KEY)}
    # What cannot be understood may have cost something: a person has to look.
    states = ", ".join("?" * len(MOVES))
    db.execute(f"UPDATE runs SET state = ?, owner = NULL WHERE state NOT IN ({states})", (UNCERTAIN, *MOVES))
    db.execute("INSERT OR REPLACE INTO meta VALUES ('schema', ?)", (str(VERSION),))
    db.execute("DELETE FROM sqlite_sequence WHERE name = 'runs'")
    db.execute("INSERT INTO sqlite_sequence SELECT 'runs', coalesce(max(id), 0) + ? FROM runs", (ROOM,))
    db.execute("DELETE FROM meta WHERE name = ?", (MARK,))
    restored = reconciled(db, folder).restored
    db.execute("COMMIT")
    return kept["runs"], restored


def _copied(damaged: Path, db: sqlite3.Connection, table: str) -> int:
    """What can be read of a table; returns how many rows."""
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    put_in = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    kept = 0
    for row in _numbered(damaged, table, columns) if table in _NUMBERED else _by_key(damaged, table, columns):
        with contextlib.suppress(sqlite3.Error):
            kept += db.execute(put_in, row).rowcount
    return kept


def _numbered(damaged: Path, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a table by their numbers; where a page cannot be read, those after it."""
    query = f"SELECT rowid, {', '.join(columns)} FROM {table} WHERE rowid > ? ORDER BY rowid"
    last, failures = 0, 0
    # Small steps beyond the rows of one lost page, larger ones after that: many pages may be lost at once.
    while failures < _ROWS_OF_A_PAGE + 40:
        with contextlib.suppress(sqlite3.Error), _at(damaged) as old:
            for row in old.execute(query, (last,)):
                last, failures = row[0], 0
                yield row[1:]
            return
        failures += 1
        last += 1 << max(0, failures - _ROWS_OF_A_PAGE)


def _by_key(damaged: Path, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a table from its beginning up to what cannot be read, and from its end down to that."""
    for order in ("ASC", "DESC"):
        by = ", ".join(f"{name} {order}" for name in _BY_KEY[table].split(", "))
        with contextlib.suppress(sqlite3.Error), _at(damaged) as old:
            yield from old.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {by}")


@contextlib.contextmanager
def _at(damaged: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(damaged)) as old:
        # Else SQLite reads nothing at all of a file that was cut short.
        old.execute("PRAGMA writable_schema = ON")
        # A text that was hit need not be UTF-8 any more.
        old.text_factory = lambda content: content.decode(errors="replace")
        yield old


def _set_aside(damaged: Path) -> Path:
    """The damaged file under another name, beside the one that it still has."""
    aside = damaged.with_name(f"ledger.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:6]}.sqlite")
    try:
        os.link(damaged, aside)
    except OSError:
        shutil.copy2(damaged, aside)  # A disk without a second name for one file.
    journal = damaged.with_name(f"{damaged.name}-journal")
    with contextlib.suppress(FileNotFoundError):
        # Left behind, it would be played back into the new file.
        journal.replace(aside.with_name(f"{aside.name}-journal"))
    return aside
