"""The SQL schema of a library's ledger, with the one definition of what a run costs."""

from __future__ import annotations

import sqlite3

from ...util.loopback import normalise_address

VERSION = 3
"""Incremented for changes that older versions of Reelbook cannot handle; they then refuse to open the file."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, identity TEXT NOT NULL, take INTEGER NOT NULL,
    model TEXT NOT NULL, input TEXT NOT NULL, state TEXT NOT NULL, owner TEXT,
    attempt INTEGER NOT NULL DEFAULT 0, attempt_key TEXT, body TEXT, request_id TEXT,
    price INTEGER, charged INTEGER, spent INTEGER NOT NULL DEFAULT 0, unpriced INTEGER NOT NULL DEFAULT 0,
    output TEXT, media TEXT, error_type TEXT, error TEXT, queued_s REAL, running_s REAL,
    created REAL NOT NULL, sent REAL, finished REAL, floor INTEGER,
    UNIQUE (service, identity, take)
);
CREATE INDEX IF NOT EXISTS runs_by_request ON runs (request_id);
CREATE INDEX IF NOT EXISTS runs_open ON runs (owner) WHERE owner IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_uncertain ON runs (id) WHERE state = 'uncertain';
CREATE INDEX IF NOT EXISTS runs_charged_too_little ON runs (service)
    WHERE charged < floor AND state NOT IN ('failed', 'cancelled');
CREATE VIEW IF NOT EXISTS entries AS SELECT
    *,
    CASE WHEN state = 'planned' AND owner IS NOT NULL THEN 'claimed'
        WHEN state = 'accepted' AND error_type = 'expired' THEN 'expired'
        WHEN state = 'accepted' AND output IS NOT NULL THEN 'completed' ELSE state END AS stage,
    CASE WHEN unpriced OR last IS NULL THEN NULL ELSE spent + last END AS credits,
    spent + coalesce(max(last, least), 0) AS counted,
    unpriced + (last IS NULL) AS unknown,
    spent + coalesce(charged, CASE WHEN state = 'stored' THEN price END, 0) AS certain
FROM (SELECT
    *,
    CASE WHEN charged IS NOT NULL THEN charged
        WHEN state = 'rejected' OR (state = 'planned' AND owner IS NULL AND attempt_key IS NULL) THEN 0
        ELSE price END AS last,
    CASE WHEN charged IS NULL THEN 0
        WHEN state IN ('failed', 'cancelled') AND NOT EXISTS (SELECT 1 FROM runs AS other WHERE
            other.service = runs.service AND other.charged < other.floor AND other.state NOT IN ('failed', 'cancelled'))
            THEN 0
        ELSE coalesce(floor, 0) END AS least
FROM runs);
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, run INTEGER, state TEXT NOT NULL, note TEXT
);
CREATE TABLE IF NOT EXISTS scopes (
    scope TEXT NOT NULL, service TEXT NOT NULL, identity TEXT NOT NULL, take INTEGER NOT NULL,
    PRIMARY KEY (scope, service, identity, take)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS names (name TEXT PRIMARY KEY, run INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS judgements (
    id INTEGER PRIMARY KEY AUTOINCREMENT, mark TEXT NOT NULL UNIQUE, at REAL NOT NULL, rater TEXT NOT NULL,
    question TEXT NOT NULL, kind TEXT NOT NULL, first TEXT NOT NULL, second TEXT, answer TEXT NOT NULL,
    seconds REAL, undone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS judgements_by_question ON judgements (question);
"""
"""The view `entries` says how far each run is and what it costs; every table, card, panel and budget reads it there.

`stage` is the state, with what else the row says: claimed by a process, completed but without its files, or expired.

`credits` is the cost as the user reads it: what the service has charged, else the price; NULL if neither is known. A
run that failed or was cancelled without a word on its charge may have cost its price. `spent` and `unpriced` are those
of earlier attempts: their cost, and the number of those whose cost is unknown.

`counted` is what a limit counts, with a price of the caller's for each of the `unknown` attempts. It is above `credits`
only where the service charges less than the model's known price, or than the one that the user states (`floor`): that
is treated as an error of the service, such as another unit. For a run that failed or was cancelled a lower charge is a
refund, unless the service has charged too little for a run that succeeded.

`certain` is the part of `counted` that was paid for certain; the rest is set aside.
"""


def create_tables(db: sqlite3.Connection) -> bool:
    """Create the tables of a ledger, or bring those of version 0.1.0 up to date; returns whether services were renamed."""
    db.execute("BEGIN IMMEDIATE")
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    has_renamed = "floors" in tables and _upgrade(db)
    for statement in SCHEMA.split(";\n"):
        db.execute(statement)
    db.execute("INSERT OR REPLACE INTO meta VALUES ('schema', ?)", (str(VERSION),))
    db.execute("COMMIT")
    return has_renamed


def _upgrade(db: sqlite3.Connection) -> bool:
    """Change the tables of version 0.1.0 to the present ones; returns whether services were renamed."""
    db.execute("ALTER TABLE runs ADD COLUMN floor INTEGER")
    db.execute("UPDATE runs SET floor = (SELECT credits FROM floors WHERE run = runs.id)")
    db.execute("DROP TABLE floors")
    db.execute("UPDATE runs SET state = 'planned' WHERE state = 'intent'")
    db.execute("UPDATE runs SET state = 'accepted', error_type = 'expired' WHERE state = 'expired'")
    db.execute("UPDATE runs SET state = 'accepted' WHERE state IN ('running', 'completed')")
    # Its services had ids. They are named by their addresses now: under the ids their runs would be paid again.
    aliases = db.execute("SELECT name, value FROM meta WHERE name GLOB 'service at *'").fetchall()
    for alias, name in aliases:
        kept = db.execute("SELECT 1 FROM meta WHERE name = ?", (f"service keeps its id {name}",)).fetchone()
        if kept is None:
            address = normalise_address(str(alias).removeprefix("service at "))
            for table in ("runs", "scopes"):
                db.execute(f"UPDATE OR IGNORE {table} SET service = ? WHERE service = ?", (address, name))
    db.execute("DELETE FROM meta WHERE name GLOB 'service *'")
    return bool(aliases)
