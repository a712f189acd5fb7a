"""The ledger read some rows at a time, so that whoever writes never waits for long."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from functools import partial
from typing import Any

from .writer import Ledger

TOGETHER = 2_000
"""So many rows in one go. More do not stay in the processor's memory until they have become columns."""

Rows = list[tuple[Any, ...]]


def pages(ledger: Ledger, columns: str, *, where: str = "1") -> Iterator[Rows]:
    """These columns of all runs, or of some, oldest row first; the number of the run comes first in each row."""
    query = f"SELECT id, {columns} FROM runs WHERE id > ? AND ({where}) ORDER BY id LIMIT {TOGETHER}"
    last = -1
    while rows := ledger.look(partial(_page, query=query, last=last)):
        yield rows
        last = rows[-1][0]


def some(ledger: Ledger, columns: str, runs: Collection[int]) -> Rows:
    """The same of these runs, in this order; those that are not there are left out."""
    # A number that no row can have is none that is there.
    numbers = [int(run) for run in runs if 0 <= int(run) < 2**63]
    query = f"SELECT id, {columns} FROM runs WHERE id = ?"
    found: Rows = []
    for start in range(0, len(numbers), TOGETHER):
        found += ledger.look(partial(_some, query=query, runs=numbers[start : start + TOGETHER]))
    return found


def _page(db: sqlite3.Connection, *, query: str, last: int) -> Rows:
    return db.execute(query, (last,)).fetchall()


def _some(db: sqlite3.Connection, *, query: str, runs: Collection[int]) -> Rows:
    rows = (db.execute(query, (run,)).fetchone() for run in runs)
    return [row for row in rows if row is not None]
