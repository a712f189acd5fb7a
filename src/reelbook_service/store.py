"""The service's folder, which one process locks, and its SQLite database: one writer thread batches work into commits."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any, TypeVar

from reelbook.errors import FolderInUse, ReelbookError
from reelbook.util.file_locks import try_lock
from reelbook.util.queue_batches import take_batch

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

SCHEMA = """
CREATE TABLE IF NOT EXISTS service (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS accounts (
    name TEXT PRIMARY KEY, key_hash TEXT NOT NULL UNIQUE, permissions TEXT NOT NULL,
    class_group TEXT NOT NULL DEFAULT '', paused INTEGER NOT NULL DEFAULT 0, limits TEXT NOT NULL DEFAULT '',
    refilled REAL, removed INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS requests (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, account TEXT NOT NULL, endpoint TEXT NOT NULL,
    input TEXT NOT NULL, credits INTEGER NOT NULL, created REAL NOT NULL, finished REAL,
    cancelling INTEGER NOT NULL DEFAULT 0, record TEXT, lane TEXT NOT NULL DEFAULT 'local', error_type TEXT,
    resubmits INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS unfinished ON requests (seq) WHERE finished IS NULL;
CREATE INDEX IF NOT EXISTS requests_by_account ON requests (account, finished, error_type);
CREATE TABLE IF NOT EXISTS charges (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, request_id TEXT NOT NULL, account TEXT NOT NULL,
    credits INTEGER NOT NULL, kind TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS charges_by_account ON charges (account, kind, at, credits);
CREATE TABLE IF NOT EXISTS idempotency (
    account TEXT NOT NULL, key TEXT NOT NULL, body_hash TEXT NOT NULL, request_id TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (account, key)
);
CREATE TABLE IF NOT EXISTS dearer (
    lane TEXT NOT NULL, kind TEXT NOT NULL, credits INTEGER NOT NULL, PRIMARY KEY (lane, kind)
);
CREATE TABLE IF NOT EXISTS files (
    token TEXT PRIMARY KEY, file_id TEXT UNIQUE, account TEXT NOT NULL, name TEXT NOT NULL, content_type TEXT NOT NULL,
    size INTEGER NOT NULL, sha256 TEXT NOT NULL, created REAL NOT NULL
);
"""


UPGRADE = """
BEGIN IMMEDIATE;
ALTER TABLE requests ADD COLUMN resubmits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;
UPDATE charges SET at = coalesce((SELECT created FROM requests WHERE id = request_id), at);
UPDATE accounts SET granted = json_extract(limits, '$.weekly[0]'), limits = json_remove(limits, '$.weekly[0]')
    WHERE limits LIKE '%"weekly"%';
INSERT INTO charges (at, request_id, account, credits, kind) SELECT 0, '', name, granted, 'grant' FROM accounts;
ALTER TABLE accounts DROP COLUMN granted;
COMMIT;
"""
"""What brings a database of version 0.1.0 up to date, in which each account had its budget as a number of its own."""
DATABASE = "service.sqlite3"
BUSY_SECONDS = 30.0
"""How long a commit waits for another process, which writes a sheet of keys at most."""


def lock_folder(folder: Path) -> IO[str]:
    """The locked file of a folder, whose closing ends the lock, as a crash does; raises `FolderInUse`."""
    file = (folder / "lock").open("a+")
    with contextlib.suppress(OSError):
        if try_lock(file.fileno()):
            return file
    file.close()
    raise FolderInUse(str(folder))


def open_database(path: Path) -> sqlite3.Connection:
    """A connection to the database of a service, which is made if it is not there."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, cached_statements=256)
    connection.row_factory = sqlite3.Row
    # A rollback journal: SQLite's write-ahead log can lose data in versions that are still in use.
    connection.execute("PRAGMA journal_mode=TRUNCATE")
    connection.execute("PRAGMA synchronous=FULL")
    connection.executescript(SCHEMA)
    if "granted" in {row["name"] for row in connection.execute("PRAGMA table_info(accounts)")}:
        connection.executescript(UPGRADE)
    return connection


def read_fact(db: sqlite3.Connection, name: str) -> str | None:
    """A fact about the service as a whole."""
    row = db.execute("SELECT value FROM service WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row["value"])


def write_fact(db: sqlite3.Connection, name: str, value: str | None) -> None:
    """Store a fact about the service, or remove it."""
    db.execute("DELETE FROM service WHERE name = ?", (name,))
    if value is not None:
        db.execute("INSERT INTO service VALUES (?, ?)", (name, value))


@contextlib.contextmanager
def open_transaction(data: Path) -> Iterator[sqlite3.Connection]:
    """A transaction on the database of a service in a folder, for a command; the service may run meanwhile, and notices."""
    path = data / DATABASE
    if not path.exists():
        raise ReelbookError(
            f"There is no service in {data}. Start one there with `reelbook serve --data {data}`, or name its folder with --data."
        )
    with contextlib.closing(open_database(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


class Store:
    """A database with group commit.

    A commit waits a few milliseconds for the disk, whatever its size; so one thread runs all work submitted meanwhile
    in one transaction, and then resolves the futures.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pending: queue.SimpleQueue[tuple[Work[Any], Future[Any]] | None] = queue.SimpleQueue()
        ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._serve, args=(ready,), name="reelbook-store", daemon=True)
        self._thread.start()
        ready.result()

    def submit(self, work: Work[T]) -> Future[T]:
        """Run this in the next commit; the future is resolved once it is on disk."""
        future: Future[T] = Future()
        self._pending.put((work, future))
        return future

    async def run(self, work: Work[T]) -> T:
        """Run this in the next commit, and return its result once it is on disk."""
        return await asyncio.wrap_future(self.submit(work))

    def close(self) -> None:
        """Finish the submitted work, then close the file."""
        self._pending.put(None)
        self._thread.join()

    def _serve(self, ready: Future[None]) -> None:
        try:
            connection = open_database(self._path)
        except sqlite3.Error as error:
            words = f"The service's database in {self._path.parent} cannot be opened ({error}). Move the folder aside to start with an empty one."
            ready.set_exception(ReelbookError(words))
            return
        ready.set_result(None)
        while (batch := take_batch(self._pending)) is not None:
            self._commit(connection, batch)
        connection.close()

    @staticmethod
    def _commit(connection: sqlite3.Connection, batch: list[tuple[Work[Any], Future[Any]]]) -> None:
        outcomes: list[tuple[Any, BaseException | None]] = []
        try:
            connection.execute("BEGIN IMMEDIATE")
            for work, _ in batch:
                connection.execute("SAVEPOINT one")
                try:
                    outcomes.append((work(connection), None))
                except Exception as error:  # Only the work of this caller is rolled back.
                    connection.execute("ROLLBACK TO one")
                    outcomes.append((None, error))
                connection.execute("RELEASE one")
            connection.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            outcomes = [(None, error)] * len(batch)
        for (_, future), (result, failure) in zip(batch, outcomes, strict=True):
            # A cancelled future does not affect the others.
            if future.set_running_or_notify_cancel():
                future.set_exception(failure) if failure else future.set_result(result)
