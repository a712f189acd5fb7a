"""The rescue of a damaged ledger: the file is kept, and a new one gets everything that can still be read."""

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

from . import connection, row_checks, second_copy
from .reconcile import MARK, ROOM, reconciled
from .row_checks import Damaged, Log, Row, mended
from .schema import SCHEMA, VERSION

NEW_NAME = "ledger.new.sqlite"
SECONDS, BYTES_PER_SECOND = 3.0, 5_000_000
"""How long the reading of a damaged ledger may take."""
MAX_NAMED = 5
"""So many damaged runs are named in the sentence about a rescue."""

_ROWS_OF_A_PAGE = 100
_MAX_REPEATS = 10_000
_MAX_ROWS = 1 << 48
"""No run has a number like this, whatever a damaged page says."""
_STEPS = 10_000
"""So many steps of SQLite's between two looks at the clock: about a millisecond."""
_NUMBERED = ("runs", "events")
_BY_KEY = {"scopes": "scope, service, identity, take", "floors": "run", "meta": "name"}


@dataclass(slots=True)
class _Found:
    """What was read of a damaged ledger."""

    kept: int = 0
    restored: int = 0
    hurt: list[str] = field(default_factory=list)
    """The runs that are not what they were, each with what could not be read of it."""
    is_cut_short: bool = False
    """Whether the time was over before everything was tried."""


def rescued(folder: Path) -> str:
    """Exchange a damaged ledger for a new one; says in a sentence what was kept. At no moment is there none."""
    damaged, new = folder / connection.NAME, folder / NEW_NAME
    for leftover in (new, folder / f"{NEW_NAME}-journal"):
        leftover.unlink(missing_ok=True)
    os.close(os.open(new, os.O_RDWR | os.O_CREAT, 0o600))
    with contextlib.closing(connection.connected(new)) as db:
        found = _filled(db, damaged, folder)
    (folder / f"{NEW_NAME}-journal").unlink(missing_ok=True)
    aside = _set_aside(damaged)
    new.replace(damaged)
    connection.synced(folder)
    hurt = f" Not whole any more: {'; '.join(found.hurt[:MAX_NAMED])}." if found.hurt else ""
    hurt += f" So are {len(found.hurt) - MAX_NAMED:,} others." if len(found.hurt) > MAX_NAMED else ""
    cut = " Reading it took too long, so that more may be in it." if found.is_cut_short else ""
    return (
        f"The library's ledger in {folder} was damaged. {found.kept:,} runs were read from it and {found.restored:,} more "
        f"from the list of accepted requests; the damaged file is kept as {aside.name}.{hurt}{cut} Look at "
        "rb.library().uncertain and at the account's history before you run again what is missing."
    )


def _filled(db: sqlite3.Connection, damaged: Path, folder: Path) -> _Found:
    """Write what is left into an empty ledger, first what the damaged one gives, then what the log knows."""
    db.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA.split(";"):
        db.execute(statement)
    until = time.monotonic() + SECONDS + damaged.stat().st_size / BYTES_PER_SECOND
    found, log = _Found(), Log.of(second_copy.read(folder))
    for table in (*_NUMBERED, *_BY_KEY):
        for row in _rows(db, damaged, table, until):
            if table == "runs":
                found.kept += _put_run(db, row, log, found.hurt)
            else:
                with contextlib.suppress(sqlite3.Error):
                    _put(db, table, row)
    _to_their_takes(db, log)
    found.is_cut_short = time.monotonic() > until
    db.execute("INSERT OR REPLACE INTO meta VALUES ('schema', ?)", (str(VERSION),))
    db.execute("DELETE FROM sqlite_sequence WHERE name = 'runs'")
    db.execute("INSERT INTO sqlite_sequence SELECT 'runs', coalesce(max(id), 0) + ? FROM runs", (ROOM,))
    db.execute("DELETE FROM meta WHERE name = ?", (MARK,))
    found.restored = reconciled(db, folder).restored
    db.execute("COMMIT")
    return found


def _rows(db: sqlite3.Connection, damaged: Path, table: str, until: float) -> Iterator[Row]:
    """What can be read of a table."""
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    reading = _Reading(damaged, until)
    for values in _numbered(reading, table, columns) if table in _NUMBERED else _by_key(reading, table, columns):
        yield dict(zip(columns, values, strict=True))


def _put(db: sqlite3.Connection, table: str, row: Row) -> int:
    """Write a row, unless its number or its key is taken."""
    values = [str(value) if isinstance(value, Damaged) else value for value in row.values()]
    put_in = f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
    return db.execute(put_in, values).rowcount


def _put_run(db: sqlite3.Connection, row: Row, log: Log, hurt: list[str]) -> int:
    """Write the row of a run, mended if it was hurt."""
    row, bad = mended(row, log)
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
        # Another row has its place: what was mended need not be what it was.
        query = "SELECT max(take) + 1 FROM runs WHERE service = ? AND identity = ?"
        (row["take"],) = db.execute(query, (row["service"], row["identity"])).fetchone()
        return _put(db, "runs", row)
    except (sqlite3.Error, OverflowError):
        return 0


class _Reading:
    """A table of a damaged file, read in several passes. Damaged pages may lead back to others that were read, so every
    row counts once, and every pass has an end."""

    def __init__(self, damaged: Path, until: float) -> None:
        self._damaged, self._until = damaged, until
        self._seen: set[Any] = set()
        self.last = 0
        """The highest number of a row so far."""

    @property
    def rows(self) -> int:
        """How many different rows were read."""
        return len(self._seen)

    def over(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self._until

    def read(self, query: str, *given: int, is_numbered: bool = False) -> Generator[tuple[Any, ...], None, bool]:
        """The rows that are new, up to what cannot be read; whether the end was reached."""
        repeats = 0
        with (
            contextlib.suppress(sqlite3.Error, OverflowError, UnicodeDecodeError),
            _at(self._damaged, self.over) as old,
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


def _to_their_takes(db: sqlite3.Connection, log: Log) -> None:
    """Have runs be the takes that the log says, where nothing else is there."""
    for request, line in log.by_request.items():
        db.execute(
            "UPDATE OR IGNORE runs SET take = ? WHERE request_id = ? AND service = ? AND identity = ? AND take != ?",
            (line["take"], request, line["service"], line["identity"], line["take"]),
        )


def _numbered(reading: _Reading, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a table by their numbers; where a page cannot be read, those after it, and those before the end."""
    query = f"SELECT rowid, {', '.join(columns)} FROM {table}"
    step, failures = 0, 0
    # Small steps beyond the rows of one lost page, larger ones after that: many pages may be lost at once.
    while failures < _ROWS_OF_A_PAGE + 40 and not reading.over():
        before = reading.rows
        start = reading.last + step
        if (yield from reading.read(f"{query} WHERE rowid > ? ORDER BY rowid", start, is_numbered=True)):
            return
        failures = 0 if reading.rows > before else failures + 1
        step = 0 if reading.rows > before else step + (1 << max(0, failures - _ROWS_OF_A_PAGE))
    yield from reading.read(f"{query} ORDER BY rowid DESC", is_numbered=True)


def _by_key(reading: _Reading, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a table from its beginning up to what cannot be read, and from its end down to that."""
    for order in ("ASC", "DESC"):
        by = ", ".join(f"{name} {order}" for name in _BY_KEY[table].split(", "))
        if (yield from reading.read(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {by}")):
            return


@contextlib.contextmanager
def _at(damaged: Path, over: Callable[[], bool]) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(damaged)) as old:
        # Pages that lead to each other can keep SQLite busy for ever.
        old.set_progress_handler(over, _STEPS)
        # Else SQLite reads nothing at all of a file that was cut short.
        old.execute("PRAGMA writable_schema = ON")
        # A text that was hit need not be UTF-8 any more.
        old.text_factory = row_checks.text
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
