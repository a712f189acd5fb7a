"""A process's ledger: one writing thread, with many transactions per commit, and no result before it is on disk."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import queue
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ...errors import LibraryError, ReelbookError
from ...util.file_locks import write_lock
from ...util.queue_batches import take_batch
from . import accepted, claims, connection
from .owners import Owner
from .transitions import Entry

log = logging.getLogger("reelbook")

T = TypeVar("T")
_ENTRY_COLUMNS = ", ".join(list(Entry.__dataclass_fields__)[1:])
Work = Callable[[sqlite3.Connection], T]

CALL_SECONDS = 180.0
PAGE_ROWS = 2_000
"""Rows read at once."""
FORKED = (
    "This process was forked from the one that opened the library, and nothing was sent. Use the library there, or start "
    'processes with the method "spawn" and connect in each of them.'
)
FORK_SECONDS = 5.0
"""Timeout of a fork for a running commit."""


@dataclass(slots=True)
class _Step:
    """One caller's work, and the future for its result."""

    work: Work[Any]
    line: bytes | None
    future: Future[Any] = field(default_factory=Future)


class Ledger:
    """The ledger of a library in this process.

    The time of a commit hardly depends on its size, because it waits for the disk; so one thread collects the steps
    submitted in the meantime, commits them together, and only then resolves their futures. In a folder that cannot be
    written, it is a copy in memory, in which runs can be looked up and nothing can be sent.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.live: dict[int, Any] = {}
        """The runs that this process follows, by their number."""
        self.claimed: set[int] = set()
        """The runs claimed in this process and not yet in `live`."""
        self._lock = threading.Lock()
        self._closed = False
        self._pid = os.getpid()
        self._owner: Owner | None = None
        self._db: sqlite3.Connection | None = None
        self._next_backup = 0.0
        self._file_id: tuple[int, int] | None = None
        if self._can_only_read():
            self._db = connection.copy_to_memory(folder)
        else:
            self._start()
        self._steps: queue.SimpleQueue[_Step | None] = queue.SimpleQueue()
        self._stopped = threading.Event()
        threading.Thread(target=self._serve, name="reelbook-ledger", daemon=True).start()
        _open.add(self)

    @classmethod
    def acquire(cls, folder: Path) -> Ledger:
        """The ledger of a library, shared by all clients of this process, each of which releases it."""
        with _guard:
            ledger, users = _shared.get(folder, (None, 0))
            ledger = ledger or cls(folder)
            _shared[folder] = (ledger, users + 1)
            return ledger

    def release(self) -> None:
        """Close the ledger when no other client of this process uses it."""
        with _guard:
            _, users = _shared.pop(self.folder)
            if users > 1:
                _shared[self.folder] = (self, users - 1)
                return
        self.close()

    @property
    def owner(self) -> str:
        """The name of this process in the ledger."""
        return self._owner.name if self._owner is not None else "reader"

    @property
    def is_copy(self) -> bool:
        """Whether this is a copy in memory, because the folder cannot be written."""
        return self._owner is None

    def is_dead(self, name: str) -> bool:
        """Whether the process of this name has ended."""
        return self._owner is not None and self._owner.is_dead(name)

    def read_acceptances(self, identities: Collection[str] | None = None) -> list[dict[str, Any]]:
        """Read the list of accepted requests, of these runs or of all."""
        return accepted.read_lines(self.folder, identities)

    def submit(self, work: Work[T], *, line: Mapping[str, Any] | None = None) -> Future[T]:
        """Run `work` in the next commit, whose end resolves the future.

        `line` is appended to the list of accepted requests before.
        """
        if self._pid != os.getpid():
            raise ReelbookError(FORKED)
        step = _Step(work, None if line is None else accepted.format_line(line))
        with self._lock:
            if self._closed:
                step.future.set_exception(
                    LibraryError(str(self.folder), "it was closed", "Connect again with rb.connect().")
                )
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
        if self.is_copy:
            return self.transact_now(work)
        self._check_there()
        path = self.folder / connection.NAME
        with connection.translate_errors(self.folder), _disk, contextlib.closing(connection.connect(path)) as db:
            db.execute("PRAGMA query_only = 1")
            return work(db)

    def read_pages(self, columns: str, *, where: str = "1") -> Iterator[tuple[Any, ...]]:
        """The number and these columns of all runs, or of those matching `where`, oldest first.

        They are read in pages, so that writers never wait for long.
        """
        query = f"SELECT id, {columns} FROM entries WHERE id > ? AND ({where}) ORDER BY id LIMIT {PAGE_ROWS}"
        last = -1
        while rows := self.read(partial(_fetch_all, query=query, values=(last,))):
            yield from rows
            last = rows[-1][0]

    def read_entries(self, where: str) -> Iterator[Entry]:
        """The runs for which a condition on their columns holds."""
        return (Entry(*row) for row in self.read_pages(_ENTRY_COLUMNS, where=where))

    def read_runs(self, columns: str, runs: Collection[int]) -> list[tuple[Any, ...]]:
        """The number and these columns of runs by number, in this order; unknown numbers are left out."""
        # SQLite's largest integer.
        numbers = [int(run) for run in runs if 0 <= int(run) < 2**63]
        query = f"SELECT id, {columns} FROM entries WHERE id IN (SELECT value FROM json_each(?))"
        found: dict[int, tuple[Any, ...]] = {}
        for start in range(0, len(numbers), PAGE_ROWS):
            page = json.dumps(numbers[start : start + PAGE_ROWS])
            found |= {row[0]: row for row in self.read(partial(_fetch_all, query=query, values=(page,)))}
        return [found[run] for run in numbers if run in found]

    def close(self) -> None:
        """Commit all submitted work, then release the library."""
        if self._pid != os.getpid():
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._steps.put(None)
        _open.discard(self)
        self._stopped.wait()

    def leave_to_parent(self) -> None:
        """Give up the parent's lock in a forked child, whose copy of the connection is neither used nor closed."""
        if self._owner is not None:
            self._owner.drop()

    def _can_only_read(self) -> bool:
        return (self.folder / connection.NAME).is_file() and not os.access(self.folder, os.W_OK)

    def _start(self) -> None:
        """Open the file, and recover the runs of ended processes."""
        with connection.translate_errors(self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._owner = Owner(self.folder / "owners")
            ended = self._owner.find_dead()
            try:
                with write_lock(self.folder):
                    self._db = connection.open_ledger(self.folder)
                    self._db.execute("BEGIN IMMEDIATE")
                    claims.recover(self._db, self)
                    self._catch_up(self._db)
                    self._db.execute("COMMIT")
                    connection.take_spare(self.folder)
            except BaseException:
                self._drop()
                self._owner.release()
                raise
        self._file_id = connection.get_file_id(self.folder)
        for name in ended:
            self._owner.forget(name)

    def _catch_up(self, db: sqlite3.Connection) -> None:
        """Put back what only the list has: the ledger is an older copy, or a process died between the two writes."""
        if lines := accepted.read_new_lines(db, self.folder):
            claims.recover(db, self)
            if restored := claims.apply_acceptances(db, lines, self.is_dead):
                runs = "1 paid run was" if restored == 1 else f"{restored:,} paid runs were"
                log.warning(
                    "The library's ledger in %s knew less than the list of accepted requests next to it, as after a restore from a "
                    "copy: %s put back. The next run of each fetches its result, at no cost.", self.folder, runs,
                )  # fmt: skip
        accepted.mark_as_read(db, self.folder)

    def _serve(self) -> None:
        try:
            while (batch := take_batch(self._steps)) is not None:
                self._commit(batch)
        finally:
            self._drop()
            if self._owner is not None:
                self._owner.release()
            self._stopped.set()

    def _commit(self, batch: list[_Step]) -> None:
        """Commit a batch, and resolve its futures."""
        outcomes: list[tuple[Any, BaseException | None]] = []
        try:
            if self.is_copy and not self._can_only_read():
                self._drop()
                self._start()
            outcomes = self._execute_on_copy(batch) if self.is_copy else self._write(batch)
        except Exception as error:
            self._drop()
            if any(step.line is not None for step in batch) and connection.free_spare(self.folder):
                # The disk is full: what is accepted has the room that was kept for it.
                self._commit(batch)
                return
            failure = connection.make_library_error(self.folder, error)
            outcomes = [(None, failure) for _ in batch]
        for step, (result, failed) in zip(batch, outcomes, strict=True):
            # A caller that has cancelled loses only its own result.
            if step.future.set_running_or_notify_cancel():
                step.future.set_exception(failed) if failed else step.future.set_result(result)

    def renew_backup(self) -> None:
        """Have the copy of the ledger made once more with the next write, because the present one has what was removed."""
        (self.folder / connection.BACKUP_NAME).unlink(missing_ok=True)
        self._next_backup = 0.0

    def _write(self, batch: list[_Step]) -> list[tuple[Any, BaseException | None]]:
        self._check_there()
        with write_lock(self.folder), _disk:
            db = self._db = self._db or connection.open_ledger(self.folder)
            if time.monotonic() > self._next_backup:
                self._next_backup = time.monotonic() + connection.BACKUP_SECONDS
                connection.back_up(db, self.folder)
            db.execute("BEGIN IMMEDIATE")
            self._catch_up(db)
            if lines := [step.line for step in batch if step.line is not None]:
                accepted.append(self.folder / accepted.NAME, lines)
                accepted.mark_as_read(db, self.folder)
            outcomes = [_attempt(db, step.work) for step in batch]
            db.execute("COMMIT")
        return outcomes

    def _execute_on_copy(self, batch: list[_Step]) -> list[tuple[Any, BaseException | None]]:
        """Execute a batch on a copy in memory, where the folder cannot be written; a claim of a run is refused there."""
        db = self._db = self._db or connection.copy_to_memory(self.folder)
        db.execute("BEGIN")
        outcomes = [_attempt(db, partial(self._do_without_owning, step.work)) for step in batch]
        db.execute("COMMIT")
        return outcomes

    def _do_without_owning(self, work: Work[T], db: sqlite3.Connection) -> T:
        result = work(db)
        if db.execute("SELECT 1 FROM runs WHERE owner = ?", (self.owner,)).fetchone() is not None:
            raise LibraryError(str(self.folder), "it cannot be written")
        return result

    def _check_there(self) -> None:
        """Raise if the file is not the one that was opened: another one would not have the paid runs."""
        if connection.get_file_id(self.folder) != self._file_id:
            raise LibraryError(
                str(self.folder), "it was moved, deleted or replaced while it was open",
                "Put the folder back, or connect again to use what is there now.",
            )  # fmt: skip

    def _drop(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            with contextlib.suppress(sqlite3.Error):
                if db.in_transaction:
                    db.execute("ROLLBACK")
            with contextlib.suppress(sqlite3.Error):
                db.close()


def _fetch_all(db: sqlite3.Connection, *, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    return db.execute(query, values).fetchall()


def _attempt(db: sqlite3.Connection, work: Work[Any]) -> tuple[Any, BaseException | None]:
    """Run one caller's work in a savepoint, which is rolled back if it fails."""
    db.execute("SAVEPOINT one")
    try:
        result = work(db)
    except (sqlite3.Error, UnicodeDecodeError):
        raise  # It concerns the file, and so the complete batch.
    except BaseException as error:
        db.execute("ROLLBACK TO one")
        db.execute("RELEASE one")
        return None, error
    db.execute("RELEASE one")
    return result, None


_guard = threading.Lock()
_shared: dict[Path, tuple[Ledger, int]] = {}
"""The ledgers of this process's clients, and the number of clients of each."""
_open: weakref.WeakSet[Ledger] = weakref.WeakSet()
_disk = threading.Lock()
"""Held while this process reads or writes a ledger: a child forked meanwhile would roll back its parent's commit."""
_is_idle = False
"""Whether a fork has waited for the end of a commit, and not in vain."""


def _before_fork() -> None:
    global _is_idle
    _is_idle = _disk.acquire(timeout=FORK_SECONDS)


def _after_fork() -> None:
    if _is_idle:
        _disk.release()


def _after_fork_in_child() -> None:
    global _disk
    _disk = threading.Lock()
    for ledger in list(_open):
        ledger.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
