"""The ledger of a library in this process: its file, checked and copied once a day, and the one thread that writes it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import queue
import shlex
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar, cast

from ...errors import LibraryError, ReelbookError
from ...util.file_locks import write_lock
from ...util.queue_batches import take_batch
from ...util.replace_file import PRIVATE, open_replacement, replace_file, sync_folder
from . import claims
from .schema import SCHEMA, VERSION
from .transitions import Entry, find_entries, read_meta

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
Step = tuple[Work[Any], Mapping[str, Any] | None, "Future[Any]"]

NAME, BACKUP_NAME, SPARE_NAME = "ledger.sqlite", "ledger.backup.sqlite", "ledger.spare"
SPARE_BYTES = 1 << 16
"""The size of a file that only takes room, which is freed when a request was accepted and the disk is full by then."""
BUSY_SECONDS, CALL_SECONDS, BACKUP_SECONDS = 60.0, 180.0, 24 * 3600.0
FORKED = (
    "This process was forked from the one that opened the library, and nothing was sent. Use the library there, or start "
    'processes with the method "spawn" and connect in each of them.'
)


class Ledger(claims.Process):
    """The ledger of a library in this process.

    The time of a commit hardly depends on its size, because it waits for the disk; so one thread collects the steps
    submitted in the meantime, commits them together, and only then resolves their futures.
    """

    def __init__(self, folder: Path) -> None:
        with translate_errors(folder):
            super().__init__(folder)
        self.live: dict[int, Any] = {}
        """The runs that this process follows, by their number."""
        self.claimed: set[int] = set()
        """The runs claimed in this process and not yet in `live`."""
        self._users, self._pid = 0, os.getpid()
        self._db: sqlite3.Connection | None = None
        self._file_id: tuple[int, ...] | None = None
        """Inode and device of the file, once it is open."""
        self._next_backup = 0.0
        try:
            self._open()
        except BaseException:
            self._drop()
            self.leave()
            raise
        self._lock, self._is_closed = threading.Lock(), False
        self._steps: queue.SimpleQueue[Step | None] = queue.SimpleQueue()
        self._stopped = threading.Event()
        threading.Thread(target=self._serve, name="reelbook-ledger", daemon=True).start()

    @classmethod
    def acquire(cls, folder: Path) -> Ledger:
        """The ledger of a library, shared by all its users in this process.

        A client releases it. For a library without a client it stays open: nobody knows when its last row was looked at.
        """
        with _guard:
            ledger = _shared.get(folder)
            if ledger is None or ledger._pid != os.getpid() or not ledger._is_there:
                ledger = _shared[folder] = cls(folder)
            ledger._users += 1
            return ledger

    def release(self) -> None:
        """Close the ledger when no other client of this process uses it."""
        with _guard:
            self._users -= 1
            if not self._users:
                if _shared.get(self.folder) is self:
                    del _shared[self.folder]
                self.close()

    def submit(self, work: Work[T], *, line: Mapping[str, Any] | None = None) -> Future[T]:
        """Run `work` in the next commit, whose end resolves the future.

        `line` is appended to the list of accepted requests before.
        """
        if self._pid != os.getpid():
            raise ReelbookError(FORKED)
        future: Future[T] = Future()
        with self._lock:
            if self._is_closed:
                error = LibraryError(str(self.folder), "it was closed", "Connect again with rb.connect().")
                future.set_exception(error)
            else:
                self._steps.put((work, line, future))
        return future

    async def transact(self, work: Work[T], *, line: Mapping[str, Any] | None = None) -> T:
        """Async form of `submit`; cancelling the await does not cancel the work."""
        return await asyncio.wrap_future(self.submit(work, line=line))

    def transact_now(self, work: Work[T]) -> T:
        """Blocking form of `submit`."""
        return self.submit(work).result(CALL_SECONDS)

    def read(self, work: Work[T]) -> T:
        """Run a read-only query on a separate connection. It blocks commits, so it must not wait for one."""
        self._check_there()
        with translate_errors(self.folder), contextlib.closing(connect(self.folder / NAME)) as db:
            db.execute("PRAGMA query_only = 1")
            return work(db)

    def select(self, columns: str, where: str = "1", values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """These columns of the runs for which a condition holds, oldest first."""
        query = f"SELECT {columns} FROM entries WHERE {where} ORDER BY id"
        return self.read(lambda db: db.execute(query, values).fetchall())

    def find_entries(self, where: str, *values: Any) -> list[Entry]:
        """The runs for which a condition holds, oldest first."""
        return self.read(lambda db: find_entries(db, f"{where} ORDER BY id", *values))

    def close(self) -> None:
        """Commit all submitted work, then release the library."""
        if self._pid == os.getpid():
            with self._lock:
                if not self._is_closed:
                    self._steps.put(None)
                self._is_closed = True
            self._stopped.wait()

    def renew_backup(self) -> None:
        """Have the copy of the ledger made once more with the next write, because the present one has what was removed."""
        (self.folder / BACKUP_NAME).unlink(missing_ok=True)
        self._next_backup = 0.0

    def _open(self) -> None:
        """Open the file, or create it; put back what only the list has, and recover the runs of ended processes."""
        path, list_path, backup = (self.folder / name for name in (NAME, claims.LIST_NAME, BACKUP_NAME))
        with translate_errors(self.folder):
            with write_lock(self.folder):
                if backup.exists() and not (path.exists() and path.stat().st_size):
                    raise sqlite3.DatabaseError("it is missing or empty")
                if not (path.exists() and list_path.exists()):
                    for file in (path, list_path):
                        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
                    sync_folder(self.folder)
                    sync_folder(self.folder.parent)
                self._db = db = connect(path)
                if db.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
                    db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
                check(db, self.folder)
                db.execute("BEGIN IMMEDIATE")
                claims.catch_up(db, self.folder)
                claims.recover(db, self)
                db.execute("COMMIT")
            if self._file_id is None:
                with contextlib.suppress(OSError):
                    # Random, because some file systems store zeros in no room.
                    replace_file(self.folder / SPARE_NAME, os.urandom(SPARE_BYTES), mode=PRIVATE)
            self._file_id = path.stat()[1:3]

    def _serve(self) -> None:
        while (batch := take_batch(self._steps)) is not None:
            self._commit(batch)
        self._drop()
        self.leave()
        self._stopped.set()

    def _commit(self, batch: list[Step]) -> None:
        """Commit a batch, and resolve its futures."""
        try:
            outcomes = self._write(batch)
        except Exception as error:
            self._drop()
            if any(line is not None for _, line, _ in batch):
                with contextlib.suppress(OSError):
                    # Perhaps the disk is full: what is accepted has the room that was kept for it, once.
                    (self.folder / SPARE_NAME).unlink()
                    self._commit(batch)
                    return
            failure = make_library_error(self.folder, error)
            outcomes = [(None, failure) for _ in batch]
        for (_, _, future), (result, failed) in zip(batch, outcomes, strict=True):
            # A caller that has cancelled loses only its own result.
            if future.set_running_or_notify_cancel():
                future.set_exception(failed) if failed else future.set_result(result)

    def _write(self, batch: list[Step]) -> list[tuple[Any, BaseException | None]]:
        self._check_there()
        if self._db is None:
            self._open()
        db = cast(sqlite3.Connection, self._db)
        with write_lock(self.folder):
            if time.monotonic() > self._next_backup:
                self._next_backup = time.monotonic() + BACKUP_SECONDS
                _back_up(db, self.folder)
            db.execute("BEGIN IMMEDIATE")
            if lines := [line for _, line, _ in batch if line is not None]:
                claims.catch_up(db, self.folder)
                claims.append_lines(self.folder, lines)
                claims.mark_as_read(db, self.folder)
            outcomes = [self._attempt(db, work) for work, _, _ in batch]
            db.execute("COMMIT")
        return outcomes

    def _attempt(self, db: sqlite3.Connection, work: Work[Any]) -> tuple[Any, BaseException | None]:
        """Run one caller's work in a savepoint, which is rolled back if it fails."""
        db.execute("SAVEPOINT step")
        result, failed = None, None
        try:
            result = work(db)
        except (sqlite3.Error, UnicodeDecodeError):
            raise  # It concerns the file, and so the complete batch.
        except BaseException as error:
            db.execute("ROLLBACK TO step")
            failed = error
        db.execute("RELEASE step")
        return result, failed

    def _check_there(self) -> None:
        """Raise if the file is not the one that was opened: another one would not have the paid runs."""
        if not self._is_there:
            raise LibraryError(
                str(self.folder), "it was moved, deleted or replaced while it was open",
                "Put the folder back, or connect again to use what is there now.",
            )  # fmt: skip

    @property
    def _is_there(self) -> bool:
        with contextlib.suppress(OSError):
            return self._file_id in (None, (self.folder / NAME).stat()[1:3])
        return False

    def _drop(self) -> None:
        """Close the connection, and undo what it has not committed."""
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
        self._db = None


_guard = threading.Lock()
_shared: dict[Path, Ledger] = {}
"""The ledgers that are open in this process."""


# The file.


def connect(path: Path) -> sqlite3.Connection:
    """Connect with durable settings for every build of SQLite. The file must exist."""
    # Opened in one thread and used in another, but never by two at once.
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS, isolation_level=None,
        cached_statements=256, check_same_thread=False,
    )  # fmt: skip
    try:
        # A rollback journal: SQLite's write-ahead log can lose data in versions still in use.
        db.execute("PRAGMA journal_mode = TRUNCATE")
        db.execute("PRAGMA synchronous = EXTRA")
    except BaseException:
        db.close()
        raise
    return db


def check(db: sqlite3.Connection, folder: Path | None) -> None:
    """Raise if the ledger is damaged, or of another version; that does not matter without a folder."""
    (problem,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if problem != "ok":
        raise sqlite3.DatabaseError(str(problem).splitlines()[-1])
    if folder is not None and read_meta(db, "schema") != str(VERSION):
        raise LibraryError(
            str(folder), "another version of Reelbook made it",
            "Use that version for it, or choose another folder with REELBOOK_LIBRARY.",
        )  # fmt: skip


def _back_up(db: sqlite3.Connection, folder: Path) -> None:
    """Copy the ledger, unless there is a copy of the last 24 hours. A failure is not reported: the next day tries again."""
    backup = folder / BACKUP_NAME
    with contextlib.suppress(OSError, sqlite3.Error):
        is_recent = backup.exists() and abs(time.time() - backup.stat().st_mtime) < BACKUP_SECONDS
        if not is_recent and db.execute("SELECT 1 FROM runs LIMIT 1").fetchone():
            with open_replacement(backup, mode=PRIVATE) as file, contextlib.closing(sqlite3.connect(file.name)) as copy:
                db.backup(copy)


def describe_maker(service: str, folder: Path | None) -> str:
    """Who made a run, for readers: the address of a hosted service, or what the library calls one on this machine.

    >>> describe_maker("https://api.example.org/v1", None), describe_maker("8a8764bf-1804-432c-bbc0-d2f592567a35", None)
    ('https://api.example.org/v1', 'service on this machine')
    """
    words = None
    if folder is not None and (folder / NAME).is_file():
        with contextlib.suppress(sqlite3.Error), contextlib.closing(connect(folder / NAME)) as db:
            words = read_meta(db, claims.MAKER + service)
    return words or (service if "://" in service else "service on this machine")


# What is wrong with it, and how it is made again.


@contextlib.contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Convert errors of file system and database to `LibraryError`."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        if isinstance(error, LibraryError):
            raise
        raise make_library_error(folder, error) from error


def make_library_error(folder: Path, error: BaseException) -> LibraryError:
    """The error that says what is wrong with a library and what to do."""
    if isinstance(error, LibraryError):
        return error
    # Other errors of SQLite than those of a damaged file have classes of their own.
    if type(error) in (sqlite3.DatabaseError, UnicodeDecodeError):
        copy = f"the daily copy ({BACKUP_NAME}) and " if (folder / BACKUP_NAME).exists() else ""
        return LibraryError(
            str(folder), f"its ledger is damaged: {error}",
            f"Close the notebooks that use it, then run: reelbook library rebuild {shlex.quote(str(folder))}. It makes a new ledger "
            f"from {copy}the list of accepted requests ({claims.LIST_NAME}): nothing that is paid for is lost or sent again.",
        )  # fmt: skip
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF or -(getattr(error, "errno", None) or 0)
    reasons = (reason for reason, codes in _REASONS.items() if code in codes)
    return LibraryError(str(folder), next(reasons, f"{type(error).__name__}: {error}"))


_REASONS = {
    # SQLite reports no more of an exceeded quota or file size limit than an error of the disk.
    "the disk is full, or broken": (
        sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, -errno.ENOSPC, -errno.EDQUOT, -errno.EFBIG
    ),
    "it cannot be written": (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, -errno.EACCES, -errno.EROFS, -errno.EPERM),
    f"another process has kept it locked for {BUSY_SECONDS:.0f} s": (sqlite3.SQLITE_BUSY, -errno.EAGAIN),
}  # fmt: skip
"""The reasons for errors, by the codes of SQLite and the negative ones of the system."""
_DOUBT = ("service", "identity", "take", "model", "input", "attempt", "price", "created", "sent", "name")
"""The columns of an uncertain run that a new ledger keeps."""
_KEEP_DOUBT = f"""
INSERT INTO runs ({", ".join(_DOUBT)}, state, error_type, error)
    VALUES ({", ".join("?" * len(_DOUBT))}, 'uncertain', 'uncertain', 'its answer was lost, and later the ledger')
    ON CONFLICT (service, identity, take) DO UPDATE SET state = 'uncertain', error_type = excluded.error_type,
        error = excluded.error, attempt = excluded.attempt, price = excluded.price, sent = excluded.sent
        WHERE state IN ('planned', 'rejected', 'failed', 'cancelled')
"""


def rebuild_ledger(folder: Path) -> str:
    """Make a new ledger in place of a damaged one, which is kept, from its daily copy and the list of accepted requests."""
    path, backup = folder / NAME, folder / BACKUP_NAME
    if not any(file.exists() for file in (path, backup, folder / claims.LIST_NAME)):
        raise ReelbookError(f"There is no library in {folder}. Name its folder, such as project/.reelbook.")
    if _is_sound(path):
        return f"The ledger in {folder} is sound, so nothing was changed."
    kept = folder / f"ledger.damaged-{time.strftime('%Y%m%d-%H%M%S')}.sqlite"
    with translate_errors(folder), write_lock(folder):
        for file in folder.glob(f"{NAME}*"):
            file.rename(file.with_name(file.name.replace(NAME, kept.name)))  # With its journal.
        if _is_sound(backup):
            shutil.copyfile(backup, path)
        else:
            backup.unlink(missing_ok=True)
    Ledger(folder).close()  # It puts back what the list has.
    with translate_errors(folder), write_lock(folder), contextlib.closing(connect(path)) as db:
        unread = _keep_doubts(db, kept)
        counts = db.execute("SELECT count(*), count(request_id), coalesce(sum(state = 'uncertain'), 0) FROM runs")
        runs, paid, uncertain = counts.fetchone()
    return (
        f"The ledger in {folder} was made again: {runs:,} runs, {paid:,} of them paid for and {uncertain:,} uncertain (see "
        f"rb.library().uncertain). The damaged file is kept as {kept.name}.{unread}"
    )


def _keep_doubts(db: sqlite3.Connection, kept: Path) -> str:
    """Keep the runs of a damaged file that may have been sent; returns a sentence if not all could be read.

    What was sent without an answer is in no list.
    """
    was_sent = "state IN ('uncertain', 'sending') OR (state = 'planned' AND body IS NOT NULL)"
    query = f"SELECT {', '.join(_DOUBT)} FROM runs WHERE id = ? AND ({was_sent})"
    is_complete = True
    try:
        with contextlib.closing(connect(kept)) as damaged:
            last = damaged.execute("SELECT seq FROM sqlite_sequence WHERE name = 'runs'").fetchone() or (0,)
            # One by one, because a query that meets a damaged page ends there.
            for run in range(1, last[0] + 1):
                try:
                    db.executemany(_KEEP_DOUBT, damaged.execute(query, (run,)).fetchall())
                except (sqlite3.Error, UnicodeDecodeError):
                    is_complete = False
    except (sqlite3.Error, UnicodeDecodeError):
        is_complete = False
    if is_complete:
        return ""
    return " Not all of it could be read: compare the account's history at the service before you run anything again."


def _is_sound(path: Path) -> bool:
    with contextlib.suppress(sqlite3.Error, UnicodeDecodeError), contextlib.closing(connect(path)) as db:
        check(db, None)
        return path.stat().st_size > 0
    return False
