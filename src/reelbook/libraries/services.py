"""What the ledger remembers of services: their names, where they keep requests, and how long their runs take."""

from __future__ import annotations

import sqlite3

from .ledger import STORED, storable


def name_of(db: sqlite3.Connection, address: str, id: str | None) -> str:
    """The name of the service at this address: what it says, else what it said before, else the address."""
    key = f"service at {address}"
    row = db.execute("SELECT value FROM meta WHERE name = ?", (storable(key),)).fetchone()
    known = None if row is None else str(row[0])
    if id is None or id == known:
        return known or address
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (storable(key), storable(id)))
    if known is None:
        # On a bad day it did not say who it is, and went by its address: what was made then is its own.
        for table in ("runs", "scopes"):
            db.execute(f"UPDATE OR IGNORE {table} SET service = ? WHERE service = ?", (storable(id), storable(address)))
    return str(storable(id))


def keep_addresses(db: sqlite3.Connection, request_id: str, addresses: str) -> None:
    """Where a service said that a request is to be found, as JSON; only where that is not the usual place."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (storable(f"addresses of {request_id}"), addresses))


def addresses_of(db: sqlite3.Connection, request_id: str) -> str | None:
    """What was kept of that."""
    row = db.execute("SELECT value FROM meta WHERE name = ?", (storable(f"addresses of {request_id}"),)).fetchone()
    return None if row is None else str(row[0])


def model_of(db: sqlite3.Connection, service: str, request_id: str) -> str | None:
    """The model of a request that the library knows."""
    query = "SELECT model FROM runs WHERE service = ? AND request_id = ?"
    row = db.execute(query, (service, storable(request_id))).fetchone()
    return None if row is None else str(row[0])


def past_seconds(db: sqlite3.Connection, most: int = 40) -> dict[str, list[float]]:
    """How long runs took lately, by model."""
    rows = db.execute(
        "SELECT model, finished - sent FROM runs WHERE state = ? AND sent IS NOT NULL ORDER BY id DESC LIMIT ?",
        (STORED, most * 8),
    )
    found: dict[str, list[float]] = {}
    for model, seconds in rows:
        if seconds is not None and seconds >= 0 and len(found.setdefault(model, [])) < most:
            found[model].append(seconds)
    return found
