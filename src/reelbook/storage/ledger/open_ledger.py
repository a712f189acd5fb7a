"""Opening a ledger: its tables, a check, and what is done where the file is damaged, empty, or too new."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import warnings
from collections.abc import Sequence
from pathlib import Path

from ...errors import LibraryError
from . import connection, row_checks, salvage, second_copy
from .reconcile import NOTHING, Reconciled, reconciled
from .schema import SCHEMA, VERSION

QUICK_BYTES = 16 * 1024 * 1024
"""A file up to this size is checked whenever it is opened; a larger one where somebody has died (see `check`)."""

SUSPECT_NAME = "ledger.suspect"
"""A file of this name says that the ledger was found damaged, and is to be looked at whatever its size."""


OLDER = "The library's ledger in {} knows less than the list of accepted requests beside it, as after a restore from a copy."


def opened(folder: Path) -> sqlite3.Connection:
    """A connection to a sound ledger, for who has the turn (see `locks.py`).

    A damaged file is moved aside and what can be read of it is kept; one that has vanished, or was emptied, is made
    again as far as the second copy knows it.
    """
    with connection.in_words(folder):
        _made(folder)
        try:
            db, restored = _sound(folder)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if not connection.is_damage(error):
                raise
            said = salvage.rescued(folder)
            (folder / SUSPECT_NAME).unlink(missing_ok=True)
            # What the rescue has written is as good as it gets: looked into once more, it must not be refused.
            db, restored = _sound(folder, rows=False)
            _warn(said)
    try:
        if restored.sentence:
            _warn(
                f"The library's ledger in {folder} was empty. {restored.sentence} What else the library knew is lost."
            )
        if kind := connection.network_kind(folder):
            _warn(
                f"The library {folder} is on a network disk ({kind}), where locks can fail: use it from one machine at a "
                "time, or set REELBOOK_LIBRARY to a folder on a local disk."
            )
    except BaseException:
        db.close()
        raise
    return db


def place(folder: Path) -> tuple[int, int] | None:
    """Which file the ledger is just now; None if there is none."""
    try:
        found = (folder / connection.NAME).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def suspect(folder: Path) -> None:
    """Have the ledger checked, and rescued if need be, when it is opened next."""
    with contextlib.suppress(OSError):
        os.close(os.open(folder / SUSPECT_NAME, os.O_WRONLY | os.O_CREAT, 0o600))


def is_unchecked(folder: Path) -> bool:
    """Whether the file is too large to be checked by everybody who opens it."""
    return (folder / connection.NAME).stat().st_size > QUICK_BYTES


def check(folder: Path) -> str | None:
    """What is wrong with the ledger, in the words of SQLite; None for a sound one. It takes a second for 300 MB."""
    try:
        with contextlib.closing(connection.connected(folder / connection.NAME)) as db:
            return _damage(db)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if connection.is_damage(error):
            return str(error)
        raise


def _made(folder: Path) -> None:
    """The folder and the files of a library, for nobody else's eyes, and safe from a power cut as they stand."""
    is_new = not (folder / connection.NAME).exists()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if is_new:
        for name in (connection.NAME, second_copy.NAME):
            os.close(os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600))
        connection.synced(folder)
        connection.synced(folder.parent)


def _sound(folder: Path, *, rows: bool = True) -> tuple[sqlite3.Connection, Reconciled]:
    """A connection to a ledger without damage (`rows`: also in what its rows say), and what was put back because it was empty."""
    db = connection.connected(folder / connection.NAME)
    try:
        mark = folder / SUSPECT_NAME
        if mark.exists() or not is_unchecked(folder):
            found = _damage(db, thorough=True)
            found = found or (row_checks.problem(db, second_copy.read(folder)) if rows else None)
            if found:
                raise _damaged(found)
            mark.unlink(missing_ok=True)
        restored = _prepared(db, folder)
    except BaseException:
        db.close()
        raise
    return db, restored


def _prepared(db: sqlite3.Connection, folder: Path) -> Reconciled:
    """Make the tables if there are none; returns what was put back then, because only the second copy knew it."""
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    row = db.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone() if "meta" in tables else None
    if row is not None:
        if not str(row[0]).isdecimal():
            raise _damaged("nobody can tell which version made it")
        if int(row[0]) > VERSION:
            raise LibraryError(str(folder), "a newer Reelbook made it; update this one to use it")
        if {"runs", "floors"} <= tables:  # The second came later, and is added to an older file.
            return NOTHING
    db.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA.split(";"):
        db.execute(statement)
    db.execute("INSERT OR REPLACE INTO meta VALUES ('schema', ?)", (str(VERSION),))
    restored = NOTHING if "runs" in tables else reconciled(db, folder)
    db.execute("COMMIT")
    return restored


def _damage(db: sqlite3.Connection, *, thorough: bool = False) -> str | None:
    # The thorough one also compares the indexes with their tables, which takes twice as long.
    found: Sequence[str] = db.execute(f"PRAGMA {'integrity' if thorough else 'quick'}_check(1)").fetchone()
    return None if found[0] == "ok" else found[0]


def _damaged(found: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(f"the file is damaged: {found}")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def warn_of(folder: Path, found: Reconciled) -> None:
    """Say that the log of accepted requests knew more than the ledger."""
    if found.sentence:
        _warn(f"{OLDER.format(folder)} {found.sentence}")


def _warn(sentence: str) -> None:
    warnings.warn(sentence, stacklevel=3)
