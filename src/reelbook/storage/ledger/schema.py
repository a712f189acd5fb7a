"""The SQL schema of a library's ledger, the one definition of what a run costs, and the limits that count it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...errors import OverBudget

VERSION = 5
"""Incremented with every change of the tables; other versions of Reelbook then refuse to open the file."""

SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, identity TEXT NOT NULL, take INTEGER NOT NULL,
    model TEXT NOT NULL, input TEXT NOT NULL, state TEXT NOT NULL, owner TEXT,
    attempt INTEGER NOT NULL DEFAULT 0, attempt_key TEXT, body TEXT, name TEXT, request_id TEXT,
    price INTEGER, charged INTEGER, spent INTEGER NOT NULL DEFAULT 0, unpriced INTEGER NOT NULL DEFAULT 0,
    output TEXT, media TEXT, error_type TEXT, error TEXT, queued_s REAL, running_s REAL,
    created REAL NOT NULL, sent REAL, finished REAL,
    UNIQUE (service, identity, take)
);
CREATE INDEX runs_by_request ON runs (request_id);
CREATE INDEX runs_by_name ON runs (name) WHERE name IS NOT NULL;
CREATE INDEX runs_open ON runs (owner) WHERE owner IS NOT NULL;
CREATE INDEX runs_uncertain ON runs (id) WHERE state = 'uncertain';
CREATE VIEW entries AS SELECT
    *,
    CASE WHEN state = 'planned' AND owner IS NOT NULL THEN 'claimed'
        WHEN state = 'accepted' AND error_type = 'expired' THEN 'expired'
        WHEN state = 'accepted' AND output IS NOT NULL THEN 'completed' ELSE state END AS stage,
    CASE WHEN unpriced OR last IS NULL THEN NULL ELSE spent + last END AS credits,
    spent + coalesce(CASE WHEN charged IS NULL OR state IN ('failed', 'cancelled') THEN last
        ELSE max(charged, coalesce(price, 0)) END, 0) AS counted,
    unpriced + (last IS NULL) AS unknown,
    spent + coalesce(charged, CASE WHEN state = 'stored' THEN price END, 0) AS certain
FROM (SELECT
    *,
    CASE WHEN charged IS NOT NULL THEN charged
        WHEN state = 'rejected' OR (state = 'planned' AND owner IS NULL AND attempt_key IS NULL) THEN 0
        ELSE price END AS last
FROM runs);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, run INTEGER, state TEXT NOT NULL, note TEXT
);
CREATE TABLE scopes (
    scope TEXT NOT NULL, service TEXT NOT NULL, identity TEXT NOT NULL, take INTEGER NOT NULL,
    PRIMARY KEY (scope, service, identity, take)
) WITHOUT ROWID;
CREATE TABLE judgements (
    id INTEGER PRIMARY KEY AUTOINCREMENT, mark TEXT NOT NULL UNIQUE, at REAL NOT NULL, rater TEXT NOT NULL,
    question TEXT NOT NULL, kind TEXT NOT NULL, first TEXT NOT NULL, second TEXT, answer TEXT NOT NULL,
    seconds REAL
);
CREATE INDEX judgements_by_question ON judgements (question);
INSERT INTO meta VALUES ('schema', '{VERSION}');
"""
"""The view `entries` says how far each run is and what it costs; every table, card, panel and budget reads it there.

`stage` is the state, with what else the row says: claimed by a process, completed but without its files, or expired.

`credits` is the cost as the user reads it: what the service has charged, else the price; NULL if neither is known. A
run that failed or was cancelled without a word on its charge may have cost its price. `spent` and `unpriced` are those
of earlier attempts: their cost, and the number of those whose cost is unknown.

`counted` is what a limit counts, with a price of the caller's for each of the `unknown` attempts. A service that says
that it charged less than the price is not believed, because it may mean another unit, except that a run which failed or
was cancelled was refunded. `certain` is the part of `counted` that was paid for certain; the rest is set aside.
"""


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit on the actual and possible cost of all runs in a scope."""

    scope: str
    limit: int


@dataclass(slots=True)
class Spend:
    """A limit on the actual and possible cost of one caller's claims from now on."""

    limit: int
    bases: dict[int, int] = field(default_factory=dict)
    """What each claimed run had cost, or may have cost, before its first claim."""


def join_scope(db: sqlite3.Connection, scope: str, service: str, runs: Sequence[tuple[str, int]]) -> None:
    """Add runs (identity and take) to a scope, so that they count against its budget, whichever caller claims them."""
    db.executemany(
        "INSERT OR IGNORE INTO scopes VALUES (?, ?, ?, ?)", [(scope, service, name, take) for name, take in runs]
    )


def count_scope(db: sqlite3.Connection, scope: str, unknown: int) -> int:
    """What the runs of a scope count for; `unknown` is the price of an attempt without one."""
    query = "SELECT sum(counted + unknown * ?) FROM scopes JOIN entries USING (service, identity, take) WHERE scope = ?"
    return int(db.execute(query, (unknown, scope)).fetchone()[0] or 0)


def check_limits(
    db: sqlite3.Connection, run: int, price: int | None, before: int, budget: Budget | None, spend: Spend | None
) -> None:  # fmt: skip
    """Raise `OverBudget` if a run that has just been claimed at this price exceeds a limit.

    `before` is what the run had cost, or may have cost, until then.
    """
    if budget is not None:
        _check_limit("budget", budget.limit, count_scope(db, budget.scope, price or 0), price)
    if spend is not None:
        # A repeated claim keeps the base of its first time, so that the possible cost in between counts.
        bases = {run: before, **spend.bases}
        query = "SELECT id, counted + unknown * ? FROM entries WHERE id IN (SELECT value FROM json_each(?))"
        costs = db.execute(query, (price or 0, json.dumps(list(bases))))
        _check_limit("spend", spend.limit, sum(max(cost - bases[each], 0) for each, cost in costs), price)
        spend.bases = bases


def _check_limit(name: str, limit: int, cost: int, price: int | None) -> None:
    # A free run is allowed even if the limit is used up.
    if price is None or (price and cost > limit):
        raise OverBudget(limit, cost - (price or 0), price, name)
