"""The ledger's file: one thread that writes it, many steps in each commit, and nobody told before it is on disk."""

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
from .unavailable import LibraryClosed, LibraryGone, saved

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

MAX_IN_A_COMMIT = 256
CALL_SECONDS = 180.0
GONE_SECONDS = 40.0
"""How long a library that was taken away is waited for: its disk may come back."""
MAX_REMEMBERED = 10_000
"""So many accepted requests are written down elsewhere where the library is gone."""
FORK_SECONDS = 5.0
"""How long a fork waits for the end of a commit."""

log = logging.getLogger("reelbook")


@dataclass(slots=True)
class _Step:
    """One caller's work and where its outcome goes."""

    work: Work[Any]
    line: bytes | None
    future: Future[Any] = field(default_factory=Future)


class Ledger:
    """The ledger of one library, as one process keeps it.

    A commit waits for the disk a few times, however much is in it; so one thread takes all steps that came
    meanwhile, writes them together, and only then tells those who asked.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.live: dict[int, Any] = {}
        """The runs that this process follows, by their number."""
        self.claimed: set[int] = set()
        """The runs that somebody in this process has claimed and not yet handed on."""
        self._guard = threading.Lock()
        self._disk = threading.Lock()
        self._closed = False
        self._pid = 0
        self._owner: Owner
        self._ended: threading.Event
        self._asked: queue.SimpleQueue[_Step | None]
        self._db: sqlite3.Connection | None = None
        self._place: tuple[int, int] | None = None
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
        """Whether the process of this name is gone."""
        return self._owner.is_dead(name)

    def acceptances(self, identities: Collection[str] | None = None) -> list[dict[str, Any]]:
        """The second copy of the request ids, of these runs or of all."""
        return second_copy.read(self.folder, identities)

    def ask(self, work: Work[T], *, line: Mapping[str, Any] | None = None) -> Future[T]:
        """Do this in the next commit; the future is fulfilled once it is safe. `line` is for the second copy, and is safe before."""
        self._after_fork()
        step = _Step(work, None if line is None else second_copy.line_of(line))
        if step.line is not None and step.line not in self._lines:
            self._lines.append(step.line)
        with self._guard:
            if self._closed:
                step.future.set_exception(LibraryClosed(str(self.folder)))
            else:
                self._asked.put(step)
        return step.future

    async def do(self, work: Work[T], *, line: Mapping[str, Any] | None = None) -> T:
        """The same, to be awaited. Who stops waiting does not undo it."""
        return await asyncio.wrap_future(self.ask(work, line=line))

    def now(self, work: Work[T]) -> T:
        """The same, to be waited for."""
        try:
            return self.ask(work).result(CALL_SECONDS)
        except TimeoutError:
            raise LibraryError(str(self.folder), f"its disk has not answered for {CALL_SECONDS:.0f} s") from None

    def look(self, work: Work[T]) -> T:
        """Read something, on a connection of its own. Nothing is written meanwhile, so the work must not ask for that."""
        try:
            return self._read_mending(work)
        except LibraryError as error:
            if error.__cause__ is None or not connection.is_damage(error.__cause__):
                raise
        # What can be read is rescued by who writes, and the rest of the library goes on.
        open_ledger.suspect(self.folder)
        self._is_suspect = True
        self.now(lambda db: None)
        return self._read_mending(work)

    def _read_mending(self, work: Work[T]) -> T:
        path = self.folder / connection.NAME
        if (gone := self.gone()) is not None:
            raise gone
        self._check_there()
        with connection.in_words(self.folder), self._disk, contextlib.closing(connection.connected(path)) as db:
            db.execute("PRAGMA query_only = 1")
            return work(db)

    def gone(self) -> LibraryGone | None:
        """What to say where the library was taken away and has not come back in time; None while there is hope.

        The requests that were accepted here are written down where they can be, once.
        """
        if self._gone_since is None or time.monotonic() - self._gone_since < GONE_SECONDS:
            return None
        with self._guard:
            if self._saved is None and self._lines:
                self._saved = saved(self.folder, self._lines)
        return LibraryGone(
            str(self.folder), self._why_gone() or "it was away", str(self._saved) if self._saved else None
        )

    def close(self) -> None:
        """Write what was asked, then leave the library to others."""
        with self._guard:
            if self._pid != os.getpid() or self._closed:
                return
            self._closed = True
            self._asked.put(None)
        _open.discard(self)
        self._ended.wait()

    def forked(self) -> None:
        """In a forked child: nothing of the parent's is ours to use, not even to close."""
        _inherited.append(self._db)
        self._db = None
        self._guard, self._disk = threading.Lock(), threading.Lock()
        self._owner.drop()

    def _start(self) -> None:
        with connection.in_words(self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._owner = Owner(self.folder / "owners")
            gone = self._owner.dead()
            try:
                self._recover()
            except BaseException:
                self._drop()
                self._owner.release()
                raise
        for name in gone:
            self._owner.bury(name)
        self._asked, self._ended = queue.SimpleQueue(), threading.Event()
        self._pid = os.getpid()
        threading.Thread(target=self._serve, name="reelbook-ledger", daemon=True).start()
        if gone and open_ledger.is_unchecked(self.folder):
            threading.Thread(target=self._check, name="reelbook-check", daemon=True).start()

    def _recover(self) -> None:
        """Open the file, and free what others have left who died."""
        with file_locks.turn(self.folder):
            db = self._open()
            try:
                found = self._put_in_order(db)
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                if not connection.is_damage(error):
                    raise
                open_ledger.suspect(self.folder)
                self._drop()
                found = self._put_in_order(self._open())
        open_ledger.warn_of(self.folder, found)

    def _put_in_order(self, db: sqlite3.Connection) -> reconcile.Reconciled:
        """Free what the dead have left, and learn what only the log of accepted requests knows."""
        db.execute("BEGIN IMMEDIATE")
        crash_recovery.recover(db, self)
        found = reconcile.reconciled(db, self.folder, is_whole=not open_ledger.is_unchecked(self.folder))
        db.execute("COMMIT")
        return found

    def _check(self) -> None:
        """Look through a large file, for which nobody should wait; it is rescued when it is opened next."""
        with contextlib.suppress(sqlite3.Error, OSError), self._disk:
            if found := open_ledger.check(self.folder):
                open_ledger.suspect(self.folder)
                log.warning(
                    "The library's ledger in %s is damaged (%s). Restart the kernel before you run anything more: what can be "
                    "read of it is rescued then.", self.folder, found,
                )  # fmt: skip

    def _after_fork(self) -> None:
        """A forked child has a copy of the file's handle and no thread: it opens the ledger for itself."""
        if self._pid != os.getpid():
            with self._guard:
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
            self._ended.set()

    def _batch(self) -> list[_Step] | None:
        first = self._asked.get()
        if first is None:
            return None
        batch = [first]
        while len(batch) < MAX_IN_A_COMMIT:
            try:
                step = self._asked.get_nowait()
            except queue.Empty:
                break
            if step is None:
                self._asked.put(None)  # Seen again once this batch is safe.
                break
            batch.append(step)
        return batch

    def _commit(self, batch: list[_Step]) -> None:
        """Write a batch, and tell everybody what came of it."""
        mark = uuid.uuid4().hex
        outcomes: list[tuple[Any, BaseException | None]] = []
        try:
            self._check_there()
            with file_locks.turn(self.folder), self._disk:
                try:
                    self._write(batch, mark, outcomes)
                except Exception as error:
                    if connection.is_damage(error):
                        open_ledger.suspect(self.folder)
                    if not self._is_durable(mark):
                        if not connection.is_damage(error):
                            raise
                        outcomes.clear()
                        self._write(batch, mark, outcomes)  # Into the file that was rescued meanwhile.
        except Exception as error:
            why = connection.reason(error)
            outcomes = [(None, LibraryError(str(self.folder), why)) for _ in batch]
        for step, (result, failed) in zip(batch, outcomes, strict=True):
            # A caller that has gone away takes only its own answer with it.
            if step.future.set_running_or_notify_cancel():
                step.future.set_exception(failed) if failed else step.future.set_result(result)

    def _write(self, batch: list[_Step], mark: str, outcomes: list[tuple[Any, BaseException | None]]) -> None:
        db = self._current()
        before = db.total_changes
        db.execute("BEGIN IMMEDIATE")
        found = reconcile.NOTHING
        if not reconcile.is_reconciled(db, self.folder):
            # The ledger was put back out of a copy under our hands, or another process died between the two.
            found = reconcile.reconciled(db, self.folder)
        if lines := [step.line for step in batch if step.line is not None]:
            second_copy.append(self.folder, lines)
            reconcile.marked(db, self.folder)
        outcomes += [_attempt(db, step.work) for step in batch]
        if db.total_changes != before:
            # Who only read need not wait for the disk.
            db.execute("INSERT OR REPLACE INTO meta VALUES ('commit', ?)", (mark,))
        db.execute("COMMIT")
        if found.sentence:
            log.warning("%s %s", open_ledger.OLDER.format(self.folder), found.sentence)

    def _is_durable(self, mark: str) -> bool:
        """A commit that raises may be on disk all the same, so the file is read before anybody is told.

        Nobody else has written meanwhile: it is still our turn.
        """
        self._drop()
        try:
            row = self._open().execute("SELECT value FROM meta WHERE name = 'commit'").fetchone()
        except Exception:
            return False
        return row is not None and row[0] == mark

    def _current(self) -> sqlite3.Connection:
        """The connection, to the file that the others use: a damaged or deleted one is another file by now."""
        if self._db is not None and not self._is_suspect and self._place == open_ledger.place(self.folder):
            return self._db
        self._is_suspect = False
        self._drop()
        db = self._open()
        self._owner.renew()
        return db

    def _open(self) -> sqlite3.Connection:
        self._check_there()
        self._db = open_ledger.opened(self.folder)
        self._place = open_ledger.place(self.folder)
        return self._db

    def _check_there(self) -> None:
        """Refuse to go on without the library: an empty one in its place would not know what was paid for."""
        why = self._why_gone()
        if why is None:
            self._gone_since = None
            return
        if self._gone_since is None:
            self._gone_since = time.monotonic()
        raise LibraryError(str(self.folder), f"{why}; connect again to begin a new one")

    def _why_gone(self) -> str | None:
        """Why the files are not those that were opened; None where they are, or where only the ledger is another file."""
        here = open_ledger.place(self.folder)
        if self._place is None or here == self._place:
            return None
        if here is None:
            return "it was moved or deleted while it was open"
        return None if self._owner.is_seen() else "another library was put in its place"

    def _drop(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            with contextlib.suppress(sqlite3.Error):
                if db.in_transaction:
                    db.execute("ROLLBACK")
            with contextlib.suppress(sqlite3.Error):
                db.close()


def _attempt(db: sqlite3.Connection, work: Work[Any]) -> tuple[Any, BaseException | None]:
    """One caller's work, undone alone if it fails."""
    db.execute("SAVEPOINT one")
    try:
        result = work(db)
    except BaseException as error:
        if connection.is_damage(error) or (
            isinstance(error, sqlite3.DatabaseError) and not connection.is_callers(error)
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
"""Connections of a parent process, kept so that nothing closes them in the child."""


def _before_fork() -> None:
    # SQLite must not be copied half way through a commit: the child would wait for itself for ever.
    _idle[:] = [ledger for ledger in list(_open) if ledger._disk.acquire(timeout=FORK_SECONDS)]


def _after_fork_here() -> None:
    for ledger in _idle:
        ledger._disk.release()
    _idle.clear()


def _after_fork_there() -> None:
    _idle.clear()
    for ledger in list(_open):
        ledger.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_here, after_in_child=_after_fork_there
    )  # fmt: skip
