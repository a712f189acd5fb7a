"""Connect to the ledger's file with durable settings, and translate errors of the file system and SQLite."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

from ...errors import LibraryError
from ..file_locks import LockTimeout

NAME = "ledger.sqlite"
BUSY_SECONDS = 60.0

NETWORK_KINDS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "glusterfs", "lustre"})  # fmt: skip

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SHUT = frozenset({errno.EACCES, errno.EROFS, errno.EPERM})


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


def is_damage(error: BaseException) -> bool:
    """Whether the error means that the file's content is damaged, rather than the disk."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # Raised by Python, without an error code of SQLite.
    is_invalid_text = isinstance(error, sqlite3.OperationalError) and "Could not decode to UTF-8" in str(error)
    is_content = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    # SQLite's message about a damaged table may contain bytes of it.
    is_in_message = isinstance(error, UnicodeDecodeError)
    return is_in_message or (isinstance(error, sqlite3.DatabaseError) and (is_content or is_invalid_text))


def is_callers_fault(error: sqlite3.DatabaseError) -> bool:
    """Whether the caller's statement caused the error; other errors concern the file, and so the complete batch."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return (code == sqlite3.SQLITE_ERROR and not is_damage(error)) or isinstance(
        error, (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError)
    )


@contextlib.contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Convert errors of file system and database to `LibraryError`."""
    try:
        yield
    except LibraryError:
        raise
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise LibraryError(str(folder), format_reason(error)) from error


def format_reason(error: BaseException) -> str:
    """Format an error of file system or database as a short reason."""
    if isinstance(error, LibraryError):
        return error.reason
    code, number = getattr(error, "sqlite_errorcode", 0) & 0xFF, getattr(error, "errno", None)
    if code == sqlite3.SQLITE_FULL or number in _FULL:
        return "the disk is full"
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM) or number in _SHUT:
        return "it cannot be written"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or isinstance(error, LockTimeout):
        return f"another process has kept it locked for {BUSY_SECONDS:.0f} s"
    if is_damage(error):
        return f"its ledger is damaged: {error}"
    if code == sqlite3.SQLITE_IOERR:
        # SQLite reports no more, even for an exceeded quota or file size limit.
        return "the disk does not take any more: it is full, or broken"
    return f"{type(error).__name__}: {error}"


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries to disk, on systems that support it."""
    if sys.platform != "win32":
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def get_network_kind(folder: Path) -> str | None:
    """The type of a folder's network file system; None for a local disk, or if unknown."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    here, found = str(folder.resolve()), ("", "")
    for line in mounts:
        _, place, kind, *_ = line.split(" ")
        if (here == place or here.startswith(place.rstrip("/") + "/")) and len(place) >= len(found[0]):
            found = (place, kind)
    return found[1] if found[1] in NETWORK_KINDS else None
