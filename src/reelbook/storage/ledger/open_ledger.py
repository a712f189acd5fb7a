"""Open a ledger: create its tables, check the file, and handle damaged, empty and too new ones."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import warnings
from collections.abc import Sequence
from pathlib import Path

from ...errors import LibraryError
from ...util.replace_file import sync_folder
from . import connection, row_checks, salvage, second_copy
from .reconcile import NOTHING, Reconciled, reconcile
from .schema import SCHEMA, VERSION

QUICK_BYTES = 16 * 1024 * 1024
"""A file up to this size is checked at each opening; a larger one only after a process died (see `check`)."""

SUSPECT_NAME = "ledger.suspect"
"""The existence of this file means that the ledger was found damaged, and must be checked whatever its size."""

OLDER = "The library's ledger in {} knows less than the list of accepted requests beside it, as after a restore from a copy."


def connect(folder: Path) -> sqlite3.Connection:
    """Connect to an undamaged ledger; the caller must hold the write lock (see `file_locks.py`).

    A damaged file is moved aside and replaced by its readable rows; a missing or empty one is restored from the second
    copy as far as possible.
    """
    with connection.translate_errors(folder):
        _create(folder)
        try:
            db, restored = _connect_sound(folder)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if not connection.is_damage(error):
                raise
            message = salvage.rescue(folder)
            (folder / SUSPECT_NAME).unlink(missing_ok=True)
            # The rescued file cannot be improved: its rows are not checked again, so that it is not rejected.
            db, restored = _connect_sound(folder, rows=False)
            _warn(message)
    try:
        if restored.sentence:
            _warn(
                f"The library's ledger in {folder} was empty. {restored.sentence} What else the library knew is lost."
            )
        if kind := connection.get_network_kind(folder):
            _warn(
                f"The library {folder} is on a network disk ({kind}), where locks can fail: use it from one machine at a "
                "time, or set REELBOOK_LIBRARY to a folder on a local disk."
            )
    except BaseException:
        db.close()
        raise
    return db


def get_file_id(folder: Path) -> tuple[int, int] | None:
    """Device and inode of the ledger's file; None if there is none."""
    try:
        found = (folder / connection.NAME).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def mark_suspect(folder: Path) -> None:
    """Mark the ledger, so that the next opening checks it, and rescues it if damaged."""
    with contextlib.suppress(OSError):
        os.close(os.open(folder / SUSPECT_NAME, os.O_WRONLY | os.O_CREAT, 0o600))


def is_large(folder: Path) -> bool:
    """Whether the file is too large to be checked at each opening."""
    return (folder / connection.NAME).stat().st_size > QUICK_BYTES


def check(folder: Path) -> str | None:
    """Check the ledger; returns SQLite's message about damage, None if there is none. Takes a second for 300 MB."""
    try:
        with contextlib.closing(connection.connect(folder / connection.NAME)) as db:
            return _find_damage(db)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if connection.is_damage(error):
            return str(error)
        raise


def _create(folder: Path) -> None:
    """Create the folder and the files of a library, readable only by this user, and sync them to disk."""
    is_new = not (folder / connection.NAME).exists()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if is_new:
        for name in (connection.NAME, second_copy.NAME):
            os.close(os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600))
        sync_folder(folder)
        sync_folder(folder.parent)


def _connect_sound(folder: Path, *, rows: bool = True) -> tuple[sqlite3.Connection, Reconciled]:
    """Connect after checking for damage (`rows`: in rows, too); also returns what was restored into an empty file."""
    db = connection.connect(folder / connection.NAME)
    try:
        mark = folder / SUSPECT_NAME
        if mark.exists() or not is_large(folder):
            found = _find_damage(db, thorough=True)
            found = found or (row_checks.find_problem(db, second_copy.read_lines(folder)) if rows else None)
            if found:
                raise _corrupt_error(found)
            mark.unlink(missing_ok=True)
        restored = _prepare(db, folder)
    except BaseException:
        db.close()
        raise
    return db, restored


def _prepare(db: sqlite3.Connection, folder: Path) -> Reconciled:
    """Create the tables if missing; returns what was then restored from the second copy."""
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    row = db.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone() if "meta" in tables else None
    if row is not None:
        if not str(row[0]).isdecimal():
            raise _corrupt_error("nobody can tell which version made it")
        if int(row[0]) > VERSION:
            raise LibraryError(str(folder), "a newer Reelbook made it; update this one to use it")
        # `floors` and `judgements` were introduced later, and are added to an older file.
        if {"runs", "floors", "judgements"} <= tables:
            return NOTHING
    db.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA.split(";"):
        db.execute(statement)
    db.execute("INSERT OR REPLACE INTO meta VALUES ('schema', ?)", (str(VERSION),))
    restored = NOTHING if "runs" in tables else reconcile(db, folder)
    db.execute("COMMIT")
    return restored


def _find_damage(db: sqlite3.Connection, *, thorough: bool = False) -> str | None:
    # `thorough` also compares indexes with their tables, which takes twice as long.
    found: Sequence[str] = db.execute(f"PRAGMA {'integrity' if thorough else 'quick'}_check(1)").fetchone()
    return None if found[0] == "ok" else found[0]


def _corrupt_error(found: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(f"the file is damaged: {found}")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def warn_of(folder: Path, found: Reconciled) -> None:
    """Warn if the log of accepted requests contained more than the ledger."""
    if found.sentence:
        _warn(f"{OLDER.format(folder)} {found.sentence}")


def _warn(sentence: str) -> None:
    warnings.warn(sentence, stacklevel=3)
