"""A process's ledger: one writing thread, with many transactions per commit, and no result before it is on disk."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import logging
import os
import queue
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
from .transitions import Entry, find_entries

log = logging.getLogger("reelbook")

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

CALL_SECONDS = 180.0
FORKED = (
    "This process was forked from the one that opened the library, and nothing was sent. Use the library there, or start "
    'processes with the method "spawn" and connect in each of them.'
)


@dataclass(slots=True)
class _Step:
    """One caller's work, and the future for its result."""

    work: Work[Any]
    line: Mapping[str, Any] | None
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
        self._open()
        self._steps: queue.SimpleQueue[_Step | None] = queue.SimpleQueue()
        self._stopped = threading.Event()
        threading.Thread(target=self._serve, name="reelbook-ledger", daemon=True).start()
        _ledgers.add(self)

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
        step = _Step(work, line)
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
        if self._owner is None:
            return self.transact_now(work)
        self._check_there()
        path = self.folder / connection.NAME
        with connection.translate_errors(self.folder), contextlib.closing(connection.connect(path)) as db:
            db.execute("PRAGMA query_only = 1")
            return work(db)

    def select(self, columns: str, where: str = "1", values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """These columns of the runs for which a condition holds, oldest first."""
        query = f"SELECT {columns} FROM entries WHERE {where} ORDER BY id"
        return self.read(lambda db: db.execute(query, values).fetchall())

    def find_entries(self, where: str, *values: Any) -> list[Entry]:
        """The runs for which a condition holds, oldest first."""
        return self.read(lambda db: find_entries(db, f"{where} ORDER BY id", *values))

    def get_entries(self, runs: Iterable[int]) -> list[Entry]:
        """The runs of these numbers, in their order; unknown numbers are left out."""
        # SQLite's largest integer.
        numbers = [int(run) for run in runs if 0 <= int(run) < 2**63]
        found = self.find_entries("id IN (SELECT value FROM json_each(?))", json.dumps(numbers))
        entries = {entry.id: entry for entry in found}
        return [entries[run] for run in numbers if run in entries]

    def close(self) -> None:
        """Commit all submitted work, then release the library."""
        if self._pid != os.getpid():
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._steps.put(None)
        _ledgers.discard(self)
        self._stopped.wait()

    def leave_to_parent(self) -> None:
        """Give up the parent's lock in a forked child, whose copy of the connection is neither used nor closed."""
        if self._owner is not None:
            self._owner.drop()
        # Kept beyond the child's end: closing it would roll back what the parent is committing.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db))

    def renew_backup(self) -> None:
        """Have the copy of the ledger made once more with the next write, because the present one has what was removed."""
        (self.folder / connection.BACKUP_NAME).unlink(missing_ok=True)
        self._next_backup = 0.0

    def _can_only_read(self) -> bool:
        return (self.folder / connection.NAME).is_file() and not os.access(self.folder, os.W_OK)

    def _open(self) -> None:
        """Open the file, recover the runs of ended processes, and put back what only the list of accepted requests has."""
        if self._can_only_read():
            self._db = connection.copy_to_memory(self.folder)
            return
        with connection.translate_errors(self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._owner = Owner(self.folder / "owners")
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
                self._owner = None
                raise
        self._file_id = connection.get_file_id(self.folder)

    def _catch_up(self, db: sqlite3.Connection) -> None:
        """Put back what only the list has: the ledger is an older copy, or a process died between the two writes."""
        if restored := claims.apply_acceptances(db, accepted.read_new_lines(db, self.folder), self.is_dead):
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
            outcomes = self._write(batch)
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

    def _write(self, batch: list[_Step]) -> list[tuple[Any, BaseException | None]]:
        if self._owner is None and not self._can_only_read():
            self._drop()
            self._open()
        if self._owner is None:
            db = self._db = self._db or connection.copy_to_memory(self.folder)
            return [_attempt(db, partial(self._do_without_owning, step.work)) for step in batch]
        self._check_there()
        with write_lock(self.folder):
            db = self._db = self._db or connection.open_ledger(self.folder)
            if time.monotonic() > self._next_backup:
                self._next_backup = time.monotonic() + connection.BACKUP_SECONDS
                connection.back_up(db, self.folder)
            db.execute("BEGIN IMMEDIATE")
            if lines := [step.line for step in batch if step.line is not None]:
                accepted.append(self.folder / accepted.NAME, lines)
                accepted.mark_as_read(db, self.folder)
            outcomes = [_attempt(db, step.work) for step in batch]
            db.execute("COMMIT")
        return outcomes

    def _do_without_owning(self, work: Work[T], db: sqlite3.Connection) -> T:
        """Do a step on a copy in memory, where a claim of a run is refused."""
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
        """Close the connection, and undo what it has not committed."""
        db, self._db = self._db, None
        if db is not None:
            with contextlib.suppress(sqlite3.Error):
                db.close()


def _attempt(db: sqlite3.Connection, work: Work[Any]) -> tuple[Any, BaseException | None]:
    """Run one caller's work in a savepoint, which is rolled back if it fails."""
    db.execute("SAVEPOINT step")
    try:
        result = work(db)
    except (sqlite3.Error, UnicodeDecodeError):
        raise  # It concerns the file, and so the complete batch.
    except BaseException as error:
        db.execute("ROLLBACK TO step")
        db.execute("RELEASE step")
        return None, error
    db.execute("RELEASE step")
    return result, None


_guard = threading.Lock()
_shared: dict[Path, tuple[Ledger, int]] = {}
"""The ledgers of this process's clients, and the number of clients of each."""
_ledgers: weakref.WeakSet[Ledger] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for ledger in list(_ledgers):
        ledger.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
