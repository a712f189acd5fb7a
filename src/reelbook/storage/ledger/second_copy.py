"""The second copy of the request ids: an append-only log next to the ledger, with a JSON line per accepted run."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..run_identity import make_identity as name_of_run
from .transitions import ATTACHED, MAX_CREDITS

NAME = "accepted.jsonl"

TAIL_BYTES = 256
"""Number of bytes hashed to recognise a log that was read before."""
_FIELD = re.compile(rb'"(\w+)": ("(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|null)(?=[,}])')
_LATER = {"take": 0, "attempt": 1, "price": None, "at": 0.0}
"""Default values of fields missing in a line."""


@dataclass(slots=True)
class Lines:
    """The lines of a log from an offset on."""

    complete: list[dict[str, Any]] = field(default_factory=list)
    """The lines with all fields."""
    partial: list[dict[str, Any]] = field(default_factory=list)
    """The readable fields of damaged and incomplete lines; `request_id` is None if it is lost."""
    unreadable: int = 0
    """Lines that identify no run."""


def format_line(facts: Mapping[str, Any]) -> bytes:
    """Format a line of the log, in ASCII, so that any foreign text can be written."""
    return json.dumps(facts).encode("ascii")


def append(folder: Path, lines: Sequence[bytes]) -> None:
    """Append lines durably."""
    append_to(folder / NAME, lines)


def append_to(path: Path, lines: Sequence[bytes]) -> None:
    """Append lines durably to any file."""
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


def read_lines(folder: Path, identities: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Read the complete lines, of these runs or of all."""
    wanted = None if identities is None else [json.dumps(name).encode("ascii") for name in identities]
    found = []
    for line in _iterate_raw(folder, 0):
        # Parsing is slow, so it is limited to candidates.
        if wanted is None or any(name in line for name in wanted):
            found += _parse_line(line)
    return found


def read_from(folder: Path, start: int = 0) -> Lines:
    """Read the log from an offset on, including the readable fields of damaged lines."""
    found = Lines()
    for line in _iterate_raw(folder, start):
        if complete := _parse_line(line):
            found.complete += complete
        elif line.strip(b"\n\r \0"):
            rest = _parse_damaged(line)
            found.partial += [] if rest is None else [rest]
            found.unreadable += rest is None
    return found


def get_log_size(folder: Path) -> int:
    """The size of the log in bytes; 0 if there is none."""
    try:
        return (folder / NAME).stat().st_size
    except FileNotFoundError:
        return 0


def get_mark(folder: Path) -> str:
    """The position of the log's end, with a hash by which `find_offset` recognises the log later."""
    end = get_log_size(folder)
    return f"{end} {_hash_tail(folder, end)}"


def find_offset(folder: Path, mark: str | None) -> int:
    """The offset of this mark; 0 if the log is not the one that was marked."""
    end, _, tail = (mark or "").partition(" ")
    return (
        int(end) if end.isdecimal() and int(end) <= get_log_size(folder) and _hash_tail(folder, int(end)) == tail else 0
    )


def _iterate_raw(folder: Path, start: int) -> Iterator[bytes]:
    with contextlib.suppress(FileNotFoundError), (folder / NAME).open("rb") as file:
        file.seek(start)
        yield from file


def _hash_tail(folder: Path, end: int) -> str:
    try:
        with (folder / NAME).open("rb") as file:
            file.seek(max(0, end - TAIL_BYTES))
            return hashlib.sha256(file.read(min(end, TAIL_BYTES))).hexdigest()[:16]
    except FileNotFoundError:
        return hashlib.sha256().hexdigest()[:16]


def _parse_line(line: bytes) -> list[dict[str, Any]]:
    value = _json(line)
    return [value] if isinstance(value, dict) and _is_acceptance(value) else []


def _parse_damaged(line: bytes) -> dict[str, Any] | None:
    """The readable fields of a damaged or incomplete line; None if they do not identify a run."""
    value = _json(line)
    if not isinstance(value, dict):
        value = {name.decode(): _json(text) for name, text in _FIELD.findall(line)}
    rest = {name: item for name, item in value.items() if _fits(name, item)}
    for name, item in _LATER.items():
        rest.setdefault(name, item)
    rest.setdefault("request_id", None)
    rest.setdefault("model", "")
    if "identity" not in rest and rest["model"] and "input" in rest:
        rest["identity"] = name_of_run(rest["model"], rest["input"])
    elif "identity" not in rest and rest["model"] and rest["request_id"] is not None:
        rest["identity"] = ATTACHED + rest["request_id"]
    rest.setdefault("input", "{}")
    return rest if "identity" in rest and "service" in rest else None


def _is_acceptance(value: Mapping[str, Any]) -> bool:
    return all(name in value and _fits(name, value[name]) for name in _KINDS)


def _fits(name: str, value: Any) -> bool:
    kind = _KINDS.get(name, "other")
    if kind == "text":
        return isinstance(value, str)
    if kind == "count":
        return _is_count(value)
    if kind == "price":
        return value is None or _is_count(value)
    return kind != "time" or (type(value) in (int, float) and 0 <= value <= MAX_CREDITS)


_KINDS = {
    **dict.fromkeys(("service", "identity", "model", "input", "request_id"), "text"),
    **dict.fromkeys(("take", "attempt"), "count"), "price": "price", "at": "time",
}  # fmt: skip


def _json(text: bytes) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_CREDITS
