"""The SQL schema of a library's ledger."""

VERSION = 1
"""Incremented for changes that older versions of Reelbook cannot handle; they then refuse to open the file."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, identity TEXT NOT NULL, take INTEGER NOT NULL,
    model TEXT NOT NULL, input TEXT NOT NULL, state TEXT NOT NULL, owner TEXT,
    attempt INTEGER NOT NULL DEFAULT 0, attempt_key TEXT, body TEXT, request_id TEXT,
    price INTEGER, charged INTEGER, spent INTEGER NOT NULL DEFAULT 0, unpriced INTEGER NOT NULL DEFAULT 0,
    output TEXT, media TEXT, error_type TEXT, error TEXT, queued_s REAL, running_s REAL,
    created REAL NOT NULL, sent REAL, finished REAL,
    UNIQUE (service, identity, take)
);
CREATE INDEX IF NOT EXISTS runs_by_request ON runs (request_id);
CREATE INDEX IF NOT EXISTS runs_open ON runs (owner) WHERE owner IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_uncertain ON runs (id) WHERE state = 'uncertain';
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, run INTEGER, state TEXT NOT NULL, note TEXT
);
CREATE TABLE IF NOT EXISTS scopes (
    scope TEXT NOT NULL, service TEXT NOT NULL, identity TEXT NOT NULL, take INTEGER NOT NULL,
    PRIMARY KEY (scope, service, identity, take)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS names (name TEXT PRIMARY KEY, run INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS floors (run INTEGER PRIMARY KEY, credits INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS judgements (
    id INTEGER PRIMARY KEY AUTOINCREMENT, mark TEXT NOT NULL UNIQUE, at REAL NOT NULL, rater TEXT NOT NULL,
    question TEXT NOT NULL, kind TEXT NOT NULL, first TEXT NOT NULL, second TEXT, answer TEXT NOT NULL,
    seconds REAL, undone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS judgements_by_question ON judgements (question);
"""
