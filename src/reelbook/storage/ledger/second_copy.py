"""The second copy of the request ids: a plain file beside the ledger that only grows, one line for each accepted run."""

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

from ..run_identity import identity as name_of_run
from .transitions import MAX_CREDITS, NO_NAME

NAME = "accepted.jsonl"

_TAIL = 256
"""So many bytes tell whether a log is the one that was read before."""
_FIELD = re.compile(rb'"(\w+)": ("(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|null)(?=[,}])')
_LATER = {"take": 0, "attempt": 1, "price": None, "at": 0.0}
"""What a line without these is taken to say."""


@dataclass(slots=True)
class Lines:
    """What a log says, from some place on."""

    whole: list[dict[str, Any]] = field(default_factory=list)
    """The lines that say everything."""
    partial: list[dict[str, Any]] = field(default_factory=list)
    """What is left of damaged lines, and of lines that say less; those without a request id do not name one."""
    unreadable: int = 0
    """Lines that name no run at all."""


def line_of(facts: Mapping[str, Any]) -> bytes:
    """A line of the copy. Plain ASCII, so that no text of a stranger is too odd to be written."""
    return json.dumps(facts).encode("ascii")


def append(folder: Path, lines: Sequence[bytes]) -> None:
    """More lines, on disk when this returns."""
    append_to(folder / NAME, lines)


def append_to(path: Path, lines: Sequence[bytes]) -> None:
    """The same, to a file anywhere."""
    # A line begins with its own line break: the one before it may have been torn.
    content = b"".join(b"\n" + line for line in lines) + b"\n"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        # In one call, so that the lines of two processes never mix.
        if os.write(file, content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file)
    finally:
        os.close(file)


def read(folder: Path, identities: Collection[str] | None = None) -> list[dict[str, Any]]:
    """The lines that can be read, of these runs or of all; a torn one is left out."""
    wanted = None if identities is None else [json.dumps(name).encode("ascii") for name in identities]
    found = []
    for line in _raw(folder, 0):
        # Parsing is what takes time, so it is done for few.
        if wanted is None or any(name in line for name in wanted):
            found += _parsed(line)
    return found


def read_from(folder: Path, start: int = 0) -> Lines:
    """All that the log says from this place on, and what can be made of its damaged lines."""
    found = Lines()
    for line in _raw(folder, start):
        if whole := _parsed(line):
            found.whole += whole
        elif line.strip(b"\n\r \0"):
            rest = _left_of(line)
            found.partial += [] if rest is None else [rest]
            found.unreadable += rest is None
    return found


def size(folder: Path) -> int:
    """How long the log is; 0 where there is none."""
    try:
        return (folder / NAME).stat().st_size
    except FileNotFoundError:
        return 0


def mark(folder: Path) -> str:
    """A text by which to find out later what was added to the log since."""
    end = size(folder)
    return f"{end} {_tail(folder, end)}"


def place_after(folder: Path, mark: str | None) -> int:
    """Where the log goes on after this mark; its beginning where it is not the log that was marked."""
    end, _, tail = (mark or "").partition(" ")
    return int(end) if end.isdecimal() and int(end) <= size(folder) and _tail(folder, int(end)) == tail else 0


def _raw(folder: Path, start: int) -> Iterator[bytes]:
    with contextlib.suppress(FileNotFoundError), (folder / NAME).open("rb") as file:
        file.seek(start)
        yield from file


def _tail(folder: Path, end: int) -> str:
    try:
        with (folder / NAME).open("rb") as file:
            file.seek(max(0, end - _TAIL))
            return hashlib.sha256(file.read(min(end, _TAIL))).hexdigest()[:16]
    except FileNotFoundError:
        return hashlib.sha256().hexdigest()[:16]


def _parsed(line: bytes) -> list[dict[str, Any]]:
    value = _json(line)
    return [value] if isinstance(value, dict) and _is_acceptance(value) else []


def _left_of(line: bytes) -> dict[str, Any] | None:
    """What a line that does not say everything says of a run; None where it does not say which."""
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
        rest["identity"] = NO_NAME + rest["request_id"]
    rest.setdefault("input", "{}")
    return rest if "identity" in rest and "service" in rest else None


def _is_acceptance(value: Mapping[str, Any]) -> bool:
    return all(name in value and _fits(name, value[name]) for name in _KINDS)


def _fits(name: str, value: Any) -> bool:
    kind = _KINDS.get(name, "other")
    if kind == "text":
        return isinstance(value, str)
    if kind == "whole":
        return _is_whole(value)
    if kind == "price":
        return value is None or _is_whole(value)
    return kind != "time" or (type(value) in (int, float) and 0 <= value <= MAX_CREDITS)


_KINDS = {
    **dict.fromkeys(("service", "identity", "model", "input", "request_id"), "text"),
    **dict.fromkeys(("take", "attempt"), "whole"), "price": "price", "at": "time",
}  # fmt: skip


def _json(text: bytes) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_CREDITS
