"""Read the ledger in pages, so that writers never wait for long."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from functools import partial
from typing import Any

from .writer import Ledger

PAGE_ROWS = 2_000
"""Rows per page. More would not stay in the processor's cache until they are converted to columns."""

LedgerRows = list[tuple[Any, ...]]


def read_pages(ledger: Ledger, columns: str, *, where: str = "1") -> Iterator[LedgerRows]:
    """Yield pages of these columns of all runs, or those matching `where`, oldest first; rows start with the number."""
    query = f"SELECT id, {columns} FROM entries WHERE id > ? AND ({where}) ORDER BY id LIMIT {PAGE_ROWS}"
    last = -1
    while rows := ledger.read(partial(_read_page, query=query, last=last)):
        yield rows
        last = rows[-1][0]


def read_runs(ledger: Ledger, columns: str, runs: Collection[int]) -> LedgerRows:
    """Read these columns of runs by number, in this order; unknown numbers are left out."""
    # SQLite's largest integer.
    numbers = [int(run) for run in runs if 0 <= int(run) < 2**63]
    query = f"SELECT id, {columns} FROM entries WHERE id = ?"
    found: LedgerRows = []
    for start in range(0, len(numbers), PAGE_ROWS):
        found += ledger.read(partial(_read_runs, query=query, runs=numbers[start : start + PAGE_ROWS]))
    return found


def _read_page(db: sqlite3.Connection, *, query: str, last: int) -> LedgerRows:
    return db.execute(query, (last,)).fetchall()


def _read_runs(db: sqlite3.Connection, *, query: str, runs: Collection[int]) -> LedgerRows:
    rows = (db.execute(query, (run,)).fetchone() for run in runs)
    return [row for row in rows if row is not None]
