"""What the ledger knows of services: their names here, where their requests are, and how long their models take."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from . import connection
from .transitions import State, to_storable

_MAKER = "maker "


def record_maker(db: sqlite3.Connection, name: str, words: str) -> None:
    """Store what to call a service on this machine, whose name here is only an id."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_MAKER + name, words))


def has_maker(db: sqlite3.Connection, words: str) -> bool:
    """Whether a service on this machine was ever called so."""
    return (
        db.execute("SELECT 1 FROM meta WHERE name GLOB ? AND value = ?", (_MAKER + "*", words)).fetchone() is not None
    )


def describe_maker(service: str, folder: Path | None) -> str:
    """Who made a run, for readers: the address of a hosted service, or what the library calls one on this machine.

    >>> describe_maker("https://api.example.org/v1", None), describe_maker("8a8764bf-1804-432c-bbc0-d2f592567a35", None)
    ('https://api.example.org/v1', 'service on this machine')
    """
    path = None if folder is None else folder / connection.NAME
    with contextlib.suppress(sqlite3.Error, OSError):
        if path is not None and path.is_file():
            with contextlib.closing(connection.connect(path)) as db:
                row = db.execute("SELECT value FROM meta WHERE name = ?", (_MAKER + service,)).fetchone()
                if row is not None:
                    return str(row[0])
    return service if "://" in service else "service on this machine"


def save_request_addresses(db: sqlite3.Connection, request_id: str, addresses: str) -> None:
    """Store the addresses that a service returned for a request, as JSON; only for non-default ones."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (to_storable(f"addresses of {request_id}"), addresses))


def get_request_addresses(db: sqlite3.Connection, request_id: str) -> str | None:
    """The stored addresses of a request, as JSON; None for the default ones."""
    row = db.execute("SELECT value FROM meta WHERE name = ?", (to_storable(f"addresses of {request_id}"),)).fetchone()
    return None if row is None else str(row[0])


def has_request(db: sqlite3.Connection, request_id: str) -> bool:
    """Whether any run has exactly this request id."""
    return db.execute("SELECT 1 FROM runs WHERE request_id = ?", (to_storable(request_id),)).fetchone() is not None


def find_model(db: sqlite3.Connection, service: str, request_id: str) -> str | None:
    """The model of a request; None if it is not in the library."""
    query = "SELECT model FROM runs WHERE service = ? AND request_id = ?"
    row = db.execute(query, (service, to_storable(request_id))).fetchone()
    return None if row is None else str(row[0])


def get_last_service(db: sqlite3.Connection) -> str:
    """The service that accepted the latest run; empty if none has."""
    row = db.execute("SELECT service FROM runs WHERE request_id IS NOT NULL ORDER BY id DESC LIMIT 1").fetchone()
    return "" if row is None else str(row[0])


def get_past_seconds(db: sqlite3.Connection, max_runs: int = 320) -> dict[str, list[float]]:
    """The durations of the latest runs by model, newest last."""
    rows = db.execute(
        "SELECT model, finished - sent FROM runs WHERE state = ? AND finished >= sent ORDER BY id DESC LIMIT ?",
        (State.STORED, max_runs),
    ).fetchall()
    seconds_by_model: dict[str, list[float]] = {}
    for model, seconds in reversed(rows):
        seconds_by_model.setdefault(model, []).append(seconds)
    return seconds_by_model
