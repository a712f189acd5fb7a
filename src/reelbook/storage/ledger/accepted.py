"""The list of accepted requests: a file next to the ledger to which a JSON line is appended for each of them.

It is written before the ledger is, so that no request that is paid for is lost with the ledger: what it has more is put
back when the ledger is next written.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...util.replace_file import PRIVATE, replace_file
from .transitions import MAX_CREDITS, coerce_credits

NAME = "accepted.jsonl"

_READ = "accepted list"
"""The name in `meta` of the size of the list up to which the ledger has it."""
_TEXTS, _COUNTS = ("service", "identity", "model", "input", "request_id"), ("take", "attempt")


def format_line(acceptance: Mapping[str, Any]) -> bytes:
    """Format a line of the list, in ASCII, so that any foreign text can be written."""
    return json.dumps(acceptance).encode("ascii")


def append(path: Path, lines: Sequence[bytes]) -> None:
    """Append lines durably to a list."""
    # Each line starts with a line break, because the previous one may be incomplete.
    content = b"".join(b"\n" + line for line in lines) + b"\n"
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
    wanted = None if identities is None else [json.dumps(name).encode("ascii") for name in identities]
    # Parsing is slow, so it is limited to candidates.
    lines = (line for line in _iterate(folder, start) if wanted is None or any(name in line for name in wanted))
    return [acceptance for acceptance in map(_parse, lines) if acceptance is not None]


def read_new_lines(db: sqlite3.Connection, folder: Path) -> list[dict[str, Any]]:
    """Read the lines that the ledger does not have yet: its last writer died before the commit, or it is an older copy."""
    row = db.execute("SELECT value FROM meta WHERE name = ?", (_READ,)).fetchone()
    start = int(row[0]) if row is not None and str(row[0]).isdecimal() else 0
    size = _get_size(folder)
    return [] if size == start else read_lines(folder, start=start if start < size else 0)


def mark_as_read(db: sqlite3.Connection, folder: Path) -> None:
    """Record that the ledger has the whole list, up to its present end."""
    size = str(_get_size(folder))
    if db.execute("SELECT 1 FROM meta WHERE name = ? AND value = ?", (_READ, size)).fetchone() is None:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_READ, size))


def _iterate(folder: Path, start: int) -> Iterator[bytes]:
    with contextlib.suppress(FileNotFoundError), (folder / NAME).open("rb") as file:
        file.seek(start)
        yield from file


def _get_size(folder: Path) -> int:
    try:
        return (folder / NAME).stat().st_size
    except FileNotFoundError:
        return 0


def _parse(line: bytes) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(line)
        if (
            isinstance(value, dict)
            and all(isinstance(value.get(name), str) for name in _TEXTS)
            and all(type(value.get(name)) is int and 0 <= value[name] <= MAX_CREDITS for name in _COUNTS)
            and value.get("price", 0) in (None, coerce_credits(value.get("price", 0)))
            and type(value.get("at")) in (int, float)
        ):
            return value
    return None


def forget_before(db: sqlite3.Connection, folder: Path, before: float) -> None:
    """Leave the lines out that are older than this moment and whose runs the ledger has; on its thread."""
    lines = [format_line(line) for line in read_lines(folder) if line["at"] >= before]
    replace_file(folder / NAME, b"".join(line + b"\n" for line in lines), mode=PRIVATE)
    mark_as_read(db, folder)
