"""Open the ledger's file with durable settings, check it, copy it once a day, and say in words what is wrong with it."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import sqlite3
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from ...errors import LibraryError
from ...util.file_locks import LockTimeout
from ...util.replace_file import PRIVATE, replace_file, sync_folder
from . import accepted
from .schema import VERSION, create_tables

NAME, BACKUP_NAME = "ledger.sqlite", "ledger.backup.sqlite"
SPARE_NAME, SPARE_BYTES = "ledger.spare", 1 << 16
"""A file that only takes room, which is freed when a request was accepted and the disk is full by then."""
BUSY_SECONDS = 60.0
BACKUP_SECONDS = 24 * 3600.0

NETWORK_KINDS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "glusterfs", "lustre"})  # fmt: skip

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SHUT = frozenset({errno.EACCES, errno.EROFS, errno.EPERM})


class _Damaged(sqlite3.DatabaseError):
    """A check of the file has found damage."""


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


def open_ledger(folder: Path) -> sqlite3.Connection:
    """Connect to the ledger after a check, creating it where there is none; the caller must hold the write lock."""
    with translate_errors(folder):
        path = folder / NAME
        if (folder / BACKUP_NAME).exists() and not (path.exists() and path.stat().st_size):
            raise _Damaged("it is missing or empty")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            for name in (NAME, accepted.NAME):
                os.close(os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600))
            sync_folder(folder)
            sync_folder(folder.parent)
        db = connect(path)
        try:
            _check(db, folder)
        except BaseException:
            db.close()
            raise
    if kind := get_network_kind(folder):
        warnings.warn(
            f"The library {folder} is on a network disk ({kind}), where locks can fail: use it from one machine at a "
            "time, or set REELBOOK_LIBRARY to a folder on a local disk.",
            stacklevel=2,
        )
    return db


def copy_to_memory(folder: Path) -> sqlite3.Connection:
    """A copy of the ledger of a folder that cannot be written, in which runs can be looked up."""
    with translate_errors(folder):
        copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with contextlib.closing(sqlite3.connect(f"{(folder / NAME).absolute().as_uri()}?mode=ro", uri=True)) as db:
            db.backup(copy)
        _check(copy, folder)
    return copy


def back_up(db: sqlite3.Connection, folder: Path) -> None:
    """Copy the ledger, unless there is a copy of the last 24 hours. A failure is not reported: the next day tries again."""
    backup, part = folder / BACKUP_NAME, folder / f"{BACKUP_NAME}.part"
    with contextlib.suppress(OSError, sqlite3.Error):
        if backup.exists() and abs(time.time() - backup.stat().st_mtime) < BACKUP_SECONDS:
            return
        if not db.execute("SELECT EXISTS (SELECT 1 FROM runs)").fetchone()[0]:
            return
        try:
            os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
            with contextlib.closing(sqlite3.connect(part)) as copy:
                db.backup(copy)
            part.replace(backup)
        finally:
            part.unlink(missing_ok=True)


def take_spare(folder: Path) -> None:
    """Take the spare room, unless it is taken already, or the disk is full."""
    with contextlib.suppress(OSError):
        if not (folder / SPARE_NAME).exists():
            # Random, because some file systems store zeros in no room.
            replace_file(folder / SPARE_NAME, os.urandom(SPARE_BYTES), mode=PRIVATE)


def free_spare(folder: Path) -> bool:
    """Free the spare room for the ledger; False if it is used up. The next opening takes it again."""
    try:
        (folder / SPARE_NAME).unlink()
    except OSError:
        return False
    return True


def get_file_id(folder: Path) -> tuple[int, int] | None:
    """Device and inode of the ledger's file; None if there is none."""
    try:
        status = (folder / NAME).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


@contextlib.contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Convert errors of file system and database to `LibraryError`."""
    try:
        yield
    except LibraryError:
        raise
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise make_library_error(folder, error) from error


def make_library_error(folder: Path, error: BaseException) -> LibraryError:
    """The error that says what is wrong with a library and what to do."""
    if isinstance(error, LibraryError):
        return error
    if not _is_damage(error):
        return LibraryError(str(folder), format_reason(error))
    copy = f"the daily copy ({BACKUP_NAME}) and " if (folder / BACKUP_NAME).exists() else ""
    return LibraryError(
        str(folder), format_reason(error),
        f"Close the notebooks that use it, then run: reelbook library rebuild {shlex.quote(str(folder))}. It makes a new "
        f"ledger from {copy}the list of accepted requests ({accepted.NAME}): nothing that is paid for is lost or sent again.",
    )  # fmt: skip


def format_reason(error: BaseException) -> str:
    """Format an error of file system or database as a short reason."""
    code, number = getattr(error, "sqlite_errorcode", 0) & 0xFF, getattr(error, "errno", None)
    if code == sqlite3.SQLITE_FULL or number in _FULL:
        return "the disk is full"
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM) or number in _SHUT:
        return "it cannot be written"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or isinstance(error, LockTimeout):
        return f"another process has kept it locked for {BUSY_SECONDS:.0f} s"
    if _is_damage(error):
        return f"its ledger is damaged: {error}"
    if code == sqlite3.SQLITE_IOERR:
        # SQLite reports no more, even for an exceeded quota or file size limit.
        return "the disk does not take any more: it is full, or broken"
    return f"{type(error).__name__}: {error}"


def get_network_kind(folder: Path) -> str | None:
    """The type of a folder's network file system; None for a local disk, or if unknown."""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None  # Only Linux has it.
    kinds = {Path(line.split(" ")[1]): line.split(" ")[2] for line in mounts}
    path = folder.resolve()
    kind = next((kinds[parent] for parent in (path, *path.parents) if parent in kinds), "")
    return kind if kind in NETWORK_KINDS else None


def _check(db: sqlite3.Connection, folder: Path) -> None:
    """Raise if the ledger is damaged or of a newer version; bring the tables of an older one up to date."""
    (problem,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if problem != "ok":
        raise _Damaged(str(problem).splitlines()[-1])
    has_meta = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone() is not None
    row = db.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone() if has_meta else None
    version = str(row[0]) if row is not None else "1"
    if version not in ("1", str(VERSION)):
        raise LibraryError(
            str(folder), "another version of Reelbook made it",
            "Use that version for it, or choose another folder with REELBOOK_LIBRARY.",
        )  # fmt: skip
    if version != str(VERSION) and create_tables(db):
        # The list of accepted requests has the former names, and the ledger all that it has.
        accepted.mark_as_read(db, folder)


def _is_damage(error: BaseException) -> bool:
    """Whether the error means that the file's content is damaged, rather than the disk."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # Text that cannot be decoded is reported by Python, in two ways and without an error code.
    is_undecodable = isinstance(error, UnicodeDecodeError) or "Could not decode to UTF-8" in str(error)
    return is_undecodable or isinstance(error, _Damaged) or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
