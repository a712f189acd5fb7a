"""Find and repair rows with damaged values in a file whose pages SQLite considers intact."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ..run_identity import make_identity
from .schema import SCHEMA
from .transitions import MOVES, PAID, State

TEXTS = ("service", "identity", "model", "input", "state")
MAYBE_TEXTS = ("owner", "attempt_key", "body", "request_id", "output", "media", "error_type", "error")
COUNTS = ("take", "attempt", "spent", "unpriced")
AMOUNTS = ("price", "charged")
TIMES = ("queued_s", "running_s", "created", "sent", "finished")
JSONS = ("output", "media")

TABLES = ("runs", "events", "scopes", "meta", "sqlite_sequence")

_IMPOSSIBLE = " OR ".join(
    [
        *(f"typeof({name}) != 'text'" for name in TEXTS),
        *(f"typeof({name}) NOT IN ('text', 'null')" for name in MAYBE_TEXTS),
        *(f"typeof({name}) != 'integer' OR {name} < 0" for name in COUNTS),
        *(f"typeof({name}) NOT IN ('integer', 'null')" for name in AMOUNTS),
        *(f"typeof({name}) NOT IN ('real', 'integer', 'null')" for name in TIMES),
        "created IS NULL",
        "state NOT IN ('" + "', '".join(MOVES) + "')",
        *(f"({name} IS NOT NULL AND NOT json_valid({name}))" for name in JSONS),
    ]
)


class Damaged(str):
    """Damaged text: not valid UTF-8, and decoded with replacement characters; or zeros, as after the end of a cut file."""

    __slots__ = ()


Row = dict[str, Any]
Key = tuple[str, str, int]


@dataclass(slots=True)
class AcceptedLog:
    """The log of accepted requests, indexed by the values that may be intact in a damaged row."""

    by_request: dict[str, Row] = field(default_factory=dict)
    by_key: dict[Key, list[Row]] = field(default_factory=dict)
    by_identity: dict[str, list[Row]] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: Collection[Row]) -> AcceptedLog:
        log = cls()
        for line in lines:
            log.by_request[line["request_id"]] = line
            log.by_key.setdefault((line["service"], line["identity"], line["take"]), []).append(line)
            log.by_identity.setdefault(line["identity"], []).append(line)
        return log


def decode_text(content: bytes) -> str:
    """Decode a text of a damaged file, for `text_factory`."""
    try:
        text = content.decode()
        return Damaged(text) if "\0" in text else text
    except UnicodeDecodeError:
        return Damaged(content.decode(errors="replace"))


def find_problem(db: sqlite3.Connection, lines: Collection[Row]) -> str | None:
    """Describe a problem in the rows of a ledger with intact pages, given its log; None if there is none."""
    for table in TABLES:
        missing = _get_columns()[table] - {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
        if 0 < len(missing) < len(_get_columns()[table]):
            return f"the table {table} has no column {min(missing)}"
    if not any(row[0] == "runs" for row in db.execute("SELECT name FROM sqlite_master")):
        return None  # A new file.
    impossible = db.execute(f"SELECT id FROM runs WHERE {_IMPOSSIBLE} LIMIT 1").fetchone()
    if impossible is not None:
        return f"run {impossible[0]} cannot be what was written"
    for table in TABLES:
        for _ in db.execute(f"SELECT * FROM {table}"):
            pass  # Reading a text that is not UTF-8 raises an error.
    return next(_find_misplaced(db, AcceptedLog.of(lines)), None)


def repair_row(row: Row, log: AcceptedLog) -> tuple[Row, list[str]]:
    """Repair or replace damaged values of a row; returns the row, and the names of those values."""
    row, bad = dict(row), [name for name in row if _is_bad(name, row[name])]
    line = _find_line(row, bad, log)
    if line is not None and (bad or _differs(row, line)):
        row |= {name: line[name] for name in ("service", "identity", "take", "model", "input", "request_id")}
        row |= {name: line[name] for name in ("attempt", "price") if name in bad}
    elif not bad:
        return row, []
    if line is None and "identity" in bad and not {"model", "input"} & {*bad}:
        row["identity"] = make_identity(row["model"], row["input"])
    known = line or {}
    for name in bad:
        if name not in known:
            row[name] = _substitute(name, row)
    if "spent" in bad:
        row["unpriced"] += 1
    row["state"] = _get_state(row, {name for name in bad if name not in known})
    return {name: str(value) if isinstance(value, str) else value for name, value in row.items()}, bad


def _is_bad(name: str, value: Any) -> bool:
    if isinstance(value, Damaged):
        return True
    if name == "state":
        return value not in MOVES
    if name in JSONS and value is not None:
        return _is_no_json(value)
    if name in TEXTS or (name in MAYBE_TEXTS and value is not None):
        return not isinstance(value, str)
    if name in COUNTS or (name in AMOUNTS and value is not None):
        return type(value) is not int or value < 0
    if name in TIMES:
        return not isinstance(value, (int, float)) and (value is not None or name == "created")
    return False


def _is_no_json(value: Any) -> bool:
    try:
        json.loads(value)
    except (ValueError, TypeError, RecursionError):
        return True
    return False


def _substitute(name: str, row: Row) -> Any:
    """The substitute for a lost value."""
    if name == "input":
        return "{}" if _is_no_json(row[name]) else str(row[name])
    if name in COUNTS:
        return 0
    if name == "created":
        return row["sent"] if not _is_bad("sent", row["sent"]) and row["sent"] is not None else 0.0
    if name in ("service", "identity", "model", "state", "error", "error_type"):
        return row[name].decode(errors="replace") if isinstance(row[name], bytes) else str(row[name])
    return None


def _get_state(row: Row, bad: Collection[str]) -> str:
    """The state of a run after its repair: accepted if it can be polled again, uncertain if the user must decide."""
    state = str(row["state"])
    lost_files = state in (State.STORED, State.COMPLETED) and ("media" in bad or "output" in bad)
    if state not in MOVES or lost_files:
        return State.ACCEPTED if row["request_id"] is not None else State.UNCERTAIN
    if "request_id" in bad and state in PAID:
        return State.UNCERTAIN
    if state in (State.PLANNED, State.SENDING) and {"attempt_key", "body"} & {*bad}:
        return State.UNCERTAIN
    return state


def _find_line(row: Row, bad: Collection[str], log: AcceptedLog) -> Row | None:
    """The line of the log that belongs to a row."""
    line = log.by_request.get(row["request_id"]) if "request_id" not in bad else None
    if line is None and not {"service", "identity", "take"} & {*bad}:
        line = _find_latest(log.by_key.get((row["service"], row["identity"], row["take"]), ()), row)
    if line is None and "identity" not in bad:
        line = _find_latest(log.by_identity.get(row["identity"], ()), row)
    return line


def _find_latest(lines: Sequence[Row], row: Row) -> Row | None:
    """The line of a row's current attempt; None if the row has a request that is not in the lines."""
    candidates = [line for line in lines if line["attempt"] == row["attempt"]]
    named = None if _is_bad("request_id", row["request_id"]) else row["request_id"]
    if row["state"] not in (*PAID, State.STORED) and named is None:
        return None
    return next((line for line in candidates if named is None or _is_near(named, line["request_id"])), None)


def _differs(row: Row, line: Row) -> bool:
    """Whether a row nearly equals its line, which means damage rather than another name."""
    return any(_is_near(row[name], line[name]) for name in ("service", "identity", "request_id"))


def _find_misplaced(db: sqlite3.Connection, log: AcceptedLog) -> Iterator[str]:
    """Describe rows that differ from the log by one or two characters, or have another take."""
    query = "SELECT id, service, identity, take FROM runs WHERE request_id = ?"
    at = "SELECT id, request_id FROM runs WHERE service = ? AND identity = ? AND take = ?"
    for request, line in log.by_request.items():
        rows = db.execute(query, (request,)).fetchall()
        key = line["service"], line["identity"], line["take"]
        if any(row[1:] == key for row in rows):
            continue
        existing = db.execute(at, key).fetchone()
        for run, service, name, _ in rows:
            near = _is_near(service, key[0]) or _is_near(name, key[1])
            if near or ((service, name) == key[:2] and existing is None):
                yield f"run {run} is not where its request was written down"
        if not rows and existing is not None and existing[1] not in log.by_request and _is_near(existing[1], request):
            yield f"run {existing[0]} has another request than was written down"


def _is_near(one: Any, other: Any) -> bool:
    if not isinstance(one, str) or not isinstance(other, str) or len(one) != len(other):
        return False
    return 0 < sum(a != b for a, b in zip(one, other, strict=True)) <= 2


@cache
def _get_columns() -> Mapping[str, set[str]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        return {table: {row[1] for row in db.execute(f"PRAGMA table_info({table})")} for table in TABLES}
