"""The list of accepted requests: a file next to the ledger to which a JSON line is appended for each of them.

It is written before the ledger is, so that no request that is paid for is lost with the ledger: what it has more is put
back when the ledger is next opened.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...util.replace_file import PRIVATE, replace_file

NAME = "accepted.jsonl"

_READ = "accepted list"
"""The name in `meta` of the size of the list up to which the ledger has it."""
_FIELDS = frozenset({"at", "service", "identity", "take", "attempt", "model", "request_id", "price", "input"})


def append(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Append lines durably to a list."""
    # Each starts with a line break, because the previous one may be incomplete. ASCII can have any foreign text.
    content = b"".join(b"\n" + json.dumps(line).encode("ascii") for line in lines) + b"\n"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        # In one call, so that lines of two processes are not interleaved.
        if os.write(file, content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file)
    finally:
        os.close(file)


def read_lines(folder: Path, identities: Collection[str] | None = None, *, start: int = 0) -> list[dict[str, Any]]:
    """Read the whole lines from an offset on, of these runs or of all; damaged and incomplete ones are left out."""
    try:
        content = (folder / NAME).read_bytes()[start:]
    except FileNotFoundError:
        return []
    lines = content.splitlines()
    if identities is not None:
        # Parsing is slow, so it is limited to candidates.
        wanted = [json.dumps(name).encode("ascii") for name in identities]
        lines = [line for line in lines if any(name in line for name in wanted)]
    return [line for line in map(_parse, lines) if line is not None]


def read_new_lines(db: sqlite3.Connection, folder: Path) -> list[dict[str, Any]]:
    """Read the lines that the ledger does not have yet: its last writer died before the commit, or it is an older copy."""
    row = db.execute("SELECT value FROM meta WHERE name = ?", (_READ,)).fetchone()
    start, size = int(row[0]) if row is not None else 0, _get_size(folder)
    return [] if size == start else read_lines(folder, start=start if start < size else 0)


def mark_as_read(db: sqlite3.Connection, folder: Path) -> None:
    """Record that the ledger has the whole list, up to its present end."""
    size = str(_get_size(folder))
    if db.execute("SELECT 1 FROM meta WHERE name = ? AND value = ?", (_READ, size)).fetchone() is None:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_READ, size))


def forget_before(db: sqlite3.Connection, folder: Path, before: float) -> None:
    """Leave the lines out that are older than this moment and whose runs the ledger has; on its thread."""
    lines = [json.dumps(line).encode("ascii") for line in read_lines(folder) if line["at"] >= before]
    replace_file(folder / NAME, b"".join(line + b"\n" for line in lines), mode=PRIVATE)
    mark_as_read(db, folder)


def _get_size(folder: Path) -> int:
    try:
        return (folder / NAME).stat().st_size
    except FileNotFoundError:
        return 0


def _parse(line: bytes) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(line)
        if isinstance(value, dict) and value.keys() >= _FIELDS:
            return value
    return None
