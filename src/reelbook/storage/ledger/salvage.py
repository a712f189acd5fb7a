"""Rescue a damaged ledger: move the file aside, and copy all readable rows to a new one."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...util.replace_file import sync_folder
from . import connection, row_checks, second_copy
from .reconcile import MARK, SKIPPED_IDS, reconcile
from .row_checks import AcceptedLog, Damaged, Row, repair_row
from .schema import SCHEMA, VERSION

NEW_NAME = "ledger.new.sqlite"
MIN_SECONDS, BYTES_PER_SECOND = 3.0, 5_000_000
"""Time limit for reading a damaged ledger: a minimum, and more for a large file."""
MAX_NAMED = 5
"""Maximum number of damaged runs named in the message."""

_ROWS_OF_A_PAGE = 100
_MAX_REPEATS = 10_000
_MAX_ROWS = 1 << 48
"""Upper bound of valid row numbers; a damaged page may contain larger ones."""
_STEPS = 10_000
"""SQLite steps between two checks of the time: about a millisecond."""
_NUMBERED = ("runs", "events", "judgements")
_BY_KEY = {"scopes": "scope, service, identity, take", "floors": "run", "meta": "name"}


@dataclass(slots=True)
class _Found:
    """Counts of what was rescued from a damaged ledger."""

    read: int = 0
    restored: int = 0
    hurt: list[str] = field(default_factory=list)
    """The runs that were changed, each with the names of its unreadable values."""
    is_cut_short: bool = False
    """Whether the time limit was reached before the end."""


def rescue(folder: Path) -> str:
    """Replace a damaged ledger by a new one, atomically; returns a message about the result."""
    damaged, new = folder / connection.NAME, folder / NEW_NAME
    for leftover in (new, folder / f"{NEW_NAME}-journal"):
        leftover.unlink(missing_ok=True)
    os.close(os.open(new, os.O_RDWR | os.O_CREAT, 0o600))
    with contextlib.closing(connection.connect(new)) as db:
        found = _fill(db, damaged, folder)
    (folder / f"{NEW_NAME}-journal").unlink(missing_ok=True)
    aside = _set_aside(damaged)
    new.replace(damaged)
    sync_folder(folder)
    hurt = f" Not whole any more: {'; '.join(found.hurt[:MAX_NAMED])}." if found.hurt else ""
    hurt += f" So are {len(found.hurt) - MAX_NAMED:,} others." if len(found.hurt) > MAX_NAMED else ""
    cut = " Reading it took too long, so that more may be in it." if found.is_cut_short else ""
    return (
        f"The library's ledger in {folder} was damaged. {found.read:,} runs were read from it and {found.restored:,} more "
        f"from the list of accepted requests; the damaged file is kept as {aside.name}.{hurt}{cut} Look at "
        "rb.library().uncertain and at the account's history before you run again what is missing."
    )


def _fill(db: sqlite3.Connection, damaged: Path, folder: Path) -> _Found:
    """Fill an empty ledger with the rows of the damaged one, then with those only in the log."""
    db.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA.split(";"):
        db.execute(statement)
    until = time.monotonic() + MIN_SECONDS + damaged.stat().st_size / BYTES_PER_SECOND
    found, log = _Found(), AcceptedLog.of(second_copy.read_lines(folder))
    for table in (*_NUMBERED, *_BY_KEY):
        for row in _rows(db, damaged, table, until):
            if table == "runs":
                found.read += _put_run(db, row, log, found.hurt)
            else:
                with contextlib.suppress(sqlite3.Error):
                    _put(db, table, row)
    _restore_takes(db, log)
    found.is_cut_short = time.monotonic() > until
    db.execute("INSERT OR REPLACE INTO meta VALUES ('schema', ?)", (str(VERSION),))
    db.execute("DELETE FROM sqlite_sequence WHERE name = 'runs'")
    db.execute("INSERT INTO sqlite_sequence SELECT 'runs', coalesce(max(id), 0) + ? FROM runs", (SKIPPED_IDS,))
    db.execute("DELETE FROM meta WHERE name = ?", (MARK,))
    found.restored = reconcile(db, folder).restored
    db.execute("COMMIT")
    return found


def _rows(db: sqlite3.Connection, damaged: Path, table: str, until: float) -> Iterator[Row]:
    """Yield the readable rows of a table."""
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    reading = _Reading(damaged, until)
    for values in _numbered(reading, table, columns) if table in _NUMBERED else _by_key(reading, table, columns):
        yield dict(zip(columns, values, strict=True))


def _put(db: sqlite3.Connection, table: str, row: Row) -> int:
    """Insert a row, unless its number or its key exists; returns the number of rows inserted."""
    values = [str(value) if isinstance(value, Damaged) else value for value in row.values()]
    put_in = f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
    return db.execute(put_in, values).rowcount


def _put_run(db: sqlite3.Connection, row: Row, log: AcceptedLog, hurt: list[str]) -> int:
    """Insert the row of a run, repaired if damaged; returns the number of rows inserted."""
    row, bad = repair_row(row, log)
    if db.execute("SELECT 1 FROM runs WHERE id = ?", (row["id"],)).fetchone() is not None:
        return 0
    is_lost = "identity" in bad and row["request_id"] is None
    if bad:
        hurt.append(f"run {row['id']} ({'all of it' if is_lost else ', '.join(bad)})")
    if is_lost:
        return 0
    try:
        if _put(db, "runs", row):
            return 1
        # Another row has its key: a repaired value may differ from the original.
        query = "SELECT max(take) + 1 FROM runs WHERE service = ? AND identity = ?"
        (row["take"],) = db.execute(query, (row["service"], row["identity"])).fetchone()
        return _put(db, "runs", row)
    except (sqlite3.Error, OverflowError):
        return 0


class _Reading:
    """Reads a table of a damaged file in several passes. Damaged pages may refer back to pages already read, so every
    row is returned once, and every pass is bounded."""

    def __init__(self, damaged: Path, until: float) -> None:
        self._damaged, self._until = damaged, until
        self._seen: set[Any] = set()
        self.last = 0
        """The highest row number so far."""

    @property
    def rows(self) -> int:
        """Number of distinct rows read."""
        return len(self._seen)

    def is_over(self) -> bool:
        """Whether the time limit was reached."""
        return time.monotonic() > self._until

    def read(self, query: str, *given: int, is_numbered: bool = False) -> Generator[tuple[Any, ...], None, bool]:
        """Yield new rows up to the first read error; returns whether the end was reached."""
        repeats = 0
        with (
            contextlib.suppress(sqlite3.Error, OverflowError, UnicodeDecodeError),
            _open_damaged(self._damaged, self.is_over) as old,
        ):
            for row in old.execute(query, given):
                mark = row[0] if is_numbered else row
                repeats += mark in self._seen
                if repeats > _MAX_REPEATS:
                    return False
                if mark in self._seen:
                    continue
                self._seen.add(mark)
                if is_numbered and self.last < row[0] < _MAX_ROWS:
                    self.last = row[0]
                yield row[is_numbered:]
            return True
        return False


def _restore_takes(db: sqlite3.Connection, log: AcceptedLog) -> None:
    """Set the take of runs to that in the log, if it is free."""
    for request, line in log.by_request.items():
        db.execute(
            "UPDATE OR IGNORE runs SET take = ? WHERE request_id = ? AND service = ? AND identity = ? AND take != ?",
            (line["take"], request, line["service"], line["identity"], line["take"]),
        )


def _numbered(reading: _Reading, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table by number, skipping unreadable pages, and then from the end backwards."""
    query = f"SELECT rowid, {', '.join(columns)} FROM {table}"
    step, failures = 0, 0
    # Small steps over the rows of one lost page, then larger ones: many consecutive pages may be lost.
    while failures < _ROWS_OF_A_PAGE + 40 and not reading.is_over():
        before = reading.rows
        start = reading.last + step
        if (yield from reading.read(f"{query} WHERE rowid > ? ORDER BY rowid", start, is_numbered=True)):
            return
        failures = 0 if reading.rows > before else failures + 1
        step = 0 if reading.rows > before else step + (1 << max(0, failures - _ROWS_OF_A_PAGE))
    yield from reading.read(f"{query} ORDER BY rowid DESC", is_numbered=True)


def _by_key(reading: _Reading, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table from the start to the first read error, and from the end back to one."""
    for order in ("ASC", "DESC"):
        by = ", ".join(f"{name} {order}" for name in _BY_KEY[table].split(", "))
        if (yield from reading.read(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {by}")):
            return


@contextlib.contextmanager
def _open_damaged(damaged: Path, is_over: Callable[[], bool]) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(damaged)) as old:
        # Pages that refer to each other can keep SQLite in an endless loop.
        old.set_progress_handler(is_over, _STEPS)
        # Otherwise SQLite reads nothing from a truncated file.
        old.execute("PRAGMA writable_schema = ON")
        # A damaged text may not be valid UTF-8.
        old.text_factory = row_checks.decode_text
        yield old


def _set_aside(damaged: Path) -> Path:
    """Give the damaged file a second name in the same folder; returns its path."""
    aside = damaged.with_name(f"ledger.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:6]}.sqlite")
    try:
        os.link(damaged, aside)
    except OSError:
        shutil.copy2(damaged, aside)  # A file system without hard links.
    journal = damaged.with_name(f"{damaged.name}-journal")
    with contextlib.suppress(FileNotFoundError):
        # Otherwise SQLite would roll it back into the new file.
        journal.replace(aside.with_name(f"{aside.name}-journal"))
    return aside
