"""A process's ledger: one writing thread, with many transactions per commit, and no result before it is on disk."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import sqlite3
import threading
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ...errors import LibraryError
from .. import file_locks
from . import connection, crash_recovery, open_ledger, reconcile, second_copy
from .owners import Owner
from .unavailable import LibraryClosed, LibraryGone, save_lines

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

MAX_IN_A_COMMIT = 256
CALL_SECONDS = 180.0
GONE_SECONDS = 40.0
"""Timeout for a library whose folder is missing: its disk may be mounted again."""
MAX_REMEMBERED = 10_000
"""Maximum number of accepted requests saved elsewhere when the library is missing."""
FORK_SECONDS = 5.0
"""Timeout of a fork for a running commit."""

log = logging.getLogger("reelbook")


@dataclass(slots=True)
class _Step:
    """One caller's work, and the future for its result."""

    work: Work[Any]
    line: bytes | None
    future: Future[Any] = field(default_factory=Future)


class Ledger:
    """The ledger of a library in this process.

    The time of a commit hardly depends on its size, because it waits for the disk; so one thread collects the steps
    submitted in the meantime, commits them together, and only then resolves their futures.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.live: dict[int, Any] = {}
        """The runs that this process follows, by their number."""
        self.claimed: set[int] = set()
        """The runs claimed in this process and not yet in `live`."""
        self._lock = threading.Lock()
        self._disk = threading.Lock()
        self._closed = False
        self._pid = 0
        self._owner: Owner
        self._stopped: threading.Event
        self._steps: queue.SimpleQueue[_Step | None]
        self._db: sqlite3.Connection | None = None
        self._file_id: tuple[int, int] | None = None
        self._is_suspect = False
        self._gone_since: float | None = None
        self._lines: deque[bytes] = deque(maxlen=MAX_REMEMBERED)
        self._saved: Path | None = None
        self._start()
        _open.add(self)

    @property
    def owner(self) -> str:
        """The name of this process in the ledger."""
        self._after_fork()
        return self._owner.name

    def is_dead(self, name: str) -> bool:
        """Whether the process of this name has ended."""
        return self._owner.is_dead(name)

    def read_acceptances(self, identities: Collection[str] | None = None) -> list[dict[str, Any]]:
        """Read the second copy of the request ids, of these runs or of all."""
        return second_copy.read_lines(self.folder, identities)

    def submit(self, work: Work[T], *, line: Mapping[str, Any] | None = None) -> Future[T]:
        """Run `work` in the next commit, whose end resolves the future. `line` is first appended to the second copy."""
        self._after_fork()
        step = _Step(work, None if line is None else second_copy.format_line(line))
        if step.line is not None and step.line not in self._lines:
            self._lines.append(step.line)
        with self._lock:
            if self._closed:
                step.future.set_exception(LibraryClosed(str(self.folder)))
            else:
                self._steps.put(step)
        return step.future

    async def transact(self, work: Work[T], *, line: Mapping[str, Any] | None = None) -> T:
        """Async form of `submit`; cancelling the await does not cancel the work."""
        return await asyncio.wrap_future(self.submit(work, line=line))

    def transact_now(self, work: Work[T]) -> T:
        """Blocking form of `submit`."""
        try:
            return self.submit(work).result(CALL_SECONDS)
        except TimeoutError:
            raise LibraryError(str(self.folder), f"its disk has not answered for {CALL_SECONDS:.0f} s") from None

    def read(self, work: Work[T]) -> T:
        """Run a read-only query on a separate connection. It blocks commits, so it must not wait for one."""
        try:
            return self._read_once(work)
        except LibraryError as error:
            if error.__cause__ is None or not connection.is_damage(error.__cause__):
                raise
        # The next write rescues all readable rows.
        open_ledger.mark_suspect(self.folder)
        self._is_suspect = True
        self.transact_now(lambda db: None)
        return self._read_once(work)

    def _read_once(self, work: Work[T]) -> T:
        path = self.folder / connection.NAME
        if (gone := self.report_gone()) is not None:
            raise gone
        self._check_there()
        with connection.translate_errors(self.folder), self._disk, contextlib.closing(connection.connect(path)) as db:
            db.execute("PRAGMA query_only = 1")
            return work(db)

    def report_gone(self) -> LibraryGone | None:
        """The error for a library that was removed and not restored in time, else None.

        The first call saves the requests accepted by this process elsewhere.
        """
        if self._gone_since is None or time.monotonic() - self._gone_since < GONE_SECONDS:
            return None
        with self._lock:
            if self._saved is None and self._lines:
                self._saved = save_lines(self.folder, self._lines)
        return LibraryGone(
            str(self.folder), self._why_gone() or "it was away", str(self._saved) if self._saved else None
        )

    def close(self) -> None:
        """Commit all submitted work, then release the library."""
        with self._lock:
            if self._pid != os.getpid() or self._closed:
                return
            self._closed = True
            self._steps.put(None)
        _open.discard(self)
        self._stopped.wait()

    def drop_after_fork(self) -> None:
        """Drop the parent's connection and locks in a forked child, without closing them."""
        _inherited.append(self._db)
        self._db = None
        self._lock, self._disk = threading.Lock(), threading.Lock()
        self._owner.drop()

    def _start(self) -> None:
        with connection.translate_errors(self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._owner = Owner(self.folder / "owners")
            gone = self._owner.find_dead()
            try:
                self._recover()
            except BaseException:
                self._drop()
                self._owner.release()
                raise
        for name in gone:
            self._owner.forget(name)
        self._steps, self._stopped = queue.SimpleQueue(), threading.Event()
        self._pid = os.getpid()
        threading.Thread(target=self._serve, name="reelbook-ledger", daemon=True).start()
        if gone and open_ledger.is_large(self.folder):
            threading.Thread(target=self._check, name="reelbook-check", daemon=True).start()

    def _recover(self) -> None:
        """Open the file and bring it up to date; rescue it if damaged."""
        with file_locks.write_lock(self.folder):
            db = self._open()
            try:
                found = self._bring_up_to_date(db)
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                if not connection.is_damage(error):
                    raise
                open_ledger.mark_suspect(self.folder)
                self._drop()
                found = self._bring_up_to_date(self._open())
        open_ledger.warn_of(self.folder, found)

    def _bring_up_to_date(self, db: sqlite3.Connection) -> reconcile.Reconciled:
        """Recover the runs of ended processes, and restore those only in the log of accepted requests."""
        db.execute("BEGIN IMMEDIATE")
        crash_recovery.recover(db, self)
        found = reconcile.reconcile(db, self.folder, is_whole=not open_ledger.is_large(self.folder))
        db.execute("COMMIT")
        return found

    def _check(self) -> None:
        """Check a large file in the background; if damaged, the next opening rescues it."""
        with contextlib.suppress(sqlite3.Error, OSError), self._disk:
            if found := open_ledger.check(self.folder):
                open_ledger.mark_suspect(self.folder)
                log.warning(
                    "The library's ledger in %s is damaged (%s). Restart the kernel before you run anything more: what can be "
                    "read of it is rescued then.", self.folder, found,
                )  # fmt: skip

    def _after_fork(self) -> None:
        """Reopen the ledger in a forked child, which has a copy of the descriptor and no thread."""
        if self._pid != os.getpid():
            with self._lock:
                if self._pid != os.getpid():
                    self.live, self.claimed = {}, set()
                    self._start()

    def _serve(self) -> None:
        try:
            while (batch := self._batch()) is not None:
                self._commit(batch)
        finally:
            self._drop()
            self._owner.release()
            self._stopped.set()

    def _batch(self) -> list[_Step] | None:
        first = self._steps.get()
        if first is None:
            return None
        batch = [first]
        while len(batch) < MAX_IN_A_COMMIT:
            try:
                step = self._steps.get_nowait()
            except queue.Empty:
                break
            if step is None:
                self._steps.put(None)  # Handled after this batch is committed.
                break
            batch.append(step)
        return batch

    def _commit(self, batch: list[_Step]) -> None:
        """Commit a batch, and resolve its futures."""
        mark = uuid.uuid4().hex
        outcomes: list[tuple[Any, BaseException | None]] = []
        try:
            self._check_there()
            with file_locks.write_lock(self.folder), self._disk:
                try:
                    self._write(batch, mark, outcomes)
                except Exception as error:
                    if connection.is_damage(error):
                        open_ledger.mark_suspect(self.folder)
                    if not self._is_durable(mark):
                        if not connection.is_damage(error):
                            raise
                        outcomes.clear()
                        self._write(batch, mark, outcomes)  # Into the file rescued by reopening.
        except Exception as error:
            why = connection.format_reason(error)
            outcomes = [(None, LibraryError(str(self.folder), why)) for _ in batch]
        for step, (result, failed) in zip(batch, outcomes, strict=True):
            # A caller that has cancelled loses only its own result.
            if step.future.set_running_or_notify_cancel():
                step.future.set_exception(failed) if failed else step.future.set_result(result)

    def _write(self, batch: list[_Step], mark: str, outcomes: list[tuple[Any, BaseException | None]]) -> None:
        db = self._current()
        before = db.total_changes
        db.execute("BEGIN IMMEDIATE")
        found = reconcile.NOTHING
        if not reconcile.is_reconciled(db, self.folder):
            # The ledger was restored from a copy while open, or another process died between the two writes.
            found = reconcile.reconcile(db, self.folder)
        if lines := [step.line for step in batch if step.line is not None]:
            second_copy.append(self.folder, lines)
            reconcile.save_mark(db, self.folder)
        outcomes += [_attempt(db, step.work) for step in batch]
        if db.total_changes != before:
            # A batch without changes need not wait for the disk.
            db.execute("INSERT OR REPLACE INTO meta VALUES ('commit', ?)", (mark,))
        db.execute("COMMIT")
        if found.sentence:
            log.warning("%s %s", open_ledger.OLDER.format(self.folder), found.sentence)

    def _is_durable(self, mark: str) -> bool:
        """Whether the commit with this mark is on disk, which is possible even if it raised.

        No other process has written in the meantime, because this one still holds the lock.
        """
        self._drop()
        try:
            row = self._open().execute("SELECT value FROM meta WHERE name = 'commit'").fetchone()
        except Exception:
            return False
        return row is not None and row[0] == mark

    def _current(self) -> sqlite3.Connection:
        """The connection to the current file, reopened if that has replaced a damaged or deleted one."""
        if self._db is not None and not self._is_suspect and self._file_id == open_ledger.get_file_id(self.folder):
            return self._db
        self._is_suspect = False
        self._drop()
        db = self._open()
        self._owner.renew()
        return db

    def _open(self) -> sqlite3.Connection:
        self._check_there()
        self._db = open_ledger.connect(self.folder)
        self._file_id = open_ledger.get_file_id(self.folder)
        return self._db

    def _check_there(self) -> None:
        """Raise if the library is missing: a new, empty one in its place would not contain the paid runs."""
        why = self._why_gone()
        if why is None:
            self._gone_since = None
            return
        if self._gone_since is None:
            self._gone_since = time.monotonic()
        raise LibraryError(str(self.folder), f"{why}; connect again to begin a new one")

    def _why_gone(self) -> str | None:
        """Why the library is not the one that was opened; None if it is, even with a replaced ledger file."""
        here = open_ledger.get_file_id(self.folder)
        if self._file_id is None or here == self._file_id:
            return None
        if here is None:
            return "it was moved or deleted while it was open"
        return None if self._owner.is_registered() else "another library was put in its place"

    def _drop(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            with contextlib.suppress(sqlite3.Error):
                if db.in_transaction:
                    db.execute("ROLLBACK")
            with contextlib.suppress(sqlite3.Error):
                db.close()


def _attempt(db: sqlite3.Connection, work: Work[Any]) -> tuple[Any, BaseException | None]:
    """Run one caller's work in a savepoint, which is rolled back if it fails."""
    db.execute("SAVEPOINT one")
    try:
        result = work(db)
    except BaseException as error:
        if connection.is_damage(error) or (
            isinstance(error, sqlite3.DatabaseError) and not connection.is_callers_fault(error)
        ):
            raise
        db.execute("ROLLBACK TO one")
        db.execute("RELEASE one")
        return None, error
    db.execute("RELEASE one")
    return result, None


_open: weakref.WeakSet[Ledger] = weakref.WeakSet()
_idle: list[Ledger] = []
_inherited: list[sqlite3.Connection | None] = []
"""Connections of a parent process, referenced so that nothing closes them in the child."""


def _before_fork() -> None:
    # A fork must not copy SQLite during a commit: the child would wait for its own lock for ever.
    _idle[:] = [ledger for ledger in list(_open) if ledger._disk.acquire(timeout=FORK_SECONDS)]


def _after_fork_here() -> None:
    for ledger in _idle:
        ledger._disk.release()
    _idle.clear()


def _after_fork_there() -> None:
    _idle.clear()
    for ledger in list(_open):
        ledger.drop_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_here, after_in_child=_after_fork_there
    )  # fmt: skip
